//! Who runs what.

mod batch;
mod merge;
mod tally;

pub use self::batch::Batch;
pub use self::merge::Merge;
pub use self::tally::Tally;
