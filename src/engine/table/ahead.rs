//! Ahead: a record is asked for before its turn, so that the processor has it when it is read.

use super::arena::HEAD;
use super::{LOBBY, Table, hash_of, nonzero, segment_of};
use crate::engine::slab::BlockRef;

/// Where the record of a key seemed to be when it was looked for ahead of time, if anywhere. It may have gone since, or be
/// another key's: a hint, which is never believed unseen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen(u32);

impl Table {
    /// Asks the processor to load what finding a key begins with; [`Table::prefetch`] is fast soon after.
    #[inline]
    pub fn approach(&self, key: u64) {
        let key = nonzero(key);
        self.index[segment_of(key)].prefetch(hash_of(key));
    }

    /// Asks the processor to load the record of a key, or what is known of a key without one, and tells where it is.
    #[inline]
    pub fn prefetch(&self, key: u64) -> Seen {
        let key = nonzero(key);
        let number = self.index[segment_of(key)].find(hash_of(key), |_| true);
        match number {
            Some(number) => self.arena.prefetch(number),
            None => {
                let overflow = self.overflow.iter().filter(|overflow| overflow.is_used());
                overflow.for_each(|overflow| overflow.prefetch(self.spec.idle, key));
                self.index[LOBBY].prefetch(hash_of(key));
            }
        }
        Seen(number.unwrap_or_default())
    }

    /// Asks the processor to load the blocks of the record that was seen, where most records have some. Worth it once the
    /// record itself is there.
    #[inline]
    pub fn prefetch_blocks(&self, seen: Seen) {
        if seen.0 == 0 || self.spill.used() * 4 < u64::from(self.arena.used()) {
            return;
        }
        let record = self.arena.record(seen.0);
        for offset in &self.spec.spills {
            if let Some(block) = BlockRef::from_word(record[HEAD + offset]) {
                self.spill.prefetch(block);
            }
        }
    }

    /// The number of a key's record, when it still is where it was seen.
    #[inline]
    pub(super) fn still(&self, seen: Seen, key: u64) -> Option<u32> {
        // A guest's record may have the number of the one that was seen.
        let found = seen.0 != 0 && self.arena.is_of(seen.0, key) && self.index[LOBBY].len() == 0;
        found.then_some(seen.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::table::{Seen, Table, TableSpec};
    use crate::engine::time::{Span, Timestamp};

    #[test]
    fn a_record_that_was_seen_is_found_there_only_while_it_is_the_keys() {
        let hour = Span::from_secs(3600);
        let at = |secs: i64| Timestamp::from_millis(1_750_000_000_000 + secs * 1000);
        let spec =
            TableSpec { words: 1, budget_bytes: 1 << 20, idle: hour, spills: Vec::new(), spill_bytes: 0 };
        let mut table = Table::new(spec);
        let one = 1 << 60 | 1 << 30;
        let other = one | 1;
        assert_eq!(table.prefetch(one), Seen::default());
        let first = table.find_or_insert(one, at(0)).slot;
        // The index tells the two apart by their records alone: what was seen may be the other's.
        let seen = table.prefetch(other);
        assert_eq!(seen, table.prefetch(one));
        let second = table.find_seen_or_insert(other, seen, at(0));
        assert!(second.fresh && second.slot != first);
        assert_eq!(table.find_seen_or_insert(one, seen, at(0)).slot, first);
        // The record is swept, and its number another key's.
        assert_eq!(table.sweep(at(4000), 8), 2);
        let third = table.find_or_insert(7 << 40, at(4000)).slot;
        assert_eq!(table.prefetch(7 << 40), table.prefetch(7 << 40));
        let again = table.find_seen_or_insert(one, seen, at(4000));
        assert!(again.fresh && again.slot != third);
    }
}
