//! Who runs what: threads, batches, transactions, ownership.
//!
//! ```text
//!  reader threads        shard thread                       committing thread
//!  (one a topic)  --->   gather, score, encode   --- job -->   one transaction
//!                 <---   (owns the engine)       <-- room --   then: told to readers
//!     pause              commands before events              offsets, outputs: all or nothing
//! ```
//!
//! One batch is scored while the one before is committed; nothing else overlaps. State that holds what could not be
//! committed is dropped, and the shard acquired anew. `score` knows no broker: live and tests run the same.

mod batch;
mod commit;
mod encode;
mod hits;
mod lead;
mod live;
mod merge;
mod restore;
mod score;
mod shard;
mod tally;

pub use self::batch::Batch;
pub use self::hits::Hits;
pub use self::live::{Stage, Surroundings, Told, run_live};
pub use self::merge::Merge;
pub use self::restore::read_bans;
pub use self::score::{Report, Scorer, Touched, TouchedBy};
pub use self::shard::{Shard, ShardError, ShardSettings, Wishes};
pub use self::tally::Tally;
