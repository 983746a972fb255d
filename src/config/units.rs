//! Text with units: lengths of time (`50ms`, `1h30m`) and sizes (`64MB`, `1GB`).
//!
//! A bare number is refused: whether 10 means seconds or milliseconds must not be a guess.

use crate::engine::time::Span;

const TIME_UNITS: [(&str, i64); 5] =
    [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

const SIZE_UNITS: [(&str, u64); 4] = [("B", 1), ("KB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30)];

/// A length of time: whole numbers with units `ms`, `s`, `m`, `h`, `d`, one after the other.
pub(super) fn duration(text: &str) -> Result<Span, String> {
    let told = || format!("`{text}` is no length of time: write `50ms`, `10s`, `5m`, `1h30m`, `7d`");
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(told());
    }
    let mut total = 0_i64;
    while !rest.is_empty() {
        let (number, unit, after) = split(rest);
        let millis = TIME_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, millis)| *millis);
        let part = number.parse::<i64>().ok().zip(millis).and_then(|(n, millis)| n.checked_mul(millis));
        // A part that is none ends it: nothing of the rest may have been taken.
        total = part.and_then(|part| total.checked_add(part)).ok_or_else(told)?;
        rest = after.trim_start();
    }
    Ok(Span::from_millis(total))
}

/// A size in bytes: a whole number with `B`, `KB`, `MB` or `GB`, in powers of 1024.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let (number, unit, rest) = split(text.trim());
    let factor = SIZE_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let bytes = number.parse::<u64>().ok().zip(factor).and_then(|(n, factor)| n.checked_mul(factor));
    bytes
        .filter(|_| rest.is_empty())
        .ok_or_else(|| format!("`{text}` is no size: write `512KB`, `64MB`, `1GB`"))
}

/// Digits, the letters after them, and what follows.
fn split(text: &str) -> (&str, &str, &str) {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(digits);
    let rest = rest.trim_start();
    let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(letters);
    (number, unit, rest)
}

/// A size in its largest exact unit.
pub(super) fn show_size(bytes: u64) -> String {
    let exact = |(_, factor): &&(&str, u64)| bytes >= *factor && bytes.is_multiple_of(*factor);
    match SIZE_UNITS.iter().filter(exact).max_by_key(|(_, factor)| *factor) {
        Some((unit, factor)) => format!("{}{unit}", bytes / factor),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        for (text, millis) in [
            ("50ms", 50),
            ("10s", 10_000),
            ("1h30m", 5_400_000),
            ("7d", 604_800_000),
            ("0s", 0),
            (" 2 m ", 120_000),
        ] {
            assert_eq!(duration(text).map(Span::millis), Ok(millis), "{text}");
        }
        for text in ["", " ", "10", "s", "-1s", "1.5h", "1y", "10 10s", "9223372036854775807d", "1s!"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [("64MB", 67_108_864), ("1GB", 1_073_741_824), ("0B", 0), ("7 KB", 7168)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "64", "MB", "64mb", "-1B", "1MB2", "99999999999GB"] {
            assert!(size(text).is_err(), "{text}");
        }
        assert_eq!([64 << 20, 3 << 30, 1025, 0].map(show_size), ["64MB", "3GB", "1025B", "0B"]);
    }
}
