//! What accounts do that like one article once, and something else besides, so as to look like people.

use std::ops::Range;

use super::super::act::outbox::Object;
use super::super::act::person::text;
use super::super::act::worker::Task;
use super::super::dice::Dice;
use super::super::event::Action;
use super::super::world::articles::{Article, Articles};
use super::super::world::rhythm::pause;
use super::super::world::{MINUTE, SECOND};
use super::setting::Setting;

/// Acts besides the like, by weight: views, likes, follows, comments.
const BESIDES: [Action; 10] = [
    Action::View,
    Action::View,
    Action::View,
    Action::View,
    Action::View,
    Action::Like,
    Action::Like,
    Action::Like,
    Action::Follow,
    Action::Comment,
];

/// One like on the article by each, at a time of its own, among `least` to `most` innocuous acts.
pub(super) fn each_once(
    setting: &mut Setting,
    accounts: Range<u32>,
    article: Article,
    (least, most): (u32, u32),
    when: impl Fn(&mut Dice) -> i64,
) {
    let owners = setting.world().people.settled;
    for account in accounts {
        let (articles, dice) = setting.articles_and_dice();
        let at = when(dice);
        let besides = dice.between(least, most);
        let before = dice.below(besides + 1);
        let mut tasks = vec![Task::new(at, Action::Like, Object::Article(article))];
        let mut then = at;
        for _ in 0..before {
            then -= pause(dice, 15.0).min(3 * MINUTE);
            tasks.push(innocuous(articles, owners, then, dice));
        }
        then = at;
        for _ in before..besides {
            then += pause(dice, 15.0).min(3 * MINUTE) + SECOND;
            tasks.push(innocuous(articles, owners, then, dice));
        }
        setting.work(account, tasks);
    }
}

/// Something that anybody might do.
pub(super) fn innocuous(articles: &Articles, owners: u32, at: i64, dice: &mut Dice) -> Task {
    let action = *dice.pick(&BESIDES);
    let article = articles.any(at, dice);
    let object = match action {
        Action::Follow => Object::Account(articles.owner(article, owners)),
        _ => Object::Article(article),
    };
    let task = Task::new(at, action, object);
    Task { text: (action == Action::Comment).then(|| text(dice)), ..task }
}
