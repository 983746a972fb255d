//! Somebody tries passwords on 25,000 accounts of other people over two hours.
//!
//! 700 exits, some forty attempts each, devices as the market has them but with one browser image in three. Half of
//! the attempts are pairs from elsewhere (another password for each account), half are three common passwords tried on
//! everybody. One in 150 works. Most of the accounts have not been seen for long; a quarter is here today. The
//! accounts are honest: the attempts are the attack, and every one is labelled.

use super::super::act::outbox::Object;
use super::super::act::worker::{Task, Worker};
use super::super::event::Action;
use super::super::world::names::Habit;
use super::super::world::people::{People, Way};
use super::super::world::{DAY, HOUR};
use super::crowd::settle;
use super::recruit::{Bulk, Devices, Exits, Order, recruit};
use super::setting::Setting;

pub(super) const ABOUT: &str = "25,000 attempts to log in as other people, from 700 exits";

const ATTEMPTS: u32 = 25_000;
const EXITS: u32 = 700;
const SLEEPERS: u32 = 18_000;
const ORDER: Order = Order {
    bulk: (0.0, Bulk { batches: 1, oldest: 2.0, youngest: 1.0 }),
    devices: Devices::Own,
    exits: Exits::World,
    names: Habit::Ordinary,
    used: 0.0,
};

pub(super) fn plan(setting: &mut Setting) {
    setting.background(20_000, 8.0, 5 * HOUR);
    let start = setting.about(0.4);
    let truth = setting.gang("credential-stuffing", Vec::new());
    let epoch = setting.stretch().start;
    let old = move |_: &mut People, dice: &mut _| epoch - (People::old_age(dice) * DAY as f64) as i64;
    let nowhere = Way::Daily(0);
    let n = setting.sized(SLEEPERS);
    let sleepers = settle(setting, n, &old, &|_, _| [0, 0], &|_, _| [nowhere, nowhere]);
    let mut names: Vec<u32> = sleepers.collect();
    let here = setting.world().people.settled;
    names.extend((0..setting.sized(ATTEMPTS - SLEEPERS)).map(|_| setting.dice.below(here)));
    setting.dice.shuffle(&mut names);
    let exits = setting.sized(EXITS);
    let script: Vec<u32> = recruit(setting, truth, exits, &ORDER).collect();
    let each = names.len() / script.len() + 1;
    for (account, names) in script.into_iter().zip(names.chunks(each)) {
        let tasks = attempts(setting, names, start);
        setting.script(Worker::new(account, tasks));
    }
}

fn attempts(setting: &mut Setting, names: &[u32], start: i64) -> Vec<Task> {
    let members = &setting.world().people.members;
    let known: Vec<u32> =
        names.iter().copied().filter(|name| members[*name as usize].created_at < start).collect();
    let dice = &mut setting.dice;
    let attempt = |name: u32| {
        let at = start + dice.below_i64(2 * HOUR);
        let detail = if dice.chance(0.5) { u64::from(dice.below(3)) } else { dice.bits() | 1 << 32 };
        let success = Some(dice.chance(1.0 / 150.0));
        let login = Task::new(at, Action::Login, Object::Nothing);
        Task { success, detail: Some(detail), name: Some(name), ..login }
    };
    known.into_iter().map(attempt).collect()
}
