//! Limits: how much one key may do, and how long to wait when it did too much.
//!
//! A limit is looked at with [`Limit::check`], which changes nothing, and told what counts with
//! [`Limit::record`]: what is recorded is the caller's to decide. State is the few `u32` words of a *cell*
//! (zeroed: nothing happened yet) and holds counts, never credits, so a lowered maximum holds at once.
//!
//! A limit never goes back in time. An event older than the newest of its key by at most `grace` is judged and
//! recorded at that newest time, so back-dating buys no quota. An older one is judged in its own window if
//! that is still held as a whole, else it is [`Verdict::Backlog`] and not recorded. `grace` must therefore be the most
//! that one sender can bring about: the stream's grace and its skew together.

pub mod calendar;
pub mod leaky_bucket;
pub mod limiter;
pub mod sliding_log;
pub mod sliding_window;
pub mod token_bucket;

mod drain;
mod spec;

pub use self::spec::{Algorithm, LONGEST_WINDOW, LimitError, LimitSpec, Max};

use self::calendar::Calendar;
use self::drain::Drain;
use self::sliding_log::SlidingLog;
use self::sliding_window::SlidingWindow;
use super::slab::Spill;
use super::time::{Span, Timestamp};
use super::window::count::CountSpec;
use super::window::{Recorded, is_empty, moment, newest};

/// A limit made ready: plain data, no state of any key.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    form: Form,
    /// `None`: unlimited.
    max: Option<u64>,
    window: Span,
    grace: u64,
}

/// The algorithms by the state they keep. Both buckets are a level that drains.
#[derive(Clone, Debug, PartialEq)]
enum Form {
    Unlimited,
    SlidingLog(SlidingLog),
    SlidingWindow(SlidingWindow),
    Bucket(Drain),
    Calendar(Calendar),
}

/// What a limit says of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is within the limit.
    Allowed,
    /// It is over the limit.
    Refused {
        /// How long after [`Check::judged_at`] the same event would be allowed if nothing else is recorded:
        /// at least 1 ms. With a maximum of 0 it never is, and this is the window.
        retry_after: Span,
    },
    /// It alone costs more than the limit can ever hold: no wait helps.
    CostExceedsCapacity,
    /// It is too old to be judged: its window is not held as a whole any more.
    Backlog,
}

/// The outcome of a look at a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// What the limit says.
    pub verdict: Verdict,
    /// What counts in the window, this event not included; rounded up for buckets.
    pub used: u64,
    /// The maximum; `u64::MAX` when unlimited.
    pub limit: u64,
    /// What is left after this event when it is allowed, before it otherwise. Never more than `limit`.
    pub remaining: u64,
    /// The time it was judged at: its own, or the newest of its key.
    pub judged_at: Timestamp,
    /// Whether `used` keeps the promise of the algorithm; false when it is a coarse upper bound for want of memory.
    pub exact: bool,
}

/// What counts in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) count: u64,
    /// See [`Check::exact`].
    pub(crate) exact: bool,
}

/// The time an event is judged at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// Not before anything that was recorded.
    Now(u64),
    /// Its own time, older than the grace allows.
    Late(u64),
}

impl Judged {
    pub(crate) fn millis(self) -> u64 {
        match self {
            Self::Now(at) | Self::Late(at) => at,
        }
    }
}

impl Limit {
    /// Checks a specification and makes it ready.
    ///
    /// # Errors
    /// See [`LimitError`]: among them a window of zero, a negative maximum, an unknown time zone.
    pub fn new(spec: &LimitSpec) -> Result<Self, LimitError> {
        let max = spec.max.events()?;
        let form = Form::new(&spec.algorithm, max)?;
        let (window, grace) = (spec.algorithm.window(), spec.grace.millis() as u64);
        Ok(Self { form, max, window, grace })
    }

    /// Words of a cell; none when unlimited.
    pub fn words(&self) -> usize {
        match &self.form {
            Form::Unlimited => 0,
            Form::SlidingLog(log) => log.words(),
            Form::SlidingWindow(_) => CountSpec::WORDS,
            Form::Bucket(_) => drain::WORDS,
            Form::Calendar(_) => calendar::WORDS,
        }
    }

    /// Which word of a cell holds a [`BlockRef`](super::slab::BlockRef): for the `spills` of a table.
    pub fn spill_word(&self) -> Option<usize> {
        match &self.form {
            Form::SlidingLog(log) => log.spill_word(),
            Form::SlidingWindow(_) => Some(CountSpec::SPILL_WORD),
            Form::Unlimited | Form::Bucket(_) | Form::Calendar(_) => None,
        }
    }

    /// How long after its last event a cell says nothing any more.
    pub fn idle(&self) -> Span {
        let own = match &self.form {
            Form::Unlimited => Span::ZERO,
            Form::SlidingLog(_) => self.window,
            Form::SlidingWindow(window) => window.idle(),
            Form::Bucket(drain) => drain.time_to_empty(),
            Form::Calendar(calendar) => calendar.longest_period(),
        };
        own.plus(Span::from_millis(self.grace as i64))
    }

    /// The maximum; `None` when unlimited.
    pub fn max(&self) -> Option<u64> {
        self.max
    }

    /// The window, or the time a bucket is refilled in.
    pub fn window(&self) -> Span {
        self.window
    }

    /// What the limit says of an event at `at` that costs `cost`. Changes nothing.
    #[inline]
    pub fn check(&self, cell: &[u32], spill: &Spill, at: Timestamp, cost: u64) -> Check {
        let Some(max) = self.max else {
            return Check::new(Verdict::Allowed, 0, u64::MAX, u64::MAX, moment(at));
        };
        let judged = self.judge_time(cell, at);
        let now = judged.millis();
        if max == 0 {
            return Check::new(Verdict::Refused { retry_after: self.window }, 0, 0, 0, now);
        }
        let Some(Used { count: used, exact }) = self.used(cell, spill, judged) else {
            return Check::new(Verdict::Backlog, 0, max, max, now);
        };
        let left = max.saturating_sub(used);
        let (verdict, remaining) = if cost > max {
            (Verdict::CostExceedsCapacity, left)
        } else if used.saturating_add(cost) <= max {
            (Verdict::Allowed, left - cost)
        } else {
            let retry_after = self.wait(cell, spill, judged, max - cost).max(Span::from_millis(1));
            (Verdict::Refused { retry_after }, left)
        };
        Check { exact, ..Check::new(verdict, used, max, remaining, now) }
    }

    /// Counts an event at `at` that costs `cost`, whether or not it is within the limit. A cost of 0 changes
    /// nothing.
    #[inline]
    pub fn record(&self, cell: &mut [u32], spill: &mut Spill, at: Timestamp, cost: u64) -> Recorded {
        if self.max.is_none() || cost == 0 {
            return Recorded::Yes;
        }
        let judged = self.judge_time(cell, at);
        match &self.form {
            Form::Unlimited => Recorded::Yes,
            Form::SlidingLog(log) => log.record(cell, spill, judged, cost),
            Form::SlidingWindow(window) => window.record(cell, spill, judged, cost),
            Form::Bucket(drain) => drain.record(cell, judged, cost),
            Form::Calendar(calendar) => calendar.record(cell, judged, cost),
        }
    }

    /// How many events it can keep apart; 0 when it only counts them. Never falls over reloads: see
    /// [`Limit::with_room`].
    pub fn room(&self) -> usize {
        match &self.form {
            Form::SlidingLog(log) => log.room(),
            Form::Unlimited | Form::SlidingWindow(_) | Form::Bucket(_) | Form::Calendar(_) => 0,
        }
    }

    /// The same limit with room for at least so many events: a maximum that is lowered and raised again within its
    /// window gives no fresh quota.
    #[must_use]
    pub fn with_room(mut self, events: usize) -> Self {
        if let Form::SlidingLog(log) = &mut self.form {
            *log = log.with_room(events);
        }
        self
    }

    /// Takes over what `old` counted in `old_cell` into an empty `cell`; false, and nothing taken, when the
    /// two count differently. A changed maximum alone never makes them differ. The block of the old cell, which is
    /// dropped, is taken over or given back, unless this is false.
    pub fn carry_over(&self, cell: &mut [u32], spill: &mut Spill, old: &Limit, old_cell: &[u32]) -> bool {
        match (&self.form, &old.form) {
            (Form::SlidingLog(new), Form::SlidingLog(old)) if new.same_window(old) => {
                new.carry_over(cell, spill, old, old_cell);
                return true;
            }
            (Form::SlidingWindow(new), Form::SlidingWindow(old)) if new == old => {}
            (Form::Bucket(new), Form::Bucket(old)) if new.same_scale(old) => {}
            (Form::Calendar(new), Form::Calendar(old)) if new == old => {}
            _ => return false,
        }
        cell.copy_from_slice(old_cell);
        true
    }

    #[inline]
    fn judge_time(&self, cell: &[u32], at: Timestamp) -> Judged {
        let at = moment(at);
        if is_empty(cell) {
            return Judged::Now(at);
        }
        let newest = newest(cell);
        match newest.saturating_sub(at) {
            0 => Judged::Now(at),
            late if late <= self.grace => Judged::Now(newest),
            _ => Judged::Late(at),
        }
    }

    /// What counts at a time; `None` when its window is not held.
    #[inline]
    fn used(&self, cell: &[u32], spill: &Spill, judged: Judged) -> Option<Used> {
        let exact = |count| Used { count, exact: true };
        match &self.form {
            Form::Unlimited => Some(exact(0)),
            Form::SlidingLog(log) => log.used(cell, spill, judged),
            Form::SlidingWindow(window) => window.used(cell, spill, judged),
            Form::Bucket(drain) => drain.used(cell, judged).map(exact),
            Form::Calendar(calendar) => calendar.used(cell, judged).map(exact),
        }
    }

    /// The time until at most `room` counts.
    #[cold]
    fn wait(&self, cell: &[u32], spill: &Spill, judged: Judged, room: u64) -> Span {
        let now = judged.millis();
        match &self.form {
            Form::Unlimited => Span::ZERO,
            Form::SlidingLog(log) => log.wait(cell, spill, now, room),
            Form::SlidingWindow(window) => window.wait(cell, spill, now, room),
            Form::Bucket(drain) => drain.wait(cell, now, room),
            Form::Calendar(calendar) => calendar.wait(cell, now),
        }
    }
}

impl Form {
    fn new(algorithm: &Algorithm, max: Option<u64>) -> Result<Self, LimitError> {
        let window = spec::valid_window(algorithm.window())?;
        let Some(max) = max else {
            return Ok(Self::Unlimited);
        };
        Ok(match algorithm {
            Algorithm::SlidingLog { .. } => Self::SlidingLog(SlidingLog::new(window, max)?),
            Algorithm::SlidingWindow { slots, .. } => {
                spec::countable(max)?;
                Self::SlidingWindow(SlidingWindow::new(window, *slots)?)
            }
            Algorithm::TokenBucket { refill, .. } => Self::Bucket(token_bucket::drain(max, *refill, window)?),
            Algorithm::LeakyBucket { .. } => Self::Bucket(leaky_bucket::drain(max, window)?),
            Algorithm::Calendar { zone, .. } => {
                spec::countable(max)?;
                Self::Calendar(Calendar::new(window, zone)?)
            }
        })
    }
}

impl Check {
    fn new(verdict: Verdict, used: u64, limit: u64, remaining: u64, judged_at: u64) -> Self {
        let judged_at = Timestamp::from_millis(judged_at as i64);
        Self { verdict, used, limit, remaining, judged_at, exact: true }
    }

    /// Whether the event is within the limit. One that is too old to be judged is not refused.
    pub fn is_allowed(&self) -> bool {
        matches!(self.verdict, Verdict::Allowed | Verdict::Backlog)
    }
}

#[cfg(test)]
mod tests;
