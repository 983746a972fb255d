//! Questions to the brokers that read no record: partitions, ends, committed offsets, offsets at a time.
//!
//! Each call blocks for at most the patience it is given. Answers are of the moment. Nothing here joins the group or
//! changes anything on the broker. A topic that does not exist is an error and is not made by asking.

use std::time::Duration;

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{IsError, KafkaError, RDKafkaErrorCode};
use rdkafka::metadata::MetadataTopic;
use rdkafka::topic_partition_list::Offset;

use super::client::{Context, KafkaSettings, Role, open_error};
use super::error::{StreamError, explain, is_unknown_topic};
use super::topics::{Topic, TopicNames};

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
        let list = self.list(topic, partitions, Offset::Invalid);
        let answer = self.consumer.committed_offsets(list, patience);
        self.read(answer, &doing)
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
        let list = self.list(topic, partitions, Offset::Offset(millis));
        let answer = self.consumer.offsets_for_times(list, patience);
        self.read(answer, &doing)
    }

    fn list(&self, topic: Topic, partitions: i32, offset: Offset) -> TopicPartitionList {
        (0..partitions).map(|partition| (self.names.get(topic).to_owned(), partition, offset)).collect()
    }

    fn read(
        &self,
        answer: Result<TopicPartitionList, KafkaError>,
        doing: &str,
    ) -> Result<Vec<Option<i64>>, StreamError> {
        let list = answer.map_err(|error| explain(&self.brokers, doing, &error, None))?;
        let mut offsets = Vec::with_capacity(list.count());
        for element in list.elements() {
            element.error().map_err(|error| explain(&self.brokers, doing, &error, None))?;
            offsets.push(match element.offset() {
                Offset::Offset(offset) => Some(offset),
                _ => None,
            });
        }
        Ok(offsets)
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
    let failed = |error: KafkaError| explain(brokers, &doing, &error, None);
    let metadata = consumer.fetch_metadata(Some(name), patience).map_err(failed)?;
    let topic = metadata.topics().iter().find(|topic| topic.name() == name);
    let code = topic.and_then(MetadataTopic::error).filter(IsError::is_error).map(RDKafkaErrorCode::from);
    match (topic, code) {
        (None, _) => Err(StreamError::TopicMissing { topic: name.to_owned() }),
        (_, Some(code)) if is_unknown_topic(code) => {
            Err(StreamError::TopicMissing { topic: name.to_owned() })
        }
        (_, Some(code)) => Err(failed(KafkaError::MetadataFetch(code))),
        (Some(topic), None) => Ok(i32::try_from(topic.partitions().len()).unwrap_or(i32::MAX)),
    }
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
    let (low, high) = consumer
        .fetch_watermarks(name, partition, patience)
        .map_err(|error| explain(brokers, &doing, &error, None))?;
    Ok(Held { low, high })
}
