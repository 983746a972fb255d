//! Writing one record by itself, outside any transaction: what an operator's command line does.
//!
//! [`post`] returns once all in-sync replicas have the record, or tells why not within the patience given. The
//! producer is idempotent, so what it sends again by itself is written once. A topic that does not exist is an error
//! and is not made. Not for streams: each call opens and closes a client.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, DeliveryResult, Producer, ProducerContext};
use rdkafka::statistics::Statistics;

use super::client::{KafkaSettings, Role, log_line, open_error};
use super::deadline::Deadline;
use super::error::{StreamError, explain};
use super::lookup::Lookup;
use super::outgoing::OutgoingRef;
use super::topics::TopicNames;
use super::transaction::message;

/// One poll while waiting.
const POLL: Duration = Duration::from_millis(5);

/// Writes one record and waits until it is kept by all in-sync replicas. Blocks for at most about `patience`.
///
/// # Errors
/// A property is refused, the topic is missing or denied, the record is too large, or no broker answers in time:
/// then the record may or may not be written.
pub fn post(
    settings: &KafkaSettings,
    names: &TopicNames,
    record: &OutgoingRef<'_>,
    patience: Duration,
) -> Result<(), StreamError> {
    let deadline = Deadline::after(patience);
    // A producer that asks for a topic can make it; a reader cannot.
    Lookup::open(settings, names)?.partitions(record.topic, deadline.left())?;
    let producer = open(settings, deadline.left())?;
    let doing = format!("writing to {}", names.get(record.topic));
    let told = |error: &KafkaError| explain(&settings.brokers, &doing, error, None);
    producer.send(message(names, record)).map_err(|(error, _)| told(&error))?;
    loop {
        producer.poll(deadline.step(POLL));
        match producer.context().take() {
            Some(result) => return result.map_err(|code| told(&KafkaError::MessageProduction(code))),
            None if deadline.passed() => {
                return Err(told(&KafkaError::MessageProduction(RDKafkaErrorCode::OperationTimedOut)));
            }
            None => {}
        }
    }
}

fn open(settings: &KafkaSettings, patience: Duration) -> Result<BaseProducer<Delivery>, StreamError> {
    let mut config = settings.config(Role::Poster)?;
    config.set("message.timeout.ms", patience.as_millis().max(1).to_string());
    config.create_with_context(Delivery::default()).map_err(|error| open_error("opening a producer", &error))
}

/// What became of the record.
#[derive(Debug, Default)]
struct Delivery {
    result: Mutex<Option<Result<(), RDKafkaErrorCode>>>,
}

impl Delivery {
    fn take(&self) -> Option<Result<(), RDKafkaErrorCode>> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl ClientContext for Delivery {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        log_line(level, facility, message);
    }

    fn stats(&self, _: Statistics) {}

    fn stats_raw(&self, _: &[u8]) {}

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "producer");
    }
}

impl ProducerContext for Delivery {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let code = |error: &KafkaError| error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Unknown);
        let result = result.as_ref().map(drop).map_err(|(error, _)| code(error));
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }
}

#[cfg(test)]
mod tests {
    use super::super::embedded::Embedded;
    use super::super::input::{Input, InputEvent, InputLimits, TopicStart};
    use super::super::outgoing::OutBatch;
    use super::super::topics::Topic;
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    fn batch() -> OutBatch {
        let mut batch = OutBatch::default();
        batch
            .record(Topic::Commands)
            .key_bytes(Some(b"k"))
            .value_bytes(Some(b"v"))
            .header("h", Some(b"1"))
            .finish();
        batch
    }

    #[test]
    fn a_record_that_was_posted_can_be_read() {
        let names = TopicNames::with_prefix("");
        let broker = Embedded::start(&names, &[(Topic::Commands, 1)]).expect("it starts");
        let settings = broker.settings();
        post(&settings, &names, &batch().get(0), PATIENCE).expect("it is written");
        let start = TopicStart { topic: Topic::Commands, positions: vec![(0, 0)] };
        let input = Input::open(&settings, &names, &[start], InputLimits::default(), PATIENCE);
        let input = input.expect("an input");
        let InputEvent::Records(read) = input.next(PATIENCE) else { panic!("no records") };
        let record = read.get(0);
        assert_eq!((read.len(), record.key, record.value), (1, Some(&b"k"[..]), Some(&b"v"[..])));
        assert_eq!(record.headers.last("h"), Some(&b"1"[..]));
        assert!(input.close(PATIENCE));
    }

    #[test]
    fn silence_is_an_answer_in_time() {
        let names = TopicNames::with_prefix("");
        // The port of an address that was just given back: nobody listens.
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let brokers = free.local_addr().expect("bound").to_string();
        drop(free);
        let settings = KafkaSettings { brokers, ..KafkaSettings::default() };
        let error = post(&settings, &names, &batch().get(0), Duration::from_millis(300));
        assert!(error.as_ref().is_err_and(StreamError::is_transient), "{error:?}");
    }
}
