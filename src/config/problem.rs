//! What is wrong with a configuration, and where: file, line and column with a caret, or the flag or variable.
//!
//! All problems of a load are told together, so that one round of editing is enough. Messages never contain the
//! value of a secret.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The configuration cannot be used.
    Error,
    /// It can, but somebody should know.
    Warning,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A position in a file.
    File(FilePlace),
    /// A flag or an environment variable, by its name.
    Given(String),
    /// Nobody set it: the default.
    Default,
}

impl Place {
    /// The same without the line it is on, which may hold a secret.
    #[must_use]
    pub(super) fn without_source(mut self) -> Self {
        if let Place::File(at) = &mut self {
            at.source.clear();
        }
        self
    }
}

/// A position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// The file, as the user named it.
    pub path: Arc<str>,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// Characters concerned, at least 1.
    pub width: usize,
    /// The whole line; empty when it must not be shown.
    pub source: String,
}

impl FilePlace {
    /// The place of a byte range of `text`. A range that spans lines is cut at the end of its first.
    pub fn new(path: Arc<str>, text: &str, range: Range<usize>) -> Self {
        let start = floor_char(text, range.start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let end = floor_char(text, range.end).clamp(start, line_end);
        Self {
            path,
            line: text[..line_start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            width: text[start..end].chars().count().max(1),
            source: shown(&text[line_start..line_end]),
        }
    }
}

/// A line as it may be shown: not at all when its key holds a secret.
fn shown(line: &str) -> String {
    let key = line.split('=').next().unwrap_or_default().trim().to_ascii_lowercase();
    let secret = ["token", "seed", "password", "secret", ".pem"].iter().any(|word| key.contains(word));
    let harmless = ["_file", "_id"].iter().any(|end| key.ends_with(end));
    if secret && !harmless { String::new() } else { line.trim_end().to_owned() }
}

fn floor_char(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub place: Place,
    /// What is wrong, in one line.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Problem {
    /// An error without advice.
    pub fn error(place: Place, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, place, message: message.into(), help: None }
    }

    /// The same as a warning.
    #[must_use]
    pub fn as_warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// The same with advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// `file:line:column: error: message`, then the line with a caret, then the advice.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        match &self.place {
            Place::File(at) => write!(f, "{}:{}:{}: ", at.path, at.line, at.column)?,
            Place::Given(name) => write!(f, "{name}: ")?,
            Place::Default => {}
        }
        write!(f, "{severity}: {}", self.message)?;
        if let Place::File(at) = &self.place
            && !at.source.is_empty()
        {
            excerpt(f, at)?;
        }
        match &self.help {
            Some(help) => write!(f, "\n  = help: {help}"),
            None => Ok(()),
        }
    }
}

fn excerpt(f: &mut fmt::Formatter<'_>, at: &FilePlace) -> fmt::Result {
    let number = at.line.to_string();
    let margin = " ".repeat(number.len());
    // Tabs are kept before the caret, so that it stands below its text at any tab width.
    let indent: String =
        at.source.chars().take(at.column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    write!(f, "\n{margin} |\n{number} | {}\n{margin} | {indent}{}", at.source, "^".repeat(at.width))
}

/// All problems of one load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.0 {
            write!(f, "{problem}\n\n")?;
        }
        match self.0.len() {
            1 => f.write_str("1 problem in the configuration"),
            n => write!(f, "{n} problems in the configuration"),
        }
    }
}

impl std::error::Error for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_below_its_text() {
        let text = "a = 1\n\tgröße = \"ü\"\n";
        let at = text.find('"').expect("it is there");
        let place = FilePlace::new("w.toml".into(), text, at..at + 4);
        let problem = Problem::error(Place::File(place), "no").with_help("do");
        let lines =
            ["w.toml:2:10: error: no", "  |", "2 | \tgröße = \"ü\"", "  | \t        ^^^", "  = help: do"];
        assert_eq!(problem.to_string().lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn a_place_outside_the_text_is_its_end() {
        let place = FilePlace::new("w".into(), "ü", 1..99);
        assert_eq!((place.line, place.column, place.width), (1, 1, 1));
        let place = FilePlace::new("w".into(), "", 5..9);
        assert_eq!((place.line, place.column, place.width), (1, 1, 1));
    }
}
