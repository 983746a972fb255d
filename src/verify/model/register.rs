//! Bans in force and open cases, by entity.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::ban::{Ban, BanChange};
use crate::engine::case::{Case, CaseStatus, Resolution};
use crate::engine::entity::Entity;
use crate::engine::time::{Span, Timestamp};
use crate::engine::verdict::Verdict;

/// Bans in force, and when a person last pardoned whom.
#[derive(Clone, Debug, Default)]
pub(super) struct Bans {
    in_force: BTreeMap<Entity, Vec<Ban>>,
    pardons: BTreeMap<Entity, Timestamp>,
}

impl Bans {
    /// The strongest ban of an entity.
    pub(super) fn strongest(&self, entity: &Entity) -> Option<&Ban> {
        self.in_force.get(entity)?.iter().max_by_key(|ban| strength(ban))
    }

    /// All bans in force, strongest first within an entity.
    pub(super) fn all(&self) -> Vec<Ban> {
        self.in_force.keys().flat_map(|entity| self.of(entity)).collect()
    }

    fn of(&self, entity: &Entity) -> Vec<Ban> {
        let mut bans = self.in_force.get(entity).cloned().unwrap_or_default();
        bans.sort_by_key(|ban| std::cmp::Reverse(strength(ban)));
        bans
    }

    fn state(&self, entity: &Entity) -> BanChange {
        let bans = self.of(entity);
        if bans.is_empty() { BanChange::Gone(entity.clone()) } else { BanChange::InForce(bans) }
    }

    pub(super) fn issue(&mut self, ban: Ban, told: &mut Vec<BanChange>) {
        let entity = ban.entity.clone();
        let set = self.in_force.entry(entity.clone()).or_default();
        if set.iter().all(|known| known.id != ban.id) {
            set.push(ban);
            told.push(self.state(&entity));
        }
    }

    /// Whether an entity has a ban of this id, or any.
    pub(super) fn has(&self, entity: &Entity, id: Option<&str>) -> bool {
        self.of(entity).iter().any(|ban| id.is_none_or(|id| id == ban.id))
    }

    /// Forgets all bans; pardons stay.
    pub(super) fn clear(&mut self) {
        self.in_force.clear();
    }

    /// Ends every ban whose time has come, in the order of their ends.
    pub(super) fn expire(&mut self, now: Timestamp, told: &mut Vec<BanChange>) {
        let ended = |ban: &&Ban| ban.expires_at.is_some_and(|end| end <= now);
        let mut due: Vec<Ban> = self.in_force.values().flatten().filter(ended).cloned().collect();
        due.sort_by(|a, b| (a.expires_at, &a.id).cmp(&(b.expires_at, &b.id)));
        for ban in due {
            self.remove(&ban.entity, |known| known.id == ban.id);
            told.push(self.state(&ban.entity));
        }
    }

    fn remove(&mut self, entity: &Entity, which: impl Fn(&Ban) -> bool) -> Vec<Ban> {
        let set = self.in_force.remove(entity).unwrap_or_default();
        let (removed, left): (Vec<Ban>, Vec<Ban>) = set.into_iter().partition(which);
        if !left.is_empty() {
            self.in_force.insert(entity.clone(), left);
        }
        removed
    }

    /// Lifts the bans that are meant; `lifted` makes the notice. False when there was none.
    pub(super) fn lift(
        &mut self,
        entity: &Entity,
        means: impl Fn(&Ban) -> bool,
        lifted: impl FnOnce(Ban) -> BanChange,
        told: &mut Vec<BanChange>,
    ) -> bool {
        let removed = self.remove(entity, means);
        let Some(strongest) = removed.into_iter().max_by_key(strength) else { return false };
        if !self.in_force.contains_key(entity) {
            told.push(lifted(strongest));
        }
        told.push(self.state(entity));
        true
    }

    pub(super) fn pardon(&mut self, entity: &Entity, at: Timestamp) {
        let pardoned = self.pardons.entry(entity.clone()).or_insert(at);
        *pardoned = (*pardoned).max(at);
    }

    /// Whether what was done at a time may still lead to a ban.
    pub(super) fn may_ban(&self, entity: &Entity, at: Timestamp) -> bool {
        self.pardons.get(entity).is_none_or(|pardoned| at > *pardoned)
    }
}

/// Stronger verdict, then later end (never is last), then smaller id.
pub(super) fn strength(ban: &Ban) -> (Verdict, i64, std::cmp::Reverse<String>) {
    let end = ban.expires_at.map_or(i64::MAX, Timestamp::millis);
    (ban.verdict, end, std::cmp::Reverse(ban.id.clone()))
}

/// Cases by rule and entity.
#[derive(Clone, Debug, Default)]
pub(super) struct Cases {
    open: BTreeMap<Matter, Open>,
    /// Those that fell quiet and can still be decided.
    quiet: Vec<(Matter, Case)>,
    settled: BTreeMap<Matter, Settled>,
    /// While state is warmed up: up to when events are in the cases that were taken over.
    counted: BTreeMap<Matter, Timestamp>,
    /// Matters of which only the engine can know how many events they have.
    doubted: BTreeSet<Matter>,
}

/// What a case is about: a rule and an entity.
pub(super) type Matter = (String, Entity);

/// An open case, and at how many events it is told next.
#[derive(Clone, Debug)]
struct Open {
    case: Case,
    tell_at: u64,
}

/// A case that a person decided.
#[derive(Clone, Copy, Debug)]
struct Settled {
    until: Timestamp,
    /// Events that it had.
    events: u64,
    /// Events since.
    since: u64,
}

/// A case is quiet when nothing was added for so long.
const QUIET: Span = Span::from_secs(86_400);
/// A decided matter opens no case for so long, unless its events double.
const SETTLED: Span = Span::from_secs(7 * 86_400);
const ACCOUNTS_MAX: usize = 100;
const OPEN_MAX: usize = 10_000;

impl Cases {
    /// Adds an event. A case is told when it opens, and each time its events have doubled since.
    pub(super) fn add(&mut self, new: Case, account: Option<&str>, told: &mut Vec<Case>) {
        let matter = (new.rule.clone(), new.entity.clone());
        let at = new.opened_at;
        if self.counted.get(&matter).is_some_and(|to| at <= *to) {
            return;
        }
        let Some(before) = self.since_decided(&matter, at) else { return };
        if !self.open.contains_key(&matter) && self.open.len() >= OPEN_MAX {
            return;
        }
        let fresh = || Open { case: Case { events: before, ..new }, tell_at: before + 1 };
        let Open { case, tell_at } = self.open.entry(matter).or_insert_with(fresh);
        case.events += 1;
        case.updated_at = case.updated_at.max(at);
        if let Some(account) = account.filter(|account| !case.accounts.iter().any(|known| known == account))
            && case.accounts.len() < ACCOUNTS_MAX
        {
            case.accounts.push(account.to_owned());
        }
        if case.events >= *tell_at {
            told.push(case.clone());
            case.status = CaseStatus::Grown;
            *tell_at *= 2;
        }
    }

    /// An event at a time may or may not belong to a matter.
    pub(super) fn doubt(&mut self, matter: Matter, at: Timestamp) {
        if self.counted.get(&matter).is_none_or(|to| at > *to) {
            self.doubted.insert(matter);
        }
    }

    /// What is in doubt.
    pub(super) fn doubted(&self) -> &BTreeSet<Matter> {
        &self.doubted
    }

    /// Events before this one since the matter was decided; `None` while that settles it.
    fn since_decided(&mut self, matter: &Matter, at: Timestamp) -> Option<u64> {
        let Some(settled) = self.settled.get_mut(matter) else { return Some(0) };
        settled.since += 1;
        let decided = *settled;
        if at < decided.until && decided.since < decided.events {
            return None;
        }
        self.settled.remove(matter);
        Some(if at < decided.until { decided.since - 1 } else { 0 })
    }

    /// Goes on with a case that was told earlier: what it was made of does not count again while state is warmed up.
    pub(super) fn take_over(&mut self, case: Case) {
        let matter = (case.rule.clone(), case.entity.clone());
        let counted = self.counted.entry(matter.clone()).or_default();
        *counted = (*counted).max(case.updated_at);
        self.doubted.remove(&matter);
        match case.status {
            CaseStatus::Opened | CaseStatus::Grown => {
                let tell_at = case.events.max(1) * 2;
                self.settled.remove(&matter);
                self.open.insert(matter, Open { case: Case { status: CaseStatus::Grown, ..case }, tell_at });
            }
            CaseStatus::Quiet => self.quiet.push((matter, case)),
            CaseStatus::Resolved => {
                let until =
                    case.resolution.map_or(case.updated_at, |resolution| resolution.at).after(SETTLED);
                self.settled.insert(matter, Settled { until, events: case.events, since: 0 });
            }
        }
    }

    /// State is warm.
    pub(super) fn taken_over(&mut self) {
        self.counted.clear();
    }

    /// Ids of the open cases that were told and are not in doubt.
    pub(super) fn open(&self) -> Vec<String> {
        let sure = self.open.iter().filter(|(matter, _)| !self.doubted.contains(*matter));
        sure.filter(|(_, open)| open.tell_at > 1).map(|(_, open)| open.case.id.clone()).collect()
    }

    /// A person decides a case; `None` when it is not known.
    pub(super) fn resolve(&mut self, id: &str, resolution: Resolution, told: &mut Vec<Case>) -> Option<Case> {
        let open = self.open.iter().find(|(_, open)| open.case.id == id).map(|(matter, _)| matter.clone());
        let (matter, mut case) =
            match open.and_then(|matter| Some((matter.clone(), self.open.remove(&matter)?))) {
                Some((matter, open)) => (matter, open.case),
                None => self.quiet.remove(self.quiet.iter().position(|(_, case)| case.id == id)?),
            };
        let until = resolution.at.after(SETTLED);
        self.settled.insert(matter, Settled { until, events: case.events, since: 0 });
        case.status = CaseStatus::Resolved;
        case.updated_at = case.updated_at.max(resolution.at);
        case.resolution = Some(resolution);
        told.push(case.clone());
        Some(case)
    }

    /// Closes the cases that have been quiet for long enough, and forgets decisions whose time is over.
    pub(super) fn quiet(&mut self, now: Timestamp, told: &mut Vec<Case>) {
        let due = |open: &Open| open.case.updated_at.after(QUIET) <= now;
        let mut closed: Vec<(Matter, Case)> = Vec::new();
        for (matter, open) in self.open.iter().filter(|(_, open)| due(open)) {
            closed.push((matter.clone(), Case { status: CaseStatus::Quiet, ..open.case.clone() }));
        }
        self.open.retain(|_, open| !due(open));
        closed.sort_by_key(|(_, case)| case.updated_at);
        told.extend(closed.iter().map(|(_, case)| case.clone()));
        self.quiet.extend(closed);
        self.settled.retain(|_, settled| settled.until > now);
    }
}
