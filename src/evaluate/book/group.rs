//! What came of each attack group: when it began, when it was seen, what of it still counts.

use std::collections::HashMap;

use crate::engine::time::Timestamp;

/// Events of one kind: how many, how many were allowed at first, and how many are allowed now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Events decided.
    pub events: u64,
    /// First verdict allow: counted until something was noticed.
    pub at_first: u64,
    /// Last verdict allow: still counted after all corrections.
    pub at_last: u64,
    /// When the first of them happened.
    pub began: Option<Timestamp>,
}

impl Counted {
    fn decided(&mut self, allowed: bool, at: Timestamp) {
        self.events += 1;
        self.at_first += u64::from(allowed);
        self.at_last += u64::from(allowed);
        earliest(&mut self.began, at);
    }

    fn revised(&mut self, allowed_before: bool, allowed_now: bool) {
        self.at_last = (self.at_last + u64::from(allowed_now)).saturating_sub(u64::from(allowed_before));
    }
}

/// What is done to what.
type Aim = (String, String);

/// One attack group.
#[derive(Clone, Debug, Default)]
pub struct GroupBook {
    /// All its events.
    pub all: Counted,
    /// Its events by action and target; those without a target are in `all` only.
    aims: HashMap<Aim, Counted>,
    /// When an event of it was first acted on, or a revision first did.
    pub acted: Option<Timestamp>,
    /// When a case first named one of its accounts.
    pub member_case: Option<Timestamp>,
}

impl GroupBook {
    /// One decision on one of its events.
    pub fn decided(&mut self, action: &str, target: Option<&str>, allowed: bool, at: Timestamp) {
        self.all.decided(allowed, at);
        if let Some(target) = target {
            self.aims.entry((action.to_owned(), target.to_owned())).or_default().decided(allowed, at);
        }
        if !allowed {
            earliest(&mut self.acted, at);
        }
    }

    /// A revision of one of its events, told at `now`.
    pub fn revised(&mut self, aim: (&str, Option<&str>), before: bool, allowed: bool, now: Timestamp) {
        self.all.revised(before, allowed);
        if let (action, Some(target)) = aim
            && let Some(counted) = self.aims.get_mut(&(action.to_owned(), target.to_owned()))
        {
            counted.revised(before, allowed);
        }
        if !allowed {
            earliest(&mut self.acted, now);
        }
    }

    /// What it pushes: of its aims at one of the `known` targets (of all, when none is known) the one with most
    /// events. Of equals the first by name.
    pub fn pushed(&self, known: &[String]) -> Option<(&Aim, &Counted)> {
        let of = self.aims.iter().filter(|((_, target), _)| known.is_empty() || known.contains(target));
        of.max_by(|a, b| a.1.events.cmp(&b.1.events).then_with(|| b.0.cmp(a.0)))
    }

    /// Its events of one action on any of the `known` targets.
    pub fn on(&self, action: &str, known: &[String]) -> Counted {
        let of = self.aims.iter().filter(|((what, target), _)| what == action && known.contains(target));
        of.fold(Counted::default(), |mut sum, (_, counted)| {
            sum.events += counted.events;
            sum.at_first += counted.at_first;
            sum.at_last += counted.at_last;
            counted.began.into_iter().for_each(|began| earliest(&mut sum.began, began));
            sum
        })
    }
}

/// Seconds from `began` to `then`, never negative.
pub fn seconds(began: Timestamp, then: Timestamp) -> f64 {
    then.since(began).millis() as f64 / 1000.0
}

/// Keeps the earlier of two times.
pub(super) fn earliest(place: &mut Option<Timestamp>, at: Timestamp) {
    *place = Some(place.map_or(at, |before| before.min(at)));
}
