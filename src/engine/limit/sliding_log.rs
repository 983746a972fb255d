//! The exact sliding limit: the time of every event that counts, oldest first.
//!
//! It keeps at most as many times as the limit allows (or allowed since the start), the newest: more can neither
//! change the verdict nor the wait. Times are the low 32 bits of milliseconds before the newest time, so windows are at
//! most 49 days; a cost of `n` is `n` equal times.
//!
//! A late event is judged only where its own window is held as a whole: what it holds then is exact. That is so from the
//! oldest time kept on, as long as no time was dropped since the key was last silent for a window.
//!
//! A few times are kept in the cell itself; more of them in a block of the table's spill. When that is used up the
//! words of the cell become a coarse ring of sub-windows, which may count some events too many, never too few, and a
//! look says so.

use super::spec::at_most;
use super::{Judged, LimitError, Used};
use crate::engine::slab::{BlockRef, Spill};
use crate::engine::time::Span;
use crate::engine::window::ring::Ring;
use crate::engine::window::{HEADER, Recorded, is_empty, newest, set_header, tag};

/// The most times a log keeps.
const MOST: u64 = 1024;
/// The longest window: 49 days.
const LONGEST: Span = Span::from_secs(49 * 86_400);
/// A log of at most so many times needs no block.
const SHORT: usize = 4;
/// Times in the cell of a longer one.
const INLINE: usize = 3;
/// The word of the block's reference, in a longer one.
const BLOCK: usize = HEADER;
/// Bits of the tag: the cell is in use, it is a coarse ring, times were dropped since the key was last silent for a window.
/// Then the length of the log.
const USED: u32 = 1;
const COARSE: u32 = 2;
const FORGOT: u32 = 4;
const LEN_SHIFT: u32 = 3;

/// The numbers of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlidingLog {
    window: u64,
    capacity: usize,
    coarse: Ring,
}

impl SlidingLog {
    pub(super) fn new(window: Span, max: u64) -> Result<Self, LimitError> {
        if max > MOST {
            return Err(LimitError::TooManyForLog { max, most: MOST });
        }
        let window = at_most(window, LONGEST)?.millis() as u64;
        Ok(Self { window, capacity: max as usize, coarse: Ring::within(INLINE, window, 0) })
    }

    pub(super) fn words(&self) -> usize {
        if self.is_short() { HEADER + self.capacity } else { HEADER + 1 + INLINE }
    }

    /// The word of the block's reference, if a log can have one.
    pub(super) fn spill_word(&self) -> Option<usize> {
        (!self.is_short()).then_some(BLOCK)
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

    pub(super) fn used(&self, cell: &[u32], spill: &Spill, judged: Judged) -> Option<Used> {
        let at = judged.millis();
        if self.is_gone(cell, spill, judged) {
            return None;
        }
        if is_coarse(cell) {
            let (last, slot) = (self.coarse.slot_of(newest(cell)), self.coarse.slot_of(at));
            let count = self.coarse.read(self.body(cell, spill), last, slot).0;
            return Some(Used { count, exact: self.coarse.is_gone(slot, last) });
        }
        Some(Used { count: self.inside(cell, spill, at).count() as u64, exact: true })
    }

    /// The time until at most `room` of the times in the window that ends at `now` are left.
    pub(super) fn wait(&self, cell: &[u32], spill: &Spill, now: u64, room: u64) -> Span {
        if is_coarse(cell) {
            let last = self.coarse.slot_of(newest(cell));
            return Span::from_millis(self.coarse.wait(self.body(cell, spill), last, now, room) as i64);
        }
        let leave = (self.inside(cell, spill, now).count() as u64).saturating_sub(room);
        let last_to_leave =
            (leave as usize).checked_sub(1).and_then(|n| self.inside(cell, spill, now).nth(n));
        Span::from_millis(last_to_leave.map_or(0, |time| time + self.window - now) as i64)
    }

    pub(super) fn record(&self, cell: &mut [u32], spill: &mut Spill, judged: Judged, cost: u64) -> Recorded {
        if self.is_gone(cell, spill, judged) {
            return Recorded::Backlog;
        }
        let at = judged.millis();
        if is_coarse(cell) && !self.still_coarse(cell, at) {
            cell.fill(0);
        }
        if is_coarse(cell) {
            self.add_coarse(cell, at, cost);
            return Recorded::Yes;
        }
        self.advance(cell, spill, at);
        for done in 0..cost.min(self.capacity as u64) {
            if !self.insert(cell, spill, at) {
                self.degrade(cell, spill);
                self.add_coarse(cell, at, cost - done);
                break;
            }
        }
        Recorded::Yes
    }

    /// What a log of another maximum counts: its newest times, or its ring. The old cell's block comes with it.
    pub(super) fn carry_over(&self, cell: &mut [u32], spill: &mut Spill, old: &Self, old_cell: &[u32]) {
        if self.is_short() == old.is_short() && (!self.is_short() || self.capacity == old.capacity) {
            cell.copy_from_slice(old_cell);
            self.forget_oldest(cell, spill);
            return;
        }
        let times = old.all(old_cell, spill);
        old.release(&mut old_cell.to_vec(), spill);
        if tag(old_cell) != 0 {
            let more = is_coarse(old_cell) || times.len() > self.capacity;
            let forgot = tag(old_cell) & FORGOT | if more { FORGOT } else { 0 };
            set_header(cell, newest(old_cell), USED | forgot);
        }
        for time in times.into_iter().rev().take(self.capacity).rev() {
            if !self.insert(cell, spill, time) {
                self.degrade(cell, spill);
                self.add_coarse(cell, time, 1);
            }
        }
    }

    fn is_short(&self) -> bool {
        self.capacity <= SHORT
    }

    /// Whether the window that ends at the time of a late event is not held as a whole.
    fn is_gone(&self, cell: &[u32], spill: &Spill, judged: Judged) -> bool {
        let Judged::Late(at) = judged else { return false };
        if is_coarse(cell) || tag(cell) & FORGOT != 0 || at + self.window <= newest(cell) {
            return true;
        }
        // What came before the oldest time may have gone with the whole record.
        let oldest = self.body(cell, spill)[..len(cell)].first();
        oldest.is_none_or(|oldest| at < full(newest(cell), *oldest))
    }

    /// The times, or the words of the ring, wherever they are.
    fn body<'a>(&self, cell: &'a [u32], spill: &'a Spill) -> &'a [u32] {
        if self.is_short() {
            return &cell[HEADER..];
        }
        BlockRef::from_word(cell[BLOCK]).map_or(&cell[BLOCK + 1..], |block| spill.block(block))
    }

    fn body_mut<'a>(&self, cell: &'a mut [u32], spill: &'a mut Spill) -> &'a mut [u32] {
        if self.is_short() {
            return &mut cell[HEADER..];
        }
        match BlockRef::from_word(cell[BLOCK]) {
            None => &mut cell[BLOCK + 1..],
            Some(block) => spill.block_mut(block),
        }
    }

    /// The times in the window that ends at `at`, oldest first.
    fn inside<'a>(&self, cell: &'a [u32], spill: &'a Spill, at: u64) -> impl Iterator<Item = u64> + 'a {
        let (newest, window) = (newest(cell), self.window);
        let times = self.body(cell, spill)[..len(cell)].iter().map(move |time| full(newest, *time));
        times.filter(move |time| *time <= at && at - *time < window)
    }

    /// Moves the newest time to `at` when that is later, and drops the times that leave.
    fn advance(&self, cell: &mut [u32], spill: &mut Spill, at: u64) {
        let (old, held) = (newest(cell), len(cell));
        if is_empty(cell) || at <= old {
            return;
        }
        let before = tag(cell) & FORGOT != 0;
        let body = self.body_mut(cell, spill);
        let left = body[..held].partition_point(|time| at - full(old, *time) >= self.window);
        body.copy_within(left..held, 0);
        set_log(cell, at, held - left);
        set_forgot(cell, at - old < self.window && (before || left > 0));
        if held - left < INLINE {
            self.move_in(cell, spill);
        }
    }

    /// Puts a time in its place; in a log that has as many as it may, the oldest makes room. False, and nothing
    /// changed, when there is no memory for it.
    fn insert(&self, cell: &mut [u32], spill: &mut Spill, at: u64) -> bool {
        let (newest, held) = (newest(cell).max(at), len(cell));
        if held < self.capacity && held == self.body(cell, spill).len() && !self.outgrow(cell, spill) {
            return false;
        }
        let body = self.body_mut(cell, spill);
        let place = body[..held].partition_point(|time| full(newest, *time) <= at);
        if held < self.capacity {
            body.copy_within(place..held, place + 1);
            body[place] = at as u32;
            set_log(cell, newest, held + 1);
        } else {
            if place > 0 {
                body.copy_within(1..place, 0);
                body[place - 1] = at as u32;
            }
            set_forgot(cell, true);
        }
        true
    }

    /// From a full list to a larger block; false when there is none.
    #[cold]
    fn outgrow(&self, cell: &mut [u32], spill: &mut Spill) -> bool {
        let (block, list) = (BlockRef::from_word(cell[BLOCK]), &cell[BLOCK + 1..]);
        let Some(new) = spill.outgrow(block, list, len(cell) + 1) else { return false };
        cell[BLOCK] = new.word();
        true
    }

    /// From a block back into the cell.
    fn move_in(&self, cell: &mut [u32], spill: &mut Spill) {
        if self.is_short() || cell[BLOCK] == 0 {
            return;
        }
        let mut times = [0; INLINE];
        let len = len(cell);
        times[..len].copy_from_slice(&self.body(cell, spill)[..len]);
        self.release(cell, spill);
        cell[BLOCK + 1..].copy_from_slice(&times);
    }

    fn release(&self, cell: &mut [u32], spill: &mut Spill) {
        if let Some(block) = self.spill_word().and_then(|word| BlockRef::from_word(cell[word])) {
            spill.free(block);
            cell[BLOCK] = 0;
        }
    }

    /// Of more times than the maximum the newest stay.
    fn forget_oldest(&self, cell: &mut [u32], spill: &mut Spill) {
        let held = len(cell);
        if let Some(more) = held.checked_sub(self.capacity + 1).map(|more| more + 1) {
            self.body_mut(cell, spill).copy_within(more..held, 0);
            set_log(cell, newest(cell), self.capacity);
            set_forgot(cell, true);
        }
    }

    /// All times; those of a ring are at the end of their sub-window, where they stay longest.
    fn all(&self, cell: &[u32], spill: &Spill) -> Vec<u64> {
        let (newest, body) = (newest(cell), self.body(cell, spill));
        if !is_coarse(cell) {
            return body[..len(cell)].iter().map(|time| full(newest, *time)).collect();
        }
        let (ring, last) = (&self.coarse, self.coarse.slot_of(newest));
        let slots = ring.first_held(last)..=last;
        let times = |slot: u64| {
            let end = ((slot + 1) * ring.slot_millis() - 1).min(newest);
            std::iter::repeat_n(end, ring.count_of(body, slot).min(MOST as u32) as usize)
        };
        slots.flat_map(times).collect()
    }

    /// No block is to be had: the cell's own words become a ring.
    #[cold]
    fn degrade(&self, cell: &mut [u32], spill: &mut Spill) {
        let (newest, times) = (newest(cell), self.all(cell, spill));
        self.release(cell, spill);
        cell.fill(0);
        set_header(cell, newest, USED | COARSE);
        for time in times {
            self.add_coarse(cell, time, 1);
        }
    }

    /// Whether anything in the ring is still held at `at`.
    fn still_coarse(&self, cell: &[u32], at: u64) -> bool {
        !self.coarse.is_gone(self.coarse.slot_of(at), self.coarse.slot_of(newest(cell)))
    }

    fn add_coarse(&self, cell: &mut [u32], at: u64, cost: u64) {
        let (ring, last, slot) = (&self.coarse, self.coarse.slot_of(newest(cell)), self.coarse.slot_of(at));
        if at > newest(cell) {
            ring.advance(&mut cell[BLOCK + 1..], last, slot);
            set_header(cell, at, USED | COARSE);
        }
        let last = last.max(slot);
        if !ring.is_gone(last, slot) {
            let body = &mut cell[BLOCK + 1..];
            ring.add(body, last, slot, ring.room(body, slot, u32::try_from(cost).unwrap_or(u32::MAX)));
        }
    }
}

fn is_coarse(cell: &[u32]) -> bool {
    tag(cell) & COARSE != 0
}

/// Times in a log.
fn len(cell: &[u32]) -> usize {
    (tag(cell) >> LEN_SHIFT) as usize
}

fn set_log(cell: &mut [u32], newest: u64, len: usize) {
    set_header(cell, newest, (len as u32) << LEN_SHIFT | tag(cell) & FORGOT | USED);
}

fn set_forgot(cell: &mut [u32], forgot: bool) {
    let rest = tag(cell) & !FORGOT;
    set_header(cell, newest(cell), if forgot { rest | FORGOT } else { rest });
}

/// The time of which the low 32 bits are kept.
fn full(newest: u64, time: u32) -> u64 {
    newest - u64::from((newest as u32).wrapping_sub(time))
}
