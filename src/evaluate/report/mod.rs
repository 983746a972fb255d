//! What an evaluation tells, as text for a terminal and as one HTML page. Both are made of the same parts.

mod chart;
mod figures;
mod html;
mod section;
mod suite;
mod table;
mod text;
mod words;

pub use self::chart::{Chart, Line};
pub use self::figures::sections;
pub use self::html::{Head, page};
pub use self::section::Section;
pub use self::suite::suite;
pub use self::text::text;
