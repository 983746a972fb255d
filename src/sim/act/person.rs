//! What honest people do.
//!
//! - *How often.* Everybody comes by at least once; how often beyond that is log-normal over people, and follows the day.
//! - *How much.* Writing actions of an account in ten minutes: P99 is 4, P99.9 is 7 to 12 and the most is 34 to 36 in
//!   public sharing streams of national elections (CooRTweet package, German set, and others). [`WRITES`] follows that.
//!   Every fifth visit only looks.
//! - *What.* Mostly likes on what is fresh, popular or trending; some take a like back and give it again, some tap
//!   twice; comments, of which a few share one short text; newcomers follow a little more than others.
//! - *What looks bad and is not.* Mistyped passwords and coupons, people with dozens of writes, people who like a
//!   whole page of one author in a minute, crowds of newcomers.

use super::super::dice::{Dice, Weights};
use super::super::event::Action;
use super::super::world::articles::Article;
use super::super::world::people::Member;
use super::super::world::rhythm::{next, pause};
use super::super::world::{DAY, HOUR, NEW, World};
use super::outbox::{Object, Outbox};
use super::{Sitting, Stage};

/// Writing actions of a visit: weight in ten thousand, least, most.
const WRITES: [(u64, u32, u32); 7] =
    [(8000, 1, 1), (1300, 2, 2), (440, 3, 3), (190, 4, 4), (35, 5, 6), (27, 7, 12), (8, 13, 34)];

/// Writing actions by weight: of others, and of newcomers.
const KINDS: [(Action, u64, u64); 6] = [
    (Action::Like, 660, 650),
    (Action::Comment, 120, 110),
    (Action::Share, 80, 70),
    (Action::Follow, 80, 90),
    (Action::Message, 50, 50),
    (Action::CouponClaim, 10, 10),
];
/// Articles somebody remembers to have liked.
const MEMORY: usize = 64;
/// How often somebody looks for an article not liked yet.
const TRIES: usize = 20;
/// Coupons that are about at one time.
const COUPONS: u32 = 6;

/// The tables that are drawn from.
pub(in crate::sim) struct Manners {
    writes: Weights,
    kinds: Weights,
    kinds_new: Weights,
}

impl Manners {
    pub(in crate::sim) fn new() -> Self {
        Self {
            writes: Weights::new(WRITES.iter().map(|w| w.0)),
            kinds: Weights::new(KINDS.iter().map(|k| k.1)),
            kinds_new: Weights::new(KINDS.iter().map(|k| k.2)),
        }
    }
}

/// One honest account's life.
pub(in crate::sim) struct Person {
    account: u32,
    /// Mean time between visits, milliseconds.
    gap: f64,
    /// Has registered, or did so before the start.
    registered: bool,
    /// What it comes for the first time.
    lure: Option<Article>,
    visit: Option<Visit>,
    liked: Vec<Article>,
}

/// Somebody is here.
struct Visit {
    sitting: Sitting,
    writes: u32,
    /// Median pause in seconds.
    haste: f64,
    /// Everything goes to one author.
    devoted: bool,
}

impl Person {
    /// A person, and when it first comes by. How often it does so is drawn around once in `gap` milliseconds.
    pub(in crate::sim) fn new(world: &World, account: u32, gap: f64, dice: &mut Dice) -> (Self, i64) {
        let member = &world.people.members[account as usize];
        let stretch = world.stretch;
        let gap = (gap / dice.lognormal(0.6, 1.0)).max(2.0 * HOUR as f64);
        let meanwhile = member.created_at >= stretch.start;
        let at = match meanwhile {
            true => member.created_at,
            false => {
                stretch.start + (next(dice, stretch.start, gap) - stretch.start) % stretch.length().max(1)
            }
        };
        let person =
            Self { account, gap, registered: !meanwhile, lure: None, visit: None, liked: Vec::new() };
        (person, at)
    }

    /// A newcomer or guest whom one article brings, at a time that is decided elsewhere.
    pub(in crate::sim) fn lured(world: &World, account: u32, gap: f64, lure: Article) -> Self {
        let member = &world.people.members[account as usize];
        let registered = member.created_at < world.stretch.start;
        Self { account, gap, registered, lure: Some(lure), visit: None, liked: Vec::new() }
    }

    pub(super) fn step(&mut self, at: i64, stage: &mut Stage<'_>) -> Option<i64> {
        let member = &stage.world.people.members[self.account as usize];
        if at >= stage.world.stretch.end || (member.from > 0 && at >= member.from) {
            return None;
        }
        match self.visit.take() {
            None => Some(self.arrive(at, stage)),
            Some(visit) if visit.writes == 0 => Some(next(stage.dice, at, self.gap)),
            Some(mut visit) => {
                visit.writes -= 1;
                let at = browse(&visit, at, stage);
                let at = self.write(&visit, at, stage);
                self.visit = Some(visit);
                Some(at)
            }
        }
    }

    fn arrive(&mut self, at: i64, stage: &mut Stage<'_>) -> i64 {
        let sitting = Sitting::begin(self.account, at, stage);
        let mut at = at;
        if !self.registered {
            self.registered = true;
            stage.out.tell(&sitting, at, Action::SignUp, Object::Nothing);
            at += pause(stage.dice, 20.0);
        } else if stage.dice.chance(0.1) {
            at = login(&sitting, at, stage);
        }
        let manners = &stage.world.manners;
        let (_, least, most) = WRITES[stage.dice.index(&manners.writes)];
        let looks_only = self.lure.is_none() && stage.dice.chance(0.2);
        let writes = if looks_only { 0 } else { stage.dice.between(least, most) };
        let devoted = writes >= 4 && stage.dice.chance(0.3);
        let haste = if devoted {
            3.0
        } else if writes > 6 {
            10.0
        } else {
            25.0
        };
        let visit = Visit { sitting, writes, haste, devoted };
        if looks_only {
            let article = stage.world.articles.any(at, stage.dice);
            stage.out.tell(&visit.sitting, at, Action::View, Object::Article(article));
            at = browse(&visit, at + pause(stage.dice, 20.0), stage);
        }
        self.visit = Some(visit);
        at
    }

    /// One writing action, and a pause.
    fn write(&mut self, visit: &Visit, at: i64, stage: &mut Stage<'_>) -> i64 {
        let world = stage.world;
        let new = is_new(&world.people.members[self.account as usize], at);
        let kinds = if new { &world.manners.kinds_new } else { &world.manners.kinds };
        let action = match self.lure.is_some() || visit.devoted {
            true => Action::Like,
            false => KINDS[stage.dice.index(kinds)].0,
        };
        match action {
            Action::Like => {
                let article = self.article(visit, at, new, stage);
                stage.out.tell(&visit.sitting, at, action, Object::Article(article));
                return waver(&visit.sitting, article, at, stage) + pause(stage.dice, visit.haste);
            }
            Action::CouponClaim => claim(&visit.sitting, at, stage),
            _ => {
                let article = world.articles.any(at, stage.dice);
                let object = match action {
                    Action::Follow | Action::Message => Object::Account(world.owner(article)),
                    _ => Object::Article(article),
                };
                let mut draft = Outbox::draft(&visit.sitting, at, action, object);
                if matches!(action, Action::Comment | Action::Message) {
                    draft.text = Some(text(stage.dice));
                }
                stage.out.send(draft);
            }
        }
        at + pause(stage.dice, visit.haste)
    }

    /// What to like next: nobody likes the same again but by taking it back or tapping twice.
    fn article(&mut self, visit: &Visit, at: i64, new: bool, stage: &mut Stage<'_>) -> Article {
        let articles = &stage.world.articles;
        let mut article = match (self.lure.take(), self.liked.last()) {
            (Some(lure), _) => lure,
            (None, Some(last)) if visit.devoted => articles.neighbour(*last, at, stage.dice),
            _ => articles.attraction(at, new, stage.dice),
        };
        for _ in 0..TRIES {
            if !self.liked.contains(&article) {
                break;
            }
            article = articles.any(at, stage.dice);
        }
        if self.liked.len() >= MEMORY {
            self.liked.remove(0);
        }
        self.liked.push(article);
        article
    }
}

/// Whether an account counts as new at `at`.
pub(in crate::sim) fn is_new(member: &Member, at: i64) -> bool {
    at - member.created_at < NEW
}

/// Views before a write: 1.2 on average.
fn browse(visit: &Visit, mut at: i64, stage: &mut Stage<'_>) -> i64 {
    for _ in 0..*stage.dice.pick(&[0, 0, 1, 1, 1, 1, 2, 2, 2, 2]) {
        let article = stage.world.articles.any(at, stage.dice);
        stage.out.tell(&visit.sitting, at, Action::View, Object::Article(article));
        at += pause(stage.dice, visit.haste / 2.0);
    }
    at
}

/// Some take a like back, half of them give it again; some tap twice.
fn waver(sitting: &Sitting, article: Article, mut at: i64, stage: &mut Stage<'_>) -> i64 {
    let object = Object::Article(article);
    match stage.dice.unit() {
        ..0.02 => {
            at += pause(stage.dice, 4.0);
            stage.out.tell(sitting, at, Action::Unlike, object);
            if stage.dice.chance(0.5) {
                at += pause(stage.dice, 4.0);
                stage.out.tell(sitting, at, Action::Like, object);
            }
        }
        ..0.025 => {
            at += 120 + stage.dice.below_i64(700);
            stage.out.tell(sitting, at, Action::Like, object);
        }
        _ => {}
    }
    at
}

/// One login that works, after none to three mistyped passwords.
pub(in crate::sim) fn login(sitting: &Sitting, mut at: i64, stage: &mut Stage<'_>) -> i64 {
    let mistyped = *stage.dice.pick(&[0, 0, 0, 0, 0, 0, 0, 1, 1, 3]);
    for attempt in 0..=mistyped {
        let mut draft = Outbox::draft(sitting, at, Action::Login, Object::Nothing);
        let right = attempt == mistyped;
        draft.success = Some(right);
        draft.detail = Some(password(sitting.account, right, stage.dice));
        stage.out.send(draft);
        at += pause(stage.dice, 8.0);
    }
    at
}

/// Tag of a password as a number: an account's own, or a slip. A few thousand passwords are shared by many.
pub(in crate::sim) fn password(account: u32, right: bool, dice: &mut Dice) -> u64 {
    use super::super::dice::mix;
    let own = mix(0x7061_7373, u64::from(account));
    match (right, own % 10) {
        (false, _) => dice.bits() | 1 << 32,
        (true, 0) => own / 10 % 400,
        (true, _) => own | 1 << 32,
    }
}

/// A coupon: one of those of the day; one in twelve is mistyped or not for everybody.
fn claim(sitting: &Sitting, at: i64, stage: &mut Stage<'_>) {
    let mut draft = Outbox::draft(sitting, at, Action::CouponClaim, Object::Nothing);
    let works = !stage.dice.chance(0.08);
    let day = at.div_euclid(DAY) as u64 * 8;
    draft.detail =
        Some(if works { day + u64::from(stage.dice.below(COUPONS)) } else { stage.dice.bits() | 1 << 40 });
    draft.success = Some(works);
    stage.out.send(draft);
}

/// Text of a comment or message, as a number: few short ones are common (a tenth of all are one of twenty), the
/// others are written once. A choice.
pub(in crate::sim) fn text(dice: &mut Dice) -> u64 {
    if dice.chance(0.1) { u64::from(dice.below(20)) } else { dice.bits() }
}
