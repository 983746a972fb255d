//! The whole pipeline on logs in memory, in an order of steps that a seed chooses: crashes between any two steps, aborted
//! and unknown commits, changes of owner, records out of order and twice.
//!
//! A seed that fails is printed and fails again. `WEIR_SEEDS=10000` runs that many, `WEIR_SEED=7` that one alone.
#![allow(clippy::print_stdout, reason = "a run tells what it met")]
#![allow(unreachable_pub, dead_code, reason = "modules that other tests share")]

mod broker;
mod bug;
mod check;
mod dice;
mod disk;
mod instance;
mod logs;
mod world;

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;

use weir::config::standard;
use weir::engine::key::HashSeed;
use weir::engine::policy::Policy;
use weir::engine::policy::load::load;
use weir::pipeline::{Foundry, basis};
use weir::stream::{Topic, TopicNames};
use weir::wire::interaction::DecodeLimits;

use broker::Broker;
use bug::Bug;
use dice::Dice;
use instance::{Instance, Seen};
use world::World;

/// Seeds that CI runs.
const SEEDS: u64 = 60;
/// Steps of a run in which anything may go wrong.
const STEPS: u64 = 1_500;
/// The secret of all runs.
pub const SEED: HashSeed = HashSeed(1, 2);

/// The standard policy, and the same with another threshold.
fn policies() -> Vec<Arc<Policy>> {
    let files = standard::files();
    let changed = files.iter().map(|(name, text)| (name.clone(), format!("{text}\n# another text\n")));
    let both = [files.clone(), changed.collect()];
    both.map(|files| load(&files).expect("valid").policy).to_vec()
}

fn foundry() -> Foundry {
    let limits = DecodeLimits::default();
    let names = TopicNames::with_prefix("");
    Foundry { seed: SEED, names, shard: 0, limits, basis: basis(&SEED, &limits), probe: None }
}

/// One run, with a fault if one is planted; panics where something is wrong.
fn run(seed: u64, policies: &[Arc<Policy>], bug: Option<Bug>) -> (Seen, check::Checked) {
    let foundry = foundry();
    let (mut dice, mut seen, mut world) = (Dice::new(seed), Seen::default(), World::default());
    let broker = Rc::new(RefCell::new(Broker::new(&world::topics(), world::begin())));
    broker.borrow_mut().bug = bug;
    let mut instances = [Instance::new(0, &broker, policies), Instance::new(1, &broker, policies)];
    for _ in 0..STEPS {
        match dice.below(400) {
            0 | 1 => instances[dice.below(2) as usize].crash(&mut seen),
            3 if dice.one_in(20) => {
                let end = broker.borrow().log(Topic::Journal, 0).end;
                broker.borrow_mut().trim((Topic::Journal, 0), end - 30);
            }
            3 if dice.one_in(4) => instances[dice.below(2) as usize].disk.damage(),
            2 => broker.borrow_mut().owner = dice.below(2) as usize,
            4..150 => world.turn(&mut broker.borrow_mut(), &mut dice),
            _ => instances[dice.below(2) as usize].step(&mut dice, &foundry, true, &mut seen),
        }
    }
    heal(&broker, &mut instances[0], &foundry, &mut dice, &mut seen);
    (seen, check::everything(&broker, policies, &foundry))
}

/// No more faults: one owner comes to the end of all inputs.
fn heal(
    broker: &Rc<RefCell<Broker>>,
    instance: &mut Instance,
    foundry: &Foundry,
    dice: &mut Dice,
    seen: &mut Seen,
) {
    broker.borrow_mut().owner = 0;
    for _ in 0..20_000 {
        instance.step(dice, foundry, false, seen);
        if check::is_done(&broker.borrow(), &foundry.names) {
            return;
        }
    }
    panic!("without faults all inputs are consumed");
}

#[test]
fn every_seed_ends_with_each_input_decided_once_and_the_same_again() {
    let number = |name: &str| seed_from(name).and_then(|value| value.parse::<u64>().ok());
    let seeds = match number("WEIR_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("WEIR_SEEDS").unwrap_or(SEEDS),
    };
    let (policies, mut all, mut events) = (policies(), Seen::default(), 0);
    for seed in seeds.clone() {
        let told = SeedNote(seed);
        let (seen, checked) = run(seed, &policies, None);
        std::mem::forget(told);
        all.add(&seen);
        events += checked.inputs;
    }
    println!("{} seeds, {events} inputs: {all:?}", seeds.end - seeds.start);
    let one = seeds.end - seeds.start == 1;
    assert!(
        one || (all.crashes > 0 && all.aborts > 0 && all.unknown > 0 && all.fenced > 0 && all.restored > 0),
        "{all:?}"
    );
}

#[test]
fn every_planted_bug_is_found() {
    let policies = policies();
    let (here, usual) = (std::thread::current().id(), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() != here {
            usual(panic);
        }
    }));
    let found = Bug::ALL.map(|bug| (bug, (0..300).find(|seed| is_caught(*seed, &policies, bug))));
    for (bug, seed) in found {
        let seeds = seed.unwrap_or_else(|| panic!("{bug:?} was not found in 300 seeds")) + 1;
        println!("{bug:?}: found after {seeds} seeds");
    }
}

fn is_caught(seed: u64, policies: &[Arc<Policy>], bug: Bug) -> bool {
    let run = AssertUnwindSafe(|| run(seed, policies, Some(bug)));
    std::panic::catch_unwind(run).is_err()
}

/// Names the seed when a run panics.
struct SeedNote(u64);

impl Drop for SeedNote {
    fn drop(&mut self) {
        println!("this was seed {}: WEIR_SEED={} runs it again", self.0, self.0);
    }
}

#[expect(clippy::disallowed_methods, reason = "switches of this test, not of the program")]
fn seed_from(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
