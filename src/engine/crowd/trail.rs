//! The trail: one bounded log of what was done to targets, each entry chained to the one before it on the same target.
//!
//! It serves what happened before a crowd was noticed: who came first, and which decisions on them are to be corrected.
//! Entries are runs of 64-byte units in a ring that grows to its budget and then overwrites what is oldest, whole
//! entries at a time as far as readers are concerned: a place is only good while its entry is whole, and says itself
//! which target it is on. Memory is an array of units under a watch, so that it can be cut while it is written.

use crate::engine::cut::Watch;

/// Words of a unit: a cache line.
pub(super) const UNIT: usize = 16;
/// Units of a chunk: what memory is taken by.
pub(super) const CHUNK: usize = 1024;
/// Words before the content of an entry: units and target (two words), place of the one before.
const FRONT: usize = 4;

/// Where an entry is: the number of its first unit, counted from the beginning of all time and round again. 0 is
/// nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place(pub(crate) u32);

/// The log.
#[derive(Clone, Debug)]
pub(crate) struct Trail {
    /// Units it may have, a power of two.
    pub(super) most: u32,
    pub(super) chunks: Vec<Chunk>,
    /// The next unit to write to.
    pub(super) head: u32,
    /// Units written, ever.
    pub(super) written: u64,
}

/// Some units.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub(super) words: Box<[u32]>,
    /// While a cut is under way and it is not copied yet.
    pub(super) watch: Option<Box<Watch>>,
}

impl Trail {
    /// An empty one within a budget; at least one chunk of 64 KiB.
    pub(crate) fn new(budget_bytes: u64) -> Self {
        let units = (budget_bytes / (UNIT as u64 * 4)).clamp(CHUNK as u64, 1 << 28);
        let most = 1 << units.ilog2();
        Self { most, chunks: Vec::new(), head: 1, written: 0 }
    }

    /// Appends an entry on a target, behind the one at `before`, and returns its place.
    pub(crate) fn push(&mut self, target: u64, before: Place, content: &[u32]) -> Place {
        let units = (FRONT + content.len()).div_ceil(UNIT);
        // No entry begins at place 0, which is nowhere.
        if self.head == 0 {
            self.advance(1);
        }
        let place = Place(self.head);
        let front = [units as u32, target as u32, (target >> 32) as u32, before.0];
        let (first, rest) = content.split_at(content.len().min(UNIT - FRONT));
        let unit = self.unit_mut(place.0);
        unit[..FRONT].copy_from_slice(&front);
        fill(&mut unit[FRONT..], first);
        for (number, words) in (1..).zip(rest.chunks(UNIT)) {
            fill(self.unit_mut(place.0.wrapping_add(number)), words);
        }
        self.advance(units as u32);
        place
    }

    fn advance(&mut self, units: u32) {
        self.head = self.head.wrapping_add(units);
        self.written += u64::from(units);
    }

    /// The content of an entry, into `content`, and the place of the one before it on this target. `None` when it is no
    /// longer there.
    pub(crate) fn read(&self, place: Place, target: u64, content: &mut Vec<u32>) -> Option<Place> {
        let first = self.unit(place)?;
        let (units, before) = (first[0] as usize, Place(first[3]));
        if target_of(first) != target || units == 0 {
            return None;
        }
        content.clear();
        content.extend(&first[FRONT..]);
        for unit in 1..units {
            content.extend(self.unit(Place(place.0.wrapping_add(unit as u32)))?);
        }
        Some(before)
    }

    /// Writes new words over the beginning of an entry's content, at most 12 from `from` on; false when the entry is no
    /// longer there.
    pub(crate) fn amend(&mut self, place: Place, target: u64, from: usize, words: &[u32]) -> bool {
        let here = self.unit(place).is_some_and(|first| target_of(first) == target);
        let range = FRONT + from..FRONT + from + words.len();
        if !here || range.end > UNIT {
            return false;
        }
        self.unit_mut(place.0)[range].copy_from_slice(words);
        true
    }

    /// Bytes it takes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.chunks.len() * CHUNK * UNIT * 4) as u64
    }

    /// A unit that was written and not overwritten since.
    fn unit(&self, place: Place) -> Option<&[u32]> {
        let back = self.head.wrapping_sub(place.0);
        let held = self.written.min(u64::from(self.most));
        if place.0 == 0 || back == 0 || u64::from(back) > held {
            return None;
        }
        let index = (place.0 & (self.most - 1)) as usize;
        let chunk = self.chunks.get(index / CHUNK)?;
        chunk.words.get(index % CHUNK * UNIT..(index % CHUNK + 1) * UNIT)
    }

    fn unit_mut(&mut self, number: u32) -> &mut [u32] {
        let index = (number & (self.most - 1)) as usize;
        while self.chunks.len() <= index / CHUNK {
            self.chunks.push(Chunk { words: vec![0; CHUNK * UNIT].into(), watch: None });
        }
        let chunk = &mut self.chunks[index / CHUNK];
        let range = index % CHUNK * UNIT..(index % CHUNK + 1) * UNIT;
        if let Some(watch) = &mut chunk.watch {
            watch.save(index % CHUNK, &chunk.words[range.clone()]);
        }
        &mut chunk.words[range]
    }
}

/// Writes words, and zeros behind them.
fn fill(unit: &mut [u32], words: &[u32]) {
    let (front, rest) = unit.split_at_mut(words.len());
    front.copy_from_slice(words);
    rest.fill(0);
}

fn target_of(first: &[u32]) -> u64 {
    u64::from(first[1]) | u64::from(first[2]) << 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Every entry that can still be whole is found along the chain of its target, newest first, and no other.
    #[test]
    fn chains_lead_back_as_far_as_memory_goes() {
        let mut trail = Trail::new(64 << 10);
        assert_eq!(trail.most, 1024);
        let mut last = BTreeMap::<u64, Place>::new();
        let mut told = Vec::new();
        for n in 0..5000u32 {
            let target = u64::from(n * 7 % 13) << 30 | 5;
            let content: Vec<u32> = (0..n % 60).map(|word| n ^ word).collect();
            let place = trail.push(target, last.get(&target).copied().unwrap_or_default(), &content);
            last.insert(target, place);
            told.push((target, content, trail.written));
        }
        for (target, place) in last {
            let (mut place, mut content, mut found) = (place, Vec::new(), Vec::new());
            while let Some(before) = trail.read(place, target, &mut content) {
                found.push(content.clone());
                place = before;
            }
            let whole = |(_, content, end): &&(u64, Vec<u32>, u64)| {
                let units = (FRONT + content.len()).div_ceil(UNIT) as u64;
                trail.written - (end - units) <= 1024
            };
            let expected: Vec<_> =
                told.iter().rev().filter(|entry| entry.0 == target).take_while(whole).collect();
            assert!(!expected.is_empty());
            assert_eq!(found.len(), expected.len());
            for (found, (_, content, _)) in found.iter().zip(expected) {
                assert_eq!(&found[..content.len()], content);
            }
        }
        assert_eq!(trail.bytes(), 64 << 10);
    }

    #[test]
    fn an_entry_can_be_amended_while_it_is_there() {
        let mut trail = Trail::new(64 << 10);
        let place = trail.push(9, Place(0), &[1, 2, 3]);
        assert!(trail.amend(place, 9, 1, &[7, 8]));
        assert!(!trail.amend(place, 8, 1, &[7, 8]) && !trail.amend(place, 9, 11, &[7, 8]));
        let mut content = Vec::new();
        assert_eq!(trail.read(place, 9, &mut content), Some(Place(0)));
        assert_eq!(content[..3], [1, 7, 8]);
        for target in 100..2100 {
            trail.push(target, Place(0), &[0; 12]);
        }
        assert!(!trail.amend(place, 9, 1, &[7, 8]) && trail.read(place, 9, &mut content).is_none());
    }
}
