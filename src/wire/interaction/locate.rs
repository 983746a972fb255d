//! Where in the text of a record a control character stands: asked only once one was found.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::value::RawValue;

/// Line and column, from 1, of the first control character in the text of a field (`device.id`). `None` where the record
/// names the field by another name.
pub(super) fn control(text: &str, field: &str) -> Option<(usize, usize)> {
    let mut value = text;
    for key in field.split('.') {
        let object: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(value).ok()?;
        value = object.get(key)?.get();
    }
    let start = (value.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let before = text.get(..start + first(value)?)?;
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    Some((1 + before.matches('\n').count(), 1 + before.len() - line_start))
}

/// The byte at which the first control character of a JSON text stands, escaped or not.
fn first(json: &str) -> Option<usize> {
    let mut rest = json.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '\\' => match rest.next()?.1 {
                'b' | 'f' | 'n' | 'r' | 't' => return Some(at),
                'u' => {
                    let code = u32::from_str_radix(json.get(at + 2..at + 6)?, 16).ok()?;
                    if char::from_u32(code).is_some_and(char::is_control) {
                        return Some(at);
                    }
                }
                _ => {}
            },
            c if c.is_control() => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_one_in_the_field_is_found_escaped_or_not() {
        let text = r#"{"user_agent":"a\tb","user_id":"\\u\u0041\u0007","device":{"x":1,"id":"d\n"}}"#;
        let column = |field: &str| control(text, field).map(|(line, column)| (line, &text[column - 1..]));
        assert_eq!(column("user_id").map(|(line, rest)| (line, &rest[..6])), Some((1, r"\u0007")));
        assert_eq!(column("device.id").map(|(line, rest)| (line, &rest[..2])), Some((1, r"\n")));
        assert_eq!((column("ip"), column("user_id.x")), (None, None));
        assert_eq!(control("{\n \"action\":\"li\u{7f}ke\"}", "action"), Some((2, 14)));
    }
}
