//! A plain producer: records into a topic, without a transaction. For traffic that is made here and for operators'
//! commands; never for what the engine tells.

use std::time::Duration;

use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use super::client::{KafkaSettings, Role, open_error};
use super::deadline::Deadline;
use super::error::{StreamError, explain};
use super::topics::{Topic, TopicNames};
use super::transaction::Deliveries;

/// One poll while waiting.
const POLL: Duration = Duration::from_millis(1);

/// A plain producer; see the module's text. Dropping it gives up what was not delivered.
pub struct Feed {
    producer: BaseProducer<Deliveries>,
    names: TopicNames,
    brokers: String,
}

impl Feed {
    /// Opens the producer; it connects when the first record is sent.
    ///
    /// # Errors
    /// A property that is refused or not understood.
    pub fn open(settings: &KafkaSettings, names: &TopicNames) -> Result<Feed, StreamError> {
        let producer = settings
            .config(Role::Feeder)?
            .create_with_context(Deliveries::default())
            .map_err(|error| open_error("opening a producer", &error))?;
        Ok(Feed { producer, names: names.clone(), brokers: settings.brokers.clone() })
    }

    /// Hands over one record; waits for at most `patience` while the queue is full. `timestamp` is the create time in
    /// milliseconds since 1970; `None` is now.
    ///
    /// # Errors
    /// The topic is missing, access is denied, or the queue stayed full.
    pub fn send(
        &self,
        topic: Topic,
        key: Option<&[u8]>,
        value: &[u8],
        timestamp: Option<i64>,
        patience: Duration,
    ) -> Result<(), StreamError> {
        let mut record: BaseRecord<'_, [u8], [u8], ()> = BaseRecord::to(self.names.get(topic)).payload(value);
        record.key = key;
        record.timestamp = timestamp;
        let deadline = Deadline::after(patience);
        loop {
            let Err((error, back)) = self.producer.send(record) else { break };
            let full = matches!(error, KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull));
            if !full || deadline.passed() {
                return Err(explain(&self.brokers, &self.doing(topic), &error, None));
            }
            record = back;
            self.producer.poll(POLL);
        }
        self.producer.poll(Duration::ZERO);
        Ok(())
    }

    /// Waits until all records are written, at most `patience`.
    ///
    /// # Errors
    /// A record could not be written, or not in time.
    pub fn finish(&self, patience: Duration) -> Result<(), StreamError> {
        let deadline = Deadline::after(patience);
        while self.producer.in_flight_count() > 0 && !deadline.passed() {
            self.producer.poll(POLL);
        }
        match (self.producer.context().take(), self.producer.in_flight_count()) {
            (Some(failure), _) => {
                let doing = format!("writing to {}/{}", failure.topic, failure.partition);
                Err(explain(&self.brokers, &doing, &KafkaError::MessageProduction(failure.code), None))
            }
            (None, 0) => Ok(()),
            (None, left) => {
                let reason = format!("{left} records were not written in time");
                let brokers = self.brokers.clone();
                Err(StreamError::Unreachable { brokers, doing: "writing records".to_owned(), reason })
            }
        }
    }

    fn doing(&self, topic: Topic) -> String {
        format!("writing to {}", self.names.get(topic))
    }
}
