//! Bans in force and open cases, by entity.

use std::collections::BTreeMap;

use crate::engine::ban::{Ban, BanChange};
use crate::engine::case::{Case, CaseStatus};
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
        bans.sort_by(|a, b| strength(b).cmp(&strength(a)));
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

    /// Lifts one ban or all; `lifted` makes the notice. False when there was none.
    pub(super) fn lift(
        &mut self,
        entity: &Entity,
        id: Option<&str>,
        lifted: impl FnOnce(Ban) -> BanChange,
        told: &mut Vec<BanChange>,
    ) -> bool {
        let removed = self.remove(entity, |ban| id.is_none_or(|id| id == ban.id));
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

/// Open cases by rule and entity.
#[derive(Clone, Debug, Default)]
pub(super) struct Cases {
    open: BTreeMap<(String, Entity), Case>,
}

/// A case is quiet when nothing was added for so long.
const QUIET: Span = Span::from_secs(86_400);
const ACCOUNTS_MAX: usize = 100;
const OPEN_MAX: usize = 10_000;

impl Cases {
    /// Adds an event. A case is told when its events are a power of two.
    pub(super) fn add(&mut self, new: Case, account: Option<&str>, told: &mut Vec<Case>) {
        let key = (new.rule.clone(), new.entity.clone());
        if !self.open.contains_key(&key) && self.open.len() >= OPEN_MAX {
            return;
        }
        let at = new.opened_at;
        let case = self.open.entry(key).or_insert(new);
        case.events += 1;
        case.updated_at = case.updated_at.max(at);
        if let Some(account) = account.filter(|account| !case.accounts.iter().any(|known| known == account))
            && case.accounts.len() < ACCOUNTS_MAX
        {
            case.accounts.push(account.to_owned());
        }
        if case.events.is_power_of_two() {
            let status = if case.events == 1 { CaseStatus::Opened } else { CaseStatus::Grown };
            told.push(Case { status, ..case.clone() });
        }
    }

    /// Closes the cases that have been quiet for long enough.
    pub(super) fn quiet(&mut self, now: Timestamp, told: &mut Vec<Case>) {
        let due = |case: &Case| case.updated_at.after(QUIET) <= now;
        let mut closed: Vec<Case> = self.open.values().filter(|case| due(case)).cloned().collect();
        self.open.retain(|_, case| !due(case));
        closed.sort_by_key(|case| case.updated_at);
        told.extend(closed.into_iter().map(|case| Case { status: CaseStatus::Quiet, ..case }));
    }
}
