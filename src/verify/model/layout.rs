//! What of a policy the model works out once: what identifies its counters, and its expressions.

use std::collections::HashSet;

use super::condition::Expressions;
use crate::engine::limit::Algorithm;
use crate::engine::policy::{Measure, Policy};
use crate::engine::time::Span;

/// A policy made ready.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) expressions: Expressions,
    /// What identifies each signal's counter over reloads: never a threshold.
    pub(super) signals: Vec<String>,
    /// The same for each span of each limit.
    pub(super) spans: Vec<Vec<String>>,
    /// The longest window: until it has passed since the start, nothing is known for sure.
    pub(super) longest: Span,
}

impl Layout {
    pub(super) fn new(policy: &Policy) -> Self {
        let windows = policy.signals.iter().map(|signal| signal.window);
        let spans = policy.limits.iter().flat_map(|limit| &limit.spans);
        let longest = windows.chain(spans.map(|span| span.spec.algorithm.window())).max();
        Self {
            expressions: expressions(policy),
            signals: policy.signals.iter().map(|signal| signal_identity(policy, signal)).collect(),
            spans: policy.limits.iter().map(|limit| span_identities(policy, limit)).collect(),
            longest: longest.unwrap_or_default(),
        }
    }

    /// All counters.
    pub(super) fn counters(&self) -> HashSet<&String> {
        self.signals.iter().chain(self.spans.iter().flatten()).collect()
    }
}

fn signal_identity(policy: &Policy, signal: &crate::engine::policy::Signal) -> String {
    let measure = match &signal.measure {
        Measure::Count { slots } => format!("count {slots}"),
        Measure::Distinct { of, slots } => format!("distinct {of} {slots}"),
        Measure::Sum { of, slots } => format!("sum {} {slots}", plain(&of.text)),
        Measure::Pace(spec) => format!("rate {}", spec.quantile),
        Measure::Travel { .. } => "travel".to_owned(),
    };
    let filter = signal.filter.as_ref().map(|filter| plain(&filter.text)).unwrap_or_default();
    format!("{} | {filter} | {} | {measure}", policy.dimensions[signal.dimension].name, signal.window)
}

fn span_identities(policy: &Policy, limit: &crate::engine::policy::LimitRule) -> Vec<String> {
    let filter = limit.filter.as_ref().map(|filter| plain(&filter.text)).unwrap_or_default();
    let cost = limit.cost.as_ref().map(|cost| plain(&cost.text)).unwrap_or_default();
    let dimension = &policy.dimensions[limit.dimension].name;
    let identity = |algorithm: &Algorithm| {
        let way = match algorithm {
            Algorithm::SlidingLog { .. } => "log".to_owned(),
            Algorithm::SlidingWindow { slots, .. } => format!("window {slots}"),
            Algorithm::TokenBucket { .. } => "tokens".to_owned(),
            Algorithm::LeakyBucket { .. } => "leak".to_owned(),
            Algorithm::Calendar { zone, .. } => format!("calendar {zone}"),
        };
        let window = algorithm.window();
        format!(
            "{} | {dimension} | {filter} | {cost} | {window} | {way} | {}",
            limit.info.id, limit.count_refused
        )
    };
    limit.spans.iter().map(|span| identity(&span.spec.algorithm)).collect()
}

/// Layout means nothing.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn expressions(policy: &Policy) -> Expressions {
    let mut all = Expressions::new(policy);
    for signal in &policy.signals {
        signal.filter.iter().for_each(|filter| all.learn(&filter.text));
        if let Measure::Sum { of, .. } = &signal.measure {
            all.learn(&of.text);
        }
    }
    for limit in &policy.limits {
        limit.filter.iter().for_each(|filter| all.learn(&filter.text));
        limit.cost.iter().for_each(|cost| all.learn(&cost.text));
    }
    for rule in &policy.rules {
        all.learn(&rule.when.text);
        rule.value.iter().for_each(|value| all.learn(&value.text));
    }
    for pool in &policy.observations {
        pool.conditions.iter().for_each(|condition| all.learn(&condition.text));
    }
    all
}
