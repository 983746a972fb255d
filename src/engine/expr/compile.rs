//! A checked expression as closures over slots.
//!
//! Each node becomes one boxed closure that owns its constants; the commonest leaves (a name against a constant)
//! are one closure instead of three. Evaluation allocates nothing and visits each node at most once.

use super::tree::{
    Arithmetic, Bool, BoolKind, Double, Int, Part, Relation, Text, in_networks, int_of_double,
};
use super::{BoolClosure, NumberClosure, Slot};

type IntClosure = dyn for<'s, 'e> Fn(&'s [Slot<'e>]) -> Option<i64> + Send + Sync;

/// Compiles a condition.
pub fn condition(tree: &Bool) -> Box<BoolClosure> {
    match &tree.kind {
        BoolKind::Const(value) => {
            let value = Some(*value);
            Box::new(move |_| value)
        }
        BoolKind::Name(slot) => {
            let slot = *slot;
            Box::new(move |slots| bool_slot(slots, slot))
        }
        BoolKind::Has(slot) => {
            let slot = *slot;
            Box::new(move |slots| Some(!matches!(slots.get(slot), None | Some(Slot::Unknown))))
        }
        BoolKind::Not(inner) => not(inner),
        BoolKind::And(parts) => all(parts),
        BoolKind::Or(parts) => any(parts),
        BoolKind::If(parts) => {
            let [test, yes, no] = parts.each_ref().map(condition);
            Box::new(move |slots| if test(slots)? { yes(slots) } else { no(slots) })
        }
        BoolKind::Ints(relation, left, right) => ints(*relation, left, right),
        BoolKind::Doubles(relation, left, right) => doubles(*relation, left, right),
        BoolKind::Texts(equal, left, right) => texts(*equal, left, right),
        BoolKind::Bools(equal, sides) => {
            let (equal, [left, right]) = (*equal, sides.each_ref().map(condition));
            Box::new(move |slots| Some((left(slots)? == right(slots)?) == equal))
        }
        _ => membership(&tree.kind),
    }
}

/// Compiles a number; what is not finite is unknown.
pub fn number(tree: &super::tree::Typed) -> Option<Box<NumberClosure>> {
    match tree {
        super::tree::Typed::Int(Int::Name(slot)) => {
            let slot = *slot;
            Some(Box::new(move |slots| int_slot(slots, slot).map(|value| value as f64)))
        }
        super::tree::Typed::Int(tree) => {
            let value = int(tree);
            Some(Box::new(move |slots| value(slots).map(|value| value as f64)))
        }
        super::tree::Typed::Double(tree) => {
            let value = double(tree);
            Some(Box::new(move |slots| value(slots).filter(|value| value.is_finite())))
        }
        _ => None,
    }
}

fn bool_slot(slots: &[Slot<'_>], slot: usize) -> Option<bool> {
    match slots.get(slot) {
        Some(Slot::Bool(value)) => Some(*value),
        _ => None,
    }
}

fn int_slot(slots: &[Slot<'_>], slot: usize) -> Option<i64> {
    match slots.get(slot) {
        Some(Slot::Int(value)) => Some(*value),
        _ => None,
    }
}

fn double_slot(slots: &[Slot<'_>], slot: usize) -> Option<f64> {
    match slots.get(slot) {
        Some(Slot::Double(value)) => Some(*value),
        _ => None,
    }
}

fn text_slot<'s>(slots: &'s [Slot<'_>], slot: usize) -> Option<&'s str> {
    match slots.get(slot) {
        Some(Slot::Text(value)) => Some(value),
        _ => None,
    }
}

fn not(inner: &Bool) -> Box<BoolClosure> {
    if let BoolKind::Name(slot) = inner.kind {
        return Box::new(move |slots| bool_slot(slots, slot).map(|value| !value));
    }
    let inner = condition(inner);
    Box::new(move |slots| inner(slots).map(|value| !value))
}

/// Kleene's `&&`: false wins over unknown, unknown over true.
fn all(parts: &[Bool]) -> Box<BoolClosure> {
    let parts: Vec<Box<BoolClosure>> = parts.iter().map(condition).collect();
    match <[_; 2]>::try_from(parts) {
        Ok([left, right]) => Box::new(move |slots| match left(slots) {
            Some(false) => Some(false),
            Some(true) => right(slots),
            None => right(slots).filter(|right| !right),
        }),
        Err(parts) => Box::new(move |slots| {
            let mut outcome = Some(true);
            for part in &parts {
                match part(slots) {
                    Some(true) => {}
                    Some(false) => return Some(false),
                    None => outcome = None,
                }
            }
            outcome
        }),
    }
}

/// Kleene's `||`: true wins over unknown, unknown over false.
fn any(parts: &[Bool]) -> Box<BoolClosure> {
    let parts: Vec<Box<BoolClosure>> = parts.iter().map(condition).collect();
    match <[_; 2]>::try_from(parts) {
        Ok([left, right]) => Box::new(move |slots| match left(slots) {
            Some(true) => Some(true),
            Some(false) => right(slots),
            None => right(slots).filter(|right| *right),
        }),
        Err(parts) => Box::new(move |slots| {
            let mut outcome = Some(false);
            for part in &parts {
                match part(slots) {
                    Some(false) => {}
                    Some(true) => return Some(true),
                    None => outcome = None,
                }
            }
            outcome
        }),
    }
}

fn ints(relation: Relation, left: &Int, right: &Int) -> Box<BoolClosure> {
    match (left, right) {
        (Int::Name(slot), Int::Const(constant)) => int_leaf(relation, *slot, *constant),
        (Int::Const(constant), Int::Name(slot)) => int_leaf(relation.mirrored(), *slot, *constant),
        _ => {
            let (left, right) = (int(left), int(right));
            Box::new(move |slots| Some(relation.holds(left(slots)?.cmp(&right(slots)?))))
        }
    }
}

fn int_leaf(relation: Relation, slot: usize, constant: i64) -> Box<BoolClosure> {
    match relation {
        Relation::Equal => Box::new(move |slots| Some(int_slot(slots, slot)? == constant)),
        Relation::NotEqual => Box::new(move |slots| Some(int_slot(slots, slot)? != constant)),
        Relation::Less => Box::new(move |slots| Some(int_slot(slots, slot)? < constant)),
        Relation::LessOrEqual => Box::new(move |slots| Some(int_slot(slots, slot)? <= constant)),
        Relation::Greater => Box::new(move |slots| Some(int_slot(slots, slot)? > constant)),
        Relation::GreaterOrEqual => Box::new(move |slots| Some(int_slot(slots, slot)? >= constant)),
    }
}

fn doubles(relation: Relation, left: &Double, right: &Double) -> Box<BoolClosure> {
    match (left, right) {
        (Double::Name(slot), Double::Const(constant)) => {
            let (slot, constant) = (*slot, *constant);
            Box::new(move |slots| relation.holds_for(double_slot(slots, slot)?, constant))
        }
        _ => {
            let (left, right) = (double(left), double(right));
            Box::new(move |slots| relation.holds_for(left(slots)?, right(slots)?))
        }
    }
}

fn texts(equal: bool, left: &Text, right: &Text) -> Box<BoolClosure> {
    match (left, right) {
        (Text::Name(slot), Text::Const(constant)) | (Text::Const(constant), Text::Name(slot)) => {
            let (slot, constant) = (*slot, constant.clone());
            Box::new(move |slots| Some((text_slot(slots, slot)? == constant) == equal))
        }
        _ => {
            let (left, right) = (left.clone().ready(), right.clone().ready());
            Box::new(move |slots| Some((left.eval(slots)? == right.eval(slots)?) == equal))
        }
    }
}

fn membership(kind: &BoolKind) -> Box<BoolClosure> {
    match kind {
        BoolKind::IntIn(item, list) => {
            let (item, list) = (int(item), list.clone());
            Box::new(move |slots| item(slots).map(|item| list.contains(&item)))
        }
        BoolKind::DoubleIn(item, list) => {
            let (item, list) = (double(item), list.clone());
            Box::new(move |slots| item(slots).map(|item| list.contains(&item)))
        }
        BoolKind::TextIn(item, list) => {
            let (item, list) = (item.clone().ready(), list.clone());
            Box::new(move |slots| item.eval(slots).map(|item| list.iter().any(|text| text == item)))
        }
        BoolKind::Matches(text, pattern) => {
            let (text, pattern) = (text.clone().ready(), pattern.clone());
            Box::new(move |slots| text.eval(slots).map(|text| pattern.is_match(text)))
        }
        BoolKind::InNetwork(address, networks) => {
            let (address, networks) = (address.clone().ready(), networks.clone());
            Box::new(move |slots| in_networks(address.eval(slots)?, &networks))
        }
        BoolKind::Part(part, whole, other) => text_part(*part, whole, other),
        _ => Box::new(|_| None),
    }
}

fn text_part(part: Part, whole: &Text, other: &Text) -> Box<BoolClosure> {
    let (whole, other) = (whole.clone().ready(), other.clone().ready());
    Box::new(move |slots| Some(part.holds(whole.eval(slots)?, other.eval(slots)?)))
}

fn int(tree: &Int) -> Box<IntClosure> {
    match tree {
        Int::Const(value) => {
            let value = Some(*value);
            Box::new(move |_| value)
        }
        Int::Name(slot) => {
            let slot = *slot;
            Box::new(move |slots| int_slot(slots, slot))
        }
        Int::Negate(inner) => {
            let inner = int(inner);
            Box::new(move |slots| inner(slots)?.checked_neg())
        }
        Int::Arithmetic(operation, sides) => int_arithmetic(*operation, sides),
        Int::If(parts) => {
            let (test, yes, no) = (condition(&parts.0), int(&parts.1), int(&parts.2));
            Box::new(move |slots| if test(slots)? { yes(slots) } else { no(slots) })
        }
        Int::Size(text) => {
            let text = text.clone().ready();
            Box::new(move |slots| i64::try_from(text.eval(slots)?.chars().count()).ok())
        }
        Int::FromDouble(inner) => {
            let inner = double(inner);
            Box::new(move |slots| int_of_double(inner(slots)?))
        }
        Int::FromText(text) => {
            let text = text.clone().ready();
            Box::new(move |slots| text.eval(slots)?.parse().ok())
        }
    }
}

fn int_arithmetic(operation: Arithmetic, sides: &[Int; 2]) -> Box<IntClosure> {
    let [left, right] = sides.each_ref().map(int);
    Box::new(move |slots| operation.on_ints(left(slots)?, right(slots)?))
}

fn double(tree: &Double) -> Box<NumberClosure> {
    match tree {
        Double::Const(value) => {
            let value = Some(*value);
            Box::new(move |_| value)
        }
        Double::Name(slot) => {
            let slot = *slot;
            Box::new(move |slots| double_slot(slots, slot))
        }
        Double::Negate(inner) => {
            let inner = double(inner);
            Box::new(move |slots| inner(slots).map(|value| -value))
        }
        Double::Arithmetic(operation, sides) => {
            let (operation, [left, right]) = (*operation, sides.each_ref().map(double));
            Box::new(move |slots| operation.on_doubles(left(slots)?, right(slots)?))
        }
        Double::If(parts) => {
            let (test, yes, no) = (condition(&parts.0), double(&parts.1), double(&parts.2));
            Box::new(move |slots| if test(slots)? { yes(slots) } else { no(slots) })
        }
        Double::FromInt(inner) => {
            let inner = int(inner);
            Box::new(move |slots| inner(slots).map(|value| value as f64))
        }
        Double::FromText(text) => {
            let text = text.clone().ready();
            Box::new(move |slots| text.eval(slots)?.parse().ok())
        }
    }
}

/// A text, ready to be evaluated. Texts are seldom more than a name or a literal: a small tree, not closures, so that
/// a literal can be lent from it.
enum ReadyText {
    Const(String),
    Name(usize),
    If(Box<(Box<BoolClosure>, ReadyText, ReadyText)>),
}

impl Text {
    fn ready(self) -> ReadyText {
        match self {
            Text::Const(value) => ReadyText::Const(value),
            Text::Name(slot) => ReadyText::Name(slot),
            Text::If(parts) => {
                let (test, yes, no) = *parts;
                ReadyText::If(Box::new((condition(&test), yes.ready(), no.ready())))
            }
        }
    }
}

impl ReadyText {
    fn eval<'s>(&'s self, slots: &'s [Slot<'_>]) -> Option<&'s str> {
        match self {
            ReadyText::Const(value) => Some(value),
            ReadyText::Name(slot) => text_slot(slots, *slot),
            ReadyText::If(parts) => {
                let (test, yes, no) = parts.as_ref();
                if test(slots)? { yes.eval(slots) } else { no.eval(slots) }
            }
        }
    }
}
