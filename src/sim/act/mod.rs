//! Those who act, each in small steps: a step happens when its time has come, tells what is done then, and says when
//! to come again.
//!
//! A [`person::Person`] lives by chance; a [`worker::Worker`] has a list of tasks. Both tell what they do to the
//! [`outbox::Outbox`], which gives every record its number and its delay, whoever acts.

pub(in crate::sim) mod outbox;
pub(in crate::sim) mod person;
pub(in crate::sim) mod worker;

use std::net::IpAddr;

use super::dice::Dice;
use super::world::World;
use outbox::Outbox;

/// What a step works with.
pub(in crate::sim) struct Stage<'a> {
    pub(in crate::sim) world: &'a World,
    pub(in crate::sim) dice: &'a mut Dice,
    pub(in crate::sim) out: &'a mut Outbox,
}

/// An account that is here: from one device and address, until it leaves.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Sitting {
    pub(in crate::sim) account: u32,
    pub(in crate::sim) device: u32,
    pub(in crate::sim) ip: IpAddr,
    pub(in crate::sim) session: u64,
}

impl Sitting {
    /// An account comes by: with its second device and by its second way in two of five visits.
    pub(in crate::sim) fn begin(account: u32, stage: &mut Stage<'_>) -> Self {
        let member = &stage.world.people.members[account as usize];
        let device = member.devices[usize::from(stage.dice.chance(0.4))];
        let way = member.ways[usize::from(stage.dice.chance(0.4))];
        let ip = stage.world.people.seen(way, stage.dice);
        Self { account, device, ip, session: stage.dice.bits() & 0xffff_ffff_ffff }
    }
}

/// Whoever acts.
pub(in crate::sim) enum Actor {
    /// An honest person.
    Person(Box<person::Person>),
    /// Somebody with a list.
    Worker(Box<worker::Worker>),
}

impl Actor {
    /// What happens at `at`; when to come again, if ever.
    pub(in crate::sim) fn step(&mut self, at: i64, stage: &mut Stage<'_>) -> Option<i64> {
        match self {
            Actor::Person(person) => person.step(at, stage),
            Actor::Worker(worker) => worker.step(at, stage),
        }
    }
}
