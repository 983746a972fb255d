//! What HTTP readers see: a complete map of bans, and a bounded cache of subject profiles.
//!
//! The committer publishes after each commit; readers never touch the engine. A subject that is not in the cache is
//! *not known*, which never means not banned: bans are looked up in their own complete map. An unknown subject that
//! was asked for is noted, and the pipeline takes the notes and publishes what it knows of them. Memory: profiles stay
//! within their budget (the least recently used leave), notes within [`WANTED_MAX`]; bans are as many as there are.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use super::bans::Bans;
use super::subject::{Subject, SubjectUpdate};
use crate::clock::{self, Stopwatch};
use crate::engine::address::Address;
use crate::engine::ban::{Ban, BanChange};
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::time::{Span, Timestamp};
use crate::metrics;

/// The most subjects noted as asked for; more are not noted until these are taken.
pub const WANTED_MAX: usize = 1024;

/// Which clock says whether a ban has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderTime {
    /// The wall clock: for live traffic.
    Wall,
    /// The time of the stream as last published, and what has passed since: for simulated traffic, whose times are
    /// not now.
    Stream,
}

/// What one commit changed.
#[derive(Clone, Debug, Default)]
pub struct ServingUpdate {
    /// The time of the stream: the newest effective time or tick of the batch.
    pub as_of: Timestamp,
    /// Changes of bans, in order.
    pub bans: Vec<BanChange>,
    /// Subjects above allow or asked for, in order.
    pub subjects: Vec<SubjectUpdate>,
}

/// What is known of one entity.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Whom it is about; an address in its normal form.
    pub entity: Entity,
    /// The time of the stream that the answer reflects; `None` before the first commit.
    pub as_of: Option<Timestamp>,
    /// The reader's time, against which bans were held.
    pub now: Timestamp,
    /// The bans in force, strongest first.
    pub bans: Vec<Ban>,
    /// Its profile; `None` is not known, which says nothing about bans.
    pub subject: Option<Arc<Subject>>,
}

/// The state that HTTP readers see. Shared; one committer publishes.
#[derive(Debug)]
pub struct Serving {
    bans: RwLock<Bans>,
    subjects: Cache<Entity, Arc<Subject>>,
    wanted: Mutex<HashSet<Entity>>,
    time: ReaderTime,
    ipv6_prefix: AtomicU8,
    as_of: AtomicI64,
    published: Mutex<Stopwatch>,
}

const NOTHING_YET: i64 = i64::MIN;

impl Serving {
    /// Empty. `subjects_memory` bounds the profiles, in bytes.
    pub fn new(subjects_memory: u64, time: ReaderTime) -> Self {
        let weight = |_: &Entity, subject: &Arc<Subject>| u32::try_from(subject.bytes()).unwrap_or(u32::MAX);
        // Admission by frequency would drop fresh subjects of a full cache, and the fresh ones are asked for.
        let cache = Cache::builder().max_capacity(subjects_memory).eviction_policy(EvictionPolicy::lru());
        Self {
            bans: RwLock::default(),
            subjects: cache.weigher(weight).build(),
            wanted: Mutex::default(),
            time,
            ipv6_prefix: AtomicU8::new(64),
            as_of: AtomicI64::new(NOTHING_YET),
            published: Mutex::new(Stopwatch::start()),
        }
    }

    /// Takes in what one commit changed. Bans of the update are visible before its subjects.
    pub fn publish(&self, update: ServingUpdate) {
        if !update.bans.is_empty() {
            self.publish_bans(update.bans);
        }
        for subject in update.subjects {
            self.publish_subject(subject);
        }
        // Bounds memory now, not at some later read.
        self.subjects.run_pending_tasks();
        metrics::serving(self.subjects.entry_count(), self.subjects.weighted_size());
        self.as_of.fetch_max(update.as_of.millis(), Ordering::Relaxed);
        *self.published.lock().unwrap_or_else(PoisonError::into_inner) = Stopwatch::start();
    }

    fn publish_bans(&self, changes: Vec<BanChange>) {
        let mut bans = self.bans.write().unwrap_or_else(PoisonError::into_inner);
        for change in changes {
            bans.apply(change);
        }
        for kind in EntityKind::ALL {
            metrics::bans_active(kind.name(), bans.count(kind));
        }
    }

    fn publish_subject(&self, update: SubjectUpdate) {
        let known = self.subjects.get(&update.entity);
        let mut subject = known.map_or_else(|| Subject::new(update.entity.clone()), Arc::unwrap_or_clone);
        subject.update(update);
        self.subjects.insert(subject.entity.clone(), Arc::new(subject));
    }

    /// From now on IPv6 addresses are looked up by this prefix: the policy's.
    pub fn set_ipv6_prefix(&self, prefix: u8) {
        self.ipv6_prefix.store(prefix, Ordering::Relaxed);
    }

    /// What is known of an entity now. An unknown one is noted as wanted. Any spelling of an address will do.
    pub fn ask(&self, entity: Entity) -> Answer {
        let entity = self.normalise(entity);
        let now = self.now();
        let bans = self.bans.read().unwrap_or_else(PoisonError::into_inner);
        let in_force = bans.in_force(&entity, now);
        drop(bans);
        let subject = self.subjects.get(&entity);
        if subject.is_none() {
            self.want(&entity);
        }
        Answer { entity, as_of: self.as_of(), now, bans: in_force, subject }
    }

    fn normalise(&self, entity: Entity) -> Entity {
        let prefix = self.ipv6_prefix.load(Ordering::Relaxed);
        let bare = entity.value.strip_suffix(&format!("/{prefix}")).unwrap_or(&entity.value);
        match (entity.kind, Address::parse(bare, prefix)) {
            (EntityKind::Ip, Some(address)) => Entity::new(EntityKind::Ip, address.to_string()),
            _ => entity,
        }
    }

    /// The subjects that were asked for and not known, since the last call; in no order.
    pub fn take_wanted(&self) -> Vec<Entity> {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *wanted).into_iter().collect()
    }

    /// Bans held, expired ones included until their end is told.
    pub fn bans(&self) -> usize {
        let bans = self.bans.read().unwrap_or_else(PoisonError::into_inner);
        EntityKind::ALL.into_iter().map(|kind| bans.count(kind)).sum()
    }

    fn want(&self, entity: &Entity) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        if wanted.len() < WANTED_MAX {
            wanted.insert(entity.clone());
        }
    }

    fn as_of(&self) -> Option<Timestamp> {
        match self.as_of.load(Ordering::Relaxed) {
            NOTHING_YET => None,
            millis => Some(Timestamp::from_millis(millis)),
        }
    }

    fn now(&self) -> Timestamp {
        match (self.time, self.as_of()) {
            (ReaderTime::Stream, Some(as_of)) => {
                let published = *self.published.lock().unwrap_or_else(PoisonError::into_inner);
                let passed = i64::try_from(published.elapsed().as_millis()).unwrap_or(i64::MAX);
                as_of.after(Span::from_millis(passed))
            }
            _ => clock::now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::subject::Penalty;
    use super::*;
    use crate::engine::ban::Origin;
    use crate::engine::verdict::Verdict;

    fn user(value: impl Into<String>) -> Entity {
        Entity::new(EntityKind::User, value)
    }

    fn ban(entity: Entity, expires_at: Option<Timestamp>) -> Ban {
        Ban {
            id: "b".into(),
            entity,
            verdict: Verdict::Block,
            origin: Origin::Actor("ann".into()),
            code: "MANUAL".into(),
            reason: "test".into(),
            issued_at: Timestamp::from_millis(0),
            expires_at,
        }
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn update(as_of: i64, bans: Vec<BanChange>, subjects: Vec<SubjectUpdate>) -> ServingUpdate {
        ServingUpdate { as_of: at(as_of), bans, subjects }
    }

    #[test]
    fn an_unknown_subject_may_be_banned_and_is_noted_once() {
        let serving = Serving::new(1 << 20, ReaderTime::Stream);
        serving.publish(update(1000, vec![BanChange::InForce(vec![ban(user("u"), None)])], Vec::new()));
        for _ in 0..3 {
            let answer = serving.ask(user("u"));
            assert!(answer.subject.is_none() && !answer.bans.is_empty());
        }
        assert_eq!(serving.take_wanted(), [user("u")]);
        assert!(serving.take_wanted().is_empty());
        serving.publish(update(1001, Vec::new(), vec![SubjectUpdate::seen(user("u"), at(7))]));
        assert_eq!(serving.ask(user("u")).subject.map(|subject| subject.seen_at), Some(at(7)));
        assert!(serving.take_wanted().is_empty());
    }

    #[test]
    fn a_ban_ends_with_its_time_with_its_lift_and_with_its_tombstone() {
        let serving = Serving::new(1 << 20, ReaderTime::Stream);
        let told = ["timed", "lifted", "gone", "stays"].map(user);
        let end = Some(at(500_000));
        let bans = told.iter().map(|who| BanChange::InForce(vec![ban(who.clone(), end)])).collect();
        serving.publish(update(1000, bans, Vec::new()));
        assert!(told.iter().all(|who| !serving.ask(who.clone()).bans.is_empty()));
        let lifted = BanChange::Lifted {
            entity: user("lifted"),
            ban: Box::new(ban(user("lifted"), end)),
            actor: "ann".into(),
            reason: "a mistake".into(),
            at: at(2000),
        };
        let forever = BanChange::InForce(vec![ban(user("stays"), None)]);
        serving.publish(update(2000, vec![lifted, BanChange::Gone(user("gone")), forever], Vec::new()));
        serving.publish(update(500_000, Vec::new(), Vec::new()));
        let banned = told.map(|who| !serving.ask(who).bans.is_empty());
        assert_eq!(banned, [false, false, false, true]);
    }

    #[test]
    fn an_address_is_found_by_any_spelling() {
        let serving = Serving::new(1 << 20, ReaderTime::Stream);
        let banned = ["2001:db8::/64", "192.0.2.1"].map(|value| Entity::new(EntityKind::Ip, value));
        let bans = banned.iter().map(|who| BanChange::InForce(vec![ban(who.clone(), None)])).collect();
        serving.publish(update(1, bans, Vec::new()));
        for value in ["2001:db8::/64", "2001:DB8::7", "[2001:db8::1]:443", "192.0.2.1", "::ffff:192.0.2.1"] {
            let answer = serving.ask(Entity::new(EntityKind::Ip, value));
            assert!(!answer.bans.is_empty() && banned.contains(&answer.entity), "{value}");
        }
        assert!(serving.take_wanted().iter().all(|wanted| banned.contains(wanted)));
        serving.set_ipv6_prefix(56);
        let wider = serving.ask(Entity::new(EntityKind::Ip, "2001:db8::7")).entity;
        assert_eq!(wider.value, "2001:db8::/56");
    }

    /// The wall clock is far beyond a ban of 1970; the stream's time is not.
    #[test]
    fn readers_of_live_traffic_go_by_the_wall_clock() {
        for (time, banned) in [(ReaderTime::Wall, false), (ReaderTime::Stream, true)] {
            let serving = Serving::new(1 << 20, time);
            let change = BanChange::InForce(vec![ban(user("u"), Some(at(86_400_000)))]);
            serving.publish(update(1000, vec![change], Vec::new()));
            assert_eq!(!serving.ask(user("u")).bans.is_empty(), banned, "{time:?}");
        }
    }

    #[test]
    fn profiles_stay_within_their_memory_and_the_newest_are_there() {
        let memory = 1 << 20;
        let serving = Serving::new(memory, ReaderTime::Stream);
        for batch in 0..40 {
            let penalty = Some(Penalty { points: 1.0, at: at(0) });
            let seen =
                |n| SubjectUpdate { penalty, ..SubjectUpdate::seen(user(format!("u{batch}-{n}")), at(1)) };
            serving.publish(update(1, Vec::new(), (0..250).map(seen).collect()));
            assert!(serving.subjects.weighted_size() <= memory);
        }
        assert!(serving.subjects.entry_count() > 1000, "{}", serving.subjects.entry_count());
        let newest = (0..250).filter(|n| serving.ask(user(format!("u39-{n}"))).subject.is_some()).count();
        assert_eq!(newest, 250);
    }

    #[test]
    fn notes_of_what_was_asked_for_are_bounded() {
        let serving = Serving::new(1 << 20, ReaderTime::Wall);
        for n in 0..2 * WANTED_MAX {
            serving.ask(user(n.to_string()));
        }
        assert_eq!(serving.take_wanted().len(), WANTED_MAX);
    }
}
