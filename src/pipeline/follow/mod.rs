//! Following: a replica that comes to the same state as the owner, record of the journal by record.
//!
//! Three things are done to each record, in this order: its inputs are read (`next.rs`), they are applied to the state, and
//! what came out is hashed and compared (`check.rs`). [`Follower::step`] does them one after the other, `apart.rs` at the same
//! time.

mod apart;
mod check;
mod next;

pub use self::apart::{Between, FollowedApart};

use std::sync::Arc;
use std::time::Duration;

use crate::clock;
use crate::engine::Engine;
use crate::engine::key::HashSeed;
use crate::engine::policy::Policy;
use crate::stream::{OutBatch, TopicNames};
use crate::wire::interaction::Spare;
use crate::wire::journal::{JournalKind, JournalRecord};

use self::check::Checking;
use self::next::{Due, Found, Reading};
use super::line::{Line, Taken};
use super::logs::{FollowError, Logs};
use super::replica::{Replica, Work};
use super::score::{Probe, Report, Scorer, Teller};

/// Makes replicas: what is the same for all of a process.
#[derive(Clone)]
pub struct Foundry {
    /// The secret of key hashes.
    pub seed: HashSeed,
    /// Names of the topics.
    pub names: TopicNames,
    /// Which shard: a partition of the journal.
    pub shard: u32,
    /// Bounds of records and fields.
    pub limits: crate::wire::interaction::DecodeLimits,
    /// See [`super::chain::basis`].
    pub basis: String,
    /// For tests: see [`Probe`].
    pub probe: Option<Probe>,
}

impl Foundry {
    /// A replica around an engine.
    pub fn replica(&self, engine: Engine, line: Line) -> Replica {
        let scorer = Scorer::new(engine, self.names.clone(), self.limits).probed(self.probe.clone());
        Replica::new(scorer, line, self.names.clone(), self.shard)
    }

    /// A replica without state at the beginning of the line that a reset begins.
    ///
    /// # Errors
    /// The reset was made by another version, or its policy is not to be had.
    pub fn at_reset(&self, record: &JournalRecord, logs: &mut impl Logs) -> Result<Replica, FollowError> {
        let line = Line::of_reset(record, &self.names, &self.basis)?;
        let policy = logs.policy(&record.policy)?;
        Ok(self.anew(policy, line, record.revised_to))
    }

    /// A replica without state, to be warmed up. Revisions were told before, with numbers up to `revised_to`.
    pub(super) fn anew(&self, policy: Arc<Policy>, line: Line, revised_to: u32) -> Replica {
        let mut engine = Engine::new(policy, self.seed);
        engine.begin_anew(revised_to);
        self.replica(engine, line)
    }
}

/// Is called behind each record that was followed: with bans and subjects that changed, and with what its owner told.
pub type Followed<'t> = dyn FnMut(&mut Report, &OutBatch) + 't;

/// A replica that follows, and where in the journal it is.
pub struct Follower {
    /// The state so far.
    pub replica: Replica,
    /// The offset of the journal to be read next.
    pub next: i64,
    reading: Reading,
    checking: Checking,
    /// What came of the last record, and who writes it where that is another thread.
    out: OutBatch,
    teller: Teller,
    spare: Spare,
    /// With fewer interactions one thread does it all.
    few: usize,
}

impl Follower {
    /// Follows from an offset of the journal on.
    pub fn new(replica: Replica, next: i64) -> Self {
        let (reading, checking) = (Reading::behind(&replica, next), Checking::behind(&replica.line));
        let teller = Teller::new(replica.names().clone());
        let (out, spare) = (OutBatch::default(), Spare::default());
        Self { replica, next, reading, checking, out, teller, spare, few: apart::FEW }
    }

    /// The same, which follows apart however few interactions there are.
    #[must_use]
    pub fn always_apart(self) -> Self {
        Self { few: 0, ..self }
    }

    /// Applies what the journal has more, at most a page; returns how many records that were.
    ///
    /// # Errors
    /// See [`FollowError`]. The replica is then of no use.
    pub fn step(
        &mut self,
        foundry: &Foundry,
        logs: &mut impl Logs,
        patience: Duration,
        told: &mut Followed<'_>,
    ) -> Result<usize, FollowError> {
        let mut records = 0;
        loop {
            match self.reading.next(foundry, logs, patience)? {
                Found::Nothing(next) => self.next = next,
                Found::Due(due) => {
                    self.apply(&due, foundry, told)?;
                    logs.recycle(due.batch);
                    records += 1;
                }
            }
            if self.reading.at_hand() == 0 {
                return Ok(records);
            }
        }
    }

    /// One record, one thing after the other.
    fn apply(&mut self, due: &Due, foundry: &Foundry, told: &mut Followed<'_>) -> Result<(), FollowError> {
        self.next = due.next;
        let (taken, mut report) = (due.taken(), Report::default());
        let work = due.work(&taken, &mut self.replica, foundry);
        self.out.clear();
        let digest = self.replica.follow((&due.record, &due.skip), &work, &mut self.out, &mut report);
        let mut report = self.checking.check(&due.record, digest, report)?;
        if due.record.kind == JournalKind::Warm {
            self.out.clear();
        }
        told(&mut report, &self.out);
        Ok(())
    }

    /// Follows to the present end of the journal, one thing after the other.
    ///
    /// # Errors
    /// See [`Follower::step`].
    pub fn catch_up(
        &mut self,
        foundry: &Foundry,
        logs: &mut impl Logs,
        told: &mut Followed<'_>,
    ) -> Result<(), FollowError> {
        let (_, end) = logs.journal_held()?;
        while self.next < end {
            self.step(foundry, logs, Duration::from_millis(100), told)?;
        }
        Ok(())
    }
}

impl Due {
    /// What is to be applied; a reset begins with empty state.
    fn work<'d>(&'d self, taken: &'d Taken, replica: &mut Replica, foundry: &Foundry) -> Work<'d> {
        if let Some(line) = &self.begins {
            *replica = foundry.anew(Arc::clone(&self.policy), line.clone(), self.record.revised_to);
        }
        let (entry, policy, batch) = (&self.entry, Some(Arc::clone(&self.policy)), &self.batch);
        Work { entry, policy, batch, taken, decided_at: clock::now() }
    }

    fn taken(&self) -> Taken {
        let JournalRecord { bans, cases, corrections, .. } = &self.record;
        Taken { bans: bans.clone(), cases: cases.clone(), corrections: corrections.clone() }
    }
}
