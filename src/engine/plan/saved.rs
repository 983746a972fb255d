//! What a plan knows that its policy does not say: how much room limits were given by earlier policies, and from when
//! on each counter has seen its whole window.

use std::collections::HashMap;

use super::{Cell, Plan};
use crate::engine::cut::{Damaged, Reader, Saved, Writer, saved};
use crate::engine::policy::Policy;
use crate::engine::time::Timestamp;

/// One cell, as it was laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SavedCell {
    identity: u64,
    words: usize,
    room: usize,
    warm_at: Timestamp,
}

saved!(SavedCell { identity, words, room, warm_at });

impl Plan {
    /// Takes down what the policy does not say.
    pub(crate) fn save(&self, to: &mut Writer) {
        self.saved_cells().save(to);
    }

    /// The plan of a policy with what was taken down; `None` when the cells are not those of the policy.
    pub(crate) fn load(from: &mut Reader<'_>, policy: &Policy) -> Result<Option<Self>, Damaged> {
        let saved: Vec<SavedCell> = Saved::load(from)?;
        let rooms: HashMap<_, _, _> = saved.iter().map(|cell| (cell.identity, cell.room)).collect();
        let mut plan = Self::with_rooms(policy, rooms);
        let mut known = saved.iter();
        plan.each_cell_mut(|cell| {
            if let Some(saved) = known.next() {
                cell.warm_at = saved.warm_at;
            }
        });
        Ok((plan.saved_cells() == saved).then_some(plan))
    }

    fn saved_cells(&self) -> Vec<SavedCell> {
        let saved = |cell: &Cell, room| {
            let Cell { identity, offset: _, words, warm_at } = *cell;
            SavedCell { identity, words, room, warm_at }
        };
        let mut cells = Vec::new();
        for dimension in &self.dimensions {
            cells.extend(dimension.signals.iter().map(|signal| saved(&signal.cell, 0)));
            for limit in &dimension.limits {
                cells.extend(limit.spans.iter().map(|(limit, cell)| saved(cell, limit.room())));
                cells.extend(limit.episode.iter().map(|cell| saved(cell, 0)));
            }
            cells.extend(dimension.gate.iter().map(|cell| saved(cell, 0)));
        }
        cells
    }

    /// In the order of [`Plan::saved_cells`].
    fn each_cell_mut(&mut self, mut each: impl FnMut(&mut Cell)) {
        for dimension in &mut self.dimensions {
            dimension.signals.iter_mut().for_each(|signal| each(&mut signal.cell));
            for limit in &mut dimension.limits {
                limit.spans.iter_mut().for_each(|(_, cell)| each(cell));
                limit.episode.iter_mut().for_each(&mut each);
            }
            dimension.gate.iter_mut().for_each(&mut each);
        }
    }
}
