//! What is wrong with one expression, and where in its text.

/// A mistake (or a doubt) in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Byte of the expression's text.
    pub at: usize,
    /// What is wrong and why.
    pub message: String,
    /// What to write instead, where that is known.
    pub suggestion: Option<String>,
}

impl Flaw {
    /// A flaw without a way out.
    pub fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), suggestion: None }
    }

    /// A flaw with a way out.
    pub fn with(at: usize, message: impl Into<String>, suggestion: impl Into<String>) -> Self {
        Self { at, message: message.into(), suggestion: Some(suggestion.into()) }
    }
}
