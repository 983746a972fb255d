//! What is known of keys that have no record: an upper estimate of their counts, in a fixed amount of memory.
//!
//! A count-min sketch with conservative update (Cormode and Muthukrishnan 2005; Estan and Varghese 2002), laid out so that
//! one look is one cache line: a key chooses a block, and in it one of seven cells in each of four rows (blocking as in
//! Putze, Sanders and Singler 2009). There is one sketch for each length of window, of equal size; each block holds the
//! counts of two generations, each as long as the window, and is turned over when it is next touched, so nothing is ever
//! swept. Cells are bytes and saturate.
//!
//! The estimate is never too low while at least half of a block's cells are empty. Beyond that what other keys have raised
//! is taken off, and the estimate says that it is blurred: it then errs low, since a flood shall not have every newcomer
//! refused, and a key that goes on still comes out.

mod saved;

use crate::engine::cut::Watch;
use crate::engine::prefetch::prefetch_line;
use crate::engine::time::{Span, Timestamp};

/// Words of a block: the generation, seven words of the newer and seven of the older counts, one to fill the line.
const BLOCK_WORDS: usize = 16;
const ROWS: usize = 4;
/// Cells of a row.
const ROW: usize = 7;
const CELLS: usize = ROWS * ROW;
/// Words before the newer counts, and before the older ones.
const NEWER: usize = 1;
const OLDER: usize = 8;
/// Which part of a table's budget each sketch takes: a 32nd.
const PART: u64 = 32;
/// Which part all of them take at most: a quarter.
const MOST_IN_ALL: u64 = 4;
/// Shorter windows are estimated over this many milliseconds: generations are numbered in 32 bits.
const SHORTEST: i64 = 1000;

/// Counts of keys without a record. See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overflow {
    sketches: Vec<Sketch>,
    blocks: usize,
    /// Whether any sketch is in use.
    used: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Sketch {
    /// Milliseconds, at least [`SHORTEST`].
    window: i64,
    /// Empty until the first count.
    words: Vec<u32>,
    /// While a cut is under way and the words are not all copied.
    watch: Option<Box<Watch>>,
}

/// What is known of one key in the window that ends now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// In the generation that is under way.
    pub newer: u32,
    /// In the one before it.
    pub older: u32,
    /// What it came to beyond doubt, over both: next to no key that was never counted has any of this.
    pub surely: u32,
    /// When the one under way began; all of `older` came before.
    pub began: Timestamp,
    /// Whether other keys had to be taken off, so that it may be too low.
    pub blurred: bool,
}

impl Estimate {
    /// Over both generations.
    pub fn count(&self) -> u32 {
        self.newer + self.older
    }

    /// Whether nothing is known, and nothing could have been overlooked.
    pub fn is_nothing(&self) -> bool {
        self.count() == 0 && !self.blurred
    }
}

impl Overflow {
    /// Empty sketches for these windows, each once, within a part of a table's budget.
    pub fn new(mut windows: Vec<Span>, budget_bytes: u64) -> Self {
        windows.sort_unstable();
        windows.dedup_by_key(|window| millis(*window));
        let part = PART.max(MOST_IN_ALL * windows.len() as u64);
        let blocks = (budget_bytes / part / (BLOCK_WORDS as u64 * 4)).max(1);
        let sketch = |window: Span| Sketch { window: millis(window), words: Vec::new(), watch: None };
        Self { sketches: windows.into_iter().map(sketch).collect(), blocks: blocks as usize, used: false }
    }

    /// Takes over the sketches of another one for the windows and size that both have.
    #[must_use]
    pub fn succeeding(mut self, old: &Overflow) -> Self {
        if self.blocks == old.blocks {
            for sketch in &mut self.sketches {
                if let Some(known) = old.sketches.iter().find(|known| known.window == sketch.window) {
                    sketch.words.clone_from(&known.words);
                }
            }
        }
        self.used = self.sketches.iter().any(Sketch::is_used);
        self
    }

    /// Its windows in milliseconds and the blocks of each, whatever was counted.
    pub(super) fn shape(&self) -> (Vec<i64>, usize) {
        (self.sketches.iter().map(|sketch| sketch.window).collect(), self.blocks)
    }

    /// Bytes of all sketches once they are in use.
    pub fn bytes(&self) -> u64 {
        self.sketches.len() as u64 * self.sketch_bytes()
    }

    /// Bytes of one of them.
    pub(super) fn sketch_bytes(&self) -> u64 {
        (self.blocks * BLOCK_WORDS * 4) as u64
    }

    /// Whether anything was ever counted.
    #[inline]
    pub fn is_used(&self) -> bool {
        self.used
    }

    /// What is known of a key at `at`, over at least `window`; nothing when no sketch has that window.
    pub fn estimate(&self, window: Span, key: u64, at: Timestamp) -> Estimate {
        let Some(sketch) = self.sketch(window).filter(|sketch| sketch.is_used()) else {
            return Estimate::default();
        };
        let (now, place) = (sketch.generation(at), Place::of(key, self.blocks));
        let began = Timestamp::from_millis((i64::from(now) - 1).saturating_mul(sketch.window));
        let Some(block) = sketch.words.get(place.range()) else {
            return Estimate { began, ..Estimate::default() };
        };
        let read =
            |half: Option<usize>| half.map(|half| place.read(&block[half..half + 7])).unwrap_or_default();
        let newer = read(half_of(block[0], now));
        let older = read(now.checked_sub(1).and_then(|before| half_of(block[0], before)));
        Estimate {
            newer: newer.count,
            older: older.count,
            surely: newer.surely + older.surely,
            began,
            blurred: newer.blurred || older.blurred,
        }
    }

    /// Asks the processor to load what is known of a key.
    pub fn prefetch(&self, window: Span, key: u64) {
        if let Some(sketch) = self.sketch(window).filter(|sketch| sketch.is_used()) {
            prefetch_line(&sketch.words[Place::of(key, self.blocks).range()]);
        }
    }

    fn sketch(&self, window: Span) -> Option<&Sketch> {
        let wanted = millis(window);
        self.sketches.iter().find(|sketch| sketch.window == wanted)
    }

    /// Counts `n` more for a key at `at`.
    pub fn add(&mut self, window: Span, key: u64, n: u32, at: Timestamp) {
        self.update(window, key, at, |place, cells| place.least(cells).saturating_add(n));
    }

    /// Has a key known to have at least `n` at `at`.
    pub fn raise(&mut self, window: Span, key: u64, n: u32, at: Timestamp) {
        // Raising its cells can raise the level that is taken off them; once more, and it is above that.
        for _ in 0..2 {
            self.update(window, key, at, |_, cells| Level::of(cells).taken_off().saturating_add(n));
        }
    }

    /// The words of each sketch, in the order of their windows: all there is to keep. Empty while it is not in use.
    pub fn words(&self) -> impl Iterator<Item = (Span, &[u32])> {
        self.sketches.iter().map(|sketch| (Span::from_millis(sketch.window), sketch.words.as_slice()))
    }

    /// Raises the cells of a key to what `to` makes of the counts that are there.
    fn update(&mut self, window: Span, key: u64, at: Timestamp, to: impl Fn(Place, &[u32]) -> u32) {
        let (blocks, place) = (self.blocks, Place::of(key, self.blocks));
        let wanted = millis(window);
        let Some(sketch) = self.sketches.iter_mut().find(|sketch| sketch.window == wanted) else { return };
        if !sketch.is_used() {
            sketch.words = vec![0; blocks * BLOCK_WORDS];
            self.used = true;
        }
        let now = sketch.generation(at);
        let block = sketch.block_mut(place);
        turn(block, now);
        // What is older than both generations is in no window that ends now.
        let Some(half) = half_of(block[0], now) else { return };
        let cells = &mut block[half..half + 7];
        let raised = to(place, cells).min(u32::from(u8::MAX));
        for row in 0..ROWS {
            let cell = place.cell(row);
            if get(cells, cell) < raised {
                set(cells, cell, raised);
            }
        }
    }
}

impl Sketch {
    fn is_used(&self) -> bool {
        !self.words.is_empty()
    }

    /// The words of a block, to change them: the only way to.
    fn block_mut(&mut self, place: Place) -> &mut [u32] {
        let block = &mut self.words[place.range()];
        if let Some(watch) = &mut self.watch {
            watch.save(place.block, block);
        }
        block
    }

    /// The number of the generation that holds a time; 0 is none.
    fn generation(&self, at: Timestamp) -> u32 {
        let number = at.millis().max(0) / self.window + 1;
        u32::try_from(number).unwrap_or(u32::MAX)
    }
}

fn millis(window: Span) -> i64 {
    window.millis().max(SHORTEST)
}

/// Where a block keeps a generation, if it has it.
fn half_of(held: u32, generation: u32) -> Option<usize> {
    match held.checked_sub(generation) {
        Some(0) if held > 0 => Some(NEWER),
        Some(1) if generation > 0 => Some(OLDER),
        // The block was not touched since the generation before.
        _ => None,
    }
}

/// Makes `now` the newer generation of a block, when it is newer than what is there.
fn turn(block: &mut [u32], now: u32) {
    let held = block[0];
    if now <= held {
        return;
    }
    if now - held == 1 {
        block.copy_within(NEWER..OLDER, OLDER);
    } else {
        block[OLDER..OLDER + 7].fill(0);
    }
    block[NEWER..OLDER].fill(0);
    block[0] = now;
}

/// The block and the cells of a key.
#[derive(Clone, Copy)]
struct Place {
    block: usize,
    cells: u32,
}

impl Place {
    /// Keys are keyed hashes with a counter's name mixed in; mixed once more, since both halves are used.
    fn of(key: u64, blocks: usize) -> Self {
        let mixed = (key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let block = ((mixed >> 32) * blocks as u64) >> 32;
        Self { block: block as usize, cells: mixed as u32 }
    }

    fn range(self) -> std::ops::Range<usize> {
        self.block * BLOCK_WORDS..(self.block + 1) * BLOCK_WORDS
    }

    fn cell(self, row: usize) -> usize {
        row * ROW + (self.cells >> (8 * row) & 0xff) as usize * ROW / 256
    }

    fn least(self, cells: &[u32]) -> u32 {
        (0..ROWS).map(|row| get(cells, self.cell(row))).min().unwrap_or(0)
    }

    /// The count of the key less what other keys have raised.
    fn read(self, cells: &[u32]) -> Reading {
        let least = self.least(cells);
        if least == 0 {
            // Counts only grow: it was never counted, whatever the others did.
            return Reading::default();
        }
        let level = Level::of(cells);
        Reading {
            count: least.saturating_sub(level.taken_off()),
            surely: least.saturating_sub(level.high),
            blurred: level.is_blurred(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    count: u32,
    surely: u32,
    blurred: bool,
}

/// What keys that share their cells have raised.
#[derive(Clone, Copy)]
struct Level {
    /// The middle one of all counts: 0 while half of the cells are empty.
    middle: u8,
    /// The one at three quarters. A key that was never counted has all its four cells above it with a chance of 1 in 256.
    high: u32,
}

impl Level {
    fn of(cells: &[u32]) -> Self {
        // What fills the array up is never among the lower ones.
        let mut counts = [u8::MAX; CELLS.next_multiple_of(16)];
        for (four, word) in counts.chunks_exact_mut(4).zip(cells) {
            four.copy_from_slice(&word.to_le_bytes());
        }
        Self { middle: smallest(&counts, CELLS / 2), high: smallest(&counts, CELLS * 3 / 4).into() }
    }

    fn is_blurred(self) -> bool {
        self.middle > 0
    }

    fn taken_off(self) -> u32 {
        if self.is_blurred() { self.high } else { 0 }
    }
}

/// The count that so many others are not above: bit by bit, since counting along takes less time than sorting.
fn smallest(counts: &[u8; 32], others: usize) -> u8 {
    (0..8).rev().fold(0, |found, bit| {
        let next = found | 1 << bit;
        let below = counts.iter().fold(0u8, |sum, count| sum.wrapping_add(u8::from(*count < next)));
        if usize::from(below) <= others { next } else { found }
    })
}

fn get(cells: &[u32], cell: usize) -> u32 {
    cells[cell / 4] >> (cell % 4 * 8) & 0xff
}

fn set(cells: &mut [u32], cell: usize, count: u32) {
    let shift = cell % 4 * 8;
    cells[cell / 4] = cells[cell / 4] & !(0xff << shift) | count << shift;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const MINUTE: Span = Span::from_secs(60);
    const HOUR: Span = Span::from_secs(3600);

    fn at(secs: i64) -> Timestamp {
        // The begin of an hour.
        Timestamp::from_millis(1_749_996_000_000 + secs * 1000)
    }

    fn key(n: u64) -> u64 {
        let mixed = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    #[test]
    fn counts_are_kept_for_one_to_two_windows() {
        let mut overflow = Overflow::new(vec![HOUR, MINUTE, MINUTE], 1 << 20);
        assert_eq!(overflow.bytes(), 2 * (1 << 20) / 32);
        assert!(!overflow.is_used());
        overflow.add(MINUTE, key(1), 3, at(30));
        overflow.add(MINUTE, key(1), 1, at(65));
        let seen = |overflow: &Overflow, secs| {
            let estimate = overflow.estimate(MINUTE, key(1), at(secs));
            (estimate.older, estimate.newer, estimate.blurred)
        };
        assert_eq!(seen(&overflow, 70), (3, 1, false));
        assert_eq!(overflow.estimate(MINUTE, key(1), at(70)).began, at(60));
        assert_eq!(seen(&overflow, 30), (0, 3, false), "as of then");
        assert_eq!((seen(&overflow, 130), seen(&overflow, 190)), ((1, 0, false), (0, 0, false)));
        assert!(overflow.estimate(HOUR, key(1), at(70)).is_nothing());
        overflow.add(MINUTE, key(1), 1, at(59));
        assert_eq!(seen(&overflow, 70), (4, 1, false), "a late one counts in its own generation");
        overflow.add(MINUTE, key(1), 1, at(-1));
        assert_eq!(seen(&overflow, 70), (4, 1, false), "one too late counts nowhere");
        overflow.raise(MINUTE, key(1), 7, at(70));
        overflow.raise(MINUTE, key(1), 2, at(70));
        assert_eq!(seen(&overflow, 70), (4, 7, false));
    }

    #[test]
    fn counts_saturate() {
        let mut overflow = Overflow::new(vec![HOUR], 1 << 20);
        overflow.add(HOUR, key(1), u32::MAX, at(0));
        overflow.add(HOUR, key(1), 1, at(0));
        assert_eq!(overflow.estimate(HOUR, key(1), at(0)).count(), 255);
    }

    /// 40 keys a block, ten times what it can tell apart: who was never counted is taken for hardly anybody, and who came
    /// 50 times stands out.
    #[test]
    fn a_flood_makes_no_suspects() {
        let mut overflow = Overflow::new(vec![HOUR], 1 << 20);
        let keys = 40 * overflow.blocks as u64;
        for n in 0..keys {
            overflow.add(HOUR, key(n), 1, at(0));
            if n % (keys / 50) == 0 {
                overflow.add(HOUR, key(u64::MAX / 2), 1, at(0));
            }
        }
        let hot = overflow.estimate(HOUR, key(u64::MAX / 2), at(0));
        assert!(hot.blurred && (40..=51).contains(&hot.count()), "{hot:?}");
        let fresh: Vec<u32> =
            (0..10_000).map(|n| overflow.estimate(HOUR, key(keys + n), at(0)).count()).collect();
        let (most, suspects) =
            (fresh.iter().max().copied(), fresh.iter().filter(|count| **count > 1).count());
        assert!(most <= Some(4) && suspects < 200, "{most:?} {suspects}");
    }

    #[test]
    fn a_reload_keeps_the_sketches_of_windows_that_stay() {
        let mut old = Overflow::new(vec![MINUTE, HOUR], 1 << 20);
        old.add(HOUR, key(1), 3, at(0));
        let new = Overflow::new(vec![HOUR, HOUR.times(24)], 1 << 20).succeeding(&old);
        assert_eq!(new.estimate(HOUR, key(1), at(0)).count(), 3);
        let smaller = Overflow::new(vec![HOUR], 1 << 19).succeeding(&old);
        assert!(!smaller.is_used());
        assert_eq!(old.words().map(|(_, words)| words.is_empty()).collect::<Vec<_>>(), [true, false]);
    }

    proptest! {
        #[test]
        fn the_smallest_are_found_as_by_sorting(
            words in prop::array::uniform7(prop_oneof![any::<u32>(), any::<u32>().prop_map(|word| word & 0x0302_0103)]),
        ) {
            let mut sorted: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            sorted.sort_unstable();
            let level = Level::of(&words);
            prop_assert_eq!((level.middle, level.high), (sorted[14], sorted[21].into()));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Never too low, as long as nothing is blurred.
        #[test]
        fn an_estimate_is_an_upper_one(
            steps in prop::collection::vec((0u64..60, 1u32..4, 0i64..20), 1..400),
        ) {
            let mut overflow = Overflow::new(vec![MINUTE], 32 * 64 * 24);
            let mut seen: BTreeMap<u64, Vec<(i64, u32)>> = BTreeMap::new();
            let mut now = 0;
            for (n, count, step) in steps {
                now += step;
                overflow.add(MINUTE, key(n), count, at(now));
                seen.entry(n).or_default().push((now, count));
            }
            for (n, times) in &seen {
                let within = times.iter().filter(|(time, _)| now - time < 60).map(|(_, count)| count).sum::<u32>();
                let estimate = overflow.estimate(MINUTE, key(*n), at(now));
                prop_assert!(estimate.blurred || estimate.count() >= within.min(255), "{:?} {}", estimate, within);
            }
        }
    }
}
