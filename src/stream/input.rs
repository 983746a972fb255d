//! The input side: threads that read assigned partitions and hand over batches of copied records.
//!
//! Each topic is read by a consumer and a thread of its own, for two reasons: a command must not queue behind a
//! backlog of events, and the client names only the partition, not the topic, when it reaches an end. Offsets are
//! always explicit; an offset that is not in the log is a problem told to the owner, never a jump. When the owner
//! does not keep up, the queues fill and reading pauses. Nothing is committed here: that is the transaction's part.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::client::KafkaSettings;
use super::error::StreamError;
use super::mailbox::Mailbox;
use super::reader::Reader;
use super::record::RecordBatch;
use super::topics::{Topic, TopicNames};

/// Where to begin reading a topic.
#[derive(Clone, Debug)]
pub struct TopicStart {
    /// The topic.
    pub topic: Topic,
    /// Partitions and the offset of the first record wanted of each.
    pub positions: Vec<(i32, i64)>,
}

/// How much may lie between Kafka and the owner.
#[derive(Clone, Copy, Debug)]
pub struct InputLimits {
    /// Records in a batch at most.
    pub batch_records: usize,
    /// Bytes after which a batch is closed.
    pub batch_bytes: usize,
    /// Batches waiting a topic at most.
    pub queued_batches: usize,
    /// Bytes waiting a topic, about at most: one batch always fits.
    pub queued_bytes: usize,
}

impl Default for InputLimits {
    fn default() -> Self {
        InputLimits { batch_records: 5_000, batch_bytes: 4 << 20, queued_batches: 64, queued_bytes: 16 << 20 }
    }
}

/// What [`Input::next`] returns.
#[derive(Debug)]
pub enum InputEvent {
    /// Records of one topic, and which of its partitions had no more.
    Records(RecordBatch),
    /// Something is wrong.
    Problem(InputProblem),
    /// Nothing came in time, or the input is closed.
    Idle,
}

/// Something that went wrong while reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputProblem {
    /// The topic.
    pub topic: Topic,
    /// The partition, where it is known.
    pub partition: Option<i32>,
    /// The offset that was to be read next, where it is known.
    pub offset: Option<i64>,
    /// What is wrong, in words.
    pub error: StreamError,
    /// True when that partition, or without one the topic, is not read any further; false when reading goes on by
    /// itself once the cause is gone.
    pub stops: bool,
}

/// What the owner asks of a reader.
#[derive(Clone, Debug)]
pub(super) enum Flow {
    Pause(Vec<i32>),
    Resume(Vec<i32>),
}

/// Readers at work; see the module's text. Dropping it tells them to end and does not wait.
#[derive(Debug)]
pub struct Input {
    mailbox: Arc<Mailbox>,
    topics: Vec<Topic>,
}

impl Input {
    /// Starts to read. Topics listed first are served first by [`Input::next`].
    ///
    /// # Errors
    /// A topic or partition does not exist, access is denied, or no broker answers within `patience` (a topic).
    pub fn open(
        settings: &KafkaSettings,
        names: &TopicNames,
        starts: &[TopicStart],
        limits: InputLimits,
        patience: Duration,
    ) -> Result<Input, StreamError> {
        let mailbox = Arc::new(Mailbox::new(starts.len(), limits));
        let readers: Vec<Reader> = starts
            .iter()
            .enumerate()
            .map(|(lane, start)| {
                Reader::open(settings, names, start, lane, Arc::clone(&mailbox), limits, patience)
            })
            .collect::<Result<_, _>>()?;
        let input = Input { mailbox, topics: starts.iter().map(|start| start.topic).collect() };
        for reader in readers {
            spawn(reader)?;
        }
        Ok(input)
    }

    /// The next batch or problem; waits at most `patience`. Nothing is lost between two calls.
    pub fn next(&self, patience: Duration) -> InputEvent {
        self.mailbox.next(patience)
    }

    /// Gives a used batch back, to be filled again.
    pub fn recycle(&self, batch: RecordBatch) {
        self.mailbox.recycle(batch);
    }

    /// Stops to read these partitions until they are resumed. Batches that are already queued still come. What was
    /// fetched and not yet queued is fetched again later: pause for a good while or not at all.
    pub fn pause(&self, topic: Topic, partitions: &[i32]) {
        self.ask(topic, Flow::Pause(partitions.to_vec()));
    }

    /// Goes on reading partitions that were paused, from where they were.
    pub fn resume(&self, topic: Topic, partitions: &[i32]) {
        self.ask(topic, Flow::Resume(partitions.to_vec()));
    }

    /// Ends the readers. Returns false when one has not ended within `patience` (a broker that does not answer can
    /// hold it); its thread is then left behind and holds nothing that others need.
    pub fn close(self, patience: Duration) -> bool {
        self.mailbox.close();
        self.mailbox.all_finished(patience)
    }

    fn ask(&self, topic: Topic, flow: Flow) {
        if let Some(lane) = self.topics.iter().position(|known| *known == topic) {
            self.mailbox.ask(lane, flow);
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.mailbox.close();
    }
}

fn spawn(reader: Reader) -> Result<(), StreamError> {
    let name = format!("weir-in-{}", reader.topic().index());
    thread::Builder::new().name(name).spawn(move || reader.run()).map(drop).map_err(|error| {
        StreamError::Other { doing: "starting a reader thread".to_owned(), reason: error.to_string() }
    })
}
