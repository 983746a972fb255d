//! The whole pipeline on logs in memory, in an order of steps that a seed chooses: crashes between any two steps, aborted
//! and unknown commits, changes of owner, records out of order and twice.
//!
//! A seed that fails is printed and fails again. `WEIR_SEEDS=10000` runs that many, `WEIR_SEED=7` that one
//! alone, both together that many from there on.
#![allow(clippy::print_stdout, reason = "a run tells what it met")]
#![allow(unreachable_pub, dead_code, reason = "modules that other tests share")]

mod anew;
mod broker;
mod bug;
mod campaigns;
mod catch_up;
mod check;
mod dice;
mod disk;
mod instance;
mod logs;
mod version;
mod world;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;

use weir::config::standard;
use weir::engine::key::HashSeed;
use weir::engine::policy::Policy;
use weir::engine::policy::load::load;
use weir::pipeline::{Foundry, basis};
use weir::stream::{Topic, TopicNames};
use weir::verify::history::Verdict;
use weir::wire::interaction::DecodeLimits;

use broker::Broker;
use bug::Bug;
use dice::Dice;
use disk::Disk;
use instance::{Instance, Seen};
use world::World;

/// Seeds that CI runs.
const SEEDS: u64 = 60;
/// Seeds within which a planted bug must be found.
const SEEDS_A_BUG: u64 = 100;
/// Steps of a run in which anything may go wrong.
const STEPS: u64 = 1_500;
/// The secret of all runs.
pub const SEED: HashSeed = HashSeed(1, 2);

/// The standard policy with what a short stream meets, and another one: a threshold differs, and there is one limit more,
/// so that records are laid out anew.
fn policies() -> Vec<Arc<Policy>> {
    let words = "code: C, text: t, source: s, owner: o";
    let short = |max: u32, more: &str| {
        let limits = format!(
            "version: 1\nlimits:\n\
             \x20 - {{ id: busy, key: [user, action], window: 2m, max: {max}, verdict: challenge, {words} }}\n\
             \x20 - {{ id: crowd, key: [target], when: \"event.target_id != 'pushed'\", window: 3m, max: 25, verdict: hold, {words} }}\n{more}\
             signals:\n\
             \x20 - {{ name: target_3m, key: [target], window: 3m, count: {{}}, doc: \"d\" }}\n\
             rules:\n\
             \x20 - {{ id: drawn, family: volume, when: target_3m >= 20, points: 1, {words}, case: {{ entity: target, \
             proposal: \"look\" }} }}\n"
        );
        let mut files = standard::files();
        files.push(("short.yaml".to_owned(), limits));
        load(&files).unwrap_or_else(|problems| panic!("{}", problems[0])).policy
    };
    let more = format!(
        "  - {{ id: more, key: [user, action], window: 90s, max: 6, verdict: challenge, {words} }}\n"
    );
    vec![short(12, ""), short(9, &more)]
}

fn foundry() -> Foundry {
    let limits = DecodeLimits::default();
    let names = TopicNames::with_prefix("");
    Foundry { seed: SEED, names, shard: 0, limits, basis: basis(&SEED, &limits), probe: None }
}

/// One run, with a fault if one is planted; panics where something is wrong.
fn run(seed: u64, policies: &[Arc<Policy>], bug: Option<Bug>) -> (Seen, Verdict) {
    let foundry = foundry();
    let (mut dice, mut seen) = (Dice::new(seed), Seen::default());
    let mut world = World::new(&mut dice);
    let broker = Rc::new(RefCell::new(Broker::new(&world::topics(), world::begin())));
    broker.borrow_mut().bug = bug;
    let mut instances = [Instance::new(0, &broker, policies), Instance::new(1, &broker, policies)];
    for _ in 0..STEPS {
        match dice.below(400) {
            0 | 1 | 399 => instances[dice.below(2) as usize].crash(&mut seen),
            3 => misfortune(&broker, &mut instances, &mut dice),
            2 => broker.borrow_mut().owner = dice.below(2) as usize,
            4..150 => world.turn(&mut broker.borrow_mut(), &mut dice),
            _ => instances[dice.below(2) as usize].step(&mut dice, &foundry, true, &mut seen),
        }
    }
    heal(&broker, &mut instances[0], &foundry, &mut dice, &mut seen);
    campaigns::count(&broker.borrow(), &mut seen);
    campaigns::cleared_ones_are_taken_back(&broker.borrow());
    (seen, check::everything(&broker, policies, &foundry))
}

/// A journal that is too short, a bad disk, a new machine, inputs that are gone.
fn misfortune(broker: &RefCell<Broker>, instances: &mut [Instance; 2], dice: &mut Dice) {
    let which = dice.below(2) as usize;
    match dice.below(8) {
        0 => {
            let end = broker.borrow().log(Topic::Journal, 0).end;
            broker.borrow_mut().trim((Topic::Journal, 0), end - dice.below(30) as i64);
        }
        1 => instances[which].disk = Disk::default(),
        2 | 3 => instances[which].disk.damage(),
        4 => {
            let place = (Topic::Interactions, dice.below(world::PARTITIONS as u64) as i32);
            let next = broker.borrow().committed.get(&place).copied().unwrap_or(0);
            broker.borrow_mut().trim(place, next - 20 + dice.below(40) as i64);
        }
        _ => {}
    }
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
    let first = number("WEIR_SEED");
    let count = number("WEIR_SEEDS").unwrap_or(if first.is_some() { 1 } else { SEEDS });
    let seeds = first.unwrap_or(0)..first.unwrap_or(0) + count;
    let (policies, mut all) = (policies(), Seen::default());
    let mut checked = BTreeMap::<&str, u64>::new();
    for seed in seeds.clone() {
        let told = SeedNote(seed);
        let (seen, verdict) = run(seed, &policies, None);
        std::mem::forget(told);
        all.add(&seen);
        verdict.checked.iter().for_each(|(what, count)| *checked.entry(what).or_default() += count);
    }
    println!("{} seeds: {all:?}", seeds.end - seeds.start);
    checked.iter().for_each(|(what, count)| println!("{count:>10}  {what}"));
    let one = seeds.end - seeds.start == 1;
    assert!(
        one || [all.crashes, all.aborts, all.unknown, all.fenced, all.restored, all.lost]
            .iter()
            .all(|seen| *seen > 0),
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
    let found = Bug::ALL.map(|bug| (bug, (0..SEEDS_A_BUG).find(|seed| is_caught(*seed, &policies, bug))));
    for (bug, seed) in found {
        let seeds = seed.unwrap_or_else(|| panic!("{bug:?} was not found in {SEEDS_A_BUG} seeds")) + 1;
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

/// A switch of these tests.
fn number(name: &str) -> Option<u64> {
    seed_from(name).and_then(|value| value.parse().ok())
}

#[expect(clippy::disallowed_methods, reason = "switches of this test, not of the program")]
fn seed_from(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
