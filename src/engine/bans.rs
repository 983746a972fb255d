//! The bans in force: a set for each entity, of which the strongest shows.
//!
//! Expiry removes only its own ban; a lift removes one or all. What the world is told is always the state of the
//! entity now, so that the newest word on a key is enough to know it.

mod saved;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ban::{Ban, BanChange, Origin};
use super::decision::ReasonSource;
use super::entity::Entity;
use super::key::ByHash;
use super::time::Timestamp;
use super::timers::{Timer, Timers};

/// All bans in force, and who was pardoned when.
#[derive(Debug, Default)]
pub struct Bans {
    /// By entity key. Never iterated for outputs: order would depend on the hash.
    by_entity: ByHash<Vec<Held>>,
    /// When a person last lifted an entity's bans: older events make no new ones.
    pardons: BTreeMap<Entity, Timestamp>,
    count: usize,
}

/// A ban with the reason that decisions give for it.
#[derive(Debug)]
struct Held {
    ban: Ban,
    source: Arc<ReasonSource>,
}

impl Bans {
    /// The ban that binds an entity now, whatever the time of the event that asks: back-dating evades no ban. `is`
    /// tells whether the ban's entity is the one meant.
    pub fn strongest(&self, key: u64, is: impl Fn(&Entity) -> bool) -> Option<(&Ban, &Arc<ReasonSource>)> {
        if self.count == 0 {
            return None;
        }
        let meant = self.by_entity.get(&key)?.iter().filter(|held| is(&held.ban.entity));
        meant.max_by(|a, b| shows(&a.ban, &b.ban)).map(|held| (&held.ban, &held.source))
    }

    /// Adds a ban and tells the set. The same ban id twice is one ban.
    pub fn issue(&mut self, key: u64, ban: Ban, timers: &mut Timers, out: &mut Vec<BanChange>) {
        let set = self.by_entity.entry(key).or_default();
        if set.iter().any(|known| known.ban.id == ban.id) {
            return;
        }
        if let Some(end) = ban.expires_at {
            timers.set(end, Timer::BanEnds { key, ban: ban.id.clone() });
        }
        let entity = ban.entity.clone();
        set.push(Held { source: Arc::new(source_of(&ban)), ban });
        self.count += 1;
        out.extend(in_force(set, &entity));
    }

    /// Forgets all bans; pardons stay. Timers that are left find nothing.
    pub fn clear(&mut self) {
        self.by_entity.clear();
        self.count = 0;
    }

    /// Removes the ban that has come to its end and tells what shows now.
    pub fn expire(&mut self, key: u64, ban: &str, out: &mut Vec<BanChange>) {
        let Some(set) = self.by_entity.get_mut(&key) else { return };
        let Some(index) = set.iter().position(|known| known.ban.id == ban) else { return };
        let entity = set.remove(index).ban.entity;
        self.count -= 1;
        out.push(in_force(set, &entity).unwrap_or(BanChange::Gone(entity)));
        self.forget_if_empty(key);
    }

    /// Lifts one ban of an entity, or all of them; false when there is none.
    pub fn lift(&mut self, key: u64, lift: &Lift<'_>, out: &mut Vec<BanChange>) -> bool {
        let Some(set) = self.by_entity.get_mut(&key) else { return false };
        let lifted: Vec<Ban> =
            set.extract_if(.., |held| lift.means(&held.ban)).map(|held| held.ban).collect();
        let Some(strongest) = lifted.iter().max_by(|a, b| shows(a, b)) else { return false };
        self.count -= lifted.len();
        match in_force(set, lift.entity) {
            Some(left) => out.push(left),
            None => {
                out.push(lift.told(strongest.clone()));
                out.push(BanChange::Gone(lift.entity.clone()));
            }
        }
        self.forget_if_empty(key);
        true
    }

    /// What an entity did up to `at` makes no ban any more, whether or not one stands: a log that is read again may bring
    /// the pardon before what it pardons.
    pub fn pardon(&mut self, entity: &Entity, at: Timestamp) {
        let pardoned = self.pardons.entry(entity.clone()).or_insert(at);
        *pardoned = (*pardoned).max(at);
    }

    /// Whether an event of that time may still make a ban or penalty of this entity.
    pub fn may_ban(&self, entity: &Entity, at: Timestamp) -> bool {
        self.pardons.get(entity).is_none_or(|pardoned| at > *pardoned)
    }

    /// The bans of one entity, strongest first.
    pub fn of(&self, key: u64, entity: &Entity) -> Vec<Ban> {
        match self.by_entity.get(&key).and_then(|set| in_force(set, entity)) {
            Some(BanChange::InForce(bans)) => bans,
            _ => Vec::new(),
        }
    }

    /// Whether an entity has a ban of this id, or any.
    pub fn has(&self, key: u64, entity: &Entity, ban: Option<&str>) -> bool {
        let set = self.by_entity.get(&key).into_iter().flatten();
        set.map(|held| &held.ban).any(|known| &known.entity == entity && ban.is_none_or(|id| id == known.id))
    }

    /// How many bans are in force.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether no ban is in force.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All bans in force, by entity, strongest last.
    pub fn all(&self) -> Vec<&Ban> {
        let mut all: Vec<&Ban> = self.by_entity.values().flatten().map(|held| &held.ban).collect();
        all.sort_by(|a, b| a.entity.cmp(&b.entity).then_with(|| shows(a, b)));
        all
    }

    fn forget_if_empty(&mut self, key: u64) {
        if self.by_entity.get(&key).is_some_and(Vec::is_empty) {
            self.by_entity.remove(&key);
        }
    }
}

/// Which bans of an entity are meant.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// All.
    All,
    /// The one with this id.
    Id(&'a str),
    /// Those that this rule, limit or penalty step made.
    MadeBy(&'a str),
}

/// What is to be lifted, by whom and why.
#[derive(Clone, Copy, Debug)]
pub struct Lift<'a> {
    /// Whose bans.
    pub entity: &'a Entity,
    /// Which of them.
    pub which: Which<'a>,
    /// Who asks.
    pub actor: &'a str,
    /// Why.
    pub reason: &'a str,
    /// When.
    pub at: Timestamp,
}

impl Lift<'_> {
    fn means(&self, ban: &Ban) -> bool {
        &ban.entity == self.entity
            && match self.which {
                Which::All => true,
                Which::Id(id) => ban.id == id,
                Which::MadeBy(rule) => matches!(&ban.origin, Origin::Policy(maker) if maker == rule),
            }
    }

    fn told(&self, ban: Ban) -> BanChange {
        BanChange::Lifted {
            entity: self.entity.clone(),
            ban: Box::new(ban),
            actor: self.actor.to_owned(),
            reason: self.reason.to_owned(),
            at: self.at,
        }
    }
}

/// Which of two bans shows: the stronger verdict, then the later end, then the smaller id.
pub(super) fn shows(a: &Ban, b: &Ban) -> std::cmp::Ordering {
    let end = |ban: &Ban| ban.expires_at.map_or(i64::MAX, Timestamp::millis);
    a.verdict.cmp(&b.verdict).then(end(a).cmp(&end(b))).then_with(|| b.id.cmp(&a.id))
}

/// The reason that decisions give for a ban.
fn source_of(ban: &Ban) -> ReasonSource {
    ReasonSource {
        id: ban.id.clone(),
        code: ban.code.clone(),
        family: "ban".into(),
        text: format!("This {} is banned", ban.entity.kind),
        window: None,
    }
}

/// The bans of an entity within a set, strongest first; `None` when there are none.
fn in_force(set: &[Held], entity: &Entity) -> Option<BanChange> {
    let bans = set.iter().map(|held| &held.ban).filter(|ban| &ban.entity == entity);
    let mut bans: Vec<Ban> = bans.cloned().collect();
    bans.sort_by(|a, b| shows(b, a));
    (!bans.is_empty()).then_some(BanChange::InForce(bans))
}

#[cfg(test)]
mod tests {
    use super::super::entity::EntityKind;
    use super::super::verdict::Verdict;
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(secs * 1000)
    }

    fn entity() -> Entity {
        Entity::new(EntityKind::User, "u1")
    }

    fn ban(id: &str, from: i64, until: Option<i64>) -> Ban {
        Ban {
            id: id.into(),
            entity: entity(),
            verdict: Verdict::Block,
            origin: Origin::Actor("ann".into()),
            code: "OPERATOR".into(),
            reason: "test".into(),
            issued_at: at(from),
            expires_at: until.map(at),
        }
    }

    fn lift<'a>(entity: &'a Entity, ban: Option<&'a str>) -> Lift<'a> {
        Lift { entity, which: ban.map_or(Which::All, Which::Id), actor: "bob", reason: "appeal", at: at(50) }
    }

    fn shown(bans: &Bans) -> Option<String> {
        bans.strongest(1, |e| e == &entity()).map(|(ban, _)| ban.id.clone())
    }

    #[test]
    fn the_end_of_a_short_ban_leaves_the_long_one() {
        let (mut bans, mut timers, mut out) = (Bans::default(), Timers::default(), Vec::new());
        bans.issue(1, ban("short", 0, Some(10)), &mut timers, &mut out);
        bans.issue(1, ban("long", 0, Some(100)), &mut timers, &mut out);
        bans.issue(1, ban("long", 0, Some(100)), &mut timers, &mut out);
        let (short, long) = (ban("short", 0, Some(10)), ban("long", 0, Some(100)));
        assert_eq!(out[0], BanChange::InForce(vec![short.clone()]));
        assert_eq!(out[1..], [BanChange::InForce(vec![long.clone(), short])]);
        out.clear();
        bans.expire(1, "short", &mut out);
        assert_eq!(out, [BanChange::InForce(vec![long])]);
        assert_eq!(shown(&bans), Some("long".into()));
        out.clear();
        bans.expire(1, "long", &mut out);
        assert_eq!(out, [BanChange::Gone(entity())]);
        assert!(bans.is_empty());
    }

    #[test]
    fn a_lift_is_told_then_entombed_and_pardons_older_events() {
        let (mut bans, mut timers, mut out) = (Bans::default(), Timers::default(), Vec::new());
        bans.issue(1, ban("b", 0, None), &mut timers, &mut out);
        out.clear();
        let who = entity();
        assert!(!bans.lift(1, &lift(&who, Some("other")), &mut out));
        assert!(bans.lift(1, &lift(&who, None), &mut out));
        assert!(matches!(out.as_slice(), [BanChange::Lifted { .. }, BanChange::Gone(_)]));
        bans.pardon(&who, at(50));
        bans.pardon(&who, at(40));
        assert!(!bans.may_ban(&who, at(50)));
        assert!(bans.may_ban(&who, at(51)));
        assert!(!bans.lift(1, &lift(&who, None), &mut out));
    }
}
