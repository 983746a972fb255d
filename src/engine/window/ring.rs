//! A ring of sub-windows with a running total, in a slice of words.
//!
//! Word 0 is the total over the newest sub-window and the `window` ones before it, which always cover the
//! window asked for; the lanes follow, of 16 or 32 bits. Beyond those, lanes may be held for late events.
//! Sub-windows are numbered from 1970 on, so the lane of a sub-window is its number modulo the lanes and the
//! ring keeps no position. The caller keeps the newest number and calls [`Ring::advance`] before it moves it.
//! Counts saturate, never wrap.

use super::{Divider, Held};

/// The geometry of a ring; its counts are in the words passed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ring {
    slot: Divider,
    lanes: Divider,
    /// Sub-windows before the newest one that a reading covers.
    window: u64,
    wide: bool,
}

impl Ring {
    /// Sub-windows of `slot` ms that cover a window of `window` ms, and `late` ms before it.
    pub(crate) fn new(slot: u64, window: u64, late: u64, wide: bool) -> Self {
        let slot = slot.max(1);
        let window = window.div_ceil(slot);
        let lanes = window + 1 + late.div_ceil(slot);
        Self { slot: Divider::new(slot), lanes: Divider::new(lanes), window, wide }
    }

    /// The finest ring of 16-bit counts that fits `words` words.
    pub(crate) fn within(words: usize, window: u64, late: u64) -> Self {
        let finest = window.saturating_add(late).div_ceil(2 * words as u64).max(1);
        let slots = (0..64).map(|quarters| finest.saturating_add(finest.saturating_mul(quarters) / 4));
        let mut rings = slots.map(|slot| Self::new(slot, window, late, false));
        let coarsest = Self::new(window.saturating_add(late), window, late, false);
        rings.find(|ring| ring.words() <= words).unwrap_or(coarsest)
    }

    /// Words needed, the total included.
    pub(crate) fn words(&self) -> usize {
        let lanes = self.lanes() as usize;
        1 + if self.wide { lanes } else { lanes.div_ceil(2) }
    }

    /// Sub-windows held.
    pub(crate) fn lanes(&self) -> u64 {
        self.lanes.divisor()
    }

    /// The length of a sub-window in ms.
    pub(crate) fn slot_millis(&self) -> u64 {
        self.slot.divisor()
    }

    /// The number of the sub-window that holds a time.
    #[inline]
    pub(crate) fn slot_of(&self, time: u64) -> u64 {
        self.slot.quotient(time)
    }

    /// The first time at which the sub-window `slot` is no longer in the window.
    pub(crate) fn leaves_at(&self, slot: u64) -> u64 {
        (slot + self.window + 1) * self.slot_millis()
    }

    /// The oldest sub-window that a reading at `slot` covers.
    pub(crate) fn first_of_window(&self, slot: u64) -> u64 {
        slot.saturating_sub(self.window)
    }

    /// The oldest sub-window held when `newest` is the newest.
    pub(crate) fn first_held(&self, newest: u64) -> u64 {
        (newest + 1).saturating_sub(self.lanes())
    }

    /// Whether `slot` lies before all that is held.
    #[inline]
    pub(crate) fn is_gone(&self, newest: u64, slot: u64) -> bool {
        slot + self.lanes() <= newest
    }

    #[inline]
    fn lane_of(&self, slot: u64) -> usize {
        self.lanes.remainder(slot) as usize
    }

    #[inline]
    fn lane(&self, words: &[u32], lane: usize) -> u32 {
        if self.wide { words[1 + lane] } else { words[1 + lane / 2] >> (lane % 2 * 16) & 0xffff }
    }

    #[inline]
    fn set_lane(&self, words: &mut [u32], lane: usize, count: u32) {
        if self.wide {
            words[1 + lane] = count;
        } else {
            let shift = lane % 2 * 16;
            let word = &mut words[1 + lane / 2];
            *word = *word & !(0xffff << shift) | (count & 0xffff) << shift;
        }
    }

    /// The count of one sub-window that is held.
    pub(crate) fn count_of(&self, words: &[u32], slot: u64) -> u32 {
        self.lane(words, self.lane_of(slot))
    }

    /// Moves the newest sub-window from `from` to `to`: what leaves the window leaves the total. The two are
    /// less than [`Ring::lanes`] apart; otherwise everything has left and the caller starts anew.
    pub(crate) fn advance(&self, words: &mut [u32], from: u64, to: u64) {
        let mut lane = self.lane_of(from);
        let mut leaving = self.lane_of((from + self.lanes()).saturating_sub(self.window));
        let lanes = self.lanes() as usize;
        let saturated = words[0] == u32::MAX;
        for _ in from..to {
            words[0] = words[0].saturating_sub(self.lane(words, leaving));
            lane = next(lane, lanes);
            leaving = next(leaving, lanes);
            self.set_lane(words, lane, 0);
        }
        if saturated {
            words[0] = saturate(self.range(words, self.first_of_window(to), to));
        }
    }

    /// Whether `n` more in `slot` fit its lane.
    #[inline]
    pub(crate) fn fits(&self, words: &[u32], slot: u64, n: u32) -> bool {
        self.wide || self.count_of(words, slot).saturating_add(n) <= 0xffff
    }

    /// Adds `n` to a sub-window that is held.
    #[inline]
    pub(crate) fn add(&self, words: &mut [u32], newest: u64, slot: u64, n: u32) {
        let lane = self.lane_of(slot);
        let count = self.lane(words, lane).saturating_add(n);
        self.set_lane(words, lane, count);
        if slot + self.window >= newest {
            words[0] = words[0].saturating_add(n);
        }
    }

    /// How many more of `n` a sub-window that is held can count.
    #[inline]
    pub(crate) fn room(&self, words: &[u32], slot: u64, n: u32) -> u32 {
        let most = if self.wide { u32::MAX } else { 0xffff };
        n.min(most - self.count_of(words, slot))
    }

    /// Takes one from a sub-window that is held.
    pub(crate) fn take_one(&self, words: &mut [u32], newest: u64, slot: u64) {
        let lane = self.lane_of(slot);
        let count = self.lane(words, lane).saturating_sub(1);
        self.set_lane(words, lane, count);
        if slot + self.window >= newest {
            words[0] = words[0].saturating_sub(1);
        }
    }

    /// The count in the window that ends in sub-window `slot`, as far as it is held.
    #[inline]
    pub(crate) fn read(&self, words: &[u32], newest: u64, slot: u64) -> (u64, Held) {
        if slot == newest {
            return (u64::from(words[0]), Held::Whole);
        }
        if slot > newest {
            return (self.read_ahead(words, newest, slot), Held::Whole);
        }
        let (first, held) = (self.first_of_window(slot), self.first_held(newest));
        if slot < held {
            return (0, Held::Nothing);
        }
        let part = if first < held { Held::Part } else { Held::Whole };
        (self.range(words, first.max(held), slot), part)
    }

    /// The count of all that came after the beginning of the window that ends in sub-window `slot`.
    pub(crate) fn read_since(&self, words: &[u32], newest: u64, slot: u64) -> (u64, Held) {
        if slot >= newest {
            return self.read(words, newest, slot);
        }
        let (first, held) = (self.first_of_window(slot), self.first_held(newest));
        let part = match slot {
            slot if slot < held => Held::Nothing,
            _ if first < held => Held::Part,
            _ => Held::Whole,
        };
        (self.range(words, first.max(held), newest), part)
    }

    /// The time from `at` until at most `room` are left in the window that ends at `at`; zero when that is so already.
    /// `newest` is the newest sub-window.
    pub(crate) fn wait(&self, words: &[u32], newest: u64, at: u64, room: u64) -> u64 {
        let slot = self.slot_of(at);
        let mut left = self.read(words, newest, slot).0;
        if left <= room {
            return 0;
        }
        let first = self.first_of_window(slot).max(self.first_held(newest));
        for old in first..=newest.min(slot) {
            left = left.saturating_sub(u64::from(self.count_of(words, old)));
            if left <= room {
                return self.leaves_at(old) - at;
            }
        }
        0
    }

    /// A reading later than all that was recorded.
    fn read_ahead(&self, words: &[u32], newest: u64, slot: u64) -> u64 {
        let first = self.first_of_window(slot);
        if first > newest {
            return 0;
        }
        let before = self.first_of_window(newest);
        if words[0] == u32::MAX || first - before > newest - first {
            return self.range(words, first, newest);
        }
        let left = if first > before { self.range(words, before, first - 1) } else { 0 };
        u64::from(words[0]) - left
    }

    /// The sum of the sub-windows `first..=last`, all held.
    fn range(&self, words: &[u32], first: u64, last: u64) -> u64 {
        let lanes = self.lanes() as usize;
        let mut lane = self.lane_of(first);
        let mut sum = 0;
        for _ in first..=last {
            sum += u64::from(self.lane(words, lane));
            lane = next(lane, lanes);
        }
        sum
    }
}

#[inline]
fn next(lane: usize, lanes: usize) -> usize {
    if lane + 1 == lanes { 0 } else { lane + 1 }
}

/// A count in 32 bits, the largest when it is larger.
pub(crate) fn saturate(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
