//! The log of what was put in place.

use serde::{Deserialize, Serialize};

use super::{Place, failed};
use crate::cli::Signature;
use crate::clock;
use crate::commands::Failure;

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// When.
    pub(super) at: String,
    /// `promote` or `rollback`.
    pub(super) what: String,
    pub(super) actor: String,
    pub(super) reason: String,
    /// Hash of what was in place before.
    pub(super) from: String,
    /// Hash of what is since.
    pub(super) to: String,
    /// What a candidate was judged by: events that both decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) judged: Option<Judged>,
    /// Likewise: what it would have decided beside the policy in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shadow: Option<Judged>,
}

/// What a candidate was judged by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Judged {
    /// The condition that refuses.
    pub(super) budget: String,
    /// Its figures.
    pub(super) figures: Vec<String>,
    /// On which events.
    pub(super) input: String,
    pub(super) decisions: u64,
    pub(super) over_budget: bool,
    /// Why it was put in place all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) forced: Option<String>,
}

impl Judged {
    /// Its figures in words; what was decided beside the policy in place is told apart.
    pub(super) fn told(&self) -> String {
        self.figures.join(", ")
    }
}

impl Entry {
    pub(super) fn new(what: &str, who: &Signature, place: &Place, to: &str) -> Self {
        Self {
            at: clock::now().to_string(),
            what: what.to_owned(),
            actor: who.actor.clone(),
            reason: who.reason.clone(),
            from: place.hash.clone(),
            to: to.to_owned(),
            judged: None,
            shadow: None,
        }
    }

    /// Adds it to the log.
    pub(super) fn note(&self, place: &Place) -> Result<(), Failure> {
        let line = serde_json::to_string(self).expect("text and numbers can be written");
        place.versions.note(&line).map_err(|error| failed(place.versions.folder(), &error))
    }

    /// All of them, oldest first; lines that are none are passed over.
    pub(super) fn all(place: &Place) -> Result<Vec<Entry>, Failure> {
        let lines = place.versions.log().map_err(|error| failed(place.versions.folder(), &error))?;
        Ok(lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }
}
