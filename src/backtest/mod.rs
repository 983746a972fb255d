//! A backtest: events that were, through several policies at once, and what would have been otherwise.
//!
//! ```text
//!  whoever reads -> Pass -> Panel (one engine a policy) -> Ledger of each, Contrast of each pair -> Findings
//!                    |                                                                            -> JSON, markdown, page
//!                    `- Range: what is passed over, what only warms up, what counts                -> Gate (--fail-on)
//! ```
//!
//! [`Pass`] takes records from whoever reads them, a file or a topic, and knows neither. It runs the engine that runs
//! live; nothing here decides anything, opens a file or reads a clock. The same records, policies and range give the
//! same findings, to the last digit.
//!
//! Memory does not grow with the events: counts are by rule, verdict, score and time; of accounts a sample of bounded
//! size is kept ([`sample`]), exact while it is not full, and what is an estimate says so. Only labels grow: with
//! accounts, and by 12 bytes an event.

mod actor;
mod beside;
mod contrast;
mod costs;
mod figures;
mod findings;
mod fixture;
mod gate;
mod ledger;
mod markdown;
mod origin;
mod pass;
mod range;
pub mod sample;
mod scores;
mod sections;
mod speakers;
mod thin;
mod timeline;
mod top;
mod weighed;

pub use self::actor::{Mask, Name};
pub use self::beside::Beside;
pub use self::costs::{Costs, Spoken};
pub use self::figures::{FIGURES, Figure, Known, Value, Values};
pub use self::findings::Findings;
pub use self::fixture::{EVENTS_MAX as FIXTURE_EVENTS_MAX, Finder, Fixture, Found, Gatherer};
pub use self::gate::{Gate, GateError, Ruling};
pub use self::markdown::markdown;
pub use self::origin::{BeganEmpty, Cut, Origin, PassedOver};
pub use self::pass::{Pass, Ran, Side};
pub use self::range::{Part, Passed, Range};
pub use self::sections::sections;
pub use self::thin::{Scout, Thin, Who};
