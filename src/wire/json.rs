//! Writing JSON into a buffer piece by piece: keys are literals, so nothing about them is worked out again for
//! each record. Values are printed by `serde_json`, but for text without escapes, which is copied whole.

use serde::Serialize;

use super::bytes;

/// Appends literal JSON, such as `,"score":`.
#[inline]
pub(crate) fn raw(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(json.as_bytes());
}

/// Appends literal JSON and a value after it.
#[inline]
pub(crate) fn field<T: Serialize + ?Sized>(out: &mut Vec<u8>, key: &str, value: &T) {
    raw(out, key);
    value_of(out, value);
}

/// Appends literal JSON and a text after it.
#[inline]
pub(crate) fn text(out: &mut Vec<u8>, key: &str, text: &str) {
    raw(out, key);
    quoted(out, text);
}

/// Appends a text.
fn quoted(out: &mut Vec<u8>, text: &str) {
    if !bytes::none_of(text.as_bytes(), |eight| {
        bytes::below(eight, 0x20) | bytes::equal(eight, b'"') | bytes::equal(eight, b'\\')
    }) {
        return value_of(out, text);
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// [`text`], where there is one.
#[inline]
pub(crate) fn optional_text(out: &mut Vec<u8>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        text(out, key, value);
    }
}

/// Appends literal JSON and a number after it, which is finite. Whole ones, which are the rule, are printed as such.
#[inline]
pub(crate) fn double(out: &mut Vec<u8>, key: &str, number: f64) {
    raw(out, key);
    let whole = number as i64;
    if whole as f64 == number && whole.unsigned_abs() < 1 << 40 && (whole != 0 || number.is_sign_positive()) {
        value_of(out, &whole);
        raw(out, ".0");
    } else {
        value_of(out, &number);
    }
}

/// [`field`], where there is a value.
pub(crate) fn optional<T: Serialize>(out: &mut Vec<u8>, key: &str, value: Option<T>) {
    if let Some(value) = value {
        field(out, key, &value);
    }
}

/// Appends literal JSON and a word after it that needs no escapes.
#[inline]
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

    #[test]
    fn text_is_what_serde_writes() {
        for sample in
            ["", "a", "like", "a\"b", "a\\b", "line\n", "\u{1f}", "\u{7f}", "\u{85}é😀", "/</script>"]
        {
            let mut out = Vec::new();
            text(&mut out, "", sample);
            assert_eq!(String::from_utf8(out), Ok(serde_json::to_string(sample).expect("text")));
        }
    }

    #[test]
    fn numbers_are_what_serde_writes() {
        let samples =
            [0.0, -0.0, 1.0, -1.0, 4.0, 0.5, 1e-7, 1e12, 1e15, 1e16, 1e17, 2.5e300, f64::MIN, f64::MAX];
        let large = [1_099_511_627_775.0, 1_099_511_627_776.0, -1_099_511_627_777.0];
        for sample in samples.into_iter().chain(large) {
            let mut out = Vec::new();
            double(&mut out, "", sample);
            assert_eq!(
                String::from_utf8(out),
                Ok(serde_json::to_string(&sample).expect("finite")),
                "{sample}"
            );
        }
    }
}
