//! Event time: milliseconds, saturating arithmetic only.
//!
//! The engine never asks what time it is; every time here came in with an input.

use std::fmt;

/// An instant: milliseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A length of time in milliseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(i64);

impl Timestamp {
    /// The earliest instant an event may carry: 2000-01-01T00:00:00Z. Anything before is a wrong unit
    /// (seconds read as milliseconds land in 1970), not an old event.
    pub const MIN: Timestamp = Timestamp(946_684_800_000);
    /// The first instant an event may no longer carry: 2200-01-01T00:00:00Z. Microseconds and nanoseconds
    /// read as milliseconds lie far beyond it.
    pub const MAX: Timestamp = Timestamp(7_258_118_400_000);

    /// From milliseconds since the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// The time from `earlier` to `self`; zero when `earlier` is not earlier.
    pub const fn since(self, earlier: Timestamp) -> Span {
        let millis = self.0.saturating_sub(earlier.0);
        Span(if millis < 0 { 0 } else { millis })
    }

    /// `self + span`, saturating.
    pub const fn after(self, span: Span) -> Timestamp {
        Timestamp(self.0.saturating_add(span.0))
    }

    /// `self - span`, saturating.
    pub const fn before(self, span: Span) -> Timestamp {
        Timestamp(self.0.saturating_sub(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// From milliseconds; a negative number becomes zero.
    pub const fn from_millis(millis: i64) -> Self {
        Self(if millis < 0 { 0 } else { millis })
    }

    /// From whole seconds; a negative number becomes zero.
    pub const fn from_secs(secs: i64) -> Self {
        Self::from_millis(secs.saturating_mul(1000))
    }

    /// Milliseconds.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds, rounded up: what a caller is told to wait.
    pub const fn secs_ceil(self) -> i64 {
        self.0 / 1000 + if self.0 % 1000 > 0 { 1 } else { 0 }
    }

    /// `self + other`, saturating.
    pub const fn plus(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }

    /// `self * factor`, saturating.
    pub const fn times(self, factor: i64) -> Span {
        Span::from_millis(self.0.saturating_mul(factor))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(instant) => write!(f, "{instant:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

/// The shortest exact form with units: `1h30m`, `10s`, `250ms`, `0s`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(i64, &str); 5] =
            [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        for (millis, unit) in UNITS {
            if rest >= millis {
                write!(f, "{}{unit}", rest / millis)?;
                rest %= millis;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_print_exactly() {
        for (millis, text) in
            [(0, "0s"), (250, "250ms"), (10_000, "10s"), (5_400_000, "1h30m"), (86_400_000, "1d")]
        {
            assert_eq!(Span::from_millis(millis).to_string(), text);
        }
    }

    #[test]
    fn arithmetic_saturates_instead_of_panicking() {
        let far = Timestamp::from_millis(i64::MAX);
        assert_eq!(far.after(Span::from_millis(1)), far);
        assert_eq!(Timestamp::from_millis(i64::MIN).before(Span::from_secs(1)).millis(), i64::MIN);
        assert_eq!(Timestamp::from_millis(1).since(far), Span::ZERO);
        assert_eq!(Span::from_millis(1).secs_ceil(), 1);
    }
}
