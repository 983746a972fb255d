//! What a scenario is planned on: it gathers the people, the actors and the truth, and gives them up when ready.
//!
//! The order of calls is part of a scenario: each draws from the same dice.

use super::super::act::Actor;
use super::super::act::outbox::Object;
use super::super::act::person::{Manners, Person};
use super::super::act::worker::{Task, Worker};
use super::super::dice::{Dice, Stream};
use super::super::event::Truth;
use super::super::world::articles::{Article, Articles, Trend};
use super::super::world::people::People;
use super::super::world::{DAY, HOUR, MINUTE, Stretch, World};

/// 2025-06-10T00:00:00Z, a Tuesday.
const EPOCH: i64 = 1_749_513_600_000;

/// A campaign as it is planned.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Gang {
    pub(in crate::sim) name: String,
    pub(in crate::sim) target: Object,
    pub(in crate::sim) accounts: u32,
}

/// See the module.
pub(in crate::sim) struct Setting {
    seed: u64,
    scale: f64,
    pub(in crate::sim) dice: Dice,
    world: Option<World>,
    cast: Vec<(i64, Actor)>,
    gangs: Vec<Gang>,
}

impl Setting {
    pub(in crate::sim) fn new(seed: u64, scale: f64) -> Self {
        let dice = Dice::new(seed, Stream::Scheme);
        Self { seed, scale, dice, world: None, cast: Vec::new(), gangs: Vec::new() }
    }

    /// `n` at scale 1, and at least one.
    pub(in crate::sim) fn sized(&self, n: u32) -> u32 {
        ((f64::from(n) * self.scale) as u32).max(1)
    }

    /// Ordinary traffic of `n` accounts (scaled) from `hour` o'clock on, for `length` milliseconds. The first call of
    /// every scenario.
    pub(in crate::sim) fn background(&mut self, n: u32, hour: f64, length: i64) {
        let start = EPOCH + (hour * HOUR as f64) as i64 + self.dice.below_i64(10 * MINUTE);
        let stretch = Stretch { start, end: start + length };
        let n = self.sized(n);
        let people = People::honest(n, self.seed, stretch);
        let articles = Articles::new(self.seed, start, n / 60);
        self.world = Some(World { seed: self.seed, stretch, people, articles, manners: Manners::new() });
        let mut dice = Dice::new(self.seed, Stream::Honest);
        for account in 0..n {
            let (person, at) = Person::new(self.world(), account, DAY as f64, &mut dice);
            self.cast.push((at, Actor::Person(Box::new(person))));
        }
        self.weather(&mut dice);
    }

    /// Articles that do well by themselves: about one an hour, each for an hour or some.
    fn weather(&mut self, dice: &mut Dice) {
        let stretch = self.stretch();
        let mut at = stretch.start - 2 * HOUR;
        loop {
            at += dice.exponential(HOUR as f64) as i64;
            if at >= stretch.end {
                return;
            }
            let article = self.articles().ordinary(at, 1, dice);
            let rise = 2 * MINUTE + dice.below_i64(20 * MINUTE);
            let decay = 15 * MINUTE + dice.below_i64(2 * HOUR);
            let share = dice.lognormal(0.03, 0.8).min(0.3);
            let new = (share * (1.0 + 3.0 * dice.unit())).min(0.6);
            self.trend(Trend { article, from: at, rise, decay, share: (new, share) });
        }
    }

    /// Somewhere in the time told, this share of the way from its start to its end.
    pub(in crate::sim) fn moment(&self, share: f64) -> i64 {
        let stretch = self.stretch();
        stretch.start + (stretch.length() as f64 * share) as i64
    }

    pub(in crate::sim) fn stretch(&self) -> Stretch {
        self.world().stretch
    }

    /// An article becomes known.
    pub(in crate::sim) fn trend(&mut self, trend: Trend) {
        self.world_mut().articles.trends.push(trend);
    }

    /// An ordinary article, published some hours before `at`.
    pub(in crate::sim) fn ordinary(&mut self, at: i64, hours: u32) -> Article {
        let (articles, dice) = self.articles_and_dice();
        articles.ordinary(at, hours, dice)
    }

    pub(in crate::sim) fn articles(&self) -> &Articles {
        &self.world().articles
    }

    /// A campaign; its number is its index.
    pub(in crate::sim) fn gang(&mut self, name: impl Into<String>, target: Object) -> Truth {
        self.gangs.push(Gang { name: name.into(), target, accounts: 0 });
        Truth::Attacker { campaign: (self.gangs.len() - 1) as u32 }
    }

    /// Counts one more account to a campaign.
    pub(in crate::sim) fn enlist(&mut self, truth: Truth) {
        if let Truth::Attacker { campaign } = truth
            && let Some(gang) = self.gangs.get_mut(campaign as usize)
        {
            gang.accounts += 1;
        }
    }

    /// Gives an account a list.
    pub(in crate::sim) fn work(&mut self, account: u32, tasks: Vec<Task>) {
        let worker = Worker::new(account, tasks);
        if let Some(at) = worker.first() {
            self.cast.push((at, Actor::Worker(Box::new(worker))));
        }
    }

    /// Somebody who comes at `at`.
    pub(in crate::sim) fn come(&mut self, at: i64, person: Person) {
        self.cast.push((at, Actor::Person(Box::new(person))));
    }

    pub(in crate::sim) fn world(&self) -> &World {
        self.world.as_ref().expect("every scenario begins with its background")
    }

    pub(in crate::sim) fn world_mut(&mut self) -> &mut World {
        self.world.as_mut().expect("every scenario begins with its background")
    }

    /// People and dice at once, for those who are recruited.
    pub(in crate::sim) fn people_and_dice(&mut self) -> (&mut People, &mut Dice) {
        let world = self.world.as_mut().expect("every scenario begins with its background");
        (&mut world.people, &mut self.dice)
    }

    /// Articles and dice at once, for what is planned.
    pub(in crate::sim) fn articles_and_dice(&mut self) -> (&Articles, &mut Dice) {
        let world = self.world.as_ref().expect("every scenario begins with its background");
        (&world.articles, &mut self.dice)
    }

    /// Everything, planned.
    pub(in crate::sim) fn ready(mut self) -> (World, Vec<(i64, Actor)>, Vec<Gang>) {
        let world = self.world.take().expect("every scenario begins with its background");
        (world, self.cast, self.gangs)
    }
}
