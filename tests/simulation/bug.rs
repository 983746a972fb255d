//! Faults that are planted, one at a time, to see that they are found.

use weir::stream::Topic;

/// One fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    LostOutput,
    DoubledOutput,
    /// A checkpoint is published before its record is committed, and taken without asking the journal for its chain.
    AbortedBatchInCheckpoint,
    MergeByArrivalOrder,
    ExpiryMissed,
    ResetForgetsBans,
    CounterResetByReload,
    OffsetCommittedEarly,
}

impl Bug {
    pub const ALL: [Bug; 8] = [
        Bug::LostOutput,
        Bug::DoubledOutput,
        Bug::AbortedBatchInCheckpoint,
        Bug::MergeByArrivalOrder,
        Bug::ExpiryMissed,
        Bug::ResetForgetsBans,
        Bug::CounterResetByReload,
        Bug::OffsetCommittedEarly,
    ];

    /// Whether this record of a transaction does not arrive.
    pub fn loses(self, topic: Topic, is_tombstone: bool, offset: i64) -> bool {
        match self {
            Bug::LostOutput => topic == Topic::Decisions && offset % 100 == 7,
            Bug::ExpiryMissed => topic == Topic::Bans && is_tombstone,
            _ => false,
        }
    }
}
