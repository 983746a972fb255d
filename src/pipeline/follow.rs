//! Following: a replica that comes to the same state as the owner, record of the journal by record.

use std::time::Duration;

use crate::clock;
use crate::engine::Engine;
use crate::engine::key::HashSeed;
use crate::stream::{OutBatch, TopicNames};
use crate::wire::journal::{JournalKind, JournalRecord};

use super::line::{Line, Taken};
use super::logs::{FollowError, JournalPage, Logs};
use super::replica::{Replica, Work};
use super::score::{Probe, Report, Scorer};

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
        Ok(self.replica(Engine::new(policy, self.seed), line))
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
    out: OutBatch,
}

impl Follower {
    /// Follows from an offset of the journal on.
    pub fn new(replica: Replica, next: i64) -> Self {
        Self { replica, next, out: OutBatch::default() }
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
        let JournalPage { records, next } = logs.journal(self.next, patience)?;
        for (offset, record) in &records {
            self.apply(record, foundry, logs, told)?;
            self.next = offset + 1;
        }
        self.next = self.next.max(next);
        Ok(records.len())
    }

    /// Follows to the present end of the journal.
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

    fn apply(
        &mut self,
        record: &JournalRecord,
        foundry: &Foundry,
        logs: &mut impl Logs,
        told: &mut Followed<'_>,
    ) -> Result<(), FollowError> {
        if record.kind == JournalKind::Reset {
            self.replica = foundry.at_reset(record, logs)?;
        }
        let line = &self.replica.line;
        let entry = line.expect(record, &foundry.names)?;
        let holds = &self.replica.scorer.engine().policy().hash;
        let policy = if **holds == *entry.policy { None } else { Some(logs.policy(&entry.policy)?) };
        let batch = logs.batch(entry.read(), &line.positions)?;
        let taken = Taken { bans: record.bans.clone(), cases: record.cases.clone() };
        let work = Work { entry: &entry, policy, batch: &batch, taken: &taken, decided_at: clock::now() };
        let mut report = Report::default();
        self.out.clear();
        self.replica.follow(record, &work, &mut self.out, &mut report)?;
        if entry.kind == JournalKind::Warm {
            self.out.clear();
        }
        // What became of its records is the owner's to count.
        let Report { bans, touched, as_of, .. } = report;
        told(&mut Report { bans, touched, as_of, ..Report::default() }, &self.out);
        Ok(())
    }
}
