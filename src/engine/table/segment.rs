//! One segment of a table: an open-addressing array of fixed-size records, in one allocation of words.
//!
//! A record is a key (two words, zero for a free place), the time it was last touched (two words) and its
//! cells. Linear probing, backward-shift deletion, no tombstones. The home of a key comes from the bits below
//! those that chose the segment, scaled to the capacity, so that the capacity need not be a power of two.
//! Records start at a cache line; that shifts where they lie, never what they hold.

use crate::engine::time::Timestamp;

/// Words before the cells of a record.
pub(super) const HEAD: usize = 4;
const LINE_BYTES: usize = 64;
const LINE_WORDS: usize = LINE_BYTES / 4;

#[derive(Clone, Debug, Default)]
pub(super) struct Segment {
    words: Vec<u32>,
    /// Where the first record starts.
    base: usize,
    pub(super) capacity: usize,
    pub(super) len: usize,
}

/// Where a probe ended.
pub(super) enum Probe {
    Found(usize),
    Free(usize),
}

impl Segment {
    pub(super) fn with_capacity(capacity: usize, stride: usize) -> Self {
        let words = vec![0u32; capacity * stride + LINE_WORDS];
        let base = words.as_ptr().align_offset(LINE_BYTES).min(LINE_WORDS);
        Self { words, base, capacity, len: 0 }
    }

    /// Bytes of a segment of so many records.
    pub(super) fn bytes_of(capacity: usize, stride: usize) -> u64 {
        if capacity == 0 { 0 } else { (capacity as u64 * stride as u64 + LINE_WORDS as u64) * 4 }
    }

    pub(super) fn home(&self, key: u64) -> usize {
        ((u64::from((key >> 24) as u32) * self.capacity as u64) >> 32) as usize
    }

    pub(super) fn next(&self, index: usize) -> usize {
        if index + 1 == self.capacity { 0 } else { index + 1 }
    }

    #[inline]
    pub(super) fn record(&self, index: usize, stride: usize) -> &[u32] {
        let start = self.base + index * stride;
        &self.words[start..start + stride]
    }

    #[inline]
    pub(super) fn record_mut(&mut self, index: usize, stride: usize) -> &mut [u32] {
        let start = self.base + index * stride;
        &mut self.words[start..start + stride]
    }

    #[inline]
    pub(super) fn key(&self, index: usize, stride: usize) -> u64 {
        let start = self.base + index * stride;
        u64::from(self.words[start]) | u64::from(self.words[start + 1]) << 32
    }

    /// Looks for a key; there is always a free place when the capacity is not zero.
    #[inline]
    pub(super) fn probe(&self, key: u64, stride: usize) -> Option<Probe> {
        if self.capacity == 0 {
            return None;
        }
        let mut index = self.home(key);
        loop {
            let held = self.key(index, stride);
            if held == key {
                return Some(Probe::Found(index));
            }
            if held == 0 {
                return Some(Probe::Free(index));
            }
            index = self.next(index);
        }
    }

    /// Puts a new record with empty cells into a free place.
    pub(super) fn place(&mut self, index: usize, stride: usize, key: u64, now: Timestamp) {
        let record = self.record_mut(index, stride);
        record[0] = key as u32;
        record[1] = (key >> 32) as u32;
        set_touched(record, now);
        self.len += 1;
    }

    /// Takes a record out and closes the gap.
    pub(super) fn remove(&mut self, index: usize, stride: usize) {
        let mut hole = index;
        let mut index = self.next(hole);
        loop {
            let key = self.key(index, stride);
            if key == 0 {
                break;
            }
            if self.distance(self.home(key), index) >= self.distance(hole, index) {
                let (from, to) = (self.base + index * stride, self.base + hole * stride);
                self.words.copy_within(from..from + stride, to);
                hole = index;
            }
            index = self.next(index);
        }
        self.record_mut(hole, stride).fill(0);
        self.len -= 1;
    }

    /// Places from `from` forward to `to`.
    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.capacity - from }
    }

    /// The same records in more room.
    pub(super) fn grown(&self, capacity: usize, stride: usize) -> Self {
        let mut new = Self::with_capacity(capacity, stride);
        for index in 0..self.capacity {
            let key = self.key(index, stride);
            if key == 0 {
                continue;
            }
            if let Some(Probe::Free(place)) = new.probe(key, stride) {
                new.record_mut(place, stride).copy_from_slice(self.record(index, stride));
                new.len += 1;
            }
        }
        new
    }
}

/// When a record was last touched.
#[inline]
pub(super) fn touched(record: &[u32]) -> Timestamp {
    Timestamp::from_millis((u64::from(record[2]) | u64::from(record[3]) << 32) as i64)
}

#[inline]
pub(super) fn set_touched(record: &mut [u32], at: Timestamp) {
    let millis = at.millis() as u64;
    record[2] = millis as u32;
    record[3] = (millis >> 32) as u32;
}
