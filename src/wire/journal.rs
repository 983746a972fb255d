//! `risk.journal.v1`: one record a batch, from which the same state and the same outputs can be made again.
//!
//! A record names what went in, as offset ranges; the order inside a batch is a pure function of what they hold.
//! The record key is the number of the shard.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ban::BanRecord;
use super::case::CaseRecord;
use super::decision::{CorrectionRecord, SourceRecord};
use super::error::DecodeError;
use super::quantity::EpochMillis;
use super::record::{self, invalid};

/// One batch of one shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Journal record", deny_unknown_fields)]
pub struct JournalRecord {
    /// What the record says; a reader that meets a word it does not know cannot follow the shard any further.
    pub kind: JournalKind,
    /// Which line of state: a new one begins with each reset.
    #[schemars(length(min = 1), example = &"2025-06-15T12:00:00.000Z-0")]
    pub lineage: String,
    /// Number of the record within its lineage, from 0, without gaps.
    #[schemars(example = 41)]
    pub seq: u64,
    /// Hash over the previous chain, the ranges and all output bytes but `decided_at`: 64 hex digits.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"),
        example = &"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub chain: String,
    /// Content hash of the policy that holds from the first input of this batch.
    #[schemars(example = &"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub policy: String,
    /// Hash over everything else that changes outputs: the settings concerned and the version of the engine.
    #[schemars(example = &"60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752")]
    pub basis: String,
    /// Times that were told to the engine before the records of this batch, ascending.
    #[schemars(example = serde_json::json!([1_750_000_000_000_i64]))]
    pub ticks: Vec<EpochMillis>,
    /// What was read, or is lost: at most one range a partition.
    #[schemars(example = serde_json::json!([
        { "topic": "engagement.interactions.v1", "partition": 3, "from": 9, "to": 120 }
    ]))]
    pub ranges: Vec<OffsetRange>,
    /// Records within the ranges that were not applied.
    #[schemars(example = serde_json::json!([{ "source":
        { "topic": "engagement.interactions.v1", "partition": 3, "offset": 10 }, "reason": "engine_fault" }]))]
    pub skipped: Vec<SkippedRecord>,
    /// With `bans` only: the bans in force from here on, a part of them in each such record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = serde_json::json!([]))]
    pub bans: Vec<BanRecord>,
    /// With `bans` only: the cases that are open or remembered from here on, a part of them in each such record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = serde_json::json!([]))]
    pub cases: Vec<CaseRecord>,
    /// With `bans` only: corrections of campaigns that are not found again, a part of them in each such record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(example = serde_json::json!([]))]
    pub corrections: Vec<CorrectionRecord>,
    /// The highest number of a revision that was told up to here; left out while there was none. State that begins anew
    /// begins above it.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(example = 0)]
    pub revised_to: u32,
    /// The next offset of every partition of the shard, after this batch.
    #[schemars(example = serde_json::json!([
        { "topic": "engagement.interactions.v1", "partition": 3, "offset": 120 }
    ]))]
    pub positions: Vec<SourceRecord>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What a record of the journal says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline, extend("examples" = ["batch"], "x-unit" = "word"))]
pub enum JournalKind {
    /// Inputs were applied, and what came of them was told in the same transaction.
    Batch,
    /// State begins anew, with a new lineage and these positions; what was before is void.
    Reset,
    /// Older inputs, from before the positions, were applied to warm the windows up. Nothing of it was told.
    Warm,
    /// The bans that were in force and the cases that were open by their topics are taken over.
    Bans,
    /// The inputs in `ranges` were no longer held when they were to be read, and an operator has accepted their loss.
    /// Nothing was applied.
    Lost,
    /// State is warm. How the bans in force differ from those taken over was told in the same transaction.
    Ready,
}

impl JournalKind {
    /// Whether positions move over its ranges.
    pub fn moves(self) -> bool {
        matches!(self, JournalKind::Batch | JournalKind::Lost)
    }
}

/// Offsets of one partition, half open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct OffsetRange {
    /// Topic.
    #[schemars(example = &"engagement.interactions.v1")]
    pub topic: String,
    /// Partition.
    #[schemars(example = 3)]
    pub partition: i32,
    /// First offset, inclusive.
    #[schemars(example = 9)]
    pub from: i64,
    /// Last offset, exclusive.
    #[schemars(example = 120)]
    pub to: i64,
}

/// A record that was not applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SkippedRecord {
    /// Where it stood.
    #[schemars(example = serde_json::json!(
        { "topic": "engagement.interactions.v1", "partition": 3, "offset": 10 }))]
    pub source: SourceRecord,
    /// Why: a reason of the dead letters.
    #[schemars(example = &"engine_fault")]
    pub reason: String,
}

/// The JSON of a record.
pub fn encode(record: &JournalRecord) -> Vec<u8> {
    record::write(record)
}

/// Reads a record.
///
/// # Errors
/// Whatever the JSON has wrong, and a range that ends before it begins.
pub fn decode(value: Option<&[u8]>) -> Result<JournalRecord, DecodeError> {
    let record: JournalRecord = record::read(value)?;
    match record.ranges.iter().find(|range| range.to < range.from) {
        Some(range) => {
            Err(invalid("ranges", format!("{}-{} ends before it begins", range.topic, range.partition)))
        }
        None => Ok(record),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::input::DeadLetterReason;

    fn record(from: i64, to: i64) -> JournalRecord {
        let source = |offset| SourceRecord { topic: "t".into(), partition: 3, offset };
        JournalRecord {
            kind: JournalKind::Batch,
            lineage: "l".into(),
            seq: 41,
            chain: "0".repeat(64),
            policy: "p".into(),
            basis: "b".into(),
            ticks: vec![EpochMillis(1_750_000_000_000)],
            ranges: vec![OffsetRange { topic: "t".into(), partition: 3, from, to }],
            skipped: vec![SkippedRecord { source: source(10), reason: "engine_fault".into() }],
            bans: Vec::new(),
            cases: Vec::new(),
            corrections: Vec::new(),
            revised_to: 0,
            positions: vec![source(120)],
        }
    }

    #[test]
    fn records_read_back_as_written() {
        assert_eq!(decode(Some(&encode(&record(9, 120)))), Ok(record(9, 120)));
        let error = decode(Some(&encode(&record(9, 8)))).expect_err("backwards");
        assert_eq!((error.reason, error.place.as_str()), (DeadLetterReason::InvalidField, "ranges"));
    }
}
