//! What can be said of rules and limits by their form: those that can never speak, and those that never speak alone.

use super::{Finding, Kind};
use crate::engine::expr::parts::{read_by, tree};
use crate::engine::expr::sense::sense;
use crate::engine::expr::tree::{Bool, BoolKind, Double, Int, Relation};
use crate::engine::expr::words::words;
use crate::engine::limit::{Algorithm, LimitSpec, Max};
use crate::engine::policy::{Effect, LimitRule, Mode, Origin, Policy};
use crate::engine::verdict::Verdict;

/// All of it.
pub fn forms(policy: &Policy) -> Vec<Finding> {
    let rules: Vec<(usize, Bool)> = (policy.rules.iter().enumerate())
        .filter(|(_, rule)| rule.mode != Mode::Off && !matches!(rule.effect, Effect::Evidence { .. }))
        .filter_map(|(number, rule)| Some((number, tree(&rule.when.text, policy)?)))
        .collect();
    let mut findings: Vec<Finding> =
        rules.iter().filter_map(|(number, when)| blind(policy, *number, when)).collect();
    findings.extend(overlaps(policy, &rules));
    findings.extend(behind(policy));
    findings
}

/// A rule that reads a signal which never sees the events that the rule asks for.
fn blind(policy: &Policy, number: usize, when: &Bool) -> Option<Finding> {
    let mut reads = Vec::new();
    needed(when, &mut reads);
    let filters = reads.iter().filter_map(|slot| match policy.catalogue[*slot].origin {
        Origin::Signal(signal) => Some((signal, policy.signals[signal].filter.as_ref()?)),
        _ => None,
    });
    for (signal, filter) in filters {
        let both = BoolKind::And(vec![when.clone(), tree(&filter.text, policy)?]);
        if sense(&Bool { at: 0, kind: both }, &policy.catalogue).never.is_some() {
            let name = &policy.signals[signal].name;
            let message = format!(
                "it needs `{name}`, which is counted only where `{}`: never of the events that the rule asks for",
                filter.text
            );
            return Some(Finding {
                kind: Kind::NeverFires,
                about: policy.rules[number].info.id.clone(),
                message,
            });
        }
    }
    None
}

/// The slots without which a condition cannot be true: those that its `&&` parts read, whatever else they do.
fn needed(when: &Bool, into: &mut Vec<usize>) {
    match &when.kind {
        BoolKind::And(parts) => parts.iter().for_each(|part| needed(part, into)),
        BoolKind::Or(_) | BoolKind::If(_) | BoolKind::Not(_) | BoolKind::Has(_) => {}
        _ => read_by(when, into),
    }
}

/// Rules of one family of which one speaks whenever the other does.
fn overlaps(policy: &Policy, rules: &[(usize, Bool)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (narrow, (number, when)) in rules.iter().enumerate() {
        for (wide, (other, wider)) in rules.iter().enumerate() {
            let (rule, by) = (&policy.rules[*number], &policy.rules[*other]);
            let same_kind = rule.family == by.family && rule.mode == by.mode;
            if narrow == wide || !same_kind || !implies(when, wider, policy) {
                continue;
            }
            // Of two that say the same, one is told of.
            let mutual = implies(wider, when, policy);
            if mutual && narrow < wide {
                continue;
            }
            let nothing = match (rule.effect, by.effect) {
                (Effect::Floor(mine), Effect::Floor(theirs)) => mine <= theirs,
                _ => mutual,
            };
            if nothing {
                findings.push(Finding {
                    kind: Kind::Overlaps,
                    about: rule.info.id.clone(),
                    message: format!("whenever it fires, `{}` does, which asks for as much", by.info.id),
                });
            }
        }
    }
    findings
}

/// Whether each `&&` part of `wider` follows from one of `when`.
fn implies(when: &Bool, wider: &Bool, policy: &Policy) -> bool {
    let (mut parts, mut wanted) = (Vec::new(), Vec::new());
    flat(when, &mut parts);
    flat(wider, &mut wanted);
    wanted.iter().all(|wanted| parts.iter().any(|part| follows(part, wanted, policy)))
}

fn flat<'b>(tree: &'b Bool, into: &mut Vec<&'b Bool>) {
    match &tree.kind {
        BoolKind::And(parts) => parts.iter().for_each(|part| flat(part, into)),
        _ => into.push(tree),
    }
}

/// Whether `wanted` is true wherever `part` is: the same words, or the same name above a higher, or below a lower, bound.
fn follows(part: &Bool, wanted: &Bool, policy: &Policy) -> bool {
    let same = words(part, &policy.catalogue) == words(wanted, &policy.catalogue);
    same || match (bound(part), bound(wanted)) {
        (Some((slot, up, here)), Some((other, also_up, there))) if slot == other && up == also_up => {
            if up {
                here >= there
            } else {
                here <= there
            }
        }
        _ => false,
    }
}

/// `name >= bound` (up) or `name <= bound`, strict ones as the next whole number.
fn bound(part: &Bool) -> Option<(usize, bool, f64)> {
    let (slot, relation, value) = match &part.kind {
        BoolKind::Ints(relation, Int::Name(slot), Int::Const(value)) => (*slot, *relation, *value as f64),
        BoolKind::Ints(relation, Int::Const(value), Int::Name(slot)) => {
            (*slot, relation.mirrored(), *value as f64)
        }
        BoolKind::Doubles(relation, Double::Name(slot), Double::Const(value)) => (*slot, *relation, *value),
        _ => return None,
    };
    let whole = matches!(part.kind, BoolKind::Ints(..));
    match relation {
        Relation::GreaterOrEqual => Some((slot, true, value)),
        Relation::LessOrEqual => Some((slot, false, value)),
        Relation::Greater if whole => Some((slot, true, value + 1.0)),
        Relation::Less if whole => Some((slot, false, value - 1.0)),
        _ => None,
    }
}

/// Limits that stand behind another one over the same counter, which refuses for good before they can.
fn behind(policy: &Policy) -> Vec<Finding> {
    let live = || policy.limits.iter().filter(|limit| limit.mode == Mode::Live);
    let mut findings = Vec::new();
    for limit in live() {
        let before = live().find(|other| stands_before(other, limit));
        if let Some(other) = before {
            findings.push(Finding {
                kind: Kind::NeverFires,
                about: limit.info.id.clone(),
                message: format!(
                    "`{}` refuses the same events at less, and what it refuses is not counted: this one is never reached",
                    other.info.id
                ),
            });
        }
    }
    findings
}

/// Whether `first` keeps the count of `second` below its maximum for ever.
fn stands_before(first: &LimitRule, second: &LimitRule) -> bool {
    let filter = |limit: &LimitRule| limit.filter.as_ref().map(|filter| filter.text.clone());
    let ([one], [other]) = (first.spans.as_slice(), second.spans.as_slice()) else { return false };
    let same = first.dimension == second.dimension && filter(first) == filter(second);
    let plain = first.cost.is_none() && second.cost.is_none() && !second.count_refused;
    same && plain && first.verdict >= Verdict::Reject && below(&one.spec, &other.spec)
}

/// Whether what one lets through is always below the maximum of the other. In sub-windows some events too many may count:
/// those of less than one more window.
fn below(one: &LimitSpec, other: &LimitSpec) -> bool {
    let (Max::AtMost(less), Max::AtMost(more)) = (one.max, other.max) else { return false };
    let sliding = |spec: &LimitSpec| {
        matches!(spec.algorithm, Algorithm::SlidingLog { .. } | Algorithm::SlidingWindow { .. })
    };
    let same = one.algorithm.window() == other.algorithm.window() && sliding(one) && sliding(other);
    match other.algorithm {
        Algorithm::SlidingLog { .. } => same && less < more,
        _ => same && less.saturating_mul(2) <= more && less < more,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::policy::load::load;

    fn found(text: &str) -> Vec<(String, &'static str)> {
        let loaded = load(&[("p.yaml".to_owned(), text.to_owned())]);
        let policy = loaded.unwrap_or_else(|problems| panic!("{problems:#?}")).policy;
        forms(&policy).into_iter().map(|finding| (finding.about, finding.kind.name())).collect()
    }

    fn rule(id: &str, when: &str, does: &str) -> String {
        let code = id.to_uppercase();
        format!(
            "  - {{ id: {id}, family: content, when: \"{when}\", {does}, code: {code}, text: t, source: s, owner: o }}\n"
        )
    }

    #[test]
    fn a_signal_that_never_sees_the_rules_events_keeps_it_silent() {
        let signals = "signals:\n  - { name: likes, key: [user], when: \"event.action == 'like'\", window: 1h, count: {}, doc: d }\n";
        let rules = [
            rule("dead", "event.action == 'login' && likes >= 3", "verdict: hold"),
            rule("fine", "event.action == 'like' && likes >= 3", "verdict: hold"),
            rule("open", "event.action == 'login' && (likes >= 3 || account.new)", "verdict: demote"),
        ];
        let text = format!("version: 1\n{signals}rules:\n{}", rules.concat());
        assert_eq!(found(&text), [("dead".to_owned(), "never fires")]);
    }

    #[test]
    fn a_rule_that_another_one_covers_is_told_of() {
        let signals = "signals:\n  - { name: acts, key: [user], window: 1h, count: {}, doc: d }\n";
        let rules = [
            rule("wide", "acts >= 30", "verdict: hold"),
            rule("narrow", "account.new && acts > 49", "verdict: demote"),
            rule("strong", "acts >= 100", "verdict: reject"),
            rule("again", "acts >= 30", "verdict: hold"),
        ];
        let text = format!("version: 1\n{signals}rules:\n{}", rules.concat());
        let found = found(&text);
        let about = |id: &str| found.iter().filter(|(about, _)| about == id).count();
        assert_eq!(
            (about("narrow"), about("strong"), about("wide"), about("again")),
            (2, 0, 0, 1),
            "{found:?}"
        );
    }

    #[test]
    fn a_limit_behind_a_tighter_one_is_never_reached() {
        let limit = |id: &str, max: u32, verdict: &str| {
            format!(
                "  - {{ id: {id}, key: [user], window: 1m, max: {max}, verdict: {verdict}, code: C, text: t, source: s, owner: o }}\n"
            )
        };
        let text = format!(
            "version: 1\nlimits:\n{}{}{}",
            limit("soft", 10, "demote"),
            limit("hard", 20, "reject"),
            limit("late", 40, "challenge")
        );
        assert_eq!(found(&text), [("late".to_owned(), "never fires")]);
    }
}
