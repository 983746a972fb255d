//! Writing JSON into a buffer piece by piece: keys are literals, so nothing about them is worked out again for
//! each record. Values are escaped and printed by `serde_json`.

use serde::Serialize;

/// Appends literal JSON, such as `,"score":`.
pub(crate) fn raw(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(json.as_bytes());
}

/// Appends literal JSON and a value after it.
pub(crate) fn field<T: Serialize + ?Sized>(out: &mut Vec<u8>, key: &str, value: &T) {
    raw(out, key);
    value_of(out, value);
}

/// [`field`], where there is a value.
pub(crate) fn optional<T: Serialize>(out: &mut Vec<u8>, key: &str, value: Option<T>) {
    if let Some(value) = value {
        field(out, key, &value);
    }
}

/// Appends literal JSON and a word after it that needs no escapes.
pub(crate) fn word(out: &mut Vec<u8>, key: &str, word: &str) {
    raw(out, key);
    out.push(b'"');
    raw(out, word);
    out.push(b'"');
}

/// Appends a value.
///
/// # Panics
/// Never for the types of the contract: memory takes all, and every key is text.
pub(crate) fn value_of<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("text, numbers and structs of them can always be written");
}
