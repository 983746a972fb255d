//! Labels from what people and services said on the topics: cases that were resolved, and late labels of decisions.
//!
//! A confirmed case makes its accounts attackers, a cleared one honest; the newest resolution of an account counts. A case
//! keeps a bounded sample of its accounts, so large ones label some. A late label is of its event alone. That a challenge
//! was passed or failed is no label: a pass can be bought, and people fail, too.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use crate::commands::Failure;
use crate::engine::case::{Case, CaseOutcome};
use crate::engine::entity::EntityKind;
use crate::engine::feedback::FeedbackResult;
use crate::engine::time::Timestamp;
use crate::pipeline::{ShardSettings, read_to_end};
use crate::stream::{StreamError, Topic};
use crate::wire::{case, decision, feedback};

/// What they are called where a place is told.
pub(super) const NAME: &str = "topics of cases and feedback";

/// The labels as the CSV of a file of labels.
pub(super) fn labels(settings: &Arc<ShardSettings>) -> Result<String, Failure> {
    let mut text = "event_id,user_id,label,group\n".to_owned();
    let mut accounts = BTreeMap::<String, (Timestamp, &'static str, String)>::new();
    for case in cases(settings)?.into_values() {
        of_case(&case, &mut accounts);
    }
    for (account, (_, label, group)) in &accounts {
        row(&mut text, ["", account, label, group]);
    }
    let told = late(settings)?;
    if !told.is_empty() {
        present(read_to_end(settings, Topic::Decisions, |record| {
            let Ok(decided) = decision::decode(record.value) else { return };
            let Some(label) = told.get(event_of(&decided.decision_id)).filter(|_| decided.revision == 0)
            else {
                return;
            };
            row(&mut text, [&decided.event_id, decided.user_id.as_deref().unwrap_or_default(), label, ""]);
        }))?;
    }
    Ok(text)
}

fn of_case(case: &Case, accounts: &mut BTreeMap<String, (Timestamp, &'static str, String)>) {
    let Some(resolution) = &case.resolution else { return };
    let label = match resolution.outcome {
        CaseOutcome::Confirmed => "attack",
        CaseOutcome::Cleared => "honest",
        CaseOutcome::Inconclusive => return,
    };
    let own = (case.entity.kind == EntityKind::User).then_some(&case.entity.value);
    for account in case.accounts.iter().chain(own) {
        let known = accounts.get(account).map(|(at, _, _)| *at);
        if known.is_none_or(|at| at <= resolution.at) {
            accounts.insert(account.clone(), (resolution.at, label, case.id.clone()));
        }
    }
}

/// Each case as it was told last.
fn cases(settings: &Arc<ShardSettings>) -> Result<BTreeMap<String, Case>, Failure> {
    let mut cases = BTreeMap::new();
    present(read_to_end(settings, Topic::Cases, |record| {
        if let Ok(case) = case::decode(record.value) {
            cases.insert(case.id.clone(), case);
        }
    }))?;
    Ok(cases)
}

/// Late labels, by the decision without its revision; of several on one the last.
fn late(settings: &Arc<ShardSettings>) -> Result<BTreeMap<String, &'static str>, Failure> {
    let mut told = BTreeMap::new();
    present(read_to_end(settings, Topic::Feedback, |record| {
        let Ok(feedback) = feedback::decode(record.value) else { return };
        let label = match feedback.result {
            FeedbackResult::ConfirmedAbuse => "attack",
            FeedbackResult::ConfirmedHonest => "honest",
            _ => return,
        };
        told.insert(event_of(&feedback.decision.to_string()).to_owned(), label);
    }))?;
    Ok(told)
}

/// Without a topic nothing was said on it.
fn present(read: Result<(), StreamError>) -> Result<(), Failure> {
    match read {
        Ok(()) | Err(StreamError::TopicMissing { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A decision's id without its revision.
fn event_of(decision: &str) -> &str {
    decision.rsplit_once('-').map_or(decision, |(event, _)| event)
}

fn row(text: &mut String, cells: [&str; 4]) {
    let cells = cells.map(|cell| format!("\"{}\"", cell.replace('"', "\"\"")));
    writeln!(text, "{}", cells.join(",")).expect("memory takes all");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::case::{CaseStatus, Resolution};
    use crate::engine::entity::Entity;

    fn case(id: &str, accounts: &[&str], at: i64, outcome: CaseOutcome) -> Case {
        let at = Timestamp::from_millis(at);
        Case {
            id: id.into(),
            entity: Entity::new(EntityKind::Target, "t"),
            rule: "r".into(),
            code: "R".into(),
            proposal: "p".into(),
            status: CaseStatus::Resolved,
            opened_at: at,
            updated_at: at,
            events: 9,
            accounts: accounts.iter().map(|name| (*name).to_owned()).collect(),
            campaign: None,
            resolution: Some(Resolution { outcome, actor: "a".into(), reason: "r".into(), at, undone: None }),
        }
    }

    #[test]
    fn of_two_resolutions_the_newer_one_labels() {
        let mut accounts = BTreeMap::new();
        of_case(&case("c2", &["u", "v"], 2, CaseOutcome::Cleared), &mut accounts);
        of_case(&case("c1", &["u", "w"], 1, CaseOutcome::Confirmed), &mut accounts);
        of_case(&case("c3", &["x"], 3, CaseOutcome::Inconclusive), &mut accounts);
        let told: Vec<(&str, &str)> =
            accounts.iter().map(|(name, (_, label, _))| (name.as_str(), *label)).collect();
        assert_eq!(told, [("u", "honest"), ("v", "honest"), ("w", "attack")]);
    }

    #[test]
    fn names_cannot_break_a_row() {
        let mut text = String::new();
        row(&mut text, ["", "a\"b,\nc", "attack", ""]);
        assert_eq!(text, "\"\",\"a\"\"b,\nc\",\"attack\",\"\"\n");
        assert_eq!(event_of("3-9-00c0ffee00c0ffee-12"), "3-9-00c0ffee00c0ffee");
        assert_eq!(event_of("-1-9-00c0ffee00c0ffee-0"), "-1-9-00c0ffee00c0ffee");
    }
}
