//! Instants on the wire: RFC 3339 text or whole milliseconds since the Unix epoch.
//!
//! A number in another unit is refused with the unit it probably is, never read as 1970 or as the year 57000.
//! A leap second (`23:59:60`) is read as the second before it. Digits beyond milliseconds are cut off.

use super::text::cut;
use crate::engine::time::Timestamp;

/// The largest integer that a double holds exactly together with all smaller ones.
const EXACT_DOUBLE: f64 = 9_007_199_254_740_992.0;

/// An instant from a whole number.
///
/// # Errors
/// Outside 2000 to 2200; the message names the probable unit.
pub fn from_millis(millis: i128) -> Result<Timestamp, String> {
    let range = i128::from(Timestamp::MIN.millis())..i128::from(Timestamp::MAX.millis());
    match i64::try_from(millis) {
        Ok(exact) if range.contains(&millis) => Ok(Timestamp::from_millis(exact)),
        _ => Err(format!("{millis} is no time in milliseconds between 2000 and 2200{}", unit_hint(millis))),
    }
}

/// An instant from a floating-point number: some producers write `1750000000000.0`.
///
/// # Errors
/// With a fraction, not exact, or out of range.
pub fn from_double(millis: f64) -> Result<Timestamp, String> {
    if millis.fract() != 0.0 || millis.abs() > EXACT_DOUBLE {
        return Err(format!("{millis} is not a whole number of milliseconds"));
    }
    from_millis(millis as i128)
}

/// An instant from RFC 3339 text with an offset (`2025-06-15T15:06:40.250Z`).
///
/// # Errors
/// Other text, an instant that does not exist, or one outside 2000 to 2200.
pub fn from_text(text: &str) -> Result<Timestamp, String> {
    if !looks_like_rfc3339(text.as_bytes()) {
        return Err(format!("`{}` is not RFC 3339{}", cut(text, 40), text_hint(text)));
    }
    let instant: jiff::Timestamp =
        text.parse().map_err(|_| format!("`{}` is not RFC 3339 or does not exist", cut(text, 40)))?;
    from_millis(i128::from(instant.as_millisecond()))
}

/// Date, separator, time to the second: the parser below would take shorter forms too.
fn looks_like_rfc3339(text: &[u8]) -> bool {
    (20..=40).contains(&text.len())
        && text[4] == b'-'
        && text[7] == b'-'
        && matches!(text[10], b'T' | b't' | b' ')
        && text[13] == b':'
        && text[16] == b':'
        && !text.contains(&b'[')
}

fn text_hint(text: &str) -> &'static str {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { "; milliseconds are written as a number, without quotes" } else { "" }
}

/// Which unit would put the number between 2000 and 2200.
fn unit_hint(value: i128) -> &'static str {
    let within = |millis: i128| {
        (i128::from(Timestamp::MIN.millis())..i128::from(Timestamp::MAX.millis())).contains(&millis)
    };
    match () {
        () if within(value.saturating_mul(1000)) => "; it looks like seconds",
        () if within(value / 1000) => "; it looks like microseconds",
        () if within(value / 1_000_000) => "; it looks like nanoseconds",
        () => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: i128 = 1_750_000_000_000;

    #[test]
    fn each_wrong_unit_is_named() {
        for (value, unit) in
            [(T / 1000, "seconds"), (T * 1000, "microseconds"), (T * 1_000_000, "nanoseconds")]
        {
            let message = from_millis(value).expect_err("wrong unit");
            assert!(message.ends_with(&format!("looks like {unit}")), "{message}");
        }
        for value in [0, -1, i128::from(i64::MAX), i128::from(u64::MAX), i128::MIN] {
            assert!(from_millis(value).is_err());
        }
    }

    /// 2025-06-15T15:06:40Z is 1,750,000,000 s; 2016-12-31 had a leap second, 1,483,228,799 is the second before.
    #[test]
    fn text_and_numbers_give_the_same_instant() {
        let at = |text| from_text(text).map(Timestamp::millis);
        assert_eq!(from_millis(T).map(Timestamp::millis), Ok(1_750_000_000_000));
        assert_eq!(from_double(1.75e12).map(Timestamp::millis), Ok(1_750_000_000_000));
        assert_eq!(at("2025-06-15T15:06:40Z"), Ok(1_750_000_000_000));
        assert_eq!(at("2025-06-15T17:06:40.250999+02:00"), Ok(1_750_000_000_250));
        assert_eq!(at("2016-12-31T23:59:60Z"), Ok(1_483_228_799_000));
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "x",
            "2025-06-15",
            "2025-06-15T15:06Z",
            "2025-06-15T15:06:40",
            "2025-02-30T00:00:00Z",
            "1750000000000",
            "9999-12-31T23:59:59Z",
            "1969-12-31T23:59:59Z",
            "2025-06-15T15:06:40+02:00[Europe/Berlin]",
        ] {
            assert!(from_text(text).is_err(), "{text}");
        }
        assert!(from_double(1_750_000_000.5).is_err());
        assert!(from_double(1e300).is_err());
        assert!(from_double(f64::NAN).is_err());
    }
}
