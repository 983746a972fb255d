//! A table in a cut: its index segment by segment, its records chunk by chunk, its blocks slab by slab, and its other words as a set.

use super::arena::Arena;
use super::index::{FIRST_CAPACITY, PLACE_WORDS, Segment};
use super::{LOBBY, Overflow, Table, TableSpec, stride};
use crate::engine::cut::{Array, Awaited, Damaged, Kind, Place, Reader, Room, Saved, Writer, saved};
use crate::engine::slab::Spill;
use crate::engine::time::Span;

saved!(TableSpec { words, budget_bytes, idle, spills, spill_bytes });

impl TableSpec {
    /// What the cells of a record are, whatever the budget.
    pub(crate) fn cells(&self) -> (usize, &[usize]) {
        (self.words, &self.spills)
    }
}

impl Table {
    /// What it was made for.
    pub(crate) fn spec(&self) -> &TableSpec {
        &self.spec
    }

    /// Whether it could have been made for this.
    pub(crate) fn is_for(&self, spec: &TableSpec, windows: &[Span]) -> bool {
        let fresh = Self::admitting(spec.clone(), windows.to_vec());
        let sketches = |table: &Self| table.overflow.as_ref().map(Overflow::shape);
        self.spec == fresh.spec && sketches(self) == sketches(&fresh)
    }

    /// From here on the table is copied as it is now, as this part of the cut.
    pub(crate) fn begin_cut(&mut self, part: usize) {
        self.release_displaced();
        for (unit, segment) in self.index.iter_mut().enumerate() {
            segment.begin_cut(Place::new(Kind::Index, part, unit));
        }
        self.arena.begin_cut(part);
        self.spill.begin_cut(part);
        self.overflow.iter_mut().for_each(|overflow| overflow.begin_cut(part));
    }

    /// Forgets the cut.
    pub(crate) fn abandon_cut(&mut self) {
        self.index.iter_mut().for_each(Segment::abandon_cut);
        self.arena.abandon_cut();
        self.spill.abandon_cut();
        self.overflow.iter_mut().for_each(Overflow::abandon_cut);
    }

    /// Hands out pages while there is room; true when there are no more.
    pub(crate) fn copy_pages(&mut self, room: &mut Room<'_>) -> bool {
        self.index.iter_mut().all(|segment| segment.copy_pages(room))
            && self.arena.copy_pages(room)
            && self.spill.copy_pages(room)
            && self.overflow.iter_mut().all(|overflow| overflow.copy_pages(room))
    }

    /// Takes down what is not in the pages.
    pub(crate) fn save(&self, to: &mut Writer) {
        // What is not taken down follows from the rest.
        let Self {
            spec,
            index,
            arena,
            places: _,
            empty: _,
            spill,
            expired,
            evicted,
            not_admitted,
            overflow,
            guests_max: _,
            room: _,
            displaced: _,
            made,
            cursor,
            oldest,
            oldest_swept,
        } = self;
        spec.save(to);
        index.iter().for_each(|segment| segment.capacity().save(to));
        let (end, free, used) = arena.numbers();
        (end, free).save(to);
        used.save(to);
        (*expired, *evicted).save(to);
        not_admitted.save(to);
        overflow.is_some().save(to);
        overflow.iter().for_each(|overflow| overflow.save(to));
        (*made, *cursor).save(to);
        (*oldest, *oldest_swept).save(to);
        spill.save(to);
    }

    /// Reads what [`Table::save`] took down: a table without its records, and which pages they will come in.
    pub(crate) fn load(from: &mut Reader<'_>, part: usize, awaited: &mut Awaited) -> Result<Self, Damaged> {
        let spec = TableSpec::load(from)?;
        if spec.spills.iter().any(|word| *word >= spec.words) || spec.words > MOST_WORDS {
            return Err(Damaged);
        }
        let mut table = Self::new(spec);
        for unit in 0..=LOBBY {
            let capacity = usize::load(from)?;
            if capacity > 0 {
                awaited.add(Place::new(Kind::Index, part, unit), capacity, PLACE_WORDS)?;
            }
            if unit != LOBBY {
                table.places += capacity.saturating_sub(FIRST_CAPACITY) as u64;
            }
        }
        let (end, free): (u32, u32) = Saved::load(from)?;
        // Memory is taken for no more records than a table of this budget ever has, guests included.
        if u64::from(end) * table.arena.record_bytes() > table.spec.budget_bytes.saturating_mul(2) {
            return Err(Damaged);
        }
        let stride = stride(table.spec.words);
        table.arena = Arena::awaiting(stride, (end, free, u32::load(from)?))?;
        for (unit, records) in table.arena.awaited() {
            awaited.add(Place::new(Kind::Records, part, unit), records, stride)?;
        }
        (table.expired, table.evicted) = Saved::load(from)?;
        table.not_admitted = Saved::load(from)?;
        table.overflow = bool::load(from)?.then(|| Overflow::load(from, part, awaited)).transpose()?;
        table.set_room();
        (table.made, table.cursor) = Saved::load(from)?;
        (table.oldest, table.oldest_swept) = Saved::load(from)?;
        table.spill = Spill::load(from, table.spec.spill_bytes, part, awaited)?;
        if table.cursor < end { Ok(table) } else { Err(Damaged) }
    }

    /// Index and records agree in number, and every block that a record names was handed out.
    pub(crate) fn check(&self) -> Result<(), Damaged> {
        let indexed: usize = self.index.iter().map(Segment::len).sum();
        let mut sound = indexed == self.arena.used() as usize && self.arena.is_sound();
        let knows = |cells: &[u32]| self.spec.spills.iter().all(|word| self.spill.knows(cells[*word]));
        self.for_each(|_, _, cells| sound &= knows(cells));
        self.for_each_guest(|_, _, cells| sound &= knows(cells));
        if sound { Ok(()) } else { Err(Damaged) }
    }

    /// Takes an awaited segment, slab or sketch.
    pub(crate) fn fill(&mut self, array: Array) -> Result<(), Damaged> {
        let Place { kind, unit, .. } = array.place();
        match kind {
            Kind::Index => {
                let segment = self.index.get_mut(unit as usize).ok_or(Damaged)?;
                *segment = Segment::restored(&array, self.arena.end())?;
                if unit as usize != LOBBY {
                    self.empty -= u32::from(segment.len() > 0);
                }
                Ok(())
            }
            Kind::Records => self.arena.fill(&array),
            Kind::Sketch => self.overflow.as_mut().ok_or(Damaged)?.fill(&array),
            _ => self.spill.fill(array),
        }
    }
}

/// More cells than any policy lays out: four megabytes a record.
const MOST_WORDS: usize = 1 << 20;
