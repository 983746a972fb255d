//! Whether a condition makes sense: can it ever be true, can it ever be false, and does a negation wait for a field
//! that events may leave out?
//!
//! Everything said here is certain; what cannot be decided from ranges, constants and `&&` chains is not said. Ranges
//! are kept as 128-bit numbers, so that no bound of a 64-bit number overflows.

use std::collections::BTreeMap;

use super::flaw::Flaw;
use super::tree::{Arithmetic, Bool, BoolKind, Double, Int, Relation, Text};
use crate::engine::policy::{EventField, Name, Origin};

/// What is certain about a condition.
#[derive(Debug, Default)]
pub struct Sense {
    /// Why it can never be true.
    pub never: Option<Flaw>,
    /// It is true whenever it is known.
    pub always: bool,
    /// Parts that decide nothing, and negations that may wait for ever.
    pub doubts: Vec<Flaw>,
}

/// Looks at a condition.
pub fn sense(tree: &Bool, names: &[Name]) -> Sense {
    let mut look = Look { names, dead: Vec::new(), idle: Vec::new() };
    let outcome = look.outcome(tree);
    let mut doubts = super::negation::doubts(tree, names);
    let Look { mut dead, idle, .. } = look;
    if !outcome.can_be_true {
        let reason =
            if dead.is_empty() { Flaw::new(tree.at, "this is never true") } else { dead.swap_remove(0) };
        return Sense { never: Some(reason), always: false, doubts };
    }
    doubts.extend(dead);
    if outcome.can_be_false {
        doubts.extend(idle);
    }
    Sense { never: None, always: !outcome.can_be_false, doubts }
}

#[derive(Clone, Copy)]
struct Outcome {
    can_be_true: bool,
    can_be_false: bool,
}

const OPEN: Outcome = Outcome { can_be_true: true, can_be_false: true };

struct Look<'a> {
    names: &'a [Name],
    /// Parts that are never true.
    dead: Vec<Flaw>,
    /// Parts that are never false.
    idle: Vec<Flaw>,
}

/// Values from and to, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range {
    from: i128,
    to: i128,
}

const INTS: Range = Range { from: i64::MIN as i128, to: i64::MAX as i128 };

impl Look<'_> {
    fn outcome(&mut self, tree: &Bool) -> Outcome {
        match &tree.kind {
            BoolKind::Const(value) => Outcome { can_be_true: *value, can_be_false: !*value },
            BoolKind::Not(inner) => {
                let (dead, idle) = (std::mem::take(&mut self.dead), std::mem::take(&mut self.idle));
                let inner = self.outcome(inner);
                self.dead = dead;
                self.idle = idle;
                Outcome { can_be_true: inner.can_be_false, can_be_false: inner.can_be_true }
            }
            BoolKind::And(parts) => self.all(parts),
            BoolKind::Or(parts) => self.any(parts),
            BoolKind::If(parts) => {
                let [test, yes, no] = parts.each_ref().map(|part| self.outcome(part));
                let (a, b) = (test.can_be_true, test.can_be_false);
                Outcome {
                    can_be_true: a && yes.can_be_true || b && no.can_be_true,
                    can_be_false: a && yes.can_be_false || b && no.can_be_false,
                }
            }
            BoolKind::Ints(relation, left, right) => self.ints(tree.at, *relation, left, right),
            BoolKind::Doubles(relation, left, right) => self.doubles(tree.at, *relation, left, right),
            BoolKind::Texts(true, Text::Name(slot), Text::Const(text))
            | BoolKind::Texts(true, Text::Const(text), Text::Name(slot)) => {
                self.texts(tree.at, *slot, &[text])
            }
            BoolKind::TextIn(Text::Name(slot), list) => {
                self.texts(tree.at, *slot, &list.iter().map(String::as_str).collect::<Vec<_>>())
            }
            _ => OPEN,
        }
    }

    fn all(&mut self, parts: &[Bool]) -> Outcome {
        let outcomes: Vec<Outcome> = parts.iter().map(|part| self.outcome(part)).collect();
        let can_be_false = outcomes.iter().any(|outcome| outcome.can_be_false);
        let mut can_be_true = outcomes.iter().all(|outcome| outcome.can_be_true);
        if can_be_true && let Some(flaw) = contradiction(parts, self.names) {
            self.dead.push(flaw);
            can_be_true = false;
        }
        Outcome { can_be_true, can_be_false: can_be_false || !can_be_true }
    }

    fn any(&mut self, parts: &[Bool]) -> Outcome {
        let outcomes: Vec<Outcome> = parts.iter().map(|part| self.outcome(part)).collect();
        Outcome {
            can_be_true: outcomes.iter().any(|outcome| outcome.can_be_true),
            can_be_false: outcomes.iter().all(|outcome| outcome.can_be_false),
        }
    }

    fn ints(&mut self, at: usize, relation: Relation, left: &Int, right: &Int) -> Outcome {
        let (a, b) = (int_range(left, self.names), int_range(right, self.names));
        self.told(at, compare(relation, a, b))
    }

    fn doubles(&mut self, at: usize, relation: Relation, left: &Double, right: &Double) -> Outcome {
        match (double_range(left, self.names), double_range(right, self.names)) {
            (Some((a_from, a_to)), Some((b_from, b_to))) => {
                let outcome = compare_doubles(relation, (a_from, a_to), (b_from, b_to));
                self.told(at, outcome)
            }
            _ => OPEN,
        }
    }

    fn texts(&mut self, at: usize, slot: usize, wanted: &[&str]) -> Outcome {
        let name = &self.names[slot];
        if wanted.is_empty() {
            self.dead.push(Flaw::new(at, "the list is empty: nothing is in it"));
            return Outcome { can_be_true: false, can_be_false: true };
        }
        let Some(words) = words(name) else {
            return OPEN;
        };
        if wanted.iter().any(|text| words.contains(text)) {
            return OPEN;
        }
        let message =
            format!("`{}` is never `{}`: it is {}", name.path, wanted.join("` or `"), words.join(" or "));
        self.dead.push(Flaw::new(at, message));
        Outcome { can_be_true: false, can_be_false: true }
    }

    fn told(&mut self, at: usize, outcome: Outcome) -> Outcome {
        if !outcome.can_be_true {
            self.dead.push(Flaw::new(at, "this comparison is never true: no value it can have fulfils it"));
        }
        if !outcome.can_be_false {
            self.idle.push(Flaw::new(at, "this comparison is always true: it decides nothing"));
        }
        outcome
    }
}

/// The only texts a field can have.
fn words(name: &Name) -> Option<[&'static str; 2]> {
    (name.origin == Origin::Field(EventField::Outcome)).then_some(["success", "failure"])
}

/// Counts, ages and penalties are never negative; declared attributes and sums may be.
fn never_negative(name: &Name) -> bool {
    match name.origin {
        Origin::Signal(_) => name.ty == super::Type::Int,
        Origin::Fact(_) => true,
        _ => false,
    }
}

fn int_range(tree: &Int, names: &[Name]) -> Range {
    let range = match tree {
        Int::Const(value) => Range { from: i128::from(*value), to: i128::from(*value) },
        Int::Name(slot) if never_negative(&names[*slot]) => Range { from: 0, to: INTS.to },
        Int::Size(_) => Range { from: 0, to: INTS.to },
        Int::Negate(inner) => {
            let inner = int_range(inner, names);
            Range { from: -inner.to, to: -inner.from }
        }
        Int::Arithmetic(operation, sides) => {
            let [a, b] = sides.each_ref().map(|side| int_range(side, names));
            combined(*operation, a, b)
        }
        Int::If(parts) => {
            let (a, b) = (int_range(&parts.1, names), int_range(&parts.2, names));
            Range { from: a.from.min(b.from), to: a.to.max(b.to) }
        }
        _ => INTS,
    };
    // What lies beyond is an overflow, and so unknown.
    Range { from: range.from.clamp(INTS.from, INTS.to), to: range.to.clamp(INTS.from, INTS.to) }
}

fn combined(operation: Arithmetic, a: Range, b: Range) -> Range {
    match operation {
        Arithmetic::Add => Range { from: a.from + b.from, to: a.to + b.to },
        Arithmetic::Subtract => Range { from: a.from - b.to, to: a.to - b.from },
        Arithmetic::Multiply => {
            let corners = [a.from * b.from, a.from * b.to, a.to * b.from, a.to * b.to];
            corners.iter().fold(Range { from: corners[0], to: corners[0] }, |range, corner| Range {
                from: range.from.min(*corner),
                to: range.to.max(*corner),
            })
        }
        Arithmetic::Divide | Arithmetic::Remainder => INTS,
    }
}

fn compare(relation: Relation, a: Range, b: Range) -> Outcome {
    let overlap = a.from <= b.to && b.from <= a.to;
    let one = a.from == a.to && b.from == b.to && a.from == b.from;
    let (can_be_true, can_be_false) = match relation {
        Relation::Equal => (overlap, !one),
        Relation::NotEqual => (!one, overlap),
        Relation::Less => (a.from < b.to, a.to >= b.from),
        Relation::LessOrEqual => (a.from <= b.to, a.to > b.from),
        Relation::Greater => (a.to > b.from, a.from <= b.to),
        Relation::GreaterOrEqual => (a.to >= b.from, a.from < b.to),
    };
    Outcome { can_be_true, can_be_false }
}

fn compare_doubles(relation: Relation, a: (f64, f64), b: (f64, f64)) -> Outcome {
    let (can_be_true, can_be_false) = match relation {
        Relation::Less => (a.0 < b.1, a.1 >= b.0),
        Relation::LessOrEqual => (a.0 <= b.1, a.1 > b.0),
        Relation::Greater => (a.1 > b.0, a.0 <= b.1),
        Relation::GreaterOrEqual => (a.1 >= b.0, a.0 < b.1),
        Relation::Equal => (a.0 <= b.1 && b.0 <= a.1, true),
        Relation::NotEqual => (true, true),
    };
    Outcome { can_be_true, can_be_false }
}

/// From and to, where both are numbers for certain.
fn double_range(tree: &Double, names: &[Name]) -> Option<(f64, f64)> {
    match tree {
        Double::Const(value) => Some((*value, *value)),
        Double::Name(slot) if never_negative(&names[*slot]) => Some((0.0, f64::MAX)),
        Double::Name(_) => Some((f64::MIN, f64::MAX)),
        Double::FromInt(inner) => {
            let inner = int_range(inner, names);
            Some((inner.from as f64, inner.to as f64))
        }
        _ => None,
    }
}

/// What one `&&` chain says about one slot.
#[derive(Default)]
struct Demands<'a> {
    range: Option<Range>,
    texts: Option<Vec<&'a str>>,
    truth: Option<bool>,
}

/// Two parts of an `&&` chain that cannot both be true.
fn contradiction(parts: &[Bool], names: &[Name]) -> Option<Flaw> {
    let mut demands: BTreeMap<usize, Demands<'_>> = BTreeMap::new();
    let mut flat = Vec::new();
    flatten(parts, &mut flat);
    flat.into_iter().find_map(|part| {
        let slot = demand(part, &mut demands)?;
        let message =
            format!("this contradicts what is asked of `{}` before: both are never true", names[slot].path);
        Some(Flaw::new(part.at, message))
    })
}

fn flatten<'a>(parts: &'a [Bool], flat: &mut Vec<&'a Bool>) {
    for part in parts {
        match &part.kind {
            BoolKind::And(inner) => flatten(inner, flat),
            _ => flat.push(part),
        }
    }
}

/// Adds what a part demands; the slot of which it demands the impossible.
fn demand<'a>(part: &'a Bool, demands: &mut BTreeMap<usize, Demands<'a>>) -> Option<usize> {
    match &part.kind {
        BoolKind::Name(slot) => demand_truth(*slot, true, demands),
        BoolKind::Not(inner) => match inner.kind {
            BoolKind::Name(slot) => demand_truth(slot, false, demands),
            _ => None,
        },
        BoolKind::Ints(relation, Int::Name(slot), Int::Const(value)) => {
            demand_range(*slot, *relation, *value, demands)
        }
        BoolKind::Ints(relation, Int::Const(value), Int::Name(slot)) => {
            demand_range(*slot, relation.mirrored(), *value, demands)
        }
        BoolKind::Texts(true, Text::Name(slot), Text::Const(text))
        | BoolKind::Texts(true, Text::Const(text), Text::Name(slot)) => {
            demand_texts(*slot, vec![text.as_str()], demands)
        }
        BoolKind::TextIn(Text::Name(slot), list) => {
            demand_texts(*slot, list.iter().map(String::as_str).collect(), demands)
        }
        _ => None,
    }
}

fn demand_truth(slot: usize, value: bool, demands: &mut BTreeMap<usize, Demands<'_>>) -> Option<usize> {
    let demands = demands.entry(slot).or_default();
    (*demands.truth.get_or_insert(value) != value).then_some(slot)
}

fn demand_range(
    slot: usize,
    relation: Relation,
    value: i64,
    demands: &mut BTreeMap<usize, Demands<'_>>,
) -> Option<usize> {
    let value = i128::from(value);
    let wanted = match relation {
        Relation::Equal => Range { from: value, to: value },
        Relation::NotEqual => return None,
        Relation::Less => Range { from: INTS.from, to: value - 1 },
        Relation::LessOrEqual => Range { from: INTS.from, to: value },
        Relation::Greater => Range { from: value + 1, to: INTS.to },
        Relation::GreaterOrEqual => Range { from: value, to: INTS.to },
    };
    let demands = demands.entry(slot).or_default();
    let before = demands.range.unwrap_or(INTS);
    let both = Range { from: before.from.max(wanted.from), to: before.to.min(wanted.to) };
    demands.range = Some(both);
    (both.from > both.to).then_some(slot)
}

fn demand_texts<'a>(
    slot: usize,
    wanted: Vec<&'a str>,
    demands: &mut BTreeMap<usize, Demands<'a>>,
) -> Option<usize> {
    let demands = demands.entry(slot).or_default();
    let both = match demands.texts.take() {
        Some(before) => before.into_iter().filter(|text| wanted.contains(text)).collect(),
        None => wanted,
    };
    let none = both.is_empty();
    demands.texts = Some(both);
    none.then_some(slot)
}
