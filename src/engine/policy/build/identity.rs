//! What identifies a counter: dimension, filter, window and algorithm, never a threshold.
//!
//! The numbers must stay the same over versions of this program: a reload or restart gives no fresh quota.

use xxhash_rust::xxh3::xxh3_64;

/// The hash of the parts, each with its length, so that no two lists of parts read the same.
pub(super) fn identity(parts: &[&str]) -> u64 {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    xxh3_64(&bytes)
}

/// An expression without the white space that means nothing: layout does not make a new counter.
pub(super) fn canonical(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut quote = None;
    let mut escaped = false;
    for c in text.chars() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if c.is_whitespace() => {
                if !out.ends_with(' ') && !out.is_empty() {
                    out.push(' ');
                }
                continue;
            }
            None => {}
        }
        out.push(c);
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cannot_be_shifted_into_each_other() {
        assert_ne!(identity(&["ab", "c"]), identity(&["a", "bc"]));
        assert_eq!(identity(&["ab", "c"]), identity(&["ab", "c"]));
    }

    #[test]
    fn layout_is_ignored_and_literals_are_not() {
        assert_eq!(canonical(" a  ==\n 'x  y' "), "a == 'x  y'");
        assert_ne!(canonical("a == 'x  y'"), canonical("a == 'x y'"));
    }
}
