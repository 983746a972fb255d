//! The bucketed sliding limit: a [`CountSpec`] with a maximum.
//!
//! It is exact while there are few events. Then it may count some too many, never too few: what it lets through
//! is never more than the maximum in any window. A late event is judged where its own
//! window is held as a whole: while there are few events and none was dropped since the key was last silent for a window.

use super::{Judged, LimitError, Used};
use crate::engine::slab::Spill;
use crate::engine::time::{Span, Timestamp};
use crate::engine::window::Recorded;
use crate::engine::window::count::CountSpec;

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
        self.holds(cell, spill, judged).then_some(Used { count: reading.count, exact: !reading.coarse })
    }

    pub(super) fn wait(&self, cell: &[u32], spill: &Spill, now: u64, room: u64) -> Span {
        self.count.wait(cell, spill, time(now), room)
    }

    pub(super) fn record(&self, cell: &mut [u32], spill: &mut Spill, judged: Judged, cost: u64) -> Recorded {
        if !self.holds(cell, spill, judged) {
            return Recorded::Backlog;
        }
        self.count.record(cell, spill, time(judged.millis()), u32::try_from(cost).unwrap_or(u32::MAX))
    }

    fn holds(&self, cell: &[u32], spill: &Spill, judged: Judged) -> bool {
        match judged {
            Judged::Now(_) => true,
            Judged::Late(at) => self.count.holds(cell, spill, time(at)),
        }
    }
}

fn time(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis as i64)
}
