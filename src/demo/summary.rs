//! What the demo tells at its end.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::pipeline::Tally;

use super::ledger::{HonestFigures, IncidentFigures, Known, Ledger};

/// The figures of one demo, counted from what a reader got back.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    consumed: u64,
    outcomes: BTreeMap<&'static str, u64>,
    verdicts: BTreeMap<&'static str, u64>,
    incident: Incident,
    honest: Honest,
    /// Every event has its outcome, and every decision was read back.
    complete: bool,
    /// From the start of the work to the first decision read.
    seconds_to_first_decision: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Incident {
    accounts: u64,
    accounts_actioned: u64,
    likes: u64,
    likes_counted: u64,
    seconds_to_first_action: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Honest {
    accounts: u64,
    demoted: u64,
    challenged: u64,
    held: u64,
    rejected: u64,
    blocked: u64,
}

impl Summary {
    pub(super) fn of(
        ledger: &Ledger,
        known: &Known<'_>,
        tally: &Tally,
        complete: bool,
        first: Option<f64>,
    ) -> Self {
        let mut outcomes = tally.outcomes();
        // Decisions are counted where they were read, all else where it was committed.
        outcomes.insert("decided", ledger.decisions());
        Self {
            consumed: tally.consumed,
            outcomes,
            verdicts: ledger.verdicts().map(|(verdict, count)| (verdict.name(), count)).into(),
            incident: ledger.incident(known).into(),
            honest: ledger.honest(known).into(),
            complete,
            seconds_to_first_decision: first,
        }
    }

    /// Whether nothing was lost: consumed is the sum of the outcomes, and all of it came back.
    pub(super) fn holds(&self) -> bool {
        self.complete && self.consumed == self.outcomes.values().sum::<u64>()
    }

    pub(super) fn json(&self) -> String {
        serde_json::to_string(self).expect("figures are JSON")
    }
}

impl From<IncidentFigures> for Incident {
    fn from(figures: IncidentFigures) -> Self {
        Self {
            accounts: figures.accounts,
            accounts_actioned: figures.accounts_actioned,
            likes: figures.likes,
            likes_counted: figures.likes_counted,
            seconds_to_first_action: figures.seconds_to_first_action,
        }
    }
}

impl From<HonestFigures> for Honest {
    fn from(figures: HonestFigures) -> Self {
        Self {
            accounts: figures.accounts,
            demoted: figures.demoted,
            challenged: figures.challenged,
            held: figures.held,
            rejected: figures.rejected,
            blocked: figures.blocked,
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = |counts: &BTreeMap<&str, u64>| {
            let each: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
            each.join(", ")
        };
        let (incident, honest) = (&self.incident, &self.honest);
        writeln!(f, "\nconsumed {} = {}", self.consumed, counts(&self.outcomes))?;
        writeln!(f, "verdicts: {}", counts(&self.verdicts))?;
        write!(
            f,
            "incident: {} of {} accounts acted on; {} of {} likes still counted",
            incident.accounts_actioned, incident.accounts, incident.likes_counted, incident.likes
        )?;
        match incident.seconds_to_first_action {
            Some(seconds) => writeln!(f, "; first acted on {seconds:.1} s after its first like")?,
            None => writeln!(f, "; never acted on")?,
        }
        write!(
            f,
            "honest:   {} accounts: {} demoted, {} challenged, {} held, {} rejected, {} blocked",
            honest.accounts, honest.demoted, honest.challenged, honest.held, honest.rejected, honest.blocked
        )?;
        if self.complete { Ok(()) } else { write!(f, "\nINCOMPLETE: not every event was answered in time") }
    }
}
