//! The bucketed sliding limit: a [`CountSpec`] with a maximum.
//!
//! It is exact while there are few events. Then it may count some too many, never too few: what it lets through
//! is never more than the maximum in any window.

use super::{Judged, LimitError, Used};
use crate::engine::slab::Spill;
use crate::engine::time::{Span, Timestamp};
use crate::engine::window::count::CountSpec;
use crate::engine::window::{Held, Recorded};

/// A sliding count that limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlidingWindow {
    count: CountSpec,
}

impl SlidingWindow {
    pub(super) fn new(window: Span, slots: u32) -> Result<Self, LimitError> {
        if !(10..=100).contains(&slots) {
            return Err(LimitError::Slots(slots));
        }
        Ok(Self { count: CountSpec::new(window, slots) })
    }

    pub(super) fn idle(&self) -> Span {
        self.count.idle()
    }

    pub(super) fn used(&self, cell: &[u32], spill: &Spill, judged: Judged) -> Option<Used> {
        let reading = self.count.read(cell, spill, time(judged.millis()));
        (reading.held != Held::Nothing).then_some(Used { count: reading.count, exact: !reading.coarse })
    }

    pub(super) fn wait(&self, cell: &[u32], spill: &Spill, now: u64, room: u64) -> Span {
        self.count.wait(cell, spill, time(now), room)
    }

    pub(super) fn record(&self, cell: &mut [u32], spill: &mut Spill, judged: Judged, cost: u64) -> Recorded {
        self.count.record(cell, spill, time(judged.millis()), u32::try_from(cost).unwrap_or(u32::MAX))
    }
}

fn time(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis as i64)
}
