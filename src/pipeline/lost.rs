//! Inputs that were to be read and are not held: their retention ran out while nothing read them, or their topic was made
//! anew. To go on without them is for an operator to decide.
//!
//! Where that was decided, what is missing is journalled as lost, so that a follower goes over it in the same way. State
//! stays as it is. The positions in a topic that was made anew mean nothing: there state begins anew as well.

use std::fmt;

use crate::clock;
use crate::engine::time::Timestamp;
use crate::metrics;
use crate::stream::{StreamError, Topic, TopicNames};
use crate::wire::journal::JournalKind;

use super::batch::Batch;
use super::commit::Job;
use super::line::{Entry, Positions, Range, Taken};
use super::logs::{FollowError, Logs};
use super::replica::{Replica, Work};

/// One partition that cannot be read on where it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Gap {
    topic: Topic,
    partition: i32,
    name: String,
    /// What should be read next.
    next: i64,
    low: i64,
    high: i64,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Gap { partition, next, low, high, .. } = *self;
        let topic = self.name.clone();
        StreamError::OffsetOutOfRange { topic, partition, offset: next, low, high }.fmt(f)?;
        match self.range() {
            Some(range) => write!(f, ": {} offsets that nobody decided are lost", range.to - range.from),
            None => write!(f, ": the topic was made anew, or is another one"),
        }
    }
}

impl Gap {
    /// What is lost; `None` where the topic was made anew.
    fn range(&self) -> Option<Range> {
        let Gap { topic, partition, next, low, .. } = *self;
        (next < low).then_some(Range { topic, partition, from: next, to: low })
    }
}

/// All inputs that are to be read and are not held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostInputs(Vec<Gap>);

impl fmt::Display for LostInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|gap| write!(f, "{gap}\n       "))?;
        write!(f, "`weir run --accept-lost-inputs` goes on without them, once, and journals what was lost")
    }
}

impl LostInputs {
    /// What of these positions is not held.
    ///
    /// # Errors
    /// The brokers do not answer.
    pub fn find(
        logs: &mut impl Logs,
        names: &TopicNames,
        positions: &Positions,
    ) -> Result<Self, FollowError> {
        let mut gaps = Vec::new();
        for (&(topic, partition), &next) in positions {
            let (low, high) = logs.held(topic, partition)?;
            if !(low..=high).contains(&next) {
                gaps.push(Gap { topic, partition, name: names.get(topic).to_owned(), next, low, high });
            }
        }
        Ok(Self(gaps))
    }

    /// Whether nothing is lost.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a topic was made anew: positions in it mean nothing.
    pub fn made_anew(&self) -> bool {
        self.0.iter().any(|gap| gap.range().is_none())
    }

    /// Tells in the log and the metrics that it is gone on without them.
    pub fn tell(&self) {
        for gap in &self.0 {
            tracing::error!(%gap, "inputs are lost, and it was asked to go on without them");
            metrics::lost_inputs(
                gap.topic.name(),
                gap.range().map_or(0, |range| range.to.abs_diff(range.from)),
            );
        }
    }

    /// Has partitions of topics that were made anew begin where they are held.
    pub(super) fn begin_anew(&self, positions: &mut Positions) {
        let anew = self.0.iter().filter(|gap| gap.range().is_none());
        positions.extend(anew.map(|gap| ((gap.topic, gap.partition), gap.low)));
    }

    /// The entry of the journal that goes over what is lost; `None` when there is nothing of the kind.
    pub(super) fn entry(&self, policy: &str) -> Option<Entry> {
        let ranges: Vec<Range> = self.0.iter().filter_map(Gap::range).collect();
        let (kind, policy) = (JournalKind::Lost, policy.to_owned());
        (!ranges.is_empty()).then(|| Entry { kind, policy, ticks: Vec::new(), ranges, skipped: Vec::new() })
    }
}

/// Goes over inputs that are lost, and journals that.
pub fn go_over(lost: &LostInputs, replica: &mut Replica, job: &mut Job) {
    let policy = replica.scorer.engine().policy().hash.to_string();
    let Some(entry) = lost.entry(&policy) else { return };
    let decided_at: Timestamp = clock::now();
    let batch = Batch::default();
    let work = Work { entry: &entry, policy: None, batch: &batch, taken: Taken::NOTHING, decided_at };
    replica.lead(&work, &std::collections::BTreeSet::new(), job);
}
