//! What an evaluation tells: text for a terminal.

mod suite;
mod table;
mod text;

pub use self::suite::suite;
pub use self::text::text;
