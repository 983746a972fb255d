//! Bad input: each kind ends in a named reason with its place; none panics, and none takes long.

use std::time::Duration;

use proptest::prelude::*;
use weir::clock::Stopwatch;
use weir::engine::DeadLetterReason::{
    self, InvalidField, InvalidHeaders, InvalidTimestamp, InvalidUtf8, MalformedJson, MissingField,
    NullValue, RepeatedKey, TooLarge, UnsupportedVersion,
};
use weir::wire::error::DecodeError;
use weir::wire::headers::Header;
use weir::wire::interaction::{DecodeLimits, Decoded, decode};
use weir::wire::{
    ban, case, command, dead_letter, decision, feedback, journal, policy, shadow, shadow_tally,
};

const STRUCTURED: Header<'static> = ("content-type", Some(b"application/cloudevents+json"));

fn read(json: &[u8]) -> Result<Decoded<'_>, DecodeError> {
    decode(Some(json), &[], &DecodeLimits::default())
}

/// An event with one more field, or with another value of one of its fields.
fn with(field: &str, value: &str) -> String {
    let mut fields = vec![
        ("event_id", "\"e1\""),
        ("occurred_at", "1750000000000"),
        ("action", "\"like\""),
        ("user_id", "\"u1\""),
        ("ip", "\"198.51.100.7\""),
    ];
    fields.retain(|(name, _)| *name != field);
    fields.push((field, value));
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

#[track_caller]
fn refused(json: &[u8], reason: DeadLetterReason, place: &str) {
    let error = read(json).expect_err("refused");
    let shown: String = String::from_utf8_lossy(json).chars().take(120).collect();
    assert_eq!(error.reason, reason, "{shown}: {error}");
    assert!(error.place.contains(place), "{shown}: place is `{}`", error.place);
    assert!(!error.message.is_empty() && error.message.len() < 400, "{shown}: {}", error.message);
}

#[track_caller]
fn refused_field(field: &str, value: &str, reason: DeadLetterReason) {
    refused(with(field, value).as_bytes(), reason, field);
}

#[test]
fn what_is_no_json() {
    refused(b"", MalformedJson, "line 1");
    refused(b"   ", MalformedJson, "line 1");
    refused(b"{", MalformedJson, "line 1");
    refused(b"hello", MalformedJson, "line 1 column 1");
    refused(with("user_id", "\"u1").as_bytes(), MalformedJson, "user_id");
    refused(format!("{} {{}}", with("user_id", "\"u1\"")).as_bytes(), MalformedJson, "line 1");
    refused(format!("\u{feff}{}", with("user_id", "\"u1\"")).as_bytes(), MalformedJson, "line 1");
    refused(b"{\n \"event_id\": \"e1\",\n \"user_id\": }", MalformedJson, "user_id, line 3 column 13");
    for number in ["NaN", "Infinity", "-Infinity", "1e400", "01", "+1", ".5", "0x10"] {
        refused_field("attributes", &format!("{{\"amount\":{number}}}"), MalformedJson);
    }
}

#[test]
fn what_is_no_object() {
    for json in ["[]", "1", "\"text\"", "true", "[[[]]]"] {
        refused(json.as_bytes(), InvalidField, "line 1");
    }
    refused(b"null", MissingField, "occurred_at");
    refused(b"{}", MissingField, "occurred_at");
}

#[test]
fn wrong_types() {
    for value in ["1.5", "true", "[]", "{}", "[\"u1\"]"] {
        for field in ["event_id", "user_id", "target_id", "target_owner_id", "session_id", "content_hash"] {
            refused_field(field, value, InvalidField);
        }
    }
    for value in ["1", "1.5", "true", "[]", "{}"] {
        for field in
            ["action", "ip", "user_agent", "forwarded_for", "outcome", "device", "account", "attributes"]
        {
            // Objects are what these three are.
            if value != "{}" || !matches!(field, "device" | "account" | "attributes") {
                refused_field(field, value, InvalidField);
            }
        }
    }
    for value in ["true", "[]", "{}"] {
        refused_field("occurred_at", value, InvalidField);
        refused_field("append_time", value, InvalidField);
    }
    refused(with("device", "{\"id\":true}").as_bytes(), InvalidField, "device.id, line 1");
    refused(with("account", "{\"plan\":1}").as_bytes(), InvalidField, "account.plan, line 1");
    refused_field("outcome", "\"worked\"", InvalidField);
}

#[test]
fn missing_and_empty() {
    for field in ["event_id", "occurred_at", "action"] {
        for value in ["null", "\"\"", "\"  \"", "\"\\t\\u2003\""] {
            refused_field(field, value, MissingField);
        }
    }
    for empty in ["null", "\"\"", "\"  \""] {
        let json = with("user_id", empty);
        assert_eq!(read(json.as_bytes()).expect("an address is left").event.user, None);
        refused(json.replace("198.51.100.7", " ").as_bytes(), MissingField, "user_id");
    }
}

#[test]
fn bytes_that_are_no_text() {
    let json = with("user_id", "\"u1\"");
    for bad in [&b"\xff"[..], b"\xc3\x28", b"\xed\xa0\x80", b"\xf0\x9f"] {
        let at = json.find("u1").expect("there");
        let bytes = [&json.as_bytes()[..at], bad, &json.as_bytes()[at..]].concat();
        refused(&bytes, InvalidUtf8, &format!("byte {at}"));
    }
    for escape in ["\\ud800", "\\udc00", "\\ud800\\ud800", "\\ud83d", "\\x41", "\\u12"] {
        refused_field("user_id", &format!("\"u{escape}\""), MalformedJson);
        refused(with("later", &format!("[\"u{escape}\"]")).as_bytes(), MalformedJson, "later");
    }
    let json = with("user_id", "\"\\ud83d\\ude00\"");
    let event = read(json.as_bytes()).expect("a pair is a character").event;
    assert_eq!(event.user.as_deref(), Some("\u{1f600}"));
}

#[test]
fn headers_that_cannot_be_read() {
    let json = with("user_id", "\"u1\"");
    for (name, value, reason) in [
        ("content-type", &b"\xff\xfe"[..], InvalidHeaders),
        ("ce_specversion", b"\x80", InvalidHeaders),
        ("ce_specversion", b"2.0", UnsupportedVersion),
        ("ce_dataschema", b"https://example.org/interaction/v2.schema.json", UnsupportedVersion),
        ("schema-version", b"2", UnsupportedVersion),
        ("content-type", b"application/avro", UnsupportedVersion),
    ] {
        let headers = [(name, Some(value))];
        let error = decode(Some(json.as_bytes()), &headers, &DecodeLimits::default()).expect_err(name);
        assert_eq!((error.reason, error.place), (reason, format!("header {name}")));
    }
    assert_eq!(DecodeError::header_name().reason, InvalidHeaders);
}

#[test]
fn ids_are_exact() {
    let user = |value: &str| {
        let json = with("user_id", value);
        read(json.as_bytes()).map(|decoded| decoded.event.user.map(std::borrow::Cow::into_owned))
    };
    for id in ["9007199254740993", "9007199254740992", "18446744073709551615", "-9223372036854775808", "0"] {
        assert_eq!(user(id), Ok(Some(id.to_owned())));
        assert_eq!(user(&format!("\"{id}\"")), Ok(Some(id.to_owned())));
    }
    for rounded in ["18446744073709551616", "1e3", "9007199254740993.0", "-0"] {
        refused_field("user_id", rounded, InvalidField);
    }
}

#[test]
fn repeated_keys() {
    let json = with("later", "1");
    let json = json.strip_suffix('}').expect("an object");
    for key in ["event_id", "user_id", "later", "device", "outcome"] {
        let twice = format!("{json},\"{key}\":null,\"{key}\":null}}");
        refused(twice.as_bytes(), RepeatedKey, key);
    }
    refused(format!("{json},\"later\":2}}").as_bytes(), RepeatedKey, "later");
    refused(format!("{json},\"user\\u005fid\":\"u2\"}}").as_bytes(), RepeatedKey, "user_id");
    refused(
        format!("{json},\"xff\":\"a\",\"forwarded_for\":\"b\"}}").as_bytes(),
        RepeatedKey,
        "forwarded_for",
    );
    for (object, place) in [
        ("{\"id\":\"a\",\"id\":\"b\"}", "device.id"),
        ("{\"os\":\"a\",\"os\":\"b\"}", "device.os"),
        ("{\"os\":null,\"os\":\"b\"}", "device.os"),
        ("{\"os\":\"b\",\"os\":[]}", "device.os"),
    ] {
        refused(with("device", object).as_bytes(), RepeatedKey, place);
    }
    refused(with("attributes", "{\"a\":1,\"a\":1}").as_bytes(), RepeatedKey, "attributes.a");
    refused(with("account", "{\"plan\":\"a\",\"plan\":\"a\"}").as_bytes(), RepeatedKey, "account.plan");
}

#[test]
fn sizes() {
    let limits = DecodeLimits::default();
    assert_eq!(decode(None, &[], &limits).expect_err("null").reason, NullValue);
    let json = with("user_id", "\"u1\"");
    let padded = |length: usize| [json.as_bytes(), &vec![b' '; length - json.len()]].concat();
    assert!(read(&padded(limits.record_max)).is_ok());
    refused(&padded(limits.record_max + 1), TooLarge, "value");
    refused(&vec![b'['; 10 << 20], TooLarge, "value");
    let error = read(&padded(limits.record_max + 1)).expect_err("one too many");
    assert_eq!(error.message, "more than the 1048576 bytes that are allowed");
    refused(&[b"\0\0\0".as_slice()].concat(), MalformedJson, "value");
}

/// A field value of 4 KB: too long for an id, long enough for a client's text; one byte more is too long there too.
#[test]
fn field_values_of_4_kilobytes() {
    let text = |length: usize| format!("\"{}\"", "x".repeat(length));
    for field in ["event_id", "action", "user_id", "target_id", "ip", "session_id", "content_hash"] {
        refused_field(field, &text(4096), InvalidField);
        assert!(read(with(field, &text(1024)).as_bytes()).is_ok(), "{field}");
        refused_field(field, &text(1025), InvalidField);
    }
    for field in ["user_agent", "forwarded_for"] {
        assert!(read(with(field, &text(4096)).as_bytes()).is_ok(), "{field}");
        refused_field(field, &text(4097), InvalidField);
    }
    let attribute = |length| format!("{{\"note\":{}}}", text(length));
    assert!(read(with("attributes", &attribute(4096)).as_bytes()).is_ok());
    refused(with("attributes", &attribute(4097)).as_bytes(), InvalidField, "attributes.note");
    refused(with("device", &format!("{{{}:1}}", text(1025))).as_bytes(), InvalidField, "device.xxx");
}

#[test]
fn control_characters() {
    for escape in ["\\u0000", "\\n", "\\u001b", "\\u007f", "\\u0085", "\u{7f}", "\u{9f}"] {
        for field in ["event_id", "action", "user_id", "target_id", "ip", "session_id", "content_hash"] {
            refused_field(field, &format!("\"a{escape}b\""), InvalidField);
        }
        refused(with("device", &format!("{{\"id\":\"a{escape}b\"}}")).as_bytes(), InvalidField, "device.id");
        assert!(read(with("user_agent", &format!("\"a{escape}b\"")).as_bytes()).is_ok());
    }
    refused(b"{\"event_id\":\"a\0b\"}", MalformedJson, "event_id");
}

#[test]
fn times_in_other_units() {
    for (value, hint) in [
        ("1750000000", "seconds"),
        ("1750000000000000", "microseconds"),
        ("1750000000000000000", "nanoseconds"),
        ("1750000000.5", "whole number"),
        ("\"1750000000000\"", "without quotes"),
        ("\"2025-06-15 at noon\"", "RFC 3339"),
        ("\"9999-12-31T23:59:59Z\"", "2000 to 2200"),
    ] {
        let json = with("occurred_at", value);
        let error = read(json.as_bytes()).expect_err(value);
        assert_eq!(error.reason, InvalidTimestamp, "{value}");
        assert!(error.message.contains(hint) || hint == "2000 to 2200", "{value}: {error}");
        assert!(error.place.starts_with("occurred_at, line 1"), "{error}");
    }
    for value in [
        "0",
        "-1",
        "-1750000000000",
        "9223372036854775807",
        "18446744073709551615",
        "1e300",
        "253402300799000",
    ] {
        refused_field("occurred_at", value, InvalidTimestamp);
        refused_field("append_time", value, InvalidTimestamp);
        refused(
            with("account", &format!("{{\"created_at\":{value}}}")).as_bytes(),
            InvalidTimestamp,
            "account.created_at",
        );
    }
    let json = with("occurred_at", "1.75e12");
    assert_eq!(read(json.as_bytes()).expect("whole").event.occurred_at.millis(), 1_750_000_000_000);
}

fn quickly<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Stopwatch::start();
    let result = work();
    // Unoptimised and on a busy machine; it takes a few milliseconds.
    assert!(start.elapsed() < Duration::from_secs(5), "{what} took {:?}", start.elapsed());
    result
}

#[test]
fn deep_and_wide() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        for field in ["later", "attributes", "device"] {
            let json = with(field, &format!("{{\"x\":{}}}", nested(10_000)));
            quickly("10,000 levels", || refused(json.as_bytes(), MalformedJson, field));
        }
        let whole = nested(10_000);
        let error = quickly("10,000 levels", || read(whole.as_bytes()).expect_err("deep").reason);
        assert!(matches!(error, MalformedJson | InvalidField));
        assert!(read(with("later", &nested(100)).as_bytes()).is_ok());
        let envelope = format!("{{\"specversion\":\"1.0\",\"data\":{}}}", with("later", &nested(10_000)));
        let result = decode(Some(envelope.as_bytes()), &[STRUCTURED], &DecodeLimits::default());
        assert_eq!(result.expect_err("deep").reason, MalformedJson);
    }
    let keys: Vec<String> = (0..90_000).map(|key| format!("\"k{key}\":1")).collect();
    let many = format!("{{{}}}", keys.join(","));
    quickly("many keys", || refused(many.as_bytes(), InvalidField, "line 1"));
    quickly("many attributes", || {
        refused(with("attributes", &many).as_bytes(), InvalidField, "attributes");
    });
    let few = format!("{{{}}}", keys[..64].join(","));
    assert_eq!(read(with("attributes", &few).as_bytes()).expect("64 are allowed").event.attributes.len(), 64);
}

#[test]
fn envelopes() {
    let data = with("user_id", "\"u1\"");
    for (envelope, reason, place) in [
        ("{}".to_owned(), MissingField, "specversion"),
        (format!("{{\"data\":{data}}}"), MissingField, "specversion"),
        ("{\"specversion\":\"1.0\"}".to_owned(), MissingField, "data"),
        ("{\"specversion\":\"1.0\",\"data\":null}".to_owned(), MissingField, "data"),
        ("{\"specversion\":\"1.0\",\"data\":[]}".to_owned(), InvalidField, "data, line 1 column"),
        (format!("{{\"specversion\":\"0.3\",\"data\":{data}}}"), UnsupportedVersion, "specversion"),
        (format!("{{\"specversion\":1,\"data\":{data}}}"), InvalidField, "specversion"),
        (
            format!("{{\"specversion\":\"1.0\",\"datacontenttype\":\"text/xml\",\"data\":{data}}}"),
            UnsupportedVersion,
            "datacontenttype",
        ),
        (
            format!("{{\"specversion\":\"1.0\",\"dataschema\":\"urn:x:v2\",\"data\":{data}}}"),
            UnsupportedVersion,
            "dataschema",
        ),
        ("{\"specversion\":\"1.0\",\"data_base64\":\"e30=\"}".to_owned(), UnsupportedVersion, "data_base64"),
        (format!("{{\"specversion\":\"1.0\",\"data\":{data},\"data\":{data}}}"), RepeatedKey, "data"),
        (format!("{{\"specversion\":\"1.0\",\"data\":{data}"), MalformedJson, "line 1"),
        ("[]".to_owned(), InvalidField, "line 1"),
    ] {
        let error =
            decode(Some(envelope.as_bytes()), &[STRUCTURED], &DecodeLimits::default()).expect_err(&envelope);
        assert_eq!(error.reason, reason, "{envelope}: {error}");
        assert!(error.place.starts_with(place), "{envelope}: {error}");
    }
}

/// Reads bytes in every wrapping; whatever comes out is an event or a named reason with a place.
fn survives(bytes: &[u8]) -> Result<(), TestCaseError> {
    let framed = [&[0, 1, 2, 3, 4], bytes].concat();
    for (value, headers) in [(bytes, &[][..]), (&framed, &[][..]), (bytes, &[STRUCTURED][..])] {
        match decode(Some(value), headers, &DecodeLimits::default()) {
            Ok(decoded) => {
                let event = decoded.event;
                prop_assert!(!event.id.trim().is_empty() && !event.action.trim().is_empty());
                prop_assert!(event.user.is_some() || event.ip.is_some());
            }
            Err(error) => {
                prop_assert!(DeadLetterReason::ALL.contains(&error.reason));
                prop_assert!(!error.place.is_empty() && error.place != "record", "{error}");
            }
        }
    }
    Ok(())
}

/// The readers of all other subjects.
fn readers(bytes: &[u8]) -> [Result<(), DecodeError>; 10] {
    let value = Some(bytes);
    [
        command::decode(value, &[]).map(drop),
        feedback::decode(value).map(drop),
        policy::decode(value).map(drop),
        decision::decode(value).map(drop),
        ban::decode(Some(b"user:u-1"), value).map(drop),
        case::decode(value).map(drop),
        shadow::decode(value).map(drop),
        shadow_tally::decode(value).map(drop),
        dead_letter::read_digest(value).map(drop),
        journal::decode(value).map(drop),
    ]
}

fn readers_survive(bytes: &[u8]) -> Result<(), TestCaseError> {
    for error in readers(bytes).into_iter().filter_map(Result::err) {
        prop_assert!(!error.place.is_empty() && error.place != "record", "{error}");
    }
    Ok(())
}

#[test]
fn deep_values_do_no_harm_to_other_readers() {
    for value in ["[".repeat(10_000), format!("{{\"later\":{}", "[".repeat(10_000)), "{\"a\":".repeat(10_000)]
    {
        for result in readers(value.as_bytes()) {
            let error = result.expect_err("cut off");
            assert!(matches!(error.reason, MalformedJson | InvalidField), "{error}");
        }
    }
}

/// A valid example of each of the other subjects.
const OTHERS: [&str; 9] = [
    include_str!("../schemas/command/examples/valid-ban-a-day.json"),
    include_str!("../schemas/feedback/examples/valid-late-label.json"),
    include_str!("../schemas/policy/examples/valid-one-file.json"),
    include_str!("../schemas/decision/examples/valid-hold.json"),
    include_str!("../schemas/ban/examples/valid-two-bans.json"),
    include_str!("../schemas/case/examples/valid-grown.json"),
    include_str!("../schemas/shadow/examples/valid-one-rule.json"),
    include_str!("../schemas/dead-letter-digest/examples/valid-ten-megabytes.json"),
    include_str!("../schemas/journal/examples/valid-batch.json"),
];

const FULL: &str = r#"{"event_id":"e1","occurred_at":"2025-06-15T15:06:40.250Z","action":"like","user_id":"u1",
"target_id":42,"ip":"198.51.100.7","device":{"id":"d1","os":"Android","touch":true},"account":{"created_at":
1700000000000,"plan":"pro"},"outcome":"failure","attributes":{"amount":1.5,"list":[1,{"a":2}],"n":null},
"append_time":1750000000300,"later":{"deep":[[[1]]]}}"#;

/// Some bytes replaced, left out or put in.
fn damaged(text: &str, damage: Vec<(usize, u8, u8)>) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (at, kind, byte) in damage {
        let at = at % bytes.len().max(1);
        match kind {
            0 => bytes[at] = byte,
            1 => drop(bytes.remove(at)),
            _ => bytes.insert(at, byte),
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_end_in_an_event_or_a_named_reason(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        survives(&bytes)?;
        readers_survive(&bytes)?;
    }

    #[test]
    fn any_json_like_text_does(text in "[\\[\\]{}:,\"\\\\ 0-9a-z_.eE+-]{0,120}") {
        survives(text.as_bytes())?;
        readers_survive(text.as_bytes())?;
    }

    #[test]
    fn a_damaged_event_does(damage in proptest::collection::vec((0..FULL.len(), 0..3_u8, any::<u8>()), 1..6)) {
        survives(&damaged(FULL, damage))?;
    }

    #[test]
    fn a_damaged_record_of_another_subject_does(
        which in 0..OTHERS.len(),
        damage in proptest::collection::vec((0..1500_usize, 0..3_u8, any::<u8>()), 1..4),
    ) {
        let bytes = damaged(OTHERS[which], damage);
        readers_survive(&bytes)?;
    }

    /// Whatever value stands in a field, an accepted event keeps every rule.
    #[test]
    fn any_value_in_any_field_does(
        field in "event_id|occurred_at|action|user_id|target_id|ip|device|account|attributes|outcome|append_time",
        value in r#"null|true|-?[0-9]{1,20}|[0-9]{1,3}\.[0-9]{1,3}|"[ a-z0-9:.TZ-]{0,24}"|\[\]|\{"[a-z]{1,3}":(1|"x"|\[1\])\}"#,
    ) {
        survives(with(&field, &value).as_bytes())?;
    }
}
