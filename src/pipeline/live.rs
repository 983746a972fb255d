//! The life of a shard: wait for ownership, take over, run, and again when it had to be given up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::SteadyClock;
use crate::engine::ban::BanChange;
use crate::engine::key::HashSeed;
use crate::engine::policy::Policy;
use crate::state::{Checkpoints, Generation, Meta};
use crate::stream::{Coordinates, Ownership, OwnershipEvent, Step, StreamError, Transactions};
use crate::wire::interaction::DecodeLimits;

use super::candidate::{Candidate, CandidatePolicy};
use super::chain::basis;
use super::checkpoint::Checkpointer;
use super::commit::{Committer, Job};
use super::follow::{Follower, Foundry};
use super::kafka_logs::KafkaLogs;
use super::logs::FollowError;
use super::lost::{LostInputs, go_over};
use super::recover::{self, Candidates, Pages, Start};
use super::replica::{Replica, by_entity};
use super::reset::reset;
use super::score::{Probe, Report};
use super::shard::{Shard, ShardError, ShardSettings, Wishes, steady_now};

/// How long the brokers may take for one answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time between two attempts to be of use.
const AGAIN: Duration = Duration::from_secs(1);

/// Where a live shard stands, for those who ask whether it is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// State is being restored and the journal followed, outside of the group.
    Following,
    /// Another instance owns the shard, or the group is settling. The journal is followed.
    Waiting,
    /// The group cannot be reached; why, in words. It is tried on.
    OutOfReach(String),
    /// It is this instance's; state is being made ready.
    TakingOver,
    /// Events are being scored.
    Running,
    /// State was dropped; why, in words.
    GaveUp(String),
}

/// Is called behind each commit with what the batch did.
pub type Told = dyn FnMut(&mut Report) + Send;

/// What a live shard needs from its surroundings.
pub struct Surroundings<'s> {
    /// The policy that is configured now.
    pub policy: &'s (dyn Fn() -> Arc<Policy> + Sync),
    /// The secret of key hashes.
    pub seed: HashSeed,
    /// Is called behind each commit, and with what is learnt while following.
    pub told: Arc<Mutex<Told>>,
    /// Is told each change of stage.
    pub stage: &'s (dyn Fn(Stage) + Sync),
    /// Bounds of records and fields.
    pub limits: DecodeLimits,
    /// Where checkpoints are kept; without it a restart follows the journal from its last reset.
    pub checkpoints: Option<Arc<Mutex<Checkpoints>>>,
    /// A policy that runs beside the live one, with state of its own.
    pub candidate: Option<CandidatePolicy>,
    /// For tests: is told each record before it is scored.
    pub probe: Option<Probe>,
    /// For tests: is told each step of a transaction before it begins.
    pub steps: Option<Arc<dyn Fn(Step) + Send + Sync>>,
}

/// Runs a shard until told to stop. What a moment's trouble ends begins anew; what cannot get better is returned.
///
/// # Errors
/// A property is refused, a topic is missing, access is denied, or the journal gives other outputs than it tells.
pub fn run_live(
    settings: &Arc<ShardSettings>,
    wishes: &mut Wishes,
    around: &Surroundings<'_>,
) -> Result<(), ShardError> {
    let foundry = Foundry {
        seed: around.seed,
        names: settings.names.clone(),
        shard: settings.shard,
        limits: around.limits,
        basis: basis(&around.seed, &around.limits),
        probe: around.probe.clone(),
    };
    let mut faults = Faults::default();
    let mut accepts = settings.accept_lost_inputs;
    let clock = Arc::new(Mutex::new(SteadyClock::start()));
    while !wishes.stop.load(Ordering::Relaxed) {
        let checkpointer = around.checkpoints.as_ref().map(|checkpoints| {
            Checkpointer::new(Arc::clone(settings), Arc::clone(checkpoints), settings.checkpoint_every)
        });
        let skip = faults.skip();
        let (accepts, clock) = (&mut accepts, Arc::clone(&clock));
        let life = Life { settings, foundry: &foundry, around, wishes, skip, checkpointer, accepts, clock };
        match life.live() {
            Ok(()) => {}
            Err(ShardError::Faulted { at, reason }) => {
                tracing::error!(record = ?at, %reason, "scoring failed; the state is dropped and restored");
                faults.note(at);
                (around.stage)(Stage::GaveUp(reason));
            }
            Err(error) if passes(&error) => {
                tracing::warn!(%error, "the shard was given up; its state is dropped");
                (around.stage)(Stage::GaveUp(error.to_string()));
                std::thread::park_timeout(AGAIN);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether trying again can help.
fn passes(error: &ShardError) -> bool {
    match error {
        ShardError::GaveUp(_) => true,
        ShardError::Stream(error) | ShardError::Follow(FollowError::Stream(error)) => !error.is_lasting(),
        ShardError::Follow(error) => error.needs_reset(),
        ShardError::Input(_) | ShardError::Thread(_) | ShardError::State(_) | ShardError::Faulted { .. } => {
            false
        }
    }
}

/// Records at which scoring failed: after the second time they are passed over.
#[derive(Default)]
struct Faults {
    seen: BTreeMap<Coordinates, u32>,
}

impl Faults {
    fn note(&mut self, at: Option<Coordinates>) {
        if let Some(at) = at {
            *self.seen.entry(at).or_default() += 1;
        }
    }

    fn skip(&self) -> BTreeSet<Coordinates> {
        self.seen.iter().filter(|(_, times)| **times >= 2).map(|(at, _)| *at).collect()
    }
}

/// One life of a shard in this process: follow, join, wait, own.
struct Life<'l, 's> {
    settings: &'l Arc<ShardSettings>,
    foundry: &'l Foundry,
    around: &'l Surroundings<'s>,
    wishes: &'l mut Wishes,
    skip: BTreeSet<Coordinates>,
    checkpointer: Option<Checkpointer>,
    /// Whether inputs that are lost are gone over; once.
    accepts: &'l mut bool,
    clock: Arc<Mutex<SteadyClock>>,
}

impl Life<'_, '_> {
    fn live(mut self) -> Result<(), ShardError> {
        (self.around.stage)(Stage::Following);
        let mut logs = KafkaLogs::new(Arc::clone(self.settings), (self.around.policy)())?;
        let mut start = self.begin(&mut logs)?;
        (self.around.stage)(Stage::Waiting);
        let member = Arc::new(Mutex::new(Ownership::join(&self.settings.kafka, &self.settings.names)?));
        let ended = match self.wait_for_ownership(&member, &mut start, &mut logs) {
            Ok(true) => self.own(&member, start, logs),
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        leave(member);
        ended
    }

    /// Restores what can be restored, and follows the journal to its end.
    fn begin(&mut self, logs: &mut KafkaLogs) -> Result<Start, ShardError> {
        let mut start = self.start(logs)?;
        if let Start::Follow(follower) = &mut start {
            let mut told = telling(&self.around.told);
            match follower.catch_up_apart(self.foundry, logs, &mut told) {
                Ok(()) => tracing::info!(line = %follower.replica.line, "followed the journal to its end"),
                Err(error) if error.needs_reset() => start = Start::Anew(error.to_string()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(start)
    }

    fn start(&self, logs: &mut KafkaLogs) -> Result<Start, FollowError> {
        let mut on_disk = self.around.checkpoints.clone().map(OnDisk);
        let candidates: Option<&mut dyn Candidates> = match &mut on_disk {
            Some(on_disk) => Some(on_disk),
            None => None,
        };
        recover::start(self.foundry, logs, candidates)
    }

    /// True once the shard is owned; false when told to stop before. A standby follows meanwhile.
    fn wait_for_ownership(
        &mut self,
        member: &Mutex<Ownership>,
        start: &mut Start,
        logs: &mut KafkaLogs,
    ) -> Result<bool, ShardError> {
        loop {
            let waited = match start {
                Start::Follow(follower) => match self.stand_by(member, follower, logs) {
                    Err(ShardError::Follow(error)) if error.needs_reset() => {
                        *start = Start::Anew(error.to_string());
                        None
                    }
                    waited => waited?,
                },
                Start::Anew(_) => self.turn(member, Duration::from_millis(100))?,
            };
            if let Some(owned) = waited {
                return Ok(owned);
            }
        }
    }

    /// Follows until there is an answer: see [`Life::turn`].
    fn stand_by(
        &mut self,
        member: &Mutex<Ownership>,
        follower: &mut Follower,
        logs: &mut KafkaLogs,
    ) -> Result<Option<bool>, ShardError> {
        let (foundry, mut told) = (self.foundry, telling(&self.around.told));
        let mut waited = Ok(None);
        follower.follow_apart(foundry, logs, None, &mut told, &mut |replica, checked| {
            waited = self.turn(member, Duration::ZERO);
            if let Some(checkpointer) = &mut self.checkpointer {
                // All that is followed is committed; that it is right is known of what was checked.
                checkpointer.turn(replica, checked);
            }
            matches!(waited, Ok(None))
        })?;
        waited
    }

    /// Whether the shard is owned, or was not when it was told to stop; `None` while there is no answer.
    fn turn(&mut self, member: &Mutex<Ownership>, patience: Duration) -> Result<Option<bool>, ShardError> {
        if self.wishes.stop.load(Ordering::Relaxed) {
            return Ok(Some(false));
        }
        (self.wishes.turned)();
        let news = {
            let member = member.lock().unwrap_or_else(PoisonError::into_inner);
            if member.owns(self.settings.shard.cast_signed()) {
                return Ok(Some(true));
            }
            member.next(patience)
        };
        if let Some(OwnershipEvent::Problem(error)) = news {
            if error.is_lasting() {
                return Err(error.into());
            }
            tracing::warn!(%error, "waiting for the shard");
            (self.around.stage)(Stage::OutOfReach(error.to_string()));
        }
        Ok(None)
    }

    /// Fences earlier owners, comes to the journal's end, and goes on from there.
    fn own(
        mut self,
        member: &Arc<Mutex<Ownership>>,
        start: Start,
        mut logs: KafkaLogs,
    ) -> Result<(), ShardError> {
        (self.around.stage)(Stage::TakingOver);
        let settings = self.settings;
        let transactions = Transactions::open(&settings.kafka, settings.shard, &settings.names, PATIENCE)?;
        let (mut told, mut followed) = (telling(&self.around.told), telling(&self.around.told));
        let told_behind = telling(&self.around.told);
        let mut committer = Committer::start(
            Arc::clone(settings),
            Arc::clone(member),
            transactions,
            told_behind,
            self.around.steps.clone(),
        )?;
        // What nobody could follow may have been begun anew by the owner before this one.
        let start = match start {
            Start::Anew(_) => self.start(&mut logs)?,
            start => start,
        };
        let replica = match start {
            Start::Follow(mut follower) => {
                match follower.catch_up_apart(self.foundry, &mut logs, &mut followed) {
                    Ok(()) => follower.replica,
                    Err(error) if error.needs_reset() => {
                        self.reset(&error.to_string(), &mut logs, &mut committer)?
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            Start::Anew(why) => self.reset(&why, &mut logs, &mut committer)?,
        };
        let replica = self.without_lost_inputs(replica, &mut logs, &mut committer)?;
        *self.accepts = false;
        drop(logs);
        // Readers of this process know all bans before the first event is scored.
        let bans = by_entity(replica.scorer.engine().bans()).into_values().map(BanChange::InForce).collect();
        told(&mut Report { bans, ..Report::default() });
        tracing::info!(line = %replica.line, policy = %replica.scorer.engine().policy().hash, "took the shard over");
        let candidate = self.around.candidate.clone();
        let candidate = candidate.map(|policy| {
            Candidate::new(policy, (settings.names.clone(), settings.shard), self.around.limits)
        });
        let shard = Shard::new(
            Arc::clone(settings),
            replica,
            committer,
            Arc::clone(member),
            self.skip,
            self.clock,
            (self.checkpointer, candidate),
        )?;
        (self.around.stage)(Stage::Running);
        // The journal may say that another one held last: it was changed meanwhile.
        shard.run((self.around.policy)(), self.wishes)
    }

    /// The same state behind inputs that are lost, where that is accepted.
    fn without_lost_inputs(
        &mut self,
        mut replica: Replica,
        logs: &mut KafkaLogs,
        committer: &mut Committer,
    ) -> Result<Replica, ShardError> {
        let lost = LostInputs::find(logs, &self.foundry.names, &replica.line.positions)?;
        if lost.is_empty() {
            return Ok(replica);
        }
        if !*self.accepts {
            return Err(FollowError::Lost(lost).into());
        }
        if lost.made_anew() {
            return self.reset("an input was made anew", logs, committer);
        }
        lost.tell();
        let mut job = Job::default();
        go_over(&lost, &mut replica, &mut job);
        committer.submit(job)?;
        Ok(replica)
    }

    fn reset(
        &self,
        why: &str,
        logs: &mut KafkaLogs,
        committer: &mut Committer,
    ) -> Result<Replica, ShardError> {
        tracing::warn!(%why, "state begins anew: it is warmed up with what the topics hold");
        let mut job = Job::default();
        let now = steady_now(&self.clock);
        let policy = (self.around.policy)();
        let replica = match reset(self.foundry, logs, policy, now, *self.accepts, &mut job) {
            // To begin anew once more would not bring it back.
            Err(FollowError::Stream(error @ StreamError::OffsetOutOfRange { .. })) => {
                return Err(error.into());
            }
            made => made?,
        };
        committer.submit(job)?;
        Ok(replica)
    }
}
/// Checkpoints in the state directory of this process.
struct OnDisk(Arc<Mutex<Checkpoints>>);

impl Candidates for OnDisk {
    fn list(&mut self) -> Result<Vec<Generation>, String> {
        let checkpoints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        checkpoints.published().map_err(|error| error.to_string())
    }

    fn load(&mut self, generation: u64) -> Result<(Meta, Pages<'_>), String> {
        let checkpoints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = checkpoints.load(generation).map_err(|error| error.to_string())?;
        Ok((pages.meta().clone(), Box::new(pages.map(|page| page.map_err(|error| error.to_string())))))
    }

    fn confirm(&mut self, generation: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).confirm(generation);
    }
}

fn leave(member: Arc<Mutex<Ownership>>) {
    if let Some(member) = Arc::into_inner(member) {
        let member = member.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !member.leave(Duration::from_secs(2)) {
            tracing::warn!("leaving the group took too long; it learns of it by the session timeout");
        }
    }
}

fn telling(told: &Arc<Mutex<Told>>) -> impl FnMut(&mut Report) + Send + 'static {
    let told = Arc::clone(told);
    move |report| (told.lock().unwrap_or_else(PoisonError::into_inner))(report)
}
