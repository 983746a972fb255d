//! A directory of checkpoints: cuts of the engine's state on disk.
//!
//! ```text
//!  D/lock                             held by the one process that owns D
//!  D/generation-000000000007/         one checkpoint: segment-0000, segment-0001, ...
//!  D/generation-000000000008.partial/ one that is being written; removed at the next start
//!  D/manifest/                        sled: what there is; can be rebuilt from the segments
//! ```
//!
//! [`Checkpoints`] owns a directory: it begins, publishes and prunes. [`Archive`] reads one, owned or not. A checkpoint is
//! written under another name, synced, and renamed as a whole, so it is there or it is not; only then the manifest is
//! told. Two stay, so disk use stays below three times the state. Every record in a segment has a checksum: what is torn
//! or turned is told with its file and offset, and costs that checkpoint only. Nothing here knows Kafka, or whether the
//! journal holds the line a checkpoint names: who loads one decides by its [`Meta`].

mod archive;
mod checkpoints;
mod error;
mod export;
mod frame;
mod lock;
mod manifest;
mod meta;
mod pages;
mod segment;
mod writer;

pub use self::archive::{Archive, Newest, Skipped};
pub use self::checkpoints::{Checkpoints, Held, KEEP, Owned};
pub use self::error::StateError;
pub use self::export::verify_export;
pub use self::lock::{Holder, holder};
pub use self::meta::{Generation, Meta, Position};
pub use self::pages::Pages;
pub use self::writer::{Step, Steps, Writer, Written};

#[cfg(test)]
mod tests;
