//! Expressions of rules and filters: CEL text, type-checked at load, compiled to closures over slots.
//!
//! A slot that an event does not fill is *unknown*; comparisons and arithmetic with unknown are unknown, `&&` and
//! `||` are Kleene's, `!unknown` is unknown, and a rule fires on `true` only.
//!
//! The road of one text: `parse` (CEL's syntax) -> `check` (names, types) -> `compile` (closures). `interpret` runs
//! the same text in CEL's own interpreter: the oracle of the tests, never used live.

pub mod catalogue;
pub mod check;
pub mod compile;
pub mod flaw;
mod functions;
pub mod interpret;
mod membership;
mod negation;
pub mod parse;
pub mod parts;
pub mod sense;
pub mod tree;
pub mod words;

use std::fmt;
use std::sync::Arc;

/// The value of one name of the catalogue, for one event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Slot<'a> {
    /// Not told by the event, not known, or of another type than declared.
    #[default]
    Unknown,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A finite number.
    Double(f64),
    /// Text.
    Text(&'a str),
}

/// The type of a slot or an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Int,
    /// A number.
    Double,
    /// Text.
    Text,
}

type BoolClosure = dyn for<'s, 'e> Fn(&'s [Slot<'e>]) -> Option<bool> + Send + Sync;
type NumberClosure = dyn for<'s, 'e> Fn(&'s [Slot<'e>]) -> Option<f64> + Send + Sync;

/// A compiled condition. A clone shares the code.
#[derive(Clone)]
pub struct Condition {
    /// The CEL text it came from.
    pub text: String,
    eval: Arc<BoolClosure>,
}

impl Condition {
    /// Wraps a compiled closure.
    pub fn new(text: String, eval: Box<BoolClosure>) -> Self {
        Self { text, eval: Arc::from(eval) }
    }

    /// `None` when the outcome is unknown.
    pub fn eval(&self, slots: &[Slot<'_>]) -> Option<bool> {
        (self.eval)(slots)
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Condition").field(&self.text).finish()
    }
}

/// A compiled number.
pub struct Number {
    /// The CEL text it came from.
    pub text: String,
    eval: Box<NumberClosure>,
}

impl Number {
    /// Wraps a compiled closure.
    pub fn new(text: String, eval: Box<NumberClosure>) -> Self {
        Self { text, eval }
    }

    /// `None` when the value is unknown or not finite.
    pub fn eval(&self, slots: &[Slot<'_>]) -> Option<f64> {
        (self.eval)(slots)
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Number").field(&self.text).finish()
    }
}
