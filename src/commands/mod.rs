//! What `weir` does when a verb is typed: one file a verb, each with `run(&args) -> exit code`.
//!
//! A verb reads files or asks Kafka, hands the work to the other rooms, and tells what came of it: data on stdout,
//! talk on stderr. Nothing is decided here. What goes wrong becomes a [`Failure`] with its words and its exit code
//! (see [`crate::cli::exit`]). When the reader of stdout goes away (`| head`), the command ends there, silently and
//! with 0: that reader has what it wanted.

pub mod backtest;
pub mod ban;
pub mod check;
pub mod checkpoint;
pub mod evaluate;
pub mod explain;
pub mod export;
pub mod lint;
pub mod map;
mod needless;
pub mod policy;
pub mod promotion;
pub mod replay;
pub mod setup;
pub mod signals;
pub mod simulate;
pub mod suggest;
pub mod sweep;
pub mod test;
pub mod topics;
pub mod verify;

mod failure;
mod fixture;
mod progress;
mod reading;
mod table;
mod topic;

pub use self::failure::{Failure, finish, print, tell};
