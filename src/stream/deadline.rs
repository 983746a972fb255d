//! Time limits of waiting.
//!
//! Nothing that is read here reaches a record: the engine's time comes from records. A deadline only says when to
//! stop waiting for a broker.

use std::time::Duration;

use crate::clock::Stopwatch;

/// A moment after which waiting is given up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    since: Stopwatch,
    patience: Duration,
}

impl Deadline {
    /// The moment `patience` from now.
    pub(super) fn after(patience: Duration) -> Deadline {
        Deadline { since: Stopwatch::start(), patience }
    }

    /// What is left, zero once it has passed.
    pub(super) fn left(self) -> Duration {
        self.patience.saturating_sub(self.since.elapsed())
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
