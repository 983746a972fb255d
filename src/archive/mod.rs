//! Interactions with what was decided of them, as a table for analysis that outlives the topics: Parquet.
//!
//! Each row has the event twice: as columns that analysts ask for, and as the whole line of JSON, from which `weir` reads it
//! back. So a file of a newer version is read by an older one, and what no column is for is not lost. Compiled with the cargo
//! feature `parquet`.

#[cfg(feature = "parquet")]
mod columns;
#[cfg(feature = "parquet")]
mod lines;
mod row;
#[cfg(feature = "parquet")]
mod shown;
#[cfg(feature = "parquet")]
mod writer;

#[cfg(feature = "parquet")]
pub use self::lines::Lines;
pub use self::row::{Row, Told};
#[cfg(feature = "parquet")]
pub use self::writer::Writer;

/// What to do about a build that cannot.
pub const HOW: &str = "this build of weir cannot read or write Parquet: build it with `--features parquet`";

#[cfg(all(test, feature = "parquet"))]
mod tests;
