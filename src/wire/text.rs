//! What text may be: blank is absent, lengths are bounded in bytes, ids carry no control characters.

use super::error::DecodeError;
use crate::engine::event::Text;
use crate::engine::input::DeadLetterReason;

/// Text that is not blank.
pub(crate) fn present(text: Text<'_>) -> Option<Text<'_>> {
    (!text.trim_start().is_empty()).then_some(text)
}

/// An id: not blank, at most `max` bytes, no control characters.
pub(crate) fn id<'a>(
    text: Option<Text<'a>>,
    field: &'static str,
    max: usize,
) -> Result<Option<Text<'a>>, DecodeError> {
    let Some(text) = bounded(text, field, max)? else { return Ok(None) };
    if has_control(&text) {
        let message = "control characters are not allowed in an id";
        return Err(DecodeError::new(DeadLetterReason::InvalidField, field, message));
    }
    Ok(Some(text))
}

/// Text: not blank, at most `max` bytes.
pub(crate) fn bounded<'a>(
    text: Option<Text<'a>>,
    field: &str,
    max: usize,
) -> Result<Option<Text<'a>>, DecodeError> {
    let Some(text) = text.and_then(present) else { return Ok(None) };
    if text.len() > max {
        let message = format!("{} bytes of text; at most {max} are allowed", text.len());
        return Err(DecodeError::new(DeadLetterReason::InvalidField, field, message));
    }
    Ok(Some(text))
}

/// At most the first `max` bytes, whole characters only.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or_default()]
}

/// C0, DEL or C1. Raw C0 cannot stand in JSON text and 0xC2 leads every C1 character, so the first look mostly
/// settles it.
fn has_control(text: &str) -> bool {
    text.bytes().any(|byte| byte < 0x20 || byte == 0x7f || byte == 0xc2) && text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_keeps_characters_whole() {
        assert_eq!(
            [cut("aé", 1), cut("aé", 2), cut("aé", 3), cut("aé", 9), cut("", 4)],
            ["a", "a", "aé", "aé", ""]
        );
    }

    #[test]
    fn blank_is_absent_and_controls_are_refused() {
        let read = |text: &'static str| id(Some(text.into()), "user_id", 8).map_err(|error| error.reason);
        for blank in ["", "  ", "\t\n", "\u{2003}"] {
            assert_eq!(read(blank), Ok(None), "{blank:?}");
        }
        for bad in ["a\0b", "a\u{7f}", "a\u{85}b", "123456789"] {
            assert_eq!(read(bad), Err(DeadLetterReason::InvalidField), "{bad:?}");
        }
        for good in [" a ", "\u{a9}", "é", "12345678"] {
            assert_eq!(read(good), Ok(Some(good.into())), "{good:?}");
        }
    }
}
