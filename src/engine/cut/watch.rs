//! Watches one array of fixed-size entries from the moment a cut begins until its last page is copied.
//!
//! Before an entry is written to for the first time, its old words are kept, once. What is copied already, and what was
//! not there when the cut began, is not kept any more. Old entries go to chunks that never grow, a new one when the last
//! is full, so that no single write waits for a large copy. An array that is about to be rebuilt has its last pages
//! copied first.

use std::collections::VecDeque;
use std::ops::Range;

use super::page::{Page, Place};

/// Words of a chunk of old entries, at least.
const CHUNK_WORDS: usize = 2048;
/// Old entries that a chunk holds, at least.
const CHUNK_ENTRIES: usize = 4;

/// What is left to copy of one array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Watch {
    place: Place,
    stride: usize,
    per_page: usize,
    /// The first entry that is not copied yet: the first of a page, or the end.
    next: usize,
    /// How many entries there were when the cut began.
    end: usize,
    /// One for each page.
    undo: Vec<Option<Box<Undo>>>,
    /// Pages that had to be copied before their turn.
    ready: VecDeque<Page>,
}

/// Pages that may be handed out now.
#[derive(Debug)]
pub(crate) struct Room<'o> {
    pub(crate) bytes: usize,
    pub(crate) out: &'o mut Vec<Page>,
}

impl Room<'_> {
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
        let undo = vec![None; end.div_ceil(per_page)];
        (end > 0)
            .then(|| Box::new(Self { place, stride, per_page, next: 0, end, undo, ready: VecDeque::new() }))
    }

    /// Keeps the words of an entry that is about to be written to, unless they are copied or kept already.
    #[cold]
    pub(crate) fn save(&mut self, index: usize, old: &[u32]) {
        if index < self.next || index >= self.end {
            return;
        }
        let (page, entry) = (index / self.per_page, index % self.per_page);
        let undo = self.undo[page].get_or_insert_with(|| Undo::new(self.per_page, self.stride));
        undo.save(entry, old);
    }

    /// Copies pages until there is no more room; true when the last one is copied. `entries` gives the words of some
    /// entries as they are now.
    pub(crate) fn copy(&mut self, room: &mut Room<'_>, entries: impl Fn(Range<usize>) -> Vec<u32>) -> bool {
        while !room.is_full() {
            match self.ready.pop_front().or_else(|| self.page(&entries)) {
                Some(page) => room.put(page),
                None => return true,
            }
        }
        self.next == self.end && self.ready.is_empty()
    }

    /// Copies all that is left, for the array is about to be rebuilt.
    #[cold]
    pub(crate) fn copy_rest(&mut self, entries: impl Fn(Range<usize>) -> Vec<u32>) {
        while let Some(page) = self.page(&entries) {
            self.ready.push_back(page);
        }
    }

    fn page(&mut self, entries: impl Fn(Range<usize>) -> Vec<u32>) -> Option<Page> {
        let range = self.next..self.end.min(self.next + self.per_page);
        if range.is_empty() {
            return None;
        }
        let undo = self.undo[self.next / self.per_page].take();
        self.next = range.end;
        let (from, total, stride) = (range.start as u32, self.end as u32, self.stride as u32);
        Some(Page { place: self.place, from, total, stride, words: entries(range), undo })
    }
}

/// Old forms of the entries of one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Undo {
    stride: usize,
    /// Which entries are kept already.
    kept: Vec<u64>,
    /// Number and words of one entry after the other.
    chunks: Vec<Vec<u32>>,
}

impl Undo {
    fn new(entries: usize, stride: usize) -> Box<Self> {
        Box::new(Self { stride, kept: vec![0; entries.div_ceil(64)], chunks: Vec::new() })
    }

    fn save(&mut self, entry: usize, old: &[u32]) {
        let (word, bit) = (&mut self.kept[entry / 64], 1 << (entry % 64));
        if *word & bit != 0 {
            return;
        }
        *word |= bit;
        let needed = self.stride + 1;
        if self.chunks.last().is_none_or(|chunk| chunk.capacity() - chunk.len() < needed) {
            self.chunks.push(Vec::with_capacity(CHUNK_WORDS.max(needed * CHUNK_ENTRIES)));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push(entry as u32);
            chunk.extend_from_slice(old);
        }
    }

    /// Writes every old entry to its place.
    pub(crate) fn lay_over(&self, words: &mut [u32]) {
        for kept in self.chunks.iter().flat_map(|chunk| chunk.chunks_exact(self.stride + 1)) {
            let at = kept[0] as usize * self.stride;
            words[at..at + self.stride].copy_from_slice(&kept[1..]);
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
            let mut out = Vec::new();
            let mut watch = self.watch.take().expect("watched");
            let entries = |range: Range<usize>| self.entries[range].as_flattened().to_vec();
            let done = watch.copy(&mut Room { bytes, out: &mut out }, entries);
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
        watch.copy_rest(|range| array.entries[range].as_flattened().to_vec());
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
