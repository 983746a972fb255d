//! What an evaluation tells: text for a terminal.

mod text;

pub use self::text::text;
