//! What text may be: blank is absent, lengths are bounded in bytes, ids carry no control characters.

use super::bytes;
use super::error::DecodeError;
use crate::engine::event::Text;
use crate::engine::input::DeadLetterReason;

/// Makes blank text absent; an id that is there has at most `max` bytes and no control characters, which are not looked
/// for in text that is known to be `simple`.
pub(crate) fn id(
    text: &mut Option<Text<'_>>,
    field: &'static str,
    max: usize,
    simple: bool,
) -> Result<(), DecodeError> {
    bounded(text, field, max)?;
    text.as_deref().filter(|_| !simple).map_or(Ok(()), |text| plain(text, field))
}

/// Makes blank text absent; text that is there has at most `max` bytes.
pub(crate) fn bounded(
    text: &mut Option<Text<'_>>,
    field: &'static str,
    max: usize,
) -> Result<(), DecodeError> {
    let Some(told) = text else { return Ok(()) };
    if is_blank(told) {
        *text = None;
        return Ok(());
    }
    short(told, field, max)
}

/// An id that must be there.
pub(crate) fn required(text: &str, field: &'static str, max: usize) -> Result<(), DecodeError> {
    if is_blank(text) {
        return Err(missing(field));
    }
    short(text, field, max)?;
    plain(text, field)
}

/// A required field that is not there.
pub(crate) fn missing(field: &str) -> DecodeError {
    DecodeError::new(DeadLetterReason::MissingField, field, "required, but absent, null or blank")
}

/// Nothing but white space.
pub(crate) fn is_blank(text: &str) -> bool {
    !text.as_bytes().first().is_some_and(u8::is_ascii_graphic) && text.trim_start().is_empty()
}

fn short(text: &str, field: &'static str, max: usize) -> Result<(), DecodeError> {
    if text.len() <= max {
        return Ok(());
    }
    let message = format!("{} bytes of text; at most {max} are allowed", text.len());
    Err(DecodeError::new(DeadLetterReason::InvalidField, field, message))
}

/// What is said of a control character.
pub(super) const CONTROL: &str = "control characters are not allowed in an id";

fn plain(text: &str, field: &'static str) -> Result<(), DecodeError> {
    if !has_control(text) {
        return Ok(());
    }
    Err(DecodeError::new(DeadLetterReason::InvalidField, field, CONTROL))
}

/// At most the first `max` bytes, whole characters only.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or_default()]
}

/// C0, DEL or C1. 0xC2 leads every C1 character; the first look mostly settles the matter.
fn has_control(text: &str) -> bool {
    let suspect = |eight| bytes::below(eight, 0x20) | bytes::equal(eight, 0x7f) | bytes::equal(eight, 0xc2);
    !bytes::none_of(text.as_bytes(), suspect) && text.chars().any(char::is_control)
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
        let read = |text: &'static str| {
            let mut text = Some(Text::from(text));
            id(&mut text, "user_id", 8, false).map_err(|error| error.reason).map(|()| text)
        };
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
