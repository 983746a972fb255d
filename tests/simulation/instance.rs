//! One process of weir, step by step: what its threads do, in an order that the dice choose.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use weir::engine::Engine;
use weir::engine::cut::CutProgress;
use weir::engine::policy::Policy;
use weir::engine::time::Timestamp as Time;
use weir::pipeline::{
    Answer, Batch, Entry, Follower, Foundry, Job, LostInputs, Replica, Start, Taken, Work, answer, go_over,
    is_in, reset, start,
};
use weir::stream::{RecordBatch, Timestamp, Topic};
use weir::wire::journal::{self, JournalKind};

use crate::broker::{Broker, Fate};
use crate::bug::Bug;
use crate::dice::Dice;
use crate::disk::{Disk, Unpublished};
use crate::logs::MemoryLogs;

/// Where a process stands.
enum State {
    Down,
    /// Restores and follows.
    Follows(Start),
    /// Owns the shard, as far as it knows.
    Owns(Box<Owner>),
}

/// What an owner has.
struct Owner {
    replica: Box<Replica>,
    epoch: u64,
    /// Scored and not known to be committed, oldest first, with the attempts so far.
    jobs: VecDeque<(Job, u32)>,
    /// Number of the newest record that is known to be committed.
    committed: Option<u64>,
    checkpoint: Option<Unpublished>,
}

/// See the module.
pub struct Instance {
    id: usize,
    broker: Rc<RefCell<Broker>>,
    policies: Vec<Arc<Policy>>,
    state: State,
    pub disk: Disk,
}

/// What happened, for the statistics of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub crashes: u64,
    pub takeovers: u64,
    pub resets: u64,
    pub aborts: u64,
    pub unknown: u64,
    pub fenced: u64,
    pub batches: u64,
    pub checkpoints: u64,
    pub restored: u64,
    pub lost: u64,
    /// Cases of campaigns, decisions that campaigns corrected, and corrections that were taken back.
    pub campaigns: u64,
    pub corrected: u64,
    pub reversed: u64,
}

impl Seen {
    /// Adds another run.
    pub fn add(&mut self, other: &Seen) {
        let Seen {
            crashes,
            takeovers,
            resets,
            aborts,
            unknown,
            fenced,
            batches,
            checkpoints,
            restored,
            lost,
            campaigns,
            corrected,
            reversed,
        } = other;
        self.crashes += crashes;
        self.takeovers += takeovers;
        self.resets += resets;
        self.aborts += aborts;
        self.unknown += unknown;
        self.fenced += fenced;
        self.batches += batches;
        self.checkpoints += checkpoints;
        self.restored += restored;
        self.lost += lost;
        self.campaigns += campaigns;
        self.corrected += corrected;
        self.reversed += reversed;
    }
}

impl Instance {
    pub fn new(id: usize, broker: &Rc<RefCell<Broker>>, policies: &[Arc<Policy>]) -> Self {
        let (broker, policies) = (Rc::clone(broker), policies.to_vec());
        Self { id, broker, policies, state: State::Down, disk: Disk::default() }
    }

    /// Everything in memory is gone.
    pub fn crash(&mut self, seen: &mut Seen) {
        seen.crashes += u64::from(!matches!(self.state, State::Down));
        self.state = State::Down;
    }

    fn has(&self, bug: Bug) -> bool {
        self.broker.borrow().bug == Some(bug)
    }

    fn logs(&self) -> MemoryLogs {
        MemoryLogs { broker: Rc::clone(&self.broker), policies: self.policies.clone(), whole: false }
    }

    /// One step, chosen by the dice where there is a choice.
    pub fn step(&mut self, dice: &mut Dice, foundry: &Foundry, faults: bool, seen: &mut Seen) {
        let mut logs = self.logs();
        match std::mem::replace(&mut self.state, State::Down) {
            State::Down => self.state = State::Follows(self.start(foundry, &mut logs, seen)),
            State::Follows(from) => self.follow(from, dice, foundry, seen),
            State::Owns(owner) => self.own(*owner, dice, faults, seen),
        }
    }

    fn start(&mut self, foundry: &Foundry, logs: &mut MemoryLogs, seen: &mut Seen) -> Start {
        if self.has(Bug::AbortedBatchInCheckpoint) {
            self.disk.trusted = chains(&self.broker.borrow());
        }
        let start = start(foundry, logs, Some(&mut self.disk)).expect("the logs can be read");
        let is_restored = |follower: &Follower| follower.replica.line.next > 0;
        seen.restored += u64::from(matches!(&start, Start::Follow(follower) if is_restored(follower)));
        start
    }

    fn follow(&mut self, mut from: Start, dice: &mut Dice, foundry: &Foundry, seen: &mut Seen) {
        let mut logs = self.logs();
        if self.broker.borrow().owner == self.id && dice.one_in(2) {
            return self.take_over(from, foundry, seen);
        }
        if let Start::Follow(follower) = &mut from {
            match follower.step(foundry, &mut logs, Duration::ZERO, &mut |_, _| ()) {
                Err(error) if error.needs_reset() => from = Start::Anew(error.to_string()),
                step => drop(step.expect("it follows")),
            }
        }
        self.state = State::Follows(from);
    }

    /// Fences, comes to the end of the journal, and owns.
    fn take_over(&mut self, from: Start, foundry: &Foundry, seen: &mut Seen) {
        seen.takeovers += 1;
        let (mut logs, epoch) = (self.logs(), self.broker.borrow_mut().open());
        seen.lost += u64::from(is_lost(&self.broker.borrow()));
        let from = match from {
            Start::Anew(_) => self.start(foundry, &mut logs, seen),
            from => from,
        };
        let mut jobs = VecDeque::new();
        let followed = match from {
            Start::Follow(mut follower) => match follower.catch_up(foundry, &mut logs, &mut |_, _| ()) {
                Err(error) if error.needs_reset() => None,
                caught_up => caught_up.map(|()| Some(follower.replica)).expect("it follows"),
            },
            Start::Anew(_) => None,
        };
        let mut replica = followed.unwrap_or_else(|| {
            seen.resets += 1;
            let now = Time::from_millis(self.broker.borrow().now);
            let (policy, mut job) = (Arc::clone(&self.policies[0]), Job::default());
            let replica = reset(foundry, &mut logs, policy, now, true, &mut job).expect("it begins anew");
            jobs.push_back((job, 0));
            replica
        });
        let lost = LostInputs::find(&mut logs, &foundry.names, &replica.line.positions).expect("it is asked");
        if !lost.is_empty() {
            let mut job = Job::default();
            go_over(&lost, &mut replica, &mut job);
            jobs.push_back((job, 0));
        }
        let committed = if jobs.is_empty() { replica.line.next.checked_sub(1) } else { None };
        self.state = State::Owns(Box::new(Owner {
            replica: Box::new(replica),
            epoch,
            jobs,
            committed,
            checkpoint: None,
        }));
    }

    fn own(&mut self, mut owner: Owner, dice: &mut Dice, faults: bool, seen: &mut Seen) {
        let low = |(topic, partition): &(Topic, i32)| self.broker.borrow().log(*topic, *partition).low;
        if owner.replica.line.positions.iter().any(|(place, next)| *next < low(place)) {
            // Its reader is told that what it wants is not held.
            return;
        }
        let commits = owner.jobs.len() == 2 || (!owner.jobs.is_empty() && dice.one_in(2));
        let keeps = if commits {
            self.commit(&mut owner, dice, faults, seen)
        } else {
            self.score(&mut owner, dice, seen);
            true
        };
        if keeps {
            self.checkpoint(&mut owner, dice, seen);
        }
        // State that holds what could not be committed is dropped.
        self.state = if keeps { State::Owns(Box::new(owner)) } else { State::Down };
    }

    fn score(&self, owner: &mut Owner, dice: &mut Dice, seen: &mut Seen) {
        let gathered = self.gather(owner, dice);
        let line = &owner.replica.line;
        let batch = Batch::from(&line.positions, vec![Arc::new(gathered)]);
        let holds = Arc::clone(owner.replica.scorer.engine().policy());
        let other = self
            .policies
            .iter()
            .find(|policy| policy.hash != holds.hash)
            .filter(|_| dice.one_in(40))
            .cloned();
        let now = Time::from_millis(self.broker.borrow().now);
        let caught_up = batch.ranges.is_empty();
        let ticks = if caught_up && dice.one_in(3) { vec![now] } else { Vec::new() };
        if batch.ranges.is_empty() && ticks.is_empty() && other.is_none() {
            return;
        }
        seen.batches += 1;
        if other.is_some() && self.has(Bug::CounterResetByReload) {
            *owner.replica.scorer.engine_mut() = Engine::new(Arc::clone(&holds), crate::SEED);
        }
        let policy = other.as_ref().unwrap_or(&holds).hash.to_string();
        let entry =
            Entry { kind: JournalKind::Batch, policy, ticks, ranges: batch.ranges(), skipped: Vec::new() };
        let decided_at = Time::from_millis(now.millis() + dice.below(1000) as i64);
        let work = Work { entry: &entry, policy: other, batch: &batch, taken: Taken::NOTHING, decided_at };
        let mut job = Job::default();
        owner.replica.lead(&work, &BTreeSet::new(), &mut job);
        owner.jobs.push_back((job, 0));
    }

    /// Some records of some partitions, in some order of partitions.
    fn gather(&self, owner: &Owner, dice: &mut Dice) -> RecordBatch {
        let broker = self.broker.borrow();
        let mut read = RecordBatch::default();
        let mut places: Vec<((Topic, i32), i64)> =
            owner.replica.line.positions.iter().map(|(place, next)| (*place, *next)).collect();
        dice.shuffle(&mut places);
        for (place, next) in places {
            if !dice.one_in(4) {
                broker.read(place, next, 1 + dice.below(12) as usize, &mut read);
            }
        }
        if broker.bug == Some(Bug::MergeByArrivalOrder) { as_they_arrive(&read) } else { read }
    }

    /// A slice of a checkpoint, or its begin, or its end.
    fn checkpoint(&mut self, owner: &mut Owner, dice: &mut Dice, seen: &mut Seen) {
        let Some(mut checkpoint) = owner.checkpoint.take() else {
            if dice.one_in(12) && owner.replica.line.next > 0 {
                let journal_from = self.newest_offset();
                owner.checkpoint = Some(Unpublished::of(&owner.replica, journal_from));
                owner.replica.scorer.engine_mut().begin_cut();
            }
            return;
        };
        let hasty = self.has(Bug::AbortedBatchInCheckpoint);
        if checkpoint.complete && (hasty || owner.committed >= Some(checkpoint.meta.seq)) {
            seen.checkpoints += 1;
            return self.disk.publish(checkpoint);
        }
        if !checkpoint.complete {
            // Often at once, so that what it stands for is not committed yet.
            let slice = if dice.one_in(2) { usize::MAX } else { 20_000 + dice.below(400_000) as usize };
            match owner.replica.scorer.engine_mut().copy_pages(slice, &mut checkpoint.pages) {
                CutProgress::More => {}
                CutProgress::Complete => checkpoint.complete = true,
                // A policy took effect.
                CutProgress::NoCut => return,
            }
        }
        owner.checkpoint = Some(checkpoint);
    }

    fn newest_offset(&self) -> i64 {
        self.broker.borrow().log(Topic::Journal, 0).records.last().map_or(0, |record| record.offset)
    }

    /// Asks for the oldest job's commit; false when the shard has to be given up.
    fn commit(&self, owner: &mut Owner, dice: &mut Dice, faults: bool, seen: &mut Seen) -> bool {
        let Some((job, attempts)) = owner.jobs.front_mut() else { return true };
        *attempts += 1;
        let fate = if faults { fate(dice) } else { Fate::Committed };
        let mut broker = self.broker.borrow_mut();
        let error = match broker.commit(owner.epoch, &job.out, &job.offsets, fate) {
            Ok(()) => {
                owner.done();
                return true;
            }
            Err(error) => error,
        };
        match answer(&error, broker.owner == self.id, *attempts) {
            Answer::Again => seen.aborts += 1,
            Answer::Settle => {
                seen.unknown += 1;
                owner.epoch = broker.open();
                drop(broker);
                let newest = weir::pipeline::Logs::newest(&mut self.logs()).expect("the journal can be read");
                if is_in(job, newest.as_ref()) {
                    owner.done();
                }
            }
            Answer::Lost | Answer::Failed => {
                seen.fenced += 1;
                return false;
            }
        }
        true
    }
}

impl Owner {
    /// The oldest job is committed.
    fn done(&mut self) {
        let end = self.jobs.pop_front().and_then(|(job, _)| job.end);
        self.committed = end.map(|(seq, _)| seq).or(self.committed);
    }
}

/// Whether inputs are gone that nobody has read.
fn is_lost(broker: &Broker) -> bool {
    broker.committed.iter().any(|((topic, partition), next)| *next < broker.log(*topic, *partition).low)
}

/// The chains of all records of the journal.
fn chains(broker: &Broker) -> BTreeMap<u64, String> {
    let records = broker.log(Topic::Journal, 0).records.iter();
    let decoded = records.map(|record| journal::decode(record.value.as_deref()).expect("a record"));
    decoded.map(|record| (record.seq, record.chain)).collect()
}

/// The same records, with times that make the order of arrival that of the merge.
fn as_they_arrive(read: &RecordBatch) -> RecordBatch {
    let mut arrived = RecordBatch::default();
    let first = read.iter().map(|record| record.timestamp).next();
    for (record, later) in read.iter().zip(0..) {
        let stamp = match first {
            Some(Timestamp::Append(at)) => Timestamp::Append(at + 120_000 * later),
            _ => record.timestamp,
        };
        arrived.push(record.at, stamp, record.key, record.value);
    }
    read.ends().iter().for_each(|end| arrived.push_end(*end));
    arrived
}

fn fate(dice: &mut Dice) -> Fate {
    match dice.below(20) {
        0 | 1 => Fate::Aborted,
        2 => Fate::UnknownIn,
        3 => Fate::UnknownOut,
        _ => Fate::Committed,
    }
}
