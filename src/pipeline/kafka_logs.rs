//! The logs of a shard on Kafka, as a follower reads them. Inputs are read ahead of what the journal asks for: see [`super::shelf`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::ban::Ban;
use crate::engine::case::Case;
use crate::engine::entity::Entity;
use crate::engine::policy::Policy;
use crate::engine::policy::load::load;
use crate::engine::time::Timestamp;
use crate::stream::{Input, InputEvent, InputLimits, Lookup, StreamError, Topic, TopicNames, TopicStart};
use crate::wire::decision::{self, DecisionRecord};
use crate::wire::journal::{self, JournalRecord};
use crate::wire::policy;

use super::batch::Batch;
use super::journal_tail;
use super::line::{Positions, Range};
use super::logs::{FollowError, JournalPage, Logs};
use super::restore::{read_bans, read_cases};
use super::shard::ShardSettings;
use super::shelf::Shelf;
use super::topic_end::{read_since, read_to_end};

/// How long the brokers may take for one answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// See the module.
pub struct KafkaLogs {
    settings: Arc<ShardSettings>,
    lookup: Lookup,
    journal: Option<(Input, i64)>,
    shelf: Option<Shelf>,
    policies: BTreeMap<String, Arc<Policy>>,
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

    /// Keeps the shelf if these ranges begin on it; else makes a new one.
    fn open_shelf(&mut self, ranges: &[Range], positions: &Positions) -> Result<(), StreamError> {
        if !self.shelf.as_ref().is_some_and(|shelf| shelf.fits(ranges)) {
            let mut floor = positions.clone();
            floor.extend(ranges.iter().map(|range| ((range.topic, range.partition), range.from)));
            self.shelf = Some(Shelf::open(&self.settings, floor)?);
        }
        Ok(())
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
        self.open_shelf(ranges, positions)?;
        let (lookup, names) = (&self.lookup, &self.settings.names);
        let lost = || ranges.iter().try_for_each(|range| is_held(lookup, names, range));
        self.shelf.as_mut().expect("it was opened above").take(ranges, lost)
    }

    fn recycle(&mut self, batch: Batch) {
        if let Some(shelf) = &self.shelf {
            shelf.recycle(batch.records);
        }
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

    fn cases(&mut self) -> Result<BTreeMap<String, Case>, FollowError> {
        Ok(read_cases(&self.settings)?)
    }

    fn decisions(
        &mut self,
        since: Timestamp,
        each: &mut dyn FnMut(DecisionRecord),
    ) -> Result<(), FollowError> {
        read_since(&self.settings, Topic::Decisions, since, |record| match decision::decode(record.value) {
            Ok(told) => each(told),
            Err(error) => tracing::warn!(%error, "a record of the topic of decisions is passed over"),
        })?;
        Ok(())
    }
}

/// An error when a range lies outside of what is held.
fn is_held(lookup: &Lookup, names: &TopicNames, range: &Range) -> Result<(), StreamError> {
    let Range { topic, partition, from, to } = *range;
    let held = lookup.held(topic, partition, PATIENCE)?;
    let lost = if from < held.low { Some(from) } else { Some(to).filter(|to| *to > held.high) };
    match lost {
        Some(offset) => {
            let topic = names.get(topic).to_owned();
            Err(StreamError::OffsetOutOfRange { topic, partition, offset, low: held.low, high: held.high })
        }
        None => Ok(()),
    }
}
