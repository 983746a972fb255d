//! One page of a cut: some entries of one array as they were when the cut began.
//!
//! The engine copies the entries as they are now and hands over, apart, the old form of those that were written to
//! since; [`Page::finish`] lays the one over the other, in whatever thread has time for it. A page says itself where it
//! belongs, so pages may be kept and given back in any order, the sets first.

use super::watch::Undo;

/// Words of a page, at most, unless one entry is larger: 2 MiB. Old entries are gathered by page, and the ends of so few
/// rows stay in the processor's cache.
pub(crate) const PAGE_WORDS: usize = 512 * 1024;

/// How many entries of so many words a page holds.
pub(crate) fn entries_of(stride: usize) -> usize {
    (PAGE_WORDS / stride.max(1)).max(1)
}

/// What kind of array it is a page of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// What is no array: written out as words when the cut began.
    Set = 1,
    /// Records of a table.
    Records = 2,
    /// Blocks of a table's spill.
    Blocks = 3,
    /// Entries of duplicates.
    Entries = 4,
    /// Blocks of a sketch of keys without a record.
    Sketch = 5,
    /// Places of a table's index.
    Index = 6,
    /// Units of the trail.
    Trail = 7,
}

/// Which array it is a page of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) kind: Kind,
    /// Which table, or which duplicates.
    pub(crate) part: u32,
    /// Which segment, chunk, slab or set.
    pub(crate) unit: u32,
}

impl Place {
    pub(crate) fn new(kind: Kind, part: usize, unit: usize) -> Self {
        Self { kind, part: part as u32, unit: unit as u32 }
    }
}

/// Some entries of one array, as they were when the cut began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub(super) place: Place,
    /// The first entry.
    pub(super) from: u32,
    /// Entries of the whole array.
    pub(super) total: u32,
    /// Words of an entry.
    pub(super) stride: u32,
    pub(super) words: Vec<u32>,
    /// Old forms of entries that were written to since; laid over by [`Page::finish`].
    pub(super) undo: Undo,
}

/// Words that are no head of a page, or entries that do not fit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no page of an engine's state")]
pub struct NoPage;

impl Page {
    /// Words of [`Page::head`].
    pub const HEAD: usize = 6;

    /// Lays the old entries over the newer ones. Does nothing the second time.
    pub fn finish(&mut self) {
        std::mem::take(&mut self.undo).lay_over(&mut self.words, self.stride as usize);
    }

    /// Where it belongs, for [`Page::new`].
    pub fn head(&self) -> [u32; Self::HEAD] {
        let Place { kind, part, unit } = self.place;
        [kind as u32, part, unit, self.from, self.total, self.stride]
    }

    /// Its entries. Those of the cut only once it is finished.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The room that its entries took, for [`super::Engine::reuse`].
    pub fn into_words(self) -> Vec<u32> {
        self.words
    }

    /// Bytes of its entries.
    pub fn bytes(&self) -> usize {
        self.words.len() * 4
    }

    /// The page that had this head and, finished, these words.
    ///
    /// # Errors
    /// No page has such a head or so many words.
    pub fn new(head: [u32; Self::HEAD], words: Vec<u32>) -> Result<Self, NoPage> {
        let [kind, part, unit, from, total, stride] = head;
        let kinds =
            [Kind::Set, Kind::Records, Kind::Blocks, Kind::Entries, Kind::Sketch, Kind::Index, Kind::Trail];
        let kind = kinds.into_iter().find(|known| *known as u32 == kind).ok_or(NoPage)?;
        let entries = words.len().checked_div(stride as usize).ok_or(NoPage)?;
        let fits = entries as u64 + u64::from(from) <= u64::from(total);
        if !fits || entries * stride as usize != words.len() {
            return Err(NoPage);
        }
        Ok(Self { place: Place { kind, part, unit }, from, total, stride, words, undo: Undo::default() })
    }
}
