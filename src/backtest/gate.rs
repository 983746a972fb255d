//! The gate of `--fail-on`: a condition over figures, such as `new_holds > 0.1% or newly_touched_paying > 20`.
//!
//! ```text
//! condition  := all ("or" all)*
//! all        := comparison ("and" comparison)*
//! comparison := FIGURE ("<" | "<=" | ">" | ">=" | "==" | "!=") NUMBER ["%"]
//! ```
//!
//! With `%` a figure counts as a share, in percent; without as the number it is. `&&` and `||` mean `and` and `or`.
//! A figure that is not known in a run (a share of nothing) makes its comparison false: it is told.

use std::fmt;

use super::figures::{FIGURES, Values};
use super::findings::Findings;
use crate::engine::policy::nearest::did_you_mean;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    text: String,
    any: Vec<Vec<Comparison>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Comparison {
    figure: &'static str,
    relation: Relation,
    number: f64,
    percent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

/// Longer ones first: `<=` begins with `<`.
const RELATIONS: [(&str, Relation); 6] = [
    ("<=", Relation::LessOrEqual),
    (">=", Relation::GreaterOrEqual),
    ("==", Relation::Equal),
    ("!=", Relation::NotEqual),
    ("<", Relation::Less),
    (">", Relation::Greater),
];

/// Why a text is no gate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// Something is not where it should be.
    #[error("column {column}: expected {expected}, found {found}\n  {text}\n  {caret:>column$}", caret = "^")]
    Form {
        /// The text.
        text: String,
        /// Where, in characters from 1.
        column: usize,
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// No such figure.
    #[error("there is no figure `{name}`{hint}; there are:\n{known}")]
    Figure {
        /// What was written.
        name: String,
        /// A similar name.
        hint: String,
        /// The figures with what they are.
        known: String,
    },
    /// It cannot be known in this run.
    #[error("`{name}` needs {lack}")]
    Unknowable {
        /// The figure.
        name: &'static str,
        /// What is missing.
        lack: &'static str,
    },
}

/// What a gate says of one comparison of policies.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruling {
    /// The condition holds: the gate is shut.
    pub fails: bool,
    /// Whether it holds is not known, for want of a figure.
    pub unknown: bool,
    /// Each figure of it with its value, in words.
    pub told: Vec<String>,
}

impl Ruling {
    /// What is not known opens no gate.
    pub fn is_shut(&self) -> bool {
        self.fails || self.unknown
    }
}

impl Gate {
    /// Reads a gate; `contrast` and `labels` say what will be known.
    ///
    /// # Errors
    /// It is of another form, or asks for what is not there.
    pub fn parse(text: &str, contrast: bool, labels: bool) -> Result<Self, GateError> {
        let mut reader = Reader { text, at: 0 };
        let mut any = vec![Vec::new()];
        loop {
            let comparison = reader.comparison(contrast, labels)?;
            any.last_mut().expect("it has one").push(comparison);
            if reader.word(&["or", "||"]) {
                any.push(Vec::new());
            } else if !reader.word(&["and", "&&"]) {
                break;
            }
        }
        if !reader.rest().is_empty() {
            return Err(reader.form("`and`, `or` or the end"));
        }
        Ok(Self { text: text.trim().to_owned(), any })
    }

    /// What it says of the candidate against the `number`-th other policy, or of the candidate alone.
    pub fn rule(&self, findings: &Findings, number: Option<usize>) -> Ruling {
        self.judge(&findings.values(number))
    }

    /// What it says of these figures.
    pub fn judge(&self, values: &Values) -> Ruling {
        let all = |all: &Vec<Comparison>| {
            let each = || all.iter().map(|comparison| comparison.holds(values));
            if each().any(|holds| holds == Some(false)) {
                Some(false)
            } else {
                each().collect::<Option<Vec<_>>>().map(|_| true)
            }
        };
        let any: Vec<Option<bool>> = self.any.iter().map(all).collect();
        let fails = any.contains(&Some(true));
        let told = self.any.iter().flatten().map(|comparison| comparison.told(values)).collect();
        Ruling { fails, unknown: !fails && any.contains(&None), told }
    }
}

impl Gate {
    /// Whether any of its figures is among these.
    pub fn knows_any(&self, values: &Values) -> bool {
        self.any.iter().flatten().any(|comparison| comparison.value(values).is_some())
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Comparison {
    fn value(&self, values: &Values) -> Option<f64> {
        let value = values.get(self.figure)?;
        if self.percent { value.share().map(|share| 100.0 * share) } else { Some(value.value) }
    }

    /// `None` where its figure is not known.
    fn holds(&self, values: &Values) -> Option<bool> {
        let value = self.value(values)?;
        Some(match self.relation {
            Relation::Less => value < self.number,
            Relation::LessOrEqual => value <= self.number,
            Relation::Greater => value > self.number,
            Relation::GreaterOrEqual => value >= self.number,
            Relation::Equal => value == self.number,
            Relation::NotEqual => value != self.number,
        })
    }

    fn told(&self, values: &Values) -> String {
        let unit = if self.percent { " %" } else { "" };
        match self.value(values) {
            Some(value) => format!("{} = {}{unit}", self.figure, short(value)),
            None => format!("{} is not known here", self.figure),
        }
    }
}

/// A number with as many digits as are needed.
fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    fn word(&mut self, words: &[&str]) -> bool {
        let rest = self.rest();
        let whole = |word: &&&str| {
            let after = rest[word.len()..].chars().next();
            !word.ends_with(char::is_alphabetic) || !after.is_some_and(|c| c.is_alphanumeric() || c == '_')
        };
        let found = words.iter().filter(|word| rest.starts_with(**word)).find(whole);
        self.at += found.map_or(0, |word| word.len());
        found.is_some()
    }

    fn comparison(&mut self, contrast: bool, labels: bool) -> Result<Comparison, GateError> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let name = &rest[..end];
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.form("the name of a figure"));
        }
        let known = FIGURES.iter().find(|figure| figure.name == name);
        let figure = known.ok_or_else(|| unknown(name))?;
        if !figure.needs.is_met(contrast, labels) {
            return Err(GateError::Unknowable { name: figure.name, lack: figure.needs.lack() });
        }
        self.at += end;
        let rest = self.rest();
        let relation = RELATIONS.iter().find(|(text, _)| rest.starts_with(text));
        let (text, relation) = relation.ok_or_else(|| self.form("one of < <= > >= == !="))?;
        self.at += text.len();
        let number = self.number()?;
        let percent = self.word(&["%"]);
        Ok(Comparison { figure: figure.name, relation: *relation, number, percent })
    }

    fn number(&mut self) -> Result<f64, GateError> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_digit() && !".-+".contains(c)).unwrap_or(rest.len());
        let number = rest[..end].parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.ok_or_else(|| self.form("a number"))?;
        self.at += end;
        Ok(number)
    }

    fn form(&mut self, expected: &'static str) -> GateError {
        let rest = self.rest();
        let word: String = rest.chars().take_while(|c| !c.is_whitespace()).take(20).collect();
        let found = if word.is_empty() { "nothing".to_owned() } else { format!("`{word}`") };
        let column = self.text[..self.at].chars().count() + 1;
        GateError::Form { text: self.text.to_owned(), column, expected, found }
    }
}

fn unknown(name: &str) -> GateError {
    let names = FIGURES.map(|figure| figure.name);
    let hint = did_you_mean(name, &names).map(|hint| format!(" ({hint})")).unwrap_or_default();
    let known = FIGURES.map(|figure| format!("  {:<27} {}", figure.name, figure.doc)).join("\n");
    GateError::Figure { name: name.to_owned(), hint, known }
}

#[cfg(test)]
mod tests {
    use super::super::figures::Value;
    use super::*;

    /// Whether it holds; `None` where that is not known.
    fn holds(text: &str) -> Option<bool> {
        let gate = Gate::parse(text, true, true).unwrap_or_else(|error| panic!("{error}"));
        let values = Values::from([
            ("new_holds", Value { value: 20.0, of: Some(10_000.0) }),
            ("flips", Value { value: 0.0, of: Some(0.0) }),
            ("reviews_per_day", Value { value: 4.5, of: None }),
        ]);
        let ruling = gate.judge(&values);
        (!ruling.unknown).then_some(ruling.fails)
    }

    /// 20 of 10,000 are 0.2 percent.
    #[test]
    fn numbers_shares_and_words() {
        for (text, expected) in [
            ("new_holds > 0.1%", Some(true)),
            ("new_holds > 0.2 %", Some(false)),
            ("new_holds>=0.2%", Some(true)),
            ("new_holds > 19", Some(true)),
            ("new_holds == 20 and reviews_per_day < 4", Some(false)),
            ("new_holds == 20 && reviews_per_day < 4 || reviews_per_day != 4", Some(true)),
            ("reviews_per_day > 0%", None),
            ("flips > 0% or flips == 0", Some(true)),
            ("recall < 100%", None),
            ("recall < 100% and new_holds > 20", Some(false)),
            ("recall < 100% and new_holds > 19", None),
            ("recall < 100% or new_holds > 20", None),
            ("recall < 100% or new_holds > 19", Some(true)),
        ] {
            assert_eq!(holds(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let error = |text: &str| Gate::parse(text, true, false).expect_err(text).to_string();
        assert!(
            error("new_holds ~ 3").starts_with("column 11: expected one of <"),
            "{}",
            error("new_holds ~ 3")
        );
        assert!(error("new_holds >").contains("expected a number, found nothing"));
        assert!(error("new_holds > 1 new_blocks > 2").contains("column 15"));
        assert!(error("").contains("the name of a figure"));
        let unknown = error("new_hold > 1");
        assert!(unknown.contains("new_holds") && unknown.contains("did you mean"), "{unknown}");
        assert_eq!(error("recall < 1"), "`recall` needs labels (--labels)");
        let alone = Gate::parse("flips > 1", false, false).expect_err("nothing to compare with");
        assert!(alone.to_string().contains("--against"), "{alone}");
    }
}
