//! An expression taken apart for people: each condition in it with its outcome, and the values it reads.
//!
//! The same text goes the same way, parsed, checked and compiled, so that what is shown is what was decided.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::catalogue::Catalogue;
use super::check::{Scope, check};
use super::parse::parse;
use super::tree::{Bool, BoolKind, Double, Int, Text, Typed};
use super::words::words;
use super::{Condition, Slot, compile};
use crate::engine::policy::{Name, Policy};

/// One condition, and those it is made of.
#[derive(Clone, Debug)]
pub struct Part {
    /// As written, in one form; and what it says.
    pub condition: Condition,
    /// The names that it reads itself, each once.
    pub reads: Vec<usize>,
    /// What `&&`, `||`, `!` and `?:` join.
    pub parts: Vec<Part>,
}

impl Part {
    /// As written, in one form.
    pub fn text(&self) -> &str {
        &self.condition.text
    }

    /// What it says of these values; `None` is unknown.
    pub fn outcome(&self, slots: &[Slot<'_>]) -> Option<bool> {
        self.condition.eval(slots)
    }

    /// It and all that it is made of, itself first.
    pub fn each<'p>(&'p self, into: &mut Vec<&'p Part>) {
        into.push(self);
        self.parts.iter().for_each(|part| part.each(into));
    }
}

/// Takes a condition of a policy apart; `None` when it is none.
pub fn parts(text: &str, policy: &Policy) -> Option<Part> {
    tree(text, policy).map(|tree| part(&tree, &policy.catalogue))
}

/// The meaning of a condition of a policy; `None` when it is none.
pub fn tree(text: &str, policy: &Policy) -> Option<Bool> {
    let mut catalogue = Catalogue::default();
    for name in &policy.catalogue {
        catalogue.add(name.clone());
    }
    let lists: BTreeMap<String, Arc<[String]>> =
        policy.lists.iter().map(|(name, list)| (name.clone(), list.as_slice().into())).collect();
    let networks =
        policy.networks.iter().map(|(name, list)| (name.clone(), list.as_slice().into())).collect();
    let scope = Scope { catalogue: &catalogue, lists: &lists, networks: &networks, signals: true };
    match check(&parse(text).ok()?, scope).ok()?.tree {
        Typed::Bool(tree) => Some(tree),
        _ => None,
    }
}

fn part(tree: &Bool, names: &[Name]) -> Part {
    let inner: Vec<&Bool> = match &tree.kind {
        BoolKind::Not(inner) => vec![inner],
        BoolKind::And(parts) | BoolKind::Or(parts) => parts.iter().collect(),
        BoolKind::If(parts) => parts.iter().collect(),
        _ => Vec::new(),
    };
    let mut reads = Vec::new();
    if inner.is_empty() {
        read_by(tree, &mut reads);
    }
    Part {
        condition: Condition::new(words(tree, names), compile::condition(tree)),
        reads,
        parts: inner.into_iter().map(|inner| part(inner, names)).collect(),
    }
}

/// The slots that a condition reads, in the order of the text, each once.
pub fn read_by(tree: &Bool, into: &mut Vec<usize>) {
    match &tree.kind {
        BoolKind::Const(_) => {}
        BoolKind::Name(slot) | BoolKind::Has(slot) => note(*slot, into),
        BoolKind::Not(inner) => read_by(inner, into),
        BoolKind::And(parts) | BoolKind::Or(parts) => parts.iter().for_each(|part| read_by(part, into)),
        BoolKind::If(parts) => parts.iter().for_each(|part| read_by(part, into)),
        BoolKind::Bools(_, sides) => sides.iter().for_each(|side| read_by(side, into)),
        BoolKind::Ints(_, a, b) => [a, b].into_iter().for_each(|side| int(side, into)),
        BoolKind::Doubles(_, a, b) => [a, b].into_iter().for_each(|side| double(side, into)),
        BoolKind::Texts(_, a, b) | BoolKind::Part(_, a, b) => {
            [a, b].into_iter().for_each(|side| text(side, into));
        }
        BoolKind::IntIn(a, _) => int(a, into),
        BoolKind::DoubleIn(a, _) => double(a, into),
        BoolKind::TextIn(a, _) | BoolKind::Matches(a, _) | BoolKind::InNetwork(a, _) => text(a, into),
    }
}

fn note(slot: usize, into: &mut Vec<usize>) {
    if !into.contains(&slot) {
        into.push(slot);
    }
}

fn int(tree: &Int, into: &mut Vec<usize>) {
    match tree {
        Int::Const(_) => {}
        Int::Name(slot) => note(*slot, into),
        Int::Negate(inner) => int(inner, into),
        Int::Arithmetic(_, sides) => sides.iter().for_each(|side| int(side, into)),
        Int::If(parts) => {
            read_by(&parts.0, into);
            int(&parts.1, into);
            int(&parts.2, into);
        }
        Int::Size(inner) | Int::FromText(inner) => text(inner, into),
        Int::FromDouble(inner) => double(inner, into),
    }
}

fn double(tree: &Double, into: &mut Vec<usize>) {
    match tree {
        Double::Const(_) => {}
        Double::Name(slot) => note(*slot, into),
        Double::Negate(inner) => double(inner, into),
        Double::Arithmetic(_, sides) => sides.iter().for_each(|side| double(side, into)),
        Double::If(parts) => {
            read_by(&parts.0, into);
            double(&parts.1, into);
            double(&parts.2, into);
        }
        Double::FromInt(inner) => int(inner, into),
        Double::FromText(inner) => text(inner, into),
    }
}

fn text(tree: &Text, into: &mut Vec<usize>) {
    match tree {
        Text::Const(_) => {}
        Text::Name(slot) => note(*slot, into),
        Text::If(parts) => {
            read_by(&parts.0, into);
            text(&parts.1, into);
            text(&parts.2, into);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::policy::load::load;

    fn policy(rules: &str) -> Arc<Policy> {
        let text = format!(
            "version: 1\nlists: {{ writes: [like, post] }}\nsignals:\n  - {{ name: acts, key: [user], window: 1m, count: {{}}, doc: d }}\n\
             rules:\n{rules}"
        );
        load(&[("p.yaml".to_owned(), text)]).unwrap_or_else(|problems| panic!("{problems:?}")).policy
    }

    #[test]
    fn each_condition_has_its_own_outcome() {
        let when = "acts * 2 >= 10 && (account.new || !(event.action in lists.writes))";
        let rule = format!(
            "  - {{ id: a, family: content, when: \"{when}\", points: 1, code: A, text: t, source: s, owner: o }}\n"
        );
        let policy = policy(&rule);
        let mut slots = vec![Slot::Unknown; policy.catalogue.len()];
        let slot =
            |path: &str| policy.catalogue.iter().position(|name| name.path == path).expect("it is there");
        slots[slot("acts")] = Slot::Int(7);
        slots[slot("event.action")] = Slot::Text("like");
        let whole = parts(when, &policy).expect("a condition");
        assert_eq!(whole.outcome(&slots), None, "account.new is unknown, and the other side of || is false");
        let [first, second] = &whole.parts[..] else { panic!("{whole:?}") };
        assert_eq!((first.text(), first.outcome(&slots)), ("acts * 2 >= 10", Some(true)));
        assert_eq!(first.reads, [slot("acts")]);
        assert_eq!(
            second.parts.iter().map(|part| part.outcome(&slots)).collect::<Vec<_>>(),
            [None, Some(false)]
        );
        assert_eq!(second.parts[1].parts[0].text(), "event.action in ['like', 'post']");
        let mut all = Vec::new();
        whole.each(&mut all);
        assert_eq!((all.len(), all[0].text()), (6, whole.text()));
        assert!(parts("nonsense >", &policy).is_none());
    }
}
