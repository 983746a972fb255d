//! The engine without Kafka: replay of files, and the tests of a policy.

mod drive;
mod lines;
mod policy_test;
mod stream;

pub use self::drive::{Drive, Heard, Options};
pub use self::lines::Lines;
pub use self::policy_test::run_test;
pub use self::stream::{Summary, Watch, replay};
