//! What the state of a range began with, where a checkpoint was asked for.

use std::collections::HashSet;

use serde::Serialize;

use crate::engine::policy::Policy;
use crate::engine::same_crowds;
use crate::engine::time::Timestamp;

/// A search for a checkpoint before a range.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The one that was restored; `None`: none fits, and earlier events were read.
    pub checkpoint: Option<Cut>,
    /// Newer ones that do not fit, and why.
    pub passed_over: Vec<PassedOver>,
    /// What each policy measures and the checkpoint does not: it began empty.
    pub began_empty: Vec<BeganEmpty>,
}

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// Its number.
    pub generation: u64,
    /// When it was cut, by the clock of who made it.
    pub made_at: String,
    /// The time of the stream that it had come to.
    pub state_at: String,
    /// Hash of the policy it was made with.
    pub policy: String,
}

impl Cut {
    /// A checkpoint that was made at `made_at`, of a state that had come to `state_at`.
    pub fn new(generation: u64, made_at: Timestamp, state_at: Timestamp, policy: &str) -> Self {
        let policy = policy.to_owned();
        Self { generation, made_at: made_at.to_string(), state_at: state_at.to_string(), policy }
    }
}

/// A checkpoint that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PassedOver {
    /// Its number; `None`: of all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Why, in words.
    pub why: String,
}

/// What of one policy began empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BeganEmpty {
    /// The policy's name.
    pub policy: String,
    /// Names of signals, limits, pools and budgets.
    pub counters: Vec<String>,
}

impl Origin {
    /// In words, of so many events that were read untold; what may be said of it as rows of a table.
    pub(super) fn rows(&self, warm_up: u64) -> Vec<[String; 2]> {
        let mut rows = Vec::new();
        let mut row = |name: String, value: String| rows.push([name, value]);
        match &self.checkpoint {
            Some(cut) => {
                let Cut { generation, made_at, state_at, policy } = cut;
                row("began from".to_owned(), format!("checkpoint {generation}, cut at {made_at}"));
                row("stream time of the checkpoint".to_owned(), state_at.clone());
                row("policy of the checkpoint".to_owned(), policy.clone());
                row("events after it, applied untold".to_owned(), warm_up.to_string());
            }
            None => row("began from".to_owned(), "earlier events: no checkpoint fits".to_owned()),
        }
        for passed in &self.passed_over {
            let which = passed.generation.map_or("checkpoints".to_owned(), |n| format!("checkpoint {n}"));
            row(format!("{which} passed over"), passed.why.clone());
        }
        for empty in &self.began_empty {
            row(format!("began empty in {}", empty.policy), empty.counters.join(", "));
        }
        rows
    }
}

/// What a policy measures and another one does not: after a change from that one to it, this begins empty.
pub(super) fn begins_empty(before: &Policy, policy: &Policy) -> Vec<String> {
    let known: HashSet<u64> = counters(before).map(|(identity, _)| identity).collect();
    let mut new: Vec<String> = counters(policy)
        .filter(|(identity, _)| !known.contains(identity))
        .map(|(_, name)| name.to_owned())
        .collect();
    let pools = |policy: &Policy| -> HashSet<String> {
        policy.observations.iter().map(|pool| pool.info.id.clone()).collect()
    };
    let budgets = |policy: &Policy| -> HashSet<String> {
        policy.blast.budgets.iter().map(|budget| budget.rule.to_string()).collect()
    };
    let (old_pools, old_budgets) = (pools(before), budgets(before));
    new.extend(pools(policy).into_iter().filter(|id| !old_pools.contains(id)));
    let rules = budgets(policy).into_iter().filter(|rule| !old_budgets.contains(rule));
    new.extend(rules.map(|rule| format!("budget of {rule}")));
    if policy.crowds.is_some() && !same_crowds(before, policy) {
        new.push("crowds".to_owned());
    }
    new.sort();
    new.dedup();
    new
}

/// Each counter of a policy, with the name of what reads it.
fn counters(policy: &Policy) -> impl Iterator<Item = (u64, &str)> {
    let signals = policy.signals.iter().map(|signal| (signal.identity, &*signal.name));
    let spans = policy
        .limits
        .iter()
        .flat_map(|limit| limit.spans.iter().map(|span| (span.identity, limit.info.id.as_str())));
    signals.chain(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::policy::load::load;

    fn policy(max: u32, window: &str, more: &str) -> std::sync::Arc<Policy> {
        let text = format!(
            "version: 1\nsignals:\n  - {{ name: acts, key: [user], window: {window}, count: {{}}, doc: d }}\nlimits:\n  - {{ id: \
             pace, key: [user], window: 1m, max: {max}, verdict: hold, code: P, text: t, source: s, owner: o }}\n{more}"
        );
        load(&[("p.yaml".to_owned(), text)]).unwrap_or_else(|problems| panic!("{}", problems[0])).policy
    }

    #[test]
    fn a_threshold_keeps_its_counter_and_a_window_does_not() {
        let before = policy(3, "1h", "");
        assert_eq!(begins_empty(&before, &policy(9, "1h", "")), Vec::<String>::new());
        assert_eq!(begins_empty(&before, &policy(3, "2h", "")), ["acts"]);
        let more = "  - { id: more, key: [user, action], window: 1m, max: 9, verdict: hold, code: M, text: t, source: s, owner: o, \
                    blast_radius: { accounts: 5, within: 1h } }\n";
        assert_eq!(begins_empty(&before, &policy(3, "1h", more)), ["budget of more", "more"]);
        assert_eq!(begins_empty(&policy(3, "1h", more), &before), Vec::<String>::new());
    }

    #[test]
    fn what_was_used_and_passed_over_is_told() {
        let at = Timestamp::from_millis(1_750_000_000_000);
        let origin = Origin {
            checkpoint: Some(Cut::new(7, at, at, "abc")),
            passed_over: vec![PassedOver { generation: Some(8), why: "it stands behind".to_owned() }],
            began_empty: vec![BeganEmpty { policy: "new".to_owned(), counters: vec!["acts".to_owned()] }],
        };
        let rows = origin.rows(12);
        assert_eq!(rows[0], ["began from", "checkpoint 7, cut at 2025-06-15T15:06:40.000Z"]);
        assert_eq!(rows[3], ["events after it, applied untold", "12"]);
        assert_eq!(rows[4], ["checkpoint 8 passed over", "it stands behind"]);
        assert_eq!(rows[5], ["began empty in new", "acts"]);
    }
}
