//! How a candidate compares in all, for each pair of policies that ran beside each other.

use std::sync::Arc;

use super::{Compared, Pair};
use crate::engine::time::Timestamp;
use crate::wire::shadow_tally::{DisagreedRecord, ShadowTallyRecord};

/// Pairs of policies that are counted at most; the one that was compared longest ago is given up.
const PAIRS_MAX: usize = 16;

/// The live policy and the candidate, by their hashes.
pub(super) type Policies = (Arc<str>, Arc<str>);

/// See the module. The pair compared last is at the end: one that comes back goes on where it was.
#[derive(Debug, Default)]
pub(super) struct Tallies(Vec<(Policies, Compared)>);

impl Tallies {
    /// Counts a batch; gives all that was counted of these policies.
    pub(super) fn hear(&mut self, policies: Policies, compared: &Compared) -> &Compared {
        let known = self.0.iter().position(|(known, _)| *known == policies);
        let mut tally = known.map_or_else(|| (policies, Compared::default()), |place| self.0.remove(place));
        tally.1.add(compared);
        if self.0.len() == PAIRS_MAX {
            self.0.remove(0);
        }
        let last = self.0.len();
        self.0.push(tally);
        &self.0[last].1
    }
}

/// What was counted, as it is told.
pub(super) fn record(
    (live, candidate): &Policies,
    (shard, since): (u32, Option<Timestamp>),
    compared: &Compared,
) -> ShadowTallyRecord {
    let mut record = ShadowTallyRecord {
        candidate: candidate.to_string(),
        policy: live.to_string(),
        shard,
        since: since.map(Into::into),
        first_event: compared.span.map(|(first, _)| first.into()),
        last_event: compared.span.map(|(_, last)| last.into()),
        ..ShadowTallyRecord::default()
    };
    compared.each().for_each(|counted| count(&mut record, counted));
    record
}

fn count(record: &mut ShadowTallyRecord, (pair, count): (Pair, u64)) {
    match pair {
        (Some(live), Some(theirs)) => {
            record.decisions += count;
            if live != theirs {
                let (actual_verdict, would_be) = (live.into(), theirs.into());
                record.disagreed.push(DisagreedRecord { actual_verdict, would_be, decisions: count });
            }
        }
        (Some(_), None) => record.only_live += count,
        (None, Some(_)) => record.only_candidate += count,
        (None, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::verdict::Verdict::{self, Allow, Hold};

    fn policies(live: &str, candidate: &str) -> Policies {
        (live.into(), candidate.into())
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(1_750_000_000_000 + 1000 * second)
    }

    fn agreed(second: i64) -> Compared {
        let mut compared = Compared::default();
        compared.both(at(second), Allow, Allow);
        compared
    }

    #[test]
    fn all_is_counted_under_what_it_is() {
        let mut compared = agreed(7);
        compared.both(at(5), Allow, Hold);
        compared.both(at(9), Hold, Allow);
        compared.both(at(6), Allow, Hold);
        compared.count(Some(Hold), None);
        compared.count(None, Some(Allow));
        let told = record(&policies("l", "c"), (3, Some(at(0))), &compared);
        assert_eq!((told.policy.as_str(), told.candidate.as_str(), told.shard), ("l", "c", 3));
        let times = [told.since, told.first_event, told.last_event].map(|at| at.map(Timestamp::from));
        assert_eq!(times, [Some(at(0)), Some(at(5)), Some(at(9))]);
        assert_eq!((told.decisions, told.only_live, told.only_candidate, told.events()), (4, 1, 1, 6));
        let pair = |actual: Verdict, would_be: Verdict, decisions| DisagreedRecord {
            actual_verdict: actual.into(),
            would_be: would_be.into(),
            decisions,
        };
        assert_eq!(told.disagreed, [pair(Allow, Hold, 2), pair(Hold, Allow, 1)]);
    }

    #[test]
    fn policies_that_come_back_go_on_and_pairs_are_bounded() {
        let mut tallies = Tallies::default();
        let mut hear = |live: &str, second| {
            let all = tallies.hear(policies(live, "c"), &agreed(second));
            (all.each().map(|(_, count)| count).sum::<u64>(), all.span)
        };
        assert_eq!(hear("a", 10), (1, Some((at(10), at(10)))));
        assert_eq!(hear("b", 20), (1, Some((at(20), at(20)))));
        assert_eq!(hear("a", 30), (2, Some((at(10), at(30)))));
        for number in 0..PAIRS_MAX {
            assert_eq!(hear(&format!("p{number}"), 40).0, 1);
        }
        assert_eq!(hear("a", 50), (1, Some((at(50), at(50)))), "it was given up");
        assert_eq!(tallies.0.len(), PAIRS_MAX);
    }
}
