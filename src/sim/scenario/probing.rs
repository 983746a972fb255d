//! Two probes: 40 accounts guess coupon codes, and 30 walk through the profiles of everybody.
//!
//! The guessers put in 150 codes each over three hours, of which one in 500 works. The walkers open 500 profiles
//! each, one every few seconds, as many different ones as they can. Accounts are some days to some months old, each on
//! an exit and device of its own.

use super::super::act::outbox::Object;
use super::super::act::worker::{Task, Worker};
use super::super::dice::Dice;
use super::super::event::Action;
use super::super::world::names::Habit;
use super::super::world::rhythm::pause;
use super::super::world::{HOUR, MINUTE};
use super::recruit::{Bulk, Devices, Exits, Order, recruit};
use super::setting::Setting;

pub(super) const ABOUT: &str = "40 accounts guess coupon codes, 30 walk through the profiles of everybody";

const GUESSERS: u32 = 40;
const GUESSES: u32 = 150;
const WALKERS: u32 = 30;
const PROFILES: u32 = 500;
const ORDER: Order = Order {
    bulk: (1.0, Bulk { batches: 20, oldest: 90.0, youngest: 1.0 }),
    devices: Devices::Own,
    exits: Exits::World,
    names: Habit::Ordinary,
    used: 0.2,
};

pub(super) fn plan(setting: &mut Setting) {
    setting.background(15_000, 12.0, 6 * HOUR);
    let start = setting.about(0.3);
    let guessing = setting.gang("coupon-guessing", Vec::new());
    let n = setting.sized(GUESSERS);
    for account in recruit(setting, guessing, n, &ORDER) {
        let tasks = guesses(start, &mut setting.dice);
        setting.script(Worker::new(account, tasks));
    }
    let walking = setting.gang("profile-walk", Vec::new());
    let n = setting.sized(WALKERS);
    let everybody = setting.world().people.settled;
    for account in recruit(setting, walking, n, &ORDER) {
        let tasks = walk(everybody, start, &mut setting.dice);
        setting.script(Worker::new(account, tasks));
    }
}

fn guesses(start: i64, dice: &mut Dice) -> Vec<Task> {
    let guess = |_| {
        let at = start + dice.below_i64(3 * HOUR);
        let success = Some(dice.chance(0.002));
        let detail = Some(dice.bits() | 1 << 40);
        Task { success, detail, ..Task::new(at, Action::CouponClaim, Object::Nothing) }
    };
    (0..GUESSES).map(guess).collect()
}

fn walk(everybody: u32, start: i64, dice: &mut Dice) -> Vec<Task> {
    let mut at = start + dice.below_i64(30 * MINUTE);
    let view = |_| {
        at += pause(dice, 8.0);
        Task::new(at, Action::View, Object::Account(dice.below(everybody)))
    };
    (0..PROFILES).map(view).collect()
}
