//! One limit as a library call: a key, a time, a verdict.
//!
//! Unlike the limits of a stream, a limiter judges and records in one step, and does not forgive: times must
//! not go back, for any key. Keys share a budget of memory; over it, keys that were not used for long make room
//! and begin anew.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::{Check, Limit, LimitError, LimitSpec, Verdict};
use crate::engine::table::{Table, TableSpec};
use crate::engine::time::Timestamp;
use crate::engine::window::{Recorded, TIME_BITS};

/// Bytes a limiter may take unless told otherwise: 64 MiB.
pub const DEFAULT_BUDGET_BYTES: u64 = 64 << 20;
/// Dead keys are looked for in so many places a call.
const SWEEP: usize = 2;

/// A limit with the state of its keys.
#[derive(Clone, Debug)]
pub struct Limiter {
    limit: Limit,
    table: Table,
    seed: u64,
    last: Option<Timestamp>,
}

impl Limiter {
    /// A limiter of nobody yet.
    ///
    /// ```
    /// use weir::engine::limit::{Algorithm, LimitSpec, Max, limiter::Limiter};
    /// use weir::engine::time::{Span, Timestamp};
    ///
    /// let algorithm = Algorithm::SlidingLog { window: Span::from_secs(10) };
    /// let mut limiter = Limiter::new(&LimitSpec { algorithm, max: Max::AtMost(1), grace: Span::ZERO })?;
    /// assert!(limiter.check("user-1", Timestamp::from_millis(0))?.is_allowed());
    /// assert!(!limiter.check("user-1", Timestamp::from_millis(3_000))?.is_allowed());
    /// # Ok::<(), weir::engine::limit::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// What [`Limit::new`] finds wrong.
    pub fn new(spec: &LimitSpec) -> Result<Self, LimitError> {
        Self::with_budget(spec, 0, DEFAULT_BUDGET_BYTES)
    }

    /// The same with a secret seed for the hash of keys, and a budget.
    ///
    /// # Errors
    /// What [`Limit::new`] finds wrong.
    pub fn with_budget(spec: &LimitSpec, seed: u64, budget_bytes: u64) -> Result<Self, LimitError> {
        let limit = Limit::new(spec)?;
        let (words, idle) = (limit.words(), limit.idle());
        let spills: Vec<usize> = limit.spill_word().into_iter().collect();
        let spill_bytes = if spills.is_empty() { 0 } else { budget_bytes / 2 };
        let budget_bytes = budget_bytes - spill_bytes;
        let table = Table::new(TableSpec { words, budget_bytes, idle, spills, spill_bytes });
        Ok(Self { limit, table, seed, last: None })
    }

    /// Judges one event of `key` at `at`, and records it when it is allowed.
    ///
    /// # Errors
    /// An empty key, a time before that of the last call (of any key), and a time outside of 1970 to 2248: none
    /// of them changes anything.
    pub fn check(&mut self, key: &str, at: Timestamp) -> Result<Check, LimitError> {
        self.check_cost(key, at, 1)
    }

    /// The same for an event that costs `cost`.
    ///
    /// # Errors
    /// As [`Limiter::check`].
    pub fn check_cost(&mut self, key: &str, at: Timestamp, cost: u64) -> Result<Check, LimitError> {
        self.admit(key, at)?;
        self.table.sweep(at, SWEEP);
        let key = self.hash(key);
        let cell = self.table.find_or_insert(key, at).slot;
        let check = self.limit.check(self.table.cells(cell), self.table.spill(), at, cost);
        if check.verdict == Verdict::Allowed {
            let (cells, spill) = self.table.cells_and_spill(cell);
            let recorded = self.limit.record(cells, spill, at, cost);
            debug_assert_eq!(recorded, Recorded::Yes, "times do not go back");
        }
        Ok(check)
    }

    fn admit(&mut self, key: &str, at: Timestamp) -> Result<(), LimitError> {
        if key.is_empty() {
            return Err(LimitError::EmptyKey);
        }
        if at.millis() < 0 || at.millis() >> TIME_BITS != 0 {
            return Err(LimitError::TimeOutOfRange(at));
        }
        if let Some(last) = self.last.filter(|last| at < *last) {
            return Err(LimitError::TimeWentBack { at, last });
        }
        self.last = Some(at);
        Ok(())
    }

    fn hash(&self, key: &str) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.seed, !self.seed);
        hasher.write(key.as_bytes());
        hasher.finish()
    }
}

#[cfg(test)]
mod tests;
