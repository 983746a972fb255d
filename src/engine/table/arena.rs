//! The records of a table, close together in chunks that never move.
//!
//! A record is a key (two words, zero when it is free), its mark (two words, see `mark.rs`: when it was last touched, how
//! often) and its cells. Its number stays the same as long as it lives. Numbers of records that were given back are used
//! again, the last one first; a free record holds in its third word which one was given back before it. Record 0 is nobody's,
//! so that 0 can say "none".
//!
//! While a cut is under way a [`Watch`] is told of every record before it changes. No other file can reach the words but
//! through [`Arena::record_mut`], which does that first.

use crate::engine::cut::{Array, Damaged, Kind, Place, Room, Watch, entries_of};
use crate::engine::prefetch::{prefetch, prefetch_line};

/// Records of a chunk. The memory of a chunk is touched as it fills.
pub(super) const CHUNK: usize = 1 << CHUNK_BITS;
const CHUNK_BITS: u32 = 13;
/// Words before the cells of a record.
pub(super) const HEAD: usize = 4;
const LINE_BYTES: usize = 64;
const LINE_WORDS: usize = LINE_BYTES / 4;
/// Where a free record holds the number of the one that was given back before it.
const LINK: usize = 2;

/// Records by number.
#[derive(Clone, Debug)]
pub(super) struct Arena {
    stride: usize,
    chunks: Vec<Chunk>,
    /// Numbers that were ever used are lower.
    end: u32,
    /// The free record that is used next; 0 when there is none.
    free: u32,
    /// Records in use.
    used: u32,
}

#[derive(Clone, Debug)]
struct Chunk {
    words: Box<[u32]>,
    /// Where the first record starts, so that it starts a cache line.
    base: usize,
    /// While a cut is under way and this chunk is not copied yet.
    watch: Option<Box<Watch>>,
}

impl Chunk {
    fn new(stride: usize) -> Self {
        let words = vec![0u32; CHUNK * stride + LINE_WORDS].into_boxed_slice();
        let base = words.as_ptr().align_offset(LINE_BYTES).min(LINE_WORDS);
        Self { words, base, watch: None }
    }

    /// The words of some of its records.
    fn records(&self, records: std::ops::Range<usize>, stride: usize) -> &[u32] {
        &self.words[self.base + records.start * stride..self.base + records.end * stride]
    }
}

/// The chunk of a record, and which one it is in it.
#[inline]
fn place(number: u32) -> (usize, usize) {
    ((number >> CHUNK_BITS) as usize, number as usize % CHUNK)
}

impl Arena {
    /// Without any record but 0, which takes no memory until there is another one. `stride` is the words of a record.
    pub(super) fn new(stride: usize) -> Self {
        Self { stride, chunks: Vec::new(), end: 1, free: 0, used: 0 }
    }

    /// Bytes of a record.
    pub(super) fn record_bytes(&self) -> u64 {
        self.stride as u64 * 4
    }

    /// One more than the highest number that was ever used: so many records take memory.
    pub(super) fn end(&self) -> u32 {
        self.end
    }

    pub(super) fn used(&self) -> u32 {
        self.used
    }

    #[inline]
    pub(super) fn record(&self, number: u32) -> &[u32] {
        let (chunk, index) = place(number);
        let chunk = &self.chunks[chunk];
        let start = chunk.base + index * self.stride;
        &chunk.words[start..start + self.stride]
    }

    /// The words of a record, to change them: the only way to.
    #[inline]
    pub(super) fn record_mut(&mut self, number: u32) -> &mut [u32] {
        let (chunk, index) = place(number);
        let chunk = &mut self.chunks[chunk];
        let start = chunk.base + index * self.stride;
        let record = &mut chunk.words[start..start + self.stride];
        if let Some(watch) = &mut chunk.watch {
            watch.save(index, record);
        }
        record
    }

    /// The key of a record; zero for one that is free.
    #[inline]
    pub(super) fn key(&self, number: u32) -> u64 {
        let record = self.record(number);
        u64::from(record[0]) | u64::from(record[1]) << 32
    }

    /// Whether there is a record of this number, and it is this key's.
    #[inline]
    pub(super) fn is_of(&self, number: u32, key: u64) -> bool {
        number < self.end && self.key(number) == key
    }

    /// A record for a key, with its cells empty and the mark that it is given.
    pub(super) fn take(&mut self, key: u64, mark: impl FnOnce(&mut [u32])) -> u32 {
        let number = if self.free == 0 { self.fresh() } else { self.free };
        if number == self.free {
            self.free = self.record(number)[LINK];
        }
        let record = self.record_mut(number);
        record[0] = key as u32;
        record[1] = (key >> 32) as u32;
        record[LINK] = 0;
        mark(record);
        self.used += 1;
        number
    }

    /// The next number that was never used.
    fn fresh(&mut self) -> u32 {
        let number = self.end;
        if place(number).0 == self.chunks.len() {
            self.chunks.push(Chunk::new(self.stride));
        }
        self.end += 1;
        number
    }

    /// Gives a record back.
    pub(super) fn give_back(&mut self, number: u32) {
        let next = self.free;
        let record = self.record_mut(number);
        record.fill(0);
        record[LINK] = next;
        self.free = number;
        self.used -= 1;
    }

    /// Asks the processor for a record and, while a cut is under way, for what says whether it is kept.
    #[inline]
    pub(super) fn prefetch(&self, number: u32) {
        prefetch(self.record(number));
        let (chunk, index) = place(number);
        if let Some(watch) = &self.chunks[chunk].watch {
            watch.prefetch(index);
        }
    }

    /// Asks the processor for the head of a record.
    #[inline]
    pub(super) fn prefetch_head(&self, number: u32) {
        if number < self.end {
            prefetch_line(self.record(number));
        }
    }

    /// From here on the records are copied as they are now, as this part of the cut.
    pub(super) fn begin_cut(&mut self, part: usize) {
        for unit in 0..self.chunks.len() {
            let (held, stride) = (self.held(unit), self.stride);
            self.chunks[unit].watch =
                Watch::new(Place::new(Kind::Records, part, unit), held, stride, entries_of(stride));
        }
    }

    /// How many records of a chunk were ever used.
    fn held(&self, chunk: usize) -> usize {
        (self.end as usize).saturating_sub(chunk * CHUNK).min(CHUNK)
    }

    pub(super) fn abandon_cut(&mut self) {
        self.chunks.iter_mut().for_each(|chunk| chunk.watch = None);
    }

    /// Hands out pages while there is room; true when there are no more.
    pub(super) fn copy_pages(&mut self, room: &mut Room<'_>) -> bool {
        let stride = self.stride;
        self.chunks.iter_mut().all(|chunk| {
            let Some(mut watch) = chunk.watch.take() else { return true };
            let done = watch.copy(room, |range, out| out.extend_from_slice(chunk.records(range, stride)));
            chunk.watch = (!done).then_some(watch);
            done
        })
    }

    /// The numbers that are no words of a record: the end, the next free record, and how many are in use.
    pub(super) fn numbers(&self) -> (u32, u32, u32) {
        (self.end, self.free, self.used)
    }

    /// An arena with these numbers whose records are to be filled in, chunk by chunk.
    pub(super) fn awaiting(stride: usize, (end, free, used): (u32, u32, u32)) -> Result<Self, Damaged> {
        if end == 0 || free >= end || used >= end {
            return Err(Damaged);
        }
        let count = if end > 1 { (end as usize).div_ceil(CHUNK) } else { 0 };
        let chunks = (0..count).map(|_| Chunk::new(stride)).collect();
        Ok(Self { stride, chunks, end, free, used })
    }

    /// The chunks that are awaited, with the records of each.
    pub(super) fn awaited(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.chunks.len()).map(|unit| (unit, self.held(unit)))
    }

    /// Takes an awaited chunk.
    pub(super) fn fill(&mut self, array: &Array) -> Result<(), Damaged> {
        let unit = array.place().unit as usize;
        let held = self.held(unit);
        let chunk = self.chunks.get_mut(unit).ok_or(Damaged)?;
        if array.stride() != self.stride || array.entries() != held {
            return Err(Damaged);
        }
        let mut start = chunk.base;
        for words in array.words() {
            chunk.words[start..start + words.len()].copy_from_slice(words);
            start += words.len();
        }
        Ok(())
    }

    /// Whether every number is one record in use or one in the list of free ones.
    pub(super) fn is_sound(&self) -> bool {
        let used = (1..self.end).filter(|number| self.key(*number) != 0).count();
        let (mut free, mut count) = (self.free, 0);
        while free != 0 && free < self.end && self.key(free) == 0 && count < self.end {
            free = self.record(free)[LINK];
            count += 1;
        }
        free == 0 && used == self.used as usize && used + count as usize == self.end as usize - 1
    }
}
