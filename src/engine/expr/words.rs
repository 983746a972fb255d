//! A checked expression as text again, in one form: the same meaning gives the same words.

use super::tree::{Arithmetic, Bool, BoolKind, Double, Int, Part, Relation, Text};
use crate::engine::policy::Name;

/// Entries of a list that are written out.
const ENTRIES: usize = 8;

/// A condition as text.
pub fn words(tree: &Bool, names: &[Name]) -> String {
    let sub = |tree: &Bool| match tree.kind {
        BoolKind::And(_) | BoolKind::Or(_) | BoolKind::If(_) => format!("({})", words(tree, names)),
        _ => words(tree, names),
    };
    let joined = |parts: &[Bool], by: &str| parts.iter().map(sub).collect::<Vec<_>>().join(by);
    let path = |slot: usize| names.get(slot).map_or("?", |name| name.path.as_str());
    match &tree.kind {
        BoolKind::Const(value) => value.to_string(),
        BoolKind::Name(slot) => path(*slot).to_owned(),
        BoolKind::Has(slot) => format!("has({})", path(*slot)),
        BoolKind::Not(inner) => match inner.kind {
            BoolKind::Name(_) | BoolKind::Has(_) => format!("!{}", words(inner, names)),
            _ => format!("!({})", words(inner, names)),
        },
        BoolKind::And(parts) => joined(parts, " && "),
        BoolKind::Or(parts) => joined(parts, " || "),
        BoolKind::If(parts) => {
            let [test, yes, no] = parts.each_ref().map(sub);
            format!("{test} ? {yes} : {no}")
        }
        BoolKind::Ints(relation, a, b) => format!("{} {} {}", int(a, names), sign(*relation), int(b, names)),
        BoolKind::Doubles(relation, a, b) => {
            format!("{} {} {}", double(a, names), sign(*relation), double(b, names))
        }
        BoolKind::Texts(equal, a, b) => format!("{} {} {}", text(a, names), equals(*equal), text(b, names)),
        BoolKind::Bools(equal, sides) => {
            let [a, b] = sides.each_ref().map(sub);
            format!("{a} {} {b}", equals(*equal))
        }
        BoolKind::IntIn(a, list) => {
            format!("{} in {}", int(a, names), listed(list.iter().map(i64::to_string)))
        }
        BoolKind::DoubleIn(a, list) => {
            format!("{} in {}", double(a, names), listed(list.iter().map(f64::to_string)))
        }
        BoolKind::TextIn(a, list) => {
            format!("{} in {}", text(a, names), listed(list.iter().map(|entry| quoted(entry))))
        }
        BoolKind::Part(part, whole, other) => {
            let function = match part {
                Part::Start => "startsWith",
                Part::End => "endsWith",
                Part::Any => "contains",
            };
            format!("{}.{function}({})", text(whole, names), text(other, names))
        }
        BoolKind::Matches(a, pattern) => format!("{}.matches({})", text(a, names), quoted(pattern.as_str())),
        BoolKind::InNetwork(a, networks) => {
            format!("in_network({}, {})", text(a, names), listed(networks.iter().map(ToString::to_string)))
        }
    }
}

fn sign(relation: Relation) -> &'static str {
    match relation {
        Relation::Equal => "==",
        Relation::NotEqual => "!=",
        Relation::Less => "<",
        Relation::LessOrEqual => "<=",
        Relation::Greater => ">",
        Relation::GreaterOrEqual => ">=",
    }
}

fn equals(equal: bool) -> &'static str {
    if equal { "==" } else { "!=" }
}

fn operator(operation: Arithmetic) -> &'static str {
    match operation {
        Arithmetic::Add => "+",
        Arithmetic::Subtract => "-",
        Arithmetic::Multiply => "*",
        Arithmetic::Divide => "/",
        Arithmetic::Remainder => "%",
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn listed(entries: impl ExactSizeIterator<Item = String>) -> String {
    let count = entries.len();
    let mut told: Vec<String> = entries.take(ENTRIES).collect();
    if count > ENTRIES {
        told.push(format!("{} more", count - ENTRIES));
    }
    format!("[{}]", told.join(", "))
}

fn int(tree: &Int, names: &[Name]) -> String {
    let sub = |tree: &Int| match tree {
        Int::Arithmetic(Arithmetic::Add | Arithmetic::Subtract, _) | Int::If(_) => {
            format!("({})", int(tree, names))
        }
        _ => int(tree, names),
    };
    match tree {
        Int::Const(value) => value.to_string(),
        Int::Name(slot) => names.get(*slot).map_or("?", |name| name.path.as_str()).to_owned(),
        Int::Negate(inner) => format!("-{}", sub(inner)),
        Int::Arithmetic(operation, sides) => {
            let [a, b] = sides.each_ref().map(sub);
            format!("{a} {} {b}", operator(*operation))
        }
        Int::If(parts) => {
            format!("{} ? {} : {}", words(&parts.0, names), sub(&parts.1), sub(&parts.2))
        }
        Int::Size(inner) => format!("size({})", text(inner, names)),
        Int::FromDouble(inner) => format!("int({})", double(inner, names)),
        Int::FromText(inner) => format!("int({})", text(inner, names)),
    }
}

fn double(tree: &Double, names: &[Name]) -> String {
    let sub = |tree: &Double| match tree {
        Double::Arithmetic(Arithmetic::Add | Arithmetic::Subtract, _) | Double::If(_) => {
            format!("({})", double(tree, names))
        }
        _ => double(tree, names),
    };
    match tree {
        Double::Const(value) => value.to_string(),
        Double::Name(slot) => names.get(*slot).map_or("?", |name| name.path.as_str()).to_owned(),
        Double::Negate(inner) => format!("-{}", sub(inner)),
        Double::Arithmetic(operation, sides) => {
            let [a, b] = sides.each_ref().map(sub);
            format!("{a} {} {b}", operator(*operation))
        }
        Double::If(parts) => {
            format!("{} ? {} : {}", words(&parts.0, names), sub(&parts.1), sub(&parts.2))
        }
        Double::FromInt(inner) => match inner.as_ref() {
            Int::Const(value) => value.to_string(),
            inner => format!("double({})", int(inner, names)),
        },
        Double::FromText(inner) => format!("double({})", text(inner, names)),
    }
}

fn text(tree: &Text, names: &[Name]) -> String {
    match tree {
        Text::Const(value) => quoted(value),
        Text::Name(slot) => names.get(*slot).map_or("?", |name| name.path.as_str()).to_owned(),
        Text::If(parts) => {
            format!("({} ? {} : {})", words(&parts.0, names), text(&parts.1, names), text(&parts.2, names))
        }
    }
}
