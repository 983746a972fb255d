//! An upgrade and a way back: state and journals of another version of weir are not continued, they are begun anew.

use std::cell::RefCell;
use std::rc::Rc;

use weir::pipeline::{Foundry, Start, start};
use weir::stream::Topic;

use crate::broker::Broker;
use crate::dice::Dice;
use crate::instance::{Instance, Seen};
use crate::logs::MemoryLogs;
use crate::world::World;
use crate::{check, foundry, heal, policies, world};

/// Runs one version for a while, crashes it, and returns how often state began anew.
fn run(
    instances: &mut [Instance; 2],
    broker: &Rc<RefCell<Broker>>,
    world: &mut World,
    version: &Foundry,
    dice: &mut Dice,
) -> Seen {
    let mut seen = Seen::default();
    for _ in 0..300 {
        if dice.one_in(2) {
            world.turn(&mut broker.borrow_mut(), dice);
        } else {
            instances[0].step(dice, version, false, &mut seen);
        }
    }
    heal(broker, &mut instances[0], version, dice, &mut seen);
    instances[0].crash(&mut seen);
    seen
}

#[test]
fn another_version_begins_anew_in_words_and_so_does_the_old_one_after_it() {
    let policies = policies();
    let broker = Rc::new(RefCell::new(Broker::new(&world::topics(), world::begin())));
    let mut instances = [Instance::new(0, &broker, &policies), Instance::new(1, &broker, &policies)];
    let (mut world, mut dice) = (World::default(), Dice::new(83));
    let (old, new) = (foundry(), Foundry { basis: "of another version".to_owned(), ..foundry() });
    for version in [&old, &new, &old] {
        let mut logs = MemoryLogs { broker: Rc::clone(&broker), policies: policies.clone(), whole: false };
        let is_first = broker.borrow().log(Topic::Journal, 0).records.is_empty();
        let from = start(version, &mut logs, Some(&mut instances[0].disk)).expect("the logs can be read");
        match (is_first, from) {
            (true, Start::Anew(why)) => assert_eq!(why, "the journal is empty"),
            // What it had made itself it may follow, up to where the other version began.
            (false, Start::Follow(follower)) if version.basis == old.basis => {
                assert_eq!(follower.replica.line.basis, old.basis);
            }
            (false, Start::Anew(why)) => assert!(why.contains("made by another version"), "{why}"),
            (_, Start::Follow(follower)) => panic!("{} is continued", follower.replica.line),
        }
        let seen = run(&mut instances, &broker, &mut world, version, &mut dice);
        assert_eq!((seen.resets, seen.checkpoints > 0), (1, true), "{seen:?}");
    }
    let verdict = check::topics(&broker, &policies, &old);
    assert_eq!((verdict.checked["resets"], verdict.is_clean()), (3, true), "{verdict}");
}
