//! Activate: a policy takes effect. Counters that are the same in both keep their counts; changed ones start anew and
//! say so until their window has passed.

use std::collections::HashMap;
use std::sync::Arc;

use super::admit;
use super::apply::{COMMAND_BUDGET, COMMAND_HORIZON, Scratch};
use super::arrive::Watermark;
use super::bans::Bans;
use super::blast::Blast;
use super::cases::Cases;
use super::crowd::Crowds;
use super::duplicates::Duplicates;
use super::exceptions::Exceptions;
use super::input::Outcome;
use super::key::{HashSeed, Prehashed};
use super::plan::{Cell, DimensionPlan, Plan};
use super::policy::{Policy, Settings};
use super::profile;
use super::recall::Recall;
use super::sieve::Sieve;
use super::slab::{BlockRef, Spill};
use super::stats::Stats;
use super::table::{Table, TableSpec};
use super::time::{Span, Timestamp};
use super::timers::Timers;
use super::trace::Tracing;
use super::window::distinct::DistinctSpec;
use super::{Engine, observe::Pool, pace};

/// Time over which the settled accounts behind an address are counted.
const SHARED_WINDOW: Span = Span::from_secs(86_400);
const SHARED_SLOTS: u32 = 24;
/// Accounts kept in the profile itself, which then is one cache line.
const SHARED_INLINE: usize = 3;

impl Engine {
    /// An engine without any state. `seed` keys all hashes: another seed is another state.
    pub fn new(policy: Arc<Policy>, seed: HashSeed) -> Self {
        let plan = Plan::new(&policy, None);
        let settings = &policy.settings;
        let settled_accounts = settled_accounts();
        let address_words = profile::ADDRESS_WORDS + settled_accounts.words();
        let spills = vec![profile::ADDRESS_WORDS + DistinctSpec::SPILL_WORD];
        Self {
            tables: plan.dimensions.iter().map(empty).collect(),
            users: profiles(settings, profile::USER_WORDS, Vec::new()),
            devices: profiles(settings, profile::DEVICE_WORDS, Vec::new()),
            addresses: profiles(settings, address_words, spills),
            settled_accounts,
            bans: Bans::default(),
            cases: Cases::default(),
            exceptions: Exceptions::default(),
            recall: Recall::default(),
            crowds: Crowds::new(&policy),
            blast: Blast::new(&policy),
            paces: pace::fresh(&policy),
            pools: policy.observations.iter().map(|_| Pool::default()).collect(),
            duplicates: Duplicates::new(settings.duplicate_horizon, settings.duplicate_budget),
            commands: Duplicates::new(COMMAND_HORIZON, COMMAND_BUDGET),
            answers: Duplicates::new(COMMAND_HORIZON, COMMAND_BUDGET),
            timers: Timers::default(),
            stats: fresh_stats(&policy),
            now: Timestamp::default(),
            started_at: Timestamp::default(),
            watermark: Watermark::default(),
            events: 0,
            sieve: Sieve::default(),
            scratch: Scratch::default(),
            tracing: Tracing::default(),
            cut: None,
            policy,
            plan,
            activation: 1,
            seed,
        }
    }

    pub(super) fn activate(&mut self, policy: Arc<Policy>) -> Outcome {
        self.abandon_cut();
        let mut plan = Plan::new(&policy, Some(&self.plan));
        if !same_crowds(&self.policy, &policy) {
            self.plan.dimensions.iter_mut().for_each(|dimension| dimension.gate = None);
            self.crowds = Crowds::new(&policy);
        }
        let mut tables: Vec<Option<Table>> = std::mem::take(&mut self.tables).into_iter().map(Some).collect();
        let names = policy.dimensions.iter().map(|dimension| &dimension.name);
        for (name, new) in names.zip(&mut plan.dimensions) {
            let old = self.policy.dimensions.iter().position(|dimension| dimension.name == *name);
            let old = old.and_then(|index| Some((&self.plan.dimensions[index], tables[index].take()?)));
            self.tables.push(carry_over(old, new, self.now));
        }
        self.pools = carry_pools(&self.policy, std::mem::take(&mut self.pools), &policy);
        self.paces = pace::carry(&self.policy, std::mem::take(&mut self.paces), &policy);
        self.blast = std::mem::take(&mut self.blast).carry(&self.policy, &policy);
        self.duplicates.retune(policy.settings.duplicate_horizon, policy.settings.duplicate_budget);
        self.stats = fresh_stats(&policy);
        self.sieve = Sieve::default();
        self.plan = plan;
        self.policy = policy;
        self.activation += 1;
        Outcome::PolicyActivated
    }
}

/// The window of settled accounts in an address profile.
pub(super) fn settled_accounts() -> DistinctSpec {
    DistinctSpec::new(SHARED_WINDOW, SHARED_SLOTS).with_inline(SHARED_INLINE)
}

/// A table of profiles, which are not estimated.
fn profiles(settings: &Settings, words: usize, spills: Vec<usize>) -> Table {
    let spill_bytes = if spills.is_empty() { 0 } else { settings.profile_budget / 4 };
    let budget_bytes = settings.profile_budget - spill_bytes;
    let spec = TableSpec { words, budget_bytes, idle: settings.profile_idle, spills, spill_bytes };
    Table::admitting(spec, Vec::new())
}

/// An empty table for a dimension.
fn empty(plan: &DimensionPlan) -> Table {
    Table::admitting(plan.spec.clone(), plan.windows.clone())
}

fn fresh_stats(policy: &Policy) -> Stats {
    Stats { rule_hits: vec![0; policy.rules.len()], skipped_empty: vec![0; policy.limits.len()] }
}

/// Whether what is remembered of crowds under one policy means the same under another.
pub fn same_crowds(old: &Policy, new: &Policy) -> bool {
    let counter = |policy: &Policy, signal: usize| policy.signals[signal].identity;
    let meaning = |policy: &Policy| {
        let families: Vec<String> = policy.families.iter().map(|family| family.name.clone()).collect();
        let crowds = policy.crowds.as_ref()?;
        let people = crowds.address_users.map(|signal| counter(policy, signal));
        let settings = &policy.settings;
        let memory = (crowds.budget, settings.retroactive_budget, settings.retroactive_window);
        let watched: Vec<u64> = crowds.people.iter().map(|people| counter(policy, people.signal)).collect();
        Some((families, watched, people, (crowds.device.clone(), crowds.persona.clone()), memory))
    };
    meaning(old) == meaning(new)
}

/// Pools go by the id of their rule.
fn carry_pools(old: &Policy, pools: Vec<Pool>, new: &Policy) -> Vec<Pool> {
    let mut known: HashMap<&str, Pool> =
        old.observations.iter().map(|rule| rule.info.id.as_str()).zip(pools).collect();
    new.observations.iter().map(|rule| known.remove(rule.info.id.as_str()).unwrap_or_default()).collect()
}

/// The table of a dimension under its new layout, with every count that the old one has for the same counter.
fn carry_over(old: Option<(&DimensionPlan, Table)>, new: &mut DimensionPlan, now: Timestamp) -> Table {
    let moves = match &old {
        None => Vec::new(),
        Some((plan, _)) => moves(plan, new),
    };
    warm_up(new, &moves, now);
    match old {
        None => empty(new),
        Some((plan, table)) if same_layout(plan, new, &moves) => table,
        Some((plan, table)) => moved(&table, plan, new, &moves),
    }
}

/// One counter that both layouts have.
struct Move<'p> {
    from: Cell,
    to: Cell,
    limits: Option<(&'p super::limit::Limit, super::limit::Limit)>,
}

impl Move<'_> {
    fn carry(&self, record: &[u32], words: &mut [u32], spill: &mut Spill) {
        let (from, into) = (self.from.of(record), self.to.of_mut(words));
        match &self.limits {
            Some((old, limit)) => {
                if !limit.carry_over(into, spill, old, from) {
                    let block = old.spill_word().and_then(|word| BlockRef::from_word(from[word]));
                    block.into_iter().for_each(|block| spill.free(block));
                }
            }
            None => into.copy_from_slice(from),
        }
    }
}

fn moves<'p>(old: &'p DimensionPlan, new: &DimensionPlan) -> Vec<Move<'p>> {
    let mut known: HashMap<u64, (Cell, Option<&super::limit::Limit>), Prehashed> =
        old.signals.iter().map(|signal| (signal.cell.identity, (signal.cell, None))).collect();
    for limit in &old.limits {
        known.extend(limit.spans.iter().map(|(limit, cell)| (cell.identity, (*cell, Some(limit)))));
        known.extend(limit.episode.iter().map(|cell| (cell.identity, (*cell, None))));
    }
    known.extend(old.gate.iter().map(|cell| (cell.identity, (*cell, None))));
    let plain = new.signals.iter().map(|signal| (signal.cell, None));
    let others = new.limits.iter().filter_map(|limit| limit.episode).chain(new.gate);
    let others = others.map(|cell| (cell, None));
    let spans = new.limits.iter().flat_map(|l| &l.spans).map(|(limit, cell)| (*cell, Some(limit)));
    plain
        .chain(others)
        .chain(spans)
        .filter_map(|(to, limit)| {
            let (from, old) = *known.get(&to.identity)?;
            Some(Move { from, to, limits: old.zip(limit.cloned()) })
        })
        .collect()
}

/// Counters without a past have not seen their window until it has passed.
fn warm_up(new: &mut DimensionPlan, moves: &[Move<'_>], now: Timestamp) {
    let warm = |cell: &mut Cell, window: Span| match moves.iter().find(|m| m.to.identity == cell.identity) {
        Some(same) => cell.warm_at = same.from.warm_at,
        None => cell.warm_at = now.after(window),
    };
    let reach = new.reach;
    for signal in &mut new.signals {
        warm(&mut signal.cell, reach);
    }
    for (limit, cell) in new.limits.iter_mut().flat_map(|limit| &mut limit.spans) {
        warm(cell, limit.window());
    }
}

fn same_layout(old: &DimensionPlan, new: &DimensionPlan, moves: &[Move<'_>]) -> bool {
    let cells = |plan: &DimensionPlan| {
        let limits = plan.limits.iter().map(|limit| limit.spans.len() + usize::from(limit.episode.is_some()));
        plan.signals.len() + limits.sum::<usize>() + usize::from(plan.gate.is_some())
    };
    old.spec == new.spec
        && cells(old) == cells(new)
        && cells(new) == moves.len()
        && moves.iter().all(|m| (m.from.offset, m.from.words) == (m.to.offset, m.to.words))
}

/// Moves every record to the new layout. Blocks stay where they are; those of counters that are no more are given back.
fn moved(table: &Table, old: &DimensionPlan, new: &DimensionPlan, moves: &[Move<'_>]) -> Table {
    let mut to = empty(new).succeeding(table);
    let has_moved = |word: &&usize| moves.iter().any(|m| m.from.range().contains(word));
    let dropped: Vec<usize> = old.spec.spills.iter().filter(|word| !has_moved(word)).copied().collect();
    let mut carry = |key, touched, record: &[u32]| {
        let old = table.find(key, touched);
        let entry = to.transfer(key, touched, old.map_or(1, |slot| table.touches(slot)));
        if entry.evicted {
            admit::absorb(new, &mut to);
        }
        let (words, spill) = to.cells_and_spill(entry.slot);
        for m in moves {
            m.carry(record, words, spill);
        }
        if entry.slot.is_guest() {
            admit::leave(new, &mut to, entry.slot, key, touched);
        }
        for word in &dropped {
            to.free_block(record[*word]);
        }
    };
    table.for_each(&mut carry);
    table.for_each_guest(&mut carry);
    to
}
