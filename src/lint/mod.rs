//! What a look at a policy alone can say about it: what can never speak, what says the same twice, and what somebody can do
//! all day without being noticed. Only what is certain is said.

mod forms;
mod quiet;
mod unbounded;
mod unnoticed;

pub use self::forms::forms;
pub use self::unnoticed::{Most, Unnoticed, unnoticed};

use serde::Serialize;

use crate::engine::policy::Policy;
use crate::report::Section;

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// What kind.
    pub kind: Kind,
    /// The rule, limit or signal.
    pub about: String,
    /// What is the matter with it.
    pub message: String,
}

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It can never speak.
    NeverFires,
    /// Whenever it speaks, another one does.
    Overlaps,
    /// Nothing reads it.
    Unused,
    /// It acts for a share of all only.
    Partial,
    /// It may hold up any number of accounts.
    Unbounded,
    /// It did not speak on the given events.
    Silent,
}

impl Kind {
    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::NeverFires => "never fires",
            Kind::Overlaps => "overlaps",
            Kind::Unused => "unused",
            Kind::Partial => "in part",
            Kind::Unbounded => "without a budget",
            Kind::Silent => "silent",
        }
    }
}

/// All that the policy alone shows, most serious first.
pub fn lint(policy: &Policy) -> Vec<Finding> {
    let mut findings = forms(policy);
    findings.extend(quiet::unused(policy));
    findings.extend(partial(policy));
    findings.extend(unbounded::unbounded(policy));
    findings.sort();
    findings
}

/// Limits and rules that act for a share of all entities.
fn partial(policy: &Policy) -> impl Iterator<Item = Finding> + '_ {
    let limits = policy.limits.iter().map(|limit| (&limit.info.id, limit.rollout));
    let rules = policy.rules.iter().map(|rule| (&rule.info.id, rule.rollout));
    limits.chain(rules).filter_map(|(id, rollout)| {
        let rollout = rollout?;
        let message =
            format!("it acts for {rollout}, and is in shadow for all others: they are not held by it");
        Some(Finding { kind: Kind::Partial, about: id.clone(), message })
    })
}

/// The findings and the table of what goes unnoticed, as parts of a report.
pub fn sections(findings: &[Finding], unnoticed: &[Unnoticed]) -> Vec<Section> {
    let row = |finding: &Finding| {
        vec![finding.kind.name().to_owned(), finding.about.clone(), finding.message.clone()]
    };
    let found = Section::table("Findings", &["what", "about", "why"], findings.iter().map(row).collect());
    let row = |row: &Unnoticed| {
        let kept = if row.kept_by.is_empty() { "nothing".to_owned() } else { row.kept_by.join(", ") };
        vec![row.who.to_owned(), row.actions.join(", "), row.most.to_string(), kept]
    };
    let heads = ["who", "action", "most in a day", "kept there by"];
    let rows = unnoticed.iter().map(row).collect();
    let table = Section::table("The most that one of them can do in a day and be allowed every time", &heads, rows)
        .noted(
            "One account, device or address by itself, at the best pace, from the begin of a day: all live limits and rules \
             over what it alone counts are kept to. Targets, contents, and for a device or address accounts, are others each \
             time. What crowds and evidence notice beside is not counted, so the real number is this or less.",
        );
    vec![found, table]
}
