//! One segment of a table: an open-addressing array of fixed-size records, in one allocation of words.
//!
//! A record is a key (two words, zero for a free place), its mark (two words, see `mark.rs`: when it was last touched, how
//! often) and its cells. Linear probing, backward-shift deletion, no tombstones. The home of a key comes from the bits below
//! those that chose the segment, scaled to the capacity, so that the capacity need not be a power of two.
//! The first record starts at a cache line; that shifts where they lie, never what they hold.
//!
//! Beside the records lies one byte for each place: eight bits of its key, or zero when it is free. Probing reads those,
//! which stay in the processor's cache, and hardly ever a record of another key: records may be many cache lines apart.
//!
//! While a cut is under way a [`Watch`] is told of every place before it changes, in [`Segment::keep`]. No other file
//! can reach the words but through [`Segment::record_mut`], which does that first.

use super::mark;
use crate::engine::cut::{Array, Damaged, Place, Room, Watch, entries_of};
use crate::engine::prefetch::prefetch_line;
use crate::engine::time::Timestamp;

/// Words of the key of a record.
pub(super) const KEY: usize = 2;
/// Words before the cells of a record.
pub(super) const HEAD: usize = 4;
const LINE_BYTES: usize = 64;
const LINE_WORDS: usize = LINE_BYTES / 4;
/// Segments have a multiple of so many words.
const GRAIN_WORDS: usize = 64;
/// Words of the smallest segment but the first of a table.
const LEAST_WORDS: usize = 256;

/// Its head takes exactly one cache line: a table has 256 of them, of which an event needs any one.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(super) struct Segment {
    words: Box<[u32]>,
    tags: Box<[u8]>,
    pub(super) capacity: usize,
    pub(super) len: usize,
    /// While a cut is under way and this segment is not copied yet.
    watch: Option<Box<Watch>>,
    /// Where the first record starts: less than a cache line from the first word.
    base: u32,
}

const _: () = assert!(size_of::<Segment>() == LINE_BYTES);

/// Where a probe ended.
pub(super) enum Probe {
    Found(usize),
    Free(usize),
}

impl Segment {
    pub(super) fn with_capacity(capacity: usize, stride: usize) -> Self {
        let words = vec![0u32; Self::words_of(capacity, stride)].into_boxed_slice();
        let base = words.as_ptr().align_offset(LINE_BYTES).min(LINE_WORDS) as u32;
        Self { words, tags: vec![0; capacity].into_boxed_slice(), base, capacity, len: 0, watch: None }
    }

    /// Bytes of a segment of so many records.
    pub(super) fn bytes_of(capacity: usize, stride: usize) -> u64 {
        if capacity == 0 { 0 } else { Self::words_of(capacity, stride) as u64 * 4 + capacity as u64 }
    }

    fn words_of(capacity: usize, stride: usize) -> usize {
        (capacity * stride + LINE_WORDS).next_multiple_of(GRAIN_WORDS)
    }

    /// A capacity of at least `records`, so that the words of a segment take one of a few sizes that all tables share:
    /// the memory that one segment has outgrown then just fits another.
    pub(super) fn roomy(records: usize, stride: usize) -> usize {
        let mut words = LEAST_WORDS;
        while (words - LINE_WORDS) / stride < records {
            words += (words / 4).next_multiple_of(GRAIN_WORDS);
        }
        (words - LINE_WORDS) / stride
    }

    #[inline]
    pub(super) fn home(&self, key: u64) -> usize {
        ((u64::from((key >> 24) as u32) * self.capacity as u64) >> 32) as usize
    }

    #[inline]
    pub(super) fn next(&self, index: usize) -> usize {
        if index + 1 == self.capacity { 0 } else { index + 1 }
    }

    /// The word that a place begins with.
    #[inline]
    fn start(&self, index: usize, stride: usize) -> usize {
        self.base as usize + index * stride
    }

    #[inline]
    pub(super) fn record(&self, index: usize, stride: usize) -> &[u32] {
        let start = self.start(index, stride);
        &self.words[start..start + stride]
    }

    /// The words of a place, to change them: the only way to.
    #[inline]
    pub(super) fn record_mut(&mut self, index: usize, stride: usize) -> &mut [u32] {
        self.keep(index, stride);
        let start = self.start(index, stride);
        &mut self.words[start..start + stride]
    }

    /// Before every change of a place.
    #[inline]
    fn keep(&mut self, index: usize, stride: usize) {
        let start = self.start(index, stride);
        if let Some(watch) = &mut self.watch {
            watch.save(index, &self.words[start..start + stride]);
        }
    }

    /// Whether a place holds no record.
    #[inline]
    pub(super) fn is_free(&self, index: usize) -> bool {
        self.tags[index] == 0
    }

    #[inline]
    pub(super) fn key(&self, index: usize, stride: usize) -> u64 {
        let start = self.start(index, stride);
        u64::from(self.words[start]) | u64::from(self.words[start + 1]) << 32
    }

    /// Looks for a key; there is always a free place when the capacity is not zero.
    #[inline]
    pub(super) fn probe(&self, key: u64, stride: usize) -> Option<Probe> {
        if self.capacity == 0 {
            return None;
        }
        let (mut index, tag) = (self.home(key), tag_of(key));
        loop {
            match self.tags[index] {
                0 => return Some(Probe::Free(index)),
                held if held == tag && self.key(index, stride) == key => return Some(Probe::Found(index)),
                _ => index = self.next(index),
            }
        }
    }

    /// Asks the processor for the tags around the home of a key.
    #[inline]
    pub(super) fn prefetch_tags(&self, key: u64) {
        if self.capacity > 0 {
            prefetch_line(&self.tags[self.home(key)..]);
        }
    }

    /// Asks the processor for the head of a record, if there is one at a place.
    #[inline]
    pub(super) fn prefetch_head(&self, index: usize, stride: usize) {
        if self.tags.get(index).is_some_and(|tag| *tag != 0) {
            prefetch_line(&self.words[self.start(index, stride)..]);
        }
    }

    /// Where a key probably is, or would be: the first place from its home on that is free or has its tag. Reads no
    /// record.
    #[inline]
    pub(super) fn likely(&self, key: u64) -> Option<usize> {
        if self.capacity == 0 {
            return None;
        }
        let (mut index, tag) = (self.home(key), tag_of(key));
        while self.tags[index] != 0 && self.tags[index] != tag {
            index = self.next(index);
        }
        Some(index)
    }

    /// Puts a new record with empty cells into a free place.
    pub(super) fn place(&mut self, index: usize, stride: usize, key: u64, now: Timestamp) {
        let record = self.record_mut(index, stride);
        record[0] = key as u32;
        record[1] = (key >> 32) as u32;
        mark::begin(record, now);
        self.tags[index] = tag_of(key);
        self.len += 1;
    }

    /// Takes a record out and closes the gap.
    pub(super) fn remove(&mut self, index: usize, stride: usize) {
        let mut hole = index;
        let mut index = self.next(hole);
        loop {
            if self.is_free(index) {
                break;
            }
            if self.distance(self.home(self.key(index, stride)), index) >= self.distance(hole, index) {
                self.move_record(index, hole, stride);
                hole = index;
            }
            index = self.next(index);
        }
        self.record_mut(hole, stride).fill(0);
        self.tags[hole] = 0;
        self.len -= 1;
    }

    fn move_record(&mut self, from: usize, to: usize, stride: usize) {
        self.keep(to, stride);
        let (from_word, to_word) = (self.start(from, stride), self.start(to, stride));
        self.words.copy_within(from_word..from_word + stride, to_word);
        self.tags[to] = self.tags[from];
    }

    /// Places from `from` forward to `to`.
    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.capacity - from }
    }

    /// The same records in more room.
    pub(super) fn grown(&mut self, capacity: usize, stride: usize) -> Self {
        let mut new = Self::with_capacity(capacity, stride);
        if let Some(mut watch) = self.watch.take() {
            watch.copy_rest(|range| self.records(range, stride).to_vec());
            new.watch = Some(watch);
        }
        for index in 0..self.capacity {
            if self.is_free(index) {
                continue;
            }
            if let Some(Probe::Free(place)) = new.probe(self.key(index, stride), stride) {
                new.record_mut(place, stride).copy_from_slice(self.record(index, stride));
                new.tags[place] = self.tags[index];
                new.len += 1;
            }
        }
        new
    }

    /// From here on the segment is copied as it is now.
    pub(super) fn begin_cut(&mut self, place: Place, stride: usize) {
        self.watch = Watch::new(place, self.capacity, stride, entries_of(stride));
    }

    pub(super) fn abandon_cut(&mut self) {
        self.watch = None;
    }

    /// Hands out pages while there is room; true when there are no more.
    pub(super) fn copy_pages(&mut self, stride: usize, room: &mut Room<'_>) -> bool {
        let Some(mut watch) = self.watch.take() else { return true };
        let done = watch.copy(room, |range| self.records(range, stride).to_vec());
        self.watch = (!done).then_some(watch);
        done
    }

    /// The segment that was copied into these pages.
    pub(super) fn restored(array: &Array, stride: usize) -> Result<Self, Damaged> {
        let capacity = array.entries();
        if array.stride() != stride {
            return Err(Damaged);
        }
        let mut new = Self::with_capacity(capacity, stride);
        let mut start = new.start(0, stride);
        for words in array.words() {
            new.words[start..start + words.len()].copy_from_slice(words);
            start += words.len();
        }
        for index in 0..capacity {
            let key = new.key(index, stride);
            if key != 0 {
                new.tags[index] = tag_of(key);
                new.len += 1;
            }
        }
        if new.len < capacity { Ok(new) } else { Err(Damaged) }
    }

    fn records(&self, entries: std::ops::Range<usize>, stride: usize) -> &[u32] {
        &self.words[self.start(entries.start, stride)..self.start(entries.end, stride)]
    }
}

/// Eight bits of a key that chose neither its segment nor its home; never zero.
#[inline]
fn tag_of(key: u64) -> u8 {
    (key as u8).max(1)
}
