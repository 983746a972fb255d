//! The topics of weir: their names, and how each must be set up.
//!
//! A [`Topic`] is a closed set, so it serves as an index everywhere; names carry a prefix that lets several
//! installations share a cluster. [`TopicPlan::specs`] says for each topic how many partitions and which settings
//! it needs. What creates and compares them on a broker is in [`super::admin`].

use std::fmt;
use std::sync::Arc;

/// One of weir's topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Topic {
    /// Interaction events, in.
    Interactions,
    /// Operator actions, in.
    Commands,
    /// What services learn after a decision, in.
    Feedback,
    /// The text of each policy that was ever live, in and out, compacted.
    Policies,
    /// One decision an event and its revisions, out.
    Decisions,
    /// The current ban of each entity, out, compacted.
    Bans,
    /// Cases, out, compacted.
    Cases,
    /// What rules in shadow would have done, out.
    Shadow,
    /// Records that could not be decided, out, byte for byte.
    DeadLetters,
    /// One record a batch, internal: its partitions are the shards.
    Journal,
}

impl Topic {
    /// All topics, in the order of their declaration.
    pub const ALL: [Topic; 10] = [
        Topic::Interactions,
        Topic::Commands,
        Topic::Feedback,
        Topic::Policies,
        Topic::Decisions,
        Topic::Bans,
        Topic::Cases,
        Topic::Shadow,
        Topic::DeadLetters,
        Topic::Journal,
    ];

    /// What is read and applied, in the order in which the records of a batch are: people first.
    pub const INPUTS: [Topic; 3] = [Topic::Commands, Topic::Feedback, Topic::Interactions];

    /// The name without a prefix.
    pub const fn name(self) -> &'static str {
        match self {
            Topic::Interactions => "engagement.interactions.v1",
            Topic::Commands => "risk.commands.v1",
            Topic::Feedback => "risk.feedback.v1",
            Topic::Policies => "risk.policies.v1",
            Topic::Decisions => "risk.decisions.v1",
            Topic::Bans => "risk.bans.v1",
            Topic::Cases => "risk.cases.v1",
            Topic::Shadow => "risk.shadow.v1",
            Topic::DeadLetters => "risk.dead-letters.v1",
            Topic::Journal => "risk.journal.v1",
        }
    }

    /// A number from 0 to 9, in the order of declaration.
    pub const fn index(self) -> usize {
        match self {
            Topic::Interactions => 0,
            Topic::Commands => 1,
            Topic::Feedback => 2,
            Topic::Policies => 3,
            Topic::Decisions => 4,
            Topic::Bans => 5,
            Topic::Cases => 6,
            Topic::Shadow => 7,
            Topic::DeadLetters => 8,
            Topic::Journal => 9,
        }
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The full names of all topics, shared by all that read and write them.
#[derive(Clone, Debug)]
pub struct TopicNames {
    names: Arc<[String; 10]>,
}

impl TopicNames {
    /// Names that begin with `prefix`, which may be empty.
    pub fn with_prefix(prefix: &str) -> TopicNames {
        TopicNames { names: Arc::new(Topic::ALL.map(|topic| format!("{prefix}{topic}"))) }
    }

    /// The full name of a topic.
    pub fn get(&self, topic: Topic) -> &str {
        &self.names[topic.index()]
    }
}

/// What can be chosen about the topics.
#[derive(Clone, Debug)]
pub struct TopicPlan {
    /// What the names begin with; may be empty.
    pub prefix: String,
    /// Partitions of the interactions, the decisions and the shadow decisions.
    pub partitions: i32,
    /// Partitions of the journal: the number of shards.
    pub shards: i32,
    /// Replicas of each partition; -1 leaves it to the broker.
    pub replication: i32,
    /// How long interactions and decisions are kept, in days. The longest window must fit in.
    pub retention_days: u32,
}

impl Default for TopicPlan {
    fn default() -> Self {
        TopicPlan { prefix: String::new(), partitions: 6, shards: 1, replication: -1, retention_days: 7 }
    }
}

/// How one topic must be set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSpec {
    /// Which topic.
    pub topic: Topic,
    /// Its full name.
    pub name: String,
    /// Its number of partitions.
    pub partitions: i32,
    /// True when a different number of partitions must not be: the journal's partitions are the shards.
    pub partitions_bind: bool,
    /// How long a record is kept, in ms; `None` for compacted topics.
    pub retention_ms: Option<i64>,
    /// True when the broker must stamp records on arrival, so that no producer chooses the time.
    pub append_time: bool,
}

impl TopicSpec {
    /// `delete` or `compact`.
    pub fn cleanup_policy(&self) -> &'static str {
        if self.retention_ms.is_some() { "delete" } else { "compact" }
    }

    /// Topic settings as the broker names them.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = vec![("cleanup.policy", self.cleanup_policy().to_owned())];
        if let Some(retention) = self.retention_ms {
            settings.push(("retention.ms", retention.to_string()));
        }
        if self.append_time {
            settings.push(("message.timestamp.type", "LogAppendTime".to_owned()));
        }
        settings
    }
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Operator actions are kept as long as a permanent ban is likely to be asked about.
const COMMANDS_DAYS: u32 = 730;
/// Challenges and late labels come within days; a month leaves room.
const FEEDBACK_DAYS: u32 = 30;
/// People look at dead letters after the weekend.
const DEAD_LETTERS_DAYS: u32 = 30;

impl TopicPlan {
    /// The full names.
    pub fn names(&self) -> TopicNames {
        TopicNames::with_prefix(&self.prefix)
    }

    /// How each topic must be set up, in the order of [`Topic::ALL`].
    pub fn specs(&self) -> Vec<TopicSpec> {
        Topic::ALL.map(|topic| self.spec(topic)).to_vec()
    }

    /// How one topic must be set up.
    pub fn spec(&self, topic: Topic) -> TopicSpec {
        TopicSpec {
            topic,
            name: format!("{}{topic}", self.prefix),
            partitions: self.partitions_of(topic),
            partitions_bind: topic == Topic::Journal,
            retention_ms: self.days_of(topic).map(|days| i64::from(days).saturating_mul(DAY_MS)),
            append_time: matches!(topic, Topic::Interactions | Topic::Commands | Topic::Feedback),
        }
    }

    fn partitions_of(&self, topic: Topic) -> i32 {
        match topic {
            Topic::Interactions | Topic::Decisions | Topic::Shadow => self.partitions,
            Topic::Journal => self.shards,
            _ => 1,
        }
    }

    fn days_of(&self, topic: Topic) -> Option<u32> {
        match topic {
            Topic::Interactions | Topic::Decisions | Topic::Shadow => Some(self.retention_days),
            Topic::Commands => Some(COMMANDS_DAYS),
            Topic::Feedback => Some(FEEDBACK_DAYS),
            Topic::DeadLetters => Some(DEAD_LETTERS_DAYS),
            // The journal must outlive what it points at: the inputs.
            Topic::Journal => Some(self.retention_days.saturating_mul(2)),
            Topic::Policies | Topic::Bans | Topic::Cases => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_follows_the_declaration() {
        for (index, topic) in Topic::ALL.into_iter().enumerate() {
            assert_eq!(topic.index(), index);
        }
    }

    #[test]
    fn the_journal_outlives_the_interactions_and_has_a_partition_a_shard() {
        let plan = TopicPlan { shards: 3, ..TopicPlan::default() };
        let (journal, interactions) = (plan.spec(Topic::Journal), plan.spec(Topic::Interactions));
        assert!(journal.retention_ms >= interactions.retention_ms);
        assert_eq!((journal.partitions, journal.partitions_bind), (3, true));
        assert_eq!(interactions.retention_ms, Some(604_800_000));
    }

    #[test]
    fn inputs_are_stamped_by_the_broker_and_current_things_compacted() {
        let plan = TopicPlan { prefix: "x.".to_owned(), ..TopicPlan::default() };
        let bans = plan.spec(Topic::Bans);
        assert_eq!(bans.settings(), [("cleanup.policy", "compact".to_owned())]);
        assert_eq!(bans.name, "x.risk.bans.v1");
        let commands = plan.spec(Topic::Commands).settings();
        assert!(commands.contains(&("message.timestamp.type", "LogAppendTime".to_owned())));
        assert_eq!(plan.names().get(Topic::Journal), "x.risk.journal.v1");
    }
}
