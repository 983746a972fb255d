//! A sliding sum of signed numbers, in a ring of sub-windows.
//!
//! The numbers are fixed point, in whatever unit the caller chose; each sub-window saturates, never wraps. A
//! reading takes whole sub-windows, so it also holds what came in the part of the oldest ones (one when the
//! sub-window's length divides the window, two otherwise) that lies before the window.
//!
//! Two cells of one spec merge by adding lane to lane.

use super::{Divider, HEADER, Held, Recorded, is_empty, moment, newest, set_header};
use crate::engine::time::{Span, Timestamp};

/// How a sliding sum is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumSpec {
    slot: Divider,
    lanes: Divider,
    /// Sub-windows before the newest one that a reading covers.
    window: u64,
}

/// A reading of a sliding sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The sum over the window.
    pub sum: i64,
    /// How much of the window is held.
    pub held: Held,
}

impl SumSpec {
    /// Sums over `window` (at least 1 ms) in at most `slots` sub-windows (held within 1 and 100).
    pub fn new(window: Span, slots: u32) -> Self {
        Self::build(window.millis().max(1) as u64, u64::from(slots.clamp(1, 100)), 0)
    }

    /// The same, holding numbers for `late` longer than the window.
    #[must_use]
    pub fn holding(self, late: Span) -> Self {
        let slot = self.slot.divisor();
        Self { lanes: Divider::new(self.window + 1 + (late.millis() as u64).div_ceil(slot)), ..self }
    }

    fn build(window: u64, slots: u64, late: u64) -> Self {
        let slot = window.div_ceil(slots);
        let window = window.div_ceil(slot);
        let lanes = window + 1 + late.div_ceil(slot);
        Self { slot: Divider::new(slot), lanes: Divider::new(lanes), window }
    }

    /// Words of a cell.
    pub fn words(&self) -> usize {
        HEADER + 2 * self.lanes.divisor() as usize
    }

    /// The length of a sub-window.
    pub fn slot(&self) -> Span {
        Span::from_millis(self.slot.divisor() as i64)
    }

    /// How long after its last event a cell says nothing any more.
    pub fn idle(&self) -> Span {
        self.slot().times(self.lanes.divisor() as i64 + 1)
    }

    /// The sum over the window that ends at `at`, which is in it.
    pub fn read(&self, cell: &[u32], at: Timestamp) -> Sum {
        if is_empty(cell) {
            return Sum { sum: 0, held: Held::Whole };
        }
        let (last, slot) = (self.slot.quotient(newest(cell)), self.slot.quotient(moment(at)));
        let first_held = (last + 1).saturating_sub(self.lanes.divisor());
        let first = slot.saturating_sub(self.window);
        let held = match slot {
            slot if slot < first_held => Held::Nothing,
            _ if first < first_held => Held::Part,
            _ => Held::Whole,
        };
        let sum: i128 =
            (first.max(first_held)..=slot.min(last)).map(|slot| i128::from(self.get(cell, slot))).sum();
        Sum { sum: sum.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64, held }
    }

    /// Adds `value` at `at`.
    pub fn record(&self, cell: &mut [u32], at: Timestamp, value: i64) -> Recorded {
        let at = moment(at);
        if !self.make_room(cell, at) {
            return Recorded::Backlog;
        }
        let slot = self.slot.quotient(at);
        let sum = self.get(cell, slot).saturating_add(value);
        self.set(cell, slot, sum);
        Recorded::Yes
    }

    /// Moves the newest time to `at` when that is later; false when `at` is older than all that is held.
    fn make_room(&self, cell: &mut [u32], at: u64) -> bool {
        let (last, slot, lanes) =
            (self.slot.quotient(newest(cell)), self.slot.quotient(at), self.lanes.divisor());
        if is_empty(cell) || last + lanes <= slot {
            cell.fill(0);
            set_header(cell, at, 1);
            return true;
        }
        for passed in last + 1..=slot {
            self.set(cell, passed, 0);
        }
        set_header(cell, newest(cell).max(at), 1);
        slot + lanes > last
    }

    fn lane(&self, slot: u64) -> usize {
        HEADER + 2 * self.lanes.remainder(slot) as usize
    }

    fn get(&self, cell: &[u32], slot: u64) -> i64 {
        let lane = self.lane(slot);
        (u64::from(cell[lane]) | u64::from(cell[lane + 1]) << 32) as i64
    }

    fn set(&self, cell: &mut [u32], slot: u64, sum: i64) {
        let lane = self.lane(slot);
        cell[lane] = sum as u32;
        cell[lane + 1] = (sum as u64 >> 32) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SPEC_WINDOW: i64 = 60_000;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_750_000_000_000 + millis)
    }

    #[test]
    fn sums_saturate_at_both_ends() {
        let spec = SumSpec::new(Span::from_secs(60), 12);
        let mut cell = vec![0; spec.words()];
        for value in [i64::MAX, i64::MAX] {
            assert_eq!(spec.record(&mut cell, at(0), value), Recorded::Yes);
        }
        assert_eq!(spec.record(&mut cell, at(5000), -5), Recorded::Yes);
        assert_eq!(spec.read(&cell, at(5000)).sum, i64::MAX - 5);
        assert_eq!(spec.record(&mut cell, at(10_000), i64::MIN), Recorded::Yes);
        assert_eq!(spec.read(&cell, at(10_000)).sum, -6);
        assert_eq!(spec.record(&mut cell, at(10_000), i64::MIN), Recorded::Yes);
        assert_eq!(spec.record(&mut cell, at(15_000), i64::MIN), Recorded::Yes);
        assert_eq!(spec.read(&cell, at(15_000)).sum, i64::MIN);
    }

    #[test]
    fn what_is_older_than_the_ring_is_told() {
        let spec = SumSpec::new(Span::from_secs(60), 12);
        let mut cell = vec![0; spec.words()];
        assert_eq!(spec.record(&mut cell, at(120_000), 3), Recorded::Yes);
        assert_eq!(spec.record(&mut cell, at(40_000), 3), Recorded::Backlog);
        assert_eq!(spec.read(&cell, at(40_000)), Sum { sum: 0, held: Held::Nothing });
        assert_eq!(spec.read(&cell, at(100_000)).held, Held::Part);
        assert_eq!(spec.read(&cell, at(120_000)), Sum { sum: 3, held: Held::Whole });
    }

    proptest! {
        /// Between the sum of the window and that of all sub-windows it touches.
        #[test]
        fn agrees_with_a_list(events in prop::collection::vec((0i64..20_000, -50i64..50), 1..80), slots in 1u32..30) {
            let spec = SumSpec::new(Span::from_millis(SPEC_WINDOW), slots);
            let mut cell = vec![0; spec.words()];
            let (mut now, mut list) = (0, Vec::new());
            for (step, value) in events {
                now += step;
                prop_assert_eq!(spec.record(&mut cell, at(now), value), Recorded::Yes);
                list.push((at(now).millis(), value));
                let slot = spec.slot().millis();
                let covered = (SPEC_WINDOW + slot - 1) / slot;
                let first = (at(now).millis().div_euclid(slot) - covered) * slot;
                let model: i64 = list.iter().filter(|(time, _)| *time >= first).map(|(_, value)| value).sum();
                prop_assert_eq!(spec.read(&cell, at(now)), Sum { sum: model, held: Held::Whole });
                prop_assert!(first <= at(now).millis() - SPEC_WINDOW + 1);
                prop_assert!(first > at(now).millis() - SPEC_WINDOW - 2 * slot);
            }
        }
    }
}
