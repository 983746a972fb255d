//! Questions to the brokers that read no record: partitions, ends, committed offsets, offsets at a time.
//!
//! Each call blocks for at most the patience it is given, and asks again where a broker says to: while a partition or the
//! group has no leader yet. Answers are of the moment. Nothing here joins the group or
//! changes anything on the broker. A topic that does not exist is an error and is not made by asking.

use std::time::Duration;

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{IsError, KafkaError, RDKafkaErrorCode};
use rdkafka::metadata::MetadataTopic;
use rdkafka::topic_partition_list::Offset;

use super::client::{Context, KafkaSettings, Role, open_error};
use super::deadline::Deadline;
use super::error::{StreamError, explain, is_moving, is_unknown_topic};
use super::topics::{Topic, TopicNames};

/// Pause before a question is asked again.
const AGAIN: Duration = Duration::from_millis(50);

/// Asks the brokers; see the module's text.
pub struct Lookup {
    consumer: BaseConsumer<Context>,
    names: TopicNames,
    brokers: String,
}

/// Offsets that a partition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The first offset held.
    pub low: i64,
    /// Where a `read_committed` reader ends for now: one past the last record that is settled.
    pub high: i64,
}

impl Lookup {
    /// A client that is not yet connected.
    ///
    /// # Errors
    /// A property that is refused or not understood.
    pub fn open(settings: &KafkaSettings, names: &TopicNames) -> Result<Lookup, StreamError> {
        let consumer = settings
            .config(Role::Reader)?
            .create_with_context(Context::default())
            .map_err(|error| open_error("opening a client", &error))?;
        Ok(Lookup { consumer, names: names.clone(), brokers: settings.brokers.clone() })
    }

    /// The number of partitions of a topic.
    ///
    /// # Errors
    /// The topic is missing or denied, or no broker answers.
    pub fn partitions(&self, topic: Topic, patience: Duration) -> Result<i32, StreamError> {
        partitions(&self.consumer, &self.brokers, self.names.get(topic), patience)
    }

    /// What a partition holds.
    ///
    /// # Errors
    /// The partition is missing or denied, or no broker answers.
    pub fn held(&self, topic: Topic, partition: i32, patience: Duration) -> Result<Held, StreamError> {
        held(&self.consumer, &self.brokers, self.names.get(topic), partition, patience)
    }

    /// The offsets that the group committed for the partitions from 0 to `partitions - 1`: where to go on. `None`
    /// where nothing was ever committed.
    ///
    /// # Errors
    /// Access is denied, or no broker answers.
    pub fn committed(
        &self,
        topic: Topic,
        partitions: i32,
        patience: Duration,
    ) -> Result<Vec<Option<i64>>, StreamError> {
        let doing = format!("asking for the committed offsets of {}", self.names.get(topic));
        let ask = |left| {
            let list = self.list(topic, partitions, Offset::Invalid);
            self.consumer.committed_offsets(list, left).and_then(|list| offsets(&list))
        };
        patiently(patience, ask).map_err(|error| explain(&self.brokers, &doing, &error, None))
    }

    /// For the partitions from 0 to `partitions - 1` the first offset whose record is stamped `millis` (since 1970)
    /// or later; `None` where all records are older.
    ///
    /// # Errors
    /// Access is denied, or no broker answers.
    pub fn at_time(
        &self,
        topic: Topic,
        partitions: i32,
        millis: i64,
        patience: Duration,
    ) -> Result<Vec<Option<i64>>, StreamError> {
        let doing = format!("asking for the offsets of {} at a time", self.names.get(topic));
        let ask = |left| {
            let list = self.list(topic, partitions, Offset::Offset(millis));
            self.consumer.offsets_for_times(list, left).and_then(|list| offsets(&list))
        };
        patiently(patience, ask).map_err(|error| explain(&self.brokers, &doing, &error, None))
    }

    fn list(&self, topic: Topic, partitions: i32, offset: Offset) -> TopicPartitionList {
        (0..partitions).map(|partition| (self.names.get(topic).to_owned(), partition, offset)).collect()
    }
}

/// The offsets of a list; an error of one partition is an error.
fn offsets(list: &TopicPartitionList) -> Result<Vec<Option<i64>>, KafkaError> {
    let offset = |offset| if let Offset::Offset(offset) = offset { Some(offset) } else { None };
    list.elements().iter().map(|element| element.error().map(|()| offset(element.offset()))).collect()
}

/// Asks until there is an answer, an error that stays, or the patience is at its end. Each time it may take what is left.
fn patiently<T>(
    patience: Duration,
    mut ask: impl FnMut(Duration) -> Result<T, KafkaError>,
) -> Result<T, KafkaError> {
    let deadline = Deadline::after(patience);
    loop {
        match ask(deadline.left()) {
            Err(error) if !deadline.passed() && error.rdkafka_error_code().is_some_and(is_moving) => {
                std::thread::park_timeout(deadline.step(AGAIN));
            }
            answer => return answer,
        }
    }
}

/// The number of partitions of a topic, asked through any consumer.
pub(super) fn partitions(
    consumer: &BaseConsumer<Context>,
    brokers: &str,
    name: &str,
    patience: Duration,
) -> Result<i32, StreamError> {
    let doing = format!("asking for the partitions of {name}");
    let ask = |left| {
        let metadata = consumer.fetch_metadata(Some(name), left)?;
        let topic = metadata.topics().iter().find(|topic| topic.name() == name);
        let code = topic.and_then(MetadataTopic::error).filter(IsError::is_error).map(RDKafkaErrorCode::from);
        match (topic, code) {
            (_, Some(code)) if !is_unknown_topic(code) => Err(KafkaError::MetadataFetch(code)),
            (None, _) | (_, Some(_)) => Ok(None),
            (Some(topic), None) => Ok(Some(i32::try_from(topic.partitions().len()).unwrap_or(i32::MAX))),
        }
    };
    let answer = patiently(patience, ask).map_err(|error| explain(brokers, &doing, &error, None))?;
    answer.ok_or_else(|| StreamError::TopicMissing { topic: name.to_owned() })
}

/// What a partition holds, asked through any consumer.
pub(super) fn held(
    consumer: &BaseConsumer<Context>,
    brokers: &str,
    name: &str,
    partition: i32,
    patience: Duration,
) -> Result<Held, StreamError> {
    let doing = format!("asking for the end of {name}/{partition}");
    let ask = |left| consumer.fetch_watermarks(name, partition, left);
    let (low, high) = patiently(patience, ask).map_err(|error| explain(brokers, &doing, &error, None))?;
    Ok(Held { low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn error(code: RDKafkaErrorCode) -> KafkaError {
        KafkaError::MetadataFetch(code)
    }

    #[test]
    fn a_question_is_asked_again_while_a_partition_has_no_leader() {
        let mut answers = [
            Err(error(RDKafkaErrorCode::NotLeaderForPartition)),
            Err(error(RDKafkaErrorCode::CoordinatorLoadInProgress)),
            Ok(7),
        ]
        .into_iter();
        assert_eq!(patiently(LONG, |_| answers.next().expect("asked three times")), Ok(7));
        assert!(answers.next().is_none());
    }

    #[test]
    fn an_error_that_stays_is_told_at_once_and_one_that_may_pass_when_patience_ends() {
        let (mut times, denied) = (0, RDKafkaErrorCode::TopicAuthorizationFailed);
        let asked = patiently(LONG, |_| -> Result<(), _> {
            times += 1;
            Err(error(denied))
        });
        assert_eq!((asked, times), (Err(error(denied)), 1));
        let moving = RDKafkaErrorCode::NotLeaderForPartition;
        let asked = patiently(Duration::ZERO, |_| -> Result<(), _> { Err(error(moving)) });
        assert_eq!(asked, Err(error(moving)));
    }
}
