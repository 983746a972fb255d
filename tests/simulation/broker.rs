//! Logs in memory with transactions, as far as a shard can tell them from Kafka's.
//!
//! Offsets have holes: a transaction ends with a marker in each partition it wrote to, and what was aborted takes offsets
//! without being seen. A producer is fenced by each later one.

use std::collections::BTreeMap;

use weir::pipeline::Positions;
use weir::stream::{
    Cause, CommitError, Coordinates, InputOffset, OutBatch, PartitionEnd, RecordBatch, Step, Timestamp, Topic,
};

use crate::bug::Bug;

/// A record as it was written.
#[derive(Clone, Debug)]
pub struct Stored {
    pub offset: i64,
    pub append: i64,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

/// One partition: its committed records, and where the next one goes.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub records: Vec<Stored>,
    pub end: i64,
    /// What lies before is no longer held; kept here for the checks at the end.
    pub low: i64,
}

/// What becomes of a commit that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Committed,
    Aborted,
    /// The answer is lost on the way; it was committed.
    UnknownIn,
    /// The answer is lost on the way; it was not.
    UnknownOut,
}

/// All logs, the group and its producers.
#[derive(Debug, Default)]
pub struct Broker {
    logs: BTreeMap<(Topic, i32), Log>,
    pub committed: Positions,
    /// Of the newest producer of the shard.
    pub epoch: u64,
    /// The instance that the group gives the shard to.
    pub owner: usize,
    /// The wall clock, ms.
    pub now: i64,
    /// A fault that is planted to be found.
    pub bug: Option<Bug>,
}

impl Broker {
    pub fn new(partitions: &[(Topic, i32)], now: i64) -> Self {
        let each =
            partitions.iter().flat_map(|(topic, count)| (0..*count).map(|partition| (*topic, partition)));
        Self { logs: each.map(|place| (place, Log::default())).collect(), now, ..Self::default() }
    }

    /// The oldest part of a log is no longer held.
    pub fn trim(&mut self, place: (Topic, i32), low: i64) {
        let log = self.logs.get_mut(&place).expect("a partition");
        log.low = low.clamp(log.low, log.end);
    }

    /// Takes over what a partition of another broker holds.
    pub fn fill(&mut self, place: (Topic, i32), log: Log) {
        self.logs.insert(place, log);
    }

    pub fn partitions(&self, topic: Topic) -> i32 {
        self.logs.keys().filter(|(known, _)| *known == topic).count() as i32
    }

    pub fn log(&self, topic: Topic, partition: i32) -> &Log {
        &self.logs[&(topic, partition)]
    }

    /// Every record of a topic.
    pub fn all(&self, topic: Topic) -> impl Iterator<Item = (i32, &Stored)> {
        let logs = self.logs.iter().filter(move |((known, _), _)| *known == topic);
        logs.flat_map(|((_, partition), log)| log.records.iter().map(move |record| (*partition, record)))
    }

    /// A client writes a record to an input.
    pub fn produce(&mut self, topic: Topic, partition: i32, key: &str, value: Vec<u8>) -> i64 {
        let append = self.now;
        let log = self.logs.get_mut(&(topic, partition)).expect("a partition");
        let offset = log.end;
        let key = Some(key.as_bytes().to_vec());
        log.records.push(Stored { offset, append, key, value: Some(value), headers: Vec::new() });
        log.end += 1;
        offset
    }

    /// A client's transaction ends in a partition: an offset that no record has.
    pub fn mark(&mut self, topic: Topic, partition: i32) {
        self.logs.get_mut(&(topic, partition)).expect("a partition").end += 1;
    }

    /// A new producer of the shard: earlier ones are fenced from here on.
    pub fn open(&mut self) -> u64 {
        self.epoch += 1;
        self.epoch
    }

    /// Records of a partition from an offset on, at most so many, and the end when it was reached.
    pub fn read(&self, place: (Topic, i32), from: i64, most: usize, into: &mut RecordBatch) {
        let log = &self.logs[&place];
        let mut left = log.records.iter().skip_while(|record| record.offset < from);
        for record in left.by_ref().take(most) {
            let at = Coordinates { topic: place.0, partition: place.1, offset: record.offset };
            let stamp = Timestamp::Append(record.append);
            into.push(at, stamp, record.key.as_deref(), record.value.as_deref());
            for (name, value) in &record.headers {
                into.push_header(name, value.as_deref());
            }
        }
        if left.next().is_none() {
            into.push_end(PartitionEnd { topic: place.0, partition: place.1, position: log.end });
        }
    }

    /// One transaction.
    pub fn commit(
        &mut self,
        epoch: u64,
        out: &OutBatch,
        offsets: &[InputOffset],
        fate: Fate,
    ) -> Result<(), CommitError> {
        if epoch != self.epoch {
            return Err(CommitError::Fenced(cause("fenced")));
        }
        let is_in = matches!(fate, Fate::Committed | Fate::UnknownIn);
        self.append(out, is_in);
        if is_in {
            let early = i64::from(self.bug == Some(Bug::OffsetCommittedEarly));
            self.committed.extend(offsets.iter().map(|at| ((at.topic, at.partition), at.next + early)));
        }
        match fate {
            Fate::Committed => Ok(()),
            Fate::Aborted => Err(CommitError::Aborted(cause("aborted"))),
            Fate::UnknownIn | Fate::UnknownOut => Err(CommitError::Unknown(cause("no answer"))),
        }
    }

    fn append(&mut self, out: &OutBatch, is_in: bool) {
        let append = self.now;
        let mut touched = std::collections::BTreeSet::new();
        for record in out.iter() {
            let place = (record.topic, record.partition.unwrap_or(0));
            let log = self.logs.get_mut(&place).expect("a partition");
            touched.insert(place);
            if is_in && !self.bug.is_some_and(|bug| bug.loses(record.topic, record.value.is_none(), log.end))
            {
                let headers = record.headers.iter();
                log.records.push(Stored {
                    offset: log.end,
                    append,
                    key: record.key.map(<[u8]>::to_vec),
                    value: record.value.map(<[u8]>::to_vec),
                    headers: headers
                        .map(|(name, value)| (name.to_owned(), value.map(<[u8]>::to_vec)))
                        .collect(),
                });
            }
            log.end += 1;
            if is_in
                && self.bug == Some(Bug::DoubledOutput)
                && record.topic == Topic::Decisions
                && log.end % 50 == 0
            {
                let twice = log.records.last().expect("it was written").clone();
                log.records.push(Stored { offset: log.end, ..twice });
                log.end += 1;
            }
        }
        for place in touched {
            self.mark(place.0, place.1);
        }
    }
}

fn cause(text: &str) -> Cause {
    let (code, text) = (text.to_owned(), text.to_owned());
    Cause { step: Step::Commit, code, text, record: None, lasting: false, stale_member: false }
}
