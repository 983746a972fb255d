//! What operators have asked rules not to do: exemptions (nothing is held against an entity) and snoozes (one rule does
//! not act on it; what it would have done is told as shadow).
//!
//! Both end by themselves. The same exception again replaces its end. Bounded: at most [`Exceptions::MOST`] stand
//! together; a further one is refused, and the command says so.

mod saved;

use std::collections::BTreeMap;

use super::entity::{Entity, EntityKind};
use super::time::Timestamp;
use super::timers::{Timer, Timers};

/// All exceptions that stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exceptions {
    /// By entity key; each list in the order in which they were asked for.
    by_entity: BTreeMap<u64, Vec<Exception>>,
    count: usize,
}

/// One exception.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Whom it is for.
    pub entity: Entity,
    /// What it does.
    pub kind: ExceptionKind,
    /// Id of the rule, limit, pool or penalty step; `None` for all.
    pub rule: Option<String>,
    /// Until when (exclusive).
    pub until: Timestamp,
}

/// What an exception does. Of several the stronger one, which is listed last, holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExceptionKind {
    /// The rule is heard but does not act.
    Snoozed,
    /// The rule is not heard.
    Exempt,
}

impl Exception {
    fn same_matter(&self, other: &Exception) -> bool {
        self.entity == other.entity && self.kind == other.kind && self.rule == other.rule
    }

    fn covers(&self, rule: &str, at: Timestamp) -> bool {
        at < self.until && self.rule.as_deref().is_none_or(|mine| mine == rule)
    }
}

impl Exceptions {
    /// The most that stand together.
    pub const MOST: usize = 10_000;

    /// Sets an exception, in place of the same one with another end; false when there is no room.
    pub fn set(&mut self, key: u64, exception: Exception, timers: &mut Timers) -> bool {
        let list = self.by_entity.entry(key).or_default();
        let known = list.iter_mut().find(|known| known.same_matter(&exception));
        if known.is_none() && self.count >= Self::MOST {
            self.forget_if_empty(key);
            return false;
        }
        timers.set(exception.until, Timer::ExceptionEnds { key });
        match known {
            Some(known) => known.until = exception.until,
            None => {
                list.push(exception);
                self.count += 1;
            }
        }
        true
    }

    /// Takes an exception back; false when there is none.
    pub fn lift(&mut self, key: u64, exception: &Exception) -> bool {
        self.remove(key, |known| known.same_matter(exception))
    }

    /// Removes what has come to its end.
    pub fn expire(&mut self, key: u64, now: Timestamp) {
        self.remove(key, |known| known.until <= now);
    }

    /// What holds for a rule on an entity with this key; `is` tells whether an exception's entity is the one meant.
    pub fn on(
        &self,
        key: u64,
        is: impl Fn(&Entity) -> bool,
        rule: &str,
        at: Timestamp,
    ) -> Option<ExceptionKind> {
        let list = self.by_entity.get(&key)?.iter();
        list.filter(|known| known.covers(rule, at) && is(&known.entity)).map(|known| known.kind).max()
    }

    /// What holds for a rule on any of the four entities of an event. `hash` gives the hash of each, where it has one.
    pub(crate) fn on_any(
        &self,
        hash: impl Fn(EntityKind) -> Option<u64>,
        is: impl Fn(&Entity) -> bool,
        rule: &str,
        at: Timestamp,
    ) -> Option<ExceptionKind> {
        if self.by_entity.is_empty() {
            return None;
        }
        let keys = EntityKind::ALL.into_iter().filter_map(|kind| Some((kind, hash(kind)?)));
        let keys = keys.map(|(kind, hash)| super::binding::entity_key(kind, hash));
        keys.filter_map(|key| self.on(key, &is, rule, at)).max()
    }

    /// All, by key and in the order in which they were asked for.
    pub fn all(&self) -> impl Iterator<Item = (u64, &Exception)> {
        self.by_entity.iter().flat_map(|(key, list)| list.iter().map(|exception| (*key, exception)))
    }

    /// How many stand.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether none stands.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn remove(&mut self, key: u64, which: impl Fn(&Exception) -> bool) -> bool {
        let Some(list) = self.by_entity.get_mut(&key) else { return false };
        let before = list.len();
        list.retain(|known| !which(known));
        let removed = before - list.len();
        self.count -= removed;
        self.forget_if_empty(key);
        removed > 0
    }

    fn forget_if_empty(&mut self, key: u64) {
        if self.by_entity.get(&key).is_some_and(Vec::is_empty) {
            self.by_entity.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(secs * 1000)
    }

    fn exception(kind: ExceptionKind, rule: Option<&str>, until: i64) -> Exception {
        let entity = Entity::new(EntityKind::User, "u");
        Exception { entity, kind, rule: rule.map(str::to_owned), until: at(until) }
    }

    #[test]
    fn the_stronger_of_several_holds_until_its_end() {
        use ExceptionKind::{Exempt, Snoozed};
        let (mut set, mut timers) = (Exceptions::default(), Timers::default());
        assert!(set.set(1, exception(Snoozed, Some("r"), 100), &mut timers));
        assert!(set.set(1, exception(Exempt, None, 50), &mut timers));
        let on = |set: &Exceptions, rule: &str, secs| set.on(1, |_| true, rule, at(secs));
        assert_eq!(on(&set, "r", 49), Some(Exempt));
        assert_eq!(on(&set, "r", 50), Some(Snoozed));
        assert_eq!((on(&set, "q", 49), on(&set, "q", 50)), (Some(Exempt), None));
        set.expire(1, at(50));
        assert_eq!((set.len(), on(&set, "q", 49)), (1, None));
        assert!(set.set(1, exception(Snoozed, Some("r"), 60), &mut timers));
        assert_eq!((set.len(), on(&set, "r", 60)), (1, None), "the same one has a new end");
        assert!(set.lift(1, &exception(Snoozed, Some("r"), 0)));
        assert!(!set.lift(1, &exception(Snoozed, Some("r"), 0)));
        assert!(set.is_empty() && set.all().next().is_none());
    }

    #[test]
    fn there_is_an_end_to_how_many_stand() {
        let (mut set, mut timers) = (Exceptions::default(), Timers::default());
        for key in 0..Exceptions::MOST as u64 {
            assert!(set.set(key, exception(ExceptionKind::Exempt, None, 9), &mut timers));
        }
        assert!(!set.set(u64::MAX, exception(ExceptionKind::Exempt, None, 9), &mut timers));
        assert!(set.set(5, exception(ExceptionKind::Exempt, None, 10), &mut timers));
        assert_eq!(set.len(), Exceptions::MOST);
    }
}
