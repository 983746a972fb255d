//! The state of one dimension: fixed-size records by key, within a budget.
//!
//! A table does not know what its cells mean: windows and limits read and change them as `u32` words. It
//! hashes nothing: keys are 64-bit hashes, seeded in secret. The records lie close together in an `Arena`, where they
//! never move; an index, split by the top eight bits of the key into 256 segments that grow alone, says where the record
//! of a key is. So growth copies no record and never takes long. All is deterministic: the same calls leave the same
//! records in the same places.
//!
//! Memory: a record that was not touched for longer than `idle` is dead. It counts as absent, is reset when its
//! key comes back, and removed by [`Table::sweep`]. When the budget is used up, a new key takes the place of a
//! dead record near its own in the index. Without one it depends: a plain table lets the record there go that was touched
//! longest ago. One with an [`Overflow`] lets a record go only for a key that came more often than it did (admission as in
//! TinyLFU, Einziger, Friedman and Manes 2017), and what it counted becomes an estimate; a key that is not admitted is a
//! *guest*: its record is found in the lobby, a small segment of its own where the one that came longest ago makes room. All
//! that is counted and told.

mod admission;
mod ahead;
mod arena;
mod index;
mod mark;
mod overflow;
mod room;
mod saved;

pub use self::ahead::Seen;
pub use self::overflow::{Estimate, Overflow};

use self::arena::{Arena, HEAD};
use self::index::{FIRST_CAPACITY, PLACE_BYTES, Segment};
use self::mark::touched;
use super::slab::{BlockRef, Spill};
use super::time::{Span, Timestamp};

const SEGMENTS: usize = 256;
/// The segment of guests: behind the others.
const LOBBY: usize = SEGMENTS;
/// How many records around a new key's place are looked at for one to evict.
const NEIGHBOURS: usize = 8;
/// A sweep asks for the record so many places ahead.
const SWEEP_AHEAD: u32 = 8;
/// Records of a segment that any budget has room for.
const LEAST_RECORDS: u64 = 6;

/// What a table is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// Words of cells in a record.
    pub words: usize,
    /// Bytes the records may take. Held at what 6 records a segment need, at least.
    pub budget_bytes: u64,
    /// How long a record lives untouched: longer than the longest window in it.
    pub idle: Span,
    /// Which words of the cells hold a [`BlockRef`]: those blocks die with the record.
    pub spills: Vec<usize>,
    /// Bytes the blocks may take.
    pub spill_bytes: u64,
}

impl TableSpec {
    /// What 6 records a segment need, and record 0.
    fn least_bytes(&self) -> u64 {
        let record = stride(self.words) as u64 * 4;
        SEGMENTS as u64 * (LEAST_RECORDS * record + FIRST_CAPACITY as u64 * PLACE_BYTES) + record
    }
}

/// Where a record is: its number, and whether it is a guest's. Valid until the record is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

impl Slot {
    const GUEST: u32 = 1 << 31;

    /// Whether it is the record of a key that was not admitted.
    #[inline]
    pub fn is_guest(self) -> bool {
        self.0 & Self::GUEST != 0
    }

    #[inline]
    fn number(self) -> u32 {
        self.0 & !Self::GUEST
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
    /// With the lobby last.
    index: Vec<Segment>,
    arena: Arena,
    /// Places of the index but for the lobby's, taking a segment that was never used for one of the least size.
    places: u64,
    /// Segments without a record. Room for one is kept for each, so that every key can have a record in its turn.
    empty: u32,
    spill: Spill,
    expired: u64,
    evicted: u64,
    not_admitted: u64,
    /// What is known of keys without a record.
    overflow: Option<Overflow>,
    /// Places of the lobby.
    guests_max: u64,
    /// What the lobby's places and the overflow leave of the budget, bytes.
    room: u64,
    /// The record that had to go last: its key, when it was touched, its cells. Valid until the next insertion.
    displaced: (u64, Timestamp, Vec<u32>),
    /// Records made, and events not admitted, since [`Table::take_made`] was asked last.
    made: usize,
    /// The next record to sweep.
    cursor: u32,
    /// No record was touched last before this: until it is dead there is nothing to sweep.
    oldest: Timestamp,
    /// The same of the records that were swept, or made, since the sweep began its round.
    oldest_swept: Timestamp,
}

impl Table {
    /// An empty table; allocates as it fills.
    pub fn new(mut spec: TableSpec) -> Self {
        spec.budget_bytes = spec.budget_bytes.max(spec.least_bytes());
        Self {
            room: spec.budget_bytes,
            index: vec![Segment::default(); SEGMENTS + 1],
            arena: Arena::new(stride(spec.words)),
            places: (SEGMENTS * FIRST_CAPACITY) as u64,
            empty: SEGMENTS as u32,
            spill: Spill::new(spec.spill_bytes),
            spec,
            expired: 0,
            evicted: 0,
            not_admitted: 0,
            overflow: None,
            guests_max: 0,
            displaced: (0, Timestamp::default(), Vec::new()),
            made: 0,
            cursor: 0,
            oldest: Timestamp::MAX,
            oldest_swept: Timestamp::MAX,
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
        self.set_room();
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
        self.lookup(nonzero(key), Seen::default()).filter(|number| !self.is_dead(*number, now)).map(Slot)
    }

    /// The number of a key's record, dead or alive.
    #[inline]
    fn lookup(&self, key: u64, seen: Seen) -> Option<u32> {
        if let Some(number) = self.still(seen, key) {
            return Some(number);
        }
        self.index[segment_of(key)].find(hash_of(key), |number| self.arena.key(number) == key)
    }

    /// The record of a key, made when it is absent, emptied when it is dead; touched at `now` in any case. Without room for
    /// it, it is a guest's.
    #[inline]
    pub fn find_or_insert(&mut self, key: u64, now: Timestamp) -> Entry {
        self.find_or_insert_as(key, Seen::default(), now, 1)
    }

    /// The same for a key whose record was looked for before.
    #[inline]
    pub fn find_seen_or_insert(&mut self, key: u64, seen: Seen, now: Timestamp) -> Entry {
        self.find_or_insert_as(key, seen, now, 1)
    }

    #[inline]
    fn find_or_insert_as(&mut self, key: u64, seen: Seen, now: Timestamp, touches: u32) -> Entry {
        let key = nonzero(key);
        match self.lookup(key, seen) {
            Some(number) => {
                let fresh = self.touch(number, now);
                let known = if fresh { self.known(key, now) } else { Estimate::default() };
                Entry { slot: Slot(number), fresh, evicted: false, known }
            }
            None if self.has_room(segment_of(key)) => self.admit(key, now, false),
            None => self.make_room(key, now, touches),
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
        let record = self.arena.record_mut(slot.number());
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

    /// Looks at the next `places` records, removes those that are dead at `now`, and returns how many.
    pub fn sweep(&mut self, now: Timestamp, places: usize) -> usize {
        let mut removed = 0;
        for _ in 0..places {
            if now.since(self.oldest) <= self.spec.idle {
                break;
            }
            removed += usize::from(self.sweep_next(now));
        }
        removed
    }

    /// Looks at the next record; true when it was dead and is gone.
    fn sweep_next(&mut self, now: Timestamp) -> bool {
        let number = self.cursor;
        self.arena.prefetch_head(number + SWEEP_AHEAD);
        let dead = self.arena.key(number) != 0 && {
            let last = touched(self.arena.record(number));
            self.oldest_swept = self.oldest_swept.min(last);
            now.since(last) > self.spec.idle
        };
        if dead {
            self.remove(number);
            self.expired += 1;
        }
        self.cursor += 1;
        if self.cursor >= self.arena.end() {
            self.cursor = 0;
            self.oldest = std::mem::replace(&mut self.oldest_swept, Timestamp::MAX);
        }
        dead
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
        self.visit(false, each);
    }

    /// The same with every guest.
    pub fn for_each_guest(&self, each: impl FnMut(u64, Timestamp, &[u32])) {
        self.visit(true, each);
    }

    fn visit(&self, guests: bool, mut each: impl FnMut(u64, Timestamp, &[u32])) {
        for number in 1..self.arena.end() {
            let (key, record) = (self.arena.key(number), self.arena.record(number));
            if key != 0 && self.is_guest(key, number) == guests {
                each(key, touched(record), &record[HEAD..HEAD + self.spec.words]);
            }
        }
    }

    /// Records held, dead ones included and guests not.
    pub fn len(&self) -> usize {
        self.arena.used() as usize - self.index[LOBBY].len()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the records, the blocks, the guests and the overflow.
    pub fn bytes(&self) -> u64 {
        let overflow = self.overflow.as_ref().filter(|overflow| overflow.is_used());
        let places = self.places + self.index[LOBBY].capacity() as u64;
        let records = self.bytes_for(self.arena.end().into(), places);
        records + self.spill.bytes() + overflow.map_or(0, Overflow::bytes)
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
    fn is_dead(&self, number: u32, now: Timestamp) -> bool {
        now.since(touched(self.arena.record(number))) > self.spec.idle
    }

    /// Marks a record as used at `now`; empties it first when it was dead, and tells so.
    #[inline]
    fn touch(&mut self, number: u32, now: Timestamp) -> bool {
        let record = self.arena.record_mut(number);
        let last = touched(record);
        if now > last {
            mark::set_touched(record, now);
        }
        if now.since(last) > self.spec.idle {
            mark::begin(record, now);
            self.free_blocks(number);
            self.arena.record_mut(number)[HEAD..].fill(0);
            self.expired += 1;
            return true;
        }
        mark::touch(record);
        if let Some(since) = mark::estimated(record) {
            self.settle(Slot(number), since, now);
        }
        false
    }

    #[inline]
    fn record(&self, slot: Slot) -> &[u32] {
        self.arena.record(slot.number())
    }

    #[inline]
    fn record_mut(&mut self, slot: Slot) -> &mut [u32] {
        self.arena.record_mut(slot.number())
    }

    /// Inserts a key for which there is no room, or has it be a guest.
    #[cold]
    fn make_room(&mut self, key: u64, now: Timestamp, touches: u32) -> Entry {
        let known = self.known(key, now);
        let touches = touches.max(known.surely + 1).max(self.waited(key, now) + 1);
        let Some(victim) = self.victim(key, now, touches) else {
            return self.guest(key, now, known);
        };
        let evicted = self.evict(victim, now);
        let entry = self.admit(key, now, evicted);
        mark::set_touches(self.record_mut(entry.slot), touches);
        entry
    }

    /// Gives a key a record, that of a guest if it was one; there must be room.
    fn admit(&mut self, key: u64, now: Timestamp, evicted: bool) -> Entry {
        let guest = self.leave_lobby(key, now);
        let number = guest.unwrap_or_else(|| self.begin(key, now));
        let segment = &mut self.index[segment_of(key)];
        self.empty -= u32::from(segment.len() == 0);
        segment.insert(hash_of(key), number);
        let known = if guest.is_some() { Estimate::default() } else { self.known(key, now) };
        Entry { slot: Slot(number), fresh: guest.is_none(), evicted, known }
    }

    /// Makes a record that is not in the index yet.
    fn begin(&mut self, key: u64, now: Timestamp) -> u32 {
        let number = self.arena.take(key, |record| mark::begin(record, now));
        self.oldest = self.oldest.min(now);
        self.oldest_swept = self.oldest_swept.min(now);
        self.made = self.made.saturating_add(1);
        number
    }

    /// Removes a record; true when it was still alive. What it was is kept at hand.
    fn evict(&mut self, number: u32, now: Timestamp) -> bool {
        let dead = self.is_dead(number, now);
        if dead {
            self.expired += 1;
        } else {
            self.evicted += 1;
            self.displace(number);
        }
        self.remove(number);
        !dead
    }

    fn remove(&mut self, number: u32) {
        self.free_blocks(number);
        let key = self.arena.key(number);
        let segment = &mut self.index[segment_of(key)];
        if segment.remove(hash_of(key), number) {
            self.empty += u32::from(segment.len() == 0);
        } else {
            self.index[LOBBY].remove(hash_of(key), number);
        }
        self.arena.give_back(number);
    }

    fn free_blocks(&mut self, number: u32) {
        let record = self.arena.record(number);
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

/// Zero marks a free record, so the key zero is taken as one.
#[inline]
fn nonzero(key: u64) -> u64 {
    key | u64::from(key == 0)
}

#[inline]
fn segment_of(key: u64) -> usize {
    (key >> 56) as usize
}

/// The bits of a key that chose no segment and come next: they choose its home there.
#[inline]
fn hash_of(key: u64) -> u32 {
    (key >> 24) as u32
}

#[cfg(test)]
mod tests;
