//! Watches one array of fixed-size entries from the moment a cut begins until its last page is copied.
//!
//! Before an entry is written to for the first time, its old words are kept, once. What is copied already, and what was
//! not there when the cut began, is not kept any more. Old entries go to chunks that never grow, a new one when the last
//! is full, so that no single write waits for a large copy. An array that is about to be rebuilt has its last pages
//! copied first.

use std::collections::VecDeque;
use std::ops::Range;

use super::page::{Page, Place};
use crate::engine::prefetch::prefetch_line;

/// Words of a chunk of old entries, at least.
const CHUNK_WORDS: usize = 4096;
/// Old entries that a chunk holds, at least.
const CHUNK_ENTRIES: usize = 4;

/// What is left to copy of one array. What each write asks for is in one cache line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Watch {
    /// The first entry that is not copied yet: the first of a page, or the end.
    next: u32,
    /// How many entries there were when the cut began.
    end: u32,
    per_page: u32,
    stride: u32,
    /// Which entries are kept already, a bit each.
    kept: Box<[u64]>,
    /// One for each page.
    undo: Box<[Undo]>,
    place: Place,
    /// Pages that had to be copied before their turn.
    ready: VecDeque<Page>,
}

/// Pages that may be handed out now.
#[derive(Debug)]
pub(crate) struct Room<'o> {
    pub(crate) bytes: usize,
    pub(crate) out: &'o mut Vec<Page>,
    /// Words of pages that nobody needs any more: fresh memory costs more than what is written to it.
    pub(crate) spare: &'o mut Vec<Vec<u32>>,
}

impl Room<'_> {
    /// Room for the words of a page.
    fn words(&mut self) -> Vec<u32> {
        let mut words = self.spare.pop().unwrap_or_default();
        words.clear();
        words
    }

    /// Hands a page out.
    pub(crate) fn put(&mut self, page: Page) {
        self.bytes = self.bytes.saturating_sub(page.bytes().max(1));
        self.out.push(page);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.bytes == 0
    }
}

impl Watch {
    /// Watches an array of `end` entries of `stride` words, copied by `per_page`; none when it is empty.
    pub(crate) fn new(place: Place, end: usize, stride: usize, per_page: usize) -> Option<Box<Self>> {
        (end > 0).then(|| {
            let kept = vec![0; end.div_ceil(64)].into();
            let undo = vec![Undo::default(); end.div_ceil(per_page)].into();
            let (end, per_page, stride) = (end as u32, per_page as u32, stride as u32);
            Box::new(Self { next: 0, end, per_page, stride, kept, undo, place, ready: VecDeque::new() })
        })
    }

    /// Keeps the words of an entry that is about to be written to, unless they are copied or kept already.
    #[cold]
    pub(crate) fn save(&mut self, index: usize, old: &[u32]) {
        let index = index as u32;
        if index < self.next || index >= self.end {
            return;
        }
        let (word, bit) = (&mut self.kept[index as usize / 64], 1 << (index % 64));
        if *word & bit == 0 {
            *word |= bit;
            self.undo[(index / self.per_page) as usize].keep(index % self.per_page, old);
        }
    }

    /// Asks the processor for what a first write to an entry reads.
    #[inline]
    pub(crate) fn prefetch(&self, index: usize) {
        if let Some(kept) = self.kept.get(index / 64..) {
            prefetch_line(kept);
        }
    }

    /// Copies pages until there is no more room; true when the last one is copied. `entries` appends the words of some
    /// entries as they are now.
    pub(crate) fn copy(
        &mut self,
        room: &mut Room<'_>,
        entries: impl Fn(Range<usize>, &mut Vec<u32>),
    ) -> bool {
        while !room.is_full() {
            let next = self.ready.pop_front();
            match next.or_else(|| self.page(|| room.words(), &entries)) {
                Some(page) => room.put(page),
                None => return true,
            }
        }
        self.next == self.end && self.ready.is_empty()
    }

    /// Copies all that is left, for the array is about to be rebuilt.
    #[cold]
    pub(crate) fn copy_rest(&mut self, entries: impl Fn(Range<usize>, &mut Vec<u32>)) {
        while let Some(page) = self.page(Vec::new, &entries) {
            self.ready.push_back(page);
        }
    }

    fn page(
        &mut self,
        room: impl FnOnce() -> Vec<u32>,
        entries: impl Fn(Range<usize>, &mut Vec<u32>),
    ) -> Option<Page> {
        let (from, end) = (self.next, self.end.min(self.next.saturating_add(self.per_page)));
        if from == end {
            return None;
        }
        let undo = std::mem::take(&mut self.undo[(from / self.per_page) as usize]);
        self.next = end;
        let (range, total, stride) = (from as usize..end as usize, self.end, self.stride);
        let mut words = room();
        entries(range, &mut words);
        Some(Page { place: self.place, from, total, stride, words, undo })
    }
}

/// Old forms of the entries of one page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Undo {
    /// Number and words of one entry after the other: the chunk that is being filled ...
    last: Vec<u32>,
    /// ... and those that are full.
    full: Vec<Vec<u32>>,
}

impl Undo {
    fn keep(&mut self, entry: u32, old: &[u32]) {
        if self.last.capacity() - self.last.len() <= old.len() {
            self.next_chunk(old.len() + 1);
        }
        self.last.push(entry);
        self.last.extend_from_slice(old);
    }

    #[cold]
    fn next_chunk(&mut self, needed: usize) {
        let next = Vec::with_capacity(CHUNK_WORDS.max(needed * CHUNK_ENTRIES));
        let full = std::mem::replace(&mut self.last, next);
        if !full.is_empty() {
            self.full.push(full);
        }
    }

    /// Writes every old entry to its place.
    pub(crate) fn lay_over(&self, words: &mut [u32], stride: usize) {
        let chunks = self.full.iter().chain([&self.last]);
        for kept in chunks.flat_map(|chunk| chunk.chunks_exact(stride + 1)) {
            let at = kept[0] as usize * stride;
            words[at..at + stride].copy_from_slice(&kept[1..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::Kind;
    use super::*;

    /// An array of entries of two words under a watch, five entries a page.
    struct Array {
        entries: Vec<[u32; 2]>,
        watch: Option<Box<Watch>>,
    }

    impl Array {
        fn new(entries: u32) -> Self {
            let entries: Vec<_> = (0..entries).map(|n| [n, 7]).collect();
            let watch = Watch::new(Place::new(Kind::Records, 0, 0), entries.len(), 2, 5);
            Self { entries, watch }
        }

        fn write(&mut self, index: usize, word: u32) {
            if let Some(watch) = &mut self.watch {
                watch.save(index, &self.entries[index]);
            }
            self.entries[index] = [word; 2];
        }

        fn copy(&mut self, bytes: usize) -> (Vec<Page>, bool) {
            // Room that is used again holds what another page left there.
            let (mut out, mut spare) = (Vec::new(), vec![vec![77; 3], vec![78; 100]]);
            let mut watch = self.watch.take().expect("watched");
            let entries = |range: Range<usize>, out: &mut Vec<u32>| {
                out.extend_from_slice(self.entries[range].as_flattened());
            };
            let done = watch.copy(&mut Room { bytes, out: &mut out, spare: &mut spare }, entries);
            self.watch = Some(watch);
            (out, done)
        }
    }

    fn finished(pages: Vec<Page>) -> Vec<u32> {
        let finished = pages.into_iter().map(|mut page| {
            page.finish();
            page.words
        });
        finished.flatten().collect()
    }

    #[test]
    fn what_is_written_to_during_a_cut_is_copied_as_it_was() {
        let mut array = Array::new(12);
        let before = array.entries.as_flattened().to_vec();
        array.write(1, 100);
        array.write(1, 101);
        array.write(11, 102);
        let (mut pages, done) = array.copy(1);
        assert_eq!((pages.len(), pages[0].words.len(), done), (1, 10, false));
        array.write(0, 103);
        array.write(6, 104);
        array.entries.push([9, 9]);
        array.write(12, 105);
        let (rest, done) = array.copy(usize::MAX);
        assert!(done);
        pages.extend(rest);
        assert_eq!(pages.iter().map(|page| page.from).collect::<Vec<_>>(), [0, 5, 10]);
        assert_eq!(finished(pages), before);
    }

    #[test]
    fn an_array_that_is_rebuilt_has_been_copied() {
        let mut array = Array::new(9);
        let before = array.entries.as_flattened().to_vec();
        array.write(8, 100);
        let mut watch = array.watch.take().expect("watched");
        watch.copy_rest(|range, out| out.extend_from_slice(array.entries[range].as_flattened()));
        array.entries = vec![[5, 5]; 20];
        array.watch = Some(watch);
        array.write(3, 6);
        let (pages, done) = array.copy(usize::MAX);
        assert!(done);
        assert_eq!(finished(pages), before);
    }

    #[test]
    fn a_page_is_known_by_its_head() {
        let (pages, _) = Array::new(7).copy(usize::MAX);
        let again = Page::new(pages[1].head(), pages[1].words().to_vec()).expect("a page");
        assert_eq!((again.place, again.from, again.total), (pages[1].place, 5, 7));
        for head in [[9, 0, 0, 0, 7, 2], [2, 0, 0, 6, 7, 2], [2, 0, 0, 0, 7, 0], [2, 0, 0, 0, 7, 3]] {
            assert_eq!(Page::new(head, vec![0; 4]).err(), Some(super::super::page::NoPage));
        }
    }
}
