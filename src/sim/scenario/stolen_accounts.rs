//! 800 old accounts of honest people wake up in other hands.
//!
//! Somebody logs in (one time in six after a failure) from a rented exit with a device of its own, within three
//! hours, and writes a message with the same link to a few people, likes one article and follows its owner. Two in
//! three were not seen before; the others had been here in the hours before. From the takeover on the owner is gone.

use super::super::act::Kit;
use super::super::act::outbox::Object;
use super::super::act::worker::Task;
use super::super::event::Action;
use super::super::world::articles::Article;
use super::super::world::people::{People, Way};
use super::super::world::rhythm::pause;
use super::super::world::{DAY, HOUR};
use super::crowd::{any_way, on, own, settle};
use super::setting::Setting;

pub(super) const ABOUT: &str =
    "800 old accounts wake up in other hands: likes, follows and messages with one link";

const ACCOUNTS: u32 = 800;
const DORMANT: f64 = 0.66;
/// Texts with the link.
const TEXTS: u64 = 12;

pub(super) fn plan(setting: &mut Setting) {
    setting.background(20_000, 11.0, 8 * HOUR);
    let start = setting.about(0.4);
    let article = setting.ordinary(start, 4);
    let truth = setting.gang("stolen-accounts", on(article));
    let n = setting.sized(ACCOUNTS);
    let dormant = (f64::from(n) * DORMANT) as u32;
    let epoch = setting.stretch().start;
    let old = move |_: &mut People, dice: &mut _| epoch - (People::old_age(dice) * DAY as f64) as i64;
    let mut accounts: Vec<u32> = settle(setting, dormant, &old, &own, &any_way).collect();
    accounts.extend(awake(setting, n - dormant, start));
    for account in accounts {
        let at = start + setting.dice.below_i64(3 * HOUR);
        let member = &mut setting.world_mut().people.members[account as usize];
        (member.truth, member.from) = (truth, at);
        setting.enlist(truth, 1);
        take_over(setting, account, article, at);
    }
}

/// Accounts of the background that are old, no two alike.
fn awake(setting: &mut Setting, n: u32, start: i64) -> Vec<u32> {
    let old: Vec<u32> = (0..setting.world().people.settled)
        .filter(|at| start - setting.world().people.members[*at as usize].created_at > 90 * DAY)
        .collect();
    let mut some = old;
    setting.dice.shuffle(&mut some);
    some.truncate(n as usize);
    some
}

fn take_over(setting: &mut Setting, account: u32, article: Article, from: i64) {
    let owners = setting.world().people.settled;
    let (people, dice) = setting.people_and_dice();
    let way = Way::Fixed(people.lines.proxy(dice));
    let kit = Kit { devices: people.own(dice), ways: [way, way] };
    let (articles, dice) = setting.articles_and_dice();
    let mut at = from;
    let mut tasks = Vec::new();
    for success in if dice.chance(0.17) { &[false, true][..] } else { &[true][..] } {
        let detail = Some(super::super::act::person::password(account, *success, dice));
        let login = Task::new(at, Action::Login, Object::Nothing);
        tasks.push(Task { success: Some(*success), detail, ..login });
        at += pause(dice, 6.0);
    }
    tasks.push(Task::new(at, Action::Like, Object::Article(article)));
    if dice.chance(0.5) {
        at += pause(dice, 8.0);
        tasks.push(Task::new(at, Action::Follow, Object::Account(articles.owner(article, owners))));
    }
    for _ in 0..dice.between(1, 8) {
        at += pause(dice, 20.0);
        let to = Object::Account(dice.below(owners));
        let text = Some(0x5000 + dice.bits() % TEXTS);
        tasks.push(Task { text, ..Task::new(at, Action::Message, to) });
    }
    setting.work_with(kit, account, tasks);
}
