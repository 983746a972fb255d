//! The state of one dimension: fixed-size records by key, within a budget.
//!
//! A table does not know what its cells mean: windows and limits read and change them as `u32` words. It
//! hashes nothing: keys are 64-bit hashes, seeded in secret. It is split by the top eight bits of the key into
//! 256 segments that grow alone, so that no growth takes long. All is deterministic: the same calls leave the
//! same records in the same places.
//!
//! Memory: a record that was not touched for longer than `idle` is dead. It counts as absent, is reset when its
//! key comes back, and removed by [`Table::sweep`]. When the budget is used up, a new key takes the place of a
//! dead record near its own. Without one it depends: a plain table lets the record there go that was touched longest ago.
//! One with an [`Overflow`] lets a record go only for a key that came more often than it did (admission as in TinyLFU,
//! Einziger, Friedman and Manes 2017), and what it counted becomes an estimate; a key that is not admitted is a *guest*:
//! its record is in the lobby, a small segment of its own where the one that came longest ago makes room. All that is
//! counted and told.

mod admission;
mod mark;
mod overflow;
mod saved;
mod segment;

pub use self::overflow::{Estimate, Overflow};

use self::mark::touched;
use self::segment::{HEAD, Probe, Segment};
use super::prefetch::{prefetch, prefetch_line};
use super::slab::{BlockRef, Spill};
use super::time::{Span, Timestamp};

const SEGMENTS: usize = 256;
/// The segment of guests: behind the others.
const LOBBY: usize = SEGMENTS;
/// Records of a segment when it is first used.
const FIRST_CAPACITY: usize = 8;
/// Records that a small segment grows by at least; a large one grows by about a quarter.
const LEAST_GROWTH: usize = 16;
/// How many records around a new key's place are looked at for one to evict.
const NEIGHBOURS: usize = 16;
/// A sweep asks for the record so many places ahead.
const SWEEP_AHEAD: usize = 8;

/// What a table is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// Words of cells in a record.
    pub words: usize,
    /// Bytes the records may take. Held at what 8 records a segment need, at least.
    pub budget_bytes: u64,
    /// How long a record lives untouched: longer than the longest window in it.
    pub idle: Span,
    /// Which words of the cells hold a [`BlockRef`]: those blocks die with the record.
    pub spills: Vec<usize>,
    /// Bytes the blocks may take.
    pub spill_bytes: u64,
}

impl TableSpec {
    /// The budget, held at what 8 records a segment need.
    fn held_budget(&self) -> u64 {
        let least = SEGMENTS as u64 * Segment::bytes_of(FIRST_CAPACITY, stride(self.words));
        self.budget_bytes.max(least)
    }
}

/// Where a record is. Valid until the next insertion, removal or sweep in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    segment: u32,
    index: u32,
}

impl Slot {
    /// Whether it is the record of a key that was not admitted.
    pub fn is_guest(self) -> bool {
        self.segment as usize == LOBBY
    }
}

/// A record that was found or made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it is.
    pub slot: Slot,
    /// Whether its cells are empty because it is new or was dead.
    pub fresh: bool,
    /// Whether a living record of another key had to go for it.
    pub evicted: bool,
    /// When it is fresh: what is known of how often the key came while it had no record.
    pub known: Estimate,
}

/// The account of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableStats {
    /// Records held, dead ones included.
    pub entries: u64,
    /// Bytes of the records and blocks.
    pub bytes: u64,
    /// Dead records that were removed or reset.
    pub expired: u64,
    /// Living records that made room for others.
    pub evicted: u64,
    /// Events of keys that were not admitted.
    pub not_admitted: u64,
    /// Blocks in use.
    pub blocks: u64,
    /// Blocks that were asked for beyond the budget.
    pub blocks_refused: u64,
}

/// Records by key. See the module.
#[derive(Clone, Debug)]
pub struct Table {
    spec: TableSpec,
    stride: usize,
    segments: Vec<Segment>,
    /// Segments that were never used.
    unused: u64,
    bytes: u64,
    spill: Spill,
    expired: u64,
    evicted: u64,
    not_admitted: u64,
    /// What is known of keys without a record.
    overflow: Option<Overflow>,
    /// The record that had to go last: its key, when it was touched, its cells. Valid until the next insertion.
    displaced: (u64, Timestamp, Vec<u32>),
    /// Records made, and events not admitted, since [`Table::take_made`] was asked last.
    made: usize,
    /// The next place to sweep: segment and index.
    cursor: (usize, usize),
}

impl Table {
    /// An empty table; allocates as it fills.
    pub fn new(mut spec: TableSpec) -> Self {
        let stride = stride(spec.words);
        spec.budget_bytes = spec.held_budget();
        let spill = Spill::new(spec.spill_bytes);
        Self {
            spec,
            stride,
            segments: vec![Segment::default(); SEGMENTS + 1],
            unused: SEGMENTS as u64,
            bytes: 0,
            spill,
            expired: 0,
            evicted: 0,
            not_admitted: 0,
            overflow: None,
            displaced: (0, Timestamp::default(), Vec::new()),
            made: 0,
            cursor: (0, 0),
        }
    }

    /// This table, empty, with the blocks and the overflow of another one, whose records are about to be moved here.
    #[must_use]
    pub fn succeeding(mut self, old: &Table) -> Self {
        self.spill = old.spill.clone();
        self.overflow = match (self.overflow, &old.overflow) {
            (Some(new), Some(old)) => Some(new.succeeding(old)),
            (new, _) => new,
        };
        self
    }

    /// Gives back the block that a moved record no longer has a cell for.
    pub fn free_block(&mut self, word: u32) {
        if let Some(block) = BlockRef::from_word(word) {
            self.spill.free(block);
        }
    }

    /// The record of a key, unless it is absent or dead at `now`.
    #[inline]
    pub fn find(&self, key: u64, now: Timestamp) -> Option<Slot> {
        let key = nonzero(key);
        let segment = segment_of(key);
        match self.segments[segment].probe(key, self.stride) {
            Some(Probe::Found(index)) if !self.is_dead(segment, index, now) => Some(slot(segment, index)),
            _ => None,
        }
    }

    /// The record of a key, made when it is absent, emptied when it is dead; touched at `now` in any case. Without room for
    /// it, it is a guest's.
    #[inline]
    pub fn find_or_insert(&mut self, key: u64, now: Timestamp) -> Entry {
        self.find_or_insert_as(key, now, 1)
    }

    #[inline]
    fn find_or_insert_as(&mut self, key: u64, now: Timestamp, touches: u32) -> Entry {
        let key = nonzero(key);
        let segment = segment_of(key);
        match self.segments[segment].probe(key, self.stride) {
            Some(Probe::Found(index)) => {
                let fresh = self.touch(segment, index, now);
                let known = if fresh { self.known(key, now) } else { Estimate::default() };
                Entry { slot: slot(segment, index), fresh, evicted: false, known }
            }
            Some(Probe::Free(index))
                if self.segments[segment].len < most_records(self.segments[segment].capacity) =>
            {
                self.place(segment, index, key, now);
                self.welcome(slot(segment, index), key, now, false)
            }
            _ => self.make_room(segment, key, now, touches),
        }
    }

    /// The cells of a record.
    #[inline]
    pub fn cells(&self, slot: Slot) -> &[u32] {
        &self.record(slot)[HEAD..HEAD + self.spec.words]
    }

    /// The cells of a record.
    #[inline]
    pub fn cells_mut(&mut self, slot: Slot) -> &mut [u32] {
        self.cells_and_spill(slot).0
    }

    /// The cells of a record together with the blocks of the table.
    #[inline]
    pub fn cells_and_spill(&mut self, slot: Slot) -> (&mut [u32], &mut Spill) {
        let record = self.segments[slot.segment as usize].record_mut(slot.index as usize, self.stride);
        (&mut record[HEAD..HEAD + self.spec.words], &mut self.spill)
    }

    /// The blocks of the table.
    pub fn spill(&self) -> &Spill {
        &self.spill
    }

    /// The latest time a record was touched at.
    pub fn touched(&self, slot: Slot) -> Timestamp {
        touched(self.record(slot))
    }

    /// Asks the processor to load what [`Table::approach`] reads.
    #[inline]
    pub fn sight(&self, key: u64) {
        prefetch_line(&self.segments[segment_of(nonzero(key))..]);
    }

    /// Asks the processor to load what finding a key begins with; [`Table::prefetch`] is fast soon after.
    #[inline]
    pub fn approach(&self, key: u64) {
        let key = nonzero(key);
        self.segments[segment_of(key)].prefetch_tags(key);
    }

    /// Asks the processor to load the record a key has or would have.
    #[inline]
    pub fn prefetch(&self, key: u64) {
        let key = nonzero(key);
        let segment = &self.segments[segment_of(key)];
        if let Some(index) = segment.likely(key) {
            prefetch(segment.record(index, self.stride));
            if let (true, Some(overflow)) = (segment.is_free(index), &self.overflow) {
                overflow.prefetch(self.spec.idle, key);
            }
        }
    }

    /// Looks at the next `places` places, removes the records that are dead at `now`, and returns how many.
    pub fn sweep(&mut self, now: Timestamp, places: usize) -> usize {
        let mut removed = 0;
        for _ in 0..places {
            let (segment, index) = self.cursor;
            self.segments[segment].prefetch_head(index + SWEEP_AHEAD, self.stride);
            if index >= self.segments[segment].capacity {
                self.cursor = ((segment + 1) % SEGMENTS, 0);
            } else if !self.segments[segment].is_free(index) && self.is_dead(segment, index, now) {
                // Another record may have moved here: look again.
                self.remove(segment, index);
                self.expired += 1;
                removed += 1;
            } else {
                self.cursor.1 += 1;
            }
        }
        removed
    }

    /// How many records were made since this was asked last: what a sweep should keep pace with.
    pub fn take_made(&mut self) -> usize {
        std::mem::take(&mut self.made)
    }

    /// Living records that made room for others.
    #[inline]
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Calls `each` with the key, the time of the last touch and the cells of every record, in the order of places.
    pub fn for_each(&self, each: impl FnMut(u64, Timestamp, &[u32])) {
        self.visit(&self.segments[..SEGMENTS], each);
    }

    /// The same with every guest.
    pub fn for_each_guest(&self, each: impl FnMut(u64, Timestamp, &[u32])) {
        self.visit(&self.segments[LOBBY..], each);
    }

    fn visit(&self, segments: &[Segment], mut each: impl FnMut(u64, Timestamp, &[u32])) {
        for segment in segments {
            for index in (0..segment.capacity).filter(|index| !segment.is_free(*index)) {
                let record = segment.record(index, self.stride);
                each(segment.key(index, self.stride), touched(record), &record[HEAD..HEAD + self.spec.words]);
            }
        }
    }

    /// Records held, dead ones included and guests not.
    pub fn len(&self) -> usize {
        self.segments[..SEGMENTS].iter().map(|segment| segment.len).sum()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the records, the blocks, the guests and the overflow.
    pub fn bytes(&self) -> u64 {
        let overflow = self.overflow.as_ref().filter(|overflow| overflow.is_used());
        let lobby = Segment::bytes_of(self.segments[LOBBY].capacity, self.stride);
        self.bytes + lobby + self.spill.bytes() + overflow.map_or(0, Overflow::bytes)
    }

    /// The account.
    pub fn stats(&self) -> TableStats {
        TableStats {
            entries: self.len() as u64,
            bytes: self.bytes(),
            expired: self.expired,
            evicted: self.evicted,
            not_admitted: self.not_admitted,
            blocks: self.spill.used(),
            blocks_refused: self.spill.refused(),
        }
    }

    #[inline]
    fn is_dead(&self, segment: usize, index: usize, now: Timestamp) -> bool {
        now.since(touched(self.segments[segment].record(index, self.stride))) > self.spec.idle
    }

    /// Marks a record as used at `now`; empties it first when it was dead, and tells so.
    #[inline]
    fn touch(&mut self, segment: usize, index: usize, now: Timestamp) -> bool {
        let record = self.segments[segment].record_mut(index, self.stride);
        let last = touched(record);
        if now > last {
            mark::set_touched(record, now);
        }
        let dead = now.since(last) > self.spec.idle;
        if dead {
            mark::begin(record, now);
            self.free_blocks(segment, index);
            self.segments[segment].record_mut(index, self.stride)[HEAD..].fill(0);
            self.expired += 1;
            return true;
        }
        mark::touch(record);
        if let Some(since) = mark::estimated(record) {
            self.settle(slot(segment, index), since, now);
        }
        false
    }

    #[inline]
    fn record(&self, slot: Slot) -> &[u32] {
        self.segments[slot.segment as usize].record(slot.index as usize, self.stride)
    }

    #[inline]
    fn record_mut(&mut self, slot: Slot) -> &mut [u32] {
        self.segments[slot.segment as usize].record_mut(slot.index as usize, self.stride)
    }

    /// Inserts a key into a segment that is full, or has it be a guest.
    #[cold]
    fn make_room(&mut self, segment: usize, key: u64, now: Timestamp, touches: u32) -> Entry {
        let mut evicted = false;
        let known = self.known(key, now);
        let touches = touches.max(known.surely + 1).max(self.waited(key, now) + 1);
        if !self.grow(segment) {
            let Some(victim) = self.victim(segment, key, now, touches) else {
                return self.guest(key, now, known);
            };
            evicted = self.evict(segment, victim, now);
        }
        let index = match self.segments[segment].probe(key, self.stride) {
            Some(Probe::Found(index) | Probe::Free(index)) => index,
            None => unreachable!("a segment has room for its first records in any budget"),
        };
        self.place(segment, index, key, now);
        let entry = self.welcome(slot(segment, index), key, now, evicted);
        mark::set_touches(self.record_mut(entry.slot), touches);
        entry
    }

    fn place(&mut self, segment: usize, index: usize, key: u64, now: Timestamp) {
        self.segments[segment].place(index, self.stride, key, now);
        self.made = self.made.saturating_add(1);
    }

    /// Gives a segment more room; false when the budget forbids it.
    fn grow(&mut self, segment: usize) -> bool {
        let old = self.segments[segment].capacity;
        let new = match old {
            0 => FIRST_CAPACITY,
            _ => Segment::roomy(old + (old / 4).max(LEAST_GROWTH), self.stride),
        };
        let (held, wanted) = (Segment::bytes_of(old, self.stride), Segment::bytes_of(new, self.stride));
        if old > 0 && self.bytes - held + wanted > self.room() {
            return false;
        }
        self.segments[segment] = self.segments[segment].grown(new, self.stride);
        self.bytes = self.bytes - held + wanted;
        self.unused -= u64::from(old == 0);
        true
    }

    /// The budget less what guests, the overflow, and the segments not yet in use, will need.
    fn room(&self) -> u64 {
        let first = self.unused * Segment::bytes_of(FIRST_CAPACITY, self.stride);
        self.spec.budget_bytes - first - self.beside()
    }

    /// What the first records of all segments need.
    fn least(&self) -> u64 {
        SEGMENTS as u64 * Segment::bytes_of(FIRST_CAPACITY, self.stride)
    }

    /// Removes a record; true when it was still alive. What it was is kept at hand.
    fn evict(&mut self, segment: usize, index: usize, now: Timestamp) -> bool {
        let dead = self.is_dead(segment, index, now);
        if dead {
            self.expired += 1;
        } else {
            self.evicted += 1;
            self.displace(segment, index);
        }
        self.remove(segment, index);
        !dead
    }

    fn remove(&mut self, segment: usize, index: usize) {
        self.free_blocks(segment, index);
        self.segments[segment].remove(index, self.stride);
    }

    fn free_blocks(&mut self, segment: usize, index: usize) {
        let record = self.segments[segment].record(index, self.stride);
        for offset in &self.spec.spills {
            if let Some(block) = BlockRef::from_word(record[HEAD + offset]) {
                self.spill.free(block);
            }
        }
    }
}

/// Words of a record: a part, or a number of halves, of a cache line.
fn stride(cells: usize) -> usize {
    match HEAD + cells {
        0..=4 => 4,
        5..=8 => 8,
        words => words.next_multiple_of(8).max(16),
    }
}

/// How full a segment may get: 13/16, where a present key takes three probes on average.
#[inline]
fn most_records(capacity: usize) -> usize {
    capacity * 13 / 16
}

/// Zero marks a free place, so the key zero is taken as one.
#[inline]
fn nonzero(key: u64) -> u64 {
    key | u64::from(key == 0)
}

#[inline]
fn segment_of(key: u64) -> usize {
    (key >> 56) as usize
}

#[inline]
fn slot(segment: usize, index: usize) -> Slot {
    Slot { segment: segment as u32, index: index as u32 }
}

#[cfg(test)]
mod tests;
