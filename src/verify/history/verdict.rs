//! What the checker found, in words.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// More violations than this are counted and not listed.
const LISTED_MAX: usize = 100;

/// What was checked, and what is wrong.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verdict {
    /// How much of what was looked at.
    pub checked: BTreeMap<&'static str, u64>,
    /// What is wrong, in the order in which it was found; the first hundred.
    pub violations: Vec<Violation>,
    /// How many more there are.
    pub unlisted: u64,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// What kind: a closed set of words.
    pub kind: &'static str,
    /// Where.
    pub place: Place,
    /// What, for people.
    pub text: String,
}

/// A place in a topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// Topic.
    pub topic: String,
    /// Partition.
    pub partition: i32,
    /// Offset.
    pub offset: i64,
}

impl Verdict {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    pub(super) fn count(&mut self, what: &'static str, more: u64) {
        if more > 0 {
            *self.checked.entry(what).or_default() += more;
        }
    }

    pub(super) fn violate(&mut self, kind: &'static str, place: Place, text: impl Into<String>) {
        if self.violations.len() < LISTED_MAX {
            self.violations.push(Violation { kind, place, text: text.into() });
        } else {
            self.unlisted += 1;
        }
    }
}

/// `topic-partition@offset`
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}@{}", self.topic, self.partition, self.offset)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.kind, self.place, self.text)
    }
}

/// A line for each count, a line for each violation, and the sum of it.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "checked")?;
        for (what, count) in &self.checked {
            writeln!(f, "  {count:>10}  {what}")?;
        }
        for violation in &self.violations {
            writeln!(f, "violation: {violation}")?;
        }
        match (self.violations.len() as u64).saturating_add(self.unlisted) {
            0 => writeln!(f, "nothing is wrong"),
            1 => writeln!(f, "1 violation"),
            more if self.unlisted > 0 => {
                writeln!(f, "{more} violations, {} of them not listed", self.unlisted)
            }
            more => writeln!(f, "{more} violations"),
        }
    }
}
