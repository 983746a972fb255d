//! The logs of a shard on Kafka, as a follower reads them.
//!
//! Inputs are read ahead of what the journal asks for and kept on a shelf until a record of the journal covers them. A
//! shelf that grows too large stops the partitions that are not needed next: one that runs ahead never hides another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::engine::ban::Ban;
use crate::engine::entity::Entity;
use crate::engine::policy::Policy;
use crate::engine::policy::load::load;
use crate::engine::time::Timestamp;
use crate::stream::{Input, InputEvent, InputLimits, Lookup, RecordBatch, StreamError, Topic, TopicStart};
use crate::wire::journal::{self, JournalRecord};
use crate::wire::policy;

use super::batch::{Batch, ends};
use super::journal_tail;
use super::line::{Positions, Range};
use super::logs::{FollowError, JournalPage, Logs};
use super::restore::read_bans;
use super::shard::ShardSettings;
use super::topic_end::read_to_end;

/// How long the brokers may take for one answer, and how long records that the journal names may fail to come.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes on the shelf at which partitions that are not needed next are stopped.
const SHELF_BYTES: usize = 128 << 20;

/// See the module.
pub struct KafkaLogs {
    settings: Arc<ShardSettings>,
    lookup: Lookup,
    journal: Option<(Input, i64)>,
    shelf: Option<Shelf>,
    policies: BTreeMap<String, Arc<Policy>>,
}

/// Inputs that were read and are not covered yet.
struct Shelf {
    input: Input,
    held: Vec<Arc<RecordBatch>>,
    /// Where the shelf begins, by partition: what lies before was covered or never read.
    floor: Positions,
    /// Where it ends.
    reached: Positions,
    paused: BTreeSet<(Topic, i32)>,
}

impl KafkaLogs {
    /// Logs that are not read yet. `policy` need not be looked for in its topic.
    ///
    /// # Errors
    /// A property that is refused.
    pub fn new(settings: Arc<ShardSettings>, policy: Arc<Policy>) -> Result<Self, StreamError> {
        let lookup = Lookup::open(&settings.kafka, &settings.names)?;
        let policies = BTreeMap::from([(policy.hash.to_string(), policy)]);
        Ok(Self { settings, lookup, journal: None, shelf: None, policies })
    }

    fn shard(&self) -> i32 {
        self.settings.shard.cast_signed()
    }

    /// The journal's reader, standing at `from`.
    fn reader(&mut self, from: i64) -> Result<&mut (Input, i64), StreamError> {
        if self.journal.as_ref().is_none_or(|(_, next)| *next != from) {
            let start = [TopicStart { topic: Topic::Journal, positions: vec![(self.shard(), from)] }];
            let settings = &self.settings;
            let input =
                Input::open(&settings.kafka, &settings.names, &start, InputLimits::default(), PATIENCE)?;
            self.journal = Some((input, from));
        }
        Ok(self.journal.as_mut().expect("it was opened above"))
    }

    /// The shelf, if these ranges begin on it; else a new one.
    fn shelf(&mut self, ranges: &[Range], positions: &Positions) -> Result<&mut Shelf, StreamError> {
        let fits = |shelf: &Shelf| {
            ranges.iter().all(|range| shelf.floor.get(&(range.topic, range.partition)) == Some(&range.from))
        };
        if !self.shelf.as_ref().is_some_and(fits) {
            let mut floor = positions.clone();
            floor.extend(ranges.iter().map(|range| ((range.topic, range.partition), range.from)));
            self.shelf = Some(Shelf::open(&self.settings, floor)?);
        }
        Ok(self.shelf.as_mut().expect("it was opened above"))
    }

    fn read_policies(&mut self) -> Result<(), FollowError> {
        read_to_end(&self.settings, Topic::Policies, |record| match policy::decode(record.value) {
            Ok((hash, files)) if !self.policies.contains_key(&hash) => match load(&files) {
                Ok(loaded) => drop(self.policies.insert(hash, loaded.policy)),
                Err(_) => tracing::warn!(hash, "a policy of the topic cannot be loaded by this version"),
            },
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "a record of the topic of policies is passed over"),
        })?;
        Ok(())
    }
}

impl Logs for KafkaLogs {
    fn journal_held(&mut self) -> Result<(i64, i64), FollowError> {
        self.held(Topic::Journal, self.shard())
    }

    fn journal(&mut self, from: i64, patience: Duration) -> Result<JournalPage, FollowError> {
        let (input, next) = self.reader(from)?;
        let mut page = JournalPage { records: Vec::new(), next: from };
        match input.next(patience) {
            InputEvent::Records(records) => {
                for record in records.iter() {
                    let offset = record.at.offset;
                    let unreadable = |error| FollowError::Unreadable { offset, error };
                    page.records.push((offset, journal::decode(record.value).map_err(unreadable)?));
                    page.next = offset + 1;
                }
                page.next = records.ends().iter().map(|end| end.position).fold(page.next, i64::max);
                *next = page.next;
                input.recycle(records);
            }
            InputEvent::Problem(problem) if problem.stops => return Err(FollowError::Input(problem)),
            InputEvent::Problem(problem) => tracing::warn!(%problem.error, "reading the journal"),
            InputEvent::Idle => {}
        }
        Ok(page)
    }

    fn batch(&mut self, ranges: &[Range], positions: &Positions) -> Result<Batch, FollowError> {
        if ranges.is_empty() {
            return Ok(Batch::default());
        }
        self.shelf(ranges, positions)?.take(ranges)
    }

    fn policy(&mut self, hash: &str) -> Result<Arc<Policy>, FollowError> {
        if !self.policies.contains_key(hash) {
            self.read_policies()?;
        }
        let missing = || FollowError::Policy { hash: hash.to_owned(), reason: "it is not there".to_owned() };
        self.policies.get(hash).cloned().ok_or_else(missing)
    }

    fn newest(&mut self) -> Result<Option<JournalRecord>, FollowError> {
        journal_tail::newest(&self.settings)
    }

    fn held(&mut self, topic: Topic, partition: i32) -> Result<(i64, i64), FollowError> {
        let held = self.lookup.held(topic, partition, PATIENCE)?;
        Ok((held.low, held.high))
    }

    fn committed(&mut self, topic: Topic) -> Result<Vec<Option<i64>>, FollowError> {
        let partitions = self.lookup.partitions(topic, PATIENCE)?;
        Ok(self.lookup.committed(topic, partitions, PATIENCE)?)
    }

    fn at_time(&mut self, topic: Topic, at: Timestamp) -> Result<Vec<Option<i64>>, FollowError> {
        let partitions = self.lookup.partitions(topic, PATIENCE)?;
        Ok(self.lookup.at_time(topic, partitions, at.millis(), PATIENCE)?)
    }

    fn bans(&mut self) -> Result<BTreeMap<Entity, Vec<Ban>>, FollowError> {
        Ok(read_bans(&self.settings)?)
    }
}

impl Shelf {
    fn open(settings: &ShardSettings, floor: Positions) -> Result<Self, StreamError> {
        let starts = Topic::INPUTS.into_iter().map(|topic| {
            let of = floor.iter().filter(|((known, _), _)| *known == topic);
            TopicStart { topic, positions: of.map(|((_, partition), from)| (*partition, *from)).collect() }
        });
        let starts: Vec<_> = starts.filter(|start| !start.positions.is_empty()).collect();
        let input = Input::open(&settings.kafka, &settings.names, &starts, InputLimits::default(), PATIENCE)?;
        Ok(Self { input, held: Vec::new(), reached: floor.clone(), floor, paused: BTreeSet::new() })
    }

    /// Reads until the ranges are complete, and hands them out.
    fn take(&mut self, ranges: &[Range]) -> Result<Batch, FollowError> {
        let mut quiet = Stopwatch::start();
        self.let_flow(ranges);
        while !ranges.iter().all(|range| self.reached.get(&(range.topic, range.partition)) >= Some(&range.to))
        {
            match self.input.next(Duration::from_millis(100)) {
                InputEvent::Records(records) => {
                    quiet = Stopwatch::start();
                    self.put(records, ranges);
                }
                InputEvent::Problem(problem) if problem.stops => return Err(FollowError::Input(problem)),
                InputEvent::Problem(problem) => tracing::warn!(%problem.error, "reading inputs again"),
                InputEvent::Idle if quiet.elapsed() > PATIENCE => return Err(self.missing(ranges)),
                InputEvent::Idle => {}
            }
        }
        let batch = Batch::of(ranges, self.held.clone());
        self.floor.extend(ranges.iter().map(|range| ((range.topic, range.partition), range.to)));
        let floor = &self.floor;
        self.held.retain(|records| {
            ends(std::slice::from_ref(records)).iter().any(|(place, end)| floor.get(place) < Some(end))
        });
        Ok(batch)
    }

    fn put(&mut self, records: RecordBatch, needed: &[Range]) {
        let records = Arc::new(records);
        for (place, end) in ends(std::slice::from_ref(&records)) {
            let reached = self.reached.entry(place).or_insert(end);
            *reached = (*reached).max(end);
        }
        self.held.push(records);
        if self.held.iter().map(|records| records.bytes()).sum::<usize>() > SHELF_BYTES {
            self.hold_back(needed);
        }
    }

    /// Stops the partitions that have what is needed.
    fn hold_back(&mut self, needed: &[Range]) {
        for (&(topic, partition), reached) in &self.reached {
            let lacks = needed
                .iter()
                .any(|range| (range.topic, range.partition) == (topic, partition) && range.to > *reached);
            if !lacks && self.paused.insert((topic, partition)) {
                self.input.pause(topic, &[partition]);
            }
        }
    }

    /// Lets the partitions go on that are needed again.
    fn let_flow(&mut self, needed: &[Range]) {
        for range in needed {
            if self.paused.remove(&(range.topic, range.partition)) {
                self.input.resume(range.topic, &[range.partition]);
            }
        }
    }

    fn missing(&self, ranges: &[Range]) -> FollowError {
        let lacking =
            ranges.iter().find(|range| self.reached.get(&(range.topic, range.partition)) < Some(&range.to));
        let words = lacking.map_or_else(String::new, |range| {
            format!("{}/{} up to offset {}", range.topic, range.partition, range.to)
        });
        FollowError::Stream(StreamError::Other {
            doing: "reading inputs that the journal names".to_owned(),
            reason: format!("{words} did not come within {} s", PATIENCE.as_secs()),
        })
    }
}
