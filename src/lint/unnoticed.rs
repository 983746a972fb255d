//! The most that one account, device or address can do in a day and be allowed every time.
//!
//! What it alone is counted by: limits whose key has no other fields than it and the action, and rules with a floor whose
//! condition is a count of that kind against a number, and otherwise true of it. Several windows hold together: it acts as
//! early as all of them allow, which no other pace beats.

use std::fmt;

use serde::Serialize;

use crate::engine::expr::parts::tree;
use crate::engine::expr::tree::{Bool, BoolKind, Int, Relation};
use crate::engine::expr::{Slot, compile};
use crate::engine::limit::{Algorithm, Max};
use crate::engine::policy::actions;
use crate::engine::policy::{
    Effect, EventField, Fact, KeyField, LimitRule, Measure, Mode, Name, Origin, Policy, Rule,
};
use crate::engine::verdict::Verdict;

/// One row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unnoticed {
    /// Who acts.
    pub who: &'static str,
    /// What it does: actions of which the same holds.
    pub actions: Vec<String>,
    /// How often.
    pub most: Most,
    /// The limits and rules that keep it there.
    pub kept_by: Vec<String>,
}

/// How often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Most {
    /// So often.
    Times(u64),
    /// As often as it likes.
    Unlimited,
}

impl fmt::Display for Most {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Most::Times(times) if *times >= TIMES_MAX => write!(f, "{TIMES_MAX} and more"),
            Most::Times(times) => write!(f, "{times}"),
            Most::Unlimited => f.write_str("without limit"),
        }
    }
}

const DAY: i64 = 86_400_000;
/// What is more often than this is not counted on.
const TIMES_MAX: u64 = 1_000_000;
/// The action of whom the policy knows nothing.
const OTHER: &str = "any other";

/// Who acts.
#[derive(Clone, Copy, Debug)]
struct Who {
    name: &'static str,
    field: fn(&KeyField) -> bool,
    /// Of an account: whether it is new, else settled. Of others nothing is known.
    new: Option<bool>,
}

const WHO: [Who; 4] = [
    Who { name: "settled account", field: |field| *field == KeyField::User, new: Some(false) },
    Who { name: "new account", field: |field| *field == KeyField::User, new: Some(true) },
    Who { name: "device", field: |field| *field == KeyField::Device, new: None },
    Who { name: "address", field: |field| matches!(field, KeyField::Ip(_)), new: None },
];

/// The table.
pub fn unnoticed(policy: &Policy) -> Vec<Unnoticed> {
    let mut known = actions(policy);
    known.push(OTHER.to_owned());
    let mut rows: Vec<Unnoticed> = Vec::new();
    for who in WHO {
        for action in &known {
            let (most, kept_by) = most(&bounds(policy, who, action));
            let same =
                rows.iter_mut().find(|row| row.who == who.name && row.most == most && row.kept_by == kept_by);
            match same {
                Some(row) => row.actions.push(action.clone()),
                None => rows.push(Unnoticed { who: who.name, actions: vec![action.clone()], most, kept_by }),
            }
        }
    }
    rows
}

/// What keeps somebody back.
#[derive(Clone, Debug)]
struct Bound {
    id: String,
    form: Form,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    /// At most so many in any window.
    Sliding { max: u64, window: i64 },
    /// So many at once, and so many more in each time, evenly.
    Bucket { max: u64, refill: u64, per: i64 },
    /// So many in each window of the clock.
    Calendar { max: u64, window: i64 },
}

impl Form {
    /// When the `number`-th event (from 0) may happen at the earliest, given the times of those before.
    fn earliest(self, number: usize, times: &[i64]) -> i64 {
        match self {
            Form::Sliding { max: 0, .. } | Form::Calendar { max: 0, .. } => DAY,
            Form::Sliding { max, window } => {
                let before = number.checked_sub(max as usize);
                before.map_or(0, |before| times[before].saturating_add(window))
            }
            Form::Bucket { max, refill, per } => {
                let beyond = (number as u64 + 1).saturating_sub(max);
                match (beyond, refill) {
                    (0, _) => 0,
                    (_, 0) => DAY,
                    (beyond, refill) => {
                        let wait = beyond.saturating_mul(per.unsigned_abs()).div_ceil(refill);
                        i64::try_from(wait).unwrap_or(i64::MAX)
                    }
                }
            }
            Form::Calendar { max, window } => (number as u64 / max) as i64 * window,
        }
    }
}

/// How often within a day, and which bounds keep it there: those at which the next one would have to wait for the next day,
/// or that held it up last.
fn most(bounds: &[Bound]) -> (Most, Vec<String>) {
    if bounds.is_empty() {
        return (Most::Unlimited, Vec::new());
    }
    let mut times: Vec<i64> = Vec::new();
    loop {
        let number = times.len();
        let each: Vec<i64> = bounds.iter().map(|bound| bound.form.earliest(number, &times)).collect();
        let at = each.iter().copied().max().unwrap_or(0).max(times.last().copied().unwrap_or(0));
        if at >= DAY || times.len() as u64 >= TIMES_MAX {
            let late = bounds.iter().zip(&each).filter(|(_, time)| **time == at || **time >= DAY);
            return (Most::Times(times.len() as u64), late.map(|(bound, _)| bound.id.clone()).collect());
        }
        times.push(at);
    }
}

/// All that holds for somebody who does one thing.
fn bounds(policy: &Policy, who: Who, action: &str) -> Vec<Bound> {
    let slots = slots(policy, who, action);
    let mut bounds = Vec::new();
    for limit in policy.limits.iter().filter(|limit| limit.mode == Mode::Live && limit.rollout.is_none()) {
        bounds.extend(of_limit(policy, limit, who, &slots));
    }
    for rule in policy.rules.iter().filter(|rule| rule.mode == Mode::Live && rule.rollout.is_none()) {
        bounds.extend(of_rule(policy, rule, who, &slots));
    }
    bounds
}

/// What is known of them.
fn slots<'a>(policy: &Policy, who: Who, action: &'a str) -> Vec<Slot<'a>> {
    let settings = &policy.settings;
    let value = |name: &Name| match (&name.origin, who.new) {
        (Origin::Field(EventField::Action), _) => Slot::Text(action),
        (Origin::Fact(Fact::AccountNew), Some(new)) => Slot::Bool(new),
        (Origin::Fact(Fact::AccountSettled), Some(new)) => Slot::Bool(!new),
        (Origin::Fact(Fact::AccountPaying), Some(_)) => Slot::Bool(false),
        (Origin::Fact(Fact::AccountAge), Some(true)) => Slot::Int(0),
        (Origin::Fact(Fact::AccountAge), Some(false)) => {
            Slot::Int(settings.settled_age.millis() / 1000 + 365 * 86_400)
        }
        _ => Slot::Unknown,
    };
    policy.catalogue.iter().map(value).collect()
}

fn is_own(policy: &Policy, dimension: usize, who: Who) -> bool {
    let fields = &policy.dimensions[dimension].fields;
    fields.iter().any(who.field)
        && fields.iter().all(|field| (who.field)(field) || *field == KeyField::Action)
}

fn of_limit(policy: &Policy, limit: &LimitRule, who: Who, slots: &[Slot<'_>]) -> Vec<Bound> {
    let passes = limit.filter.as_ref().is_none_or(|filter| filter.eval(slots) == Some(true));
    if !is_own(policy, limit.dimension, who)
        || !passes
        || limit.verdict == Verdict::Allow
        || limit.cost.is_some()
    {
        return Vec::new();
    }
    let bound = |span: &crate::engine::policy::LimitSpan| {
        let Max::AtMost(max) = span.spec.max else { return None };
        let max = max.max(0).unsigned_abs();
        let form = match &span.spec.algorithm {
            Algorithm::SlidingLog { window } | Algorithm::SlidingWindow { window, .. } => {
                Form::Sliding { max, window: window.millis() }
            }
            Algorithm::TokenBucket { refill, per } => {
                Form::Bucket { max, refill: *refill, per: per.millis() }
            }
            Algorithm::LeakyBucket { window } => Form::Bucket { max, refill: max, per: window.millis() },
            Algorithm::Calendar { window, .. } => Form::Calendar { max, window: window.millis() },
        };
        Some(Bound { id: limit.info.id.clone(), form })
    };
    limit.spans.iter().filter_map(bound).collect()
}

/// A rule with a floor whose only open part is a count of its own against a number.
fn of_rule(policy: &Policy, rule: &Rule, who: Who, slots: &[Slot<'_>]) -> Option<Bound> {
    let Effect::Floor(floor) = rule.effect else { return None };
    if floor == Verdict::Allow {
        return None;
    }
    let tree = tree(&rule.when.text, policy)?;
    let parts = match &tree.kind {
        BoolKind::And(parts) => parts.iter().collect(),
        _ => vec![&tree],
    };
    let mut counts: Vec<Form> = Vec::new();
    for part in parts {
        match count(policy, part, who, slots) {
            Some(form) => counts.push(form),
            None if compile::condition(part)(slots) == Some(true) => {}
            None => return None,
        }
    }
    match counts.as_slice() {
        [form] => Some(Bound { id: rule.info.id.clone(), form: *form }),
        _ => None,
    }
}

/// `signal >= N` of a count of its own that sees the event: at most N - 1 in the window.
fn count(policy: &Policy, part: &Bool, who: Who, slots: &[Slot<'_>]) -> Option<Form> {
    let (slot, relation, value) = match &part.kind {
        BoolKind::Ints(relation, Int::Name(slot), Int::Const(value)) => (*slot, *relation, *value),
        BoolKind::Ints(relation, Int::Const(value), Int::Name(slot)) => (*slot, relation.mirrored(), *value),
        _ => return None,
    };
    let Origin::Signal(signal) = policy.catalogue[slot].origin else { return None };
    let signal = &policy.signals[signal];
    let sees = signal.filter.as_ref().is_none_or(|filter| filter.eval(slots) == Some(true));
    let max = match relation {
        Relation::GreaterOrEqual => value - 1,
        Relation::Greater => value,
        _ => return None,
    };
    let counts =
        matches!(signal.measure, Measure::Count { .. }) && is_own(policy, signal.dimension, who) && sees;
    let window = signal.window;
    counts.then(|| Form::Sliding { max: max.max(0).unsigned_abs(), window: window.millis() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::policy::load::load;

    fn times(forms: &[Form]) -> u64 {
        let bounds: Vec<Bound> = forms.iter().map(|form| Bound { id: "b".into(), form: *form }).collect();
        match most(&bounds).0 {
            Most::Times(times) => times,
            Most::Unlimited => panic!("there are bounds"),
        }
    }

    /// 3 a minute: 3 x 1,440. 60 a day beside it: 60. 5 an hour beside 2 a minute: 5 x 24. 10 at once and 1 more in ten
    /// minutes: 10 + 143, for the 144th would be at the end of the day. 100 a calendar hour: 2,400.
    #[test]
    fn the_best_pace_by_hand() {
        let minute = |max| Form::Sliding { max, window: 60_000 };
        assert_eq!(times(&[minute(3)]), 4320);
        assert_eq!(times(&[minute(3), Form::Sliding { max: 60, window: DAY }]), 60);
        assert_eq!(times(&[minute(2), Form::Sliding { max: 5, window: 3_600_000 }]), 120);
        assert_eq!(times(&[Form::Bucket { max: 10, refill: 1, per: 600_000 }]), 153);
        assert_eq!(times(&[Form::Calendar { max: 100, window: 3_600_000 }]), 2400);
        assert_eq!(times(&[minute(0)]), 0);
        assert_eq!(most(&[]).0, Most::Unlimited);
    }

    #[test]
    fn each_is_held_by_what_counts_it_alone() {
        let text = "version: 1
signals:
  - { name: acts, key: [user, action], window: 1h, count: {}, doc: d }
limits:
  - { id: minute, key: [user, action], when: event.action == 'like', window: 1m, max: 3, verdict: reject, code: A, text: t, source: s, owner: o }
  - { id: newcomers, key: [user], when: account.new, window: 24h, max: 20, verdict: demote, code: B, text: t, source: s, owner: o }
  - { id: pair, key: [user, target], window: 24h, max: 1, verdict: reject, code: C, text: t, source: s, owner: o }
  - { id: exit, key: [ip], window: 1h, max: 100, verdict: challenge, mode: shadow, code: D, text: t, source: s, owner: o }
rules:
  - { id: busy, family: content, when: 'event.action == \"like\" && acts >= 101', verdict: hold, code: E, text: t, source: s, owner: o }
";
        let loaded = load(&[("p.yaml".to_owned(), text.replace("\\\"", "\""))]);
        let policy = loaded.unwrap_or_else(|problems| panic!("{problems:#?}")).policy;
        let rows = unnoticed(&policy);
        let row = |who: &str, action: &str| {
            let row = rows.iter().find(|row| row.who == who && row.actions.iter().any(|a| a == action));
            row.map(|row| (row.most, row.kept_by.join(","))).unwrap_or_else(|| panic!("{who} {action}"))
        };
        // 100 an hour, not the 180 that three a minute would be.
        assert_eq!(row("settled account", "like"), (Most::Times(2400), "busy".to_owned()));
        assert_eq!(row("new account", "like"), (Most::Times(20), "newcomers".to_owned()));
        assert_eq!(row("settled account", OTHER), (Most::Unlimited, String::new()));
        assert_eq!(row("address", "like"), (Most::Unlimited, String::new()));
    }
}
