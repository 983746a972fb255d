//! What was decided live: of each event the verdict, and a hash of all that was told but for when.
//!
//! Memory: some 60 bytes an event of the topic of decisions.

use std::collections::HashMap;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::commands::Failure;
use crate::engine::SEMANTICS;
use crate::engine::decision::Decision;
use crate::engine::policy::Policy;
use crate::engine::verdict::Verdict;
use crate::pipeline::{ShardSettings, read_to_end};
use crate::replay::Heard;
use crate::stream::{StreamError, Topic};
use crate::wire::decision::{self, Writer};

/// What follows is when it was decided: the one thing that may differ.
const DECIDED_AT: &[u8] = br#","decided_at":"#;

/// One decision.
#[derive(Clone, Copy)]
struct Told {
    verdict: Verdict,
    bytes: u64,
    same_policy: bool,
}

/// See the module.
pub(super) struct Live {
    told: HashMap<(i32, i64), Told>,
    writer: Writer,
    bytes: Vec<u8>,
    tally: Tally,
}

/// How the candidate's decisions compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    same: u64,
    same_verdict: u64,
    other_verdict: u64,
    other_policy: u64,
    absent: u64,
}

impl Live {
    /// Reads the first decision on each event. Decisions under another policy than this one are only counted. Without a
    /// topic of decisions there is nothing to compare.
    pub(super) fn read(settings: &Arc<ShardSettings>, policy: &Policy) -> Result<Self, Failure> {
        let mut told = HashMap::new();
        let read = read_to_end(settings, Topic::Decisions, |record| {
            let Ok(decided) = decision::decode(record.value) else { return };
            if decided.revision == 0 {
                let verdict = decided.verdict();
                let bytes = fingerprint(record.value.unwrap_or_default());
                let same_policy = decided.policy == *policy.hash;
                let place = (decided.source.partition, decided.source.offset);
                told.insert(place, Told { verdict, bytes, same_policy });
            }
        });
        match read {
            Ok(()) | Err(StreamError::TopicMissing { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Self { told, writer: Writer::default(), bytes: Vec::new(), tally: Tally::default() })
    }

    /// Holds what the candidate decided against it.
    pub(super) fn compare(&mut self, heard: &Heard<'_>) {
        let (Some(judgement), Some((event, arrival))) = (&heard.outputs.judgement, heard.event) else {
            return;
        };
        let count = match self.told.get(&(arrival.partition, arrival.offset)) {
            None => &mut self.tally.absent,
            Some(told) if !told.same_policy => &mut self.tally.other_policy,
            Some(told) => {
                self.bytes.clear();
                let decision = Decision { event, arrival, judgement };
                self.writer.encode(&decision, judgement.effective_at, SEMANTICS, &mut self.bytes);
                match (fingerprint(&self.bytes) == told.bytes, judgement.verdict == told.verdict) {
                    (true, _) => &mut self.tally.same,
                    (false, true) => &mut self.tally.same_verdict,
                    (false, false) => &mut self.tally.other_verdict,
                }
            }
        };
        *count += 1;
    }

    /// In words.
    pub(super) fn told(&self) -> String {
        self.tally.to_string()
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { same, same_verdict, other_verdict, other_policy, absent } = *self;
        let compared = same + same_verdict + other_verdict;
        let share = 100.0 * other_verdict as f64 / compared.max(1) as f64;
        write!(f, "{compared} compared with the candidate's: {same} the same to the last byte, ")?;
        write!(f, "{same_verdict} with the same verdict, {other_verdict} with another one ({share:.3} %)")?;
        if other_policy > 0 {
            write!(f, "; {other_policy} were made under another policy")?;
        }
        if absent > 0 {
            write!(f, "; {absent} are not in the topic of decisions")?;
        }
        Ok(())
    }
}

/// A hash of a decision's bytes up to when it was made.
fn fingerprint(bytes: &[u8]) -> u64 {
    let end = bytes.windows(DECIDED_AT.len()).rposition(|window| window == DECIDED_AT);
    xxh3_64(&bytes[..end.unwrap_or(bytes.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_it_was_decided_is_no_difference() {
        let (one, other) = (br#"{"a":1,"decided_at":5}"#, br#"{"a":1,"decided_at":77}"#);
        assert_eq!(fingerprint(one), fingerprint(other));
        assert_ne!(fingerprint(one), fingerprint(br#"{"a":2,"decided_at":5}"#));
    }

    #[test]
    fn what_agrees_is_told_in_words() {
        let tally = Tally { same: 97, same_verdict: 2, other_verdict: 1, other_policy: 0, absent: 3 };
        assert_eq!(
            tally.to_string(),
            "100 compared with the candidate's: 97 the same to the last byte, 2 with the same verdict, 1 with another \
             one (1.000 %); 3 are not in the topic of decisions"
        );
    }
}
