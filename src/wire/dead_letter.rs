//! `risk.dead-letters.v1`: the record that could not be decided, byte for byte, with headers that say why.
//!
//! Key, value and headers are the original's; ours come after them. A record that would be too large to write is
//! told by its coordinates and digests instead, and the header `content` says so. Messages hold no more than a
//! short piece of the record.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::DecodeError;
use super::headers::{Header, Headers};
use super::record;
use crate::engine::input::DeadLetterReason;
use crate::engine::time::Timestamp;

/// What the names of our headers begin with.
pub const PREFIX: &str = "__weir.errors.";

/// The headers that a dead letter carries beside the original's; every value is UTF-8 text. Where a name comes
/// twice, as when a dead letter is sent in again, the last one counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Dead letter headers")]
pub struct DeadLetterHeaders {
    /// Topic of the original.
    #[serde(rename = "__weir.errors.topic")]
    #[schemars(example = &"engagement.interactions.v1")]
    pub topic: String,
    /// Partition of the original.
    #[serde(rename = "__weir.errors.partition")]
    #[schemars(regex(pattern = "^[0-9]+$"), example = &"3")]
    pub partition: String,
    /// Offset of the original.
    #[serde(rename = "__weir.errors.offset")]
    #[schemars(regex(pattern = "^[0-9]+$"), example = &"9")]
    pub offset: String,
    /// Timestamp of the original's record; absent where it had none.
    #[serde(rename = "__weir.errors.timestamp", default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^-?[0-9]+$"), example = &"1750000000000",
        extend("x-unit" = "milliseconds since 1970-01-01T00:00:00Z, as text"))]
    pub timestamp: Option<String>,
    /// Where it failed: `decode` or `engine`.
    #[serde(rename = "__weir.errors.stage")]
    #[schemars(example = &"decode")]
    pub stage: String,
    /// Why, from a closed list.
    #[serde(rename = "__weir.errors.reason")]
    #[schemars(extend("enum" = reason_names()), example = &"missing_field")]
    pub reason: String,
    /// What is wrong and where, for people.
    #[serde(rename = "__weir.errors.message")]
    #[schemars(length(max = 1000), example = &"required, but absent, null or blank (action)")]
    pub message: String,
    /// Version of weir that gave up on it.
    #[serde(rename = "__weir.errors.version")]
    #[schemars(example = &"0.1.0")]
    pub version: String,
    /// `original`: key, value and further headers are the record's own. `digest`: the record was too large; the
    /// value is a digest of it.
    #[serde(rename = "__weir.errors.content")]
    #[schemars(regex(pattern = "^(original|digest)$"), example = &"original")]
    pub content: String,
}

/// The value of a dead letter whose record was too large to write again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Dead letter digest", deny_unknown_fields)]
pub struct DigestRecord {
    /// Topic of the original.
    #[schemars(example = &"engagement.interactions.v1")]
    pub topic: String,
    /// Partition of the original.
    #[schemars(example = 3)]
    pub partition: i32,
    /// Offset of the original.
    #[schemars(example = 9)]
    pub offset: i64,
    /// Length of the key; absent where it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 3, extend("x-unit" = "bytes"))]
    pub key_bytes: Option<u64>,
    /// Length of the value; absent where it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 10_485_760, extend("x-unit" = "bytes"))]
    pub value_bytes: Option<u64>,
    /// Number of headers.
    #[schemars(example = 2, extend("x-unit" = "headers"))]
    pub headers: u64,
    /// SHA-256 of the value, or of nothing where it had none: 64 hex digits.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"),
        example = &"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")]
    pub sha256: String,
}

/// Where the original stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// Topic.
    pub topic: &'a str,
    /// Partition.
    pub partition: i32,
    /// Offset.
    pub offset: i64,
    /// The record's timestamp, if it had one.
    pub timestamp: Option<Timestamp>,
}

/// Where a record failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Bytes to noun.
    Decode,
    /// In the engine: too far ahead, or scoring failed twice.
    Engine,
}

impl Stage {
    /// The stage at which a reason is found.
    pub const fn of(reason: DeadLetterReason) -> Self {
        match reason {
            DeadLetterReason::FutureTimestamp | DeadLetterReason::EngineFault => Stage::Engine,
            _ => Stage::Decode,
        }
    }

    /// The name used on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Decode => "decode",
            Stage::Engine => "engine",
        }
    }
}

/// What the value of a dead letter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The original's own bytes.
    Original,
    /// A [`DigestRecord`].
    Digest,
}

impl Content {
    const fn name(self) -> &'static str {
        match self {
            Content::Original => "original",
            Content::Digest => "digest",
        }
    }
}

/// Our headers, to be written after the original's (with a digest: alone).
pub fn headers(
    origin: &Origin<'_>,
    error: &DecodeError,
    content: Content,
    version: &str,
) -> Vec<(String, String)> {
    let mut headers = Vec::with_capacity(9);
    let mut add = |name: &str, value: String| headers.push((format!("{PREFIX}{name}"), value));
    add("topic", origin.topic.to_owned());
    add("partition", origin.partition.to_string());
    add("offset", origin.offset.to_string());
    if let Some(timestamp) = origin.timestamp {
        add("timestamp", timestamp.millis().to_string());
    }
    add("stage", Stage::of(error.reason).name().to_owned());
    add("reason", error.reason.name().to_owned());
    add("message", format!("{} ({})", error.message, error.place));
    add("version", version.to_owned());
    add("content", content.name().to_owned());
    headers
}

/// The value that stands for a record which is too large to be written again.
pub fn digest(origin: &Origin<'_>, key: Option<&[u8]>, value: Option<&[u8]>, headers: usize) -> Vec<u8> {
    let length = |bytes: Option<&[u8]>| bytes.map(|bytes| bytes.len() as u64);
    record::write(&DigestRecord {
        topic: origin.topic.to_owned(),
        partition: origin.partition,
        offset: origin.offset,
        key_bytes: length(key),
        value_bytes: length(value),
        headers: headers as u64,
        sha256: hex(&Sha256::digest(value.unwrap_or_default())),
    })
}

/// Reads a digest.
///
/// # Errors
/// Whatever the JSON has wrong, with its place.
pub fn read_digest(value: Option<&[u8]>) -> Result<DigestRecord, DecodeError> {
    record::read(value)
}

/// Reads a dead letter's headers: ours, and the original's in their order.
///
/// # Errors
/// `missing_field` or `invalid_headers` with the header.
pub fn read<'a>(all: &Headers<'a>) -> Result<(DeadLetterHeaders, Vec<Header<'a>>), DecodeError> {
    let own = read_own(all)?;
    let mut left = all.to_vec();
    // Ours are the last ones of each name: a dead letter that was sent in again keeps its former ones.
    for name in NAMES {
        let position = left.iter().rposition(|(header, _)| header.strip_prefix(PREFIX) == Some(name));
        position.map(|position| left.remove(position));
    }
    Ok((own, left))
}

const NAMES: [&str; 9] =
    ["topic", "partition", "offset", "timestamp", "stage", "reason", "message", "version", "content"];

fn read_own(all: &Headers<'_>) -> Result<DeadLetterHeaders, DecodeError> {
    let optional = |name: &str| last(all, name);
    let required = |name: &str| {
        let place = || format!("header {PREFIX}{name}");
        optional(name)?.ok_or_else(|| DecodeError::new(DeadLetterReason::MissingField, place(), "required"))
    };
    Ok(DeadLetterHeaders {
        topic: required("topic")?,
        partition: required("partition")?,
        offset: required("offset")?,
        timestamp: optional("timestamp")?,
        stage: required("stage")?,
        reason: required("reason")?,
        message: required("message")?,
        version: required("version")?,
        content: required("content")?,
    })
}

fn last(all: &Headers<'_>, name: &str) -> Result<Option<String>, DecodeError> {
    let found = all.iter().rev().find(|(header, _)| header.strip_prefix(PREFIX) == Some(name));
    let Some((_, value)) = found else { return Ok(None) };
    let text = std::str::from_utf8(value.unwrap_or_default());
    let text = text.map_err(|_| {
        DecodeError::new(DeadLetterReason::InvalidHeaders, format!("header {PREFIX}{name}"), "not UTF-8")
    })?;
    Ok(Some(text.to_owned()))
}

fn reason_names() -> Vec<&'static str> {
    DeadLetterReason::ALL.into_iter().map(DeadLetterReason::name).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(64), |mut text, byte| {
        write!(text, "{byte:02x}").expect("memory takes all");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: Origin<'static> = Origin {
        topic: "t",
        partition: 3,
        offset: 9,
        timestamp: Some(Timestamp::from_millis(1_750_000_000_000)),
    };

    fn error() -> DecodeError {
        DecodeError::new(DeadLetterReason::MissingField, "action", "required")
    }

    /// Sent in again and failing again: the original's headers are still there, and so are the former reasons.
    #[test]
    fn headers_read_back_and_leave_the_original_ones_alone() {
        let original: [Header<'_>; 3] =
            [("trace", Some(b"\xff\x00")), ("__weir.errors.topic", Some(b"older")), ("trace", None)];
        let ours = headers(&ORIGIN, &error(), Content::Original, "0.1.0");
        let ours = ours.iter().map(|(name, value)| (name.as_str(), Some(value.as_bytes())));
        let all: Vec<Header<'_>> = original.into_iter().chain(ours).collect();
        let (own, rest) = read(&all).expect("complete");
        assert_eq!(rest, original);
        assert_eq!((own.topic.as_str(), own.partition.as_str(), own.offset.as_str()), ("t", "3", "9"));
        assert_eq!(own.timestamp.as_deref(), Some("1750000000000"));
        assert_eq!((own.stage.as_str(), own.reason.as_str()), ("decode", "missing_field"));
        assert_eq!((own.message.as_str(), own.content.as_str()), ("required (action)", "original"));
    }

    #[test]
    fn a_record_without_our_headers_is_no_dead_letter() {
        let error = read(&[("a", None)]).expect_err("no headers");
        assert_eq!(error.place, "header __weir.errors.topic");
    }

    /// The digest of "abc" is the example of FIPS 180.
    #[test]
    fn a_large_record_is_told_by_its_digest() {
        let json = digest(&ORIGIN, None, Some(b"abc"), 2);
        let record: DigestRecord = serde_json::from_slice(&json).expect("reads");
        assert_eq!(record.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(
            (record.key_bytes, record.value_bytes, record.headers, record.offset),
            (None, Some(3), 2, 9)
        );
    }
}
