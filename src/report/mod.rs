//! Reports: the same parts as text for a terminal and as one HTML page that needs nothing but itself.
//!
//! A [`Section`] is a title, a table, what is to be said about it, and perhaps charts or a threshold to move. Whoever
//! has something to report makes sections; this room knows none of them. What data says is escaped here and nowhere
//! else, whatever a user calls himself.

mod chart;
mod csp;
mod html;
mod section;
mod slider;
mod table;
mod text;

pub use self::chart::{Chart, Line, X, Y};
pub use self::html::{Head, escaped, page};
pub use self::section::Section;
pub use self::slider::Slider;
pub use self::text::text;
