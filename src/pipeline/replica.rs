//! A replica: the state of a shard and the line it stands on. Owner, standby and recovery apply records in this one way.
//!
//! What an entry of the journal covers goes in, and what comes out is hashed into the chain. Whether it is told is the
//! caller's matter: the owner of a batch sends it, a follower throws it away.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::ban::{Ban, BanChange};
use crate::engine::case::Case;
use crate::engine::entity::Entity;
use crate::engine::policy::Policy;
use crate::engine::time::Timestamp;
use crate::stream::{Coordinates, InputOffset, OutBatch, TopicNames};
use crate::wire::ban::BanRecord;
use crate::wire::journal::{JournalKind, JournalRecord};

use super::batch::Batch;
use super::chain::digest;
use super::commit::Job;
use super::line::{Broken, Entry, Line, Range, Taken};
use super::score::{Inputs, Report, Scorer};

/// See the module.
pub struct Replica {
    /// The state.
    pub scorer: Scorer,
    /// Where it stands.
    pub line: Line,
    names: TopicNames,
    shard: u32,
    /// The bans taken over since the lineage began, by entity; `None` before the first.
    taken: Option<BTreeMap<Entity, Vec<Ban>>>,
}

/// What one entry covers, ready to be applied.
#[derive(Debug)]
pub struct Work<'w> {
    /// What the journal says of it.
    pub entry: &'w Entry,
    /// The policy that takes effect with it, if it is another one than holds.
    pub policy: Option<Arc<Policy>>,
    /// Its records.
    pub batch: &'w Batch,
    /// What is to be taken over.
    pub taken: &'w Taken,
    /// The time that decisions tell.
    pub decided_at: Timestamp,
}

impl Replica {
    /// State that stands at a line.
    pub fn new(scorer: Scorer, line: Line, names: TopicNames, shard: u32) -> Self {
        Self { scorer, line, names, shard, taken: None }
    }

    /// Applies an entry as the owner: what is to be told of it, the journal's record included, is appended to `job`.
    pub fn lead(&mut self, work: &Work<'_>, skip: &BTreeSet<Coordinates>, job: &mut Job) {
        let (mark, first) = (job.out.mark(), job.out.len());
        let skipped = self.apply(work, skip, &mut job.out, &mut job.report);
        let digest = digest(&job.out, first);
        if work.entry.kind == JournalKind::Warm {
            job.out.rewind(mark);
        }
        let entry = Entry { skipped, ..work.entry.clone() };
        let record = self.line.seal(&entry, work.taken.clone(), digest, &self.names);
        self.scorer.tell_journal(&record, self.shard, &mut job.out);
        let moved =
            |range: &Range| InputOffset { topic: range.topic, partition: range.partition, next: range.to };
        match entry.kind {
            JournalKind::Batch | JournalKind::Lost => job.offsets.extend(entry.ranges.iter().map(moved)),
            _ => job.offsets = self.line.offsets(),
        }
        job.end = Some((record.seq, record.chain));
    }

    /// Applies an entry that a record of the journal covers, and compares. `out` is empty.
    ///
    /// # Errors
    /// [`Broken::Diverged`] when other outputs come of it. The state is then of no use.
    pub fn follow(
        &mut self,
        record: &JournalRecord,
        work: &Work<'_>,
        out: &mut OutBatch,
        report: &mut Report,
    ) -> Result<(), Broken> {
        let skip = work.entry.skipped.iter().copied().collect();
        self.apply(work, &skip, out, report);
        self.line.follow(record, work.entry, digest(out, 0))
    }

    fn apply(
        &mut self,
        work: &Work<'_>,
        skip: &BTreeSet<Coordinates>,
        out: &mut OutBatch,
        report: &mut Report,
    ) -> Vec<Coordinates> {
        match work.entry.kind {
            JournalKind::Reset => self.scorer.tell_policy(out),
            JournalKind::Lost => {}
            JournalKind::Bans => {
                self.take_bans(&work.taken.bans, report);
                let cases = work.taken.cases.iter().cloned().map(Case::from).collect();
                self.scorer.engine_mut().restore_cases(cases);
            }
            JournalKind::Ready => {
                self.scorer.engine_mut().warmed_up();
                self.tell_differences(out, report);
            }
            JournalKind::Batch | JournalKind::Warm => {
                let holds = &self.scorer.engine().policy().hash;
                let policy = work.policy.clone().filter(|policy| policy.hash != *holds);
                let inputs = Inputs {
                    policy,
                    ticks: &work.entry.ticks,
                    batch: work.batch,
                    skip,
                    decided_at: work.decided_at,
                };
                return self.scorer.apply(&inputs, out, report);
            }
        }
        Vec::new()
    }

    /// The topic of bans is the truth: what old commands made of themselves is replaced by it.
    fn take_bans(&mut self, records: &[BanRecord], report: &mut Report) {
        let engine = self.scorer.engine_mut();
        let taken = self.taken.get_or_insert_with(|| {
            engine.forget_bans();
            BTreeMap::new()
        });
        for record in records {
            let bans = record.clone().into_bans();
            if let Some(first) = bans.first() {
                taken.insert(first.entity.clone(), bans.clone());
                report.bans.extend(engine.restore_bans(bans));
            }
        }
    }

    /// What warming up changed of the bans in force.
    fn tell_differences(&mut self, out: &mut OutBatch, report: &mut Report) {
        let taken = self.taken.take().unwrap_or_default();
        let now = by_entity(self.scorer.engine().bans());
        let changed = now.iter().filter(|(entity, bans)| taken.get(*entity) != Some(*bans));
        let gone = taken.keys().filter(|entity| !now.contains_key(*entity));
        let changes: Vec<BanChange> = changed
            .map(|(_, bans)| BanChange::InForce(bans.clone()))
            .chain(gone.map(|entity| BanChange::Gone(entity.clone())))
            .collect();
        self.scorer.tell_bans(&changes, out);
        report.bans.extend(changes);
    }
}

/// Bans by entity, strongest first.
pub(super) fn by_entity(bans: Vec<Ban>) -> BTreeMap<Entity, Vec<Ban>> {
    let mut by = BTreeMap::<Entity, Vec<Ban>>::new();
    for ban in bans {
        by.entry(ban.entity.clone()).or_default().insert(0, ban);
    }
    by
}
