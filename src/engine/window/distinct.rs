//! A sliding count of distinct values: exact while small, a sketch when large.
//!
//! A cell holds a few values itself, with the time each was last seen. Then it takes blocks that grow with it for up to
//! 64 values, still exact, and then a large one for a sketch (its error: see the module `bitmap`). Blocks go back
//! when all values have left, those of a list when few are left. When the spill is used up the cell keeps the
//! values seen last and says "at least", until what it lost would have left anyway.
//!
//! A value is in the window that ends at `t` when it was last seen after `t - W`. For a `t` before the newest
//! time seen, that includes values first seen after `t`; such a reading is never called exact.
//!
//! Values are seeded 64-bit hashes. Windows are at most [`DistinctSpec::LONGEST`].

use super::ring::Ring;
use super::{HEADER, Held, Recorded, bitmap, is_empty, moment, newest, pairs, set_header, tag};
use crate::engine::slab::{BlockRef, BlockSize, Spill};
use crate::engine::time::{Span, Timestamp};

/// How a distinct count is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DistinctSpec {
    window: u64,
    late: u64,
    inline: usize,
    /// The histogram of the sketch.
    ring: Ring,
}

/// A reading of a distinct count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distinct {
    /// Distinct values in the window.
    pub count: u64,
    /// Whether that is exact, not an estimate.
    pub exact: bool,
    /// Whether there may be any number more: the sketch is full, or values were dropped for want of memory.
    pub at_least: bool,
    /// How much of the window is held: less than the whole only for times older than the newest seen.
    pub held: Held,
}

/// Where the values are: the low bits of the tag. Then a bit for dropped values, then the length of the list.
const FORM_MASK: u32 = 3;
const OWN: u32 = 0;
const LIST: u32 = 1;
const SKETCH: u32 = 2;
const DROPPED: u32 = 4;
const LEN_SHIFT: u32 = 3;
/// The word of the block's reference.
const BLOCK: usize = HEADER;
/// Words of the longest list: 64 values with their times.
const LIST_WORDS: usize = 128;
/// Values in the cell itself, unless told.
const INLINE: usize = 2;
/// Words before the values in the cell.
const FRONT: usize = HEADER + 1;

impl DistinctSpec {
    /// The word of a cell that holds a [`BlockRef`]: for the `spills` of a table.
    pub const SPILL_WORD: usize = BLOCK;
    /// The longest window: 49 days. A longer one is held at this.
    pub const LONGEST: Span = Span::from_secs(49 * 86_400);

    /// Distinct values over `window`, by sub-windows of a `slots`th of it (2 to 100) once sketched.
    pub fn new(window: Span, slots: u32) -> Self {
        let window = window.max(Span::from_millis(1)).min(Self::LONGEST).millis() as u64;
        let slot = window.div_ceil(u64::from(slots.clamp(2, 100)));
        Self { window, late: 0, inline: INLINE, ring: Ring::new(slot, window, 0, false) }
    }

    /// The same, with room for so many values in the cell itself (1 to 32; 2 unless told).
    #[must_use]
    pub fn with_inline(self, values: usize) -> Self {
        Self { inline: values.clamp(1, LIST_WORDS / 4), ..self }
    }

    /// The same, holding values for `late` longer than the window, at most for 20 sub-windows.
    #[must_use]
    pub fn holding(self, late: Span) -> Self {
        let slot = self.ring.slot_millis();
        let late = (late.millis() as u64).min(slot * 20).min((1 << 32) - 1 - self.window);
        let ring = Ring::new(slot, self.window, late, false);
        debug_assert!(ring.lanes() <= bitmap::MOST_LANES, "at most 100 and 20 and the newest sub-windows");
        Self { late, ring, ..self }
    }

    /// Words of a cell.
    pub fn words(&self) -> usize {
        FRONT + 2 * self.inline
    }

    /// The length of a sub-window.
    pub fn slot(&self) -> Span {
        Span::from_millis(self.ring.slot_millis() as i64)
    }

    /// How long after its last value a cell says nothing any more.
    pub fn idle(&self) -> Span {
        Span::from_millis((self.held() + 2 * self.ring.slot_millis()) as i64)
    }

    fn held(&self) -> u64 {
        self.window + self.late
    }

    /// The distinct values in the window that ends at `at`.
    #[inline]
    pub fn read(&self, cell: &[u32], spill: &Spill, at: Timestamp) -> Distinct {
        let at = moment(at);
        if is_empty(cell) {
            return Distinct { count: 0, exact: true, at_least: false, held: Held::Whole };
        }
        match tag(cell) & FORM_MASK {
            SKETCH => self.read_sketch(cell, spill, at),
            form => self.read_list(cell, if form == OWN { &cell[FRONT..] } else { block(cell, spill) }, at),
        }
    }

    /// Notes that `value`, a hash, was seen at `at`.
    #[inline]
    pub fn record(&self, cell: &mut [u32], spill: &mut Spill, value: u64, at: Timestamp) -> Recorded {
        let (value, at, old) = ((value >> 32) as u32, moment(at), newest(cell));
        if !is_empty(cell) && at + self.held() <= old {
            return Recorded::Backlog;
        }
        if at >= old + self.held() {
            release(cell, spill);
            cell.fill(0);
        }
        if tag(cell) & FORM_MASK == SKETCH {
            self.record_sketch(cell, spill, value, at);
        } else {
            self.record_list(cell, spill, value, at);
        }
        Recorded::Yes
    }

    fn read_list(&self, cell: &[u32], list: &[u32], at: u64) -> Distinct {
        let newest = newest(cell);
        let list = &list[..2 * len(cell)];
        let (late, ahead) = (newest.saturating_sub(at), at.saturating_sub(newest));
        let held = match late {
            late if late <= self.late => Held::Whole,
            late if late < self.held() => Held::Part,
            _ => Held::Nothing,
        };
        let count = pairs::count(list, newest, (self.window + late).saturating_sub(ahead));
        let at_least = tag(cell) & DROPPED != 0;
        Distinct { count, exact: !at_least && late == 0, at_least, held }
    }

    fn read_sketch(&self, cell: &[u32], spill: &Spill, at: u64) -> Distinct {
        let (last, slot) = (self.ring.slot_of(newest(cell)), self.ring.slot_of(at));
        let estimate = bitmap::estimate(&self.ring, block(cell, spill), last, slot);
        Distinct { count: estimate.count, exact: false, at_least: estimate.at_least, held: estimate.held }
    }

    fn record_sketch(&self, cell: &mut [u32], spill: &mut Spill, value: u32, at: u64) {
        let old = newest(cell);
        let (last, slot) = (self.ring.slot_of(old), self.ring.slot_of(at));
        let words = block_mut(cell, spill);
        if slot > last {
            bitmap::advance(&self.ring, words, last, slot);
        }
        bitmap::record(&self.ring, words, last.max(slot), slot, value);
        set_header(cell, old.max(at), SKETCH);
    }

    fn record_list(&self, cell: &mut [u32], spill: &mut Spill, value: u32, at: u64) {
        let (old, before) = (newest(cell), len(cell));
        let now = if is_empty(cell) { at } else { old.max(at) };
        let old = if is_empty(cell) { now } else { old };
        let list = &mut list_mut(cell, spill)[..2 * before];
        let after = pairs::refresh(list, (old, now), self.held(), (value, at));
        // What was dropped was older than all that stayed: once one of those leaves, so have the dropped.
        let dropped = if after.len < before { 0 } else { tag(cell) & DROPPED };
        let form = tag(cell) & FORM_MASK;
        set_list(cell, now, form | dropped, after.len);
        if !after.found {
            self.add(cell, spill, value, at);
        }
        if form == LIST && after.len * 2 <= self.inline {
            self.move_in(cell, spill);
        }
    }

    /// Adds a value that is not in the list.
    fn add(&self, cell: &mut [u32], spill: &mut Spill, value: u32, at: u64) {
        let len = len(cell);
        if let Some(place) = list_mut(cell, spill).get_mut(2 * len..2 * len + 2) {
            place.copy_from_slice(&[value, at as u32]);
            set_list(cell, newest(cell), tag(cell) & (FORM_MASK | DROPPED), len + 1);
        } else if self.move_out(cell, spill) {
            if tag(cell) & FORM_MASK == SKETCH {
                self.record_sketch(cell, spill, value, at);
            } else {
                self.add(cell, spill, value, at);
            }
        } else {
            let newest = newest(cell);
            pairs::replace_oldest(&mut list_mut(cell, spill)[..2 * len], newest, (value, at));
            set_list(cell, newest, tag(cell) & FORM_MASK | DROPPED, len);
        }
    }

    /// From a full list to the next larger form; false when there is no block for it.
    #[cold]
    fn move_out(&self, cell: &mut [u32], spill: &mut Spill) -> bool {
        let (now, len, dropped) = (newest(cell), len(cell), tag(cell) & DROPPED);
        if 2 * len < LIST_WORDS {
            let (old, list) = (BlockRef::from_word(cell[BLOCK]), &cell[FRONT..]);
            let Some(new) = spill.outgrow(old, list, 2 * len + 2) else { return false };
            cell[BLOCK] = new.word();
            set_list(cell, now, LIST | dropped, len);
            return true;
        }
        let Some(new) = spill.alloc(BlockSize::Large) else { return false };
        let values: Vec<(u32, u64)> = pairs::all(&block(cell, spill)[..2 * len], now).collect();
        let last = self.ring.slot_of(now);
        for (value, time) in values {
            bitmap::record(&self.ring, spill.block_mut(new), last, self.ring.slot_of(time), value);
        }
        release(cell, spill);
        set_header(cell, now, SKETCH);
        cell[BLOCK] = new.word();
        true
    }

    /// From a block back into the cell.
    #[cold]
    fn move_in(&self, cell: &mut [u32], spill: &mut Spill) {
        let len = len(cell);
        let kept = block(cell, spill)[..2 * len].to_vec();
        release(cell, spill);
        cell[FRONT..FRONT + 2 * len].copy_from_slice(&kept);
        set_list(cell, newest(cell), OWN | tag(cell) & DROPPED, len);
    }
}

/// Values in the list.
fn len(cell: &[u32]) -> usize {
    (tag(cell) >> LEN_SHIFT) as usize
}

fn set_list(cell: &mut [u32], newest: u64, low: u32, len: usize) {
    set_header(cell, newest, low | (len as u32) << LEN_SHIFT);
}

fn reference(cell: &[u32]) -> BlockRef {
    BlockRef::from_word(cell[BLOCK]).expect("a list or sketch outside of the cell has a block")
}

fn block<'a>(cell: &[u32], spill: &'a Spill) -> &'a [u32] {
    spill.block(reference(cell))
}

fn block_mut<'a>(cell: &[u32], spill: &'a mut Spill) -> &'a mut [u32] {
    spill.block_mut(reference(cell))
}

/// The room for the list, wherever it is.
fn list_mut<'a>(cell: &'a mut [u32], spill: &'a mut Spill) -> &'a mut [u32] {
    if tag(cell) & FORM_MASK == OWN { &mut cell[FRONT..] } else { block_mut(cell, spill) }
}

/// Gives the block back, if there is one.
fn release(cell: &mut [u32], spill: &mut Spill) {
    if let Some(block) = BlockRef::from_word(cell[BLOCK]) {
        spill.free(block);
        cell[BLOCK] = 0;
    }
}

#[cfg(test)]
mod tests;
