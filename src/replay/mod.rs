//! The engine without Kafka: replay of files, and the tests of a policy.

mod lines;
mod stream;

pub use self::lines::Lines;
pub use self::stream::{Options, Summary, Watch, replay};
