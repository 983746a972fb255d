//! What is wrong with a policy, told the way a compiler tells it, and everything at once.
//!
//! A `Report` gathers problems while the policy is read and checked; nothing stops at the first one. A policy with
//! at least one error is never made; warnings are told beside it.

use std::cell::RefCell;
use std::fmt;

use super::source::{Position, Sources};

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The policy cannot be used.
    Error,
    /// It can be used, but is probably not what was meant.
    Warning,
}

/// One problem of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// File, relative to the policy's directory.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong and why.
    pub message: String,
    /// What to do instead, where that is known.
    pub suggestion: Option<String>,
    /// The line of the file.
    pub text: String,
}

/// `file:line:column: error: message`, the line, a caret under the column, and the suggestion.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        writeln!(f, "{}:{}:{}: {severity}: {}", self.file, self.line, self.column, self.message)?;
        let gutter = self.line.to_string();
        writeln!(f, "{gutter} | {}", self.text)?;
        let lead: String = self.text.chars().take(self.column.saturating_sub(1)).map(blank).collect();
        let width = gutter.len();
        write!(f, "{:width$} | {lead}^", "")?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "\n{:width$} = help: {suggestion}", ""),
            None => Ok(()),
        }
    }
}

fn blank(c: char) -> char {
    if c == '\t' { c } else { ' ' }
}

/// The problems found so far.
#[derive(Debug)]
pub struct Report<'a> {
    sources: &'a Sources<'a>,
    found: RefCell<Vec<(Position, Problem)>>,
}

impl<'a> Report<'a> {
    /// Nothing found yet.
    pub fn new(sources: &'a Sources<'a>) -> Self {
        Self { sources, found: RefCell::default() }
    }

    /// The texts that positions refer to.
    pub fn sources(&self) -> &'a Sources<'a> {
        self.sources
    }

    /// An error.
    pub fn error(&self, at: Position, message: impl Into<String>) {
        self.add(Severity::Error, at, message.into(), None);
    }

    /// An error with a way out.
    pub fn error_with(&self, at: Position, message: impl Into<String>, suggestion: Option<String>) {
        self.add(Severity::Error, at, message.into(), suggestion);
    }

    /// A warning.
    pub fn warn(&self, at: Position, message: impl Into<String>, suggestion: Option<String>) {
        self.add(Severity::Warning, at, message.into(), suggestion);
    }

    /// Whether there is no error so far.
    pub fn is_clean(&self) -> bool {
        !self.found.borrow().iter().any(|(_, problem)| problem.severity == Severity::Error)
    }

    /// All problems, by position; the same problem is told once.
    pub fn into_problems(self) -> Vec<Problem> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|(at, _)| *at);
        let mut problems: Vec<Problem> = found.into_iter().map(|(_, problem)| problem).collect();
        problems.dedup();
        problems
    }

    fn add(&self, severity: Severity, at: Position, message: String, suggestion: Option<String>) {
        let place = self.sources.place(at);
        let problem = Problem {
            severity,
            file: place.file.to_owned(),
            line: place.line,
            column: place.column,
            message,
            suggestion,
            text: place.text.to_owned(),
        };
        self.found.borrow_mut().push((at, problem));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_reads_like_a_compilers() {
        let files = [("rules.yaml".to_owned(), "a: 1\nwhen: \tevent.x\n".to_owned())];
        let sources = Sources::new(&files);
        let report = Report::new(&sources);
        report.error_with(12, "unknown name", Some("write y".into()));
        let expected =
            "rules.yaml:2:8: error: unknown name\n2 | when: \tevent.x\n  |       \t^\n  = help: write y";
        assert_eq!(report.into_problems()[0].to_string(), expected);
    }
}
