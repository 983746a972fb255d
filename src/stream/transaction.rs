//! The transactional producer of one shard: one batch, one transaction, all or nothing.
//!
//! `transactional.id` names the shard, so opening a producer fences every earlier one of it and settles what that one
//! left open. A transaction holds the records of a batch and the input offsets after it. Whatever happens, the outcome
//! is one of [`super::outcome`]'s, and the caller keeps the batch until it is known. Waiting for records polls in
//! steps of 1 ms: the client's own flush wakes only every 100 ms.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, Producer, ProducerContext, PurgeConfig};
use rdkafka::statistics::Statistics;
use rdkafka::topic_partition_list::Offset;
use rdkafka::{ClientContext, TopicPartitionList};

use super::client::{KafkaSettings, Role, log_line, open_error};
use super::deadline::Deadline;
use super::error::{StreamError, explain};
use super::outcome::{
    Cause, CommitError, Step, StepError, cause, cause_of, is_fence, is_out_of_reach, out_of_time, sort,
};
use super::outgoing::{OutBatch, OutgoingRef};
use super::ownership::GroupMetadata;
use super::topics::{Topic, TopicNames};

/// One poll while waiting.
const POLL: Duration = Duration::from_millis(1);
/// Pause before a call is made again.
const AGAIN: Duration = Duration::from_millis(20);
/// How long an abort may take before the outcome counts as unknown.
const ABORT: Duration = Duration::from_secs(10);

/// The next offset to be read of an input partition, once the batch is committed: the last one consumed + 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputOffset {
    /// The topic.
    pub topic: Topic,
    /// The partition.
    pub partition: i32,
    /// The next offset.
    pub next: i64,
}

/// The transactional producer of a shard; see the module's text.
pub struct Transactions {
    producer: BaseProducer<Deliveries>,
    names: TopicNames,
    patience: Duration,
}

impl Transactions {
    /// Opens the producer of a shard and fences all earlier ones. Blocks for at most `patience`; the first open on a
    /// new cluster takes up to a second. Read committed offsets and the journal's end only afterwards.
    ///
    /// # Errors
    /// A property is refused, access is denied, or the transaction's coordinator does not answer in time.
    pub fn open(
        settings: &KafkaSettings,
        shard: u32,
        names: &TopicNames,
        patience: Duration,
    ) -> Result<Transactions, StreamError> {
        let producer: BaseProducer<Deliveries> = settings
            .config(Role::Writer { shard })?
            .create_with_context(Deliveries::default())
            .map_err(|error| open_error("opening a producer", &error))?;
        let doing = format!("taking over the transactions of shard {shard}");
        let deadline = Deadline::after(patience);
        loop {
            let Err(error) = producer.init_transactions(deadline.left()) else { break };
            let again = matches!(sort(Step::Begin, &error), StepError::Retry(_));
            if !again || deadline.passed() {
                return Err(unopened(settings, &doing, &error));
            }
            producer.poll(deadline.step(AGAIN));
        }
        Ok(Transactions { producer, names: names.clone(), patience: settings.transaction_timeout })
    }

    /// Writes all records of `batches` and the input offsets in one transaction. `member` is asked for fresh group
    /// metadata at the last moment; `before` is told each step before it begins.
    ///
    /// # Errors
    /// See [`CommitError`]: each says what is known and what to do.
    pub fn commit(
        &mut self,
        batches: &[&OutBatch],
        offsets: &[InputOffset],
        member: impl FnOnce() -> Result<GroupMetadata, StreamError>,
        mut before: impl FnMut(Step),
    ) -> Result<(), CommitError> {
        let deadline = Deadline::after(self.patience);
        let sent = self.send_all(batches, offsets, member, &mut before, deadline);
        if let Err(failed) = sent {
            return Err(self.recover(failed));
        }
        before(Step::Commit);
        // The commit has its own time: giving up on it is the dear case.
        let committed = self.retry(Step::Commit, Deadline::after(self.patience), |left| {
            self.producer.commit_transaction(left)
        });
        committed.map_err(|failed| self.after_commit(failed))?;
        before(Step::Done);
        Ok(())
    }

    fn send_all(
        &self,
        batches: &[&OutBatch],
        offsets: &[InputOffset],
        member: impl FnOnce() -> Result<GroupMetadata, StreamError>,
        before: &mut impl FnMut(Step),
        deadline: Deadline,
    ) -> Result<(), StepError> {
        before(Step::Begin);
        self.producer.begin_transaction().map_err(|error| sort(Step::Begin, &error))?;
        before(Step::Send);
        batches.iter().flat_map(|batch| batch.iter()).try_for_each(|record| self.send(&record, deadline))?;
        before(Step::Drain);
        self.drain(Step::Drain, deadline)?;
        self.check_deliveries()?;
        before(Step::Offsets);
        self.send_offsets(offsets, member, deadline)
    }

    /// Hands one record to the client. A full queue is backpressure: it waits.
    fn send(&self, record: &OutgoingRef<'_>, deadline: Deadline) -> Result<(), StepError> {
        let mut message = message(&self.names, record);
        loop {
            let Err((error, back)) = self.producer.send(message) else { return Ok(()) };
            let full = error.rdkafka_error_code() == Some(RDKafkaErrorCode::QueueFull);
            if !full || deadline.passed() {
                return Err(self.unsent(record, &error));
            }
            message = back;
            self.producer.poll(POLL);
        }
    }

    fn unsent(&self, record: &OutgoingRef<'_>, error: &KafkaError) -> StepError {
        let place = (self.names.get(record.topic).to_owned(), record.partition.unwrap_or(-1));
        let failed = sort(Step::Send, error);
        self.broken().unwrap_or(match failed {
            StepError::Abort(cause) => StepError::Abort(Cause { record: Some(place), ..cause }),
            other => other,
        })
    }

    /// Waits until the broker has all that was sent, or the client has given up on it.
    fn drain(&self, step: Step, deadline: Deadline) -> Result<(), StepError> {
        while self.producer.in_flight_count() > 0 {
            if deadline.passed() {
                return Err(StepError::Abort(out_of_time(step)));
            }
            self.producer.poll(POLL);
        }
        Ok(())
    }

    /// Every record must have been written: one failed delivery fails the transaction.
    fn check_deliveries(&self) -> Result<(), StepError> {
        if let Some(broken) = self.broken() {
            return Err(broken);
        }
        let Some(failure) = self.producer.context().take() else { return Ok(()) };
        let own = || cause(Step::Drain, Some(failure.code), failure.code.to_string());
        let cause = self.purged(failure.code).unwrap_or_else(own);
        let cause = Cause { record: Some((failure.topic, failure.partition)), ..cause };
        Err(if is_fence(failure.code) { StepError::Fenced(cause) } else { StepError::Abort(cause) })
    }

    /// Why the client threw records away: what it says when it is asked for a transaction inside of one that failed.
    fn purged(&self, code: RDKafkaErrorCode) -> Option<Cause> {
        if !matches!(code, RDKafkaErrorCode::PurgeQueue | RDKafkaErrorCode::PurgeInflight) {
            return None;
        }
        match self.producer.begin_transaction() {
            Err(KafkaError::Transaction(error)) => {
                Some(cause(Step::Drain, Some(error.code()), error.string()))
            }
            _ => None,
        }
    }

    /// The error that made this producer unusable, if there is one.
    fn broken(&self) -> Option<StepError> {
        let (code, text) = self.producer.client().fatal_error()?;
        let cause = cause(Step::Drain, Some(code), text);
        Some(if is_fence(code) { StepError::Fenced(cause) } else { StepError::Fatal(cause) })
    }

    fn send_offsets(
        &self,
        offsets: &[InputOffset],
        member: impl FnOnce() -> Result<GroupMetadata, StreamError>,
        deadline: Deadline,
    ) -> Result<(), StepError> {
        if offsets.is_empty() {
            return Ok(());
        }
        let gone = |error: StreamError| StepError::Abort(cause(Step::Offsets, None, error.to_string()));
        let member = member().map_err(gone)?;
        let list: TopicPartitionList = offsets
            .iter()
            .map(|at| (self.names.get(at.topic).to_owned(), at.partition, Offset::Offset(at.next)))
            .collect();
        self.retry(Step::Offsets, deadline, |left| {
            self.producer.send_offsets_to_transaction(&list, &member.0, left)
        })
    }

    /// Makes a call until it succeeds, fails for good, or the time is over.
    fn retry(
        &self,
        step: Step,
        deadline: Deadline,
        mut call: impl FnMut(Duration) -> Result<(), KafkaError>,
    ) -> Result<(), StepError> {
        loop {
            let Err(error) = call(deadline.left()) else { return Ok(()) };
            let failed = sort(step, &error);
            if !matches!(failed, StepError::Retry(_)) || deadline.passed() {
                return Err(failed);
            }
            self.producer.poll(deadline.step(AGAIN));
        }
    }

    /// After a failure before the commit was asked for: the batch is certainly not visible.
    fn recover(&self, failed: StepError) -> CommitError {
        match failed {
            StepError::Fenced(cause) => CommitError::Fenced(cause),
            StepError::Fatal(cause) => CommitError::Fatal(cause),
            StepError::Retry(cause) | StepError::Abort(cause) => self.abort(cause),
        }
    }

    /// After a failure of the commit itself.
    fn after_commit(&self, failed: StepError) -> CommitError {
        match failed {
            StepError::Retry(cause) => CommitError::Unknown(cause),
            other => self.recover(other),
        }
    }

    /// Aborts. The client blocks in an abort while records are in flight, so they are dropped first.
    fn abort(&self, cause: Cause) -> CommitError {
        let deadline = Deadline::after(ABORT);
        self.producer.purge(PurgeConfig::default().queue().inflight());
        let drained = self.drain(cause.step, deadline);
        let aborted = drained
            .and_then(|()| self.retry(cause.step, deadline, |left| self.producer.abort_transaction(left)));
        // Records that were dropped on purpose are no failures of the next transaction.
        drop(self.producer.context().take());
        match aborted {
            Ok(()) => CommitError::Aborted(cause),
            Err(StepError::Fenced(cause)) => CommitError::Fenced(cause),
            Err(StepError::Fatal(_) | StepError::Abort(_) | StepError::Retry(_)) => {
                CommitError::Unknown(cause)
            }
        }
    }
}

/// A record as the client takes it.
pub(super) fn message<'a>(names: &'a TopicNames, record: &OutgoingRef<'a>) -> BaseRecord<'a, [u8], [u8], ()> {
    let mut message = BaseRecord::to(names.get(record.topic));
    message.key = record.key;
    message.payload = record.value;
    message.partition = record.partition;
    message.timestamp = record.timestamp;
    message.headers = (!record.headers.is_empty()).then(|| {
        let headers = OwnedHeaders::new_with_capacity(record.headers.len());
        record.headers.iter().fold(headers, |headers, (key, value)| headers.insert(Header { key, value }))
    });
    message
}

fn unopened(settings: &KafkaSettings, doing: &str, error: &KafkaError) -> StreamError {
    if is_out_of_reach(error) || matches!(sort(Step::Begin, error), StepError::Retry(_)) {
        let reason = cause_of(Step::Begin, error).text;
        return StreamError::Unreachable {
            brokers: settings.brokers.clone(),
            doing: doing.to_owned(),
            reason,
        };
    }
    explain(&settings.brokers, doing, error, None)
}

/// The first record that could not be written.
#[derive(Debug)]
pub(super) struct DeliveryFailure {
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) code: RDKafkaErrorCode,
}

/// Takes the client's reports. Only failures are reported: success is the rule.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    failure: Mutex<Option<DeliveryFailure>>,
}

impl Deliveries {
    pub(super) fn take(&self) -> Option<DeliveryFailure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl ClientContext for Deliveries {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        log_line(level, facility, message);
    }

    fn stats(&self, _: Statistics) {}

    fn stats_raw(&self, _: &[u8]) {}

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "producer");
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let Err((error, message)) = result else { return };
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert_with(|| DeliveryFailure {
            topic: message.topic().to_owned(),
            partition: message.partition(),
            code: error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Unknown),
        });
    }
}
