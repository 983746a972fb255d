//! A bucket that leaks: what was poured in drains evenly, a full bucket in one window.
//!
//! It is a meter, not a queue: an event that does not fit is refused, not delayed. Unlike a window it never
//! forgets all at once.

use super::LimitError;
use super::drain::Drain;
use crate::engine::time::Span;

/// A bucket that holds `max` and leaks `max` in each window.
pub(super) fn drain(max: u64, window: Span) -> Result<Drain, LimitError> {
    Drain::new(max, max, window)
}
