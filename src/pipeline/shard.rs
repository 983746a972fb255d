//! The shard: the only loop that owns state. Gather, score, hand over, while the batch before is committed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::{self, Stopwatch};
use crate::engine::entity::Entity;
use crate::engine::policy::Policy;
use crate::engine::time::Span;
use crate::metrics::{self, EvictionCause};
use crate::stream::{
    Input, InputEvent, InputLimits, InputOffset, InputProblem, KafkaSettings, Lookup, Ownership, StreamError,
    Topic, TopicNames, TopicStart, Transactions,
};

use super::batch::Batch;
use super::commit::{Committer, GiveUp, Job};
use super::lead::Leads;
use super::score::{Report, Scorer};

/// How long a question to the brokers may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the last batch may take to be committed once it is to stop.
const FAREWELL: Duration = Duration::from_secs(5);
/// A tick is fed at most so often.
const TICK_EVERY: Duration = Duration::from_secs(1);

/// What is fixed for a shard.
#[derive(Clone, Debug)]
pub struct ShardSettings {
    /// How to reach Kafka.
    pub kafka: KafkaSettings,
    /// Names of the topics.
    pub names: TopicNames,
    /// Which partition of the journal it is.
    pub shard: u32,
    /// A batch is closed at most this long after its first record.
    pub interval: Duration,
    /// Or with this many records.
    pub records_max: usize,
    /// How long a batch waits for partitions that are known to have older records.
    pub merge_wait: Duration,
    /// A partition that is ahead of the slowest one by more append time than this is paused in catch-up.
    pub lead_span: Span,
    /// Whether the stream's time is the wall clock's: then a tick a second moves expiry while nothing happens.
    pub ticks: bool,
}

/// What reaches a running shard from outside, beside records.
pub struct Wishes {
    /// Set when it is to stop after the present batch.
    pub stop: Arc<AtomicBool>,
    /// Policies to activate, newest last.
    pub policies: Receiver<Arc<Policy>>,
    /// Takes the entities that readers of this process asked for.
    pub wanted: Box<dyn FnMut() -> Vec<Entity> + Send>,
    /// Is called in each turn of the loop, also when there is nothing to do.
    pub turned: Box<dyn FnMut() + Send>,
}

/// Why a shard is not run any more.
#[derive(Debug, thiserror::Error)]
pub enum ShardError {
    /// The brokers, a topic or an offset.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A partition cannot be read on.
    #[error("{topic}{}: {}", place(.0), .0.error, topic = .0.topic)]
    Input(InputProblem),
    /// State was given up because a batch could not be committed; the shard is to be acquired anew.
    #[error("{0}")]
    GaveUp(String),
    /// A thread could not be started.
    #[error("starting a thread: {0}")]
    Thread(#[from] std::io::Error),
}

fn place(problem: &InputProblem) -> String {
    let partition = problem.partition.map(|partition| format!("/{partition}")).unwrap_or_default();
    let offset = problem.offset.map(|offset| format!(" at offset {offset}")).unwrap_or_default();
    partition + &offset
}

impl From<GiveUp> for ShardError {
    fn from(give_up: GiveUp) -> Self {
        ShardError::GaveUp(give_up.to_string())
    }
}

/// A shard that is owned, with its input open.
pub struct Shard {
    settings: Arc<ShardSettings>,
    scorer: Scorer,
    input: Input,
    committer: Committer,
    member: Arc<Mutex<Ownership>>,
    /// Room of committed jobs, to be used again.
    spare: Vec<Job>,
    leads: Leads,
    /// Where each partition goes on, as handed over last.
    positions: BTreeMap<(Topic, i32), i64>,
    /// Evictions told so far, by table.
    evicted: BTreeMap<String, [u64; 2]>,
    started: Stopwatch,
    ticked: Stopwatch,
}

impl Shard {
    /// Takes a shard over that this member owns: fences earlier owners, then reads where they came to.
    ///
    /// # Errors
    /// A topic is missing, access is denied, a committed offset is no longer held, or no broker answers.
    pub fn take_over(
        settings: Arc<ShardSettings>,
        scorer: Scorer,
        member: Arc<Mutex<Ownership>>,
        told: impl FnMut(&mut Report) + Send + 'static,
    ) -> Result<Self, ShardError> {
        let transactions = Transactions::open(&settings.kafka, settings.shard, &settings.names, PATIENCE)?;
        let starts = starts(&settings)?;
        let positions = positions(&starts);
        let limits = InputLimits { batch_records: settings.records_max.min(5_000), ..InputLimits::default() };
        let input = Input::open(&settings.kafka, &settings.names, &starts, limits, PATIENCE)?;
        let committer = Committer::start(Arc::clone(&settings), Arc::clone(&member), transactions, told)?;
        Ok(Self {
            settings,
            scorer,
            input,
            committer,
            member,
            spare: Vec::new(),
            leads: Leads::default(),
            positions,
            evicted: BTreeMap::new(),
            started: Stopwatch::start(),
            ticked: Stopwatch::start(),
        })
    }

    /// Runs until told to stop, then commits what was scored.
    ///
    /// # Errors
    /// The shard has to be acquired anew, or cannot be run.
    pub fn run(mut self, wishes: &mut Wishes) -> Result<(), ShardError> {
        self.tell_policy()?;
        while !wishes.stop.load(Ordering::Relaxed) {
            (wishes.turned)();
            self.check_ownership()?;
            self.step(wishes)?;
        }
        if !self.committer.close(FAREWELL)? {
            tracing::warn!("the last batch is not committed: it is decided again after the next start");
        }
        self.input.close(Duration::from_secs(1));
        Ok(())
    }

    /// The first transaction: the text of the policy under which the shard begins.
    fn tell_policy(&mut self) -> Result<(), ShardError> {
        let mut job = Job::default();
        self.scorer.tell_policy(&mut job.out);
        self.hand_over(job)
    }

    fn check_ownership(&self) -> Result<(), ShardError> {
        let member = self.member.lock().unwrap_or_else(PoisonError::into_inner);
        if member.owns(self.settings.shard.cast_signed()) {
            return Ok(());
        }
        Err(ShardError::GaveUp(
            "another instance owns the shard now, or the group gave this one up".to_owned(),
        ))
    }

    /// One batch: gather, score, hand over.
    fn step(&mut self, wishes: &mut Wishes) -> Result<(), ShardError> {
        let batch = self.gather(wishes)?;
        let mut job = self.spare.pop().unwrap_or_default();
        if let Some(policy) = wishes.policies.try_iter().last() {
            self.scorer.activate(policy, &mut job.out);
        }
        let watch = Stopwatch::start();
        self.scorer.score(&batch, clock::now(), &mut job.out, &mut job.report);
        self.tick(&mut job);
        self.scorer.look_up((wishes.wanted)(), &mut job.report);
        job.report.seconds = watch.seconds();
        job.offsets = self.moved(batch.offsets());
        batch.records.into_iter().for_each(|records| self.input.recycle(records));
        self.hand_over(job)
    }

    /// Those that are not where they were: an end that is reached alone is no reason for a transaction.
    fn moved(&mut self, offsets: Vec<InputOffset>) -> Vec<InputOffset> {
        let moves =
            |at: &InputOffset| self.positions.insert((at.topic, at.partition), at.next) != Some(at.next);
        offsets.into_iter().filter(moves).collect()
    }

    /// Records until the interval is over, the batch is full, or there is something else to do. While the batch before is
    /// being committed this one may grow; for partitions that are known to have older records it waits a little.
    fn gather(&mut self, wishes: &Wishes) -> Result<Batch, ShardError> {
        let (watch, mut batch, mut records) = (Stopwatch::start(), Batch::default(), 0);
        let mut seen = BTreeSet::new();
        loop {
            self.take_back()?;
            let left = self.settings.interval.saturating_sub(watch.elapsed());
            let over = left.is_zero() && self.committer.is_free() && !self.awaits(&seen, watch.elapsed());
            if over || records >= self.settings.records_max || wishes.stop.load(Ordering::Relaxed) {
                return Ok(batch);
            }
            match self.input.next(left.max(Duration::from_millis(1))) {
                InputEvent::Records(more) => {
                    records += more.len();
                    self.leads.note(&more, self.started.elapsed());
                    let interactions = more.iter().filter(|record| record.at.topic == Topic::Interactions);
                    seen.extend(interactions.map(|record| record.at.partition));
                    batch.records.push(more);
                    self.keep_together();
                }
                InputEvent::Problem(problem) if problem.stops => return Err(ShardError::Input(problem)),
                InputEvent::Problem(problem) => {
                    tracing::warn!(%problem.error, topic = %problem.topic, "reading");
                }
                InputEvent::Idle => {}
            }
        }
    }

    /// Whether it is worth waiting for a partition that brought nothing to this batch.
    fn awaits(&self, seen: &BTreeSet<i32>, gathered: Duration) -> bool {
        let patience = self.settings.interval.saturating_add(self.settings.merge_wait);
        // A batch without records would wait for the same partitions again and again.
        !seen.is_empty()
            && gathered < patience
            && self.leads.awaits(seen, clock::now(), self.started.elapsed())
    }

    /// Pauses partitions that run ahead, and goes on with those that were waited for.
    fn keep_together(&mut self) {
        let change = self.leads.change(self.settings.lead_span, self.started.elapsed());
        if !change.pause.is_empty() {
            tracing::debug!(partitions = ?change.pause, "paused: ahead of the slowest");
            self.input.pause(Topic::Interactions, &change.pause);
        }
        if !change.resume.is_empty() {
            tracing::debug!(partitions = ?change.resume, "resumed");
            self.input.resume(Topic::Interactions, &change.resume);
        }
    }

    /// Jobs that were committed give their room back.
    fn take_back(&mut self) -> Result<(), GiveUp> {
        while let Some(mut job) = self.committer.finished()? {
            job.out.clear();
            job.report = Report::default();
            job.complete = None;
            self.spare.push(job);
        }
        Ok(())
    }

    fn tick(&mut self, job: &mut Job) {
        if self.ticked.elapsed() >= TICK_EVERY {
            self.ticked = Stopwatch::start();
            self.keep_together();
            let now = clock::now();
            // Time must not pass events that are known to come: in catch-up they move it themselves.
            if self.settings.ticks && self.leads.is_caught_up(now, self.started.elapsed()) {
                self.scorer.tick(now, &mut job.out, &mut job.report);
            }
            self.account();
        }
    }

    /// Hands a batch to the committer; one without anything in it is kept for the next.
    fn hand_over(&mut self, mut job: Job) -> Result<(), ShardError> {
        if job.out.is_empty() && job.offsets.is_empty() && job.report.touched.is_empty() {
            self.spare.push(job);
            return Ok(());
        }
        metrics::batch(job.report.tally.consumed as usize, job.report.seconds);
        job.complete = Some(Stopwatch::start());
        Ok(self.committer.submit(job)?)
    }

    fn account(&mut self) {
        for table in self.scorer.engine().accounts() {
            metrics::state(&table.name, table.stats.entries, table.stats.bytes);
            let now = [table.stats.expired, table.stats.evicted];
            let told = self.evicted.insert(table.name.clone(), now).unwrap_or_default();
            metrics::evictions(&table.name, EvictionCause::Idle, now[0].saturating_sub(told[0]));
            metrics::evictions(&table.name, EvictionCause::Budget, now[1].saturating_sub(told[1]));
        }
    }
}

fn positions(starts: &[TopicStart]) -> BTreeMap<(Topic, i32), i64> {
    let each = |start: &TopicStart| {
        let topic = start.topic;
        start.positions.clone().into_iter().map(move |(partition, next)| ((topic, partition), next))
    };
    starts.iter().flat_map(each).collect()
}

/// Where each input topic goes on: at the committed offset, else at the beginning of what is held.
fn starts(settings: &ShardSettings) -> Result<Vec<TopicStart>, StreamError> {
    let lookup = Lookup::open(&settings.kafka, &settings.names)?;
    [Topic::Commands, Topic::Interactions].into_iter().map(|topic| start(&lookup, topic)).collect()
}

fn start(lookup: &Lookup, topic: Topic) -> Result<TopicStart, StreamError> {
    let partitions = lookup.partitions(topic, PATIENCE)?;
    let committed = lookup.committed(topic, partitions, PATIENCE)?;
    let position = |(partition, committed): (i32, &Option<i64>)| match committed {
        Some(next) => Ok((partition, *next)),
        None => Ok((partition, lookup.held(topic, partition, PATIENCE)?.low)),
    };
    let positions = (0..partitions).zip(&committed).map(position).collect::<Result<_, _>>()?;
    Ok(TopicStart { topic, positions })
}
