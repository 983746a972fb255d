//! Reading: files of events as JSON lines or CSV, plain, gzip or zstd, and files of labels.
//!
//! Nothing here opens a file: readers are handed in with their names. What cannot be read is told with its place,
//! counted, and passed over; the rest is done.

mod csv;
mod faults;
mod guess;
mod labels;
mod mapping;
mod moment;
mod session;
mod source;

pub use self::faults::{Fault, Faults};
pub use self::guess::{Column, Guess, ROWS, guess};
pub use self::labels::Labels;
pub use self::mapping::{Mapping, MappingError};
pub use self::session::{Ear, Format, Input, Session};
pub use self::source::{Broken, unpacked};
