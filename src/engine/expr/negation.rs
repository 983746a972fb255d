//! Negation over what an event may leave out.
//!
//! An absent field is unknown, and neither `x != 'a'` nor `!(x == 'a')` is true of it. Who writes such a thing often
//! means "also when it is not there", and must then ask for presence. A field that is asked for with has() anywhere
//! in the expression is taken as thought about.

use std::collections::BTreeSet;

use super::flaw::Flaw;
use super::tree::{Bool, BoolKind, Double, Int, Relation, Text};
use crate::engine::policy::{EventField, Name, Origin};

/// One warning for each negation that waits for an optional field.
pub(super) fn doubts(tree: &Bool, names: &[Name]) -> Vec<Flaw> {
    let mut asked = BTreeSet::new();
    walk(tree, &mut |part| {
        if let BoolKind::Has(slot) = part.kind {
            asked.insert(slot);
        }
    });
    let mut found = Vec::new();
    walk(tree, &mut |part| {
        if let Some(slot) =
            negated(part).into_iter().find(|slot| optional(&names[*slot]) && !asked.contains(slot))
        {
            let path = &names[slot].path;
            let message = format!(
                "a negation over `{path}`, which an event may leave out: absent is unknown, and \
                                   the negation of unknown never fires"
            );
            found.push(Flaw::with(part.at, message, format!("add `!has({path}) ||` or `has({path}) &&`")));
        }
    });
    found
}

/// Fields and attributes that an event need not have.
fn optional(name: &Name) -> bool {
    match name.origin {
        Origin::Field(field) => !matches!(field, EventField::Id | EventField::Action),
        Origin::Attribute(_) | Origin::DeviceAttribute(_) | Origin::Place(_) => true,
        Origin::Fact(_) | Origin::Signal(_) | Origin::Crowd(_) => false,
    }
}

/// The slots that a negation reads, if the part is one.
fn negated(part: &Bool) -> Vec<usize> {
    let mut slots = Vec::new();
    match &part.kind {
        BoolKind::Not(inner) if !matches!(inner.kind, BoolKind::Has(_)) => reads(inner, &mut slots),
        BoolKind::Texts(false, _, _) | BoolKind::Bools(false, _) => reads(part, &mut slots),
        BoolKind::Ints(Relation::NotEqual, _, _) | BoolKind::Doubles(Relation::NotEqual, _, _) => {
            reads(part, &mut slots);
        }
        _ => {}
    }
    slots
}

fn reads(tree: &Bool, slots: &mut Vec<usize>) {
    walk(tree, &mut |part| match &part.kind {
        BoolKind::Name(slot) => slots.push(*slot),
        BoolKind::Texts(_, a, b) | BoolKind::Part(_, a, b) => {
            slots.extend([a, b].into_iter().filter_map(text_slot));
        }
        BoolKind::TextIn(text, _) | BoolKind::Matches(text, _) | BoolKind::InNetwork(text, _) => {
            slots.extend(text_slot(text));
        }
        BoolKind::Ints(_, a, b) => slots.extend([a, b].into_iter().filter_map(int_slot)),
        BoolKind::IntIn(int, _) => slots.extend(int_slot(int)),
        BoolKind::Doubles(_, a, b) => slots.extend([a, b].into_iter().filter_map(double_slot)),
        BoolKind::DoubleIn(double, _) => slots.extend(double_slot(double)),
        _ => {}
    });
}

fn text_slot(text: &Text) -> Option<usize> {
    if let Text::Name(slot) = text { Some(*slot) } else { None }
}

fn int_slot(int: &Int) -> Option<usize> {
    match int {
        Int::Name(slot) => Some(*slot),
        Int::Size(text) | Int::FromText(text) => text_slot(text),
        _ => None,
    }
}

fn double_slot(double: &Double) -> Option<usize> {
    match double {
        Double::Name(slot) => Some(*slot),
        Double::FromInt(int) => int_slot(int),
        Double::FromText(text) => text_slot(text),
        _ => None,
    }
}

/// The condition and all conditions that it joins.
fn walk<'a>(tree: &'a Bool, visit: &mut impl FnMut(&'a Bool)) {
    visit(tree);
    match &tree.kind {
        BoolKind::Not(inner) => walk(inner, visit),
        BoolKind::And(parts) | BoolKind::Or(parts) => {
            for part in parts {
                walk(part, visit);
            }
        }
        BoolKind::If(parts) => {
            for part in parts.iter() {
                walk(part, visit);
            }
        }
        BoolKind::Bools(_, parts) => {
            for part in parts.iter() {
                walk(part, visit);
            }
        }
        _ => {}
    }
}
