//! Scoring a batch: decode and merge (`parse.rs`), apply (`apply.rs`), encode (`tell.rs`). Knows no broker and no clock; the
//! same for live and for a follower, whether the three are done in turns or at the same time.

mod apply;
mod parse;
mod tell;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::sync::Arc;

use crate::engine::ban::BanChange;
use crate::engine::blast::FellBack;
use crate::engine::entity::Entity;
use crate::engine::policy::Policy;
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;
use crate::engine::{Ahead, Engine};
use crate::stream::{Coordinates, OutBatch, TopicNames};
use crate::wire::interaction::{DecodeLimits, Spare};
use crate::wire::journal::JournalRecord;
use crate::wire::shadow::ShadowRecord;
use crate::wire::shadow_tally::ShadowTallyRecord;

pub(super) use self::apply::Applier;
pub(super) use self::parse::{Group, append_time, head, merged};
pub(super) use self::tell::{Part, Teller};
use super::batch::Batch;
use super::candidate::Compared;
use super::hits::Hits;
use super::tally::Tally;
use super::touched::Touched;

/// What scoring a batch did, beside what it tells.
#[derive(Debug, Default)]
pub struct Report {
    /// What became of its records.
    pub tally: Tally,
    /// Rules, limits and shortcomings that its decisions named.
    pub hits: Hits,
    /// Changes of bans, in order.
    pub bans: Vec<BanChange>,
    /// The subjects of decisions above allow, with the newest of them.
    pub touched: BTreeMap<Entity, Touched>,
    /// Rules that fell back because they held up too many accounts.
    pub fell_back: Vec<FellBack>,
    /// Append times of its interactions: how old they were is known at the commit.
    pub append_times: Vec<Timestamp>,
    /// Time the engine has come to.
    pub as_of: Timestamp,
    /// CPU seconds of scoring it.
    pub seconds: f64,
    /// Its decisions, for who compares them; left out unless asked for.
    pub decided: Option<Vec<Decided>>,
    /// How those of a candidate compare.
    pub compared: Compared,
}

/// A decision on an event, or a correction of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Where the event's record stands.
    pub at: Coordinates,
    /// The verdict.
    pub verdict: Verdict,
    /// When the event counted.
    pub effective_at: Timestamp,
    /// 0 for the first decision on an event, else the number of the correction.
    pub revision: u32,
    /// Which of the outgoing records it is.
    pub record: usize,
}

/// What goes into the engine as one batch, in this order.
#[derive(Debug)]
pub struct Inputs<'b> {
    /// A policy that takes effect.
    pub policy: Option<Arc<Policy>>,
    /// Times to come to, ascending.
    pub ticks: &'b [Timestamp],
    /// The records.
    pub batch: &'b Batch,
    /// Records that are not applied: scoring them failed. They become dead letters.
    pub skip: &'b BTreeSet<Coordinates>,
    /// The time that decisions tell.
    pub decided_at: Timestamp,
}

/// Is told each record before it is scored: how a test makes scoring fail.
pub type Probe = Arc<dyn Fn(Coordinates) + Send + Sync>;

/// The interactions of a batch.
pub(super) type Groups<'g, 'b> = dyn Iterator<Item = Group<'b>> + 'g;

/// Takes what is to be told, in order.
pub(super) type Tell<'t, 'b> = dyn FnMut(Part<'b>) + 't;

/// Scores batches, one after the other.
pub struct Scorer {
    pub(super) applier: Applier,
    pub(super) teller: Teller,
    limits: DecodeLimits,
    spare: Spare,
}

impl Scorer {
    /// A scorer around an engine.
    pub fn new(engine: Engine, names: TopicNames, limits: DecodeLimits) -> Self {
        let (applier, teller) = (Applier::new(engine, names.clone()), Teller::new(names));
        Self { applier, teller, limits, spare: Spare::default() }
    }

    /// The same, told each record before it is scored.
    #[must_use]
    pub fn probed(mut self, probe: Option<Probe>) -> Self {
        self.applier.probe = probe;
        self
    }

    /// The record that was being scored last: after a panic, the one that caused it.
    pub fn at(&self) -> Option<Coordinates> {
        self.applier.at
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.applier.engine
    }

    /// The engine.
    pub fn engine_mut(&mut self) -> &mut Engine {
        &mut self.applier.engine
    }

    /// Tells what a candidate made of an event that was decided otherwise; the record key is that of the decision.
    pub(super) fn tell_candidate(&mut self, record: &ShadowRecord, key: Option<&[u8]>, out: &mut OutBatch) {
        self.teller.encoder.candidate(record, key, out);
    }

    /// Tells how a candidate compares in all; `chain` is the journal's behind the batch.
    pub(super) fn tell_tally(&mut self, record: &ShadowTallyRecord, chain: &str, out: &mut OutBatch) {
        self.teller.encoder.tally(record, chain, out);
    }

    /// Tells the journal's record of a batch.
    pub(super) fn tell_journal(&mut self, record: &JournalRecord, shard: u32, out: &mut OutBatch) {
        self.teller.encoder.journal(record, shard, out);
    }

    /// Applies one batch. Returns the records that were passed over.
    pub fn apply(
        &mut self,
        inputs: &Inputs<'_>,
        out: &mut OutBatch,
        report: &mut Report,
    ) -> Vec<Coordinates> {
        let policy = inputs.policy.as_ref();
        self.in_turns(inputs.batch, policy, out, report, &mut |_| (), |applier, groups, tell, report| {
            applier.apply(inputs, groups, tell, report)
        })
    }

    /// What `apply` applies of a batch is parsed before and told behind it, a few interactions at a time; `told` is called
    /// whenever something was. `policy` is the one that takes effect, if one does.
    pub(super) fn in_turns<'b, T>(
        &mut self,
        batch: &'b Batch,
        policy: Option<&Arc<Policy>>,
        out: &mut OutBatch,
        report: &mut Report,
        told: &mut dyn FnMut(&OutBatch),
        apply: impl FnOnce(&mut Applier, &mut Groups<'_, 'b>, &mut Tell<'_, 'b>, &mut Report) -> T,
    ) -> T {
        let policy = Arc::clone(policy.unwrap_or(self.applier.engine.policy()));
        let (spare, room) = (RefCell::new(std::mem::take(&mut self.spare)), RefCell::new(Group::default()));
        let (teller, mut decided) = (&mut self.teller, report.decided.take());
        let mut merged = merged(batch, &policy.settings, &self.limits, &spare);
        let mut groups = iter::from_fn(|| {
            let mut group = room.take();
            group.items.extend(merged.by_ref().take(Ahead::EVENTS));
            (!group.items.is_empty()).then_some(group)
        });
        let mut tell = |part: Part<'b>| {
            if let Some(mut group) = teller.tell(part, out, &mut decided) {
                group.empty(&mut spare.borrow_mut());
                room.replace(group);
            }
            told(out);
        };
        let done = apply(&mut self.applier, &mut groups, &mut tell, report);
        drop(merged);
        report.decided = decided;
        self.spare = spare.into_inner();
        done
    }

    /// What the engine knows of entities that somebody asked for.
    pub fn look_up(&self, wanted: Vec<Entity>, report: &mut Report) {
        for entity in wanted {
            let touched = Touched { profile: self.engine().profile(&entity), verdict: None };
            report.touched.entry(entity).or_insert(touched);
        }
    }
}
