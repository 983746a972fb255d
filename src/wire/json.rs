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

/// Appends literal JSON and text after it. Most text needs no escapes, and that is found out without a branch
/// for each byte.
pub(crate) fn text(out: &mut Vec<u8>, key: &str, value: &str) {
    let special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    if value.bytes().fold(false, |found, byte| found | special(byte)) {
        field(out, key, value);
    } else {
        word(out, key, value);
    }
}

/// [`text`], where there is some.
pub(crate) fn optional_text(out: &mut Vec<u8>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        text(out, key, value);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every character below 0x100 and some beyond, alone and between others.
    #[test]
    fn text_is_escaped_as_serde_does() {
        let beyond = ['\u{2028}', '\u{fffd}', '\u{1f600}'];
        for character in (0..0x100).filter_map(char::from_u32).chain(beyond) {
            for value in
                [character.to_string(), format!("before {character} after it, long enough for a vector")]
            {
                let mut out = Vec::new();
                text(&mut out, "", &value);
                assert_eq!(out, serde_json::to_vec(&value).expect("text"));
            }
        }
    }
}
