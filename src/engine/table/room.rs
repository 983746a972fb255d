//! Room: what the records, places and guests of a table may take within its budget.
//!
//! For every segment without a record there is room kept for one, and for every guest that may come, so a key can always
//! have a record in its turn. Growing a segment of the index copies places, never records.

use super::index::{FIRST_CAPACITY, PLACE_BYTES};
use super::{Overflow, Table};

/// The lobby takes as much as one sketch of the overflow, and has so many places at least.
const LEAST_GUESTS: u64 = 16;

impl Table {
    /// Whether there is room for one more record in a segment, which may grow for it.
    #[inline]
    pub(super) fn has_room(&mut self, segment: usize) -> bool {
        let part = &self.index[segment];
        // The room of an empty segment is kept.
        let records = self.records_with(1 - u32::from(part.len() == 0));
        self.bytes_for(records, self.places) <= self.room && (!part.is_full() || self.grow(segment, records))
    }

    /// Gives a segment more places; false when the budget, with so many records, forbids it.
    #[cold]
    fn grow(&mut self, segment: usize, records: u64) -> bool {
        let part = &self.index[segment];
        let others = self.places - part.capacity().max(FIRST_CAPACITY) as u64;
        let fits = |capacity: &usize| self.bytes_for(records, others + *capacity as u64) <= self.room;
        let Some(capacity) = part.next_capacities().into_iter().find(fits) else { return false };
        self.index[segment].grow(capacity);
        self.places = others + capacity as u64;
        true
    }

    /// Records that take memory, or have room kept for them, when there are so many more in use.
    fn records_with(&self, more: u32) -> u64 {
        // Record 0 is never free.
        let held = 1 + self.len() as u64 + u64::from(self.empty + more) + self.guests_max;
        held.max(self.arena.end().into())
    }

    pub(super) fn bytes_for(&self, records: u64, places: u64) -> u64 {
        records * self.arena.record_bytes() + places * PLACE_BYTES
    }

    /// Works out how many places the lobby has, and what its places and the overflow leave of the budget.
    pub(super) fn set_room(&mut self) {
        let record = self.arena.record_bytes() + PLACE_BYTES;
        let guests = |overflow: &Overflow| (overflow.sketch_bytes() / record).max(LEAST_GUESTS);
        self.guests_max = self.overflow.as_ref().map_or(0, guests);
        let overflow = self.overflow.as_ref().map_or(0, Overflow::bytes);
        self.room = self.spec.budget_bytes.saturating_sub(overflow + self.guests_max * PLACE_BYTES);
    }
}
