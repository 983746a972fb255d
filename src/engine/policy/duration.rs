//! Lengths of time and memory as people write them.
//!
//! A duration is one or more whole numbers, each with a unit, from the largest unit to the smallest, each unit at
//! most once: `w` weeks, `d` days, `h` hours, `m` minutes, `s` seconds, `ms` milliseconds. `m` is always a minute
//! and `M` is nothing. There is no number without a unit, no sign, no fraction, no space, no ISO 8601 form: one
//! spelling for one thing. More than a thousand years is a slip, not a duration. A size is a whole number with `B`, `KB`, `MB` or `GB`, in powers of 1024.

use crate::engine::time::Span;

const UNITS: [(&str, i64); 6] =
    [("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// The longest duration that is read: 365,000 days.
const LONGEST: i64 = 365_000 * 86_400_000;

/// Why a text is no duration or size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Nothing there.
    #[error("a duration or size is missing")]
    Empty,
    /// `60`
    #[error("`{0}` has no unit")]
    NoUnit(String),
    /// `-5s`
    #[error("`{0}` is negative; time only passes forwards")]
    Negative(String),
    /// `0.5s`
    #[error("`{0}` has a fraction; write it in a smaller unit")]
    Fraction(String),
    /// `1M`
    #[error("`{unit}` is no unit in `{text}`")]
    Unit {
        /// The whole text.
        text: String,
        /// What stands where a unit should.
        unit: String,
    },
    /// `1m1h`, `1s1s`
    #[error("`{0}` does not go from the largest unit to the smallest")]
    Order(String),
    /// `9999999999d`
    #[error("`{0}` is too large")]
    Overflow(String),
    /// `1 minute`, `P1D`
    #[error("`{0}` cannot be read")]
    Malformed(String),
}

/// Reads a duration.
pub fn parse_duration(text: &str) -> Result<Span, QuantityError> {
    check_shape(text)?;
    let mut rest = text;
    let mut total = 0i64;
    let mut next_unit = 0;
    while !rest.is_empty() {
        let (number, unit, tail) = take_part(text, rest)?;
        let index = UNITS.iter().position(|(name, _)| *name == unit);
        let index = index.ok_or_else(|| QuantityError::Unit { text: text.into(), unit: unit.into() })?;
        if index < next_unit {
            return Err(QuantityError::Order(text.into()));
        }
        next_unit = index + 1;
        let part = number.checked_mul(UNITS[index].1);
        let sum = part.and_then(|part| total.checked_add(part)).filter(|sum| *sum <= LONGEST);
        total = sum.ok_or_else(|| too_large(text))?;
        rest = tail;
    }
    Ok(Span::from_millis(total))
}

/// Reads a size in bytes.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    check_shape(text)?;
    let (number, unit, tail) = take_part(text, text)?;
    let factor: u64 = match unit {
        "B" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        _ => return Err(QuantityError::Unit { text: text.into(), unit: unit.into() }),
    };
    if !tail.is_empty() {
        return Err(QuantityError::Malformed(text.into()));
    }
    u64::try_from(number).ok().and_then(|number| number.checked_mul(factor)).ok_or_else(|| too_large(text))
}

fn check_shape(text: &str) -> Result<(), QuantityError> {
    let own = || text.to_owned();
    match text.chars().next() {
        None => Err(QuantityError::Empty),
        Some('-') => Err(QuantityError::Negative(own())),
        Some(c) if !c.is_ascii_digit() => Err(QuantityError::Malformed(own())),
        Some(_) if text.chars().all(|c| c.is_ascii_digit()) => Err(QuantityError::NoUnit(own())),
        Some(_) if text.contains(['.', ',']) => Err(QuantityError::Fraction(own())),
        Some(_) if text.chars().any(|c| !c.is_ascii_alphanumeric()) => Err(QuantityError::Malformed(own())),
        Some(_) => Ok(()),
    }
}

/// One number, its unit, and what is left.
fn take_part<'a>(text: &str, rest: &'a str) -> Result<(i64, &'a str, &'a str), QuantityError> {
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, rest) = rest.split_at(digits);
    let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(letters);
    if unit.is_empty() {
        return Err(QuantityError::NoUnit(text.into()));
    }
    let number = number.parse().map_err(|_| too_large(text))?;
    Ok((number, unit, rest))
}

fn too_large(text: &str) -> QuantityError {
    QuantityError::Overflow(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The written table: what is read, and as how many milliseconds.
    #[test]
    fn accepted_durations() {
        for (text, millis) in [
            ("1m", 60_000),
            ("1ms", 1),
            ("250ms", 250),
            ("60s", 60_000),
            ("90m", 5_400_000),
            ("1h30m", 5_400_000),
            ("1d", 86_400_000),
            ("2w", 1_209_600_000),
            ("1d12h", 129_600_000),
            ("1s500ms", 1500),
            ("0s", 0),
        ] {
            assert_eq!(parse_duration(text), Ok(Span::from_millis(millis)), "{text}");
        }
    }

    /// The written table: what is refused, and why.
    #[test]
    fn refused_durations() {
        let own = String::from;
        for (text, error) in [
            ("", QuantityError::Empty),
            ("60", QuantityError::NoUnit(own("60"))),
            ("1h30", QuantityError::NoUnit(own("1h30"))),
            ("1M", QuantityError::Unit { text: own("1M"), unit: own("M") }),
            ("1e3s", QuantityError::Unit { text: own("1e3s"), unit: own("e") }),
            ("1H", QuantityError::Unit { text: own("1H"), unit: own("H") }),
            ("1y", QuantityError::Unit { text: own("1y"), unit: own("y") }),
            ("-5s", QuantityError::Negative(own("-5s"))),
            ("0.5s", QuantityError::Fraction(own("0.5s"))),
            ("1 minute", QuantityError::Malformed(own("1 minute"))),
            ("P1D", QuantityError::Malformed(own("P1D"))),
            (" 1m", QuantityError::Malformed(own(" 1m"))),
            ("+1m", QuantityError::Malformed(own("+1m"))),
            ("1m1h", QuantityError::Order(own("1m1h"))),
            ("1s1s", QuantityError::Order(own("1s1s"))),
            ("9999999999d", QuantityError::Overflow(own("9999999999d"))),
            ("99999999999999999999d", QuantityError::Overflow(own("99999999999999999999d"))),
        ] {
            assert_eq!(parse_duration(text), Err(error), "{text}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_size("64MB"), Ok(64 << 20));
        assert_eq!(parse_size("1GB"), Ok(1 << 30));
        for bad in ["", "64", "64mb", "-1MB", "1MB1KB", "1.5GB", "99999999999GB"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
