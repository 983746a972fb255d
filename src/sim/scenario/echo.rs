//! The founding incident: a bought crowd puts 40,000 likes on one ordinary article in ten minutes.
//!
//! 3,000 accounts, registered in bulk in the week before, one exit each, copies of one device with one or two
//! attributes changed, about 20 likes each of which 13.3 go to the article and the others hide them, at most ten likes
//! a minute from any address. Each account works for three to ten of the ten minutes at pauses like a person's. A
//! minute after the first likes honest people see the article too, because it has become visible.

use super::super::act::outbox::Object;
use super::super::act::worker::Task;
use super::super::event::Action;
use super::super::world::{HOUR, MINUTE};
use super::crowd::{on, visible};
use super::pace::{paced, quotas};
use super::recruit::{FRESH, recruit};
use super::setting::Setting;

pub(super) const ABOUT: &str =
    "the incident: 3,000 new accounts put 40,000 likes on one article in ten minutes";

const ACCOUNTS: u32 = 3_000;
const LIKES: u32 = 40_000;
const HIDING: u32 = 20_000;
const LENGTH: i64 = 10 * MINUTE;

pub(super) fn plan(setting: &mut Setting) {
    setting.background(20_000, 9.0, 3 * HOUR);
    let start = setting.about(0.55);
    let article = setting.ordinary(start, 5);
    setting.trend(visible(article, start + MINUTE));
    let truth = setting.gang("echo", on(article));
    let n = setting.sized(ACCOUNTS);
    let accounts = recruit(setting, truth, n, &FRESH);
    let pushed = quotas(setting.sized(LIKES), n, &mut setting.dice);
    let hiding = quotas(setting.sized(HIDING), n, &mut setting.dice);
    for (at, account) in accounts.enumerate() {
        let (articles, dice) = setting.articles_and_dice();
        let mut targets = vec![article; pushed[at] as usize];
        targets.extend((0..hiding[at]).map(|_| articles.any(start, dice)));
        dice.shuffle(&mut targets);
        let times = paced(targets.len(), LENGTH, dice);
        let like = |(at, target)| Task::new(start + at, Action::Like, Object::Article(target));
        let tasks = times.into_iter().zip(targets).map(like).collect();
        setting.work(account, tasks);
    }
}
