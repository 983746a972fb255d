//! Record headers: how the value is wrapped, which version it claims, and the trace it belongs to.
//!
//! Headers that are not known are passed over. A known one that cannot be read makes the record a dead letter;
//! the trace is the exception: by W3C rules an unreadable trace context is as good as none.

use super::error::DecodeError;
use super::text::cut;
use crate::engine::input::DeadLetterReason;

/// One header: name and value; Kafka allows a null value.
pub type Header<'a> = (&'a str, Option<&'a [u8]>);

/// The headers of a record, in order. Names may repeat; the last one counts.
pub type Headers<'a> = [Header<'a>];

/// The W3C trace context of an input, handed on to what it causes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceContext<'a> {
    /// `traceparent`, well formed.
    pub traceparent: Option<&'a str>,
    /// `tracestate`; only beside a `traceparent`.
    pub tracestate: Option<&'a str>,
}

impl<'a> TraceContext<'a> {
    /// From text of either header; keeps nothing that is malformed.
    pub(crate) fn new(traceparent: Option<&'a str>, tracestate: Option<&'a str>) -> Self {
        let traceparent = traceparent.filter(|text| is_traceparent(text.as_bytes()));
        let tracestate = tracestate.filter(|text| traceparent.is_some() && is_tracestate(text));
        Self { traceparent, tracestate }
    }

    /// This one, or the other where this is empty.
    pub(crate) fn or(self, other: Self) -> Self {
        if self.traceparent.is_some() { self } else { other }
    }
}

/// How the value is wrapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Envelope {
    /// The value is the interaction: plain JSON, or CloudEvents in binary mode.
    #[default]
    None,
    /// The value is a CloudEvents JSON envelope with the interaction in `data`.
    Structured,
}

/// What the headers say about the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meaning<'a> {
    pub(crate) envelope: Envelope,
    pub(crate) trace: TraceContext<'a>,
}

/// Reads the headers.
///
/// # Errors
/// `invalid_headers` where one that matters is not UTF-8, `unsupported_version` for a version or content type
/// that is not known.
pub(crate) fn read<'a>(headers: &Headers<'a>) -> Result<Meaning<'a>, DecodeError> {
    let mut meaning = Meaning::default();
    let (mut parent, mut state) = (None, None);
    for &(name, value) in headers {
        match kind(name) {
            Kind::ContentType => meaning.envelope = envelope(text(name, value)?)?,
            Kind::SpecVersion => spec_version("header ce_specversion", text(name, value)?)?,
            Kind::DataSchema => data_schema("header ce_dataschema", text(name, value)?)?,
            Kind::SchemaVersion => schema_version(text(name, value)?)?,
            Kind::TraceParent => parent = lenient(value),
            Kind::TraceState => state = lenient(value),
            Kind::Other => {}
        }
    }
    meaning.trace = TraceContext::new(parent, state);
    Ok(meaning)
}

#[derive(Clone, Copy)]
enum Kind {
    ContentType,
    SpecVersion,
    DataSchema,
    SchemaVersion,
    TraceParent,
    TraceState,
    Other,
}

fn kind(name: &str) -> Kind {
    const KNOWN: [(&str, Kind); 8] = [
        ("content-type", Kind::ContentType),
        ("ce_specversion", Kind::SpecVersion),
        ("ce_dataschema", Kind::DataSchema),
        ("schema-version", Kind::SchemaVersion),
        ("traceparent", Kind::TraceParent),
        ("ce_traceparent", Kind::TraceParent),
        ("tracestate", Kind::TraceState),
        ("ce_tracestate", Kind::TraceState),
    ];
    let known = KNOWN.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    known.map_or(Kind::Other, |&(_, kind)| kind)
}

fn text<'a>(name: &str, value: Option<&'a [u8]>) -> Result<&'a str, DecodeError> {
    std::str::from_utf8(value.unwrap_or_default())
        .map_err(|_| DecodeError::new(DeadLetterReason::InvalidHeaders, header(name), "not UTF-8"))
}

fn lenient(value: Option<&[u8]>) -> Option<&str> {
    std::str::from_utf8(value?).ok()
}

fn header(name: &str) -> String {
    format!("header {}", cut(name, 64))
}

fn unsupported(place: impl Into<String>, message: String) -> DecodeError {
    DecodeError::new(DeadLetterReason::UnsupportedVersion, place, message)
}

/// The media type without its parameters.
fn media_type(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn envelope(text: &str) -> Result<Envelope, DecodeError> {
    let media = media_type(text);
    match media.as_str() {
        "application/cloudevents+json" => Ok(Envelope::Structured),
        _ if media.starts_with("application/cloudevents") => {
            Err(unsupported("header content-type", format!("CloudEvents format `{media}` is not known here")))
        }
        _ => json_type("header content-type", text).map(|()| Envelope::None),
    }
}

/// Accepts a JSON media type, or none.
pub(crate) fn json_type(place: &str, text: &str) -> Result<(), DecodeError> {
    let media = media_type(text);
    if matches!(media.as_str(), "" | "application/json" | "text/json") || media.ends_with("+json") {
        return Ok(());
    }
    Err(unsupported(place, format!("content type `{media}` is not JSON")))
}

/// Accepts CloudEvents 1.x.
pub(crate) fn spec_version(place: &str, text: &str) -> Result<(), DecodeError> {
    if text == "1" || text.starts_with("1.") {
        return Ok(());
    }
    Err(unsupported(place, format!("CloudEvents version `{text}`; known is 1.0")))
}

/// Accepts major version 1 of the schema: the last path segment `v<number>`; a URI without one says nothing.
pub(crate) fn data_schema(place: &str, uri: &str) -> Result<(), DecodeError> {
    let segments = uri.rsplit(['/', ':', '#', '?']);
    let major = segments.filter_map(|segment| major(segment.strip_prefix('v')?)).next();
    match major {
        None | Some(1) => Ok(()),
        Some(other) => Err(unsupported(place, format!("schema version {other}; known is 1"))),
    }
}

/// Accepts `1` and `1.x`.
fn schema_version(text: &str) -> Result<(), DecodeError> {
    match major(text.trim().trim_start_matches('v')) {
        Some(1) => Ok(()),
        _ => Err(unsupported("header schema-version", format!("schema version `{text}`; known is 1"))),
    }
}

/// The number before the first dot.
fn major(text: &str) -> Option<u64> {
    text.split('.').next()?.parse().ok()
}

/// `00-<32 hex>-<16 hex>-<2 hex>`; later versions may be longer.
fn is_traceparent(text: &[u8]) -> bool {
    const DASHES: [usize; 3] = [2, 35, 52];
    let known = text.len() == 55 || (text.len() > 55 && text.len() <= 256 && text[55] == b'-');
    known
        && text[..55].iter().enumerate().all(|(i, byte)| match DASHES.contains(&i) {
            true => *byte == b'-',
            false => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
        && text[55..].iter().all(u8::is_ascii_graphic)
        && text[3..35].iter().any(|byte| *byte != b'0')
        && text[36..52].iter().any(|byte| *byte != b'0')
}

fn is_tracestate(text: &str) -> bool {
    text.len() <= 512 && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn reason(headers: &Headers<'_>) -> Option<DeadLetterReason> {
        read(headers).err().map(|error| error.reason)
    }

    #[test]
    fn versions_and_types_that_are_not_known_are_named() {
        let unsupported = Some(DeadLetterReason::UnsupportedVersion);
        for (name, value, expected) in [
            ("content-type", "application/json; charset=utf-8", None),
            ("Content-Type", "Application/CloudEvents+JSON", None),
            ("content-type", "application/cloudevents-batch+json", unsupported),
            ("content-type", "application/avro", unsupported),
            ("ce_specversion", "1.0", None),
            ("ce_specversion", "0.3", unsupported),
            ("ce_dataschema", "https://weir.dev/schemas/interaction/v1.schema.json", None),
            ("ce_dataschema", "https://weir.dev/schemas/interaction/v2.schema.json", unsupported),
            ("ce_dataschema", "urn:something-else", None),
            ("schema-version", "1.7", None),
            ("schema-version", "2", unsupported),
            ("schema-version", "latest", unsupported),
            ("__value_schema_id", "\u{1}binary", None),
        ] {
            assert_eq!(reason(&[(name, Some(value.as_bytes()))]), expected, "{name}: {value}");
        }
        assert_eq!(reason(&[("content-type", Some(b"\xff"))]), Some(DeadLetterReason::InvalidHeaders));
        assert_eq!(reason(&[("anything", Some(b"\xff")), ("empty", None)]), None);
    }

    #[test]
    fn a_malformed_trace_is_no_trace() {
        let trace = |parent: &str| {
            read(&[("traceparent", Some(parent.as_bytes()))]).map(|m| m.trace.traceparent.is_some())
        };
        assert_eq!(trace(PARENT), Ok(true));
        assert_eq!(trace(&PARENT.to_uppercase()), Ok(false));
        assert_eq!(trace(&PARENT[1..]), Ok(false));
        assert_eq!(trace("00-00000000000000000000000000000000-00f067aa0ba902b7-01"), Ok(false));
        assert_eq!(read(&[("tracestate", Some(b"a=b"))]).map(|m| m.trace), Ok(TraceContext::default()));
    }
}
