//! What must be told of an event, and how that differs from what was told.

use super::range::Range;
use super::told::{Told, ToldReason};
use crate::engine::decision::QualityCode;
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;

/// What must be told of one event.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// Identity, as text.
    pub id: String,
    /// The answer.
    pub verdict: Verdict,
    /// Log-odds points.
    pub score: i32,
    /// Why, strongest first.
    pub reasons: Vec<ExpectedReason>,
    /// What shadow says.
    pub shadow: Vec<ExpectedReason>,
    /// How long to wait, milliseconds.
    pub retry_after: Option<Range>,
    /// Until when a person may decide, and what holds then.
    pub hold: Option<(Timestamp, Verdict)>,
    /// When the event counts.
    pub effective_at: Timestamp,
    /// Until when the decision may be revised.
    pub revisable_until: Timestamp,
    /// Content hash of the policy.
    pub policy: String,
    /// The normalised address.
    pub address: Option<String>,
    /// Shortcomings that must or may be told.
    pub quality: Vec<Shortcoming>,
    /// How often the model took over what was told, since the engine's windows are only known between bounds.
    pub followed: usize,
}

/// One reason that must be told.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedReason {
    /// Id of the rule, limit, ban or guard.
    pub id: String,
    /// Points it adds.
    pub points: i32,
    /// The verdict it asks for.
    pub verdict: Option<Verdict>,
    /// Measured value.
    pub value: Option<Range>,
    /// What it may be held against: one of these, or nothing when there are none.
    pub thresholds: Vec<f64>,
}

/// One shortcoming.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortcoming {
    /// Which.
    pub code: QualityCode,
    /// The counter concerned.
    pub counter: Option<String>,
    /// It must be told, not only may.
    pub must: bool,
}

impl Expected {
    /// In what the decision that was told differs: a few words each, none when it is right.
    pub fn faults(&self, told: &Told) -> Vec<String> {
        let mut faults = Vec::new();
        differ(&mut faults, "decision_id", &self.id, &told.id);
        differ(&mut faults, "verdict", &self.verdict, &told.verdict);
        differ(&mut faults, "score", &self.score, &told.score);
        differ(&mut faults, "effective_at", &self.effective_at, &told.effective_at);
        differ(&mut faults, "revisable_until", &self.revisable_until, &told.revisable_until);
        differ(&mut faults, "policy", &self.policy, &told.policy);
        differ(&mut faults, "address", &text(self.address.as_ref()), &text(told.address.as_ref()));
        differ(&mut faults, "hold", &hold(self.hold), &hold(told.hold));
        self.retry(told, &mut faults);
        reasons(&mut faults, "reasons", &self.reasons, &told.reasons);
        if let Some(shadow) = &told.shadow {
            reasons(&mut faults, "shadow", &self.shadow, shadow);
        }
        self.shortcomings(told, &mut faults);
        faults
    }

    fn retry(&self, told: &Told, faults: &mut Vec<String>) {
        let right = match (self.retry_after, told.retry_after) {
            (None, None) => true,
            (Some(range), Some(told)) => range.holds(told.millis() as f64),
            _ => false,
        };
        if !right {
            let expected = self.retry_after.map_or("none".to_owned(), |range| format!("{range} ms"));
            let told = told.retry_after.map_or("none".to_owned(), |span| format!("{} ms", span.millis()));
            faults.push(format!("retry_after is {told}, not {expected}"));
        }
    }

    fn shortcomings(&self, told: &Told, faults: &mut Vec<String>) {
        let is = |known: &Shortcoming, code: &str, counter: Option<&str>| {
            known.code.name() == code && known.counter.as_deref() == counter
        };
        for (code, counter) in &told.quality {
            if !self.quality.iter().any(|known| is(known, code, counter.as_deref())) {
                faults.push(format!("quality says `{code}`{} without a cause", of(counter.as_deref())));
            }
        }
        for known in self.quality.iter().filter(|known| known.must) {
            let counter = known.counter.as_deref();
            if !told.quality.iter().any(|(code, told)| is(known, code, told.as_deref())) {
                faults.push(format!("quality does not say `{}`{}", known.code.name(), of(counter)));
            }
        }
    }
}

fn of(counter: Option<&str>) -> String {
    counter.map_or(String::new(), |counter| format!(" of `{counter}`"))
}

fn text(value: Option<&String>) -> &str {
    value.map_or("none", String::as_str)
}

fn hold(hold: Option<(Timestamp, Verdict)>) -> String {
    hold.map_or("none".to_owned(), |(until, default)| format!("until {until}, then {default}"))
}

fn differ<T: PartialEq + std::fmt::Display>(faults: &mut Vec<String>, what: &str, expected: &T, told: &T) {
    if expected != told {
        faults.push(format!("{what} is {told}, not {expected}"));
    }
}

fn reasons(faults: &mut Vec<String>, what: &str, expected: &[ExpectedReason], told: &[ToldReason]) {
    let ids = |reasons: Vec<&str>| reasons.join(", ");
    let expected_ids = ids(expected.iter().map(|reason| reason.id.as_str()).collect());
    let told_ids = ids(told.iter().map(|reason| reason.id.as_str()).collect());
    if expected_ids != told_ids {
        return faults.push(format!("{what} are [{told_ids}], not [{expected_ids}]"));
    }
    for (expected, told) in expected.iter().zip(told) {
        if let Some(fault) = expected.fault(told) {
            faults.push(format!("{what}: `{}` {fault}", told.id));
        }
    }
}

impl ExpectedReason {
    fn fault(&self, told: &ToldReason) -> Option<String> {
        if self.points != told.points {
            return Some(format!("adds {} points, not {}", told.points, self.points));
        }
        if self.verdict != told.verdict {
            return Some(format!("asks for {:?}, not {:?}", told.verdict, self.verdict));
        }
        let right = match (self.value, told.value) {
            (Some(range), Some(told)) => range.holds(told),
            (None, None) => true,
            _ => false,
        };
        if !right {
            let expected = self.value.map_or("none".to_owned(), |value| value.to_string());
            return Some(format!("has the value {:?}, not {expected}", told.value));
        }
        let right = match told.threshold {
            Some(told) => self.thresholds.contains(&told),
            None => self.thresholds.is_empty(),
        };
        (!right).then(|| format!("is held against {:?}, not {:?}", told.threshold, self.thresholds))
    }
}
