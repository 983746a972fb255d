//! Behind the end of an input: time goes on for a minute in steps of a second, as it does on an idle stream; then it is asked
//! on until nothing waits and nothing was told for a while, for corrections are made a few with each input.

use crate::engine::time::Span;

/// How long time goes on, seconds.
const SECONDS: i64 = 60;
/// So many ticks without a revision are the end.
const SILENT_TICKS: u32 = 256;
/// The end, whatever comes: 64 revisions a tick are 64 million.
const TICKS_MAX: i64 = 1_000_000;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settling {
    ticks: i64,
    silent: u32,
}

impl Settling {
    /// How long after the last event the next tick is; `None` at the end. `waits`: revisions are still to be told. Beyond the
    /// minute only what is under way goes on; nothing else is to expire.
    pub fn next(&mut self, waits: bool) -> Option<Span> {
        let settled = self.ticks >= SECONDS && !waits && self.silent >= SILENT_TICKS;
        if settled || self.ticks >= TICKS_MAX {
            return None;
        }
        self.ticks += 1;
        Some(Span::from_secs(self.ticks.min(SECONDS)))
    }

    /// Whether the last tick told revisions.
    pub fn told(&mut self, revisions: bool) {
        self.silent = if revisions { 0 } else { self.silent.saturating_add(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_while_something_waits_or_is_told() {
        let mut settling = Settling::default();
        let (mut ticks, mut last) = (0, Span::ZERO);
        while let Some(after) = settling.next(ticks < 300) {
            ticks += 1;
            settling.told(ticks == 100);
            last = after;
        }
        // Silent since tick 100, and 256 ticks more.
        assert_eq!((ticks, last), (356, Span::from_secs(60)));
    }
}
