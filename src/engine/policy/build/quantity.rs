//! Numbers of a policy within their bounds.

use std::ops::RangeInclusive;

use crate::engine::policy::duration::{parse_duration, parse_size};
use crate::engine::policy::problem::Report;
use crate::engine::policy::raw::{Duration, Size};
use crate::engine::policy::reader::At;
use crate::engine::time::Span;

/// The longest window: 90 days. State for longer would be kept for people who are long gone.
pub(super) const LONGEST_WINDOW: Span = Span::from_secs(90 * 86_400);

/// A duration, zero included.
pub(super) fn span(raw: &At<Duration>, report: &Report<'_>) -> Option<Span> {
    let explain = "write whole numbers with a unit: 250ms, 10s, 5m (minutes), 1h30m, 7d, 2w";
    parse_duration(&raw.value.0)
        .map_err(|error| report.error_with(raw.at, error.to_string(), Some(explain.to_owned())))
        .ok()
}

/// A duration that is longer than nothing.
pub(super) fn positive_span(what: &str, raw: &At<Duration>, report: &Report<'_>) -> Option<Span> {
    let span = span(raw, report)?;
    if span == Span::ZERO {
        report.error(raw.at, format!("{what} must be longer than zero"));
        return None;
    }
    Some(span)
}

/// A window: longer than zero, at most 90 days.
pub(super) fn window(raw: &At<Duration>, report: &Report<'_>) -> Option<Span> {
    let span = span(raw, report)?;
    if span == Span::ZERO {
        report.error(raw.at, "a window of 0 holds no event, not even the one it is asked about");
        return None;
    }
    if span > LONGEST_WINDOW {
        let message =
            format!("a window of {span} is longer than {LONGEST_WINDOW}, for which counts are kept at most");
        report.error(raw.at, message);
        return None;
    }
    Some(span)
}

/// A duration or its default.
pub(super) fn span_or(raw: Option<&At<Duration>>, default: Span, report: &Report<'_>) -> Span {
    raw.and_then(|raw| span(raw, report)).unwrap_or(default)
}

/// A duration longer than nothing, or its default.
pub(super) fn positive_or(
    what: &str,
    raw: Option<&At<Duration>>,
    default: Span,
    report: &Report<'_>,
) -> Span {
    raw.and_then(|raw| positive_span(what, raw, report)).unwrap_or(default)
}

/// A whole number within bounds.
pub(super) fn within(
    what: &str,
    raw: &At<i64>,
    bounds: RangeInclusive<i64>,
    report: &Report<'_>,
) -> Option<i64> {
    if bounds.contains(&raw.value) {
        return Some(raw.value);
    }
    report.error(
        raw.at,
        format!("{what} is {}, and must be from {} to {}", raw.value, bounds.start(), bounds.end()),
    );
    None
}

/// A whole number within bounds, as the type that holds it, or its default.
pub(super) fn number_or<T: TryFrom<i64>>(
    what: &str,
    raw: Option<&At<i64>>,
    bounds: RangeInclusive<i64>,
    default: T,
    report: &Report<'_>,
) -> T {
    raw.and_then(|raw| within(what, raw, bounds, report))
        .and_then(|number| T::try_from(number).ok())
        .unwrap_or(default)
}

/// A memory budget of at least 64 KB, or its default.
pub(super) fn budget_or(raw: Option<&At<Size>>, default: u64, report: &Report<'_>) -> u64 {
    raw.and_then(|raw| budget(raw, report)).unwrap_or(default)
}

/// A memory budget of at least 64 KB.
pub(super) fn budget(raw: &At<Size>, report: &Report<'_>) -> Option<u64> {
    match parse_size(&raw.value.0) {
        Ok(bytes) if bytes >= 64 << 10 => Some(bytes),
        Ok(_) => {
            report.error(raw.at, "a memory budget is at least 64KB");
            None
        }
        Err(error) => {
            let explain = "write a whole number of B, KB, MB or GB".to_owned();
            report.error_with(raw.at, error.to_string(), Some(explain));
            None
        }
    }
}
