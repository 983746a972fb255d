//! A spill in a cut: pages of whole chunks.

use super::{BlockRef, Slab, Spill};
use crate::engine::cut::{
    Array, Awaited, Damaged, Kind, Place, Reader, Room, Saved, Watch, Writer, entries_of,
};

impl Spill {
    /// From here on the blocks are copied as they are now.
    pub(crate) fn begin_cut(&mut self, part: usize) {
        for (unit, slab) in self.slabs.iter_mut().enumerate() {
            slab.begin_cut(Place::new(Kind::Blocks, part, unit));
        }
    }

    /// Forgets the cut.
    pub(crate) fn abandon_cut(&mut self) {
        self.slabs.iter_mut().for_each(|slab| slab.watch = None);
    }

    /// Hands out pages while there is room; true when there are no more.
    pub(crate) fn copy_pages(&mut self, room: &mut Room<'_>) -> bool {
        self.slabs.iter_mut().all(|slab| slab.copy_pages(room))
    }

    /// Takes down what is not in the pages.
    pub(crate) fn save(&self, to: &mut Writer) {
        for slab in &self.slabs {
            slab.save(to);
        }
        self.refused.save(to);
    }

    /// A spill without its chunks, and which pages they will come in.
    pub(crate) fn load(
        from: &mut Reader<'_>,
        budget_bytes: u64,
        part: usize,
        awaited: &mut Awaited,
    ) -> Result<Self, Damaged> {
        let mut spill = Self::new(budget_bytes);
        for (unit, slab) in spill.slabs.iter_mut().enumerate() {
            let chunks = slab.load(from, Place::new(Kind::Blocks, part, unit), awaited)?;
            spill.bytes = spill.bytes.saturating_add(slab.chunk_bytes().saturating_mul(chunks));
        }
        spill.refused = u64::load(from)?;
        Ok(spill)
    }

    /// Takes an awaited slab.
    pub(crate) fn fill(&mut self, array: Array) -> Result<(), Damaged> {
        let unit = array.place().unit as usize;
        self.slabs.get_mut(unit).ok_or(Damaged)?.fill(array)
    }

    /// Whether a word of a cell stands for no block or for one that was handed out.
    pub(crate) fn knows(&self, word: u32) -> bool {
        BlockRef::from_word(word)
            .is_none_or(|block| self.slab(block).is_some_and(|(slab, index)| index < slab.fresh))
    }
}

impl Slab {
    fn begin_cut(&mut self, place: Place) {
        let chunks = entries_of(self.block * self.per_chunk as usize);
        self.watch = Watch::new(place, self.blocks(), self.block, chunks * self.per_chunk as usize);
    }

    fn copy_pages(&mut self, room: &mut Room<'_>) -> bool {
        let Some(mut watch) = self.watch.take() else { return true };
        let per_chunk = self.per_chunk as usize;
        let done = watch.copy(room, |blocks, out| {
            // As many chunks as there were when the cut began: whole ones.
            let chunks = &self.chunks[blocks.start / per_chunk..blocks.end / per_chunk];
            chunks.iter().for_each(|chunk| out.extend_from_slice(chunk));
        });
        self.watch = (!done).then_some(watch);
        done
    }

    fn blocks(&self) -> usize {
        self.chunks.len() * self.per_chunk as usize
    }

    fn save(&self, to: &mut Writer) {
        let Self { block: _, per_chunk: _, chunks, free, fresh, used, watch: _ } = self;
        chunks.len().save(to);
        [*free, *fresh, *used].save(to);
    }

    /// Gives how many chunks are awaited.
    fn load(&mut self, from: &mut Reader<'_>, place: Place, awaited: &mut Awaited) -> Result<u64, Damaged> {
        let chunks = usize::load(from)?;
        [self.free, self.fresh, self.used] = Saved::load(from)?;
        let blocks = chunks.checked_mul(self.per_chunk as usize).ok_or(Damaged)?;
        let known = self.fresh as usize <= blocks && self.free <= self.fresh && self.used <= self.fresh;
        if blocks > 0 {
            awaited.add(place, blocks, self.block)?;
        }
        if known { Ok(chunks as u64) } else { Err(Damaged) }
    }

    fn fill(&mut self, array: Array) -> Result<(), Damaged> {
        let words = self.block * self.per_chunk as usize;
        for page in array.into_pages() {
            let chunks = page.chunks_exact(words);
            if !chunks.remainder().is_empty() {
                return Err(Damaged);
            }
            self.chunks.extend(chunks.map(Box::from));
        }
        self.check_free()
    }

    /// The chain of free blocks ends, and within the blocks that were used.
    fn check_free(&self) -> Result<(), Damaged> {
        let mut free = self.free;
        for _ in self.used..self.fresh {
            let index = free.checked_sub(1).filter(|index| *index < self.fresh).ok_or(Damaged)?;
            free = self.block(index)[0];
        }
        if free == 0 { Ok(()) } else { Err(Damaged) }
    }
}
