//! `engagement.interactions.v1`: interaction records in, as plain JSON or CloudEvents, with or without the
//! framing of a schema registry.
//!
//! Text is borrowed from the record where it has no escapes. Blank text and `null` are absent. Unknown fields
//! are skipped; a key that comes twice is refused, since readers would differ in which one they take. What
//! is read here is what the record says; addresses are not parsed and no time is judged against another.

pub mod bare;
pub mod schema;

mod envelope;
mod locate;
mod object;
mod plain;
mod scan;

pub use self::plain::plain;

use super::body;
use super::error::{DecodeError, Trail};
use super::headers::{self, Envelope, Headers, TraceContext};
use super::text;
use crate::engine::event::{Event, Text, Value};
use crate::engine::input::DeadLetterReason;
use crate::engine::time::Timestamp;

/// How much a record may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeLimits {
    /// Bytes of the value, framing included. Default 1 MiB.
    pub record_max: usize,
    /// Bytes of an id, of `action`, `ip`, `plan` and of an attribute's name. Default 1,024.
    pub id_max: usize,
    /// Bytes of `user_agent`, `forwarded_for` and of an attribute's text. Default 4,096.
    pub text_max: usize,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self { record_max: 1 << 20, id_max: 1024, text_max: 4096 }
    }
}

/// What a record holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded<'a> {
    /// The interaction.
    pub event: Event<'a>,
    /// The field `append_time`, which counts in files only: on a topic the record's own timestamp does.
    pub append_time: Option<Timestamp>,
    /// The trace it belongs to.
    pub trace: TraceContext<'a>,
}

/// Scalars by name, in the order of the record.
pub(crate) type Attributes<'a> = Vec<(Text<'a>, Value<'a>)>;

/// Lists of attributes that were used and are empty again: whoever decodes many records gives them back, so that they
/// need not be allocated for each.
#[derive(Debug, Default)]
pub struct Spare(Vec<Attributes<'static>>);

impl Spare {
    /// About as many as records are decoded before the first of them is done with.
    const MOST: usize = 4_096;

    /// Keeps the lists of an event that is done with.
    pub fn keep(&mut self, event: Event<'_>) {
        for list in [event.attributes, event.device.attributes, event.account.attributes] {
            if list.capacity() > 0 && self.0.len() < Self::MOST {
                self.0.push(emptied(list));
            }
        }
    }

    fn take<'a>(&mut self) -> Attributes<'a> {
        self.0.pop().unwrap_or_default()
    }
}

/// The room of a list, for attributes of another record.
fn emptied<'b>(mut list: Attributes<'_>) -> Attributes<'b> {
    list.clear();
    list.into_iter().map(|_| (Text::default(), Value::Bool(false))).collect()
}

/// An interaction as the JSON tells it: nothing but its syntax, types and times are checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interaction<'a> {
    event: Event<'a>,
    occurred_at: Option<Timestamp>,
    append_time: Option<Timestamp>,
}

/// Reads one record. Costs about as much as parsing its JSON once.
///
/// # Errors
/// The first thing found wrong, with its place. Which reasons can come: all but `future_timestamp` and
/// `engine_fault`.
pub fn decode<'a>(
    value: Option<&'a [u8]>,
    headers: &Headers<'a>,
    limits: &DecodeLimits,
) -> Result<Decoded<'a>, DecodeError> {
    decode_with(&mut Spare::default(), value, headers, limits)
}

/// The same with lists that earlier events have given back.
///
/// # Errors
/// As [`decode`].
pub fn decode_with<'a>(
    spare: &mut Spare,
    value: Option<&'a [u8]>,
    headers: &Headers<'a>,
    limits: &DecodeLimits,
) -> Result<Decoded<'a>, DecodeError> {
    let meaning = headers::read(headers)?;
    let text = body::text(value, limits.record_max)?;
    match meaning.envelope {
        Envelope::None => decode_text(spare, text, meaning.trace, limits),
        Envelope::Structured => {
            let (data, trace) = envelope::open(text)?;
            let decoded = decode_text(spare, data, meaning.trace.or(trace), limits);
            decoded.map_err(|error| envelope::within(error, text, data))
        }
    }
}

fn decode_text<'a>(
    spare: &mut Spare,
    text: &'a str,
    trace: TraceContext<'a>,
    limits: &DecodeLimits,
) -> Result<Decoded<'a>, DecodeError> {
    let mut told = Interaction::default();
    let simple = scan::read(text, spare, &mut told);
    if simple.is_none() {
        told = read_any(text)?;
    }
    told.event.occurred_at = told.occurred_at.ok_or_else(|| text::missing("occurred_at"))?;
    check(&mut told.event, limits, simple == Some(true)).map_err(|error| {
        let at = error.is_of_control().then(|| locate::control(text, &error.place)).flatten();
        error.standing(at)
    })?;
    Ok(Decoded { event: told.event, append_time: told.append_time, trace })
}

/// Reads whatever form the JSON has, and tells what is wrong with it.
fn read_any(text: &str) -> Result<Interaction<'_>, DecodeError> {
    let trail = Trail::default();
    let mut parser = serde_json::Deserializer::from_str(text);
    let mut told = Interaction::default();
    object::read(&mut parser, &trail, &mut told)
        .and_then(|()| parser.end())
        .map_err(|error| DecodeError::from_json(&error, &trail))?;
    Ok(told)
}

/// Every rule that is not a matter of JSON: what must be there, lengths, characters. Blank text goes. `simple`: there are no
/// control characters.
fn check(event: &mut Event<'_>, limits: &DecodeLimits, simple: bool) -> Result<(), DecodeError> {
    text::required(&event.id, "event_id", limits.id_max)?;
    text::required(&event.action, "action", limits.id_max)?;
    for (id, field) in [
        (&mut event.user, "user_id"),
        (&mut event.target, "target_id"),
        (&mut event.target_owner, "target_owner_id"),
        (&mut event.ip, "ip"),
        (&mut event.session, "session_id"),
        (&mut event.content_hash, "content_hash"),
        (&mut event.device.id, "device.id"),
        (&mut event.account.plan, "account.plan"),
    ] {
        text::id(id, field, limits.id_max, simple)?;
    }
    text::bounded(&mut event.user_agent, "user_agent", limits.text_max)?;
    text::bounded(&mut event.forwarded_for, "forwarded_for", limits.text_max)?;
    attributes(&mut event.attributes, "attributes", limits)?;
    attributes(&mut event.device.attributes, "device", limits)?;
    attributes(&mut event.account.attributes, "account", limits)?;
    if event.user.is_none() && event.ip.is_none() {
        return Err(error(
            DeadLetterReason::MissingField,
            "user_id",
            "one of `user_id` and `ip` is required",
        ));
    }
    Ok(())
}

fn error(reason: DeadLetterReason, place: &str, message: &str) -> DecodeError {
    DecodeError::new(reason, place, message)
}

/// Bounds every name and text; blank text goes.
fn attributes(
    attributes: &mut Attributes<'_>,
    parent: &'static str,
    limits: &DecodeLimits,
) -> Result<(), DecodeError> {
    let fits = |(name, value): &(Text<'_>, Value<'_>)| {
        name.len() <= limits.id_max && !matches!(value, Value::Text(text) if text.len() > limits.text_max)
    };
    if let Some((name, _)) = attributes.iter().find(|attribute| !fits(attribute)) {
        let message =
            format!("a name has at most {} bytes and a text at most {}", limits.id_max, limits.text_max);
        let place = format!("{parent}.{}", text::cut(name, 64));
        return Err(DecodeError::new(DeadLetterReason::InvalidField, place, message));
    }
    attributes.retain(|(_, value)| !matches!(value, Value::Text(text) if text::is_blank(text)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::{Account, Attempt, Device};

    fn read(json: &str) -> Result<Decoded<'_>, DecodeError> {
        decode(Some(json.as_bytes()), &[], &DecodeLimits::default())
    }

    const FULL: &str = r#"{"event_id":"e1","occurred_at":"2025-06-15T15:06:40.250Z","action":"like","user_id":"u1",
        "target_id":42,"target_owner_id":"u7","ip":"198.51.100.7","xff":"203.0.113.5, 198.51.100.7",
        "device":{"id":"d1","os":"Android","cores":8,"touch":true,"none":null},
        "account":{"created_at":1700000000000,"plan":"pro","verified":false},
        "user_agent":"Mozilla/5.0 \"quoted\"","session_id":"s1","outcome":"failure","content_hash":"c1",
        "attributes":{"amount":1.5,"list":[1,{"a":2}],"coupon":"X"," ":"  "},"append_time":1750000000300,
        "later":{"deep":[[[1]]]}}"#;

    fn full() -> Event<'static> {
        let text = |text: &'static str| Some(Text::from(text));
        Event {
            id: "e1".into(),
            occurred_at: Timestamp::from_millis(1_750_000_000_250),
            action: "like".into(),
            user: text("u1"),
            target: text("42"),
            target_owner: text("u7"),
            ip: text("198.51.100.7"),
            forwarded_for: text("203.0.113.5, 198.51.100.7"),
            device: Device {
                id: text("d1"),
                attributes: vec![
                    ("os".into(), Value::Text("Android".into())),
                    ("cores".into(), Value::Int(8)),
                    ("touch".into(), Value::Bool(true)),
                ],
            },
            account: Account {
                created_at: Some(Timestamp::from_millis(1_700_000_000_000)),
                plan: text("pro"),
                attributes: vec![("verified".into(), Value::Bool(false))],
            },
            user_agent: text("Mozilla/5.0 \"quoted\""),
            session: text("s1"),
            outcome: Some(Attempt::Failure),
            content_hash: text("c1"),
            attributes: vec![
                ("amount".into(), Value::Double(1.5)),
                ("coupon".into(), Value::Text("X".into())),
            ],
        }
    }

    #[test]
    fn every_field_arrives() {
        let decoded = read(FULL).expect("valid");
        assert_eq!(decoded.event, full());
        assert_eq!(decoded.append_time, Some(Timestamp::from_millis(1_750_000_000_300)));
    }

    #[test]
    fn text_without_escapes_is_borrowed() {
        let decoded = read(FULL).expect("valid");
        assert!(matches!(decoded.event.user, Some(Text::Borrowed(_))));
        assert!(matches!(
            &decoded.event.device.attributes[0],
            (Text::Borrowed(_), Value::Text(Text::Borrowed(_)))
        ));
        assert!(matches!(decoded.event.user_agent, Some(Text::Owned(_))));
    }

    #[test]
    fn a_list_that_is_given_back_is_used_again() {
        let mut spare = Spare::default();
        for _ in 0..3 {
            let bytes = FULL_USUAL.as_bytes();
            let decoded = decode_with(&mut spare, Some(bytes), &[], &DecodeLimits::default()).expect("valid");
            assert_eq!(spare.0.len(), 0);
            assert_eq!(decoded, read(FULL_USUAL).expect("valid"));
            spare.keep(decoded.event);
            assert!(spare.0.len() == 1 && spare.0[0].is_empty() && spare.0[0].capacity() > 0);
        }
    }

    const FULL_USUAL: &str = r#"{"event_id":"e","occurred_at":1750000000000,"action":"like","user_id":"u","device":{"id":"d","os":"x"}}"#;

    const SMALL: &str = r#"{"event_id":"e","occurred_at":1750000000000,"action":"signup","ip":"::1"}"#;

    /// The same event in every wrapping that is accepted.
    #[test]
    fn all_wrappings_hold_the_same_event() {
        let plain = read(SMALL).expect("valid").event;
        let structured = format!(
            r#"{{"specversion":"1.0","id":"x","source":"/s","type":"t","datacontenttype":"application/json",
                "data": {SMALL}, "extension": 1}}"#
        );
        let framed = [&[0, 0, 0, 0, 7], SMALL.as_bytes()].concat();
        let binary: [headers::Header<'_>; 3] = [
            ("ce_specversion", Some(b"1.0")),
            ("content-type", Some(b"application/json")),
            ("__value_schema_id", Some(&[1, 0xff, 0xfe])),
        ];
        let envelope: [headers::Header<'_>; 1] =
            [("content-type", Some(b"application/cloudevents+json; charset=UTF-8"))];
        for (value, headers) in
            [(SMALL.as_bytes(), &binary[..]), (&framed[..], &[][..]), (structured.as_bytes(), &envelope[..])]
        {
            let decoded = decode(Some(value), headers, &DecodeLimits::default()).expect("valid");
            assert_eq!(decoded.event, plain);
        }
    }

    #[test]
    fn the_trace_comes_from_headers_or_else_the_envelope() {
        const A: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        const B: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
        let value =
            format!(r#"{{"specversion":"1.0","traceparent":"{A}","tracestate":"x=1","data":{SMALL}}}"#);
        let structured = ("content-type", Some(&b"application/cloudevents+json"[..]));
        let trace = |headers: &[headers::Header<'_>]| {
            let decoded = decode(Some(value.as_bytes()), headers, &DecodeLimits::default()).expect("valid");
            decoded.trace.traceparent.map(str::to_owned)
        };
        assert_eq!(trace(&[structured]).as_deref(), Some(A));
        assert_eq!(trace(&[structured, ("traceparent", Some(B.as_bytes()))]).as_deref(), Some(B));
    }

    #[test]
    fn a_fault_inside_an_envelope_is_told_with_its_place_in_the_record() {
        let value = "{\"specversion\":\"1.0\",\n \"data\": {\"event_id\":\"e\",\"occurred_at\":1750000000,\"action\":\"a\"}}";
        let headers: [headers::Header<'_>; 1] = [("content-type", Some(b"application/cloudevents+json"))];
        let error = decode(Some(value.as_bytes()), &headers, &DecodeLimits::default()).expect_err("seconds");
        assert_eq!(error.reason, DeadLetterReason::InvalidTimestamp);
        assert!(error.place.starts_with("data.occurred_at, line 2 column 4"), "{}", error.place);
    }
}
