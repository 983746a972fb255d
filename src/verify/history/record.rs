//! Records of topics as plain data.

use super::verdict::Place;
use crate::engine::time::Timestamp;
use crate::wire::headers::Header;

/// One record of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// Topic.
    pub topic: String,
    /// Partition.
    pub partition: i32,
    /// Offset.
    pub offset: i64,
    /// When the log took it, or its producer made it; `None` where it has no time.
    pub timestamp: Option<Timestamp>,
    /// Key.
    pub key: Option<Vec<u8>>,
    /// Headers, in their order.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    /// A header has a name that is no text: such a record is a dead letter.
    pub unreadable: bool,
    /// Value.
    pub value: Option<Vec<u8>>,
}

/// All that is held of the topics. Lists may be in any order between partitions; within one, in the order of the log.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// What topics are called.
    pub names: Names,
    /// Interactions.
    pub interactions: Vec<LogRecord>,
    /// Operators' commands.
    pub commands: Vec<LogRecord>,
    /// Feedback of services.
    pub feedback: Vec<LogRecord>,
    /// Decisions.
    pub decisions: Vec<LogRecord>,
    /// Bans.
    pub bans: Vec<LogRecord>,
    /// Cases.
    pub cases: Vec<LogRecord>,
    /// Dead letters.
    pub dead_letters: Vec<LogRecord>,
    /// Policies.
    pub policies: Vec<LogRecord>,
    /// The journal; its partitions are the shards.
    pub journal: Vec<LogRecord>,
    /// Offsets that the consumer group has committed, where they were asked for.
    pub committed: Vec<Committed>,
}

/// What the inputs are called: their records are named by it in journal and decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Interactions.
    pub interactions: String,
    /// Commands.
    pub commands: String,
    /// Feedback.
    pub feedback: String,
}

/// One committed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Topic.
    pub topic: String,
    /// Partition.
    pub partition: i32,
    /// The next offset to be read.
    pub next: i64,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            interactions: "engagement.interactions.v1".to_owned(),
            commands: "risk.commands.v1".to_owned(),
            feedback: "risk.feedback.v1".to_owned(),
        }
    }
}

impl LogRecord {
    /// Where it stands.
    pub fn place(&self) -> Place {
        Place { topic: self.topic.clone(), partition: self.partition, offset: self.offset }
    }

    /// Its headers as the wire reads them.
    pub fn headers(&self) -> Vec<Header<'_>> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect()
    }
}

impl History {
    /// All inputs.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &LogRecord> {
        self.interactions.iter().chain(&self.commands).chain(&self.feedback)
    }
}
