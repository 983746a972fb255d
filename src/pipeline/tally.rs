//! What became of the records of a batch: each ends in exactly one outcome, and the sum is the number consumed.

use std::collections::BTreeMap;

use crate::engine::verdict::Verdict;
use crate::engine::{DeadLetterReason, Outcome};

/// Outcomes and verdicts of some inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records read.
    pub consumed: u64,
    outcomes: BTreeMap<Outcome, u64>,
    verdicts: [u64; Verdict::ALL.len()],
}

impl Tally {
    /// One record was read and ended so.
    pub fn count(&mut self, outcome: Outcome) {
        self.consumed += 1;
        *self.outcomes.entry(outcome).or_default() += 1;
    }

    /// One decision was made.
    pub fn decide(&mut self, verdict: Verdict) {
        self.verdicts[verdict as usize] += 1;
    }

    /// Adds another tally.
    pub fn add(&mut self, other: &Tally) {
        self.consumed += other.consumed;
        for (outcome, count) in &other.outcomes {
            *self.outcomes.entry(*outcome).or_default() += count;
        }
        for (mine, theirs) in self.verdicts.iter_mut().zip(other.verdicts) {
            *mine += theirs;
        }
    }

    /// Outcomes by name; the reasons of dead letters together.
    pub fn outcomes(&self) -> BTreeMap<&'static str, u64> {
        let mut named = BTreeMap::new();
        for (outcome, count) in &self.outcomes {
            *named.entry(outcome.name()).or_default() += count;
        }
        named
    }

    /// Each outcome that occurred.
    pub fn each(&self) -> impl Iterator<Item = (Outcome, u64)> {
        self.outcomes.iter().map(|(outcome, count)| (*outcome, *count))
    }

    /// Dead letters by reason.
    pub fn dead_letters(&self) -> BTreeMap<DeadLetterReason, u64> {
        let dead = self.outcomes.iter().filter_map(|(outcome, count)| match outcome {
            Outcome::DeadLettered(reason) => Some((*reason, *count)),
            _ => None,
        });
        dead.collect()
    }

    /// Decisions by verdict, weakest first.
    pub fn verdicts(&self) -> [(Verdict, u64); Verdict::ALL.len()] {
        Verdict::ALL.map(|verdict| (verdict, self.verdicts[verdict as usize]))
    }

    /// Whether every record that was read ended in an outcome.
    pub fn is_complete(&self) -> bool {
        self.consumed == self.outcomes.values().sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_add_up_to_what_was_read() {
        let mut tally = Tally::default();
        tally.count(Outcome::Decided);
        tally.decide(Verdict::Hold);
        tally.count(Outcome::DeadLettered(DeadLetterReason::NullValue));
        let mut sum = Tally::default();
        sum.add(&tally);
        sum.add(&tally);
        assert!(sum.is_complete());
        assert_eq!(sum.consumed, 4);
        assert_eq!(sum.outcomes(), BTreeMap::from([("decided", 2), ("dead_lettered", 2)]));
        assert_eq!(sum.verdicts()[3], (Verdict::Hold, 2));
        assert_eq!(sum.dead_letters(), BTreeMap::from([(DeadLetterReason::NullValue, 2)]));
    }
}
