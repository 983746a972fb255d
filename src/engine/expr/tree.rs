//! A checked expression: every node has one type, every name is a slot, every constant is ready to use.
//!
//! The tree is what is left between CEL's syntax and the compiled closures; the reachability check and the compiler
//! read it, nothing else does. An operation whose operand is unknown is unknown, except in `And`, `Or` and `If`.

use std::sync::Arc;

use ipnet::IpNet;
use regex::Regex;

/// An expression of any type.
#[derive(Clone, Debug)]
pub enum Typed {
    /// A condition.
    Bool(Bool),
    /// A whole number.
    Int(Int),
    /// A number.
    Double(Double),
    /// A text.
    Text(Text),
}

/// A condition and where it is written (a byte of the text).
#[derive(Clone, Debug)]
pub struct Bool {
    /// Where.
    pub at: usize,
    /// What.
    pub kind: BoolKind,
}

/// The kinds of condition.
#[derive(Clone, Debug)]
pub enum BoolKind {
    /// A literal.
    Const(bool),
    /// A slot.
    Name(usize),
    /// Whether a slot is filled.
    Has(usize),
    /// `!a`
    Not(Box<Bool>),
    /// `a && b && ...`
    And(Vec<Bool>),
    /// `a || b || ...`
    Or(Vec<Bool>),
    /// `a ? b : c`
    If(Box<[Bool; 3]>),
    /// `a < b` and its kin on whole numbers.
    Ints(Relation, Int, Int),
    /// `a < b` and its kin where at least one side is a double.
    Doubles(Relation, Double, Double),
    /// `a == b`, or `a != b` when the flag is false.
    Texts(bool, Text, Text),
    /// `a == b`, or `a != b` when the flag is false.
    Bools(bool, Box<[Bool; 2]>),
    /// `a in [1, 2]`
    IntIn(Int, Vec<i64>),
    /// `a in [1.0, 2.5]`
    DoubleIn(Double, Vec<f64>),
    /// `a in ['x', 'y']`, `a in lists.NAME`
    TextIn(Text, Arc<[String]>),
    /// `a.startsWith(b)` and its kin.
    Part(Part, Text, Text),
    /// `a.matches('...')`
    Matches(Text, Regex),
    /// `in_network(a, networks.NAME)`
    InNetwork(Text, Arc<[IpNet]>),
}

/// The six comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// Where one text may stand in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// At its start.
    Start,
    /// At its end.
    End,
    /// Anywhere.
    Any,
}

/// The four operations on numbers, and the remainder (whole numbers only).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

/// A whole number; overflow and division by zero are unknown.
#[derive(Clone, Debug)]
pub enum Int {
    /// A literal.
    Const(i64),
    /// A slot.
    Name(usize),
    /// `-a`
    Negate(Box<Int>),
    /// `a + b` and its kin.
    Arithmetic(Arithmetic, Box<[Int; 2]>),
    /// `a ? b : c`
    If(Box<(Bool, Int, Int)>),
    /// `size(a)`, in characters.
    Size(Text),
    /// `int(a)`
    FromDouble(Box<Double>),
    /// `int(a)`
    FromText(Text),
}

/// A number, by the rules of IEEE 754.
#[derive(Clone, Debug)]
pub enum Double {
    /// A literal.
    Const(f64),
    /// A slot.
    Name(usize),
    /// `-a`
    Negate(Box<Double>),
    /// `a + b` and its kin.
    Arithmetic(Arithmetic, Box<[Double; 2]>),
    /// `a ? b : c`
    If(Box<(Bool, Double, Double)>),
    /// `double(a)`, or a whole number beside a double in a comparison.
    FromInt(Box<Int>),
    /// `double(a)`
    FromText(Text),
}

/// A text.
#[derive(Clone, Debug)]
pub enum Text {
    /// A literal.
    Const(String),
    /// A slot.
    Name(usize),
    /// `a ? b : c`
    If(Box<(Bool, Text, Text)>),
}

impl Relation {
    /// Whether numbers that compare like this fulfil it.
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Relation::Equal => order.is_eq(),
            Relation::NotEqual => order.is_ne(),
            Relation::Less => order.is_lt(),
            Relation::LessOrEqual => order.is_le(),
            Relation::Greater => order.is_gt(),
            Relation::GreaterOrEqual => order.is_ge(),
        }
    }

    /// On doubles: equality is false and inequality true beside NaN, an order with NaN is unknown.
    pub fn holds_for(self, a: f64, b: f64) -> Option<bool> {
        match (self, a.partial_cmp(&b)) {
            (_, Some(order)) => Some(self.holds(order)),
            (Relation::Equal, None) => Some(false),
            (Relation::NotEqual, None) => Some(true),
            (_, None) => None,
        }
    }

    /// `a < b` is `b > a`.
    pub fn mirrored(self) -> Self {
        match self {
            Relation::Less => Relation::Greater,
            Relation::LessOrEqual => Relation::GreaterOrEqual,
            Relation::Greater => Relation::Less,
            Relation::GreaterOrEqual => Relation::LessOrEqual,
            same => same,
        }
    }
}

impl Arithmetic {
    /// On whole numbers; `None` on overflow and division by zero.
    pub fn on_ints(self, a: i64, b: i64) -> Option<i64> {
        match self {
            Arithmetic::Add => a.checked_add(b),
            Arithmetic::Subtract => a.checked_sub(b),
            Arithmetic::Multiply => a.checked_mul(b),
            Arithmetic::Divide => a.checked_div(b),
            Arithmetic::Remainder => a.checked_rem(b),
        }
    }

    /// On doubles; there is no remainder.
    pub fn on_doubles(self, a: f64, b: f64) -> Option<f64> {
        match self {
            Arithmetic::Add => Some(a + b),
            Arithmetic::Subtract => Some(a - b),
            Arithmetic::Multiply => Some(a * b),
            Arithmetic::Divide => Some(a / b),
            Arithmetic::Remainder => None,
        }
    }
}

impl Part {
    /// Whether `part` stands there in `whole`.
    pub fn holds(self, whole: &str, part: &str) -> bool {
        match self {
            Part::Start => whole.starts_with(part),
            Part::End => whole.ends_with(part),
            Part::Any => whole.contains(part),
        }
    }
}

/// A double as a whole number: towards zero, `None` unless strictly between -2^63 and 2^63.
pub fn int_of_double(value: f64) -> Option<i64> {
    let within = value > -9_223_372_036_854_775_808.0 && value < 9_223_372_036_854_775_808.0;
    within.then_some(value as i64)
}

/// Whether an address or prefix, as events carry it normalised, lies within one of the networks; `None` when the
/// text is no address. A prefix lies within a network only as a whole.
pub fn in_networks(address: &str, networks: &[IpNet]) -> Option<bool> {
    let address = read_network(address)?;
    Some(networks.iter().any(|network| network.contains(&address)))
}

/// An address or network; an IPv4 address mapped into IPv6 is the IPv4 address.
pub fn read_network(text: &str) -> Option<IpNet> {
    match text.parse::<std::net::IpAddr>() {
        Ok(address) => Some(IpNet::from(address.to_canonical())),
        Err(_) => text.parse::<IpNet>().ok(),
    }
}
