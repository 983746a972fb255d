//! What an evaluation tells, as parts of a report.

mod figures;
mod suite;
mod words;

pub use self::figures::{detection, sections};
pub use self::suite::suite;
pub use self::words::{percent, rate};
