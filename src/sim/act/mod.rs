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
use super::world::people::Way;
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

/// What an account can act from.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Kit {
    pub(in crate::sim) devices: [u32; 2],
    pub(in crate::sim) ways: [Way; 2],
}

impl Sitting {
    /// An account comes by: with its second device and by its second way in two of five visits.
    pub(in crate::sim) fn begin(account: u32, at: i64, stage: &mut Stage<'_>) -> Self {
        let member = &stage.world.people.members[account as usize];
        let kit = Kit { devices: member.devices, ways: member.ways };
        Self::with(kit, account, at, stage)
    }

    /// Somebody comes by as an account, with things that need not be its own.
    fn with(kit: Kit, account: u32, at: i64, stage: &mut Stage<'_>) -> Self {
        let device = kit.devices[usize::from(stage.dice.chance(0.4))];
        let way = kit.ways[usize::from(stage.dice.chance(0.4))];
        let ip = stage.world.people.seen(way, at, stage.dice);
        Self { account, device, ip, session: session(stage.dice) }
    }
}

/// A number for a session.
fn session(dice: &mut Dice) -> u64 {
    dice.bits() & 0xffff_ffff_ffff
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
