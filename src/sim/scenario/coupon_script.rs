//! In one night a script puts in 400,000 claims of one coupon, among 6,000 people who want it, too.
//!
//! 4,000 new accounts, copies of two device images, behind 1,500 exits; each claims about a hundred times, in
//! stretches, as long as the night is. A claim works the first time. People claim once; one in six tries again when
//! no answer comes, and is told that it has the coupon.

use super::super::act::outbox::Object;
use super::super::act::worker::{Task, Worker};
use super::super::dice::Dice;
use super::super::event::Action;
use super::super::world::names::Habit;
use super::super::world::people::Way;
use super::super::world::rhythm::pause;
use super::super::world::{HOUR, MINUTE, SECOND};
use super::pace::{quotas, rush};
use super::recruit::{Devices, Exits, FRESH, Order, recruit, way};
use super::setting::Setting;

pub(super) const ABOUT: &str = "400,000 claims of one coupon in a night, among 6,000 people who want it, too";

const ACCOUNTS: u32 = 4_000;
const EXITS: u32 = 1_500;
const CLAIMS: u32 = 400_000;
const CLAIMANTS: u32 = 6_000;
const COUPON: u64 = 0x00c0_ffee;
const ORDER: Order =
    Order { devices: Devices::Copies { images: 2, least: 0, most: 2 }, names: Habit::Bulk, ..FRESH };

pub(super) fn plan(setting: &mut Setting) {
    setting.background(20_000, 19.0, 12 * HOUR);
    claimants(setting);
    let start = setting.moment(0.25);
    let truth = setting.gang("coupon-script", Vec::new());
    let n = setting.sized(ACCOUNTS);
    let accounts = recruit(setting, truth, n, &ORDER);
    let exits: Vec<Way> = {
        let exits = setting.sized(EXITS);
        let (people, dice) = setting.people_and_dice();
        (0..exits).map(|_| way(Exits::World, people, dice)).collect()
    };
    let claims = quotas(setting.sized(CLAIMS), n, &mut setting.dice);
    for (account, claims) in accounts.zip(claims) {
        let one = *setting.dice.pick(&exits);
        setting.world_mut().people.members[account as usize].ways = [one, one];
        let tasks = claim(claims, start, &mut setting.dice);
        setting.script(Worker::new(account, tasks));
    }
}

/// An account's claims: some stretches of a quarter of an hour or more, spread over eight hours.
fn claim(n: u32, start: i64, dice: &mut Dice) -> Vec<Task> {
    let sittings = dice.between(2, 6);
    let mut times: Vec<i64> = Vec::new();
    for share in quotas(n, sittings, dice) {
        let length = 15 * MINUTE + dice.below_i64(40 * MINUTE);
        let begin = start + dice.below_i64(8 * HOUR - length);
        times.extend((0..share).map(|_| begin + dice.below_i64(length)));
    }
    times.sort_unstable();
    times.iter().enumerate().map(|(n, at)| one(*at, n == 0)).collect()
}

fn one(at: i64, success: bool) -> Task {
    let task = Task::new(at, Action::CouponClaim, Object::Nothing);
    Task { success: Some(success), detail: Some(COUPON), ..task }
}

/// People who heard of the coupon: most before the night and in the first hours of it.
fn claimants(setting: &mut Setting) {
    let from = setting.moment(0.1);
    let people = setting.world().people.settled;
    let mut all: Vec<u32> = (0..people).collect();
    setting.dice.shuffle(&mut all);
    let n = setting.sized(CLAIMANTS).min(people);
    for account in all.into_iter().take(n as usize) {
        let dice = &mut setting.dice;
        let mut at = from + rush(HOUR / 2, 3 * HOUR, dice);
        let mut tasks = vec![one(at, true)];
        while tasks.len() < 4 && dice.chance(0.17) {
            at += SECOND + pause(dice, 12.0);
            tasks.push(one(at, false));
        }
        let born = setting.world().people.members[account as usize].created_at;
        tasks.retain(|task| task.at > born);
        setting.work(account, tasks);
    }
}
