//! From what is usual to a policy patch: a rule in shadow above what is usual, for each signal about an actor.

use std::fmt::Write;

use serde::Serialize;

use super::usual::Usual;
use crate::engine::policy::listing::catalogue_table;
use crate::engine::policy::{KeyField, Measure, Origin, Policy};

/// What is usual of one signal, and what would be above that.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suggestion {
    /// The signal.
    pub signal: String,
    /// What it measures.
    pub measure: String,
    /// Events of which it is known.
    pub events: u64,
    /// Quantiles over all events.
    pub p50: f64,
    /// 95 percent of the events do not exceed this.
    pub p95: f64,
    /// 99 percent do not exceed this.
    pub p99: f64,
    /// The hour of the week in which P99 is highest, and that P99; where an hour has enough events.
    pub busiest: Option<(String, f64)>,
    /// One and a half times the highest P99, rounded up.
    pub soft: u64,
    /// Twice the highest P99, rounded up.
    pub hard: u64,
    /// It is about an account, device or address, so that a rule over it speaks of somebody.
    pub of_an_actor: bool,
}

/// What is usual of each count of a policy of which anything is known.
pub fn suggestions(usual: &Usual<'_>) -> Vec<Suggestion> {
    let policy = usual.policy();
    let signals = policy.signals.iter().enumerate();
    let counts = signals
        .filter(|(_, signal)| matches!(signal.measure, Measure::Count { .. } | Measure::Distinct { .. }));
    counts.filter_map(|(number, _)| suggestion(usual, policy, number)).collect()
}

fn suggestion(usual: &Usual<'_>, policy: &Policy, number: usize) -> Option<Suggestion> {
    let (signal, all) = (&policy.signals[number], usual.all(number));
    let (p50, p95, p99) = (all.at(0.5)?, all.at(0.95)?, all.at(0.99)?);
    let busiest = usual.busiest(number, 0.99);
    let highest = busiest.as_ref().map_or(p99, |(_, value)| value.max(p99));
    let times = |factor: f64| libm::ceil(factor * highest) as u64;
    let slot = policy.catalogue.iter().position(|name| name.origin == Origin::Signal(number))?;
    let fields = &policy.dimensions[signal.dimension].fields;
    Some(Suggestion {
        signal: signal.name.to_string(),
        measure: catalogue_table(policy).swap_remove(slot).measure,
        events: all.count(),
        p50,
        p95,
        p99,
        busiest,
        // One more than nobody exceeded, where 1.5 times it would be that.
        soft: times(1.5).max(highest as u64 + 1),
        hard: times(2.0).max(highest as u64 + 2),
        of_an_actor: fields
            .iter()
            .any(|field| matches!(field, KeyField::User | KeyField::Device | KeyField::Ip(_))),
    })
}

/// Ids of the two rules over a signal.
pub fn ids(signal: &str) -> [String; 2] {
    let name = signal.replace('_', "-").to_lowercase();
    [format!("suggested-{name}"), format!("suggested-{name}-hard")]
}

/// The patch: a file to lay beside the policy. All of it is in shadow.
pub fn patch(suggestions: &[Suggestion], from: &str) -> String {
    let mut text = String::from(
        "# Suggested by weir: in shadow until somebody has looked at whom it touches.\nversion: 1\nrules:\n",
    );
    for suggestion in suggestions.iter().filter(|suggestion| suggestion.of_an_actor) {
        let [soft, hard] = ids(&suggestion.signal);
        rule(&mut text, suggestion, (&soft, suggestion.soft, "demote", "1.5"), from);
        rule(&mut text, suggestion, (&hard, suggestion.hard, "challenge", "2"), from);
    }
    text
}

fn rule(
    text: &mut String,
    suggestion: &Suggestion,
    (id, threshold, verdict, times): (&str, u64, &str, &str),
    from: &str,
) {
    let Suggestion { signal, p99, events, busiest, .. } = suggestion;
    let highest = busiest.as_ref().map_or_else(String::new, |(hour, value)| format!(", {value} on {hour}"));
    let source =
        quoted(&format!("{times} times the highest P99 ({p99}{highest}) of {events} events in {from}"));
    let words = format!(
        "  - id: {id}\n    family: volume\n    when: {signal} >= {threshold}\n    verdict: {verdict}\n    mode: shadow\n    \
         value: {signal}\n    threshold: {threshold}\n    code: UNUSUAL\n    text: \"More of it than is usual\"\n    \
         source: {source}\n    owner: nobody-yet\n"
    );
    text.write_str(&words).expect("memory takes all");
}

/// A text in YAML's double quotes.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("text can be written")
}
