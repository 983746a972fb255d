//! The exact sliding limit: the time of every event that counts, oldest first.
//!
//! It keeps at most as many times as the limit allows (or allowed since the start), the newest: more can neither
//! change the verdict nor the wait. Times are the low 32 bits of milliseconds before the newest time, so windows are at most 49 days; a
//! cost of `n` is `n` equal times.

use super::spec::at_most;
use super::{Judged, LimitError};
use crate::engine::time::Span;
use crate::engine::window::{HEADER, Recorded, is_empty, newest, set_header, tag};

/// The most times a log keeps.
const MOST: u64 = 1024;
/// The longest window: 49 days.
const LONGEST: Span = Span::from_secs(49 * 86_400);

/// The numbers of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlidingLog {
    window: u64,
    capacity: usize,
}

impl SlidingLog {
    pub(super) fn new(window: Span, max: u64) -> Result<Self, LimitError> {
        if max > MOST {
            return Err(LimitError::TooManyForLog { max, most: MOST });
        }
        Ok(Self { window: at_most(window, LONGEST)?.millis() as u64, capacity: max as usize })
    }

    pub(super) fn words(&self) -> usize {
        HEADER + self.capacity
    }

    pub(super) fn room(&self) -> usize {
        self.capacity
    }

    pub(super) fn with_room(self, events: usize) -> Self {
        Self { capacity: self.capacity.max(events.min(MOST as usize)), ..self }
    }

    pub(super) fn same_window(&self, other: &Self) -> bool {
        self.window == other.window
    }

    pub(super) fn used(&self, cell: &[u32], judged: Judged) -> Option<u64> {
        let at = judged.millis();
        if self.is_gone(cell, judged) {
            return None;
        }
        Some(self.inside(cell, at).count() as u64)
    }

    /// The time until at most `room` of the times in the window that ends at `now` are left.
    pub(super) fn wait(&self, cell: &[u32], now: u64, room: u64) -> Span {
        let leave = (self.inside(cell, now).count() as u64).saturating_sub(room);
        let last_to_leave = (leave as usize).checked_sub(1).and_then(|n| self.inside(cell, now).nth(n));
        Span::from_millis(last_to_leave.map_or(0, |time| time + self.window - now) as i64)
    }

    pub(super) fn record(&self, cell: &mut [u32], judged: Judged, cost: u64) -> Recorded {
        if self.is_gone(cell, judged) {
            return Recorded::Backlog;
        }
        let at = judged.millis();
        self.advance(cell, at);
        for _ in 0..cost.min(self.capacity as u64) {
            self.insert(cell, at);
        }
        Recorded::Yes
    }

    /// The newest times of a log of another maximum.
    pub(super) fn carry_over(&self, cell: &mut [u32], old: &[u32]) {
        let held = len(old);
        let kept = held.min(self.capacity);
        cell[HEADER..HEADER + kept].copy_from_slice(&old[HEADER + held - kept..HEADER + held]);
        set_header(cell, newest(old), tag_of(kept, tag(old) != 0));
    }

    /// Whether nothing can be known of the window that ends at the time of a late event.
    fn is_gone(&self, cell: &[u32], judged: Judged) -> bool {
        matches!(judged, Judged::Late(at) if at + self.window <= newest(cell))
    }

    /// The times in the window that ends at `at`, oldest first.
    fn inside<'a>(&self, cell: &'a [u32], at: u64) -> impl Iterator<Item = u64> + 'a {
        let (newest, window) = (newest(cell), self.window);
        let times = cell[HEADER..HEADER + len(cell)].iter().map(move |time| full(newest, *time));
        times.filter(move |time| *time <= at && at - *time < window)
    }

    /// Moves the newest time to `at` when that is later, and drops the times that leave.
    fn advance(&self, cell: &mut [u32], at: u64) {
        let (old, held) = (newest(cell), len(cell));
        if is_empty(cell) || at <= old {
            return;
        }
        let times = &cell[HEADER..HEADER + held];
        let left = times.partition_point(|time| at - full(old, *time) >= self.window);
        cell.copy_within(HEADER + left..HEADER + held, HEADER);
        set_header(cell, at, tag_of(held - left, true));
    }

    /// Puts a time in its place; in a full log the oldest makes room.
    fn insert(&self, cell: &mut [u32], at: u64) {
        let (newest, held) = (newest(cell).max(at), len(cell));
        let place = cell[HEADER..HEADER + held].partition_point(|time| full(newest, *time) <= at);
        if held < self.capacity {
            cell.copy_within(HEADER + place..HEADER + held, HEADER + place + 1);
            cell[HEADER + place] = at as u32;
            set_header(cell, newest, tag_of(held + 1, true));
        } else if place > 0 {
            cell.copy_within(HEADER + 1..HEADER + place, HEADER);
            cell[HEADER + place - 1] = at as u32;
        }
    }
}

/// Times in a log.
fn len(cell: &[u32]) -> usize {
    (tag(cell) >> 1) as usize
}

/// The tag says that the cell is in use, and how many times it has.
fn tag_of(len: usize, used: bool) -> u32 {
    (len as u32) << 1 | u32::from(used)
}

/// The time of which the low 32 bits are kept.
fn full(newest: u64, time: u32) -> u64 {
    newest - u64::from((newest as u32).wrapping_sub(time))
}
