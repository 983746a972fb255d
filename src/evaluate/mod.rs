//! How well it detects: labelled events through the engine, and figures with how sure they are.
//!
//! [`Trial`] drives labelled lines through the very engine that runs live and keeps a [`Book`]; [`Figures`] are worked
//! out of the book at the end. Labels come from a file ([`read`]), from a column of the data, or from the simulator.
//! Nothing here decides anything, reads a clock or opens a file. The same events, labels and policy give the same
//! figures, to the last digit. The last verdict on an event counts: a revision supersedes what was said before.

pub mod ablation;
pub mod book;
pub mod bounds;
pub mod cause;
pub mod figures;
pub mod interval;
pub mod label;
pub mod read;
mod rehearsal;
pub mod report;
pub mod suite;
mod trial;

pub use self::book::Book;
pub use self::figures::Figures;
pub use self::label::{GroupId, Groups, Kind, Label};
pub use self::rehearsal::Rehearsal;
pub use self::trial::Trial;
