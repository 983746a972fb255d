//! What a scenario is planned on: it gathers the people, the actors and the truth, and gives them up when ready.
//!
//! The order of calls is part of a scenario: each draws from the same dice. The background draws apart, so that the
//! same seed brings the same honest people beside whatever attack.

use super::super::act::outbox::Object;
use super::super::act::person::{Manners, Person, password};
use super::super::act::worker::{Task, Worker};
use super::super::act::{Actor, Kit};
use super::super::dice::{Dice, Stream};
use super::super::event::{Action, Truth};
use super::super::world::articles::{Article, Articles, Trend};
use super::super::world::people::{People, Shape};
use super::super::world::{DAY, HOUR, MINUTE, SECOND, Stretch, World};
use super::background;

/// 2025-06-10T00:00:00Z, a Tuesday.
const EPOCH: i64 = 1_749_513_600_000;
/// Share of visits that begin with a login.
const LOGS_IN: f64 = 0.1;

/// A campaign as it is planned.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Gang {
    pub(in crate::sim) name: String,
    pub(in crate::sim) targets: Vec<Object>,
    pub(in crate::sim) accounts: u32,
}

impl Gang {
    /// Which of its targets stands in the label of an account: over the accounts, all of them do.
    pub(in crate::sim) fn target_of(&self, account: u32) -> Object {
        let at = account as usize % self.targets.len().max(1);
        self.targets.get(at).copied().unwrap_or(Object::Nothing)
    }
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
        ((f64::from(n) * self.scale).round() as u32).max(1)
    }

    /// Ordinary traffic of `n` accounts (scaled) from `hour` o'clock on, for `length` milliseconds. The first call of
    /// every scenario.
    pub(in crate::sim) fn background(&mut self, n: u32, hour: f64, length: i64) {
        self.background_of(n, hour, length, Shape::USUAL);
    }

    /// The same with people who differ from the usual ones.
    pub(in crate::sim) fn background_of(&mut self, n: u32, hour: f64, length: i64, shape: Shape) {
        let start = EPOCH + (hour * HOUR as f64) as i64 + self.dice.below_i64(10 * MINUTE);
        let stretch = Stretch { start, end: start + length };
        let n = self.sized(n);
        let people = People::honest(n, shape, self.seed, stretch);
        let articles = Articles::new(self.seed, start, n / 60);
        self.world = Some(World { seed: self.seed, stretch, people, articles, manners: Manners::new() });
        let mut dice = Dice::new(self.seed, Stream::Honest);
        self.live(0..n, &mut dice);
        background::weather(self, &mut dice);
        background::circles(self, &mut dice);
        background::schedules(self, &mut dice);
    }

    /// Gives accounts ordinary lives.
    pub(in crate::sim) fn live(&mut self, accounts: std::ops::Range<u32>, dice: &mut Dice) {
        for account in accounts {
            let (person, at) = Person::new(self.world(), account, DAY as f64, dice);
            self.come(at, person);
        }
    }

    /// The same, drawn from the scenario's dice.
    pub(in crate::sim) fn live_on(&mut self, accounts: std::ops::Range<u32>) {
        let mut dice = Dice::new(self.dice.bits(), Stream::Scheme);
        self.live(accounts, &mut dice);
    }

    /// Somewhere in the time told, this share of the way from its start to its end.
    pub(in crate::sim) fn moment(&self, share: f64) -> i64 {
        let stretch = self.stretch();
        stretch.start + (stretch.length() as f64 * share) as i64
    }

    /// A moment at this share of the time told or up to 20 minutes later.
    pub(in crate::sim) fn about(&mut self, share: f64) -> i64 {
        self.moment(share) + self.dice.below_i64(20 * MINUTE)
    }

    /// From when an account can act: a minute after its registration, or from the start.
    pub(in crate::sim) fn since(&self, account: u32) -> i64 {
        let created_at = self.world().people.members[account as usize].created_at;
        self.stretch().start.max(created_at + MINUTE)
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

    /// A campaign on these targets, if on any.
    pub(in crate::sim) fn gang(&mut self, name: impl Into<String>, targets: Vec<Object>) -> Truth {
        self.gangs.push(Gang { name: name.into(), targets, accounts: 0 });
        Truth::Attacker { campaign: (self.gangs.len() - 1) as u32 }
    }

    /// Counts more accounts to a campaign.
    pub(in crate::sim) fn enlist(&mut self, truth: Truth, accounts: u32) {
        if let Truth::Attacker { campaign } = truth
            && let Some(gang) = self.gangs.get_mut(campaign as usize)
        {
            gang.accounts += accounts;
        }
    }

    /// Gives an account a list; like anybody's, one visit in ten begins with a login.
    pub(in crate::sim) fn work(&mut self, account: u32, mut tasks: Vec<Task>) {
        let logs_in = self.dice.chance(LOGS_IN);
        let pause = SECOND + self.dice.below_i64(12 * SECOND);
        let first = tasks.iter().min_by_key(|task| task.at).filter(|first| first.action != Action::SignUp);
        if let Some(first) = first.filter(|_| logs_in) {
            let detail = Some(password(account, true, &mut self.dice));
            let login = Task::new(first.at - pause, Action::Login, Object::Nothing);
            tasks.push(Task { success: Some(true), detail, ..login });
        }
        self.script(Worker::new(account, tasks));
    }

    /// Gives a list to somebody who does nothing else.
    pub(in crate::sim) fn script(&mut self, worker: Worker) {
        if let Some(at) = worker.first() {
            self.cast.push((at, Actor::Worker(Box::new(worker))));
        }
    }

    /// Gives an account a list, to be worked off with things that are not its own.
    pub(in crate::sim) fn work_with(&mut self, kit: Kit, account: u32, tasks: Vec<Task>) {
        self.script(Worker::new(account, tasks).with_kit(kit));
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

    pub(in crate::sim) fn articles(&self) -> &Articles {
        &self.world().articles
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
