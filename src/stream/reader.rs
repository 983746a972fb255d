//! One topic's reader: polls its consumer, copies records into batches, and puts them into the mailbox.
//!
//! The reader never waits for the owner with its hands in the client: when its lane is full it stops polling for a
//! moment (the client's own bounded queue then stops fetching), and after half a second it pauses all partitions and
//! polls on, so that errors and the client's housekeeping are still served. Paused or not, no record is lost or seen
//! twice: what the client dropped by pausing it fetches again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Headers, Message, Timestamp as KafkaTimestamp};
use rdkafka::topic_partition_list::Offset;

use super::client::{Context, KafkaSettings, Role, open_error};
use super::deadline::Deadline;
use super::error::{StreamError, explain, is_denied, is_unknown_topic, is_unreachable};
use super::input::{Flow, InputLimits, InputProblem, TopicStart};
use super::lookup;
use super::mailbox::Mailbox;
use super::quiet;
use super::record::{Coordinates, PartitionEnd, RecordBatch, Timestamp};
use super::topics::{Topic, TopicNames};

/// How long one poll waits when nothing is there; also how soon a request of the owner is seen.
const POLL: Duration = Duration::from_millis(25);
/// How long a full lane is waited for before the partitions are paused.
const HOLD: Duration = Duration::from_millis(500);
/// How long the broker is asked about a partition that gave an error.
const ASK: Duration = Duration::from_secs(2);

/// See the module's text.
pub(super) struct Reader {
    consumer: BaseConsumer<Context>,
    topic: Topic,
    name: String,
    brokers: String,
    lane: usize,
    mailbox: Arc<Mailbox>,
    limits: InputLimits,
    batch: RecordBatch,
    /// Partitions and the offset expected next of each.
    next: Vec<(i32, i64)>,
    /// Paused by the owner.
    paused: BTreeSet<i32>,
    /// When the lane was found full, and until when it is waited for.
    hold: Option<Deadline>,
    /// Paused because the lane is full.
    held: bool,
    /// The brokers were reported to be out of reach.
    down: bool,
}

impl Reader {
    /// A consumer assigned to its partitions.
    pub(super) fn open(
        settings: &KafkaSettings,
        names: &TopicNames,
        start: &TopicStart,
        lane: usize,
        mailbox: Arc<Mailbox>,
        limits: InputLimits,
        patience: Duration,
    ) -> Result<Reader, StreamError> {
        let name = names.get(start.topic).to_owned();
        let consumer: BaseConsumer<Context> = settings
            .config(Role::Reader)?
            .create_with_context(Context::default())
            .map_err(|error| open_error("opening a consumer", &error))?;
        let count = lookup::partitions(&consumer, &settings.brokers, &name, patience)?;
        if let Some((partition, _)) =
            start.positions.iter().find(|(partition, _)| !(0..count).contains(partition))
        {
            return Err(StreamError::PartitionMissing {
                topic: name,
                partition: *partition,
                partitions: count,
            });
        }
        let positions = start.positions.iter().map(|(p, offset)| (name.clone(), *p, Offset::Offset(*offset)));
        consumer
            .assign(&positions.collect::<TopicPartitionList>())
            .map_err(|error| explain(&settings.brokers, &format!("assigning {name}"), &error, None))?;
        Ok(Reader {
            consumer,
            topic: start.topic,
            name,
            brokers: settings.brokers.clone(),
            lane,
            mailbox,
            limits,
            batch: RecordBatch::default(),
            next: start.positions.clone(),
            paused: BTreeSet::new(),
            hold: None,
            held: false,
            down: false,
        })
    }

    pub(super) fn topic(&self) -> Topic {
        self.topic
    }

    /// Reads until the mailbox closes.
    pub(super) fn run(mut self) {
        let _end = EndNote { mailbox: Arc::clone(&self.mailbox), lane: self.lane, topic: self.topic };
        while !self.mailbox.is_closed() {
            for flow in self.mailbox.take_flow(self.lane) {
                self.obey(flow);
            }
            match self.hold {
                Some(until) => self.wait_for_room(until),
                None => self.read(),
            }
        }
        // Consumer and note are dropped here, in this order: closing can take its time.
        drop(self.consumer);
    }

    /// One poll; hands the batch over when it is full or nothing more is at hand.
    fn read(&mut self) {
        let patience = if self.batch.says_nothing() { POLL } else { Duration::ZERO };
        if !self.poll(patience) || self.is_full() {
            self.hand_over();
        }
    }

    /// Polls once; false when there was nothing.
    fn poll(&mut self, patience: Duration) -> bool {
        let error = match self.consumer.poll(patience) {
            None => return false,
            Some(Ok(message)) => {
                copy(&mut self.batch, self.topic, &message);
                self.down = false;
                let seen = (message.partition(), message.offset().saturating_add(1));
                drop(message);
                self.note_next(seen);
                return true;
            }
            Some(Err(error)) => error,
        };
        self.note(&error);
        true
    }

    fn is_full(&self) -> bool {
        self.batch.len() >= self.limits.batch_records || self.batch.bytes() >= self.limits.batch_bytes
    }

    fn hand_over(&mut self) {
        if self.batch.says_nothing() {
            return;
        }
        let batch = std::mem::take(&mut self.batch);
        match self.mailbox.offer(self.lane, batch) {
            Ok(()) => {
                self.batch = self.mailbox.spare();
                self.hold = None;
                self.release();
            }
            Err(batch) => {
                self.batch = batch;
                self.hold = self.hold.or_else(|| Some(Deadline::after(HOLD)));
            }
        }
    }

    /// The lane is full: waits, then pauses.
    fn wait_for_room(&mut self, until: Deadline) {
        self.mailbox.wait_for_room(POLL);
        if until.passed() {
            if !self.held {
                self.held = true;
                self.pause(&self.partitions());
            }
            // Nothing but errors and notices can come now.
            while self.poll(Duration::ZERO) {}
        }
        self.hand_over();
    }

    fn release(&mut self) {
        if self.held {
            self.held = false;
            let partitions: Vec<i32> = self.partitions();
            self.resume(&partitions.into_iter().filter(|p| !self.paused.contains(p)).collect::<Vec<_>>());
        }
    }

    fn obey(&mut self, flow: Flow) {
        match flow {
            Flow::Pause(partitions) => {
                self.pause(&partitions);
                self.paused.extend(partitions);
            }
            Flow::Resume(partitions) => {
                self.paused.retain(|partition| !partitions.contains(partition));
                if !self.held {
                    self.resume(&partitions);
                }
            }
        }
    }

    fn partitions(&self) -> Vec<i32> {
        self.next.iter().map(|(partition, _)| *partition).collect()
    }

    fn list(&self, partitions: &[i32]) -> TopicPartitionList {
        let known = partitions.iter().filter(|wanted| self.next.iter().any(|(known, _)| known == *wanted));
        known.map(|partition| (self.name.clone(), *partition, Offset::Invalid)).collect()
    }

    fn pause(&self, partitions: &[i32]) {
        let outcome = self.consumer.pause(&self.list(partitions));
        self.complain(outcome);
    }

    fn resume(&self, partitions: &[i32]) {
        let outcome = self.consumer.resume(&self.list(partitions));
        self.complain(outcome);
    }

    fn complain(&self, outcome: Result<(), KafkaError>) {
        if let Err(error) = outcome {
            tracing::warn!(topic = self.name, %error, "pausing or resuming failed");
        }
    }

    fn note_next(&mut self, (partition, next): (i32, i64)) {
        if let Some((_, known)) = self.next.iter_mut().find(|(known, _)| *known == partition) {
            *known = next;
        }
    }

    /// An end reached, or an error.
    fn note(&mut self, error: &KafkaError) {
        let reason = self.consumer.context().take_reason();
        let reason = reason.as_deref();
        if let KafkaError::PartitionEOF(partition) = error {
            self.down = false;
            let position = self.position(*partition);
            return self.batch.push_end(PartitionEnd { topic: self.topic, partition: *partition, position });
        }
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::OffsetOutOfRange) => {
                self.report_lost_positions(error, reason);
            }
            Some(code) if is_unreachable(code) => self.report_down(error, reason),
            _ => self.report_error(error, reason),
        }
    }

    /// Where the next record of a partition will be read: the client's position, which moves past commit markers.
    fn position(&self, partition: i32) -> i64 {
        let known = self.next.iter().find(|(known, _)| *known == partition).map_or(0, |(_, next)| *next);
        let positions = self.consumer.position().ok();
        let element = positions.as_ref().and_then(|list| list.find_partition(&self.name, partition));
        match element.map(|element| element.offset()) {
            Some(Offset::Offset(position)) => position.max(known),
            _ => known,
        }
    }

    /// The client does not say which partition lost its position: the ends tell.
    fn report_lost_positions(&self, error: &KafkaError, reason: Option<&str>) {
        let lost = self.next.iter().filter_map(|&(partition, offset)| {
            let held = lookup::held(&self.consumer, &self.brokers, &self.name, partition, ASK).ok()?;
            let outside = !(held.low..=held.high).contains(&offset);
            outside.then_some((partition, offset, held))
        });
        let lost: Vec<_> = lost.collect();
        if lost.is_empty() {
            return self.report_error(error, reason);
        }
        for (partition, offset, held) in lost {
            let topic = self.name.clone();
            let error =
                StreamError::OffsetOutOfRange { topic, partition, offset, low: held.low, high: held.high };
            self.report(Some(partition), Some(offset), error, true);
        }
    }

    fn report_down(&mut self, error: &KafkaError, reason: Option<&str>) {
        if !self.down {
            self.down = true;
            let error = self.words(error, reason);
            self.report(None, None, error, false);
        }
    }

    fn report_error(&self, error: &KafkaError, reason: Option<&str>) {
        let code = error.rdkafka_error_code();
        let lasting = code.is_some_and(|code| is_denied(code) || is_unknown_topic(code));
        let stops = lasting || matches!(error, KafkaError::MessageConsumptionFatal(_));
        let words = match code {
            Some(code) if is_unknown_topic(code) => StreamError::TopicMissing { topic: self.name.clone() },
            _ => self.words(error, reason),
        };
        self.report(None, None, words, stops);
    }

    fn words(&self, error: &KafkaError, reason: Option<&str>) -> StreamError {
        explain(&self.brokers, &format!("reading {}", self.name), error, reason)
    }

    fn report(&self, partition: Option<i32>, offset: Option<i64>, error: StreamError, stops: bool) {
        let problem = InputProblem { topic: self.topic, partition, offset, error, stops };
        self.mailbox.report(self.lane, problem);
    }
}

/// Copies a record, headers that cannot be read excepted: those are counted.
fn copy(batch: &mut RecordBatch, topic: Topic, message: &BorrowedMessage<'_>) {
    let timestamp = match message.timestamp() {
        KafkaTimestamp::NotAvailable => Timestamp::None,
        KafkaTimestamp::CreateTime(millis) => Timestamp::Create(millis),
        KafkaTimestamp::LogAppendTime(millis) => Timestamp::Append(millis),
    };
    let at = Coordinates { topic, partition: message.partition(), offset: message.offset() };
    batch.push(at, timestamp, message.key(), message.payload());
    let Some(headers) = message.headers() else { return };
    for index in 0..headers.count() {
        match quiet::attempt(|| headers.try_get(index)).flatten() {
            Some(header) => batch.push_header(header.key, header.value),
            None => batch.push_unreadable_header(),
        }
    }
}

/// Tells the mailbox that the reader ended, and the owner when it ended by a panic.
struct EndNote {
    mailbox: Arc<Mailbox>,
    lane: usize,
    topic: Topic,
}

impl Drop for EndNote {
    fn drop(&mut self) {
        if thread::panicking() {
            let error = StreamError::Other {
                doing: format!("reading {}", self.topic),
                reason: "the reader panicked".to_owned(),
            };
            let problem =
                InputProblem { topic: self.topic, partition: None, offset: None, error, stops: true };
            self.mailbox.report(self.lane, problem);
        }
        self.mailbox.finish(self.lane);
    }
}
