//! Somebody sends forged events in the names of 30 others, to get them banned.
//!
//! Each victim, an account of at least two months that is here today, is credited with 100 to 400 likes on one
//! article and comments with one text, one every two to four seconds, from exits and devices that are not theirs. The victims go
//! on as usual, before and after. They are honest; the forged events are the attack, and every one is labelled.

use super::super::act::outbox::Object;
use super::super::act::worker::{Task, Worker};
use super::super::dice::Dice;
use super::super::event::Action;
use super::super::world::articles::Article;
use super::super::world::names::Habit;
use super::super::world::{DAY, HOUR, SECOND};
use super::recruit::{Bulk, Devices, Exits, Order, recruit};
use super::setting::Setting;

pub(super) const ABOUT: &str =
    "forged likes and comments in the names of 30 honest people, to get them banned";

const VICTIMS: u32 = 30;
const ORDER: Order = Order {
    bulk: (0.0, Bulk { batches: 1, oldest: 2.0, youngest: 1.0 }),
    devices: Devices::Own,
    exits: Exits::World,
    names: Habit::Ordinary,
    used: 0.0,
};

pub(super) fn plan(setting: &mut Setting) {
    setting.background(15_000, 12.0, 6 * HOUR);
    let start = setting.about(0.35);
    let truth = setting.gang("framing", Vec::new());
    let n = setting.sized(VICTIMS);
    let victims = victims(setting, n);
    let forgers: Vec<u32> = recruit(setting, truth, n, &ORDER).collect();
    for (forger, victim) in forgers.into_iter().zip(victims) {
        // The owner is about, too: once more than chance would have it.
        setting.live_on(victim..victim + 1);
        let article = setting.ordinary(start, 5);
        let at = start + setting.dice.below_i64(2 * HOUR);
        let tasks = forged(victim, article, at, &mut setting.dice);
        setting.script(Worker::new(forger, tasks));
    }
}

fn victims(setting: &mut Setting, n: u32) -> Vec<u32> {
    let people = &setting.world().people;
    let start = setting.stretch().start;
    let old = |at: &u32| start - people.members[*at as usize].created_at > 60 * DAY;
    let mut all: Vec<u32> = (0..people.settled).filter(old).collect();
    setting.dice.shuffle(&mut all);
    all.truncate(n as usize);
    all
}

fn forged(victim: u32, article: Article, mut at: i64, dice: &mut Dice) -> Vec<Task> {
    let text = 0x7000 + dice.bits() % 1000;
    let n = dice.between(100, 400);
    let mut tasks = Vec::with_capacity(n as usize);
    for _ in 0..n {
        at += 2 * SECOND + dice.below_i64(2 * SECOND);
        let comment = dice.chance(0.15);
        let action = if comment { Action::Comment } else { Action::Like };
        let task = Task::new(at, action, Object::Article(article));
        tasks.push(Task { text: comment.then_some(text), name: Some(victim), ..task });
    }
    tasks
}
