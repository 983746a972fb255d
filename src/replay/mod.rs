//! The engine without Kafka: replay of files, one engine or several before the same records; the tests of a policy.

mod coverage;
mod drive;
mod leader;
mod lines;
mod odd;
mod panel;
mod policy_test;
mod record;
mod settle;
mod stream;
mod unheeded;

pub use self::coverage::{Branch, Coverage, Reached};
pub use self::drive::{Drive, Heard, Options};
pub use self::lines::Lines;
pub use self::odd::{Odd, Oddity};
pub use self::panel::{Panel, Said, Told, Turn};
pub use self::policy_test::{run_covered, run_test};
pub use self::record::{Record, Unread};
pub use self::settle::Settling;
pub use self::stream::{Summary, Watch, replay, replay_revised};
