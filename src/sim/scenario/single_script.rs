//! Twelve people each let a script like, follow or comment for them, on whatever is there, at an even pace.
//!
//! One account, one device, one address each: one act every two to ten seconds for half an hour to two hours. Four
//! of the devices admit that a program drives them. Nothing ties one to the other.

use super::super::act::outbox::Object;
use super::super::act::worker::{Task, Worker};
use super::super::event::Action;
use super::super::world::names::Habit;
use super::super::world::{HOUR, MINUTE, SECOND};
use super::recruit::{Bulk, Devices, Exits, Order, recruit};
use super::setting::Setting;

pub(super) const ABOUT: &str = "twelve accounts, each driven by a script at an even pace, tied to nothing";

const SCRIPTS: u32 = 12;
const ORDER: Order = Order {
    bulk: (0.4, Bulk { batches: 12, oldest: 30.0, youngest: 1.0 }),
    devices: Devices::Own,
    exits: Exits::Ordinary,
    names: Habit::Ordinary,
    used: 0.5,
};

pub(super) fn plan(setting: &mut Setting) {
    setting.background(15_000, 13.0, 5 * HOUR);
    for script in 0..setting.sized(SCRIPTS) {
        let truth = setting.gang(format!("script-{}", script + 1), Vec::new());
        let account = recruit(setting, truth, 1, &ORDER).start;
        let people = &mut setting.world_mut().people;
        if script % 3 == 0 {
            let device = people.members[account as usize].devices[0];
            people.automated.insert(device);
        }
        let action = [Action::Like, Action::Follow, Action::Like, Action::Comment][script as usize % 4];
        let tasks = even(setting, action);
        setting.script(Worker::new(account, tasks));
    }
}

fn even(setting: &mut Setting, action: Action) -> Vec<Task> {
    let owners = setting.world().people.settled;
    let begin = setting.moment(0.3) + setting.dice.below_i64(HOUR);
    let (articles, dice) = setting.articles_and_dice();
    let pace = 2 * SECOND + dice.below_i64(8 * SECOND);
    let length = 30 * MINUTE + dice.below_i64(90 * MINUTE);
    let texts = 1 + dice.bits() % 5;
    (0..length / pace)
        .map(|n| {
            let at = begin + n * pace + dice.below_i64(pace / 8);
            let article = articles.any(at, dice);
            let object = match action {
                Action::Follow => Object::Account(articles.owner(article, owners)),
                _ => Object::Article(article),
            };
            let text = (action == Action::Comment).then(|| 0x6000 + dice.bits() % texts);
            Task { text, ..Task::new(at, action, object) }
        })
        .collect()
}
