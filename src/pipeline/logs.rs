//! What a follower reads from, whoever keeps the logs: Kafka, or memory in a simulation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::ban::Ban;
use crate::engine::case::Case;
use crate::engine::entity::Entity;
use crate::engine::policy::Policy;
use crate::engine::time::Timestamp;
use crate::stream::{InputProblem, StreamError, Topic};
use crate::wire::decision::DecisionRecord;
use crate::wire::error::DecodeError;
use crate::wire::journal::JournalRecord;

use super::batch::Batch;
use super::line::{Broken, Positions, Range};
use super::lost::LostInputs;

/// A part of a shard's journal.
#[derive(Clone, Debug, Default)]
pub struct JournalPage {
    /// Committed records with their offsets, in order.
    pub records: Vec<(i64, JournalRecord)>,
    /// Where to read on.
    pub next: i64,
}

/// Committed records of one shard's journal and of its inputs.
pub trait Logs {
    /// The first offset that the journal holds, and one past its last committed record, now.
    ///
    /// # Errors
    /// See [`FollowError`].
    fn journal_held(&mut self) -> Result<(i64, i64), FollowError>;

    /// The journal from an offset on. An empty page that does not move means that nothing came within `patience`.
    ///
    /// # Errors
    /// See [`FollowError`].
    fn journal(&mut self, from: i64, patience: Duration) -> Result<JournalPage, FollowError>;

    /// The records of these ranges. `positions` tell where partitions without a range will be read on.
    ///
    /// # Errors
    /// See [`FollowError`].
    fn batch(&mut self, ranges: &[Range], positions: &Positions) -> Result<Batch, FollowError>;

    /// Takes a batch back that is done with: its room can be used again.
    fn recycle(&mut self, batch: Batch) {
        drop(batch);
    }

    /// The policy of this hash.
    ///
    /// # Errors
    /// See [`FollowError`].
    fn policy(&mut self, hash: &str) -> Result<Arc<Policy>, FollowError>;

    /// The newest committed record of the journal; `None` when it holds none.
    ///
    /// # Errors
    /// See [`FollowError`].
    fn newest(&mut self) -> Result<Option<JournalRecord>, FollowError>;

    /// The first offset that a partition holds, and one past its last committed record, now.
    ///
    /// # Errors
    /// See [`FollowError`].
    fn held(&mut self, topic: Topic, partition: i32) -> Result<(i64, i64), FollowError>;

    /// Where the group goes on in each partition of an input topic; `None` where nothing was ever committed.
    ///
    /// # Errors
    /// See [`FollowError`].
    fn committed(&mut self, topic: Topic) -> Result<Vec<Option<i64>>, FollowError>;

    /// The first offset at or after a time in each partition of an input topic; `None` where all is older.
    ///
    /// # Errors
    /// See [`FollowError`].
    fn at_time(&mut self, topic: Topic, at: Timestamp) -> Result<Vec<Option<i64>>, FollowError>;

    /// All bans that their topic holds, by entity and strongest first.
    ///
    /// # Errors
    /// See [`FollowError`].
    fn bans(&mut self) -> Result<BTreeMap<Entity, Vec<Ban>>, FollowError>;

    /// Every case by its id, as its topic tells it last.
    ///
    /// # Errors
    /// See [`FollowError`].
    fn cases(&mut self) -> Result<BTreeMap<String, Case>, FollowError>;

    /// Shows every decision that was told at or after a time to `each`, of one partition in the order of its log.
    ///
    /// # Errors
    /// See [`FollowError`].
    fn decisions(
        &mut self,
        since: Timestamp,
        each: &mut dyn FnMut(DecisionRecord),
    ) -> Result<(), FollowError>;
}

/// Why the journal cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The brokers, a topic or an offset.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A partition cannot be read on.
    #[error("{}: {}", .0.topic, .0.error)]
    Input(InputProblem),
    /// A record of the journal does not follow from the state at hand.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// A record of the journal cannot be read.
    #[error("the journal at offset {offset} cannot be read: {error}")]
    Unreadable {
        /// Where it stands.
        offset: i64,
        /// What is wrong with it.
        error: DecodeError,
    },
    /// What is to be read next is not held.
    #[error("{0}")]
    Lost(LostInputs),
    /// The text of a policy is not to be had.
    #[error("the topic of policies does not hold the policy {hash}: {reason}")]
    Policy {
        /// Its content hash.
        hash: String,
        /// What is wrong.
        reason: String,
    },
}

impl FollowError {
    /// Whether what is to be read is no longer there, or was made by another version: state has to begin anew.
    pub fn needs_reset(&self) -> bool {
        let lost = |error: &StreamError| matches!(error, StreamError::OffsetOutOfRange { .. });
        match self {
            FollowError::Stream(error) => lost(error),
            FollowError::Input(problem) => lost(&problem.error),
            FollowError::Broken(broken) => matches!(broken, Broken::Basis { .. }),
            FollowError::Policy { .. } => true,
            FollowError::Unreadable { .. } | FollowError::Lost(_) => false,
        }
    }
}
