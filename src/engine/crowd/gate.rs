//! The gate of one target: whether so many people act on it that it is worth looking at them.
//!
//! It opens from `least` people in a window, or from `times` the quantile of what targets have had in such windows, whichever
//! is more, and closes two windows after it was last half as busy. A short window sees a flood, a long one sees what drips.
//! An open gate is no evidence: news opens it too. It is a cell of the record that counts the people on the target: where
//! the trail of it begins, whether it is open, and for each window which one it is in and the most people in it.

use super::quantile::Quantile;
use super::trail::Place;
use crate::engine::plan::{Cell, DimensionPlan, Watched};
use crate::engine::policy::{Gate, People};
use crate::engine::table::{Slot, Table};
use crate::engine::time::{Span, Timestamp};

/// The most windows in which people are counted.
pub(crate) const WINDOWS_MAX: usize = 3;

const TRAIL: usize = 0;
const OPEN: usize = 1;
const WINDOWS: usize = 2;

/// In place of the window in which it was given up, which is never so late.
const IS_OPEN: u32 = u32::MAX;

/// What identifies the cell of a gate over reloads.
pub(crate) const IDENTITY: u64 = 0x6761_7465;

/// The gates of all targets, in the records of the dimension that is watched.
pub(super) struct Gates<'t> {
    table: &'t mut Table,
    cell: Cell,
}

impl<'t> Gates<'t> {
    /// Those of the dimension that is watched; `None` when it has none.
    pub(super) fn of(
        watched: Watched,
        dimensions: &[DimensionPlan],
        tables: &'t mut [Table],
    ) -> Option<Self> {
        let cell = dimensions.get(watched.dimension)?.gate?;
        Some(Self { table: tables.get_mut(watched.dimension)?, cell })
    }

    /// Where the gate of a target is, whenever it was touched last.
    pub(super) fn find(&self, key: u64) -> Option<Slot> {
        self.table.find(key, Timestamp::from_millis(i64::MIN))
    }

    pub(super) fn get(&self, slot: Slot) -> &[u32] {
        self.cell.of(self.table.cells(slot))
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> &mut [u32] {
        self.cell.of_mut(self.table.cells_mut(slot))
    }
}

/// Words of a cell with so many windows.
pub(crate) fn words(windows: usize) -> usize {
    WINDOWS + 2 * windows
}

/// The newest entry on the target.
pub(super) fn trail(words: &[u32]) -> Place {
    Place(words[TRAIL])
}

/// Notes a new entry on the target.
pub(super) fn set_trail(words: &mut [u32], place: Place) {
    words[TRAIL] = place.0;
}

/// Whether it is open.
pub(super) fn is_open(words: &[u32]) -> bool {
    words[OPEN] == IS_OPEN
}

/// Opens or closes it.
pub(super) fn set_open(words: &mut [u32], open: bool) {
    words[OPEN] = if open { IS_OPEN } else { 0 };
}

/// Closes it for want of room: it does not open again in the same (shortest) window.
pub(super) fn give_up(words: &mut [u32]) {
    words[OPEN] = words[WINDOWS];
}

/// Whether it was given up in this window.
pub(super) fn is_given_up(words: &[u32]) -> bool {
    words[OPEN] != 0 && words[OPEN] == words[WINDOWS]
}

/// Notes that so many people act on the target in a window that ends now. Returns the most there were in the one before,
/// when this is the first event of a new one.
pub(super) fn note(
    words: &mut [u32],
    number: usize,
    window: Span,
    people: u64,
    at: Timestamp,
) -> Option<u64> {
    let cell = &mut words[WINDOWS + 2 * number..][..2];
    let turn = at.millis().div_euclid(window.millis().max(1)).clamp(1, i64::from(u32::MAX) - 1) as u32;
    let people = u32::try_from(people).unwrap_or(u32::MAX);
    if turn <= cell[0] {
        cell[1] = cell[1].max(people);
        return None;
    }
    let before = (cell[0] != 0).then_some(u64::from(cell[1]));
    cell.copy_from_slice(&[turn, people]);
    before
}

/// From how many people in a window on a gate opens.
pub(super) fn threshold(people: &People, gate: &Gate, usual: &Quantile) -> u64 {
    let usual = usual.get().unwrap_or(0.0) * gate.times;
    people.least.max(libm::ceil(usual) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_window_tells_its_peak_once() {
        let mut words = [0; 6];
        let minute = Span::from_secs(60);
        let at = |secs: i64| Timestamp::from_millis(1_749_999_960_000 + secs * 1000);
        let told: Vec<_> = [(0, 1), (10, 7), (50, 3), (70, 2), (65, 9), (30, 4), (600, 1)]
            .map(|(secs, people)| note(&mut words, 1, minute, people, at(secs)))
            .into();
        assert_eq!(told, [None, None, None, Some(7), None, None, Some(9)]);
    }

    #[test]
    fn the_floor_holds_until_there_is_a_quantile() {
        let (gate, mut usual) = (Gate { times: 1.5, quantile: 0.99 }, Quantile::default());
        let people = People { signal: 0, window: Span::from_secs(600), least: 10 };
        assert_eq!(threshold(&people, &gate, &usual), 10);
        (0..1024).for_each(|_| usual.feed(40, 0.99, Timestamp::default()));
        assert!((57..=63).contains(&threshold(&people, &gate, &usual)), "1.5 times 40, within 5 %");
    }
}
