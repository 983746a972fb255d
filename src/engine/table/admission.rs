//! Admission: which keys have a record when there is not room for all.
//!
//! A table that admits lets a living record go only for a key that came more often than it did, as far as the overflow
//! knows. So keys that come once, however many, push out nobody who was there before them; and what a key counts while it
//! is not admitted, or when its record goes, is estimated, not lost. The other keys get the guest record.

use super::mark::{self, touched};
use super::overflow::{Estimate, Overflow};
use super::segment::HEAD;
use super::{Entry, NEIGHBOURS, SEGMENTS, Slot, Table, TableSpec};
use crate::engine::time::{Span, Timestamp};

/// The same as [`NEIGHBOURS`] for a key that comes for the first time and can only take the place of a dead record.
const NEIGHBOURS_OF_NEW: usize = 4;

impl Table {
    /// An empty table that admits keys by how often they come, and estimates counts over these windows of those that it
    /// does not admit. The sketches for that are part of its budget.
    pub fn admitting(spec: TableSpec, mut windows: Vec<Span>) -> Self {
        windows.push(spec.idle);
        let mut table = Self::new(spec);
        let overflow = Overflow::new(windows, table.spec.budget_bytes);
        table.spec.budget_bytes = table.spec.budget_bytes.max(table.least() + overflow.bytes());
        table.overflow = Some(overflow);
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
    pub(super) fn known(&self, key: u64, now: Timestamp) -> Estimate {
        let overflow = self.overflow.as_ref();
        overflow.map(|overflow| overflow.estimate(self.spec.idle, key, now)).unwrap_or_default()
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
        let entry = self.find_or_insert_as(key, touched, touches);
        mark::set_touches(self.record_mut(entry.slot), touches);
        entry
    }

    /// The empty record of a key that is not admitted; it is noted that it came.
    pub(super) fn guest(&mut self, key: u64, now: Timestamp, touches: u32) -> Slot {
        self.free_blocks(SEGMENTS, 0);
        let record = self.record_mut(Slot::GUEST);
        record.fill(0);
        mark::begin(record, now);
        mark::set_touches(record, touches);
        if let Some(overflow) = &mut self.overflow {
            overflow.add(self.spec.idle, key, 1, now);
        }
        self.not_admitted += 1;
        self.made = self.made.saturating_add(1);
        Slot::GUEST
    }

    /// Keeps what a record counted until the next insertion, and notes how often its key came.
    pub(super) fn displace(&mut self, segment: usize, index: usize) {
        let Some(overflow) = &mut self.overflow else { return };
        let part = &self.segments[segment];
        let (key, record) = (part.key(index, self.stride), part.record(index, self.stride));
        let (_, _, mut cells) = std::mem::take(&mut self.displaced);
        cells.clear();
        cells.extend_from_slice(&record[HEAD..HEAD + self.spec.words]);
        overflow.raise(self.spec.idle, key, mark::touches(record), touched(record));
        self.displaced = (key, touched(record), cells);
    }

    /// Of the records from the home of `key` on, the one to go for a key that came `touches` times: a dead one, else the
    /// one worth least, and of equals the one that was touched longest ago. `None` when all are worth as much as the key.
    pub(super) fn victim(&self, segment: usize, key: u64, now: Timestamp, touches: u32) -> Option<usize> {
        let part = &self.segments[segment];
        let admits = self.overflow.is_some();
        let neighbours = if admits && touches == 1 { NEIGHBOURS_OF_NEW } else { NEIGHBOURS };
        let (mut index, mut seen) = (part.home(key), 0);
        let mut best: Option<((u32, Timestamp), usize)> = None;
        for _ in 0..part.capacity {
            if !part.is_free(index) {
                let record = part.record(index, self.stride);
                let worth = if admits { self.worth(record, now) } else { 0 };
                let rank = (worth, touched(record));
                if best.is_none_or(|(least, _)| rank < least) {
                    best = Some((rank, index));
                }
                seen += 1;
            }
            if seen == neighbours {
                break;
            }
            index = part.next(index);
        }
        best.filter(|((worth, last), _)| !admits || (*worth < touches && *last <= now)).map(|(_, index)| index)
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
