//! Interactions of a topic for a backtest: read without joining any group, nothing is committed.
//!
//! Partitions are merged as live merges a batch: by (effective time, partition), inside a partition in the order of the log.
//! Live merges batch by batch, and what lay in one batch is known to its journal only, so that verdicts which hang on the
//! order of events within the same moments may differ. It ends at the end that each partition had at the start. A partition
//! that leads by more than [`LEAD_MAX`] records waits for the others.

use std::collections::VecDeque;

use super::{Failure, setup};
use crate::backtest::{Pass, Range};
use crate::cli::exit;
use crate::clock::Stopwatch;
use crate::config::Config;
use crate::engine::policy::Settings;
use crate::engine::time::Timestamp;
use crate::evaluate::read::Faults;
use crate::replay::{Panel, Record};
use crate::stream::{
    self, Input, InputEvent, InputLimits, Lookup, RecordBatch, RecordRef, Topic, TopicNames, TopicStart,
};
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
struct Owned {
    /// Effective time.
    at: Timestamp,
    append: Option<Timestamp>,
    partition: i32,
    offset: i64,
    value: Option<Vec<u8>>,
    headers: Vec<(String, Option<Vec<u8>>)>,
}

/// Opens the topic of this name; records before the range's warm-up are passed over where Kafka can tell which.
///
/// # Errors
/// It is not the topic of interactions, Kafka does not answer, or there is nothing in it.
pub(super) fn open(
    config: &Config,
    name: &str,
    range: &Range,
    settings: &Settings,
    faults: &mut Faults,
) -> Result<Source, Failure> {
    let names = TopicNames::with_prefix(&config.kafka.topic_prefix);
    let interactions = names.get(Topic::Interactions);
    if name != interactions {
        let text = format!(
            "--from {name}: interactions are in {interactions} (see topic_prefix in the configuration)"
        );
        return Err(Failure::of_usage(text));
    }
    let kafka = setup::kafka(config);
    let lookup = Lookup::open(&kafka, &names)?;
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
    let limits = InputLimits::default();
    let input = Input::open(&kafka, &names, &[start], limits, setup::PATIENCE)?;
    let limits = DecodeLimits::default();
    Ok(Source { input, name: name.to_owned(), lanes, settings: settings.clone(), limits })
}

impl Source {
    /// Leads all records to a pass; `advanced` is told how many it had so far.
    ///
    /// # Errors
    /// Kafka does not answer any more. A partition that breaks off is a fault, and the others are done.
    pub(super) fn hear(
        mut self,
        pass: &mut Pass,
        faults: &mut Faults,
        mut advanced: impl FnMut(u64),
    ) -> Result<(), Failure> {
        let mut read = 0;
        let mut ready: Vec<Owned> = Vec::with_capacity(Panel::RECORDS);
        loop {
            while ready.len() < Panel::RECORDS
                && let Some(record) = self.next(faults)?
            {
                ready.push(record);
            }
            if ready.is_empty() {
                return Ok(());
            }
            let before = read;
            read += self.decide(&ready, pass, before, faults);
            advanced(read);
            ready.clear();
        }
    }

    fn decide(&self, ready: &[Owned], pass: &mut Pass, before: u64, faults: &mut Faults) -> u64 {
        let headers: Vec<Vec<Header<'_>>> = ready
            .iter()
            .map(|record| {
                record.headers.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect()
            })
            .collect();
        let records = ready.iter().zip(&headers).map(|(record, headers)| Record {
            bytes: record.value.as_deref(),
            headers,
            partition: record.partition,
            offset: record.offset,
            append_time: record.append,
        });
        let count = pass.records(records, |heard| {
            if let Some(fault) = heard.fault {
                let record = &ready[(heard.line - before) as usize - 1];
                let at = || format!("{}/{}@{}", self.name, record.partition, record.offset);
                faults.note(fault.reason.name(), at, format!("{} ({})", fault.message, fault.place));
            }
            None
        });
        count as u64
    }

    /// The next record of all partitions, once each has one or is done.
    fn next(&mut self, faults: &mut Faults) -> Result<Option<Owned>, Failure> {
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
                    self.take(&batch, faults);
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

    fn take(&mut self, batch: &RecordBatch, faults: &mut Faults) {
        for record in batch.iter() {
            let Some(place) = self.lanes.iter().position(|lane| lane.partition == record.at.partition) else {
                continue;
            };
            let (end, offset) = (self.lanes[place].end, record.at.offset);
            if offset < end {
                match self.owned(&record) {
                    Some(owned) => self.lanes[place].waiting.push_back(owned),
                    None => {
                        let at = || format!("{}/{}@{offset}", self.name, record.at.partition);
                        faults.note("invalid_headers", at, "a header's name is not UTF-8: passed over");
                    }
                }
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

    fn owned(&self, record: &RecordRef<'_>) -> Option<Owned> {
        let append = match record.timestamp {
            stream::Timestamp::Append(millis) | stream::Timestamp::Create(millis) => {
                Some(Timestamp::from_millis(millis))
            }
            stream::Timestamp::None => None,
        };
        let headers: Vec<_> = record.headers.iter().collect();
        let occurred =
            decode(record.value, &headers, &self.limits).ok().map(|decoded| decoded.event.occurred_at);
        let at = match (occurred, append) {
            (Some(occurred), append) => {
                let append = append.unwrap_or(occurred);
                self.settings.effective_time(occurred, append).map_or(append, |(at, _)| at)
            }
            (None, append) => append.unwrap_or_default(),
        };
        (record.headers.unreadable() == 0).then(|| Owned {
            at,
            append,
            partition: record.at.partition,
            offset: record.at.offset,
            value: record.value.map(<[u8]>::to_vec),
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.map(<[u8]>::to_vec)))
                .collect(),
        })
    }
}
