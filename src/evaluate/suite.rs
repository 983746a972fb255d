//! All scenarios over several seeds: the worst of them against the bounds, and what each evidence family is worth.
//!
//! Runs do not know of each other, so several may run at once; results are put into order at the end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use super::bounds::{self, Bound};
use super::figures::{Figures, Rate};
use super::rehearsal::Rehearsal;
use crate::engine::key::HashSeed;
use crate::engine::policy::Policy;
use crate::sim::scenario::Entry;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The scenarios.
    pub scenarios: Vec<&'static Entry>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The size of each scenario.
    pub scale: f64,
    /// How many run at once.
    pub jobs: usize,
}

/// The outcome of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The scenario.
    pub scenario: &'static str,
    /// The seed.
    pub seed: u64,
    /// Its figures.
    pub figures: Figures,
}

/// One bound, held against the worst of the seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// The scenario.
    pub scenario: String,
    /// What is measured, and what must hold.
    #[serde(flatten)]
    pub bound: Bound,
    /// The worst figure; none when there is none.
    pub worst: Option<f64>,
    /// The seed it comes from.
    pub seed: u64,
    /// The figures of all seeds, in their order.
    pub each: Vec<Option<f64>>,
    /// Whether it holds.
    pub holds: bool,
}

impl Suite {
    /// Runs everything under one policy; `done` hears of each run when it has ended. Outcomes are ordered by scenario,
    /// then by seed.
    pub fn run(
        &self,
        policy: &Arc<Policy>,
        keys: HashSeed,
        done: &(dyn Fn(&Outcome) + Sync),
    ) -> Vec<Outcome> {
        let runs: Vec<Rehearsal> = self.rehearsals().collect();
        let next = AtomicUsize::new(0);
        let outcomes: Mutex<Vec<(usize, Outcome)>> = Mutex::new(Vec::new());
        let work = || {
            while let Some((number, rehearsal)) = take(&runs, &next) {
                let figures = rehearsal.run(policy, keys);
                let outcome = Outcome { scenario: rehearsal.scenario.name, seed: rehearsal.seed, figures };
                done(&outcome);
                outcomes.lock().unwrap_or_else(PoisonError::into_inner).push((number, outcome));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.jobs.max(1) {
                scope.spawn(work);
            }
            work();
        });
        let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        outcomes.sort_by_key(|(number, _)| *number);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn rehearsals(&self) -> impl Iterator<Item = Rehearsal> {
        let of = move |scenario: &'static Entry| {
            self.seeds.iter().map(move |seed| Rehearsal { scenario, seed: *seed, scale: self.scale })
        };
        self.scenarios.iter().copied().flat_map(of)
    }

    /// Holds outcomes against the bounds.
    pub fn judge(&self, outcomes: &[Outcome]) -> Vec<Held> {
        let mut held = Vec::new();
        for entry in &self.scenarios {
            let of: Vec<&Outcome> =
                outcomes.iter().filter(|outcome| outcome.scenario == entry.name).collect();
            for bound in bounds::of(entry.name, entry.attack) {
                held.extend(hold(entry.name, bound, &of));
            }
        }
        held
    }
}

fn take<'r>(runs: &'r [Rehearsal], next: &AtomicUsize) -> Option<(usize, &'r Rehearsal)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    runs.get(number).map(|run| (number, run))
}

fn hold(scenario: &str, bound: Bound, outcomes: &[&Outcome]) -> Option<Held> {
    let each: Vec<Option<f64>> = outcomes.iter().map(|outcome| bound.metric.of(&outcome.figures)).collect();
    let worst = each.iter().copied().reduce(|a, b| bound.metric.worse(a, b))?;
    let place = each.iter().position(|one| *one == worst).unwrap_or(0);
    let seed = outcomes.get(place)?.seed;
    let holds = bound.limit.holds(worst);
    Some(Held { scenario: scenario.to_owned(), bound, worst, seed, each, holds })
}

/// Honest accounts of all runs of one seed together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pooled {
    /// The seed.
    pub seed: u64,
    /// Honest accounts acted on.
    pub acted_on: Rate,
}

/// Honest accounts of all scenarios together, by seed.
pub fn pooled(seeds: &[u64], outcomes: &[Outcome]) -> Vec<Pooled> {
    let one = |seed: &u64| {
        let of = outcomes.iter().filter(|outcome| outcome.seed == *seed);
        let rates = of.map(|outcome| outcome.figures.harm.acted_on);
        let (hits, all) = rates.fold((0, 0), |(hits, all), rate| (hits + rate.hits, all + rate.of));
        Pooled { seed: *seed, acted_on: Rate::plain(hits, all) }
    };
    seeds.iter().map(one).collect()
}
