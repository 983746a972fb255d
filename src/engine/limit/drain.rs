//! A level that drains evenly: what both buckets are.
//!
//! The level is kept in units of an event divided by the milliseconds of the refill time, so that what drains
//! in a millisecond is a whole number: nothing is rounded, however often the level is touched, and there is no
//! drift. A cell is the newest time and the level at it. Late events beyond grace cannot be judged, since a
//! level has no history.

use super::{Judged, LimitError};
use crate::engine::time::Span;
use crate::engine::window::{HEADER, Recorded, is_empty, newest, set_header};

/// Words of a cell.
pub(super) const WORDS: usize = HEADER + 2;
/// The highest level: leaves room for one more cost in 64 bits.
const HIGHEST: u64 = 1 << 62;

/// A bucket's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Drain {
    /// The full level.
    capacity: u64,
    /// Units of an event.
    scale: u64,
    /// Units that drain in a millisecond.
    rate: u64,
}

impl Drain {
    /// Holds `max` events, of which `refill` drain in each `per`.
    pub(super) fn new(max: u64, refill: u64, per: Span) -> Result<Self, LimitError> {
        let scale = per.millis() as u64;
        let capacity = max.checked_mul(scale).filter(|level| *level <= HIGHEST);
        let capacity = capacity.ok_or(LimitError::TooLarge(max))?;
        if refill > HIGHEST {
            return Err(LimitError::TooLarge(refill));
        }
        Ok(Self { capacity, scale, rate: refill })
    }

    /// The time in which a full bucket drains.
    pub(super) fn time_to_empty(&self) -> Span {
        Span::from_millis(self.capacity.div_ceil(self.rate.max(1)) as i64)
    }

    pub(super) fn same_scale(&self, other: &Self) -> bool {
        self.scale == other.scale
    }

    fn level(&self, cell: &[u32], now: u64) -> u64 {
        let level = u64::from(cell[HEADER]) | u64::from(cell[HEADER + 1]) << 32;
        level.saturating_sub(self.rate.saturating_mul(now.saturating_sub(newest(cell))))
    }

    pub(super) fn used(&self, cell: &[u32], judged: Judged) -> Option<u64> {
        match judged {
            Judged::Late(_) => None,
            Judged::Now(_) if is_empty(cell) => Some(0),
            Judged::Now(now) => Some(self.level(cell, now).div_ceil(self.scale)),
        }
    }

    pub(super) fn wait(&self, cell: &[u32], now: u64, room: u64) -> Span {
        let over = self.level(cell, now).saturating_sub(room.saturating_mul(self.scale));
        Span::from_millis(over.div_ceil(self.rate.max(1)).min(i64::MAX as u64) as i64)
    }

    /// Adds `cost`; a level never rises above full by it.
    pub(super) fn record(&self, cell: &mut [u32], judged: Judged, cost: u64) -> Recorded {
        let Judged::Now(now) = judged else {
            return Recorded::Backlog;
        };
        let level = if is_empty(cell) { 0 } else { self.level(cell, now) };
        let risen = level.saturating_add(cost.saturating_mul(self.scale)).min(self.capacity.max(level));
        cell[HEADER] = risen as u32;
        cell[HEADER + 1] = (risen >> 32) as u32;
        set_header(cell, now, 1);
        Recorded::Yes
    }
}
