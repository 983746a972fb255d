//! Instants as tables write them.
//!
//! | form | read as |
//! |---|---|
//! | `2024-05-01T12:30:00Z`, `2024-05-01 12:30:00.250+02:00` | the instant |
//! | `2024-05-01 12:30:00`, `2024/05/01 12:30`, `2024.5.1 12:30:00`, the same and ` UTC` | UTC |
//! | `2024-05-01`, `2024/05/01`, `2024.05.01` | midnight UTC, and told |
//! | a number | seconds, milliseconds, microseconds or nanoseconds since 1970 |
//!
//! Which unit a number has its size tells: between 2000 and 2200 no number is an instant in two of them. A date whose year
//! does not come first is refused, since which of day and month comes first would be a guess.

use std::borrow::Cow;

use crate::engine::time::Timestamp;
use crate::wire::time::from_millis;

/// An instant; see the module.
///
/// # Errors
/// Other text, or an instant outside 2000 to 2200.
pub(super) fn moment(text: &str) -> Result<Timestamp, String> {
    let millis = if let Ok(number) = text.parse::<i64>() {
        let number = i128::from(number);
        vec![number * 1000, number, number / 1000, number / 1_000_000]
    } else if let Ok(number) = text.parse::<f64>() {
        [number * 1000.0, number, number / 1e3, number / 1e6].map(|millis| millis as i128).to_vec()
    } else {
        written(text).into_iter().map(i128::from).collect()
    };
    let time = millis.into_iter().find_map(|millis| from_millis(millis).ok());
    time.ok_or_else(|| refusal(text))
}

/// Whether the text is a date that says nothing of the time of day.
pub(super) fn is_date(text: &str) -> bool {
    date(text).is_some_and(|(_, rest)| rest.is_empty()) && moment(text).is_ok()
}

/// Milliseconds of a date and a time of day, in UTC where no offset is told.
fn written(text: &str) -> Option<i64> {
    let text = year_first(text);
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Some(instant.as_millisecond());
    }
    let text = text.strip_suffix(" UTC").unwrap_or(&text);
    // A zone without an offset would be passed over.
    let civil: jiff::civil::DateTime = text.parse().ok().filter(|_| !text.contains('['))?;
    Some(jiff::tz::Offset::UTC.to_timestamp(civil).ok()?.as_millisecond())
}

/// The date before the time of day, with what parts its three numbers.
fn date(text: &str) -> Option<([&str; 3], &str)> {
    let end = text.find(['T', 't', ' ']).unwrap_or(text.len());
    let (date, rest) = text.split_at(end);
    let comma = date.find(['-', '/', '.'])?;
    let mut numbers = date.split(date[comma..].chars().next()?);
    let date = [numbers.next()?, numbers.next()?, numbers.next()?];
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (numbers.next().is_none() && date.iter().all(is_number)).then_some((date, rest))
}

/// The same with dashes in its date, where the year is first.
fn year_first(text: &str) -> Cow<'_, str> {
    match date(text) {
        Some(([year, month, day], rest)) if year.len() == 4 => {
            Cow::Owned(format!("{year}-{month:0>2}-{day:0>2}{rest}"))
        }
        _ => Cow::Borrowed(text),
    }
}

fn refusal(text: &str) -> String {
    let why = match date(text) {
        Some(([first, ..], _)) if first.len() < 4 => {
            ": which of day and month comes first cannot be known; write the year first, as in 2024-05-01"
        }
        _ => "",
    };
    format!("`{}` is no time{why}", text.chars().take(40).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2021-08-15T22:01:32Z is 1,629,064,892 s: 18,854 days of 86,400 s, and 79,292 s.
    #[test]
    fn times_come_in_many_forms() {
        for text in [
            "1629064892",
            "1629064892000",
            "1629064892000000",
            "1629064892000000000",
            "1629064892.0",
            "1629064892000999",
            "2021-08-15T22:01:32Z",
            "2021-08-16T00:01:32+02:00",
            "2021-08-15 22:01:32",
            "2021-08-15 22:01:32 UTC",
            "2021/08/15 22:01:32",
            "2021/8/15 22:01:32",
            "2021.08.15 22:01:32",
            "2021/08/16 00:01:32+02:00",
        ] {
            assert_eq!(moment(text).map(Timestamp::millis), Ok(1_629_064_892_000), "{text}");
            assert!(!is_date(text), "{text}");
        }
        assert_eq!(moment("2021/08/15 22:01").map(Timestamp::millis), Ok(1_629_064_860_000));
        for text in ["", "x", "12", "99999999999999", "nan", "inf", "2021/13/01", "2021/08-15", "20210815"] {
            assert!(moment(text).is_err() && !is_date(text), "{text}");
        }
        assert!(moment("2021-08-15 22:01:32[Europe/Berlin]").is_err(), "the zone would be lost");
    }

    /// The first and the last second that are read are so in every unit, and in no other.
    #[test]
    fn the_size_of_a_number_tells_its_unit() {
        for seconds in [946_684_800_i64, 7_258_118_399] {
            for unit in [1, 1000, 1_000_000, 1_000_000_000] {
                let text = (seconds * unit).to_string();
                assert_eq!(moment(&text).map(Timestamp::millis), Ok(seconds * 1000), "{text}");
            }
        }
        assert!(moment("7258118400").is_err(), "2200-01-01");
    }

    /// 18,854 days.
    #[test]
    fn a_date_alone_is_midnight() {
        for text in ["2021-08-15", "2021/08/15", "2021.8.15"] {
            assert_eq!(moment(text).map(Timestamp::millis), Ok(1_628_985_600_000), "{text}");
            assert!(is_date(text), "{text}");
        }
    }

    #[test]
    fn a_date_whose_year_is_not_first_is_refused_with_the_reason() {
        for text in ["01/05/2024", "13/05/2024 12:30:00", "1.5.2024", "01-05-2024", "24/05/01"] {
            let why = moment(text).expect_err(text);
            assert!(why.contains("which of day and month comes first"), "{why}");
        }
    }
}
