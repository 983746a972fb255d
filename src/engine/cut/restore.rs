//! From pages to an engine that goes on as if it had never stopped.
//!
//! The sets come first and say which arrays there are; each array is put in its place when its last page is here. What
//! does not fit together is an error, never a panic: pages may come from a damaged file. Memory beyond the pages is
//! only taken for what the pages hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::CutProgress;
use super::page::{Kind, Page, Place};
use super::sets::Sets;
use super::words::Damaged;
use crate::engine::Engine;
use crate::engine::key::HashSeed;
use crate::engine::policy::Policy;

/// Why an engine cannot be restored from pages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// The pages do not fit together, or hold what no engine could have saved.
    #[error("the saved state is damaged: {0}")]
    Damaged(&'static str),
    /// Some pages are not there.
    #[error("the saved state is not complete: {0} parts of it are missing")]
    Missing(usize),
    /// It was saved under another policy.
    #[error("the state was saved under the policy {saved}, not {given}")]
    OtherPolicy {
        /// Hash of the policy it was saved under.
        saved: String,
        /// Hash of the policy that was given.
        given: String,
    },
    /// It was saved under another seed of the key hashes.
    #[error("the state was saved under another hash seed")]
    OtherSeed,
    /// It was saved by a version of the engine that decides differently.
    #[error("the state was saved by version {saved} of the engine's semantics; this is {given}")]
    OtherSemantics {
        /// The version that saved it.
        saved: String,
        /// This version.
        given: &'static str,
    },
    /// This version of the program lays the policy out otherwise.
    #[error("the state was saved under another layout of the same policy")]
    OtherLayout,
}

impl From<Damaged> for RestoreError {
    fn from(_: Damaged) -> Self {
        Self::Damaged("its words make no sense")
    }
}

/// One array, put together from its pages.
#[derive(Debug)]
pub(crate) struct Array {
    place: Place,
    stride: usize,
    entries: usize,
    /// By first entry.
    pages: BTreeMap<u32, Vec<u32>>,
    here: usize,
}

impl Array {
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Words of an entry.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    /// The words of all entries, page by page.
    pub(crate) fn words(&self) -> impl Iterator<Item = &[u32]> {
        self.pages.values().map(Vec::as_slice)
    }

    /// The words of all entries, page by page.
    pub(crate) fn into_pages(self) -> impl Iterator<Item = Vec<u32>> {
        self.pages.into_values()
    }

    fn add(&mut self, page: Page) -> Result<(), RestoreError> {
        let count = page.words.len() / self.stride;
        let same = page.stride as usize == self.stride && page.total as usize == self.entries;
        self.here += count;
        let twice = self.pages.insert(page.from, page.words).is_some();
        if !same || twice || count == 0 || self.here > self.entries {
            return Err(RestoreError::Damaged("pages of one part do not fit together"));
        }
        Ok(())
    }

    /// Whether the pages follow one another without gap or overlap.
    fn is_seamless(&self) -> bool {
        let mut next = 0;
        self.pages.iter().all(|(from, words)| {
            let follows = *from as usize == next;
            next += words.len() / self.stride;
            follows
        })
    }
}

/// Arrays of which some pages are still to come.
#[derive(Debug, Default)]
struct Gathered {
    arrays: BTreeMap<Place, Array>,
}

impl Gathered {
    /// Takes a page; gives the array back when that was its last one.
    fn add(&mut self, page: Page) -> Result<Option<Array>, RestoreError> {
        let (place, stride, entries) = (page.place, page.stride as usize, page.total as usize);
        if stride == 0 {
            return Err(RestoreError::Damaged("a page has no entries"));
        }
        let new = || Array { place, stride, entries, pages: BTreeMap::new(), here: 0 };
        let array = self.arrays.entry(place).or_insert_with(new);
        array.add(page)?;
        if array.here < array.entries {
            return Ok(None);
        }
        let array = self.arrays.remove(&place);
        match array.filter(Array::is_seamless) {
            None => Err(RestoreError::Damaged("pages of one part overlap")),
            whole => Ok(whole),
        }
    }
}

/// The arrays that are to come, by what the sets say.
#[derive(Debug, Default)]
pub(crate) struct Awaited {
    arrays: BTreeMap<Place, (usize, usize)>,
}

impl Awaited {
    /// An array of so many entries of so many words.
    pub(crate) fn add(&mut self, place: Place, entries: usize, stride: usize) -> Result<(), Damaged> {
        let fits = u32::try_from(entries).is_ok() && entries.checked_mul(stride * 4).is_some();
        if fits && self.arrays.insert(place, (entries, stride)).is_none() { Ok(()) } else { Err(Damaged) }
    }

    fn take(&mut self, array: &Array) -> Result<(), RestoreError> {
        match self.arrays.remove(&array.place) {
            Some(awaited) if awaited == (array.entries, array.stride) => Ok(()),
            _ => Err(RestoreError::Damaged("a part that nothing speaks of")),
        }
    }
}

/// Puts an engine together from the pages of a cut.
#[derive(Debug)]
pub struct Restore {
    policy: Arc<Policy>,
    seed: HashSeed,
    gathered: Gathered,
    sets: Sets,
    /// Once all sets are here.
    engine: Option<(Engine, Awaited)>,
}

impl Restore {
    /// Begins. Policy and seed must be those of the engine that was cut.
    pub fn new(policy: Arc<Policy>, seed: HashSeed) -> Self {
        Self { policy, seed, gathered: Gathered::default(), sets: Sets::default(), engine: None }
    }

    /// Takes the next page.
    ///
    /// # Errors
    /// It does not fit: see [`RestoreError`].
    pub fn add(&mut self, mut page: Page) -> Result<(), RestoreError> {
        page.finish();
        match self.gathered.add(page)? {
            Some(array) => self.put(array),
            None => Ok(()),
        }
    }

    fn put(&mut self, array: Array) -> Result<(), RestoreError> {
        if array.place.kind == Kind::Set {
            if self.engine.is_some() {
                return Err(RestoreError::Damaged("a set that comes twice"));
            }
            self.sets.put(array)?;
            if self.sets.missing() == 0 {
                let mut awaited = Awaited::default();
                let sets = std::mem::take(&mut self.sets);
                let engine = Engine::load(Arc::clone(&self.policy), self.seed, &sets, &mut awaited)?;
                self.engine = Some((engine, awaited));
            }
            return Ok(());
        }
        let sets_first = RestoreError::Damaged("the sets must come first");
        let (engine, awaited) = self.engine.as_mut().ok_or(sets_first)?;
        awaited.take(&array)?;
        engine.fill(array).map_err(RestoreError::from)
    }

    /// The engine, as it was when the cut began.
    ///
    /// # Errors
    /// Pages are missing.
    pub fn finish(self) -> Result<Engine, RestoreError> {
        match self.engine {
            None => Err(RestoreError::Missing(self.sets.missing().max(1))),
            Some((engine, awaited)) if awaited.arrays.is_empty() && self.gathered.arrays.is_empty() => {
                engine.check_tables()?;
                Ok(engine)
            }
            Some((_, awaited)) => Err(RestoreError::Missing(awaited.arrays.len().max(1))),
        }
    }
}

/// Bytes of pages that are in memory twice while an engine is copied.
const SLICE: usize = 1 << 20;

impl Engine {
    /// Another engine with the same state. A cut that is under way is abandoned.
    ///
    /// # Errors
    /// The state does not fit together: see [`RestoreError`].
    pub fn fork(&mut self) -> Result<Engine, RestoreError> {
        let mut restore = Restore::new(Arc::clone(&self.policy), self.seed);
        let mut pages = Vec::new();
        self.begin_cut();
        while self.copy_pages(SLICE, &mut pages) == CutProgress::More {
            pages.drain(..).try_for_each(|page| restore.add(page))?;
        }
        pages.drain(..).try_for_each(|page| restore.add(page))?;
        restore.finish()
    }

    /// An engine that goes on where the one that was cut stood when the cut began: same counts, same places, same order
    /// of eviction and of sweeping.
    ///
    /// # Errors
    /// The pages are not a whole cut under this policy and seed: see [`RestoreError`].
    pub fn restore(
        policy: Arc<Policy>,
        seed: HashSeed,
        pages: impl IntoIterator<Item = Page>,
    ) -> Result<Engine, RestoreError> {
        let mut restore = Restore::new(policy, seed);
        for page in pages {
            restore.add(page)?;
        }
        restore.finish()
    }
}
