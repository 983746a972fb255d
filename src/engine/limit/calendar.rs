//! Windows that follow a wall clock: each starts where the one before ended, with nothing counted.
//!
//! Windows of any length are cut where the clock of a zone shows a multiple of it: days at midnight, weeks on
//! Monday, other lengths counted from 1970-01-01 on that clock. Where clocks go back, the window in progress
//! lasts until the clock passes its end, so that no window comes twice; where they go forward it is shorter.
//! The zone's rules come with the program, never from the machine, so that all machines agree.
//!
//! A cell is the newest time, start and end of the window it counts, and the count.

use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};

use super::{Judged, LimitError};
use crate::engine::time::Span;
use crate::engine::window::{HEADER, Recorded, is_empty, newest, set_header};

/// Words of a cell.
pub(super) const WORDS: usize = HEADER + 5;
const DAY: i64 = 86_400_000;
const WEEK: i64 = 7 * DAY;
/// 1970-01-01 was a Thursday: three days after a Monday.
const MONDAY: i64 = 3 * DAY;

/// The windows of one length on one clock.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Calendar {
    window: i64,
    /// What is added to a time on the clock before it is divided.
    shift: i64,
    zone: TimeZone,
}

impl Calendar {
    pub(super) fn new(window: Span, zone: &str) -> Result<Self, LimitError> {
        let found = TimeZoneDatabase::bundled().get(zone);
        let zone = found.map_err(|_| LimitError::UnknownZone(zone.to_owned()))?;
        let window = window.millis();
        Ok(Self { window, shift: if window % WEEK == 0 { MONDAY } else { 0 }, zone })
    }

    /// A window may be longer than its length where clocks go back, by a day at most.
    pub(super) fn longest_period(&self) -> Span {
        Span::from_millis(self.window + DAY)
    }

    pub(super) fn used(&self, cell: &[u32], judged: Judged) -> Option<u64> {
        let at = judged.millis();
        if is_empty(cell) || at >= end(cell) {
            return Some(0);
        }
        (at >= start(cell)).then_some(u64::from(cell[HEADER + 4]))
    }

    /// The time until the window that is counted ends.
    pub(super) fn wait(&self, cell: &[u32], now: u64) -> Span {
        Span::from_millis(end(cell).saturating_sub(now) as i64)
    }

    pub(super) fn record(&self, cell: &mut [u32], judged: Judged, cost: u64) -> Recorded {
        let at = judged.millis();
        if !is_empty(cell) && at < start(cell) {
            return Recorded::Backlog;
        }
        if is_empty(cell) || at >= end(cell) {
            let (start, end) = self.period(at as i64);
            set_wide(cell, HEADER, start);
            set_wide(cell, HEADER + 2, end);
            cell[HEADER + 4] = 0;
        }
        let newest = if is_empty(cell) { at } else { newest(cell).max(at) };
        set_header(cell, newest, 1);
        cell[HEADER + 4] = cell[HEADER + 4].saturating_add(u32::try_from(cost).unwrap_or(u32::MAX));
        Recorded::Yes
    }

    /// The window that holds an instant: its first instant and the first after it.
    fn period(&self, at: i64) -> (i64, i64) {
        let begin = (self.wall_clock(at) + self.shift).div_euclid(self.window) * self.window - self.shift;
        (self.instant(begin), self.instant(begin + self.window))
    }

    /// The latest that the clock has shown up to an instant.
    fn wall_clock(&self, at: i64) -> i64 {
        let shown = at + self.offset(at);
        let back =
            self.zone.preceding(instant(at + 1)).next().map(|change| change.timestamp().as_millisecond());
        back.map_or(shown, |change| shown.max(change + self.offset(change - 1) - 1))
    }

    /// The first instant at which the clock shows at least `wall`.
    fn instant(&self, wall: i64) -> i64 {
        let shown = jiff::tz::Offset::UTC.to_datetime(instant(wall));
        match self.zone.to_ambiguous_timestamp(shown).offset() {
            AmbiguousOffset::Unambiguous { offset } => wall - millis(offset),
            AmbiguousOffset::Fold { before, .. } => wall - millis(before),
            AmbiguousOffset::Gap { before, after } => {
                let change = self.zone.following(instant(wall - millis(after))).next();
                change.map_or(wall - millis(before), |change| change.timestamp().as_millisecond())
            }
        }
    }

    fn offset(&self, at: i64) -> i64 {
        millis(self.zone.to_offset(instant(at)))
    }
}

/// Times in cells end in 2248, far within what the calendar knows.
fn instant(millis: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

fn millis(offset: jiff::tz::Offset) -> i64 {
    i64::from(offset.seconds()) * 1000
}

fn start(cell: &[u32]) -> u64 {
    u64::from(cell[HEADER]) | u64::from(cell[HEADER + 1]) << 32
}

fn end(cell: &[u32]) -> u64 {
    u64::from(cell[HEADER + 2]) | u64::from(cell[HEADER + 3]) << 32
}

fn set_wide(cell: &mut [u32], at: usize, millis: i64) {
    let millis = millis.max(0) as u64;
    cell[at] = millis as u32;
    cell[at + 1] = (millis >> 32) as u32;
}

#[cfg(test)]
mod tests;
