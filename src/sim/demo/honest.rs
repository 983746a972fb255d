//! What honest people do.
//!
//! - *How much.* Writing actions of an account in ten minutes: P99 is 4, P99.9 is 7 to 12 and the most is 34 to 36 in
//!   public sharing streams of national elections (CooRTweet package, German set, and others). [`WRITES`] follows
//!   that. Views come on top.
//! - *What.* Mostly likes on articles by popularity; some take a like back and give it again, some tap twice;
//!   comments, of which a few share one short text; newcomers follow more than others.
//! - *What looks bad and is not.* Retries under the same event id, sends that arrive seconds late, mistyped
//!   passwords, some 25 accounts with more than a dozen writes, an article that goes viral among newcomers, and people
//!   (newcomers too) who like the very article that a campaign pushes, because it has become visible.

use super::super::dice::{Dice, Weights};
use super::super::event::Action;
use super::content::{Catalogue, PUSHED, VIRAL, text};
use super::plan::{Plan, Session};
use super::population::Population;

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;

/// Writing actions of an account in a session: weight in ten thousand, least, most.
const WRITES: [(u64, u32, u32); 7] =
    [(7800, 1, 1), (1350, 2, 2), (480, 3, 3), (280, 4, 4), (50, 5, 6), (30, 7, 12), (10, 13, 34)];

/// Writing actions by weight; for newcomers the follow has its own weight.
const KINDS: [(Action, u64, u64); 6] = [
    (Action::Like, 660, 560),
    (Action::Comment, 120, 100),
    (Action::Share, 80, 60),
    (Action::Follow, 80, 230),
    (Action::Message, 50, 40),
    (Action::CouponClaim, 10, 10),
];

/// From when the viral article runs, and for how long.
const VIRAL_FROM: i64 = 2 * MINUTE;
const VIRAL_FOR: i64 = 10 * MINUTE;
/// Share of likes that go to it meanwhile: of newcomers, who come because of it, and of others.
const VIRAL_LIKES: (f64, f64) = (0.40, 0.05);
/// Share of likes that go to the pushed article once it is visible: of newcomers and of others.
const PUSHED_LIKES: (f64, f64) = (0.03, 0.008);

/// How often somebody looks for an article not liked yet; the chance to find none is far below one in a million.
const TRIES: usize = 20;

/// The people and what they can act on, during a stretch of time.
pub(super) struct Crowd<'a> {
    pub(super) population: &'a Population,
    pub(super) content: &'a Catalogue,
    pub(super) start: i64,
    pub(super) length: i64,
    /// When the pushed article becomes visible.
    pub(super) pushed_from: i64,
}

/// The tables that are drawn from.
struct Tables {
    writes: Weights,
    kinds: Weights,
    kinds_new: Weights,
}

impl Crowd<'_> {
    /// Plans every honest account's session.
    pub(super) fn plan(&self, plan: &mut Plan, dice: &mut Dice) {
        let tables = Tables {
            writes: Weights::new(WRITES.iter().map(|w| w.0)),
            kinds: Weights::new(KINDS.iter().map(|k| k.1)),
            kinds_new: Weights::new(KINDS.iter().map(|k| k.2)),
        };
        for account in 0..self.population.accounts.len() as u32 {
            self.visit(plan, &tables, account, dice);
        }
    }

    /// One account comes by.
    fn visit(&self, plan: &mut Plan, tables: &Tables, account: u32, dice: &mut Dice) {
        let who = &self.population.accounts[account as usize];
        let access = who.second.filter(|_| dice.chance(0.4)).unwrap_or(who.access);
        let session = plan.session(account, access, dice);
        let mut at = self.start + dice.below_i64(self.length);
        if who.created_at >= self.start {
            at = who.created_at;
            plan.add(session, at, Action::SignUp, None);
            at += pause(dice, 20.0);
        } else if dice.chance(0.06) {
            at = login(plan, session, at, dice);
        }
        let (_, least, most) = WRITES[dice.index(&tables.writes)];
        let writes = dice.between(least, most);
        let haste = if writes > 6 { 10.0 } else { 25.0 };
        let new = self.population.is_new(account);
        let mut visit = Visit { crowd: self, session, new, haste, at, liked: Vec::new() };
        for _ in 0..writes {
            visit.browse(plan, dice);
            visit.write(plan, if new { &tables.kinds_new } else { &tables.kinds }, dice);
        }
    }

    /// Which article a like at `at` goes to, if it were the first.
    fn attraction(&self, at: i64, new: bool, dice: &mut Dice) -> u32 {
        let of = |shares: (f64, f64)| if new { shares.0 } else { shares.1 };
        let running = at - self.start - VIRAL_FROM;
        if (0..VIRAL_FOR).contains(&running) && dice.chance(of(VIRAL_LIKES)) {
            return VIRAL;
        }
        if at >= self.pushed_from && dice.chance(of(PUSHED_LIKES)) {
            return PUSHED;
        }
        self.content.any(dice)
    }
}

/// Somebody is here.
struct Visit<'a> {
    crowd: &'a Crowd<'a>,
    session: Session,
    new: bool,
    /// Median pause in seconds.
    haste: f64,
    /// Now.
    at: i64,
    /// What was liked: nobody likes it again but by taking it back or tapping twice.
    liked: Vec<u32>,
}

impl Visit<'_> {
    /// Views before a write: 1.2 on average.
    fn browse(&mut self, plan: &mut Plan, dice: &mut Dice) {
        for _ in 0..*dice.pick(&[0, 0, 1, 1, 1, 1, 2, 2, 2, 2]) {
            plan.add(self.session, self.at, Action::View, Some(self.crowd.content.any(dice)));
            self.at += pause(dice, self.haste / 2.0);
        }
    }

    /// One of these actions, and a pause.
    fn write(&mut self, plan: &mut Plan, kinds: &Weights, dice: &mut Dice) {
        let (action, ..) = KINDS[dice.index(kinds)];
        let target = match action {
            Action::Like => Some(self.article(dice)),
            Action::CouponClaim => None,
            _ => Some(self.crowd.content.any(dice)),
        };
        let event = plan.add(self.session, self.at, action, target);
        if matches!(action, Action::Comment | Action::Message) {
            event.text = Some(text(dice));
        }
        if dice.chance(0.01) {
            event.sent += pause(dice, 2.0).min(5 * SECOND);
        }
        if dice.chance(0.003) {
            plan.retry(pause(dice, 1.5).min(4 * SECOND));
        }
        if let (Action::Like, Some(article)) = (action, target) {
            self.waver(plan, article, dice);
        }
        self.at += pause(dice, self.haste);
    }

    /// What to like next.
    fn article(&mut self, dice: &mut Dice) -> u32 {
        let mut article = self.crowd.attraction(self.at, self.new, dice);
        for _ in 0..TRIES {
            if !self.liked.contains(&article) {
                break;
            }
            article = self.crowd.content.any(dice);
        }
        self.liked.push(article);
        article
    }

    /// Some take a like back or tap twice.
    fn waver(&mut self, plan: &mut Plan, article: u32, dice: &mut Dice) {
        match dice.unit() {
            ..0.02 => self.at = toggle(plan, self.session, self.at, article, dice),
            ..0.025 => {
                self.at += 300;
                plan.add(self.session, self.at, Action::Like, Some(article));
            }
            _ => {}
        }
    }
}

/// A like taken back, and in half of the cases given again.
fn toggle(plan: &mut Plan, session: Session, at: i64, target: u32, dice: &mut Dice) -> i64 {
    let mut at = at + pause(dice, 4.0);
    plan.add(session, at, Action::Unlike, Some(target));
    if dice.chance(0.5) {
        at += pause(dice, 4.0);
        plan.add(session, at, Action::Like, Some(target));
    }
    at
}

/// One login that works, after none to three mistyped passwords.
fn login(plan: &mut Plan, session: Session, mut at: i64, dice: &mut Dice) -> i64 {
    let mistyped = *dice.pick(&[0, 0, 0, 0, 0, 0, 0, 1, 1, 3]);
    for attempt in 0..=mistyped {
        plan.add(session, at, Action::Login, None).success = Some(attempt == mistyped);
        at += pause(dice, 8.0);
    }
    at
}

/// A person's pause around `median` seconds: log-normal, at least 0.8 s, at most five minutes.
fn pause(dice: &mut Dice, median: f64) -> i64 {
    (dice.lognormal(median, 0.9).clamp(0.8, 300.0) * SECOND as f64) as i64
}
