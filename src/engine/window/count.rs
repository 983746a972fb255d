//! A sliding count: exact while small, a ring of sub-windows when large.
//!
//! A cell begins as a log of a few times, which is exact. When they are more the log moves to a block of the table's
//! spill and grows there; when that is full the same block becomes a ring of sub-windows of 16 bits, and when a
//! sub-window passes 65,535 a ring of half as many of 32 bits. When all has left, the cell is a log of its own again.
//!
//! **Error of the ring.** It counts whole sub-windows, so a reading never misses an event and counts too many
//! by at most the events of the oldest sub-windows it covers that began before the window did: one when
//! [`CountSpec::slot`] divides the window, two otherwise. A late event is counted at the precision of a
//! sub-window, too.
//!
//! When the spill is used up the words of the cell itself become a *coarse* ring: the same with fewer sub-windows
//! ([`CountSpec::coarse_slot`]), so it still misses nothing, and with 65,535 events a sub-window at the most. A reading
//! says so. Two rings of one spec merge by adding lane to lane.

use super::ring::Ring;
use super::{HEADER, Held, MAX_TAG, Recorded, is_empty, moment, newest, set_header, tag};
use crate::engine::slab::{BlockRef, Spill};
use crate::engine::time::{Span, Timestamp};

/// How a sliding count is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountSpec {
    window: u64,
    late: u64,
    /// Times up to which it is a log.
    log: usize,
    narrow: Ring,
    wide: Ring,
    coarse: Ring,
}

/// A reading of a sliding count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Events in the window; saturates at `u32::MAX`.
    pub count: u64,
    /// Whether that is exact; otherwise see the error of the ring.
    pub exact: bool,
    /// Whether it comes from a coarse ring, for want of memory.
    pub coarse: bool,
    /// How much of the window is held: less than the whole only for times older than the newest seen.
    pub held: Held,
}

/// The form a cell is in: the low bits of its tag. Of a log one more says that times were dropped since it was last silent
/// for all that it holds; its length is in the others.
const FORM_MASK: u32 = 3;
const FORGOT: u32 = 4;
const LEN_SHIFT: u32 = 3;
const LOG: u32 = 0;
const NARROW: u32 = 1;
const WIDE: u32 = 2;
const COARSE: u32 = 3;
/// The word of the block's reference.
const BLOCK: usize = HEADER;
/// Words before the times in the cell.
const FRONT: usize = HEADER + 1;
/// Times that a cell has room for itself.
const INLINE: usize = 3;

impl CountSpec {
    /// The word of a cell that holds a [`BlockRef`]: for the `spills` of a table.
    pub const SPILL_WORD: usize = BLOCK;
    /// Words of a cell.
    pub const WORDS: usize = FRONT + INLINE;

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
        let coarse = Ring::within(INLINE, window, late);
        let ring = narrow.words().max(wide.words());
        // The log keeps the low 32 bits of a time: 49 days. Longer windows have no log.
        let log =
            if window.saturating_add(late) < 1 << 32 { ring.min((MAX_TAG >> LEN_SHIFT) as usize) } else { 0 };
        Self { window, late, log, narrow, wide, coarse }
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

    /// The length of a sub-window of the ring that a cell becomes when the spill is used up.
    pub fn coarse_slot(&self) -> Span {
        Span::from_millis(self.coarse.slot_millis() as i64)
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
    pub fn read(&self, cell: &[u32], spill: &Spill, at: Timestamp) -> Count {
        let (at, body) = (moment(at), body(cell, spill));
        match self.ring(cell) {
            None => self.read_log(cell, body, at),
            Some(ring) => {
                let (last, slot) = (ring.slot_of(newest(cell)), ring.slot_of(at));
                let (count, held) = ring.read(body, last, slot);
                let coarse = form(cell) == COARSE && !ring.is_gone(slot, last);
                Count { count: count.min(u64::from(u32::MAX)), exact: false, coarse, held }
            }
        }
    }

    /// Whether the window that ends at `at`, which may be long before the newest time, is surely held as a whole.
    pub fn holds(&self, cell: &[u32], spill: &Spill, at: Timestamp) -> bool {
        let (at, newest) = (moment(at), newest(cell));
        if is_empty(cell) || at >= newest {
            return true;
        }
        let log = tag(cell) & (FORM_MASK | FORGOT) == LOG && at + self.window > newest;
        // What came before the oldest time may have gone with the whole record.
        log && body(cell, spill)[..len(cell)].iter().any(|time| newest - age(newest, *time) <= at)
    }

    /// Counts `n` events at `at`.
    #[inline]
    pub fn record(&self, cell: &mut [u32], spill: &mut Spill, at: Timestamp, n: u32) -> Recorded {
        if n == 0 {
            return Recorded::Yes;
        }
        self.record_at(cell, spill, moment(at), n)
    }

    /// The time from `at` until at most `room` events of those in the window at `at` are left in it, if
    /// nothing more is recorded; zero when that is so already.
    pub fn wait(&self, cell: &[u32], spill: &Spill, at: Timestamp, room: u64) -> Span {
        let (at, body) = (moment(at), body(cell, spill));
        let millis = match self.ring(cell) {
            None => self.wait_log(cell, body, at, room),
            Some(ring) => ring.wait(body, ring.slot_of(newest(cell)), at, room),
        };
        Span::from_millis(millis as i64)
    }

    fn held(&self) -> u64 {
        self.window.saturating_add(self.late)
    }

    /// The ring a cell is, or `None` when it is a log.
    #[inline]
    fn ring(&self, cell: &[u32]) -> Option<&Ring> {
        match form(cell) {
            LOG => None,
            NARROW => Some(&self.narrow),
            WIDE => Some(&self.wide),
            _ => Some(&self.coarse),
        }
    }

    #[inline]
    fn record_at(&self, cell: &mut [u32], spill: &mut Spill, at: u64, n: u32) -> Recorded {
        match self.ring(cell) {
            None => self.record_log(cell, spill, at, n),
            Some(ring) => self.record_ring(ring, cell, spill, at, n),
        }
    }

    #[inline]
    fn read_log(&self, cell: &[u32], body: &[u32], at: u64) -> Count {
        let newest = newest(cell);
        let times = &body[..len(cell)];
        let count = times.iter().filter(|time| self.within(age(newest, **time), newest, at)).count() as u64;
        let held = match newest.saturating_sub(at) {
            late if late <= self.late || is_empty(cell) => Held::Whole,
            late if late < self.held() => Held::Part,
            _ => Held::Nothing,
        };
        Count { count, exact: true, coarse: false, held }
    }

    /// Whether a time `age` before `newest` lies in the window that ends at `at`.
    #[inline]
    fn within(&self, age: u64, newest: u64, at: u64) -> bool {
        let time = newest - age;
        time <= at && at - time < self.window
    }

    fn record_log(&self, cell: &mut [u32], spill: &mut Spill, at: u64, n: u32) -> Recorded {
        let (old, held, before) = (newest(cell), len(cell), tag(cell) & FORGOT != 0);
        if held > 0 && at.saturating_add(self.held()) <= old {
            return Recorded::Backlog;
        }
        let now = old.max(at);
        let body = body_mut(cell, spill);
        let kept = self.prune(&mut body[..held], old, now);
        let forgot = now - old < self.held() && (before || kept < held);
        let filled = kept.saturating_add(n as usize);
        let room = body.len().min(self.log);
        if let Some(new) = body[..room].get_mut(kept..filled) {
            new.fill(at as u32);
            set_log(cell, now, filled, forgot);
            if cell[BLOCK] != 0 && filled < INLINE {
                move_in(cell, spill, filled);
            }
            return Recorded::Yes;
        }
        set_log(cell, now, kept, forgot);
        self.outgrow(cell, spill, filled);
        self.record_at(cell, spill, at, n)
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

    /// From a log that is full to more room for `filled` times, or to a ring.
    #[cold]
    fn outgrow(&self, cell: &mut [u32], spill: &mut Spill, filled: usize) {
        let ring = self.narrow.words().max(self.wide.words());
        let words = if filled <= self.log { filled } else { ring };
        let enough = cell[BLOCK] != 0 && body(cell, spill).len() >= words;
        let block = BlockRef::from_word(cell[BLOCK]);
        let list = &cell[FRONT..];
        let block = if enough { block } else { spill.outgrow(block, list, words) };
        match block {
            Some(block) => {
                cell[BLOCK] = block.word();
                if filled > self.log {
                    self.promote(&self.narrow, NARROW, cell, spill);
                }
            }
            None => self.degrade(cell, spill),
        }
    }

    /// No block is to be had: the cell's own words become a ring.
    #[cold]
    fn degrade(&self, cell: &mut [u32], spill: &mut Spill) {
        let times = body(cell, spill)[..len(cell)].to_vec();
        release(cell, spill);
        // The ring is made from the newest times that fit; the others are added to it.
        let (now, fit) = (newest(cell), times.len().min(INLINE));
        cell[FRONT..FRONT + fit].copy_from_slice(&times[..fit]);
        set_log(cell, now, fit, true);
        self.promote(&self.coarse, COARSE, cell, spill);
        for time in &times[fit..] {
            let slot = self.coarse.slot_of(now - age(now, *time));
            self.coarse.add(&mut cell[FRONT..], self.coarse.slot_of(now), slot, 1);
        }
    }

    /// From log to ring, in the same words; all times are held.
    #[cold]
    fn promote(&self, ring: &Ring, form: u32, cell: &mut [u32], spill: &mut Spill) {
        let (now, len) = (newest(cell), len(cell));
        let body = body_mut(cell, spill);
        let times = body[..len].to_vec();
        body.fill(0);
        let slot = ring.slot_of(now);
        for time in times {
            ring.add(body, slot, ring.slot_of(now - age(now, time)), 1);
        }
        set_header(cell, now, form);
    }

    fn record_ring(&self, ring: &Ring, cell: &mut [u32], spill: &mut Spill, at: u64, n: u32) -> Recorded {
        let (mut last, slot) = (ring.slot_of(newest(cell)), ring.slot_of(at));
        if ring.is_gone(last, slot) {
            return Recorded::Backlog;
        }
        if ring.is_gone(slot, last) {
            release(cell, spill);
            cell.fill(0);
            return self.record_log(cell, spill, at, n);
        }
        if at > newest(cell) {
            ring.advance(body_mut(cell, spill), last, slot);
            set_header(cell, at, tag(cell));
            last = slot;
        }
        if form(cell) == NARROW && !ring.fits(body(cell, spill), slot, n) {
            self.widen(cell, spill);
            return self.record_ring(&self.wide, cell, spill, at, n);
        }
        let body = body(cell, spill);
        let n = if form(cell) == COARSE { ring.room(body, slot, n) } else { n };
        ring.add(body_mut(cell, spill), last, slot, n);
        Recorded::Yes
    }

    /// From 16 to 32 bits: each new sub-window holds two old ones.
    #[cold]
    fn widen(&self, cell: &mut [u32], spill: &mut Spill) {
        let (newest, last) = (newest(cell), self.narrow.slot_of(newest(cell)));
        let body = body_mut(cell, spill);
        let first = self.narrow.first_held(last);
        let counts: Vec<u32> = (first..=last).map(|slot| self.narrow.count_of(body, slot)).collect();
        body.fill(0);
        for (slot, count) in (first..).zip(counts) {
            if !self.wide.is_gone(last / 2, slot / 2) {
                self.wide.add(body, last / 2, slot / 2, count);
            }
        }
        set_header(cell, newest, WIDE);
    }

    fn wait_log(&self, cell: &[u32], body: &[u32], at: u64, room: u64) -> u64 {
        let newest = newest(cell);
        let times = &body[..len(cell)];
        let inside =
            || times.iter().map(|time| age(newest, *time)).filter(|age| self.within(*age, newest, at));
        let leave = (inside().count() as u64).saturating_sub(room);
        // The smallest wait in which at least `leave` of them leave.
        let wait = |age: u64| self.window - (at - (newest - age));
        let gone = |millis: u64| inside().filter(|age| wait(*age) <= millis).count() as u64;
        inside().map(wait).filter(|millis| gone(*millis) >= leave).min().filter(|_| leave > 0).unwrap_or(0)
    }
}

#[inline]
fn form(cell: &[u32]) -> u32 {
    tag(cell) & FORM_MASK
}

/// Times in a log.
#[inline]
fn len(cell: &[u32]) -> usize {
    (tag(cell) >> LEN_SHIFT) as usize
}

fn set_log(cell: &mut [u32], newest: u64, len: usize, forgot: bool) {
    set_header(cell, newest, (len as u32) << LEN_SHIFT | if forgot { FORGOT } else { 0 } | LOG);
}

/// The words of the log or ring, wherever they are.
#[inline]
fn body<'a>(cell: &'a [u32], spill: &'a Spill) -> &'a [u32] {
    BlockRef::from_word(cell[BLOCK]).map_or(&cell[FRONT..], |block| spill.block(block))
}

#[inline]
fn body_mut<'a>(cell: &'a mut [u32], spill: &'a mut Spill) -> &'a mut [u32] {
    match BlockRef::from_word(cell[BLOCK]) {
        None => &mut cell[FRONT..],
        Some(block) => spill.block_mut(block),
    }
}

/// From a block back into the cell.
#[cold]
fn move_in(cell: &mut [u32], spill: &mut Spill, len: usize) {
    let mut times = [0; INLINE];
    times[..len].copy_from_slice(&body(cell, spill)[..len]);
    release(cell, spill);
    cell[FRONT..].copy_from_slice(&times);
}

/// Gives the block back, if there is one.
fn release(cell: &mut [u32], spill: &mut Spill) {
    if let Some(block) = BlockRef::from_word(cell[BLOCK]) {
        spill.free(block);
        cell[BLOCK] = 0;
    }
}

/// How long before `newest` a time was of which the low 32 bits are kept.
#[inline]
fn age(newest: u64, time: u32) -> u64 {
    u64::from((newest as u32).wrapping_sub(time))
}

#[cfg(test)]
mod tests;
