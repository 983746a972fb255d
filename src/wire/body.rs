//! From the bytes of a value to JSON text: present, within the limit, without registry framing, UTF-8.

use super::error::DecodeError;
use crate::engine::input::DeadLetterReason;

/// The JSON text of a value.
///
/// # Errors
/// `null_value`, `too_large`, `invalid_utf8` with the byte, `malformed_json` for cut-off framing.
pub(crate) fn text(value: Option<&[u8]>, max: usize) -> Result<&str, DecodeError> {
    let error = |reason, message: String| DecodeError::new(reason, "value", message);
    let value =
        value.ok_or_else(|| error(DeadLetterReason::NullValue, "a null value says nothing".to_owned()))?;
    if value.len() > max {
        // Of a line that is longer still its reader keeps a part: how long it was is not known here.
        let message = format!("more than the {max} bytes that are allowed");
        return Err(error(DeadLetterReason::TooLarge, message));
    }
    let text = unframed(value)?;
    std::str::from_utf8(text).map_err(|fault| {
        let byte = value.len() - text.len() + fault.valid_up_to();
        DecodeError::new(DeadLetterReason::InvalidUtf8, format!("value, byte {byte}"), "not UTF-8")
    })
}

/// Without the registry's five bytes: a zero, which no JSON text begins with, and the id of the schema.
fn unframed(value: &[u8]) -> Result<&[u8], DecodeError> {
    match value {
        [0, _, _, _, _, rest @ ..] => Ok(rest),
        [0, ..] => {
            let message = "cut off within the registry's framing";
            Err(DecodeError::new(DeadLetterReason::MalformedJson, "value", message))
        }
        _ => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_before_the_json_has_its_name() {
        let read = |value: Option<&'static [u8]>| text(value, 8).map_err(|error| (error.reason, error.place));
        let fault = |reason, place: &str| Err((reason, place.to_owned()));
        assert_eq!(read(Some(b"\0\0\0\0\x07{}")), Ok("{}"));
        assert_eq!(read(Some(b"12345678")), Ok("12345678"));
        assert_eq!(read(None), fault(DeadLetterReason::NullValue, "value"));
        assert_eq!(read(Some(b"123456789")), fault(DeadLetterReason::TooLarge, "value"));
        assert_eq!(read(Some(b"\0\0\0")), fault(DeadLetterReason::MalformedJson, "value"));
        assert_eq!(read(Some(b"\0\0\0\0\x07a\xff")), fault(DeadLetterReason::InvalidUtf8, "value, byte 6"));
    }
}
