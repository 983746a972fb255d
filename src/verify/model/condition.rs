//! Conditions and numbers of a policy in CEL's own interpreter, from their text.
//!
//! What an event does not tell is a missing key, which CEL makes an error: unknown. A number known only between bounds
//! is tried at its bounds and in the middle; a condition that does not come out the same everywhere is undecided.

use std::collections::HashMap;
use std::sync::Arc;

use cel::objects::{Key, Map};
use cel::{Context, ExecutionError, Program, Value};
use ipnet::IpNet;

use super::range::Range;
use crate::engine::policy::Policy;

/// More combinations of bounds than this are not tried: the answer is undecided.
const CORNERS_MAX: usize = 243;

/// The value of a name for one event.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Known {
    Bool(bool),
    Int(i64),
    Text(String),
    /// A whole number within bounds.
    Ints(Range),
    /// A number within bounds.
    Doubles(Range),
}

/// The expressions of a policy, ready to be evaluated.
pub(super) struct Expressions {
    programs: HashMap<String, Option<Program>>,
    root: Context<'static, 'static>,
}

impl std::fmt::Debug for Expressions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Expressions({})", self.programs.len())
    }
}

/// What the names mean for one event.
pub(super) struct Scope<'m> {
    context: Context<'m, 'static>,
    /// Names of which only bounds are known.
    open: Vec<(String, Range, bool)>,
}

impl Expressions {
    pub(super) fn new(policy: &Policy) -> Self {
        let mut root = Context::default();
        let lists: HashMap<String, Vec<String>> = policy.lists.clone().into_iter().collect();
        root.add_variable_from_value("lists", lists);
        let names: HashMap<String, String> =
            policy.networks.keys().map(|name| (name.clone(), name.clone())).collect();
        root.add_variable_from_value("networks", names);
        functions(&mut root, policy);
        Self { programs: HashMap::new(), root }
    }

    /// Parses a text once.
    pub(super) fn learn(&mut self, text: &str) {
        if !self.programs.contains_key(text) {
            self.programs.insert(text.to_owned(), Program::compile(text).ok());
        }
    }

    /// The names of one event. What a dotted name is in is there as a map even where the name has no value.
    pub(super) fn scope<'m, 'n>(
        &'m self,
        names: impl IntoIterator<Item = &'n (String, Option<Known>)>,
    ) -> Scope<'m> {
        let mut context = self.root.new_inner_scope();
        let mut trees: HashMap<&'n str, Tree> = HashMap::new();
        let mut open = Vec::new();
        for (path, known) in names {
            if let Some(Known::Ints(range) | Known::Doubles(range)) = known
                && !range.is_exact()
            {
                open.push((path.clone(), *range, matches!(known, Some(Known::Ints(_)))));
            }
            let value = known.as_ref().map(value);
            match (path.split_once('.'), value) {
                (Some((root, rest)), value) => trees.entry(root).or_default().put(rest, value),
                (None, Some(value)) => context.add_variable_from_value(path.as_str(), value),
                (None, None) => {}
            }
        }
        for (root, tree) in trees {
            context.add_variable_from_value(root, tree.into_value());
        }
        Scope { context, open }
    }

    /// The same, of the names that one text can mean: what it does not mention cannot matter.
    pub(super) fn scope_of<'m>(&'m self, text: &str, names: &[(String, Option<Known>)]) -> Scope<'m> {
        let root = |path: &str| path.split('.').next().is_some_and(|root| text.contains(root));
        self.scope(names.iter().filter(|(path, _)| root(path)))
    }

    /// Whether a condition holds; `Some(false)` where it is unknown, `None` where that depends on the bounds.
    pub(super) fn holds(&self, text: &str, scope: &Scope<'_>) -> Option<bool> {
        let answers = self.answers(text, scope)?;
        let mut truths = answers.iter().map(|answer| matches!(answer, Some(Value::Bool(true))));
        let first = truths.next()?;
        truths.all(|truth| truth == first).then_some(first)
    }

    /// A number; `None` where it is unknown.
    pub(super) fn number(&self, text: &str, scope: &Scope<'_>) -> Option<Range> {
        let answers = self.answers(text, scope).unwrap_or_default();
        let numbers = answers.iter().filter_map(|answer| match answer {
            Some(Value::Int(value)) => Some(*value as f64),
            Some(Value::Float(value)) if value.is_finite() => Some(*value),
            _ => None,
        });
        numbers.map(Range::exact).reduce(Range::or)
    }

    /// What comes out with every combination of bounds of the names that the text mentions.
    fn answers(&self, text: &str, scope: &Scope<'_>) -> Option<Vec<Option<Value>>> {
        let program = self.programs.get(text).expect("learned when the policy took effect").as_ref();
        let run = |context: &Context<'_, '_>| program.and_then(|program| program.execute(context).ok());
        let open: Vec<_> = scope.open.iter().filter(|(name, ..)| mentions(text, name)).collect();
        let corners = 3usize.checked_pow(open.len() as u32).filter(|corners| *corners <= CORNERS_MAX)?;
        let corner = |number: usize| {
            let mut context = scope.context.new_inner_scope();
            let mut rest = number;
            for (name, range, whole) in &open {
                let middle = (range.lo + range.hi) / 2.0;
                let value = [range.lo, middle, range.hi][rest % 3];
                rest /= 3;
                context.add_variable_from_value(name.as_str(), self::number(value, *whole));
            }
            run(&context)
        };
        Some(if open.is_empty() { vec![run(&scope.context)] } else { (0..corners).map(corner).collect() })
    }
}

fn value(known: &Known) -> Value {
    match known {
        Known::Bool(value) => Value::Bool(*value),
        Known::Int(value) => Value::Int(*value),
        Known::Text(text) => Value::String(Arc::new(text.clone())),
        Known::Ints(range) => number(range.lo, true),
        Known::Doubles(range) => number(range.lo, false),
    }
}

fn number(value: f64, whole: bool) -> Value {
    if whole { Value::Int(value.round() as i64) } else { Value::Float(value) }
}

/// Whether a name stands in a text as a word of its own.
fn mentions(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(part) && !text[at + name.len()..].starts_with(part))
}

/// Maps of maps of values.
#[derive(Default)]
struct Tree {
    value: Option<Value>,
    fields: HashMap<String, Tree>,
}

impl Tree {
    fn put(&mut self, path: &str, value: Option<Value>) {
        match (path.split_once('.'), value) {
            (Some((field, rest)), value) => self.fields.entry(field.to_owned()).or_default().put(rest, value),
            (None, Some(value)) => self.fields.entry(path.to_owned()).or_default().value = Some(value),
            (None, None) => {}
        }
    }

    fn into_value(self) -> Value {
        self.value.unwrap_or_else(|| {
            let fields = self.fields.into_iter().map(|(name, tree)| (Key::from(name), tree.into_value()));
            Value::Map(Map { map: Arc::new(fields.collect()) })
        })
    }
}

fn functions(context: &mut Context<'static, 'static>, policy: &Policy) {
    for (name, factor) in [("days", 86_400), ("hours", 3600), ("minutes", 60), ("seconds", 1)] {
        let seconds = move |number: i64| -> Result<i64, ExecutionError> {
            number.checked_mul(factor).ok_or_else(|| ExecutionError::function_error(name, "overflow"))
        };
        context.add_function(name, seconds).expect("CEL has no function of this name");
    }
    let networks = policy.networks.clone();
    let within = move |address: Arc<String>, name: Arc<String>| -> Result<bool, ExecutionError> {
        let address =
            network(&address).ok_or_else(|| ExecutionError::function_error("in_network", "no address"))?;
        Ok(networks.get(name.as_str()).is_some_and(|list| list.iter().any(|net| net.contains(&address))))
    };
    context.add_function("in_network", within).expect("CEL has no function of this name");
}

fn network(text: &str) -> Option<IpNet> {
    match text.parse::<std::net::IpAddr>() {
        Ok(address) => Some(IpNet::from(address.to_canonical())),
        Err(_) => text.parse().ok(),
    }
}

impl Known {
    /// A number known exactly.
    pub(super) fn double(value: f64) -> Self {
        Known::Doubles(Range::exact(value))
    }

    /// A whole number known exactly.
    pub(super) fn whole(value: i64) -> Self {
        Known::Int(value)
    }
}
