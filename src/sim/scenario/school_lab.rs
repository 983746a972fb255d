//! A school: 300 computers of one image behind one exit, on which classes register and like their lesson.
//!
//! Six lessons of ten classes; in each class some 28 pupils, of whom two in three register in the first minutes and
//! all then like and comment on the article that the teacher names. Computers go from hand to hand. Everything that
//! makes a bought crowd is here, but for the exits.

use super::super::act::outbox::Object;
use super::super::act::worker::Task;
use super::super::event::Action;
use super::super::world::articles::Article;
use super::super::world::network::Class;
use super::super::world::people::Way;
use super::super::world::rhythm::pause;
use super::super::world::{DAY, HOUR, MINUTE};
use super::background::look_in;
use super::crowd::settle;
use super::setting::Setting;

pub(super) const ABOUT: &str =
    "honest: classes register and like their lesson on 300 equal computers behind one exit";

const COMPUTERS: u32 = 300;
const LESSONS: u32 = 6;
const CLASSES: u32 = 10;
const PUPILS: u32 = 28;

pub(super) fn plan(setting: &mut Setting) {
    setting.background(20_000, 6.0, 8 * HOUR);
    let (people, dice) = setting.people_and_dice();
    let exit = Way::Fixed(people.lines.v4(Class::Organisation));
    let (model, locale) = (people.maker.desktop_model(dice), people.maker.locale(dice));
    let image = people.maker.make(dice, model, locale);
    let computers = (0..COMPUTERS)
        .map(|_| {
            let copy = people.maker.copy(dice, &image);
            people.device(copy)
        })
        .collect::<Vec<u32>>();
    for lesson in 0..LESSONS {
        let bell = setting.moment(0.2) + i64::from(lesson) * 55 * MINUTE;
        for _ in 0..setting.sized(CLASSES) {
            let article = setting.ordinary(bell, 0);
            for _ in 0..PUPILS {
                pupil(setting, &computers, exit, article, bell);
            }
        }
    }
}

fn pupil(setting: &mut Setting, computers: &[u32], exit: Way, article: Article, bell: i64) {
    let at = bell + 2 * MINUTE + setting.dice.below_i64(6 * MINUTE);
    let registers = setting.dice.chance(0.66);
    let born = if registers { at } else { bell - setting.dice.below_i64(200 * DAY) - 2 * HOUR };
    let computer = *setting.dice.pick(computers);
    let account = settle(setting, 1, &|_, _| born, &|_, _| [computer, computer], &|_, _| [exit, exit]).start;
    let dice = &mut setting.dice;
    let mut tasks = Vec::new();
    if registers {
        tasks.push(Task::new(at, Action::SignUp, Object::Nothing));
    }
    let then = at + MINUTE + pause(dice, 60.0).min(8 * MINUTE);
    tasks.extend(look_in(article, then, dice));
    setting.work(account, tasks);
    if setting.dice.chance(0.5) {
        // In the afternoon some come again, from the computer at the neighbouring desk or their own phone.
        let article = setting.ordinary(then, 3);
        let later = then + 10 * MINUTE + setting.dice.below_i64(25 * MINUTE);
        let tasks = look_in(article, later, &mut setting.dice);
        setting.work(account, tasks);
    }
}
