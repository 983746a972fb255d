//! What readers may know of a user, device, address or target: as last seen, never a count in progress.
//!
//! Facts that an update does not tell stay as they were. Everything here was committed before it was published, and
//! every text comes from events, so it may hold anything: whoever shows it must escape it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::engine::decision::DecisionId;
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::subject::Profile;
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;

/// How many of the last verdicts are kept.
pub const VERDICTS_KEPT: usize = 8;

/// Penalty points at a time; they halve as the policy says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Penalty {
    /// Points.
    pub points: f64,
    /// When they were this many.
    pub at: Timestamp,
}

/// An account as last seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountSeen {
    /// When it was registered, as its owner service said.
    pub created_at: Option<Timestamp>,
    /// Its plan.
    pub plan: Option<String>,
    /// Distinct days on which it was seen here.
    pub active_days: Option<u32>,
}

/// A device as last seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceSeen {
    /// Its id.
    pub id: String,
    /// When it was first seen here.
    pub first_seen: Option<Timestamp>,
    /// Distinct accounts that used it.
    pub accounts: Option<u64>,
    /// Distinct addresses it came from.
    pub addresses: Option<u64>,
    /// Its penalty.
    pub penalty: Option<Penalty>,
}

/// One verdict on an event of the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictSeen {
    /// The decision.
    pub decision: DecisionId,
    /// When the event counted.
    pub at: Timestamp,
    /// What was done.
    pub action: String,
    /// The answer.
    pub verdict: Verdict,
    /// Score in points.
    pub score: i32,
    /// Public codes of the reasons, strongest first.
    pub codes: Vec<Arc<str>>,
}

/// What became known of a subject with one decision.
#[derive(Clone, Debug, PartialEq)]
pub struct SubjectUpdate {
    /// Whom it is about.
    pub entity: Entity,
    /// When it was first seen here, where that is known.
    pub first_seen: Option<Timestamp>,
    /// When it was seen.
    pub seen_at: Timestamp,
    /// Distinct settled accounts behind it within a day, for an address.
    pub settled_accounts: Option<u64>,
    /// Its penalty points.
    pub penalty: Option<Penalty>,
    /// Its account.
    pub account: Option<AccountSeen>,
    /// The device it used.
    pub device: Option<DeviceSeen>,
    /// Signals of the policy by name, with their values then.
    pub signals: Vec<(Arc<str>, f64)>,
    /// The verdict.
    pub verdict: Option<VerdictSeen>,
}

impl SubjectUpdate {
    /// An update that tells nothing yet but that the subject was seen.
    pub fn seen(entity: Entity, seen_at: Timestamp) -> Self {
        Self {
            entity,
            first_seen: None,
            seen_at,
            settled_accounts: None,
            penalty: None,
            account: None,
            device: None,
            signals: Vec::new(),
            verdict: None,
        }
    }

    /// What the engine knows of an entity at `now`, its bans apart; `None` when it was never seen.
    pub fn of_profile(profile: Profile, now: Timestamp) -> Option<Self> {
        let penalty = profile.penalty.map(|points| Penalty { points: points.into(), at: now });
        let (first_seen, kind) = (profile.first_seen, profile.entity.kind);
        let account =
            AccountSeen { created_at: profile.created_at, plan: None, active_days: profile.active_days };
        let id = profile.entity.value.clone();
        let device = DeviceSeen { id, first_seen, penalty, ..DeviceSeen::default() };
        Some(Self {
            first_seen,
            settled_accounts: profile.settled_accounts,
            penalty,
            account: (kind == EntityKind::User).then_some(account),
            device: (kind == EntityKind::Device).then_some(device),
            ..Self::seen(profile.entity, profile.last_seen?)
        })
    }
}

/// What is known of a subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// Who it is.
    pub entity: Entity,
    /// When it was first seen here.
    pub first_seen: Option<Timestamp>,
    /// When it was last seen.
    pub seen_at: Timestamp,
    /// Distinct settled accounts behind it within a day, for an address.
    pub settled_accounts: Option<u64>,
    /// Its penalty points as last told.
    pub penalty: Option<Penalty>,
    /// Its account as last told.
    pub account: Option<AccountSeen>,
    /// The device it used last.
    pub device: Option<DeviceSeen>,
    /// Signals as last told, by name.
    pub signals: Vec<(Arc<str>, f64)>,
    /// The last verdicts, newest first, at most [`VERDICTS_KEPT`].
    pub verdicts: VecDeque<VerdictSeen>,
}

impl Subject {
    /// A subject of which nothing is known.
    pub(super) fn new(entity: Entity) -> Self {
        Self {
            entity,
            first_seen: None,
            seen_at: Timestamp::default(),
            settled_accounts: None,
            penalty: None,
            account: None,
            device: None,
            signals: Vec::new(),
            verdicts: VecDeque::new(),
        }
    }

    /// Takes in an update. A revision of a decision takes the place of the decision it revises.
    pub(super) fn update(&mut self, update: SubjectUpdate) {
        self.seen_at = self.seen_at.max(update.seen_at);
        self.first_seen = update.first_seen.or(self.first_seen);
        self.settled_accounts = update.settled_accounts.or(self.settled_accounts);
        self.penalty = update.penalty.or(self.penalty);
        self.account = update.account.or_else(|| self.account.take());
        self.device = update.device.or_else(|| self.device.take());
        if !update.signals.is_empty() {
            self.signals = update.signals;
        }
        if let Some(verdict) = update.verdict {
            self.add_verdict(verdict);
        }
    }

    fn add_verdict(&mut self, verdict: VerdictSeen) {
        let same_event = |old: &&mut VerdictSeen| {
            let (old, new) = (old.decision, verdict.decision);
            (old.partition, old.offset, old.digest) == (new.partition, new.offset, new.digest)
        };
        match self.verdicts.iter_mut().find(same_event) {
            Some(old) => *old = verdict,
            None => self.verdicts.push_front(verdict),
        }
        self.verdicts.truncate(VERDICTS_KEPT);
    }

    /// Memory it takes, in bytes, with what the allocator and a cache need beside it.
    pub(super) fn bytes(&self) -> usize {
        // Measured: a cache of 100,000 profiles, resident memory less what is counted below.
        const CACHE_ENTRY: usize = 640;
        let plan = self.account.as_ref().and_then(|account| account.plan.as_ref());
        let device = self.device.as_ref().map(|device| &device.id);
        let texts = [plan, device, Some(&self.entity.value), Some(&self.entity.value)];
        let texts: usize = texts.into_iter().flatten().map(|text| allocated(text.capacity())).sum();
        let signals = allocated(self.signals.capacity() * size_of::<(Arc<str>, f64)>());
        let verdicts = allocated(self.verdicts.capacity() * size_of::<VerdictSeen>());
        let parts: usize = self.verdicts.iter().map(parts_bytes).sum();
        CACHE_ENTRY + size_of::<Self>() + texts + signals + verdicts + parts
    }
}

/// What a verdict holds outside itself.
fn parts_bytes(verdict: &VerdictSeen) -> usize {
    allocated(verdict.action.capacity()) + allocated(verdict.codes.capacity() * size_of::<Arc<str>>())
}

/// What an allocation of this size takes: a header, and a multiple of 16 of at least 32.
fn allocated(bytes: usize) -> usize {
    match bytes {
        0 => 0,
        bytes => (bytes + 8).next_multiple_of(16).max(32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(offset: i64, revision: u32, verdict: Verdict) -> SubjectUpdate {
        let decision = DecisionId { partition: 0, offset, digest: 7, revision };
        let at = Timestamp::from_millis(1000 + offset);
        let seen = VerdictSeen { decision, at, action: "like".into(), verdict, score: 0, codes: Vec::new() };
        let user = Entity::new(EntityKind::User, "u");
        SubjectUpdate { verdict: Some(seen), ..SubjectUpdate::seen(user, at) }
    }

    #[test]
    fn the_last_eight_verdicts_are_kept_newest_first() {
        let mut subject = Subject::new(Entity::new(EntityKind::User, "u"));
        for offset in 0..20 {
            subject.update(verdict(offset, 0, Verdict::Demote));
        }
        let offsets: Vec<i64> = subject.verdicts.iter().map(|verdict| verdict.decision.offset).collect();
        assert_eq!(offsets, [19, 18, 17, 16, 15, 14, 13, 12]);
    }

    #[test]
    fn a_revision_takes_the_place_of_what_it_revises() {
        let mut subject = Subject::new(Entity::new(EntityKind::User, "u"));
        for (offset, revision, answer) in
            [(1, 0, Verdict::Allow), (2, 0, Verdict::Allow), (1, 1, Verdict::Demote)]
        {
            subject.update(verdict(offset, revision, answer));
        }
        let answers: Vec<Verdict> = subject.verdicts.iter().map(|verdict| verdict.verdict).collect();
        assert_eq!(answers, [Verdict::Allow, Verdict::Demote]);
        assert_eq!(subject.seen_at.millis(), 1002, "a revision of an older event is no newer sight");
    }

    #[test]
    fn a_profile_of_the_engine_is_an_update() {
        let at = Timestamp::from_millis;
        let profile = Profile {
            entity: Entity::new(EntityKind::User, "u"),
            first_seen: Some(at(1)),
            last_seen: Some(at(9)),
            created_at: Some(at(0)),
            active_days: Some(2),
            penalty: Some(1.5),
            settled_accounts: None,
            bans: Vec::new(),
        };
        let unseen = Profile { last_seen: None, ..profile.clone() };
        assert_eq!(SubjectUpdate::of_profile(unseen, at(10)), None);
        let mut subject = Subject::new(profile.entity.clone());
        subject.update(SubjectUpdate::of_profile(profile, at(10)).expect("it was seen"));
        assert_eq!((subject.first_seen, subject.seen_at), (Some(at(1)), at(9)));
        assert_eq!(subject.penalty, Some(Penalty { points: 1.5, at: at(10) }));
        assert_eq!(subject.account.map(|account| account.active_days), Some(Some(2)));
        assert_eq!(subject.device, None);
    }

    #[test]
    fn what_is_not_told_stays() {
        let user = Entity::new(EntityKind::User, "u");
        let mut subject = Subject::new(user.clone());
        let at = Timestamp::from_millis(5);
        let penalty = Some(Penalty { points: 2.0, at });
        subject.update(SubjectUpdate { penalty, ..SubjectUpdate::seen(user.clone(), at) });
        subject.update(SubjectUpdate::seen(user, Timestamp::from_millis(9)));
        assert_eq!((subject.penalty, subject.seen_at.millis()), (penalty, 9));
    }
}
