//! Admission: which keys have a record when there is not room for all.
//!
//! A table that admits lets a living record go only for a key that came more often than it did, as far as the overflow
//! knows. So keys that come once, however many, push out nobody who was there before them; and what a key counts while it
//! is not admitted, or when its record goes, is estimated, not lost.
//!
//! Keys that are not admitted are guests. They wait in the lobby, where each newcomer takes the place of the guest that came
//! longest ago. Who comes again while he waits is known to have come twice: if anybody came only once he is admitted, with
//! all that he counted, so that it is exact from his first event on. Only who was gone from the lobby before he came back
//! is known by estimate.

use super::arena::HEAD;
use super::index::{PLACE_BYTES, Segment};
use super::mark::{self, touched};
use super::overflow::{Estimate, Overflow};
use super::{Entry, LOBBY, NEIGHBOURS, Seen, Slot, Table, TableSpec, hash_of, segment_of};
use crate::engine::slab::BlockRef;
use crate::engine::time::{Span, Timestamp};

/// The same as [`NEIGHBOURS`] for a key that comes for the first time: it can only take the place of a dead record, or of a
/// guest.
const NEIGHBOURS_OF_NEW: usize = 4;

impl Table {
    /// An empty table that admits keys by how often they come, and estimates counts over these windows of those that it
    /// does not admit. The sketches for that are part of its budget.
    pub fn admitting(spec: TableSpec, mut windows: Vec<Span>) -> Self {
        windows.push(spec.idle);
        let mut table = Self::new(spec);
        let overflow = Overflow::new(windows, table.spec.budget_bytes);
        table.overflow = Some(overflow);
        table.set_room();
        let beside = table.guests_max * (table.arena.record_bytes() + PLACE_BYTES);
        let least = table.spec.least_bytes() + beside + table.overflow.as_ref().map_or(0, Overflow::bytes);
        table.spec.budget_bytes = table.spec.budget_bytes.max(least);
        table.set_room();
        table
    }

    /// What is known of keys without a record, in a table that admits.
    pub fn overflow(&self) -> Option<&Overflow> {
        self.overflow.as_ref()
    }

    /// The same, to count.
    pub fn overflow_mut(&mut self) -> Option<&mut Overflow> {
        self.overflow.as_mut()
    }

    /// How often a key came while it had no record, as far as is known.
    #[inline]
    pub(super) fn known(&self, key: u64, now: Timestamp) -> Estimate {
        let overflow = self.overflow.as_ref().filter(|overflow| overflow.is_used());
        overflow.map_or_else(Estimate::default, |overflow| overflow.estimate(self.spec.idle, key, now))
    }

    /// The living record that went for the last one inserted: its key, when it was touched last, and its cells, of which
    /// blocks are gone. Valid until the next insertion.
    pub fn displaced(&self) -> (u64, Timestamp, &[u32]) {
        (self.displaced.0, self.displaced.1, &self.displaced.2)
    }

    /// Notes that the counts of a record begin with an estimate.
    pub fn set_estimated(&mut self, slot: Slot, now: Timestamp) {
        let period = self.period(now);
        mark::set_estimated(self.record_mut(slot), period);
    }

    /// Whether the counts of a record began with an estimate that they may still hold.
    #[inline]
    pub fn is_estimated(&self, slot: Slot) -> bool {
        mark::estimated(self.record(slot)).is_some()
    }

    /// How often a record was touched, up to 15.
    pub fn touches(&self, slot: Slot) -> u32 {
        mark::touches(self.record(slot))
    }

    /// Makes a record for a key that was touched so often, in place of one that was touched less. For a table that is
    /// filled anew; the key is in none of its records.
    pub fn transfer(&mut self, key: u64, touched: Timestamp, touches: u32) -> Entry {
        let entry = self.find_or_insert_as(key, Seen::default(), touched, touches);
        mark::set_touches(self.record_mut(entry.slot), touches);
        entry
    }

    /// The record of a key that is not admitted; it is noted that it came.
    pub(super) fn guest(&mut self, key: u64, now: Timestamp, known: Estimate) -> Entry {
        if let Some(overflow) = &mut self.overflow {
            overflow.add(self.spec.idle, key, 1, now);
        }
        self.not_admitted += 1;
        if self.index[LOBBY].capacity() == 0 {
            self.index[LOBBY] = Segment::with_capacity(self.guests_max as usize);
        }
        let (number, fresh) = match self.waiting(key) {
            Some(number) => (number, self.touch(number, now)),
            None => (self.seat(key, now), true),
        };
        let known = if fresh { known } else { Estimate::default() };
        Entry { slot: Slot(number | Slot::GUEST), fresh, evicted: false, known }
    }

    /// An empty record in the lobby, in place of the guest nearby that came longest ago if it is full.
    fn seat(&mut self, key: u64, now: Timestamp) -> u32 {
        if self.index[LOBBY].is_full() {
            let near = || self.index[LOBBY].after_home(hash_of(key)).take(NEIGHBOURS_OF_NEW);
            near().for_each(|number| self.arena.prefetch_head(number));
            let oldest = near().min_by_key(|number| touched(self.arena.record(*number)));
            oldest.into_iter().for_each(|number| self.send_away(number));
        }
        let number = self.begin(key, now);
        self.index[LOBBY].insert(hash_of(key), number);
        number
    }

    /// Removes the record of a guest.
    fn send_away(&mut self, number: u32) {
        self.free_blocks(number);
        let key = self.arena.key(number);
        self.index[LOBBY].remove(hash_of(key), number);
        self.arena.give_back(number);
    }

    /// The record of a guest, dead or alive.
    #[inline]
    fn waiting(&self, key: u64) -> Option<u32> {
        self.index[LOBBY].find(hash_of(key), |number| self.arena.key(number) == key)
    }

    /// Whether this record of a key is a guest's.
    pub(super) fn is_guest(&self, key: u64, number: u32) -> bool {
        self.index[LOBBY].find(hash_of(key), |held| held == number).is_some()
    }

    /// How often a key came since it waits in the lobby; 0 when it does not.
    pub(super) fn waited(&self, key: u64, now: Timestamp) -> u32 {
        let alive = self.waiting(key).filter(|number| !self.is_dead(*number, now));
        alive.map_or(0, |number| mark::touches(self.arena.record(number)))
    }

    /// Takes the record of a guest out of the lobby, with what it counted, and touches it; a dead one is removed.
    #[inline]
    pub(super) fn leave_lobby(&mut self, key: u64, now: Timestamp) -> Option<u32> {
        let number = self.waiting(key)?;
        if self.is_dead(number, now) {
            self.send_away(number);
            return None;
        }
        self.index[LOBBY].remove(hash_of(key), number);
        self.made = self.made.saturating_add(1);
        self.touch(number, now);
        Some(number)
    }

    /// Keeps what a record counted until the next insertion, its blocks with it, and notes how often its key came.
    pub(super) fn displace(&mut self, number: u32) {
        self.release_displaced();
        let Some(overflow) = &mut self.overflow else { return };
        let (key, record) = (self.arena.key(number), self.arena.record(number));
        let (_, _, mut cells) = std::mem::take(&mut self.displaced);
        cells.clear();
        cells.extend_from_slice(&record[HEAD..HEAD + self.spec.words]);
        overflow.raise(self.spec.idle, key, mark::touches(record), touched(record));
        self.displaced = (key, touched(record), cells);
        // They are given back with what was displaced, not with the record.
        let record = self.arena.record_mut(number);
        self.spec.spills.iter().for_each(|offset| record[HEAD + offset] = 0);
    }

    /// Gives the blocks of the record that had to go last back; to be called once it was looked at.
    pub fn release_displaced(&mut self) {
        let (_, _, cells) = &mut self.displaced;
        for offset in &self.spec.spills {
            let word = cells.get_mut(*offset).map(std::mem::take);
            if let Some(block) = word.and_then(BlockRef::from_word) {
                self.spill.free(block);
            }
        }
    }

    /// Of the records from the home of `key` on, the one to go for a key that came `touches` times: a dead one, else the
    /// one worth least (see [`Table::rank`]). `None` when that is worth as much as the key.
    pub(super) fn victim(&self, key: u64, now: Timestamp, touches: u32) -> Option<u32> {
        let admits = self.overflow.is_some();
        let neighbours = if admits && touches == 1 { NEIGHBOURS_OF_NEW } else { NEIGHBOURS };
        let near = || self.index[segment_of(key)].after_home(hash_of(key)).take(neighbours);
        near().for_each(|number| self.arena.prefetch_head(number));
        // Of equals the first.
        let best = near().min_by_key(|number| self.rank(self.arena.record(*number), now))?;
        let record = self.arena.record(best);
        let goes = !admits || (self.worth(record, now) < touches && touched(record) <= now);
        goes.then_some(best)
    }

    /// The lower, the sooner a record goes: by what it is worth, then by age. Of those that came once the last ones go first,
    /// for they are the flood; of all others those that were touched longest ago.
    fn rank(&self, record: &[u32], now: Timestamp) -> (u32, i64) {
        let worth = if self.overflow.is_some() { self.worth(record, now) } else { 0 };
        let last = touched(record).millis();
        (worth, if worth == 1 { -last } else { last })
    }

    /// What a record is worth: nothing when it is dead, else how often it was touched, halved with each quarter of the
    /// idle time since. What came more than once is always worth more than what came once.
    fn worth(&self, record: &[u32], now: Timestamp) -> u32 {
        let (touches, age, idle) = (mark::touches(record), now.since(touched(record)), self.spec.idle);
        if age > idle {
            return 0;
        }
        let quarters = age.millis() / (idle.millis() / 4).max(1);
        (touches >> quarters.clamp(0, 4)).max(touches.min(2))
    }

    /// Nothing is left of an estimate once a whole idle time lies between it and now.
    #[cold]
    pub(super) fn settle(&mut self, slot: Slot, since: u16, now: Timestamp) {
        let passed = self.period(now).wrapping_sub(since);
        if (2..1 << 15).contains(&passed) {
            mark::settle(self.record_mut(slot));
        }
    }

    /// The number of the idle time that `now` lies in, of which the low bits are enough to tell neighbours apart.
    fn period(&self, now: Timestamp) -> u16 {
        (now.millis().max(0) / self.spec.idle.millis().max(1)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Span = Span::from_secs(3600);

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(1_750_000_000_000 + secs * 1000)
    }

    fn key(n: u64) -> u64 {
        let mixed = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    /// With room for some 1,500 records, filled with keys 0 to 4,999 at 0 s; those that got none are guests.
    fn full() -> Table {
        let spec = TableSpec { words: 12, budget_bytes: 0, idle: HOUR, spills: Vec::new(), spill_bytes: 0 };
        let mut table = Table::admitting(spec, vec![Span::from_secs(60)]);
        for n in 0..5000 {
            table.find_or_insert(key(n), at(0));
        }
        assert!(table.stats().not_admitted > 3000, "{:?}", table.stats());
        table
    }

    fn held(table: &Table, keys: std::ops::Range<u64>, secs: i64) -> usize {
        keys.filter(|n| table.find(key(*n), at(secs)).is_some()).count()
    }

    #[test]
    fn who_comes_once_pushes_out_nobody() {
        let mut table = full();
        let before = held(&table, 0..5000, 1);
        for n in 5000..20_000 {
            table.find_or_insert(key(n), at(1));
        }
        // One in 256 is taken for one that came twice: 60 of them.
        let left = held(&table, 0..5000, 1);
        assert!(left + 120 >= before, "{left} of {before}");
        assert_eq!(table.len() as u64 + table.stats().not_admitted, 20_000 - table.stats().evicted);
    }

    #[test]
    fn who_comes_again_is_admitted_in_place_of_one_that_did_not() {
        let mut table = full();
        for n in 5000..5100 {
            let entries: Vec<Entry> = (10..20).map(|secs| table.find_or_insert(key(n), at(secs))).collect();
            let guests = entries.iter().take_while(|entry| entry.slot.is_guest()).count();
            assert!(guests <= 1, "{guests}");
            assert!(entries[0].fresh && entries[1..].iter().all(|entry| !entry.fresh), "{entries:?}");
            assert!(entries[guests..].iter().all(|entry| entry.slot == entries[guests].slot));
            assert!(guests == 0 || table.touches(entries[guests].slot) >= 2);
        }
        assert_eq!(held(&table, 5000..5100, 20), 100);
    }

    #[test]
    fn what_came_twice_stays_when_a_flood_comes_twice() {
        let mut table = full();
        let regulars: Vec<u64> =
            (0..5000).filter(|n| table.find(key(*n), at(1)).is_some()).take(200).collect();
        for _ in 0..5 {
            regulars.iter().for_each(|n| assert!(!table.find_or_insert(key(*n), at(2)).fresh));
        }
        for n in 10_000..20_000 {
            table.find_or_insert(key(n), at(3));
            table.find_or_insert(key(n), at(4));
        }
        let left = regulars.iter().filter(|n| table.find(key(**n), at(5)).is_some()).count();
        assert_eq!(left, 200);
    }

    #[test]
    fn a_guest_finds_its_record_empty_and_leaves_nothing() {
        let mut table = full();
        let guests: Vec<u64> =
            (5000..5050).filter(|n| table.find_or_insert(key(*n), at(1)).slot.is_guest()).collect();
        assert!(guests.len() > 40);
        let (len, entry) = (table.len(), table.find_or_insert(key(6000), at(1)));
        assert!(entry.slot.is_guest());
        table.cells_mut(entry.slot).fill(7);
        let next = table.find_or_insert(key(6001), at(1));
        assert!(next.slot.is_guest() && table.cells(next.slot).iter().all(|word| *word == 0));
        assert_eq!(table.len(), len);
        assert_eq!(table.find(key(6000), at(1)), None);
        let mut seen = 0;
        table.for_each(|_, _, _| seen += 1);
        assert_eq!(seen, len);
    }

    /// Whoever comes again before some dozens of others did has what he counted, as a guest and once admitted.
    #[test]
    fn what_a_guest_counted_comes_along() {
        let (mut table, mut admitted) = (full(), 0);
        for n in 5000..5100 {
            let secs = (n as i64 - 4999) * 10;
            let first = table.find_or_insert(key(n), at(secs));
            assert!(first.fresh);
            admitted += usize::from(!first.slot.is_guest());
            table.cells_mut(first.slot).fill(n as u32);
            for more in 0..5 {
                table.find_or_insert(key(10 * n + more), at(secs + 1 + more as i64));
            }
            let second = table.find_or_insert(key(n), at(secs + 6));
            assert!(!second.slot.is_guest() && !second.fresh && table.waited(key(n), at(secs)) == 0);
            assert!(table.cells(second.slot).iter().all(|word| *word == n as u32));
            assert!(table.touches(second.slot) >= 2);
        }
        // One in 256 is taken for one that came before.
        assert!(admitted <= 3, "{admitted}");
        // A hundred times as many as there is room for: the lobby is as large as before.
        let bytes = table.bytes();
        for n in 0..20_000 {
            table.find_or_insert(key(1_000_000 + n), at(1100));
        }
        assert_eq!(table.bytes(), bytes);
    }

    #[test]
    fn what_went_is_known_and_at_hand() {
        let mut table = full();
        let (mut gone, mut known) = (0, 0);
        for n in 5000..5200 {
            for secs in 10..18 {
                if table.find_or_insert(key(n), at(secs)).evicted {
                    let (key, touched, cells) = table.displaced();
                    assert_eq!((touched, cells.len()), (at(0), 12));
                    known += usize::from(table.known(key, at(secs)).count() > 0);
                    gone += 1;
                }
            }
        }
        assert!(gone > 100 && known * 10 > gone * 9, "{known} of {gone}");
    }

    #[test]
    fn the_dead_make_room_at_once_and_worth_fades() {
        let mut table = full();
        for n in 5000..5100 {
            assert!(!table.find_or_insert(key(n), at(3601)).slot.is_guest());
        }
        let mut record = [0; 16];
        mark::begin(&mut record, at(0));
        mark::set_touches(&mut record, 12);
        let worth = [0, 899, 900, 1800, 2700, 3600, 3601].map(|secs| table.worth(&record, at(secs)));
        assert_eq!(worth, [12, 12, 6, 3, 2, 2, 0]);
        mark::set_touches(&mut record, 1);
        assert_eq!([0, 900, 3600].map(|secs| table.worth(&record, at(secs))), [1, 1, 1]);
    }

    #[test]
    fn an_estimate_is_told_until_nothing_of_it_is_left() {
        let mut table = full();
        let held = (0..5000).find(|n| table.find(key(*n), at(1)).is_some()).expect("some");
        let found = table.find(key(held), at(1)).expect("held");
        table.set_estimated(found, at(1));
        for secs in (600..9000).step_by(600) {
            let entry = table.find_or_insert(key(held), at(secs));
            // Whole hours begin at 3,200 s and 6,800 s.
            assert_eq!(table.is_estimated(entry.slot), secs < 6800, "{secs}");
        }
    }
}
