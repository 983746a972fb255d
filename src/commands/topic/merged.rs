//! Interactions of a topic for a backtest: read without joining any group, nothing is committed.
//!
//! Partitions are merged as live merges a batch: by (effective time, partition), inside a partition in the order of the log.
//! Live merges batch by batch, and what lay in one batch is known to its journal only, so that verdicts which hang on the
//! order of events within the same moments may differ. It ends at the end that each partition had at the start. A partition
//! that leads by more than [`LEAD_MAX`] records waits for the others.

use std::collections::VecDeque;

use super::hearing::{Hearing, stamp};
use crate::backtest::{Range, Scout};
use crate::cli::exit;
use crate::clock::Stopwatch;
use crate::commands::{Failure, setup};
use crate::engine::policy::Settings;
use crate::engine::time::Timestamp;
use crate::evaluate::read::Faults;
use crate::pipeline::{Positions, ShardSettings};
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

/// What is read of the topic, fixed at the start: of each partition that has any, from where to where.
pub(super) struct Extent(Vec<(i32, i64, i64)>);

/// What there is to be read: from where a restored state stands; else records before the range's warm-up are passed over
/// where Kafka can tell which.
///
/// # Errors
/// Kafka does not answer, or there is no such topic.
pub(super) fn extent(
    shard: &ShardSettings,
    range: &Range,
    stands: Option<&Positions>,
    faults: &mut Faults,
) -> Result<Extent, Failure> {
    let name = shard.names.get(Topic::Interactions);
    let lookup = Lookup::open(&shard.kafka, &shard.names)?;
    let partitions = lookup.partitions(Topic::Interactions, setup::PATIENCE)?;
    // A broker that cannot look up by time is read from its beginning, and what lies before is passed over.
    let offsets = |at: Timestamp| {
        lookup.at_time(Topic::Interactions, partitions, at.millis().max(0), setup::PATIENCE).ok()
    };
    let wanted = range.begins().filter(|_| stands.is_none()).and_then(offsets);
    let mut parts = Vec::new();
    for partition in 0..partitions {
        let held = lookup.held(Topic::Interactions, partition, setup::PATIENCE)?;
        let asked = match stands {
            Some(stands) => Some(stands.get(&(Topic::Interactions, partition)).copied().unwrap_or(0)),
            None => wanted.as_ref().map(|offsets| offsets[partition as usize].unwrap_or(held.high)),
        };
        let from = asked.unwrap_or(held.low).max(held.low);
        let is_whole = stands.is_some() && asked == Some(from);
        if held.low > 0 && from == held.low && !is_whole {
            let message = "earlier records have expired: history begins here";
            faults.note("topic rolled on", || format!("{name}/{partition}@{}", held.low), message);
        }
        if from < held.high {
            parts.push((partition, from, held.high));
        }
    }
    Ok(Extent(parts))
}

/// Opens the topic. `settings` say how times count.
///
/// # Errors
/// Kafka does not answer.
pub(super) fn open(
    shard: &ShardSettings,
    extent: &Extent,
    (settings, limits): (&Settings, DecodeLimits),
) -> Result<Source, Failure> {
    let (kafka, names) = (&shard.kafka, &shard.names);
    let lane = |(partition, _, end): &(i32, i64, i64)| {
        let waiting = VecDeque::new();
        Lane { partition: *partition, end: *end, waiting, done: false, paused: false }
    };
    let lanes = extent.0.iter().map(lane).collect();
    let positions = extent.0.iter().map(|(partition, from, _)| (*partition, *from)).collect();
    let start = TopicStart { topic: Topic::Interactions, positions };
    let input = Input::open(kafka, names, &[start], InputLimits::default(), setup::PATIENCE)?;
    let name = names.get(Topic::Interactions).to_owned();
    Ok(Source { input, name, lanes, settings: settings.clone(), limits })
}

impl Source {
    /// Leads all records to whoever listens.
    ///
    /// # Errors
    /// Kafka does not answer any more. A partition that breaks off is a fault, and the others are done.
    pub(super) fn hear(mut self, hearing: &mut Hearing) -> Result<(), Failure> {
        let mut ready = Vec::with_capacity(Panel::RECORDS);
        while self.some(&mut ready, &mut hearing.session.faults)? {
            each(&ready, |records| {
                hearing.feed(records, |index| (ready[index].partition, ready[index].offset));
            });
        }
        Ok(())
    }

    /// Leads all records to a sample that looks for what it touches.
    ///
    /// # Errors
    /// As of [`Source::hear`].
    pub(super) fn scout(mut self, scout: &mut Scout) -> Result<(), Failure> {
        // The second reading meets the same faults, and tells them.
        let (mut ready, mut faults) = (Vec::with_capacity(Panel::RECORDS), Faults::default());
        while self.some(&mut ready, &mut faults)? {
            each(&ready, |records| while scout.records(&mut *records) > 0 {});
        }
        Ok(())
    }

    /// The next records, a few at a time; false at the end.
    fn some(&mut self, ready: &mut Vec<Owned>, faults: &mut Faults) -> Result<bool, Failure> {
        ready.clear();
        while ready.len() < Panel::RECORDS
            && let Some(record) = self.next(faults)?
        {
            ready.push(record);
        }
        Ok(!ready.is_empty())
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

/// Hands records on as they are decided.
fn each(ready: &[Owned], hear: impl FnOnce(&mut dyn Iterator<Item = Record<'_>>)) {
    let headers: Vec<Vec<Header<'_>>> = ready.iter().map(Owned::headers).collect();
    let mut records = ready.iter().zip(&headers).map(|(record, headers)| Record {
        bytes: record.value.as_deref(),
        headers,
        partition: record.partition,
        offset: record.offset,
        append_time: record.append,
        unread: record.unread,
    });
    hear(&mut records);
}
