//! CloudEvents in structured mode: the JSON envelope around an interaction. Its `data` is not copied.

use serde::de::{DeserializeSeed, MapAccess};
use serde_json::value::RawValue;

use super::object::{Fields, Object, Seen};
use crate::engine::event::Text;
use crate::engine::input::DeadLetterReason;
use crate::wire::error::{DecodeError, Trail};
use crate::wire::headers::{self, TraceContext};
use crate::wire::seed::{Plain, Skip};

/// Finds the `data` and the trace of an envelope.
///
/// # Errors
/// Malformed JSON, a repeated attribute, an unknown version or content type, or no `data`.
pub(super) fn open(text: &str) -> Result<(&str, TraceContext<'_>), DecodeError> {
    let trail = Trail::default();
    let mut parser = serde_json::Deserializer::from_str(text);
    let mut envelope = Parts::default();
    Object(&trail, &mut envelope)
        .deserialize(&mut parser)
        .and_then(|()| parser.end())
        .map_err(|error| DecodeError::from_json(&error, &trail))?;
    envelope.check()?;
    let trace = TraceContext::new(borrowed(envelope.traceparent), borrowed(envelope.tracestate));
    envelope.data.map(|data| (data.get(), trace)).ok_or_else(|| missing("data"))
}

/// An error inside `data`, told with its place in the whole record.
pub(super) fn within(mut error: DecodeError, text: &str, data: &str) -> DecodeError {
    let start = (data.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len());
    let before = &text.as_bytes()[..start];
    let lines = before.iter().filter(|byte| **byte == b'\n').count();
    let columns = before.iter().rev().take_while(|byte| **byte != b'\n').count();
    error.place =
        match error.place.rsplit_once("line ").and_then(|(head, tail)| Some((head, position(tail)?))) {
            Some((head, (line, column))) => {
                let column = if line == 1 { column + columns } else { column };
                let field = if head.is_empty() { "data, ".to_owned() } else { format!("data.{head}") };
                format!("{field}line {} column {column}", line + lines)
            }
            None => format!("data.{}", error.place),
        };
    error.shifted((lines, columns))
}

/// `L column C`.
fn position(text: &str) -> Option<(usize, usize)> {
    let (line, column) = text.split_once(" column ")?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

/// Trace headers have no characters that need escapes: an escaped one is as good as none.
fn borrowed(text: Option<Text<'_>>) -> Option<&str> {
    match text? {
        Text::Borrowed(text) => Some(text),
        Text::Owned(_) => None,
    }
}

fn missing(field: &str) -> DecodeError {
    let message = format!("a CloudEvents envelope needs `{field}`");
    DecodeError::new(DeadLetterReason::MissingField, field, message)
}

#[derive(Default)]
struct Parts<'a> {
    specversion: Option<Text<'a>>,
    datacontenttype: Option<Text<'a>>,
    dataschema: Option<Text<'a>>,
    traceparent: Option<Text<'a>>,
    tracestate: Option<Text<'a>>,
    data: Option<&'a RawValue>,
    binary: bool,
    seen: Seen<'a>,
}

impl Parts<'_> {
    fn check(&self) -> Result<(), DecodeError> {
        let version = self.specversion.as_deref().ok_or_else(|| missing("specversion"))?;
        headers::spec_version("specversion", version)?;
        headers::json_type("datacontenttype", self.datacontenttype.as_deref().unwrap_or_default())?;
        headers::data_schema("dataschema", self.dataschema.as_deref().unwrap_or_default())?;
        if self.binary {
            let message = "binary data is not JSON: send `data`";
            return Err(DecodeError::new(DeadLetterReason::UnsupportedVersion, "data_base64", message));
        }
        Ok(())
    }
}

impl<'de> Fields<'de> for &mut Parts<'de> {
    fn read<A: MapAccess<'de>>(
        &mut self,
        key: Text<'de>,
        map: &mut A,
        trail: &Trail,
    ) -> Result<(), A::Error> {
        self.seen.other(key.clone(), trail)?;
        self.value(&key, map).inspect_err(|_| trail.inside(&key))
    }
}

impl<'de> Parts<'de> {
    fn value<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "specversion" => self.specversion = map.next_value_seed(Plain)?,
            "datacontenttype" => self.datacontenttype = map.next_value_seed(Plain)?,
            "dataschema" => self.dataschema = map.next_value_seed(Plain)?,
            "traceparent" => self.traceparent = map.next_value_seed(Plain)?,
            "tracestate" => self.tracestate = map.next_value_seed(Plain)?,
            "data" => self.data = map.next_value()?,
            "data_base64" => self.binary = map.next_value_seed(Plain)?.is_some(),
            _ => map.next_value_seed(Skip)?,
        }
        Ok(())
    }
}
