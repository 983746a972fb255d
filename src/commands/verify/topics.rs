//! Reading topics from their beginning to the end that they had at the start, as plain records.

use std::collections::BTreeMap;

use crate::cli::exit;
use crate::clock::Stopwatch;
use crate::commands::{Failure, setup};
use crate::config::Config;
use crate::engine::time::Timestamp;
use crate::stream::{
    self, Input, InputEvent, InputLimits, KafkaSettings, Lookup, RecordBatch, RecordRef, Topic, TopicNames,
    TopicStart,
};
use crate::verify::history::{Committed, History, LogRecord, Names};

/// What was read.
pub(super) struct Read {
    pub(super) history: History,
    /// The journal grew meanwhile.
    pub(super) moved: bool,
}

/// Reads all topics and the committed offsets.
pub(super) fn read(config: &Config) -> Result<Read, Failure> {
    let names = TopicNames::with_prefix(&config.kafka.topic_prefix);
    let settings = setup::kafka(config);
    let reader = Reader { lookup: Lookup::open(&settings, &names)?, settings, names };
    let before = reader.ends(Topic::Journal)?;
    let history = reader.history()?;
    let moved = reader.ends(Topic::Journal)? != before;
    Ok(Read { history, moved })
}

struct Reader {
    lookup: Lookup,
    settings: KafkaSettings,
    names: TopicNames,
}

/// Partitions still to be read, and the offset up to which.
type Left = BTreeMap<i32, i64>;

impl Reader {
    fn history(&self) -> Result<History, Failure> {
        let name = |topic| self.names.get(topic).to_owned();
        Ok(History {
            names: Names {
                interactions: name(Topic::Interactions),
                commands: name(Topic::Commands),
                feedback: name(Topic::Feedback),
            },
            journal: self.topic(Topic::Journal)?,
            policies: self.topic(Topic::Policies)?,
            decisions: self.topic(Topic::Decisions)?,
            bans: self.topic(Topic::Bans)?,
            cases: self.topic(Topic::Cases)?,
            dead_letters: self.topic(Topic::DeadLetters)?,
            interactions: self.topic(Topic::Interactions)?,
            commands: self.topic(Topic::Commands)?,
            feedback: self.topic(Topic::Feedback)?,
            committed: self.committed()?,
        })
    }

    fn ends(&self, topic: Topic) -> Result<Vec<(i64, i64)>, Failure> {
        let mut ends = Vec::new();
        for partition in 0..self.lookup.partitions(topic, setup::PATIENCE)? {
            let held = self.lookup.held(topic, partition, setup::PATIENCE)?;
            ends.push((held.low, held.high));
        }
        Ok(ends)
    }

    /// What the group has committed of the inputs.
    fn committed(&self) -> Result<Vec<Committed>, Failure> {
        let mut committed = Vec::new();
        for topic in Topic::INPUTS {
            let partitions = self.lookup.partitions(topic, setup::PATIENCE)?;
            let offsets = self.lookup.committed(topic, partitions, setup::PATIENCE)?;
            for (partition, next) in (0..).zip(offsets) {
                let topic = self.names.get(topic).to_owned();
                committed.extend(next.map(|next| Committed { topic, partition, next }));
            }
        }
        Ok(committed)
    }

    fn topic(&self, topic: Topic) -> Result<Vec<LogRecord>, Failure> {
        let ends = self.ends(topic)?;
        let filled = || (0..).zip(&ends).filter(|(_, (low, high))| low < high);
        let positions = filled().map(|(partition, (low, _))| (partition, *low)).collect();
        let left: Left = filled().map(|(partition, (_, high))| (partition, *high)).collect();
        if left.is_empty() {
            return Ok(Vec::new());
        }
        let start = TopicStart { topic, positions };
        let limits = InputLimits::default();
        let input = Input::open(&self.settings, &self.names, &[start], limits, setup::PATIENCE)?;
        self.gather(&input, topic, left)
    }

    fn gather(&self, input: &Input, topic: Topic, mut left: Left) -> Result<Vec<LogRecord>, Failure> {
        let mut records = Vec::new();
        let mut silent = Stopwatch::start();
        while !left.is_empty() {
            match input.next(setup::PATIENCE) {
                InputEvent::Records(batch) => {
                    self.take(&batch, &mut records, &mut left);
                    silent = Stopwatch::start();
                }
                InputEvent::Problem(problem) if problem.stops => return Err(problem.error.into()),
                InputEvent::Problem(_) | InputEvent::Idle if silent.elapsed() < setup::PATIENCE => {}
                InputEvent::Problem(problem) => return Err(problem.error.into()),
                InputEvent::Idle => {
                    let text = format!("error: no answer from Kafka while reading {}", self.names.get(topic));
                    return Err(Failure { code: exit::KAFKA, text });
                }
            }
        }
        Ok(records)
    }

    fn take(&self, batch: &RecordBatch, records: &mut Vec<LogRecord>, left: &mut Left) {
        for record in batch.iter() {
            records.push(self.plain(&record));
            left.retain(|partition, end| *partition != record.at.partition || record.at.offset + 1 < *end);
        }
        for end in batch.ends() {
            left.retain(|partition, wanted| *partition != end.partition || end.position < *wanted);
        }
    }

    fn plain(&self, record: &RecordRef<'_>) -> LogRecord {
        let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        LogRecord {
            topic: self.names.get(record.at.topic).to_owned(),
            partition: record.at.partition,
            offset: record.at.offset,
            timestamp: match record.timestamp {
                stream::Timestamp::Append(millis) | stream::Timestamp::Create(millis) => {
                    Some(Timestamp::from_millis(millis))
                }
                stream::Timestamp::None => None,
            },
            key: owned(record.key),
            headers: record.headers.iter().map(|(name, value)| (name.to_owned(), owned(value))).collect(),
            unreadable: record.headers.unreadable() > 0,
            value: owned(record.value),
        }
    }
}
