//! A replica: the state of a shard and the line it stands on. Owner, standby and recovery apply records in this one way.
//!
//! What an entry of the journal covers goes in, and what comes out is hashed into the chain. Whether it is told is the
//! caller's matter: the owner of a batch sends it, a follower throws it away.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::Engine;
use crate::engine::ban::{Ban, BanChange};
use crate::engine::case::Case;
use crate::engine::crowd::Correction;
use crate::engine::entity::Entity;
use crate::engine::policy::Policy;
use crate::engine::time::Timestamp;
use crate::stream::{Coordinates, InputOffset, OutBatch, TopicNames};
use crate::wire::ban::BanRecord;
use crate::wire::decision::CorrectionRecord;
use crate::wire::journal::{JournalKind, JournalRecord};

use super::batch::Batch;
use super::chain::OutDigest;
use super::commit::Job;
use super::line::{Entry, Line, Range, Taken};
use super::score::{Applier, Groups, Inputs, Part, Report, Scorer, Tell};

/// See the module.
pub struct Replica {
    /// The state.
    pub scorer: Scorer,
    /// Where it stands.
    pub line: Line,
    names: TopicNames,
    shard: u32,
    taken: TakenBans,
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

    /// Names of the topics.
    pub(super) fn names(&self) -> &TopicNames {
        &self.names
    }

    /// Applies an entry as the owner: what is to be told of it, the journal's record included, is appended to `job`.
    pub fn lead(&mut self, work: &Work<'_>, skip: &BTreeSet<Coordinates>, job: &mut Job) {
        let mark = job.out.mark();
        let (skipped, digest) = self.in_turns(work, skip, &mut job.out, &mut job.report);
        if work.entry.kind == JournalKind::Warm {
            job.out.rewind(mark);
        }
        let entry = Entry { skipped, ..work.entry.clone() };
        let told = (work.taken.clone(), self.scorer.engine().revised_to());
        let record = self.line.seal(&entry, told, digest, &self.names);
        self.scorer.tell_journal(&record, self.shard, &mut job.out);
        let moved =
            |range: &Range| InputOffset { topic: range.topic, partition: range.partition, next: range.to };
        match entry.kind {
            JournalKind::Batch | JournalKind::Lost => job.offsets.extend(entry.ranges.iter().map(moved)),
            _ => job.offsets = self.line.offsets(),
        }
        job.end = Some((record.seq, record.chain));
    }

    /// Applies an entry that a record of the journal covers, and goes on behind it. Returns the digest of what came out:
    /// whether it is what the journal says is for the caller to find out ([`super::Chain::check`]) before anybody hears of
    /// it.
    pub fn follow(
        &mut self,
        (record, skip): (&JournalRecord, &BTreeSet<Coordinates>),
        work: &Work<'_>,
        out: &mut OutBatch,
        report: &mut Report,
    ) -> u128 {
        let (_, digest) = self.in_turns(work, skip, out, report);
        self.line.go_on(record, work.entry);
        digest
    }

    /// The same, where its interactions are parsed, and what came of them is told, by others.
    pub(super) fn follow_apart<'b>(
        &mut self,
        (record, skip): (&JournalRecord, &'b BTreeSet<Coordinates>),
        work: &Work<'b>,
        groups: &mut Groups<'_, 'b>,
        tell: &mut Tell<'_, 'b>,
        report: &mut Report,
    ) {
        apply((&mut self.scorer.applier, &mut self.taken), (work, skip), groups, tell, report);
        self.line.go_on(record, work.entry);
    }

    fn in_turns(
        &mut self,
        work: &Work<'_>,
        skip: &BTreeSet<Coordinates>,
        out: &mut OutBatch,
        report: &mut Report,
    ) -> (Vec<Coordinates>, u128) {
        let Self { scorer, taken, .. } = self;
        let mut digest = OutDigest::from(out.len());
        let (policy, mut told) = (work.policy.as_ref(), |out: &OutBatch| digest.add(out));
        let skipped =
            scorer.in_turns(work.batch, policy, out, report, &mut told, |applier, groups, tell, report| {
                apply((applier, taken), (work, skip), groups, tell, report)
            });
        (skipped, digest.value())
    }
}

/// The bans taken over since the lineage began, by entity; `None` before the first.
type TakenBans = Option<BTreeMap<Entity, Vec<Ban>>>;

/// Applies an entry. Returns the records that were passed over.
fn apply<'b>(
    (applier, taken): (&mut Applier, &mut TakenBans),
    (work, skip): (&Work<'b>, &'b BTreeSet<Coordinates>),
    groups: &mut Groups<'_, 'b>,
    tell: &mut Tell<'_, 'b>,
    report: &mut Report,
) -> Vec<Coordinates> {
    let engine = &mut applier.engine;
    match work.entry.kind {
        JournalKind::Reset => tell(Part::Policy(Arc::clone(engine.policy()))),
        JournalKind::Lost => {}
        JournalKind::Bans => {
            take_bans(engine, taken, &work.taken.bans, report);
            engine.restore_cases(work.taken.cases.iter().cloned().map(Case::from).collect());
            take_corrections(engine, &work.taken.corrections);
        }
        JournalKind::Ready => {
            engine.warmed_up();
            let changes = differences(engine, &taken.take().unwrap_or_default());
            report.bans.extend(changes.iter().cloned());
            tell(Part::Bans(changes));
        }
        JournalKind::Batch | JournalKind::Warm => {
            let policy = work.policy.clone().filter(|policy| policy.hash != engine.policy().hash);
            let inputs = Inputs {
                policy,
                ticks: &work.entry.ticks,
                batch: work.batch,
                skip,
                decided_at: work.decided_at,
            };
            return applier.apply(&inputs, groups, tell, report);
        }
    }
    Vec::new()
}

/// The topic of bans is the truth: what old commands made of themselves is replaced by it.
fn take_bans(engine: &mut Engine, taken: &mut TakenBans, records: &[BanRecord], report: &mut Report) {
    let taken = taken.get_or_insert_with(|| {
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

fn take_corrections(engine: &mut Engine, records: &[CorrectionRecord]) {
    let corrections: Vec<Correction> = records.iter().filter_map(CorrectionRecord::read).collect();
    let refused = engine.restore_corrections(&corrections) + records.len() - corrections.len();
    if refused > 0 {
        tracing::warn!(decisions = refused, "no room for what a campaign changed: it cannot be taken back");
    }
}

/// What warming up changed of the bans in force.
fn differences(engine: &Engine, taken: &BTreeMap<Entity, Vec<Ban>>) -> Vec<BanChange> {
    let now = by_entity(engine.bans());
    let changed = now.iter().filter(|(entity, bans)| taken.get(*entity) != Some(*bans));
    let gone = taken.keys().filter(|entity| !now.contains_key(*entity));
    changed
        .map(|(_, bans)| BanChange::InForce(bans.clone()))
        .chain(gone.map(|entity| BanChange::Gone(entity.clone())))
        .collect()
}

/// Bans by entity, strongest first.
pub(super) fn by_entity(bans: Vec<Ban>) -> BTreeMap<Entity, Vec<Ban>> {
    let mut by = BTreeMap::<Entity, Vec<Ban>>::new();
    for ban in bans {
        by.entry(ban.entity.clone()).or_default().insert(0, ban);
    }
    by
}
