//! What a checkpoint says of itself.

use serde::{Deserialize, Serialize};

/// Everything needed to know whether a checkpoint fits, and to go on from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Version of the engine's semantics it was made by.
    pub semantics: String,
    /// Hash over the settings outside the policy that change outputs.
    pub basis: String,
    /// Content hash of the policy that held.
    pub policy: String,
    /// The policy's texts, by path.
    pub policy_sources: Vec<(String, String)>,
    /// Which line of state.
    pub lineage: String,
    /// Number of the last journal record that is in it.
    pub seq: u64,
    /// The chain after that record, 64 hex digits.
    pub chain: String,
    /// An offset of the journal at or before that record's: where to begin looking for it.
    pub journal_from: i64,
    /// The next offset of every input partition.
    pub positions: Vec<Position>,
    /// When it was begun: milliseconds since the epoch, by the wall clock.
    pub created_at: i64,
}

/// The next offset to be read of an input partition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// Full name of the topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The next offset.
    pub offset: i64,
}

/// One checkpoint, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation {
    /// Its number; a later one has a higher number.
    pub generation: u64,
    /// Version of the engine's semantics it was made by.
    pub semantics: String,
    /// Hash over the settings outside the policy that change outputs.
    pub basis: String,
    /// Content hash of the policy that held.
    pub policy: String,
    /// Which line of state.
    pub lineage: String,
    /// Number of the last journal record that is in it.
    pub seq: u64,
    /// The chain after that record.
    pub chain: String,
    /// Where to begin looking for that record in the journal.
    pub journal_from: i64,
    /// When it was begun: milliseconds since the epoch.
    pub created_at: i64,
    /// Its segment files.
    pub files: u32,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl Generation {
    /// What a list shows of a checkpoint of `files` files and `bytes` bytes.
    pub fn of(generation: u64, meta: &Meta, files: u32, bytes: u64) -> Self {
        Self {
            generation,
            semantics: meta.semantics.clone(),
            basis: meta.basis.clone(),
            policy: meta.policy.clone(),
            lineage: meta.lineage.clone(),
            seq: meta.seq,
            chain: meta.chain.clone(),
            journal_from: meta.journal_from,
            created_at: meta.created_at,
            files,
            bytes,
        }
    }
}
