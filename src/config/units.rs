//! Text with units, as in the policy: lengths of time (`50ms`, `1h30m`) and sizes (`64MB`, `1GB`, powers of 1024).

use crate::engine::policy::duration::{parse_duration, parse_size};
use crate::engine::time::Span;

const SIZE_UNITS: [(&str, u64); 4] = [("B", 1), ("KB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30)];

/// A length of time.
pub(super) fn duration(text: &str) -> Result<Span, String> {
    parse_duration(text).map_err(|error| format!("{error}; write `50ms`, `10s`, `5m`, `1h30m`, `7d`"))
}

/// A size in bytes.
pub(super) fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|error| format!("{error}; write `512KB`, `64MB`, `1GB`"))
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
    fn sizes_show_in_their_largest_exact_unit() {
        for (bytes, text) in [(64 << 20, "64MB"), (3 << 30, "3GB"), (1025, "1025B"), (0, "0B")] {
            assert_eq!(show_size(bytes), text);
            assert_eq!(size(text), Ok(bytes));
        }
    }

    #[test]
    fn what_is_wrong_comes_with_what_is_right() {
        assert!(duration("10").is_err_and(|told| told.contains("no unit") && told.contains("`10s`")));
        assert!(size("64mb").is_err_and(|told| told.contains("`64MB`")));
    }
}
