//! The catalogue of a policy as a table: what expressions may name.

use super::{Measure, Name, Origin, Policy};
use crate::engine::expr::Type;

/// One name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// As written in expressions.
    pub name: String,
    /// `field`, `fact`, `attribute` or `signal`.
    pub kind: &'static str,
    /// `bool`, `int`, `double` or `text`.
    pub ty: &'static str,
    /// Unit, empty where there is none.
    pub unit: &'static str,
    /// For signals: what is measured, by which key, over which window.
    pub measure: String,
    /// What it means.
    pub doc: String,
    /// Whether any expression of the policy reads it.
    pub used: bool,
}

/// All names of a policy, in the order of their slots.
pub fn catalogue_table(policy: &Policy) -> Vec<Row> {
    policy.catalogue.iter().map(|name| row(policy, name)).collect()
}

fn row(policy: &Policy, name: &Name) -> Row {
    let (kind, measure) = match &name.origin {
        Origin::Field(_) => ("field", String::new()),
        Origin::Fact(_) | Origin::Crowd(_) | Origin::Place(_) => ("fact", String::new()),
        Origin::Attribute(_) | Origin::DeviceAttribute(_) => ("attribute", String::new()),
        Origin::Signal(index) => ("signal", measure_of(policy, *index)),
    };
    let ty = match name.ty {
        Type::Bool => "bool",
        Type::Int => "int",
        Type::Double => "double",
        Type::Text => "text",
    };
    Row {
        name: name.path.clone(),
        kind,
        ty,
        unit: name.unit,
        measure,
        doc: name.doc.clone(),
        used: name.used,
    }
}

/// `distinct user by target over 10m where account.new`
fn measure_of(policy: &Policy, index: usize) -> String {
    let Some(signal) = policy.signals.get(index) else {
        return String::new();
    };
    let what = match &signal.measure {
        Measure::Count { .. } => "count".to_owned(),
        Measure::Distinct { of, .. } => format!("distinct {of}"),
        Measure::Sum { of, .. } => format!("sum of {}", of.text),
        Measure::Pace(spec) => format!("rate over {} times the {} quantile", spec.times, spec.quantile),
        Measure::Travel { least_km, .. } => format!("speed of travel from {least_km} km"),
    };
    let key =
        policy.dimensions.get(signal.dimension).map(|dimension| dimension.name.as_ref()).unwrap_or_default();
    let filter = signal.filter.as_ref().map(|filter| format!(" where {}", filter.text)).unwrap_or_default();
    format!("{what} by {key} over {}{filter}", signal.window)
}
