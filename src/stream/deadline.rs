//! Time limits of waiting: the one place of this room that looks at a (monotonic) clock.
//!
//! Nothing that is read here reaches a record: the engine's time comes from records. A deadline only says when to
//! stop waiting for a broker.

use std::time::{Duration, Instant};

/// A moment after which waiting is given up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline(Instant);

impl Deadline {
    /// The moment `patience` from now.
    pub(super) fn after(patience: Duration) -> Deadline {
        let now = Instant::now();
        Deadline(now.checked_add(patience).unwrap_or(now))
    }

    /// What is left, zero once it has passed.
    pub(super) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// True once it has passed.
    pub(super) fn passed(self) -> bool {
        self.left().is_zero()
    }

    /// What is left, but at most `step`.
    pub(super) fn step(self, step: Duration) -> Duration {
        self.left().min(step)
    }
}
