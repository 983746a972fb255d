//! Honest people whom a place or an occasion brings together.

use std::ops::Range;

use super::super::act::outbox::Object;
use super::super::act::person::Person;
use super::super::dice::Dice;
use super::super::world::articles::{Article, Trend};
use super::super::world::people::{People, Way};
use super::super::world::{DAY, MINUTE};
use super::background::look_in;
use super::setting::Setting;

/// Draws something for one person after the other.
pub(super) type Draw<'a, T> = &'a dyn Fn(&mut People, &mut Dice) -> T;

/// `n` honest accounts: when registered, with what devices, by which ways.
pub(super) fn settle(
    setting: &mut Setting,
    n: u32,
    born: Draw<'_, i64>,
    devices: Draw<'_, [u32; 2]>,
    ways: Draw<'_, [Way; 2]>,
) -> Range<u32> {
    let (people, dice) = setting.people_and_dice();
    let first = people.members.len() as u32;
    for _ in 0..n {
        let (created_at, devices) = (born(people, dice), devices(people, dice));
        let ways = ways(people, dice);
        people.person(created_at, devices, ways, dice);
    }
    first..first + n
}

/// Registered when honest people are.
pub(super) fn any_age(people: &mut People, dice: &mut Dice) -> i64 {
    people.honest_birth(dice)
}

/// A device or two of one's own.
pub(super) fn own(people: &mut People, dice: &mut Dice) -> [u32; 2] {
    people.own(dice)
}

/// Ways in as in the background: those of somebody there.
pub(super) fn any_way(people: &mut People, dice: &mut Dice) -> [Way; 2] {
    let somebody = dice.below(people.settled) as usize;
    people.members[somebody].ways
}

/// A way of one's own: half at home, half on a carrier that somebody of the background uses.
pub(super) fn own_way(people: &mut People, dice: &mut Dice) -> [Way; 2] {
    use super::super::world::network::Class;
    let home = match dice.unit() {
        ..0.3 => Way::Fixed(people.lines.v6(Class::Home)),
        ..0.5 => Way::Daily(dice.bits()),
        ..0.75 => Way::Fixed(people.lines.v4(Class::Home)),
        _ => people.carrier(dice),
    };
    [home, if dice.chance(0.5) { people.carrier(dice) } else { home }]
}

/// People look in on an article, each at a time of its own.
pub(super) fn flock(
    setting: &mut Setting,
    people: impl IntoIterator<Item = u32>,
    article: Article,
    when: impl Fn(&mut Dice) -> i64,
) {
    for account in people {
        let at = when(&mut setting.dice);
        let tasks = look_in(article, at, &mut setting.dice);
        setting.work(account, tasks);
    }
}

/// `n` people register because of an article, each at a time of its own, and live on.
pub(super) fn drawn_in(setting: &mut Setting, n: u32, articles: &[Article], when: impl Fn(&mut Dice) -> i64) {
    for _ in 0..n {
        let at = when(&mut setting.dice);
        let account = settle(setting, 1, &|_, _| at, &own, &own_way).start;
        let lure = *setting.dice.pick(articles);
        let gap = DAY as f64 * setting.dice.lognormal(1.5, 1.0);
        let person = Person::lured(setting.world(), account, gap, lure);
        setting.come(at, person);
    }
}

/// What is pushed or shared widely is seen by others, too.
pub(super) fn visible(article: Article, from: i64) -> Trend {
    Trend { article, from, rise: 4 * MINUTE, decay: 40 * MINUTE, share: (0.03, 0.008) }
}

/// An article as an object.
pub(super) fn on(article: Article) -> Vec<Object> {
    vec![Object::Article(article)]
}
