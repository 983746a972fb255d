//! Interactions of a topic for a backtest: read without joining any group, nothing is committed.
//!
//! Partitions are merged as live merges a batch: by (effective time, partition), inside a partition in the order of the log.
//! Live merges batch by batch, and what lay in one batch is known to its journal only, so that verdicts which hang on the
//! order of events within the same moments may differ. It ends at the end that each partition had at the start. A partition
//! that leads by more than [`LEAD_MAX`] records waits for the others.

use std::collections::VecDeque;

use super::hearing::{Hearing, stamp};
use crate::backtest::Range;
use crate::cli::exit;
use crate::clock::Stopwatch;
use crate::commands::{Failure, setup};
use crate::engine::policy::Settings;
use crate::engine::time::Timestamp;
use crate::evaluate::read::Faults;
use crate::pipeline::ShardSettings;
use crate::replay::{Panel, Record, Unread};
use crate::stream::{Input, InputEvent, InputLimits, Lookup, RecordBatch, RecordRef, Topic, TopicStart};
use crate::wire::headers::Header;
use crate::wire::interaction::{DecodeLimits, decode};

/// Records of one partition that wait for those of the others, at most about.
const LEAD_MAX: usize = 20_000;
/// What a partition that waited must come down to before it is read on.
const LEAD_LOW: usize = 2_000;

/// A topic that is read from one range to its end.
pub(super) struct Source {
    input: Input,
    name: String,
    lanes: Vec<Lane>,
    settings: Settings,
    limits: DecodeLimits,
}

/// One partition.
#[derive(Debug)]
struct Lane {
    partition: i32,
    /// Where it ended at the start.
    end: i64,
    waiting: VecDeque<Owned>,
    done: bool,
    paused: bool,
}

/// One record, kept until its turn.
#[derive(Debug)]
pub(super) struct Owned {
    /// Effective time.
    at: Timestamp,
    pub(super) append: Option<Timestamp>,
    pub(super) unread: Option<Unread>,
    pub(super) partition: i32,
    pub(super) offset: i64,
    pub(super) value: Option<Vec<u8>>,
    pub(super) headers: Vec<(String, Option<Vec<u8>>)>,
}

impl Owned {
    /// Its headers as decoding takes them.
    pub(super) fn headers(&self) -> Vec<Header<'_>> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect()
    }
}

/// Opens the topic; records before the range's warm-up are passed over where Kafka can tell which. `settings` say how
/// times count.
///
/// # Errors
/// Kafka does not answer, or there is no such topic.
pub(super) fn open(
    shard: &ShardSettings,
    range: &Range,
    (settings, limits): (&Settings, DecodeLimits),
    faults: &mut Faults,
) -> Result<Source, Failure> {
    let (kafka, names) = (&shard.kafka, &shard.names);
    let name = names.get(Topic::Interactions);
    let lookup = Lookup::open(kafka, names)?;
    let partitions = lookup.partitions(Topic::Interactions, setup::PATIENCE)?;
    // A broker that cannot look up by time is read from its beginning, and what lies before is passed over.
    let wanted = range
        .begins()
        .and_then(|at| lookup.at_time(Topic::Interactions, partitions, at.millis(), setup::PATIENCE).ok());
    let (mut lanes, mut positions) = (Vec::new(), Vec::new());
    for partition in 0..partitions {
        let held = lookup.held(Topic::Interactions, partition, setup::PATIENCE)?;
        let asked = wanted.as_ref().map(|offsets| offsets[partition as usize].unwrap_or(held.high));
        let from = asked.unwrap_or(held.low).max(held.low);
        if held.low > 0 && from == held.low {
            let message = "earlier records have expired: history begins here";
            faults.note("topic rolled on", || format!("{name}/{partition}@{}", held.low), message);
        }
        if from < held.high {
            positions.push((partition, from));
            let (waiting, end) = (VecDeque::new(), held.high);
            lanes.push(Lane { partition, end, waiting, done: false, paused: false });
        }
    }
    let start = TopicStart { topic: Topic::Interactions, positions };
    let input = Input::open(kafka, names, &[start], InputLimits::default(), setup::PATIENCE)?;
    Ok(Source { input, name: name.to_owned(), lanes, settings: settings.clone(), limits })
}

impl Source {
    /// Leads all records to whoever listens.
    ///
    /// # Errors
    /// Kafka does not answer any more. A partition that breaks off is a fault, and the others are done.
    pub(super) fn hear(mut self, hearing: &mut Hearing) -> Result<(), Failure> {
        let mut ready: Vec<Owned> = Vec::with_capacity(Panel::RECORDS);
        loop {
            while ready.len() < Panel::RECORDS
                && let Some(record) = self.next(&mut hearing.session.faults)?
            {
                ready.push(record);
            }
            if ready.is_empty() {
                return Ok(());
            }
            decide(&ready, hearing);
            ready.clear();
        }
    }

    /// The next record of all partitions, once each has one or is done.
    ///
    /// # Errors
    /// As of [`Source::hear`].
    pub(super) fn next(&mut self, faults: &mut Faults) -> Result<Option<Owned>, Failure> {
        while self.lanes.iter().any(|lane| !lane.done && lane.waiting.is_empty()) {
            self.fill(faults)?;
        }
        let heads =
            self.lanes.iter().enumerate().filter_map(|(place, lane)| Some((lane.waiting.front()?.at, place)));
        let Some((_, place)) = heads.min() else { return Ok(None) };
        let lane = &mut self.lanes[place];
        let record = lane.waiting.pop_front();
        if lane.paused && lane.waiting.len() <= LEAD_LOW {
            lane.paused = false;
            self.input.resume(Topic::Interactions, &[lane.partition]);
        }
        Ok(record)
    }

    fn fill(&mut self, faults: &mut Faults) -> Result<(), Failure> {
        let silent = Stopwatch::start();
        loop {
            match self.input.next(setup::PATIENCE) {
                InputEvent::Records(batch) => {
                    self.take(&batch);
                    self.input.recycle(batch);
                    return Ok(());
                }
                InputEvent::Problem(problem) => match problem.partition {
                    Some(partition) if problem.stops => {
                        let at = || format!("{}/{partition}@{}", self.name, problem.offset.unwrap_or(-1));
                        faults.note("partition broken off", at, problem.error.to_string());
                        self.lanes
                            .iter_mut()
                            .filter(|lane| lane.partition == partition)
                            .for_each(|lane| lane.done = true);
                        return Ok(());
                    }
                    _ if problem.stops || silent.elapsed() >= setup::PATIENCE => {
                        return Err(problem.error.into());
                    }
                    _ => {}
                },
                InputEvent::Idle if silent.elapsed() < setup::PATIENCE => {}
                InputEvent::Idle => {
                    let text = format!("error: no answer from Kafka while reading {}", self.name);
                    return Err(Failure { code: exit::KAFKA, text });
                }
            }
        }
    }

    fn take(&mut self, batch: &RecordBatch) {
        for record in batch.iter() {
            let Some(place) = self.lanes.iter().position(|lane| lane.partition == record.at.partition) else {
                continue;
            };
            let (end, offset) = (self.lanes[place].end, record.at.offset);
            if offset < end {
                let owned = self.owned(&record);
                self.lanes[place].waiting.push_back(owned);
            }
            self.lanes[place].done |= offset + 1 >= end;
        }
        for end in batch.ends() {
            let lane = self.lanes.iter_mut().find(|lane| lane.partition == end.partition);
            lane.into_iter().for_each(|lane| lane.done |= end.position >= lane.end);
        }
        for lane in
            self.lanes.iter_mut().filter(|lane| !lane.paused && !lane.done && lane.waiting.len() > LEAD_MAX)
        {
            lane.paused = true;
            self.input.pause(Topic::Interactions, &[lane.partition]);
        }
    }

    fn owned(&self, record: &RecordRef<'_>) -> Owned {
        let (append, headers) = (stamp(record), record.headers.iter().collect::<Vec<_>>());
        let unread = (record.headers.unreadable() > 0).then_some(Unread::HeaderName);
        let decoded = decode(record.value, &headers, &self.limits).ok().filter(|_| unread.is_none());
        let at = match (decoded.map(|decoded| decoded.event.occurred_at), append) {
            (Some(occurred), append) => {
                let append = append.unwrap_or(occurred);
                self.settings.effective_time(occurred, append).map_or(append, |(at, _)| at)
            }
            (None, append) => append.unwrap_or_default(),
        };
        let header = |(name, value): &Header<'_>| ((*name).to_owned(), value.map(<[u8]>::to_vec));
        Owned {
            at,
            append,
            unread,
            partition: record.at.partition,
            offset: record.at.offset,
            value: record.value.map(<[u8]>::to_vec),
            headers: headers.iter().map(header).collect(),
        }
    }
}

fn decide(ready: &[Owned], hearing: &mut Hearing) {
    let headers: Vec<Vec<Header<'_>>> = ready.iter().map(Owned::headers).collect();
    let records = ready.iter().zip(&headers).map(|(record, headers)| Record {
        bytes: record.value.as_deref(),
        headers,
        partition: record.partition,
        offset: record.offset,
        append_time: record.append,
        unread: record.unread,
    });
    hearing.feed(records, |index| (ready[index].partition, ready[index].offset));
}
