//! The shard: the only loop that owns state. Gather, score, hand over, while the batch before is committed.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::{self, SteadyClock, Stopwatch};
use crate::engine::entity::Entity;
use crate::engine::policy::Policy;
use crate::engine::time::{Span, Timestamp};
use crate::metrics::{self, EvictionCause};
use crate::state::StateError;
use crate::stream::{Coordinates, InputProblem, KafkaSettings, Ownership, StreamError, TopicNames};
use crate::wire::journal::JournalKind;

use super::batch::Batch;
use super::candidate::Candidate;
use super::checkpoint::Checkpointer;
use super::commit::{Committer, GiveUp, Job};
use super::growth::Growth;
use super::intake::Intake;
use super::line::{Entry, Taken};
use super::logs::FollowError;
use super::replica::{Replica, Work};
use super::score::Report;

/// How long the last batch may take to be committed once it is to stop.
const FAREWELL: Duration = Duration::from_secs(5);
/// How often state is accounted for.
const ACCOUNT_EVERY: Duration = Duration::from_secs(1);
/// While the stream is silent the journal gets a record so often: it must never run empty.
const JOURNAL_EVERY: Duration = Duration::from_secs(60);

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
    /// A checkpoint is begun so long after the last one.
    pub checkpoint_every: Duration,
    /// Whether the stream's time is the wall clock's: then ticks move expiry while nothing happens.
    pub ticks: bool,
    /// Whether inputs that are lost when the shard is first taken over are gone over.
    pub accept_lost_inputs: bool,
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
    /// The journal cannot be followed.
    #[error("{0}")]
    Follow(#[from] FollowError),
    /// Scoring a record panicked: the state is of no use any more.
    #[error("scoring {} failed: {reason}", record(.at.as_ref()))]
    Faulted {
        /// The record, where it is known.
        at: Option<Coordinates>,
        /// What the panic said.
        reason: String,
    },
    /// State was given up because a batch could not be committed; the shard is to be acquired anew.
    #[error("{0}")]
    GaveUp(String),
    /// The folder of local state.
    #[error(transparent)]
    State(#[from] StateError),
    /// A thread could not be started.
    #[error("starting a thread: {0}")]
    Thread(#[from] std::io::Error),
}

fn record(at: Option<&Coordinates>) -> String {
    at.map_or_else(
        || "a batch".to_owned(),
        |at| format!("{}/{} at offset {}", at.topic, at.partition, at.offset),
    )
}

fn place(problem: &InputProblem) -> String {
    let partition = problem.partition.map(|partition| format!("/{partition}")).unwrap_or_default();
    let offset = problem.offset.map(|offset| format!(" at offset {offset}")).unwrap_or_default();
    partition + &offset
}

impl From<InputProblem> for ShardError {
    fn from(problem: InputProblem) -> Self {
        ShardError::Input(problem)
    }
}

impl From<GiveUp> for ShardError {
    fn from(give_up: GiveUp) -> Self {
        let denial = match &give_up {
            GiveUp::Failed(error) => error.cause().denial(),
            GiveUp::Lost(_) | GiveUp::Unsettled(_) | GiveUp::Gone => None,
        };
        denial.map_or_else(|| ShardError::GaveUp(give_up.to_string()), ShardError::Stream)
    }
}

/// A shard that is owned, with its input open.
pub(super) struct Shard {
    settings: Arc<ShardSettings>,
    replica: Replica,
    intake: Intake,
    committer: Committer,
    member: Arc<Mutex<Ownership>>,
    /// Room of committed jobs, to be used again.
    spare: Vec<Job>,
    /// Records that are not scored: it failed.
    skip: BTreeSet<Coordinates>,
    clock: Arc<Mutex<SteadyClock>>,
    /// Evictions told so far, by table.
    evicted: BTreeMap<String, [u64; 2]>,
    accounted: Stopwatch,
    journalled: Stopwatch,
    /// Number of the newest record of the journal that is known to be committed.
    committed: Option<u64>,
    checkpointer: Option<Checkpointer>,
    growth: Growth,
    /// A policy that runs beside the live one, untold.
    candidate: Option<Candidate>,
    /// What was configured when the shard was acquired; it takes effect with the first batch.
    configured: Option<Arc<Policy>>,
}

impl Shard {
    /// Goes on from where a replica stands. Earlier owners are fenced: `committer` has the producer that did it.
    ///
    /// # Errors
    /// A topic is missing, access is denied, a position is no longer held, or no broker answers.
    pub(super) fn new(
        settings: Arc<ShardSettings>,
        replica: Replica,
        committer: Committer,
        member: Arc<Mutex<Ownership>>,
        skip: BTreeSet<Coordinates>,
        clock: Arc<Mutex<SteadyClock>>,
        (checkpointer, candidate): (Option<Checkpointer>, Option<Candidate>),
    ) -> Result<Self, ShardError> {
        let intake = Intake::open(Arc::clone(&settings), &replica.line.positions)?;
        let growth = Growth::watch(Arc::clone(&settings))?;
        Ok(Self {
            growth,
            candidate,
            configured: None,
            settings,
            replica,
            intake,
            committer,
            member,
            spare: Vec::new(),
            skip,
            clock,
            evicted: BTreeMap::new(),
            accounted: Stopwatch::start(),
            journalled: Stopwatch::start(),
            committed: None,
            checkpointer,
        })
    }

    /// Runs until told to stop, then commits what was scored.
    ///
    /// # Errors
    /// The shard has to be acquired anew, or cannot be run.
    pub(super) fn run(mut self, configured: Arc<Policy>, wishes: &mut Wishes) -> Result<(), ShardError> {
        self.configured = Some(configured);
        while !wishes.stop.load(Ordering::Relaxed) {
            (wishes.turned)();
            self.check_ownership()?;
            self.step(wishes)?;
        }
        if !self.committer.close(FAREWELL)? {
            tracing::warn!("the last batch is not committed: it is decided again after the next start");
        }
        self.intake.close();
        Ok(())
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
        let (committer, spare, committed) = (&mut self.committer, &mut self.spare, &mut self.committed);
        let free = || {
            take_back(committer, spare, committed)?;
            Ok(committer.is_free())
        };
        let gathered = self.intake.gather(free, || wishes.stop.load(Ordering::Relaxed))?;
        let batch = Batch::from(&self.replica.line.positions, gathered);
        // One that holds already, as where another instance was quicker, does not take effect once more.
        let holds = &self.replica.scorer.engine().policy().hash;
        let newest = wishes.policies.try_iter().last().or(self.configured.take());
        let policy = newest.filter(|policy| policy.hash != *holds);
        let mut job = self.spare.pop().unwrap_or_default();
        let ticks = self.ticks();
        if !batch.ranges.is_empty() || !ticks.is_empty() || policy.is_some() {
            self.score(&batch, policy, ticks, &mut job)?;
        }
        self.replica.scorer.look_up((wishes.wanted)(), &mut job.report);
        self.intake.recycle(batch.records);
        self.housekeeping()?;
        self.hand_over(job)?;
        if let Some(checkpointer) = &mut self.checkpointer {
            checkpointer.turn(&mut self.replica, self.committed);
        }
        Ok(())
    }

    /// Scores a batch and journals it.
    fn score(
        &mut self,
        batch: &Batch,
        policy: Option<Arc<Policy>>,
        ticks: Vec<Timestamp>,
        job: &mut Job,
    ) -> Result<(), ShardError> {
        let watch = Stopwatch::start();
        let holds = policy.as_ref().unwrap_or_else(|| self.replica.scorer.engine().policy());
        let entry = Entry {
            kind: JournalKind::Batch,
            policy: holds.hash.to_string(),
            ticks,
            ranges: batch.ranges(),
            skipped: Vec::new(),
        };
        let work = Work { entry: &entry, policy, batch, taken: Taken::NOTHING, decided_at: clock::now() };
        if let Some(candidate) = &mut self.candidate {
            candidate.prepare(&mut self.replica.scorer, &mut job.report);
        }
        self.lead(&work, job)?;
        // Behind the journal's record: what a candidate says is no part of the chain.
        if let Some(candidate) = &mut self.candidate {
            candidate.score(&work, &self.skip, &mut self.replica.scorer, job);
        }
        job.report.seconds = watch.seconds();
        self.journalled = Stopwatch::start();
        Ok(())
    }

    /// A panic of the engine is caught here, at the batch: what it leaves behind is not gone on with.
    fn lead(&mut self, work: &Work<'_>, job: &mut Job) -> Result<(), ShardError> {
        let (replica, skip) = (&mut self.replica, &self.skip);
        let led = catch_unwind(AssertUnwindSafe(|| replica.lead(work, skip, job)));
        led.map_err(|panic| ShardError::Faulted { at: self.replica.scorer.at(), reason: words_of(&*panic) })
    }

    /// Time to be told: when something is due, or the journal would fall silent. Not before all that is known to come:
    /// in catch-up events move time themselves.
    fn ticks(&self) -> Vec<Timestamp> {
        let now = steady_now(&self.clock);
        let due = self.replica.scorer.engine().next_due().is_some_and(|due| due <= now);
        let silent = self.journalled.elapsed() >= JOURNAL_EVERY;
        if self.settings.ticks && (due || silent) && self.intake.is_caught_up() {
            vec![now]
        } else {
            Vec::new()
        }
    }

    fn housekeeping(&mut self) -> Result<(), ShardError> {
        if self.accounted.elapsed() >= ACCOUNT_EVERY {
            self.accounted = Stopwatch::start();
            self.intake.keep_together();
            self.account();
            if self.growth.add_to(&mut self.replica.line.positions) {
                tracing::info!(
                    partitions = self.replica.line.positions.len(),
                    "the inputs have new partitions"
                );
                self.intake = Intake::open(Arc::clone(&self.settings), &self.replica.line.positions)?;
            }
        }
        Ok(())
    }

    /// Hands a batch to the committer; one without anything in it is kept for the next.
    fn hand_over(&mut self, mut job: Job) -> Result<(), ShardError> {
        if job.out.is_empty() && job.report.touched.is_empty() {
            self.spare.push(job);
            return Ok(());
        }
        metrics::batch(job.report.tally.consumed as usize, job.report.seconds);
        job.complete = Some(Stopwatch::start());
        Ok(self.committer.submit(job)?)
    }

    fn account(&mut self) {
        if let Some(candidate) = &self.candidate {
            candidate.account();
        }
        for table in self.replica.scorer.engine().accounts() {
            metrics::state(&table.name, table.stats.entries, table.stats.bytes);
            let now = [table.stats.expired, table.stats.evicted];
            let told = self.evicted.insert(table.name.clone(), now).unwrap_or_default();
            metrics::evictions(&table.name, EvictionCause::Idle, now[0].saturating_sub(told[0]));
            metrics::evictions(&table.name, EvictionCause::Budget, now[1].saturating_sub(told[1]));
        }
    }
}

/// The time by a clock that is not moved by jumps of the wall clock.
pub(super) fn steady_now(clock: &Mutex<SteadyClock>) -> Timestamp {
    let (now, jumped) = clock.lock().unwrap_or_else(PoisonError::into_inner).now();
    if jumped {
        metrics::clock_jump();
    }
    now
}

/// Jobs that were committed give their room back.
fn take_back(
    committer: &mut Committer,
    spare: &mut Vec<Job>,
    committed: &mut Option<u64>,
) -> Result<(), GiveUp> {
    while let Some(mut job) = committer.finished()? {
        *committed = job.end.take().map(|(seq, _)| seq).or(*committed);
        job.out.clear();
        job.report = Report::default();
        job.complete = None;
        job.offsets.clear();
        spare.push(job);
    }
    Ok(())
}

/// What a panic said.
pub(super) fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".to_owned())
}
