//! Why bytes could not be read: the reason (a closed list), the place, and a sentence for people.
//!
//! Messages never carry more than a short piece of the record: the dead letter has the record itself.

use std::cell::{Cell, RefCell};

use serde_json::error::Category;

use super::text::{CONTROL, cut};
use crate::engine::input::DeadLetterReason;

/// The longest message in bytes; the rest is cut off.
const MESSAGE_MAX: usize = 300;

/// A record, or a part of one, that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message} ({place})", reason.name())]
pub struct DecodeError {
    /// Why, from the closed list.
    pub reason: DeadLetterReason,
    /// Where: the field path (`account.created_at`), the line and column, or the header; all that is known.
    pub place: String,
    /// What is wrong and, where it can be told, what was probably meant.
    pub message: String,
    /// Line and column in the record, where they are known; `place` may lack them.
    at: Option<(usize, usize)>,
}

impl DecodeError {
    /// An error at a place; a long message is cut.
    pub fn new(reason: DeadLetterReason, place: impl Into<String>, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.len() > MESSAGE_MAX {
            message.truncate(cut(&message, MESSAGE_MAX).len());
            message.push_str("...");
        }
        Self { reason, place: place.into(), message, at: None }
    }

    /// For a header name that is not UTF-8: such a record is a dead letter before its value is looked at.
    pub fn header_name() -> Self {
        Self::new(DeadLetterReason::InvalidHeaders, "headers", "a header name is not UTF-8")
    }

    /// What the JSON parser says, with the place it stood at. The trail knows the field and, where the fault is
    /// one of meaning, the reason.
    pub(crate) fn from_json(error: &serde_json::Error, trail: &Trail) -> Self {
        let reason = trail.reason.get().unwrap_or_else(|| reason_of(error));
        let message = sentence(error);
        let path = trail.path.borrow();
        let field = if path.is_empty() { field_named(&message) } else { &path };
        let at = (error.line(), error.column());
        Self::new(reason, place(field, at.0, at.1), message).standing(Some(at).filter(|(line, _)| *line > 0))
    }

    /// The same, at a line and column of the record.
    pub(crate) fn standing(self, at: Option<(usize, usize)>) -> Self {
        Self { at, ..self }
    }

    /// The same, where what was read begins so many lines and, on its first line, columns into the record.
    pub(crate) fn shifted(self, (lines, columns): (usize, usize)) -> Self {
        let shift = |(line, column)| (line + lines, if line == 1 { column + columns } else { column });
        Self { at: self.at.map(shift), ..self }
    }

    /// Whether it is about a control character in an id.
    pub(crate) fn is_of_control(&self) -> bool {
        self.message == CONTROL
    }

    /// The field, without line and column.
    pub fn field(&self) -> &str {
        let Some((line, column)) = self.at else { return &self.place };
        let head = self.place.strip_suffix(&format!("line {line} column {column}"));
        head.map_or(&self.place, |head| head.strip_suffix(", ").unwrap_or(head))
    }

    /// For a record that is this line of a file: `file:line:column`, as far as it is known, and the sentence with its field.
    pub fn in_file(&self, file: &str, line: u64) -> (String, String) {
        let at = match self.at {
            Some((inner, column)) => format!("{file}:{}:{}", line + inner as u64 - 1, column.max(1)),
            None => format!("{file}:{line}"),
        };
        (at, self.sentence())
    }

    /// The sentence with the field.
    pub fn sentence(&self) -> String {
        match self.field() {
            "" => self.message.clone(),
            field => format!("{} ({field})", self.message),
        }
    }
}

/// `field, line L column C`, without what is not known.
pub(crate) fn place(path: &str, line: usize, column: usize) -> String {
    match (path, line) {
        ("", 0) => "record".to_owned(),
        ("", _) => format!("line {line} column {column}"),
        (_, 0) => path.to_owned(),
        _ => format!("{path}, line {line} column {column}"),
    }
}

/// The parser's message without the position that it appends.
fn sentence(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message).to_owned()
}

/// The field that derived readers name.
fn field_named(message: &str) -> &str {
    let known = ["missing field `", "duplicate field `", "unknown field `"];
    let rest = known.iter().find_map(|start| message.strip_prefix(start));
    rest.and_then(|rest| rest.split_once('`')).map_or("", |(field, _)| field)
}

/// The reason where the trail knows none: syntax, or what derived readers say.
fn reason_of(error: &serde_json::Error) -> DeadLetterReason {
    if error.classify() != Category::Data {
        return DeadLetterReason::MalformedJson;
    }
    let text = error.to_string();
    match () {
        () if text.starts_with("duplicate field") => DeadLetterReason::RepeatedKey,
        () if text.starts_with("missing field") => DeadLetterReason::MissingField,
        () => DeadLetterReason::InvalidField,
    }
}

/// What a reader leaves behind when it gives up: the field path, built from the inside out, and the reason.
/// Costs nothing until then.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    path: RefCell<String>,
    reason: Cell<Option<DeadLetterReason>>,
}

impl Trail {
    /// The fault lies inside the value of this key.
    pub(crate) fn inside(&self, key: &str) {
        let mut path = self.path.borrow_mut();
        let key = cut(key, 64);
        if path.is_empty() {
            path.push_str(key);
        } else {
            path.insert(0, '.');
            path.insert_str(0, key);
        }
    }

    /// Why, where it is not a matter of syntax or type.
    pub(crate) fn fault<E: serde::de::Error>(
        &self,
        reason: DeadLetterReason,
        message: impl Into<String>,
    ) -> E {
        self.reason.set(Some(reason));
        E::custom(message.into())
    }
}
