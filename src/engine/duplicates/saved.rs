//! Duplicates in a cut: their entries segment by segment, and what else they know as a set.
//!
//! A page is named after the generation as it was when the cut began, even when that one is the older by now, or dropped.

use super::{Duplicates, ENTRY_BYTES, Entry, Generation, SEGMENTS, Segment, key_of};
use crate::engine::cut::{
    Array, Awaited, Damaged, Kind, Place, Reader, Room, Saved, Watch, Writer, entries_of,
};
use crate::engine::time::Timestamp;

/// Words of an entry.
const STRIDE: usize = size_of::<Entry>() / 4;

impl Duplicates {
    /// From here on the entries are copied as they are now, as this part of the cut.
    pub(crate) fn begin_cut(&mut self, part: usize) {
        self.abandon_cut();
        self.current.begin_cut(part, 0);
        self.previous.begin_cut(part, SEGMENTS);
    }

    /// Forgets the cut.
    pub(crate) fn abandon_cut(&mut self) {
        self.dropped.clear();
        for segment in self.current.segments.iter_mut().chain(&mut self.previous.segments) {
            segment.watch = None;
        }
    }

    /// Hands out pages while there is room; true when there are no more.
    pub(crate) fn copy_pages(&mut self, room: &mut Room<'_>) -> bool {
        let done = self.current.copy_pages(room)
            && self.previous.copy_pages(room)
            && self.dropped.iter_mut().all(|generation| generation.copy_pages(room));
        self.dropped.retain(Generation::is_watched);
        done
    }

    /// Takes down what is not in the pages.
    pub(crate) fn save(&self, to: &mut Writer) {
        let Self { horizon, half_budget, current, previous, shortened, shortened_until, dropped: _ } = self;
        (*horizon, *half_budget).save(to);
        (*shortened, *shortened_until).save(to);
        current.save(to);
        previous.save(to);
    }

    /// Reads what [`Duplicates::save`] took down, and which pages the entries will come in.
    pub(crate) fn load(from: &mut Reader<'_>, part: usize, awaited: &mut Awaited) -> Result<Self, Damaged> {
        let (horizon, half_budget) = Saved::load(from)?;
        let (shortened, shortened_until) = Saved::load(from)?;
        let current = Generation::load(from, (part, 0), awaited)?;
        let previous = Generation::load(from, (part, SEGMENTS), awaited)?;
        let dropped = Vec::new();
        Ok(Self { horizon, half_budget, current, previous, shortened, shortened_until, dropped })
    }

    /// Takes an awaited segment.
    pub(crate) fn fill(&mut self, array: &Array) -> Result<(), Damaged> {
        let unit = array.place().unit as usize;
        let generation = if unit < SEGMENTS { &mut self.current } else { &mut self.previous };
        let segment = generation.segments.get_mut(unit % SEGMENTS).ok_or(Damaged)?;
        *segment = Segment::restored(array)?;
        Ok(())
    }
}

impl Generation {
    /// Whether something of it is not yet copied.
    pub(super) fn is_watched(&self) -> bool {
        self.segments.iter().any(|segment| segment.watch.is_some())
    }

    fn begin_cut(&mut self, part: usize, first: usize) {
        for (unit, segment) in self.segments.iter_mut().enumerate() {
            let place = Place::new(Kind::Entries, part, first + unit);
            segment.watch = Watch::new(place, segment.entries.len(), STRIDE, entries_of(STRIDE));
        }
    }

    fn copy_pages(&mut self, room: &mut Room<'_>) -> bool {
        self.segments.iter_mut().all(|segment| segment.copy_pages(room))
    }

    fn save(&self, to: &mut Writer) {
        let Self { start, segments, bytes: _ } = self;
        start.save(to);
        segments.iter().for_each(|segment| segment.entries.len().save(to));
    }

    fn load(
        from: &mut Reader<'_>,
        (part, first): (usize, usize),
        awaited: &mut Awaited,
    ) -> Result<Self, Damaged> {
        let mut generation = Self::starting(Timestamp::load(from)?);
        for unit in 0..SEGMENTS {
            let entries = usize::load(from)?;
            if entries > 0 {
                awaited.add(Place::new(Kind::Entries, part, first + unit), entries, STRIDE)?;
                generation.bytes += entries as u64 * ENTRY_BYTES;
            }
        }
        Ok(generation)
    }
}

impl Segment {
    fn copy_pages(&mut self, room: &mut Room<'_>) -> bool {
        let Some(mut watch) = self.watch.take() else { return true };
        let done = watch.copy(room, |range, out| out.extend_from_slice(self.entries[range].as_flattened()));
        self.watch = (!done).then_some(watch);
        done
    }

    fn restored(array: &Array) -> Result<Self, Damaged> {
        let mut entries: Vec<Entry> = Vec::new();
        for words in array.words() {
            entries.extend_from_slice(words.as_chunks().0);
        }
        let len = entries.iter().filter(|entry| key_of(entry) != 0).count();
        let roomy = entries.len().is_power_of_two() && len < entries.len();
        if roomy { Ok(Self { entries, len, watch: None }) } else { Err(Damaged) }
    }
}
