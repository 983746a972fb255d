//! Corrections of earlier decisions by the live policy and by a candidate, brought together.
//!
//! Each makes them when its own state says so, and a few at a time, so the same correction may come in different batches: one
//! waits for the other's for [`WAIT`] of the stream's time. What the other has not made by then it does not make.

use std::collections::{HashMap, VecDeque};

use super::Compared;
use crate::engine::time::{Span, Timestamp};
use crate::engine::verdict::Verdict;
use crate::stream::Coordinates;

/// How long a correction waits for the other one.
const WAIT: Span = Span::from_secs(60);
/// Corrections that wait at most; the oldest are given up.
const WAITING_MAX: usize = 100_000;

/// Who corrects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Live,
    Candidate,
}

/// A correction that the other side has not made yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    side: Side,
    verdict: Verdict,
    number: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Corrections {
    open: HashMap<Coordinates, Open>,
    /// When each was made, oldest first; those that were met since are still there.
    line: VecDeque<(Timestamp, Coordinates, u64)>,
    made: u64,
}

impl Corrections {
    /// A decision on the event of this record is corrected to this verdict.
    pub(super) fn hear(
        &mut self,
        side: Side,
        (event, verdict): (Coordinates, Verdict),
        now: Timestamp,
        compared: &mut Compared,
    ) {
        match self.open.get_mut(&event) {
            // Corrected again before the other side did: the last one counts.
            Some(open) if open.side == side => open.verdict = verdict,
            Some(open) => {
                let (live, candidate) = match side {
                    Side::Live => (verdict, open.verdict),
                    Side::Candidate => (open.verdict, verdict),
                };
                compared.correct(Some(live), Some(candidate));
                self.open.remove(&event);
            }
            None => {
                self.made += 1;
                self.open.insert(event, Open { side, verdict, number: self.made });
                self.line.push_back((now, event, self.made));
            }
        }
    }

    /// Gives up what has waited long enough.
    pub(super) fn settle(&mut self, now: Timestamp, compared: &mut Compared) {
        while let Some((made, event, number)) = self.line.front().copied()
            && (self.line.len() > WAITING_MAX || now.since(made) >= WAIT)
        {
            self.line.pop_front();
            if self.open.get(&event).is_some_and(|open| open.number == number)
                && let Some(open) = self.open.remove(&event)
            {
                match open.side {
                    Side::Live => compared.correct(Some(open.verdict), None),
                    Side::Candidate => compared.correct(None, Some(open.verdict)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pair;
    use super::*;
    use crate::stream::Topic;

    fn event(offset: i64) -> Coordinates {
        Coordinates { topic: Topic::Interactions, partition: 0, offset }
    }

    fn told(compared: &Compared) -> Vec<(Pair, u64)> {
        compared.corrections().collect()
    }

    #[test]
    fn one_waits_for_the_other_a_minute_and_no_longer() {
        let at = |second: i64| Timestamp::from_millis(1000 * second);
        let (mut corrections, mut compared) = (Corrections::default(), Compared::default());
        corrections.hear(Side::Live, (event(1), Verdict::Hold), at(0), &mut compared);
        corrections.hear(Side::Live, (event(2), Verdict::Hold), at(0), &mut compared);
        corrections.hear(Side::Candidate, (event(3), Verdict::Demote), at(10), &mut compared);
        corrections.settle(at(59), &mut compared);
        assert_eq!(told(&compared), []);
        // Demoted first, then held: what counts is the last.
        corrections.hear(Side::Candidate, (event(3), Verdict::Reject), at(59), &mut compared);
        corrections.hear(Side::Candidate, (event(1), Verdict::Demote), at(59), &mut compared);
        assert_eq!(told(&compared), [((Some(Verdict::Hold), Some(Verdict::Demote)), 1)]);
        corrections.settle(at(60), &mut compared);
        corrections.settle(at(70), &mut compared);
        assert_eq!(
            told(&compared),
            [
                ((None, Some(Verdict::Reject)), 1),
                ((Some(Verdict::Hold), None), 1),
                ((Some(Verdict::Hold), Some(Verdict::Demote)), 1),
            ]
        );
        assert!(corrections.open.is_empty() && corrections.line.is_empty());
    }

    #[test]
    fn what_waits_is_bounded() {
        let (mut corrections, mut compared) = (Corrections::default(), Compared::default());
        for offset in 0..WAITING_MAX as i64 + 5 {
            corrections.hear(Side::Live, (event(offset), Verdict::Hold), Timestamp::default(), &mut compared);
        }
        corrections.settle(Timestamp::default(), &mut compared);
        assert_eq!(told(&compared), [((Some(Verdict::Hold), None), 5)]);
        assert_eq!((corrections.open.len(), corrections.line.len()), (WAITING_MAX, WAITING_MAX));
    }
}
