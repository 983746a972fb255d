//! Follow: what a decision leaves behind for the next judgements of crowds: an entry of the trail, ordinary actors, and
//! the growth of campaigns.

use std::collections::BTreeMap;

use super::campaign::{Campaign, Walk};
use super::entry::{self, Stand};
use super::gate::{self, Gates};
use super::gathering::{Gathering, Member};
use super::look::{CrowdLook, Says};
use super::state::{CAMPAIGNS_MAX, Crowds, usual};
use super::traits::Traits;
use super::weigh::{evidence, is_member, prior, score, sums};
use crate::engine::Engine;
use crate::engine::binding::entity_key;
use crate::engine::case::Case;
use crate::engine::cases::CaseEvent;
use crate::engine::decide::Judged;
use crate::engine::decision::DecisionId;
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::event::{Arrival, Event};
use crate::engine::look::Look;
use crate::engine::policy::Policy;
use crate::engine::table::Slot;
use crate::engine::time::{Span, Timestamp};
use crate::engine::timers::Timer;
use crate::engine::verdict::Verdict;

/// A crowd is established when two families agree that so much of it was brought in ...
pub(super) const SUSPECT: f64 = 0.15;
/// ... and it was judged by so many accounts; by fewer when they meet again and again.
const USERS: u32 = 30;
const USERS_OF_GROUP: u32 = 15;
/// Of a group that meets again and again this part of the members is enough that makes a campaign.
const MEMBERS_OF_GROUP: (usize, usize) = (2, 5);
/// A campaign is remembered for so long after it has grown, at least: who pushes once pushes again.
const REMEMBERED: Span = Span::from_secs(3 * 86_400);
/// What a campaign's members do besides draws crowds of at most this part of it.
const BESIDES: u64 = 4;
/// Corrections are looked for anew when half as many accounts again have come ...
const WALK_GROWTH: (u64, u64) = (3, 2);
/// ... or any have, after so long.
const WALK_AGAIN: Span = Span::from_secs(300);

impl Engine {
    /// Leaves behind what the next judgements of the crowd need of a decision.
    pub(in crate::engine) fn follow_crowd(
        &mut self,
        event: &Event<'_>,
        arrival: &Arrival<'_>,
        look: &Look<'_>,
        judged: &Judged,
        id: DecisionId,
        cases: &mut Vec<Case>,
    ) {
        let Self { crowds: Some(crowds), plan, tables, .. } = self else { return };
        let (Some(seen), Some(watched)) = (&look.crowd, plan.watched) else { return };
        if let Some(mut gates) = Gates::of(watched, &plan.dimensions, tables) {
            crowds.leave(&mut gates, seen, event, arrival, judged, id);
        }
        let speaks = seen.says.as_ref().is_some_and(|says| speaks_against(&self.policy, says));
        if !speaks {
            crowds.learn(seen);
        }
        let enough = |says: &&Says| says.users >= if says.meets { USERS_OF_GROUP } else { USERS };
        let says = seen.says.as_ref().filter(|says| says.suspect >= SUSPECT).filter(enough);
        // What a member does besides, on a target without a campaign, is no growth of any.
        let known = seen.belongs && crowds.campaigns.contains_key(&seen.key);
        if says.is_some_and(|says| self.belongs(event, look.at, seen, says)) || known {
            self.grow(event, look.at, seen, cases);
        }
    }

    /// Establishes the campaign on a target if its crowd is one, and says whether the actor belongs to it.
    fn belongs(&mut self, event: &Event<'_>, at: Timestamp, seen: &CrowdLook, says: &Says) -> bool {
        let Self { crowds: Some(crowds), policy, timers, plan, tables, .. } = self else { return false };
        let gates = plan.watched.and_then(|watched| Gates::of(watched, &plan.dimensions, tables));
        let began =
            gates.and_then(|gates| crowds.establish(&gates, (seen.key, seen.target), seen.gate, policy, at));
        let Some(began) = began else { return false };
        if let Some(campaign) = crowds.campaigns.get_mut(&seen.key).filter(|_| began) {
            if campaign.name.is_empty() {
                timers.set(at.after(policy.settings.retroactive_window), Timer::CrowdEnds { key: seen.key });
                campaign.name = event.target.as_deref().unwrap_or_default().to_owned();
            }
            timers.set(at.after(WALK_AGAIN), Timer::CrowdEnds { key: seen.key });
        }
        is_member(policy, &says.evidence, says.prior)
    }

    /// Lets the campaign on a target grow by the actor.
    fn grow(&mut self, event: &Event<'_>, at: Timestamp, seen: &CrowdLook, out: &mut Vec<Case>) {
        let Some(crowds) = &mut self.crowds else { return };
        crowds.join(seen.key, &seen.traits, at);
        if let (Some(target), Some(user)) = (&event.target, &event.user) {
            self.add_to_campaign((seen.key, seen.target), target, user, at, out);
        }
    }

    /// Adds an event of a member to the case of a campaign, or of the one that it is a part of. `gate` is the key of its gate,
    /// `hash` that of its target.
    pub(super) fn add_to_campaign(
        &mut self,
        (gate, hash): (u64, u64),
        target: &str,
        user: &str,
        at: Timestamp,
        out: &mut Vec<Case>,
    ) {
        let Some(watched) = &self.policy.crowds else { return };
        let (info, proposal) = (&watched.campaign.info, &watched.campaign.proposal);
        let whole = self.crowds.as_ref().and_then(|crowds| crowds.whole_of(gate));
        let (gate, hash, target) =
            whole.map_or((gate, hash, target), |(gate, whole)| (gate, whole.target, whole.name.as_str()));
        let entity = Entity::new(EntityKind::Target, target);
        let key = entity_key(EntityKind::Target, hash);
        if self.exceptions.on(key, |known| *known == entity, &info.id, at).is_some() {
            return;
        }
        let campaign = self.crowds.as_ref().and_then(|crowds| crowds.campaigns.get(&gate));
        let campaign = campaign.map(|campaign| &campaign.facts);
        let (rule, code, account) = (&info.id, &info.code, Some(user));
        let event = CaseEvent { rule, code, proposal, entity, account, at, campaign };
        self.cases.add(key ^ self.seed.bytes(info.id.as_bytes()), event, &mut self.timers, out);
    }

    /// Closes a gate that has not been busy, and forgets a campaign whose decisions are final.
    pub(in crate::engine) fn crowd_ends(&mut self, key: u64, now: Timestamp) {
        let Self { crowds: Some(crowds), policy, timers, plan, tables, .. } = self else { return };
        let Some(mut gates) = plan.watched.and_then(|watched| Gates::of(watched, &plan.dimensions, tables))
        else {
            return;
        };
        let quiet = crowds.open.get(&key).map(|crowd| crowd.busy_at.after(crowd.window.times(2)));
        if quiet.is_some_and(|end| end <= now) {
            crowds.close(&mut gates, key, |gate| gate::set_open(gate, false));
        }
        let walks = crowds.walk_again(&gates, key, policy, now);
        let retroactive = policy.settings.retroactive_window;
        let end = crowds.campaigns.get(&key).map(|campaign| {
            campaign
                .grown_at
                .after(retroactive.max(REMEMBERED))
                .max(campaign.cleared_until.unwrap_or_default())
        });
        if end.is_some_and(|end| end <= now) {
            crowds.campaigns.remove(&key);
            crowds.walking.retain(|walking| *walking != key);
        }
        let again = walks.then(|| now.after(WALK_AGAIN));
        if let Some(next) = [quiet, end, again].into_iter().flatten().filter(|end| *end > now).min() {
            timers.set(next, Timer::CrowdEnds { key });
        }
    }
}

impl Crowds {
    /// An entry of the trail. All that a correction tells is kept of those who could belong to a bought crowd and were not
    /// refused.
    fn leave(
        &mut self,
        gates: &mut Gates<'_>,
        seen: &CrowdLook,
        event: &Event<'_>,
        arrival: &Arrival<'_>,
        judged: &Judged,
        id: DecisionId,
    ) {
        if seen.gate.is_guest() {
            return;
        }
        let before = gate::trail(gates.get(seen.gate));
        let told = seen.traits.can_join && judged.verdict < Verdict::Reject;
        let stand = Stand { first: judged.verdict, now: judged.verdict, revision: 0 };
        let told = told.then_some((event, arrival, id));
        entry::write(&mut self.room, (stand, &seen.traits), &judged.plain, told);
        let place = self.trail.push(seen.key, before, &self.room.words);
        gate::set_trail(gates.get_mut(seen.gate), place);
    }

    /// Takes an actor for ordinary, unless his crowd is not judged yet or he belongs to a campaign.
    fn learn(&mut self, seen: &CrowdLook) {
        let Self { actions, open, campaigns, .. } = self;
        if open.get(&seen.key).is_some_and(|crowd| !crowd.is_judged()) {
            return;
        }
        let belongs = || campaigns.values().any(|campaign| campaign.members.contains(&seen.traits.user));
        usual(actions, seen.action).actors.note(&seen.traits, seen.target, || !belongs());
    }

    /// Whether the crowd behind a gate is established, now or since earlier, and whether corrections were sent on their way,
    /// which they are when it has grown.
    fn establish(
        &mut self,
        gates: &Gates<'_>,
        (key, target): (u64, u64),
        gate: Slot,
        policy: &Policy,
        at: Timestamp,
    ) -> Option<bool> {
        let (Some(watched), Some(crowd)) = (&policy.crowds, self.open.get(&key)) else { return None };
        let known = self.campaigns.get(&key).map(|campaign| campaign.walked);
        if known.is_some_and(|walked| !has_grown(crowd.came, at, walked)) {
            return Some(false);
        }
        let mut members = members(policy, crowd);
        let part_of =
            known.map_or(crowd.part_of, |_| self.campaigns.get(&key).and_then(|known| known.part_of));
        if let Some(whole) = part_of {
            members.retain(|user, _| !self.is_bystander((whole, crowd.came), *user, at));
        }
        if known.is_none() {
            let (part, of) = if crowd.composition.is_group(SUSPECT) { MEMBERS_OF_GROUP } else { (1, 1) };
            if members.len() * of < watched.campaign.members * part || self.campaigns.len() >= CAMPAIGNS_MAX {
                return None;
            }
            self.campaigns.entry(key).or_default().part_of = part_of;
        }
        let campaign = self.campaigns.entry(key).or_default();
        (campaign.target, campaign.walked) = (target, (crowd.came, at));
        // A judgement that misses later does not undo the one that established it.
        if crowd.composition.suspect >= SUSPECT || known.is_none() {
            campaign.judged(&crowd.composition);
        }
        let until = at.before(policy.settings.retroactive_window);
        campaign.walk = Some(Walk { at: gate::trail(gates.get(gate)), until, back: false });
        if !self.walking.contains(&key) {
            self.walking.push(key);
        }
        members.into_values().for_each(|traits| self.join(key, &traits, at));
        Some(true)
    }

    /// Sends corrections on their way once more, for those who came since the last time; false when nobody did.
    fn walk_again(&mut self, gates: &Gates<'_>, key: u64, policy: &Policy, now: Timestamp) -> bool {
        let Some(campaign) = self.campaigns.get(&key).filter(|campaign| !campaign.is_cleared(now)) else {
            return false;
        };
        let (target, walked) = (campaign.target, campaign.walked);
        let suspicious = |crowd: &&Gathering| crowd.composition.suspect >= SUSPECT;
        let due =
            self.open.get(&key).filter(suspicious).is_some_and(|crowd| has_grown(crowd.came, now, walked));
        let gate = gates.find(key).filter(|_| due);
        gate.is_some_and(|gate| self.establish(gates, (key, target), gate, policy, now) == Some(true))
    }
}

/// Whether so many have come since a walk that it is time for another one.
fn has_grown(came: u64, at: Timestamp, (walked, then): (u64, Timestamp)) -> bool {
    came.saturating_mul(WALK_GROWTH.1) >= walked.saturating_mul(WALK_GROWTH.0)
        || (came > walked && at.since(then) >= WALK_AGAIN)
}

impl Crowds {
    /// The campaign that another one is a part of, with the key of its gate.
    pub(super) fn whole_of(&self, gate: u64) -> Option<(u64, &Campaign)> {
        let whole = self.campaigns.get(&gate)?.part_of?;
        self.campaigns.get(&whole).map(|campaign| (whole, campaign))
    }

    /// Notes a member of a campaign, and of the one that it is a part of.
    pub(super) fn join(&mut self, gate: u64, traits: &Traits, at: Timestamp) {
        let whole = self.whole_of(gate).map(|(whole, _)| whole);
        for key in [Some(gate), whole].into_iter().flatten() {
            if let Some(campaign) = self.campaigns.get_mut(&key) {
                campaign.join(traits, at);
            }
        }
    }
}

impl Crowds {
    /// Whether an account belongs to the campaign on a target, or to the one that its crowd is a part of.
    pub(super) fn belongs(&self, gate: u64, user: u64, at: Timestamp) -> bool {
        let holds = |gate: u64| self.campaigns.get(&gate).is_some_and(|campaign| campaign.holds(user, at));
        holds(gate) || self.open.get(&gate).and_then(|crowd| crowd.part_of).is_some_and(holds)
    }

    /// Whether an account is in a crowd only by chance that a campaign's members draw besides: `came` accounts came to it.
    /// Small crowds tell those who were brought in badly apart, and the campaign knows its own.
    pub(super) fn is_bystander(&self, (whole, came): (u64, u64), user: u64, at: Timestamp) -> bool {
        self.campaigns.get(&whole).is_some_and(|whole| {
            let members = whole.members.len() as u64;
            whole.is_cleared(at)
                || (came.saturating_mul(BESIDES) <= members && !whole.members.contains(&user))
        })
    }
}

/// The campaign to which most of those belong whom a crowd speaks against.
pub(super) fn part_of(
    campaigns: &BTreeMap<u64, Campaign>,
    (key, crowd): (u64, &Gathering),
    policy: &Policy,
) -> Option<u64> {
    if let Some(known) = campaigns.get(&key) {
        return known.part_of;
    }
    let members = members(policy, crowd);
    let mut wholes = campaigns.iter().filter(|(_, campaign)| campaign.part_of.is_none());
    let most = |(_, campaign): &(&u64, &Campaign)| campaign.has_most_of(&members);
    wholes.find(most).filter(|_| !members.is_empty()).map(|(gate, _)| *gate)
}

/// Those whom a crowd alone makes members.
fn members(policy: &Policy, crowd: &Gathering) -> BTreeMap<u64, Traits> {
    let prior = prior(&policy.settings, crowd.composition.suspect);
    let belongs = |member: &&Member| {
        let evidence = evidence(&crowd.composition, &member.traits, Some(member));
        evidence.is_some_and(|evidence| is_member(policy, &evidence, prior))
    };
    crowd.members.iter().filter(belongs).map(|member| (member.traits.user, member.traits)).collect()
}

/// Whether a crowd says more against the actor than for him.
fn speaks_against(policy: &Policy, says: &Says) -> bool {
    score(0, sums(policy, std::iter::empty(), &says.evidence).into_iter()) > 0
}
