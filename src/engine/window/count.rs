//! A sliding count: exact while small, a ring of sub-windows when large.
//!
//! A cell begins as a log of times, which is exact. When the log is full the same words become a ring of
//! sub-windows of 16 bits, and when a sub-window passes 65,535 a ring of half as many of 32 bits. When all has
//! left, the cell is a log again.
//!
//! **Error of the ring.** It counts whole sub-windows, so a reading never misses an event and counts too many
//! by at most the events of the oldest sub-windows it covers that began before the window did: one when
//! [`CountSpec::slot`] divides the window, two otherwise. A late event is counted at the precision of a
//! sub-window, too.
//!
//! Two rings of one spec merge by adding lane to lane.

use super::ring::Ring;
use super::{HEADER, Held, MAX_TAG, Recorded, is_empty, moment, newest, set_header, tag};
use crate::engine::time::{Span, Timestamp};

/// How a sliding count is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountSpec {
    window: u64,
    late: u64,
    log: usize,
    words: usize,
    narrow: Ring,
    wide: Ring,
}

/// A reading of a sliding count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Events in the window; saturates at `u32::MAX`.
    pub count: u64,
    /// Whether that is exact; otherwise see the error of the ring.
    pub exact: bool,
    /// How much of the window is held: less than the whole only for times older than the newest seen.
    pub held: Held,
}

/// The form a cell is in: the low bits of its tag. The log's length is in the others.
const FORM_BITS: u32 = 2;
const FORM_MASK: u32 = (1 << FORM_BITS) - 1;
const LOG: u32 = 0;
const NARROW: u32 = 1;
const WIDE: u32 = 2;

impl CountSpec {
    /// Counts over `window` (at least 1 ms), in about `slots` sub-windows (made even, held within 2 and 100)
    /// once there are too many for the log.
    pub fn new(window: Span, slots: u32) -> Self {
        Self::build(window.millis().max(1) as u64, u64::from(slots.clamp(2, 100).next_multiple_of(2)), 0)
    }

    /// The same, holding events for `late` longer than the window, so that a reading up to so much older
    /// than the newest event still sees its whole window.
    #[must_use]
    pub fn holding(self, late: Span) -> Self {
        Self::build(self.window, self.window.div_ceil(self.narrow.slot_millis()), late.millis() as u64)
    }

    fn build(window: u64, slots: u64, late: u64) -> Self {
        let slot = window.div_ceil(slots);
        let narrow = Ring::new(slot, window, late, false);
        let wide = Ring::new(slot * 2, window, late, true);
        let ring = narrow.words().max(wide.words());
        // The log keeps the low 32 bits of a time: 49 days. Longer windows have no log.
        let log =
            if window.saturating_add(late) < 1 << 32 { ring.min((MAX_TAG >> FORM_BITS) as usize) } else { 0 };
        Self { window, late, log, words: HEADER + ring, narrow, wide }
    }

    /// Words of a cell.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Events up to which a count is surely exact.
    pub fn exact_up_to(&self) -> usize {
        self.log
    }

    /// The window.
    pub fn window(&self) -> Span {
        Span::from_millis(self.window as i64)
    }

    /// The length of a sub-window of the first ring; the second has twice that.
    pub fn slot(&self) -> Span {
        Span::from_millis(self.narrow.slot_millis() as i64)
    }

    /// How long after its last event a cell says nothing any more.
    pub fn idle(&self) -> Span {
        let beyond = self.wide.slot_millis().saturating_mul(2);
        Span::from_millis(i64::try_from(self.held().saturating_add(beyond)).unwrap_or(i64::MAX))
    }

    /// The newest time recorded in a cell.
    #[inline]
    pub fn newest(&self, cell: &[u32]) -> Option<Timestamp> {
        (!is_empty(cell)).then(|| Timestamp::from_millis(newest(cell) as i64))
    }

    /// The count in the window that ends at `at`, which is in it.
    #[inline]
    pub fn read(&self, cell: &[u32], at: Timestamp) -> Count {
        let at = moment(at);
        match self.ring(cell) {
            None => self.read_log(cell, at),
            Some(ring) => {
                let (count, held) = ring.read(&cell[HEADER..], ring.slot_of(newest(cell)), ring.slot_of(at));
                Count { count: count.min(u64::from(u32::MAX)), exact: false, held }
            }
        }
    }

    /// Counts `n` events at `at`.
    #[inline]
    pub fn record(&self, cell: &mut [u32], at: Timestamp, n: u32) -> Recorded {
        if n == 0 {
            return Recorded::Yes;
        }
        self.record_at(cell, moment(at), n)
    }

    /// The time from `at` until at most `room` events of those in the window at `at` are left in it, if
    /// nothing more is recorded; zero when that is so already.
    pub fn wait(&self, cell: &[u32], at: Timestamp, room: u64) -> Span {
        let at = moment(at);
        let millis = match self.ring(cell) {
            None => self.wait_log(cell, at, room),
            Some(ring) => wait_ring(ring, cell, at, room),
        };
        Span::from_millis(millis as i64)
    }

    fn held(&self) -> u64 {
        self.window.saturating_add(self.late)
    }

    /// The ring a cell is, or `None` when it is a log.
    #[inline]
    fn ring(&self, cell: &[u32]) -> Option<&Ring> {
        match tag(cell) & FORM_MASK {
            LOG => None,
            NARROW => Some(&self.narrow),
            _ => Some(&self.wide),
        }
    }

    #[inline]
    fn record_at(&self, cell: &mut [u32], at: u64, n: u32) -> Recorded {
        match tag(cell) & FORM_MASK {
            LOG => self.record_log(cell, at, n),
            NARROW => self.record_ring(&self.narrow, cell, at, n),
            _ => self.record_ring(&self.wide, cell, at, n),
        }
    }

    #[inline]
    fn read_log(&self, cell: &[u32], at: u64) -> Count {
        let newest = newest(cell);
        let times = &cell[HEADER..HEADER + (tag(cell) >> FORM_BITS) as usize];
        let count = times.iter().filter(|time| self.within(age(newest, **time), newest, at)).count() as u64;
        let held = match newest.saturating_sub(at) {
            late if late <= self.late || is_empty(cell) => Held::Whole,
            late if late < self.held() => Held::Part,
            _ => Held::Nothing,
        };
        Count { count, exact: true, held }
    }

    /// Whether a time `age` before `newest` lies in the window that ends at `at`.
    #[inline]
    fn within(&self, age: u64, newest: u64, at: u64) -> bool {
        let time = newest - age;
        time <= at && at - time < self.window
    }

    fn record_log(&self, cell: &mut [u32], at: u64, n: u32) -> Recorded {
        let old = newest(cell);
        let held = (tag(cell) >> FORM_BITS) as usize;
        if held > 0 && at.saturating_add(self.held()) <= old {
            return Recorded::Backlog;
        }
        let now = old.max(at);
        let kept = self.prune(&mut cell[HEADER..HEADER + held], old, now);
        let more = n as usize;
        if more > self.log.saturating_sub(kept) {
            self.promote(cell, now, kept);
            return self.record_at(cell, at, n);
        }
        cell[HEADER + kept..HEADER + kept + more].fill(at as u32);
        set_header(cell, now, ((kept + more) as u32) << FORM_BITS | LOG);
        Recorded::Yes
    }

    /// Moves the times that are still held at `now` to the front, and returns how many.
    #[inline]
    fn prune(&self, times: &mut [u32], old: u64, now: u64) -> usize {
        let mut kept = 0;
        for i in 0..times.len() {
            let time = times[i];
            times[kept] = time;
            kept += usize::from(now - old + age(old, time) < self.held());
        }
        kept
    }

    /// From log to ring: `kept` times, all held at `now`.
    #[cold]
    fn promote(&self, cell: &mut [u32], now: u64, kept: usize) {
        let old = newest(cell);
        let times: Vec<u64> = cell[HEADER..HEADER + kept].iter().map(|time| old - age(old, *time)).collect();
        cell.fill(0);
        set_header(cell, now, NARROW);
        let slot = self.narrow.slot_of(now);
        for time in times {
            self.narrow.add(&mut cell[HEADER..], slot, self.narrow.slot_of(time), 1);
        }
    }

    fn record_ring(&self, ring: &Ring, cell: &mut [u32], at: u64, n: u32) -> Recorded {
        let (mut last, slot) = (ring.slot_of(newest(cell)), ring.slot_of(at));
        if ring.is_gone(last, slot) {
            return Recorded::Backlog;
        }
        if ring.is_gone(slot, last) {
            cell.fill(0);
            return self.record_log(cell, at, n);
        }
        if at > newest(cell) {
            ring.advance(&mut cell[HEADER..], last, slot);
            set_header(cell, at, tag(cell));
            last = slot;
        }
        if !ring.fits(&cell[HEADER..], slot, n) {
            self.widen(cell);
            return self.record_ring(&self.wide, cell, at, n);
        }
        ring.add(&mut cell[HEADER..], last, slot, n);
        Recorded::Yes
    }

    /// From 16 to 32 bits: each new sub-window holds two old ones.
    #[cold]
    fn widen(&self, cell: &mut [u32]) {
        let (newest, last) = (newest(cell), self.narrow.slot_of(newest(cell)));
        let first = self.narrow.first_held(last);
        let counts: Vec<u32> =
            (first..=last).map(|slot| self.narrow.count_of(&cell[HEADER..], slot)).collect();
        cell.fill(0);
        set_header(cell, newest, WIDE);
        for (slot, count) in (first..).zip(counts) {
            if !self.wide.is_gone(last / 2, slot / 2) {
                self.wide.add(&mut cell[HEADER..], last / 2, slot / 2, count);
            }
        }
    }

    fn wait_log(&self, cell: &[u32], at: u64, room: u64) -> u64 {
        let newest = newest(cell);
        let times = &cell[HEADER..HEADER + (tag(cell) >> FORM_BITS) as usize];
        let inside =
            || times.iter().map(|time| age(newest, *time)).filter(|age| self.within(*age, newest, at));
        let leave = (inside().count() as u64).saturating_sub(room);
        // The smallest wait in which at least `leave` of them leave.
        let wait = |age: u64| self.window - (at - (newest - age));
        let gone = |millis: u64| inside().filter(|age| wait(*age) <= millis).count() as u64;
        inside().map(wait).filter(|millis| gone(*millis) >= leave).min().filter(|_| leave > 0).unwrap_or(0)
    }
}

/// From which sub-window on at most `room` are left, counted from the oldest covered.
fn wait_ring(ring: &Ring, cell: &[u32], at: u64, room: u64) -> u64 {
    let (last, slot) = (ring.slot_of(newest(cell)), ring.slot_of(at));
    let mut left = ring.read(&cell[HEADER..], last, slot).0;
    if left <= room {
        return 0;
    }
    let first = ring.first_of_window(slot).max(ring.first_held(last));
    for old in first..=last.min(slot) {
        left = left.saturating_sub(u64::from(ring.count_of(&cell[HEADER..], old)));
        if left <= room {
            return ring.leaves_at(old) - at;
        }
    }
    0
}

/// How long before `newest` a time was of which the low 32 bits are kept.
#[inline]
fn age(newest: u64, time: u32) -> u64 {
    u64::from((newest as u32).wrapping_sub(time))
}

#[cfg(test)]
mod tests;
