//! The logs of the broker in memory, as a follower reads them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use weir::engine::ban::{Ban, BanChange};
use weir::engine::case::Case;
use weir::engine::entity::Entity;
use weir::engine::policy::Policy;
use weir::engine::time::Timestamp;
use weir::pipeline::{
    Batch, FollowError, Followed, Follower, Foundry, JournalPage, Logs, Positions, Range, Start, start,
};
use weir::stream::{RecordBatch, StreamError, Topic};
use weir::wire::decision::{self, DecisionRecord};
use weir::wire::journal::{self, JournalRecord};
use weir::wire::{ban, case};

use crate::broker::Broker;
use crate::bug::Bug;

/// Records of the journal a page holds: small, so that crashes fall between them.
const PAGE: usize = 3;

/// See the module.
pub struct MemoryLogs {
    pub broker: Rc<RefCell<Broker>>,
    /// Policies by hash, loaded once for all runs.
    pub policies: Vec<Arc<Policy>>,
    /// Reads also what is no longer held.
    pub whole: bool,
}

/// The logs of a broker as they are now.
struct View<'v> {
    broker: &'v Broker,
    policies: &'v [Arc<Policy>],
    whole: bool,
}

impl MemoryLogs {
    fn now<T>(&self, ask: impl FnOnce(&mut View<'_>) -> T) -> T {
        ask(&mut View { broker: &self.broker.borrow(), policies: &self.policies, whole: self.whole })
    }
}

impl Logs for MemoryLogs {
    fn journal_held(&mut self) -> Result<(i64, i64), FollowError> {
        self.now(|view| view.journal_held())
    }

    fn journal(&mut self, from: i64, patience: Duration) -> Result<JournalPage, FollowError> {
        self.now(|view| view.journal(from, patience))
    }

    fn batch(&mut self, ranges: &[Range], positions: &Positions) -> Result<Batch, FollowError> {
        self.now(|view| view.batch(ranges, positions))
    }

    fn policy(&mut self, hash: &str) -> Result<Arc<Policy>, FollowError> {
        self.now(|view| view.policy(hash))
    }

    fn newest(&mut self) -> Result<Option<JournalRecord>, FollowError> {
        self.now(|view| view.newest())
    }

    fn held(&mut self, topic: Topic, partition: i32) -> Result<(i64, i64), FollowError> {
        self.now(|view| view.held(topic, partition))
    }

    fn committed(&mut self, topic: Topic) -> Result<Vec<Option<i64>>, FollowError> {
        self.now(|view| view.committed(topic))
    }

    fn at_time(&mut self, topic: Topic, at: Timestamp) -> Result<Vec<Option<i64>>, FollowError> {
        self.now(|view| view.at_time(topic, at))
    }

    fn bans(&mut self) -> Result<BTreeMap<Entity, Vec<Ban>>, FollowError> {
        self.now(|view| view.bans())
    }

    fn cases(&mut self) -> Result<BTreeMap<String, Case>, FollowError> {
        self.now(|view| view.cases())
    }

    fn decisions(
        &mut self,
        since: Timestamp,
        each: &mut dyn FnMut(DecisionRecord),
    ) -> Result<(), FollowError> {
        self.now(|view| view.decisions(since, each))
    }
}

impl View<'_> {
    fn low(&self, broker: &Broker, topic: Topic, partition: i32) -> i64 {
        if self.whole { 0 } else { broker.log(topic, partition).low }
    }
}

impl Logs for View<'_> {
    fn journal_held(&mut self) -> Result<(i64, i64), FollowError> {
        let broker = self.broker;
        let log = broker.log(Topic::Journal, 0);
        Ok((if self.whole { 0 } else { log.low }, log.end))
    }

    fn journal(&mut self, from: i64, _: Duration) -> Result<JournalPage, FollowError> {
        let broker = self.broker;
        let log = broker.log(Topic::Journal, 0);
        let rest = log.records.iter().filter(|record| record.offset >= from);
        let records: Vec<(i64, JournalRecord)> =
            rest.take(PAGE).map(|record| (record.offset, decoded(record.value.as_deref()))).collect();
        let next = match records.last() {
            Some((offset, _)) if records.len() == PAGE => offset + 1,
            _ => log.end,
        };
        Ok(JournalPage { records, next })
    }

    fn batch(&mut self, ranges: &[Range], _: &Positions) -> Result<Batch, FollowError> {
        let broker = self.broker;
        for range in ranges {
            let (low, high) = (self.low(broker, range.topic, range.partition), range.to);
            if range.from < low {
                let (topic, partition, offset) = (range.topic.to_string(), range.partition, range.from);
                return Err(StreamError::OffsetOutOfRange { topic, partition, offset, low, high }.into());
            }
        }
        // Read in one go and in an order of its own: what a batch is must not depend on it.
        let mut read = RecordBatch::default();
        for range in ranges.iter().rev() {
            broker.read((range.topic, range.partition), range.from, usize::MAX, &mut read);
        }
        Ok(Batch::of(ranges, vec![Arc::new(read)]))
    }

    fn policy(&mut self, hash: &str) -> Result<Arc<Policy>, FollowError> {
        let broker = self.broker;
        let told =
            broker.all(Topic::Policies).any(|(_, record)| record.key.as_deref() == Some(hash.as_bytes()));
        assert!(told, "the policy {hash} was told before it held");
        Ok(Arc::clone(self.policies.iter().find(|policy| *policy.hash == *hash).expect("one of the run's")))
    }

    fn newest(&mut self) -> Result<Option<JournalRecord>, FollowError> {
        let broker = self.broker;
        Ok(broker.log(Topic::Journal, 0).records.last().map(|record| decoded(record.value.as_deref())))
    }

    fn held(&mut self, topic: Topic, partition: i32) -> Result<(i64, i64), FollowError> {
        let broker = self.broker;
        Ok((self.low(broker, topic, partition), broker.log(topic, partition).end))
    }

    fn committed(&mut self, topic: Topic) -> Result<Vec<Option<i64>>, FollowError> {
        let broker = self.broker;
        let each = 0..broker.partitions(topic);
        Ok(each.map(|partition| broker.committed.get(&(topic, partition)).copied()).collect())
    }

    fn at_time(&mut self, topic: Topic, at: Timestamp) -> Result<Vec<Option<i64>>, FollowError> {
        let broker = self.broker;
        let first = |partition| {
            let mut records = broker.log(topic, partition).records.iter();
            records.find(|record| record.append >= at.millis()).map(|record| record.offset)
        };
        Ok((0..broker.partitions(topic)).map(first).collect())
    }

    fn bans(&mut self) -> Result<BTreeMap<Entity, Vec<Ban>>, FollowError> {
        let broker = self.broker;
        if broker.bug == Some(Bug::ResetForgetsBans) {
            return Ok(BTreeMap::new());
        }
        Ok(bans_told(broker))
    }

    fn cases(&mut self) -> Result<BTreeMap<String, Case>, FollowError> {
        let broker = self.broker;
        let told = broker
            .all(Topic::Cases)
            .map(|(_, record)| case::decode(record.value.as_deref()).expect("a case"));
        Ok(told.map(|case| (case.id.clone(), case)).collect())
    }

    fn decisions(
        &mut self,
        since: Timestamp,
        each: &mut dyn FnMut(DecisionRecord),
    ) -> Result<(), FollowError> {
        let told = self.broker.all(Topic::Decisions).filter(|(_, record)| record.append >= since.millis());
        told.for_each(|(_, record)| each(decision::decode(record.value.as_deref()).expect("a decision")));
        Ok(())
    }
}

/// What reading the topic of bans to its end gives.
pub fn bans_told(broker: &Broker) -> BTreeMap<Entity, Vec<Ban>> {
    let mut current = BTreeMap::new();
    for (_, record) in broker.all(Topic::Bans) {
        match ban::decode(record.key.as_deref(), record.value.as_deref()).expect("a ban") {
            BanChange::InForce(bans) => drop(current.insert(bans[0].entity.clone(), bans)),
            BanChange::Lifted { entity, .. } | BanChange::Gone(entity) => drop(current.remove(&entity)),
        }
    }
    current
}

fn decoded(value: Option<&[u8]>) -> JournalRecord {
    journal::decode(value).expect("a record of the journal")
}

/// A follower of the whole journal, from its first reset on.
pub fn follow_all(
    broker: &Rc<RefCell<Broker>>,
    policies: &[Arc<Policy>],
    foundry: &Foundry,
    told: &mut Followed<'_>,
) -> Box<Follower> {
    let mut logs = MemoryLogs { broker: Rc::clone(broker), policies: policies.to_vec(), whole: true };
    let Start::Follow(mut follower) = start(foundry, &mut logs, None).expect("the logs can be read") else {
        panic!("the journal begins with a reset");
    };
    follower.catch_up(foundry, &mut logs, told).expect("the same outputs again");
    follower
}

/// The same, by several threads.
pub fn follow_apart(broker: &Broker, policies: &[Arc<Policy>], foundry: &Foundry) -> Follower {
    let mut logs = View { broker, policies, whole: true };
    let Start::Follow(follower) = start(foundry, &mut logs, None).expect("the logs can be read") else {
        panic!("the journal begins with a reset");
    };
    let mut follower = follower.always_apart();
    follower.catch_up_apart(foundry, &mut logs, &mut |_| ()).expect("the same outputs again");
    follower
}

/// What they say where a record of the journal tells another chain.
pub fn follow_another_chain(broker: &Broker, policies: &[Arc<Policy>], foundry: &Foundry) -> String {
    let mut logs = View { broker, policies, whole: true };
    let Start::Follow(follower) = start(foundry, &mut logs, None).expect("the logs can be read") else {
        panic!("the journal begins with a reset");
    };
    let mut follower = follower.always_apart();
    let error = follower.catch_up_apart(foundry, &mut logs, &mut |_| ()).expect_err("it differs");
    error.to_string()
}
