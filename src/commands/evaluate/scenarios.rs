//! Simulated scenarios through the engine, held against what must hold.

use std::sync::Arc;

use serde::Serialize;

use super::super::{policy, setup};
use super::{Failure, files, tell};
use crate::cli::{ConfigArgs, EvaluateArgs, exit};
use crate::engine::key::HashSeed;
use crate::engine::policy::Policy;
use crate::evaluate::ablation::{self, Loss};
use crate::evaluate::report;
use crate::evaluate::suite::{Held, Outcome, Pooled, Suite, pooled};
use crate::report::Head;
use crate::sim::scenario::{self, Entry};

/// The JSON of it.
#[derive(Debug, Serialize)]
struct Document<'d> {
    policy: &'d str,
    seeds: &'d [u64],
    scale: f64,
    /// Whether every bound holds.
    holds: bool,
    bounds: &'d [Held],
    honest: &'d [Pooled],
    ablation: &'d [Loss],
    runs: &'d [Outcome],
}

/// Runs them; ends with 1 when a bound does not hold.
pub(super) fn run(args: &EvaluateArgs) -> Result<u8, Failure> {
    let config = setup::config(&ConfigArgs::from_environment())?;
    let found = policy::of_args(&args.policy, &ConfigArgs::from_environment())?;
    let load = || found.load_or_fail().map(|loaded| loaded.policy);
    let (policy, keys) = (load()?, setup::seed(&config));
    let suite = Suite {
        scenarios: scenarios(args)?,
        seeds: args.seeds.0.clone(),
        scale: args.scale,
        jobs: usize::from(args.jobs),
    };
    let runs = suite.run(&policy, keys, &heard);
    let held = suite.judge(&runs);
    let honest = pooled(&suite.seeds, &runs);
    let losses = if args.ablate { ablate(&suite, &held, keys, &load)? } else { Vec::new() };
    let holds = held.iter().all(|held| held.holds);
    let document = Document {
        policy: &policy.hash,
        seeds: &suite.seeds,
        scale: suite.scale,
        holds,
        bounds: &held,
        honest: &honest,
        ablation: &losses,
        runs: &runs,
    };
    told(args, &document)?;
    Ok(if holds { exit::OK } else { exit::FAILURE })
}

fn scenarios(args: &EvaluateArgs) -> Result<Vec<&'static Entry>, Failure> {
    if args.all {
        return Ok(scenario::ALL.iter().collect());
    }
    let find = |name: &String| {
        let known = || scenario::ALL.map(|entry| entry.name).join(", ");
        scenario::find(name)
            .ok_or_else(|| Failure::of_usage(format!("there is no scenario `{name}`; there are {}", known())))
    };
    args.scenario.iter().map(find).collect()
}

/// Everything again without each part of the policy in turn.
fn ablate(
    suite: &Suite,
    with: &[Held],
    keys: HashSeed,
    load: &dyn Fn() -> Result<Arc<Policy>, Failure>,
) -> Result<Vec<Loss>, Failure> {
    let mut losses = Vec::new();
    for part in ablation::parts(&*load()?) {
        let mut policy = load()?;
        let changed = Arc::get_mut(&mut policy).expect("it was made above and nobody else has it");
        let name = ablation::name(changed, part);
        tell(&format!("without {name}"));
        ablation::switch_off(changed, part);
        let without = suite.judge(&suite.run(&policy, keys, &|_| {}));
        losses.extend(ablation::losses(&name, with, &without));
    }
    Ok(losses)
}

fn heard(outcome: &Outcome) {
    let read = &outcome.figures.read;
    tell(&format!("{} {}: {} events", outcome.scenario, outcome.seed, read.consumed));
}

fn told(args: &EvaluateArgs, document: &Document<'_>) -> Result<(), Failure> {
    let seeds: Vec<String> = document.seeds.iter().map(u64::to_string).collect();
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let facts = vec![
        fact("policy", document.policy.to_owned()),
        fact("seeds", seeds.join(", ")),
        fact("size", format!("{} times full size", document.scale)),
    ];
    let head = Head { title: "Simulated scenarios".to_owned(), facts };
    let sections = report::suite(document.bounds, document.runs, document.honest, document.ablation);
    files::tell(args, document, &head, &sections)
}
