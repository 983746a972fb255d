//! What happens on any day: articles that do well by themselves, circles of friends who share them, and people who let
//! a program post for them.
//!
//! All three look like something bad: crowds, groups that act together again and again, and regular times. Public
//! sharing streams have all of them (the CooRTweet sets hold page networks that post within seconds). How many there
//! are is a choice.

use super::super::act::outbox::Object;
use super::super::act::person::text;
use super::super::act::worker::{Task, Worker};
use super::super::dice::Dice;
use super::super::event::Action;
use super::super::world::articles::{Article, Trend};
use super::super::world::rhythm::{next, pause};
use super::super::world::{DAY, HOUR, MINUTE, SECOND};
use super::setting::Setting;

/// One circle for so many accounts.
const A_CIRCLE: u32 = 150;
/// A circle's size beyond four: scale and shape.
const BEYOND: (f64, f64) = (10.0, 2.2);
/// One account in so many lets a program post.
const A_SCHEDULE: u32 = 500;

/// Articles that do well by themselves: about one an hour, each for an hour or some.
pub(super) fn weather(setting: &mut Setting, dice: &mut Dice) {
    let stretch = setting.stretch();
    let mut at = stretch.start - 2 * HOUR;
    loop {
        at = next(dice, at, HOUR as f64);
        if at >= stretch.end {
            return;
        }
        let article = setting.world().articles.ordinary(at, 1, dice);
        let rise = 2 * MINUTE + dice.below_i64(20 * MINUTE);
        let decay = 15 * MINUTE + dice.below_i64(2 * HOUR);
        let share = dice.lognormal(0.03, 0.8).min(0.3);
        let new = (share * (1.0 + 3.0 * dice.unit())).min(0.6);
        setting.trend(Trend { article, from: at, rise, decay, share: (new, share) });
    }
}

/// Friends, fans of one author, a club: when one shares an article, many of the others come within minutes.
pub(super) fn circles(setting: &mut Setting, dice: &mut Dice) {
    let accounts = setting.world().people.settled;
    let stretch = setting.stretch();
    for _ in 0..accounts / A_CIRCLE {
        let size = 4 + (dice.lomax(BEYOND.0, BEYOND.1) as u32).min(120);
        let members: Vec<u32> = (0..size).map(|_| dice.below(accounts)).collect();
        let (zeal, spread) = (0.2 + 0.5 * dice.unit(), dice.lognormal(360.0, 0.9));
        let fans = dice.chance(0.5);
        let mut lists: Vec<Vec<Task>> = vec![Vec::new(); members.len()];
        let mut last: Option<Article> = None;
        let mut at = stretch.start - HOUR;
        loop {
            at = next(dice, at, 14.0 * HOUR as f64);
            if at >= stretch.end {
                break;
            }
            let articles = &setting.world().articles;
            let article = match last.filter(|_| fans) {
                Some(last) => articles.neighbour(last, at, dice),
                None => articles.ordinary(at, 0, dice),
            };
            last = Some(article);
            for list in &mut lists {
                if dice.chance(zeal) {
                    let at = at + (dice.lognormal(spread, 1.0) * SECOND as f64) as i64;
                    list.extend(
                        look_in(article, at, dice).into_iter().filter(|task| task.at > stretch.start),
                    );
                }
            }
        }
        for (account, list) in members.into_iter().zip(lists) {
            let created_at = setting.world().people.members[account as usize].created_at;
            let list: Vec<Task> = list.into_iter().filter(|task| task.at > created_at + MINUTE).collect();
            setting.script(Worker::new(account, list));
        }
    }
}

/// Somebody opens an article, likes it, and perhaps says something.
pub(super) fn look_in(article: Article, at: i64, dice: &mut Dice) -> Vec<Task> {
    let object = Object::Article(article);
    let mut tasks = Vec::with_capacity(3);
    if dice.chance(0.8) {
        tasks.push(Task::new(at - pause(dice, 12.0).min(MINUTE), Action::View, object));
    }
    tasks.push(Task::new(at, Action::Like, object));
    match dice.unit() {
        ..0.12 => {
            let comment = Task::new(at + pause(dice, 30.0), Action::Comment, object);
            tasks.push(Task { text: Some(text(dice)), ..comment });
        }
        ..0.18 => tasks.push(Task::new(at + pause(dice, 15.0), Action::Share, object)),
        ..0.19 => tasks.push(Task::new(at + pause(dice, 6.0), Action::Unlike, object)),
        _ => {}
    }
    tasks
}

/// People whose program shares something every so many minutes, to the second.
pub(super) fn schedules(setting: &mut Setting, dice: &mut Dice) {
    let accounts = setting.world().people.settled;
    let stretch = setting.stretch();
    for _ in 0..accounts / A_SCHEDULE {
        let account = dice.below(accounts);
        let every = i64::from(*dice.pick(&[15_u32, 20, 30, 60, 120])) * MINUTE;
        let most = if stretch.length() > DAY { 40 } else { 100 };
        let mut at = stretch.start + dice.below_i64(every);
        let mut tasks = Vec::new();
        let created_at = setting.world().people.members[account as usize].created_at;
        while at < stretch.end && tasks.len() < most {
            let article = setting.world().articles.any(at, dice);
            let late = dice.below_i64(3 * SECOND);
            if at > created_at {
                tasks.push(Task::new(at + late, Action::Share, Object::Article(article)));
            }
            at += every;
        }
        setting.script(Worker::new(account, tasks));
    }
}
