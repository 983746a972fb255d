//! Look: what the crowd on the target of an event says about its actor.

use super::composition::{Composition, Group, Shares, agreed};
use super::follow::{SUSPECT, part_of};
use super::gate::{self, Gates, WINDOWS_MAX};
use super::gathering::Gathering;
use super::persona;
use super::state::{Crowds, usual};
use super::trail::Place;
use super::traits::{self, Traits};
use super::weigh::{Evidence, Heard, LEAST_SUSPECT, evidence, heard, prior};
use super::{campaign::Campaign, entry};
use crate::engine::Engine;
use crate::engine::event::Event;
use crate::engine::expr::Slot;
use crate::engine::facts::Facts;
use crate::engine::look::Look;
use crate::engine::plan::{ACTION, ADDRESS, TARGET, USER, Watched};
use crate::engine::policy::{CrowdFact, Crowds as Watches, Policy, Settings};
use crate::engine::table;
use crate::engine::time::{Span, Timestamp};
use crate::engine::timers::{Timer, Timers};

/// What is known of the crowd on the target of an event that is watched.
#[derive(Clone, Debug)]
pub(crate) struct CrowdLook {
    /// Key of the gate.
    pub(super) key: u64,
    /// Hashes of target, its owner, and action.
    pub(super) target: u64,
    pub(super) owner: Option<u64>,
    pub(super) action: u64,
    /// The record that the gate is in.
    pub(super) gate: table::Slot,
    pub(super) traits: Traits,
    /// The actor belongs to the campaign on the target.
    pub(crate) belongs: bool,
    /// What the crowd says, when it says anything.
    pub(crate) says: Option<Says>,
}

/// How busy a target is.
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    /// The longest window in which it is busy enough to open a gate.
    opens: Option<Span>,
    /// It is busy enough to keep one open.
    stays: bool,
}

/// What a crowd says about the actor.
#[derive(Clone, Debug)]
pub(crate) struct Says {
    pub(crate) evidence: Evidence,
    /// Points by which the prior is higher than usual.
    pub(crate) prior: i32,
    pub(super) suspect: f64,
    /// The share that each kind of evidence says was brought in.
    pub(super) shares: Shares,
    pub(super) group: Group,
    /// Much of the crowd meets again and again.
    pub(super) meets: bool,
    /// Accounts by which it was judged.
    pub(crate) users: u32,
}

impl Engine {
    /// Looks at the crowd on the target of an event, if it is watched.
    pub(in crate::engine) fn look_at_crowd(&mut self, event: &Event<'_>, facts: &Facts, look: &mut Look<'_>) {
        let Some(watched) = self.plan.watched else { return };
        let people = watched.people.map(|slot| match look.slots[slot] {
            Slot::Int(people) => people.unsigned_abs(),
            _ => 0,
        });
        let hashes = (look.hashes[USER], look.hashes[TARGET], look.hashes[ACTION]);
        let (Some(user), Some(target), Some(action)) = hashes else { return };
        let key = look.keys[watched.dimension].filter(|_| people[0] > 0);
        let (Some(key), Some(gate)) = (key, look.watched) else { return };
        let traits = self.traits(user, event, facts, look, watched);
        let Self { crowds: Some(crowds), policy, timers, plan, tables, .. } = self else { return };
        let Some(mut gates) = Gates::of(watched, &plan.dimensions, tables) else { return };
        let owner = event.target_owner.as_deref().map(|owner| self.seed.bytes(owner.as_bytes()));
        let mut seen = CrowdLook { key, target, owner, action, gate, traits, belongs: false, says: None };
        crowds.note(&mut gates, &seen, people, policy, timers);
        seen.belongs = crowds.belongs(key, user, look.at);
        seen.says = crowds.says(&seen, policy);
        fill(&self.plan.crowd, &seen, &mut look.slots);
        look.crowd = Some(seen);
    }

    fn traits(
        &self,
        user: u64,
        event: &Event<'_>,
        facts: &Facts,
        look: &Look<'_>,
        watched: Watched,
    ) -> Traits {
        let at = look.at;
        let names = self.policy.crowds.as_ref().map(|crowds| crowds.device.as_slice()).unwrap_or_default();
        let mut device = traits::device(names, event, self.seed);
        if let Some(persona) = self.policy.crowds.as_ref().and_then(|crowds| crowds.persona.as_ref()) {
            device[persona::FIRST..].copy_from_slice(&persona::values(persona, event, self.seed));
        }
        let people = watched.address_users.map(|slot| &look.slots[slot]);
        Traits {
            user,
            at,
            age: facts.account_age.map_or(0, traits::age_bin),
            neighbours: match people {
                Some(Slot::Int(people)) => traits::neighbours_bin(*people),
                _ => 0,
            },
            can_join: facts.can_join(),
            cohort: facts.account_age.map_or(0, |age| traits::cohort(at.before(age), at)),
            address: look.hashes[ADDRESS].map_or(0, |hash| ((hash >> 32) as u32).max(1)),
            device,
        }
    }
}

impl Crowds {
    /// Notes an event on a target: opens its gate or keeps it open, and judges the crowd when it is time.
    fn note(
        &mut self,
        gates: &mut Gates<'_>,
        seen: &CrowdLook,
        people: [u64; WINDOWS_MAX],
        policy: &Policy,
        timers: &mut Timers,
    ) {
        let Some(settings) = &policy.crowds else { return };
        let at = seen.traits.at;
        let (is_open, trail) = {
            let words = gates.get(seen.gate);
            (gate::is_open(words), gate::trail(words))
        };
        let busy = self.busy(gates, seen, people, settings);
        let given_up = seen.gate.is_guest() || gate::is_given_up(gates.get(seen.gate));
        if !is_open && (busy.opens.is_none() || given_up) {
            return;
        }
        if !is_open {
            self.open(gates, seen, trail, busy.opens.unwrap_or_default(), timers);
        }
        let Self { open, actions, open_bytes, bursts, campaigns, .. } = self;
        let Some(crowd) = open.get_mut(&seen.key) else { return };
        *open_bytes -= crowd.bytes();
        crowd.note(&seen.traits, bursts);
        *open_bytes += crowd.bytes();
        crowd.window = crowd.window.max(busy.opens.unwrap_or_default());
        if busy.stays {
            crowd.busy_at = crowd.busy_at.max(at);
        }
        if crowd.is_due(at) {
            let whole = crowd.part_of.and_then(|whole| campaigns.get(&whole));
            let known = whole.map(|whole| &whole.cohorts);
            crowd.judge(&usual(actions, seen.action).actors, (bursts, known), &heard(policy, None), at);
            crowd.of_one_group().into_iter().for_each(|group| bursts.unite(&group));
            crowd.part_of = part_of(campaigns, (seen.key, crowd), policy);
        }
    }

    /// How busy the target is, by the windows in which people are counted.
    fn busy(
        &mut self,
        gates: &mut Gates<'_>,
        seen: &CrowdLook,
        people: [u64; WINDOWS_MAX],
        settings: &Watches,
    ) -> Busy {
        let is_campaign = self.campaigns.contains_key(&seen.key);
        let (words, here) = (gates.get_mut(seen.gate), usual(&mut self.actions, seen.action));
        let mut busy = Busy::default();
        for (number, counted) in settings.people.iter().enumerate().take(WINDOWS_MAX) {
            let now = people[number];
            let peak = gate::note(words, number, counted.window, now, seen.traits.at);
            if let Some(peak) = peak.filter(|_| !is_campaign) {
                here.busy[number].feed(peak, settings.gate.quantile, seen.traits.at);
            }
            let threshold = gate::threshold(counted, &settings.gate, &here.busy[number]);
            if now >= threshold {
                busy.opens = Some(counted.window);
            }
            busy.stays |= now.saturating_mul(2) >= threshold;
        }
        busy
    }

    /// Opens a gate; who came within the window before is in the trail.
    fn open(
        &mut self,
        gates: &mut Gates<'_>,
        seen: &CrowdLook,
        trail: Place,
        window: Span,
        timers: &mut Timers,
    ) {
        let at = seen.traits.at;
        let (target, owner, action) = (seen.target, seen.owner, seen.action);
        let mut crowd =
            Gathering { target, owner, action, opened_at: at, busy_at: at, window, ..Gathering::default() };
        let mut earlier = self.earlier(seen.key, trail, at.before(window));
        while let Some(traits) = earlier.pop() {
            crowd.note(&traits, &mut self.bursts);
        }
        self.open_bytes += crowd.bytes();
        match self.open.insert(seen.key, crowd) {
            // Its record had to make room for another one meanwhile.
            Some(before) => self.open_bytes -= before.bytes(),
            None => timers.set(at.after(window.times(2)), Timer::CrowdEnds { key: seen.key }),
        }
        gate::set_open(gates.get_mut(seen.gate), true);
        self.make_room(gates, seen.key);
    }

    /// The traits of those who came after `from`, newest first; so many as a crowd keeps.
    fn earlier(&mut self, key: u64, trail: Place, from: Timestamp) -> Vec<Traits> {
        let (mut place, mut found, mut words) = (trail, Vec::new(), std::mem::take(&mut self.room.words));
        while found.len() < Gathering::MEMBERS
            && let Some(before) = self.trail.read(place, key, &mut words)
            && let Some(entry) = entry::read(&words)
            && entry.traits.at > from
        {
            found.push(entry.traits);
            place = before;
        }
        self.room.words = words;
        found
    }

    /// Gives up the crowds that were busy longest ago until the others fit, but not this one.
    fn make_room(&mut self, gates: &mut Gates<'_>, keep: u64) {
        while self.open_bytes > self.open_budget {
            let others = self.open.iter().filter(|(key, _)| **key != keep);
            let Some(oldest) = others.min_by_key(|(key, crowd)| (crowd.busy_at, **key)).map(|(key, _)| *key)
            else {
                return;
            };
            self.given_up += 1;
            self.close(gates, oldest, gate::give_up);
        }
    }

    /// Closes a gate.
    pub(super) fn close(&mut self, gates: &mut Gates<'_>, key: u64, close: impl FnOnce(&mut [u32])) {
        if let Some(crowd) = self.open.remove(&key) {
            self.open_bytes -= crowd.bytes();
        }
        if let Some(slot) = gates.find(key) {
            close(gates.get_mut(slot));
        }
    }

    /// What the crowd says about the actor.
    fn says(&self, seen: &CrowdLook, policy: &Policy) -> Option<Says> {
        let (crowd, user) = (self.open.get(&seen.key)?, seen.traits.user);
        let cleared = |campaign: &Campaign| campaign.is_cleared(seen.traits.at);
        if self.campaigns.get(&seen.key).is_some_and(cleared) {
            return None;
        }
        if crowd.part_of.is_some_and(|whole| self.is_bystander((whole, crowd.came), user, seen.traits.at)) {
            return None;
        }
        let judged = self.judged(seen.key, crowd);
        let evidence = evidence(judged, &seen.traits, crowd.of(seen.traits.user))?;
        let Composition { suspect, shares, group, users, .. } = *judged;
        let (prior, meets) = (prior(&policy.settings, suspect), judged.is_group(SUSPECT));
        Some(Says { evidence, prior, suspect, shares, group, meets, users })
    }

    /// What a crowd is held to be: what it was judged to be last or, where that says nothing, what established the campaign
    /// on it since its gate opened. Each judgement hangs on a few hundred accounts and on what is usual just then, which a
    /// large attack changes in time.
    fn judged<'c>(&'c self, key: u64, crowd: &'c Gathering) -> &'c Composition {
        let campaign = self.campaigns.get(&key).filter(|campaign| campaign.walked.1 >= crowd.opened_at);
        let misses = crowd.composition.suspect < LEAST_SUSPECT;
        campaign.filter(|_| misses).map_or(&crowd.composition, |campaign| &campaign.composition)
    }
}

impl Says {
    /// Points by which the prior is higher than usual when only these kinds are heard; `None` when then no two
    /// families agree, so that the crowd says nothing at all.
    pub(crate) fn prior_without(&self, settings: &Settings, heard: &Heard) -> Option<i32> {
        let mut shares = self.shares;
        shares.iter_mut().zip(heard).filter(|(_, heard)| !**heard).for_each(|(share, _)| *share = 0.0);
        if shares == self.shares {
            return Some(self.prior);
        }
        let suspect = agreed(&shares, self.group);
        (suspect >= LEAST_SUSPECT).then(|| prior(settings, suspect))
    }
}

fn fill(facts: &[(usize, CrowdFact)], seen: &CrowdLook, slots: &mut [Slot<'_>]) {
    let Some(says) = &seen.says else { return };
    for (slot, fact) in facts {
        slots[*slot] = match fact {
            CrowdFact::Users => Slot::Int(says.users.into()),
            CrowdFact::Suspect => Slot::Double(says.suspect),
            CrowdFact::Evidence(kind) => {
                says.evidence[*kind as usize].map_or(Slot::Unknown, |weighed| Slot::Double(weighed.log_odds))
            }
        };
    }
}
