//! From syntax to meaning: names become slots, types must agree, and what is not in the subset is refused by name.
//!
//! The subset: literals, names, `! && || ?:`, comparisons, arithmetic on numbers, `in`, `has()`, the text functions,
//! `int() double() size()`, `days() hours() minutes() seconds()` and `in_network()`. No loops, so that the cost of an
//! expression is bounded by its length. Every mistake is told; the walk goes on beside it.

use std::collections::BTreeMap;
use std::sync::Arc;

use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue, SelectExpr, operators};
use ipnet::IpNet;

use super::Type;
use super::catalogue::Catalogue;
use super::flaw::Flaw;
use super::parse::{DEEPEST, Parsed};
use super::tree::{Arithmetic, Bool, BoolKind, Double, Int, Relation, Text, Typed};
use crate::engine::policy::Origin;
use crate::engine::policy::nearest::nearest;

/// What the names of an expression may refer to.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The names with a value.
    pub catalogue: &'a Catalogue,
    /// Named lists of text.
    pub lists: &'a BTreeMap<String, Arc<[String]>>,
    /// Named lists of networks.
    pub networks: &'a BTreeMap<String, Arc<[IpNet]>>,
    /// Whether signals may be read: not by the filters that feed them.
    pub signals: bool,
}

/// A checked expression.
#[derive(Debug)]
pub struct Checked {
    /// Its meaning.
    pub tree: Typed,
    /// The slots it reads, ascending, each once.
    pub reads: Vec<usize>,
    /// The named lists it reads.
    pub lists: Vec<String>,
}

/// Checks a parsed expression.
pub fn check(parsed: &Parsed, scope: Scope<'_>) -> Result<Checked, Vec<Flaw>> {
    let mut checker =
        Checker { parsed, scope, flaws: Vec::new(), reads: Vec::new(), lists: Vec::new(), depth: 0 };
    let tree = checker.any(&parsed.root);
    let Checker { flaws, mut reads, lists, .. } = checker;
    match tree {
        Some(tree) if flaws.is_empty() => {
            reads.sort_unstable();
            reads.dedup();
            Ok(Checked { tree, reads, lists })
        }
        _ => Err(flaws),
    }
}

pub(super) struct Checker<'a> {
    parsed: &'a Parsed,
    pub(super) scope: Scope<'a>,
    flaws: Vec<Flaw>,
    reads: Vec<usize>,
    pub(super) lists: Vec<String>,
    depth: usize,
}

impl Typed {
    /// What a reader would call its type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Typed::Bool(_) => "a condition",
            Typed::Int(_) => "a whole number",
            Typed::Double(_) => "a double",
            Typed::Text(_) => "a text",
        }
    }
}

impl Checker<'_> {
    pub(super) fn at(&self, node: &IdedExpr) -> usize {
        self.parsed.at(leftmost(node))
    }

    pub(super) fn flaw<T>(&mut self, flaw: Flaw) -> Option<T> {
        self.flaws.push(flaw);
        None
    }

    pub(super) fn any(&mut self, node: &IdedExpr) -> Option<Typed> {
        if self.depth >= DEEPEST {
            return self.flaw(Flaw::new(self.at(node), format!("nested more than {DEEPEST} deep")));
        }
        self.depth += 1;
        let typed = self.node(node);
        self.depth -= 1;
        typed
    }

    fn node(&mut self, node: &IdedExpr) -> Option<Typed> {
        match &node.expr {
            Expr::Literal(literal) => self.literal(node, literal),
            Expr::Ident(_) => self.name(node),
            Expr::Select(select) if select.test => self.presence(node, select),
            Expr::Select(_) => self.name(node),
            Expr::Call(call) => self.call(node, call),
            Expr::List(_) => self.flaw(Flaw::new(self.at(node), "a list stands only to the right of `in`")),
            Expr::Comprehension(_) => {
                let message = "loops over lists (all, exists, map, filter) are refused: the cost of a rule must not \
                               depend on its data";
                self.flaw(Flaw::with(self.at(node), message, "use `in` with a named list"))
            }
            Expr::Map(_) | Expr::Struct(_) | Expr::Unspecified => {
                self.flaw(Flaw::new(self.at(node), "maps and messages are not part of rules"))
            }
        }
    }

    fn literal(&mut self, node: &IdedExpr, literal: &LiteralValue) -> Option<Typed> {
        match literal {
            LiteralValue::Boolean(value) => self.bool(node, BoolKind::Const(*value.inner())),
            LiteralValue::Int(value) => Some(Typed::Int(Int::Const(*value.inner()))),
            LiteralValue::Double(value) => Some(Typed::Double(Double::Const(*value.inner()))),
            LiteralValue::String(value) => Some(Typed::Text(Text::Const(value.inner().to_owned()))),
            LiteralValue::UInt(value) => {
                let suggestion = format!("write `{}`", value.inner());
                self.flaw(Flaw::with(self.at(node), "unsigned numbers are not part of rules", suggestion))
            }
            LiteralValue::Null => {
                let message = "there is no null: what is absent is unknown";
                self.flaw(Flaw::with(self.at(node), message, "ask with has(), such as has(event.user_id)"))
            }
            LiteralValue::Bytes(_) => self.flaw(Flaw::new(self.at(node), "bytes are not part of rules")),
        }
    }

    pub(super) fn bool(&self, node: &IdedExpr, kind: BoolKind) -> Option<Typed> {
        Some(Typed::Bool(Bool { at: self.at(node), kind }))
    }

    fn name(&mut self, node: &IdedExpr) -> Option<Typed> {
        let Some(path) = path_of(node) else {
            return self.flaw(Flaw::new(self.at(node), "a field can only be taken from a name"));
        };
        let slot = self.slot(node, &path)?;
        match self.scope.catalogue.names()[slot].ty {
            Type::Bool => self.bool(node, BoolKind::Name(slot)),
            Type::Int => Some(Typed::Int(Int::Name(slot))),
            Type::Double => Some(Typed::Double(Double::Name(slot))),
            Type::Text => Some(Typed::Text(Text::Name(slot))),
        }
    }

    fn presence(&mut self, node: &IdedExpr, select: &SelectExpr) -> Option<Typed> {
        let Some(mut path) = path_of(&select.operand) else {
            return self.flaw(Flaw::new(self.at(node), "has() asks for a field such as event.user_id"));
        };
        path.push('.');
        path.push_str(&select.field);
        let slot = self.slot(&select.operand, &path)?;
        Some(Typed::Bool(Bool { at: self.at(&select.operand), kind: BoolKind::Has(slot) }))
    }

    fn slot(&mut self, node: &IdedExpr, path: &str) -> Option<usize> {
        let at = self.at(node);
        let Some(slot) = self.scope.catalogue.slot(path) else {
            return self.flaw(self.unknown_name(at, path));
        };
        if !self.scope.signals
            && matches!(self.scope.catalogue.names()[slot].origin, Origin::Signal(_) | Origin::Crowd(_))
        {
            let message = format!(
                "`{path}` is a signal; filters and costs read fields and facts only, for they decide \
                                   what signals see"
            );
            return self.flaw(Flaw::new(at, message));
        }
        self.reads.push(slot);
        Some(slot)
    }

    fn unknown_name(&self, at: usize, path: &str) -> Flaw {
        if path.starts_with("lists.") {
            return Flaw::with(at, format!("`{path}` is a list"), format!("write `x in {path}`"));
        }
        if path.starts_with("networks.") {
            return Flaw::with(
                at,
                format!("`{path}` is a list of networks"),
                format!("write `in_network(event.ip, {path})`"),
            );
        }
        let names = self.scope.catalogue.names().iter().map(|name| name.path.as_str());
        let suggestion = match nearest(path, names) {
            Some(near) => Some(format!("did you mean `{near}`?")),
            None if path.starts_with("event.attributes.") => Some("declare it under `attributes`".to_owned()),
            None if path.starts_with("device.") => Some("declare it under `device_attributes`".to_owned()),
            None => Some("`weir signals` lists all names".to_owned()),
        };
        Flaw { at, message: format!("unknown name `{path}`"), suggestion }
    }

    fn call(&mut self, node: &IdedExpr, call: &CallExpr) -> Option<Typed> {
        if call.target.is_some() {
            return self.method(node, call);
        }
        match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::LOGICAL_AND, [_, _]) => self.chain(node, operators::LOGICAL_AND),
            (operators::LOGICAL_OR, [_, _]) => self.chain(node, operators::LOGICAL_OR),
            (operators::LOGICAL_NOT, [inner]) => {
                let inner = self.condition(inner, "`!`")?;
                Some(Typed::Bool(Bool { at: self.parsed.at(node), kind: BoolKind::Not(Box::new(inner)) }))
            }
            (operators::CONDITIONAL, [condition, yes, no]) => self.choice(node, condition, yes, no),
            (operators::NEGATE, [inner]) => self.negation(node, inner),
            (operators::IN, [item, list]) => self.membership(node, item, list),
            (name, [left, right]) => match (relation(name), arithmetic(name)) {
                (Some(relation), _) => self.comparison(node, relation, left, right),
                (_, Some(operation)) => self.arithmetic(node, operation, left, right),
                _ => self.function(node, call),
            },
            _ => self.function(node, call),
        }
    }

    /// A condition, or a flaw that says who needed one.
    pub(super) fn condition(&mut self, node: &IdedExpr, who: &str) -> Option<Bool> {
        match self.any(node)? {
            Typed::Bool(condition) => Some(condition),
            other => {
                let message = format!("{who} needs a condition, this is {}", other.type_name());
                self.flaw(Flaw::new(self.at(node), message))
            }
        }
    }

    /// The operands of a chain of `&&` or `||`, however the parser grouped them.
    fn chain(&mut self, node: &IdedExpr, operator: &str) -> Option<Typed> {
        let mut operands = Vec::new();
        flatten(node, operator, &mut operands);
        let who = if operator == operators::LOGICAL_AND { "`&&`" } else { "`||`" };
        let checked: Vec<Option<Bool>> =
            operands.into_iter().map(|operand| self.condition(operand, who)).collect();
        let parts = checked.into_iter().collect::<Option<Vec<Bool>>>()?;
        let kind =
            if operator == operators::LOGICAL_AND { BoolKind::And(parts) } else { BoolKind::Or(parts) };
        self.bool(node, kind)
    }

    fn choice(
        &mut self,
        node: &IdedExpr,
        condition: &IdedExpr,
        yes: &IdedExpr,
        no: &IdedExpr,
    ) -> Option<Typed> {
        let (condition, yes_typed, no_typed) =
            (self.condition(condition, "`?`"), self.any(yes), self.any(no));
        let condition = condition?;
        match (yes_typed?, no_typed?) {
            (Typed::Bool(a), Typed::Bool(b)) => self.bool(node, BoolKind::If(Box::new([condition, a, b]))),
            (Typed::Int(a), Typed::Int(b)) => Some(Typed::Int(Int::If(Box::new((condition, a, b))))),
            (Typed::Double(a), Typed::Double(b)) => {
                Some(Typed::Double(Double::If(Box::new((condition, a, b)))))
            }
            (Typed::Text(a), Typed::Text(b)) => Some(Typed::Text(Text::If(Box::new((condition, a, b))))),
            (a, b) => {
                let message =
                    format!("both outcomes need one type; here are {} and {}", a.type_name(), b.type_name());
                self.flaw(Flaw::new(self.at(no), message))
            }
        }
    }

    fn negation(&mut self, node: &IdedExpr, inner: &IdedExpr) -> Option<Typed> {
        match self.any(inner)? {
            Typed::Int(Int::Const(value)) => self.constant(node, value.checked_neg()),
            Typed::Int(inner) => Some(Typed::Int(Int::Negate(Box::new(inner)))),
            Typed::Double(Double::Const(value)) => Some(Typed::Double(Double::Const(-value))),
            Typed::Double(inner) => Some(Typed::Double(Double::Negate(Box::new(inner)))),
            other => {
                let message = format!("`-` needs a number, this is {}", other.type_name());
                self.flaw(Flaw::new(self.at(inner), message))
            }
        }
    }

    fn constant(&mut self, node: &IdedExpr, value: Option<i64>) -> Option<Typed> {
        match value {
            Some(value) => Some(Typed::Int(Int::Const(value))),
            None => {
                self.flaw(Flaw::new(self.at(node), "this overflows, or divides by zero, whatever the event"))
            }
        }
    }

    fn arithmetic(
        &mut self,
        node: &IdedExpr,
        operation: Arithmetic,
        left: &IdedExpr,
        right: &IdedExpr,
    ) -> Option<Typed> {
        let (a, b) = (self.any(left), self.any(right));
        match (a?, b?) {
            (Typed::Int(Int::Const(a)), Typed::Int(Int::Const(b))) => {
                self.constant(node, operation.on_ints(a, b))
            }
            (Typed::Int(_), Typed::Int(Int::Const(0)))
                if matches!(operation, Arithmetic::Divide | Arithmetic::Remainder) =>
            {
                self.flaw(Flaw::new(self.at(right), "division by zero"))
            }
            (Typed::Int(a), Typed::Int(b)) => Some(Typed::Int(Int::Arithmetic(operation, Box::new([a, b])))),
            (Typed::Double(_), Typed::Double(_)) if operation == Arithmetic::Remainder => {
                self.flaw(Flaw::new(self.at(node), "`%` is for whole numbers"))
            }
            (Typed::Double(a), Typed::Double(b)) => {
                Some(Typed::Double(Double::Arithmetic(operation, Box::new([a, b]))))
            }
            (Typed::Int(_), Typed::Double(_)) => self.mixed(left),
            (Typed::Double(_), Typed::Int(_)) => self.mixed(right),
            (Typed::Int(_) | Typed::Double(_), other) => self.no_number(right, &other),
            (other, _) => self.no_number(left, &other),
        }
    }

    fn mixed<T>(&mut self, int: &IdedExpr) -> Option<T> {
        let message = "a whole number and a double do not mix in arithmetic";
        self.flaw(Flaw::with(self.at(int), message, "write double(...) around this one, or 2.0 for 2"))
    }

    fn no_number<T>(&mut self, node: &IdedExpr, typed: &Typed) -> Option<T> {
        let message = format!("arithmetic needs numbers, this is {}", typed.type_name());
        self.flaw(Flaw::new(self.at(node), message))
    }

    fn comparison(
        &mut self,
        node: &IdedExpr,
        relation: Relation,
        left: &IdedExpr,
        right: &IdedExpr,
    ) -> Option<Typed> {
        let (a, b) = (self.any(left), self.any(right));
        let equality = matches!(relation, Relation::Equal | Relation::NotEqual);
        let equal = relation == Relation::Equal;
        let kind = match (a?, b?) {
            (Typed::Int(a), Typed::Int(b)) => BoolKind::Ints(relation, a, b),
            (Typed::Double(a), Typed::Double(b)) => BoolKind::Doubles(relation, a, b),
            (Typed::Int(a), Typed::Double(b)) => BoolKind::Doubles(relation, double_of(a), b),
            (Typed::Double(a), Typed::Int(b)) => BoolKind::Doubles(relation, a, double_of(b)),
            (Typed::Text(a), Typed::Text(b)) if equality => BoolKind::Texts(equal, a, b),
            (Typed::Bool(a), Typed::Bool(b)) if equality => BoolKind::Bools(equal, Box::new([a, b])),
            (a @ (Typed::Text(_) | Typed::Bool(_)), b) if a.type_name() == b.type_name() => {
                let message = format!("{} has no order", a.type_name());
                return self.flaw(Flaw::with(self.at(node), message, "compare with `==`, `!=` or `in`"));
            }
            (a, b) => {
                let message = format!("{} cannot be compared with {}", a.type_name(), b.type_name());
                return self.flaw(Flaw::new(self.at(right), message));
            }
        };
        self.bool(node, kind)
    }
}

pub(super) fn double_of(int: Int) -> Double {
    match int {
        Int::Const(value) => Double::Const(value as f64),
        other => Double::FromInt(Box::new(other)),
    }
}

/// `a.b.c` as text, where the node is a name.
pub(super) fn path_of(node: &IdedExpr) -> Option<String> {
    match &node.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => {
            Some(format!("{}.{}", path_of(&select.operand)?, select.field))
        }
        _ => None,
    }
}

/// The first node of a name, a method call or an operator: where a reader would point.
fn leftmost(node: &IdedExpr) -> &IdedExpr {
    match &node.expr {
        Expr::Select(select) => leftmost(&select.operand),
        Expr::Call(CallExpr { target: Some(target), .. }) => leftmost(target),
        Expr::Call(call) if is_infix(&call.func_name) => call.args.first().map_or(node, leftmost),
        _ => node,
    }
}

fn is_infix(name: &str) -> bool {
    relation(name).is_some()
        || arithmetic(name).is_some()
        || matches!(
            name,
            operators::LOGICAL_AND | operators::LOGICAL_OR | operators::CONDITIONAL | operators::IN
        )
}

fn flatten<'a>(node: &'a IdedExpr, operator: &str, operands: &mut Vec<&'a IdedExpr>) {
    match &node.expr {
        Expr::Call(call) if call.func_name == operator && call.target.is_none() => {
            for arg in &call.args {
                flatten(arg, operator, operands);
            }
        }
        _ => operands.push(node),
    }
}

fn relation(name: &str) -> Option<Relation> {
    Some(match name {
        operators::EQUALS => Relation::Equal,
        operators::NOT_EQUALS => Relation::NotEqual,
        operators::LESS => Relation::Less,
        operators::LESS_EQUALS => Relation::LessOrEqual,
        operators::GREATER => Relation::Greater,
        operators::GREATER_EQUALS => Relation::GreaterOrEqual,
        _ => return None,
    })
}

fn arithmetic(name: &str) -> Option<Arithmetic> {
    Some(match name {
        operators::ADD => Arithmetic::Add,
        operators::SUBSTRACT => Arithmetic::Subtract,
        operators::MULTIPLY => Arithmetic::Multiply,
        operators::DIVIDE => Arithmetic::Divide,
        operators::MODULO => Arithmetic::Remainder,
        _ => return None,
    })
}
