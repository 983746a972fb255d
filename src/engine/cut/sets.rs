//! The sets of a cut: everything the engine holds that is no array of fixed-size entries.
//!
//! To add one: derive its words with `saved!` (or by hand, where something follows from the rest) in a file `saved.rs`
//! below its module, add a value to [`Set`], and take it down and read it here. A field of the engine that is left out
//! does not compile, neither on the way out nor on the way in.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::page::{Kind, PAGE_WORDS, Page, Place};
use super::restore::{Array, Awaited, RestoreError};
use super::watch::Undo;
use super::words::{Damaged, Reader, Saved, Writer, saved};
use crate::engine::activate::settled_accounts;
use crate::engine::apply::Scratch;
use crate::engine::arrive::Watermark;
use crate::engine::crowd::Crowds;
use crate::engine::duplicates::Duplicates;
use crate::engine::key::HashSeed;
use crate::engine::plan::{DimensionPlan, Plan};
use crate::engine::policy::Policy;
use crate::engine::sieve::Sieve;
use crate::engine::stats::Stats;
use crate::engine::table::Table;
use crate::engine::time::Timestamp;
use crate::engine::trace::Tracing;
use crate::engine::{Engine, SEMANTICS};

/// The sets. Their numbers are part of the form: a new one gets a new number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    Identity = 0,
    Progress = 1,
    Plan = 2,
    Tables = 3,
    Duplicates = 4,
    Bans = 5,
    Cases = 6,
    Pools = 7,
    Timers = 8,
    Exceptions = 9,
    Recall = 10,
    Crowds = 11,
    Blast = 12,
    Paces = 13,
}

impl Set {
    pub(super) const ALL: [Set; 14] = [
        Set::Identity,
        Set::Progress,
        Set::Plan,
        Set::Tables,
        Set::Duplicates,
        Set::Bans,
        Set::Cases,
        Set::Pools,
        Set::Timers,
        Set::Exceptions,
        Set::Recall,
        Set::Crowds,
        Set::Blast,
        Set::Paces,
    ];
}

/// What must be the same where it is restored.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    semantics: String,
    policy: String,
    /// What the seed makes of a fixed text: tells seeds apart, not what they are.
    seed: u64,
}

saved!(Identity { semantics, policy, seed });

/// How far the engine has come.
#[derive(Debug)]
struct Progress {
    activation: u64,
    events: u64,
    now: Timestamp,
    started_at: Timestamp,
    watermark: Watermark,
    stats: Stats,
}

saved!(Progress { activation, events, now, started_at, watermark, stats });

impl Identity {
    fn of(policy: &Policy, seed: HashSeed) -> Self {
        let (semantics, policy) = (SEMANTICS.to_owned(), policy.hash.to_string());
        Self { semantics, policy, seed: seed.bytes(b"identity of a saved state") }
    }

    fn check(self, policy: &Policy, seed: HashSeed) -> Result<(), RestoreError> {
        let here = Self::of(policy, seed);
        if self.semantics != here.semantics {
            return Err(RestoreError::OtherSemantics { saved: self.semantics, given: SEMANTICS });
        }
        if self.policy != here.policy {
            return Err(RestoreError::OtherPolicy { saved: self.policy, given: here.policy });
        }
        if self.seed != here.seed { Err(RestoreError::OtherSeed) } else { Ok(()) }
    }
}

/// Sets read back, by number.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    words: BTreeMap<u32, Vec<u32>>,
}

impl Sets {
    /// Takes one.
    pub(super) fn put(&mut self, array: Array) -> Result<(), RestoreError> {
        let unit = array.place().unit;
        let known = Set::ALL.iter().any(|set| *set as u32 == unit);
        if !known || array.stride() != 1 {
            return Err(RestoreError::Damaged("a set that nothing speaks of"));
        }
        let twice = self.words.insert(unit, array.into_pages().flatten().collect()).is_some();
        if twice { Err(RestoreError::Damaged("a set that comes twice")) } else { Ok(()) }
    }

    /// How many are not here yet.
    pub(super) fn missing(&self) -> usize {
        Set::ALL.len() - self.words.len()
    }

    /// Reads one to its end.
    fn read<T>(
        &self,
        set: Set,
        load: impl FnOnce(&mut Reader<'_>) -> Result<T, Damaged>,
    ) -> Result<T, Damaged> {
        let mut reader = Reader::new(self.words.get(&(set as u32)).ok_or(Damaged)?);
        let value = load(&mut reader)?;
        reader.end()?;
        Ok(value)
    }
}

/// The number of a table of duplicates among the parts: of events, of commands, and of feedback.
pub(super) const EVENTS_SEEN: usize = 0;
pub(super) const COMMANDS_SEEN: usize = 1;
pub(super) const ANSWERS_SEEN: usize = 2;

impl Engine {
    /// All sets as pages.
    pub(super) fn set_pages(&self) -> Vec<Page> {
        Set::ALL.into_iter().flat_map(|set| pages_of(set, &self.save(set))).collect()
    }

    /// Takes one set down.
    fn save(&self, set: Set) -> Vec<u32> {
        let Self {
            policy,
            plan,
            activation,
            seed,
            tables,
            users,
            devices,
            addresses,
            settled_accounts: _,
            bans,
            cases,
            exceptions,
            crowds,
            recall,
            blast,
            paces,
            pools,
            duplicates,
            commands,
            answers,
            timers,
            stats,
            now,
            started_at,
            watermark,
            events,
            // It is remembered anew.
            sieve: _,
            scratch: _,
            tracing: _,
            cut: _,
        } = self;
        let mut to = Writer::default();
        match set {
            Set::Identity => Identity::of(policy, *seed).save(&mut to),
            Set::Progress => {
                let (watermark, stats) = (watermark.clone(), stats.clone());
                let (activation, events, now, started_at) = (*activation, *events, *now, *started_at);
                Progress { activation, events, now, started_at, watermark, stats }.save(&mut to);
            }
            Set::Plan => plan.save(&mut to),
            Set::Tables => {
                tables.len().save(&mut to);
                tables.iter().chain([users, devices, addresses]).for_each(|table| table.save(&mut to));
            }
            Set::Duplicates => {
                duplicates.save(&mut to);
                commands.save(&mut to);
                answers.save(&mut to);
            }
            Set::Bans => bans.save(&mut to),
            Set::Cases => cases.save(&mut to),
            Set::Pools => pools.save(&mut to),
            Set::Timers => timers.save(&mut to),
            Set::Exceptions => exceptions.save(&mut to),
            Set::Recall => recall.save(&mut to),
            Set::Blast => blast.save(&mut to),
            Set::Paces => paces.save(&mut to),
            Set::Crowds => {
                crowds.is_some().save(&mut to);
                crowds.iter().for_each(|crowds| crowds.save(&mut to));
            }
        }
        to.into_words()
    }

    /// The engine without its arrays, and which ones it waits for.
    pub(super) fn load(
        policy: Arc<Policy>,
        seed: HashSeed,
        sets: &Sets,
        awaited: &mut Awaited,
    ) -> Result<Self, RestoreError> {
        sets.read(Set::Identity, Identity::load)?.check(&policy, seed)?;
        let Progress { activation, events, now, started_at, watermark, stats } =
            sets.read(Set::Progress, Progress::load)?;
        let plan = sets.read(Set::Plan, |from| Plan::load(from, &policy))?;
        let plan = plan.ok_or(RestoreError::OtherLayout)?;
        let (tables, [users, devices, addresses]) =
            sets.read(Set::Tables, |from| load_tables(from, awaited))?;
        let [duplicates, commands, answers] = sets.read(Set::Duplicates, |from| {
            let mut load = |part| Duplicates::load(from, part, awaited);
            Ok([load(EVENTS_SEEN)?, load(COMMANDS_SEEN)?, load(ANSWERS_SEEN)?])
        })?;
        let bursts = tables.len() + 3;
        let crowds = sets.read(Set::Crowds, |from| {
            let watched = bool::load(from)?;
            watched.then(|| Crowds::load(from, &policy, bursts, awaited)).transpose()
        })?;
        let engine = Self {
            plan,
            activation,
            seed,
            tables,
            users,
            devices,
            addresses,
            settled_accounts: settled_accounts(),
            bans: sets.read(Set::Bans, Saved::load)?,
            cases: sets.read(Set::Cases, Saved::load)?,
            exceptions: sets.read(Set::Exceptions, Saved::load)?,
            crowds,
            recall: sets.read(Set::Recall, Saved::load)?,
            blast: sets.read(Set::Blast, Saved::load)?,
            paces: sets.read(Set::Paces, Saved::load)?,
            pools: sets.read(Set::Pools, Saved::load)?,
            duplicates,
            commands,
            answers,
            timers: sets.read(Set::Timers, Saved::load)?,
            stats,
            now,
            started_at,
            watermark,
            events,
            sieve: Sieve::default(),
            scratch: Scratch::default(),
            tracing: Tracing::default(),
            cut: None,
            policy,
        };
        if engine.is_laid_out() { Ok(engine) } else { Err(RestoreError::OtherLayout) }
    }

    fn profile_cells(&self) -> [(usize, &[usize]); 3] {
        [&self.users, &self.devices, &self.addresses].map(|table| table.spec().cells())
    }

    /// Whether what was read has the layout of an engine under this policy.
    fn is_laid_out(&self) -> bool {
        let fresh = Self::new(Arc::clone(&self.policy), self.seed);
        let dimensions = &self.plan.dimensions;
        let fits =
            |(table, dimension): (&Table, &DimensionPlan)| table.is_for(&dimension.spec, &dimension.windows);
        self.tables.len() == dimensions.len()
            && self.tables.iter().zip(dimensions).all(fits)
            && self.profile_cells() == fresh.profile_cells()
            && self.crowds.as_ref().map(Crowds::layout) == fresh.crowds.as_ref().map(Crowds::layout)
            && self.blast.is_like(&fresh.blast)
            && self.paces.len() == fresh.paces.len()
            && self.pools.len() == fresh.pools.len()
            && self.stats.rule_hits.len() == fresh.stats.rule_hits.len()
            && self.stats.skipped_empty.len() == fresh.stats.skipped_empty.len()
    }
}

fn load_tables(from: &mut Reader<'_>, awaited: &mut Awaited) -> Result<(Vec<Table>, [Table; 3]), Damaged> {
    let dimensions = usize::load(from)?;
    if dimensions > MOST_DIMENSIONS {
        return Err(Damaged);
    }
    let mut load = |part| Table::load(from, part, awaited);
    let tables = (0..dimensions).map(&mut load).collect::<Result<_, _>>()?;
    Ok((tables, [load(dimensions)?, load(dimensions + 1)?, load(dimensions + 2)?]))
}

/// More than any policy has.
const MOST_DIMENSIONS: usize = 1 << 16;

fn pages_of(set: Set, words: &[u32]) -> Vec<Page> {
    let place = Place::new(Kind::Set, 0, set as usize);
    let total = words.len() as u32;
    let page = |(number, words): (usize, &[u32])| Page {
        place,
        from: (number * PAGE_WORDS) as u32,
        total,
        stride: 1,
        words: words.to_vec(),
        undo: Undo::default(),
    };
    words.chunks(PAGE_WORDS).enumerate().map(page).collect()
}
