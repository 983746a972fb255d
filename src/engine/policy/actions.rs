//! The actions that a policy knows by name.

use super::{EventField, Name, Origin, Policy};
use crate::engine::expr::parts::tree;
use crate::engine::expr::tree::{Bool, BoolKind, Text};

/// Conditions of a policy: filters of signals and limits, and what rules ask.
fn conditions(policy: &Policy) -> Vec<Bool> {
    let signals = policy.signals.iter().filter_map(|signal| signal.filter.as_ref());
    let limits = policy.limits.iter().filter_map(|limit| limit.filter.as_ref());
    let rules = policy.rules.iter().map(|rule| &rule.when);
    signals.chain(limits).chain(rules).filter_map(|condition| tree(&condition.text, policy)).collect()
}

/// The actions that any condition of a policy names, sorted.
pub fn actions(policy: &Policy) -> Vec<String> {
    let mut named = Vec::new();
    for condition in conditions(policy) {
        collect(&condition, &policy.catalogue, &mut named);
    }
    named.sort_unstable();
    named.dedup();
    named
}

fn collect(tree: &Bool, names: &[Name], into: &mut Vec<String>) {
    let is_action = |text: &Text| match text {
        Text::Name(slot) => names[*slot].origin == Origin::Field(EventField::Action),
        _ => false,
    };
    match &tree.kind {
        BoolKind::Not(inner) => collect(inner, names, into),
        BoolKind::And(parts) | BoolKind::Or(parts) => {
            parts.iter().for_each(|part| collect(part, names, into));
        }
        BoolKind::If(parts) => parts.iter().for_each(|part| collect(part, names, into)),
        BoolKind::Texts(_, a, Text::Const(text)) | BoolKind::Texts(_, Text::Const(text), a)
            if is_action(a) =>
        {
            into.push(text.clone());
        }
        BoolKind::TextIn(a, list) if is_action(a) => into.extend(list.iter().cloned()),
        _ => {}
    }
}
