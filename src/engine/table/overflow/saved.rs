//! What is known of keys without a record, in a cut: the sketches are arrays of blocks, copied like records.

use super::{BLOCK_WORDS, Overflow, Sketch};
use crate::engine::cut::{
    Array, Awaited, Damaged, Kind, Place, Reader, Room, Saved, Watch, Writer, entries_of,
};

impl Overflow {
    /// From here on the sketches are copied as they are now.
    pub(crate) fn begin_cut(&mut self, part: usize) {
        for (unit, sketch) in self.sketches.iter_mut().enumerate() {
            let (place, blocks) = (Place::new(Kind::Sketch, part, unit), sketch.words.len() / BLOCK_WORDS);
            sketch.watch = Watch::new(place, blocks, BLOCK_WORDS, entries_of(BLOCK_WORDS));
        }
    }

    /// Forgets the cut.
    pub(crate) fn abandon_cut(&mut self) {
        self.sketches.iter_mut().for_each(|sketch| sketch.watch = None);
    }

    /// Hands out pages while there is room; true when there are no more.
    pub(crate) fn copy_pages(&mut self, room: &mut Room<'_>) -> bool {
        self.sketches.iter_mut().all(|sketch| sketch.copy_pages(room))
    }

    /// Takes down what is not in the pages.
    pub(crate) fn save(&self, to: &mut Writer) {
        let Self { sketches, blocks, used: _ } = self;
        blocks.save(to);
        to.push(sketches.len() as u32);
        for Sketch { window, words, watch: _ } in sketches {
            (*window, !words.is_empty()).save(to);
        }
    }

    /// Sketches without their words, and which pages those will come in.
    pub(crate) fn load(from: &mut Reader<'_>, part: usize, awaited: &mut Awaited) -> Result<Self, Damaged> {
        let blocks = usize::load(from)?;
        let known: Vec<(i64, bool)> = Saved::load(from)?;
        let mut sketches = Vec::new();
        for (unit, (window, used)) in known.into_iter().enumerate() {
            if used {
                awaited.add(Place::new(Kind::Sketch, part, unit), blocks, BLOCK_WORDS)?;
            }
            sketches.push(Sketch { window, words: Vec::new(), watch: None });
        }
        Ok(Self { sketches, blocks, used: false })
    }

    /// Takes an awaited sketch.
    pub(crate) fn fill(&mut self, array: &Array) -> Result<(), Damaged> {
        let sketch = self.sketches.get_mut(array.place().unit as usize).ok_or(Damaged)?;
        sketch.words = array.words().flatten().copied().collect();
        self.used |= sketch.is_used();
        Ok(())
    }
}

impl Sketch {
    fn copy_pages(&mut self, room: &mut Room<'_>) -> bool {
        let Some(mut watch) = self.watch.take() else { return true };
        let words = |blocks: std::ops::Range<usize>| blocks.start * BLOCK_WORDS..blocks.end * BLOCK_WORDS;
        let done = watch.copy(room, |blocks, out| out.extend_from_slice(&self.words[words(blocks)]));
        self.watch = (!done).then_some(watch);
        done
    }
}
