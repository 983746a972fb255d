//! What is asked of Kafka before the first record: whether it answers, and whether the topics are as they must be.
//!
//! At the start nobody depends on this process yet, so what is wrong is told at once and ends it: an address that does
//! not answer within [`PATIENCE`], a topic that is missing, a journal with another number of partitions than there are
//! shards. Once it has run, an outage is waited out instead. What weakens a promise without breaking it is a warning.

use std::time::Duration;

use crate::commands::{Failure, setup};
use crate::config::Config;
use crate::engine::time::Span;
use crate::stream::{self, Difference, StreamError, Topic};

/// How long Kafka may take for its first answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Looks at the topics. `longest` is the longest window of the policy: what state is warmed up with must be held as long.
pub(super) fn check_topics(config: &Config, longest: Span) -> Result<(), Failure> {
    let plan = setup::topics(config);
    if config.topics.retention < longest {
        tracing::warn!(
            retention = %config.topics.retention,
            longest_window = %longest,
            "interactions are held for less than the longest window: state that has to begin anew knows less"
        );
    }
    let differences = match stream::check(&setup::kafka(config), &plan, PATIENCE) {
        Ok(differences) => differences,
        Err(error @ StreamError::Denied { .. }) => {
            tracing::warn!(%error, "the topics cannot be compared with what they must be");
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let (broken, weak): (Vec<_>, Vec<_>) = differences.into_iter().partition(forbids);
    for difference in weak.iter().filter(|difference| difference.binding) {
        tracing::warn!(%difference, "a topic is not as it should be");
    }
    if broken.is_empty() { Ok(()) } else { Err(refused(&broken)) }
}

/// Whether nothing can be run with it.
fn forbids(difference: &Difference) -> bool {
    difference.what == "topic" || (difference.topic == Topic::Journal && difference.what == "partitions")
}

fn refused(broken: &[Difference]) -> Failure {
    let mut told: Vec<String> = broken.iter().map(ToString::to_string).collect();
    if broken.iter().any(|difference| difference.what == "topic") {
        told.push(
            "make what is missing with `weir topics create`; a topic that may not be described looks missing"
                .to_owned(),
        );
    }
    if broken.iter().any(|difference| difference.what == "partitions") {
        told.push("`topics.shards` must be the number of the journal's partitions".to_owned());
    }
    Failure::new(told.join("\n       "))
}
