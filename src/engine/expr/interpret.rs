//! The oracle: the same text in CEL's own interpreter.
//!
//! Tests hold the compiled form against it. A slot that is not filled is a missing key here, and so an error; what
//! CEL makes of errors is what "unknown" means. It costs some hundred times more and is never used live.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cel::objects::{Key, Map};
use cel::{Context, ExecutionError, Program, Value};
use ipnet::IpNet;

use super::Slot;
use super::catalogue::Catalogue;
use super::check::Scope;
use super::tree::in_networks;

/// An expression in the interpreter.
#[derive(Debug)]
pub struct Interpreted {
    program: Program,
}

/// What the interpreter made of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A condition.
    Bool(bool),
    /// A number.
    Number(f64),
    /// An error: unknown.
    Unknown,
}

impl Interpreted {
    /// Parses the text; `None` where it is no CEL.
    pub fn new(text: &str) -> Option<Self> {
        Program::compile(text).ok().map(|program| Self { program })
    }

    /// Evaluates it for one event.
    pub fn eval(&self, slots: &[Slot<'_>], scope: Scope<'_>) -> Answer {
        match self.program.execute(&context(slots, scope)) {
            Ok(Value::Bool(value)) => Answer::Bool(value),
            Ok(Value::Int(value)) => Answer::Number(value as f64),
            Ok(Value::Float(value)) if value.is_finite() => Answer::Number(value),
            Ok(_) | Err(_) => Answer::Unknown,
        }
    }
}

fn context<'v>(slots: &[Slot<'_>], scope: Scope<'_>) -> Context<'static, 'v> {
    let mut context = Context::default();
    for (name, node) in variables(scope.catalogue, slots) {
        context.add_variable_from_value(name, node.into_value());
    }
    let lists = scope.lists.iter().map(|(name, list)| (name.clone(), list.to_vec()));
    context.add_variable_from_value("lists", lists.collect::<HashMap<String, Vec<String>>>());
    let networks = scope.networks.keys().map(|name| (name.clone(), name.clone()));
    context.add_variable_from_value("networks", networks.collect::<HashMap<String, String>>());
    add_functions(&mut context, scope.networks.clone());
    context
}

fn add_functions(context: &mut Context<'_, '_>, networks: BTreeMap<String, Arc<[IpNet]>>) {
    for (name, factor) in [("days", 86_400), ("hours", 3600), ("minutes", 60), ("seconds", 1)] {
        let seconds = move |number: i64| -> Result<i64, ExecutionError> {
            number.checked_mul(factor).ok_or_else(|| ExecutionError::function_error(name, "overflow"))
        };
        context.add_function(name, seconds).expect("no function of this name in CEL");
    }
    let within = move |address: Arc<String>, name: Arc<String>| -> Result<bool, ExecutionError> {
        let list = networks.get(name.as_str()).map(AsRef::as_ref).unwrap_or_default();
        in_networks(&address, list).ok_or_else(|| ExecutionError::function_error("in_network", "no address"))
    };
    context.add_function("in_network", within).expect("no function of this name in CEL");
}

/// Names as CEL sees them: maps of maps of values.
#[derive(Default)]
struct Node {
    value: Option<Value>,
    fields: BTreeMap<String, Node>,
}

impl Node {
    fn into_value(self) -> Value {
        if let Some(value) = self.value {
            return value;
        }
        let fields = self.fields.into_iter().map(|(name, node)| (Key::from(name), node.into_value()));
        Value::Map(Map { map: Arc::new(fields.collect()) })
    }
}

/// Every root that has a dot in some name is a map, empty or not; a bare name is there only when it has a value.
fn variables(catalogue: &Catalogue, slots: &[Slot<'_>]) -> BTreeMap<String, Node> {
    let mut roots: BTreeMap<String, Node> = BTreeMap::new();
    for (name, slot) in catalogue.names().iter().zip(slots) {
        let mut path: Vec<&str> = name.path.split('.').collect();
        let last = path.pop().unwrap_or_default();
        let value = value(*slot);
        let mut fields = &mut roots;
        for part in path {
            fields = &mut fields.entry(part.to_owned()).or_default().fields;
        }
        if value.is_some() {
            fields.entry(last.to_owned()).or_default().value = value;
        }
    }
    roots
}

fn value(slot: Slot<'_>) -> Option<Value> {
    match slot {
        Slot::Unknown => None,
        Slot::Bool(value) => Some(Value::Bool(value)),
        Slot::Int(value) => Some(Value::Int(value)),
        Slot::Double(value) => Some(Value::Float(value)),
        Slot::Text(value) => Some(Value::String(Arc::new(value.to_owned()))),
    }
}
