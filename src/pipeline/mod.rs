//! Who runs what: threads, batches, transactions, ownership, recovery.
//!
//! ```text
//!  reader threads        shard thread                       committing thread
//!  (one a topic)  --->   gather, score, journal, encode -- job -->   one transaction
//!                 <---   (owns the state)               <- room --   then: told to readers
//!     pause              slices of a checkpoint  -- pages -->  writing thread
//! ```
//!
//! One batch is scored while the one before is committed; nothing else overlaps. `replica.rs` is the state and the line it
//! stands on; owner (`shard.rs`), standby and recovery (`follow.rs`, `recover.rs`, `reset.rs`) apply batches through it and
//! nothing else. State that holds what could not be committed is dropped and restored. What reads the logs again
//! does so through [`Logs`], so that the same code runs on Kafka and on logs in memory.

mod again;
mod batch;
mod candidate;
mod chain;
mod checkpoint;
mod commit;
mod corrected;
mod encode;
mod follow;
mod growth;
mod hits;
mod intake;
mod journal_tail;
mod kafka_logs;
mod lead;
mod line;
mod live;
mod logs;
mod lost;
mod merge;
mod positions;
mod recover;
mod replica;
mod reset;
mod restore;
mod score;
mod shard;
mod shelf;
mod tally;
mod topic_end;
mod touched;

pub use self::batch::Batch;
pub use self::candidate::{Candidate, CandidatePolicy, Compared};
pub use self::chain::{Chain, basis};
pub use self::checkpoint::copy_slice;
pub use self::commit::{Answer, Job, answer, is_in};
pub use self::follow::{Between, Followed, FollowedApart, Follower, Foundry};
pub use self::hits::Hits;
pub use self::kafka_logs::KafkaLogs;
pub use self::line::{Broken, Entry, Line, Positions, Range, Taken};
pub use self::live::{Stage, Surroundings, Told, run_live};
pub use self::logs::{FollowError, JournalPage, Logs};
pub use self::lost::{LostInputs, go_over};
pub use self::merge::Merge;
pub use self::recover::{Candidates, Pages, Start, behind, line_of, revive, start};
pub use self::replica::{Replica, Work};
pub use self::reset::reset;
pub use self::restore::read_bans;
pub use self::score::{Decided, Inputs, Probe, Report, Scorer};
pub use self::shard::{ShardError, ShardSettings, Wishes};
pub use self::tally::Tally;
pub use self::topic_end::read_to_end;
pub use self::touched::{Touched, TouchedBy};
