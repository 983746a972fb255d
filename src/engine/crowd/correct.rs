//! Correct: what was decided on the members of a campaign before it was known, within the time in which decisions may be
//! revised.
//!
//! A walk goes back along the trail of the target, a few entries with each input. Each is weighed by what the crowd was
//! judged to be, with what was known of it at first; when that asks for more than holds, the decision is revised. A
//! correction only ever raises, and never beyond `hold`. When a person clears the campaign a walk takes back what was raised.
//! A decision that may still be answered (`recall`) is revised there, so that its revisions are counted in one place.

use std::sync::Arc;

use super::campaign::{Campaign, Walk};
use super::entry::{self, Entry, Stand, Told};
use super::gate::{self, Gates};
use super::state::Crowds;
use super::trail::Place;
use super::weigh::{BELONGS, Evidence, Verdicts, evidence, prior, score, speakers, sums};
use crate::engine::Engine;
use crate::engine::address::Address;
use crate::engine::case::Case;
use crate::engine::decision::{Decision, DecisionId, Hold, Judgement, Reason, ReasonSource};
use crate::engine::feedback::Revision;
use crate::engine::policy::Policy;
use crate::engine::recall::Kept;
use crate::engine::time::{Span, Timestamp};
use crate::engine::timers::Timer;
use crate::engine::verdict::Verdict;

/// The most that a correction asks for: what has happened long since waits for a person; to refuse it is too late.
const MOST: Verdict = Verdict::Hold;
/// Entries looked at with one input.
const ENTRIES: usize = 32;
/// While so many revisions wait, no more are made.
const WAITING_MAX: u64 = 256;
/// After a campaign is cleared nothing is held against its target for this long.
const CLEARED: Span = Span::from_secs(7 * 86_400);

/// One entry on its way to a revision.
struct Found {
    key: u64,
    place: Place,
    entry: Entry,
}

impl Engine {
    /// Goes on with the corrections that are under way.
    pub(in crate::engine) fn correct(&mut self, cases: &mut Vec<Case>) {
        // What a state that was lost had told of it is not known: all of it is told once state is warm.
        let is_idle = |crowds: &Crowds| crowds.walking.is_empty() && crowds.taking_back.is_empty();
        if self.recall.is_warming() || self.crowds.as_ref().is_none_or(is_idle) {
            return;
        }
        for _ in 0..ENTRIES {
            if self.recall.stats().waiting >= WAITING_MAX {
                return;
            }
            if let Some(earlier) = self.crowds.as_mut().and_then(|crowds| crowds.taking_back.pop_front()) {
                self.take_back_earlier(&earlier);
                continue;
            }
            let Some((found, walk)) = self.crowds.as_mut().and_then(Crowds::step) else { return };
            match walk.back {
                true => self.take_back(&found),
                false => self.raise(&found, cases),
            }
        }
    }

    /// A person says that a campaign on this target is honest, with all that is a part of it. False when none is known.
    pub(in crate::engine) fn clear_campaign(&mut self, target: u64, at: Timestamp) -> bool {
        let Self { crowds: Some(crowds), timers, policy, plan, tables, .. } = self else { return false };
        let Some(gates) = plan.watched.and_then(|watched| Gates::of(watched, &plan.dimensions, tables))
        else {
            return false;
        };
        let were_told = crowds.take_back_all(target);
        let until = at.before(policy.settings.retroactive_window);
        let Crowds { campaigns, walking, .. } = crowds;
        let wholes: Vec<u64> =
            campaigns.iter().filter(|(_, campaign)| campaign.target == target).map(|(key, _)| *key).collect();
        let cleared = |campaign: &Campaign| {
            campaign.target == target || campaign.part_of.is_some_and(|whole| wholes.contains(&whole))
        };
        for (key, campaign) in campaigns.iter_mut().filter(|(_, campaign)| cleared(campaign)) {
            campaign.cleared_until = Some(at.after(CLEARED));
            timers.set(at.after(CLEARED), Timer::CrowdEnds { key: *key });
            let Some(gate) = gates.find(*key) else { continue };
            let newest = gate::trail(gates.get(gate));
            campaign.walk = Some(Walk { at: newest, until, back: true });
            if !walking.contains(key) {
                walking.push(*key);
            }
        }
        were_told || !wholes.is_empty()
    }

    /// Raises the verdict on an entry to what is known by now.
    fn raise(&mut self, found: &Found, cases: &mut Vec<Case>) {
        if found.entry.stand.now >= MOST || !found.entry.is_told {
            return;
        }
        let Some(crowds) = &self.crowds else { return };
        let Some(campaign) = crowds.campaigns.get(&found.key) else { return };
        let member = crowds.open.get(&found.key).and_then(|crowd| crowd.of(found.entry.traits.user));
        let (target, composition, traits) = (campaign.target, &campaign.composition, &found.entry.traits);
        let belongs = crowds.belongs(found.key, traits.user, self.now);
        let (came, campaign_since) = campaign.walked;
        if campaign.part_of.is_some_and(|whole| crowds.is_bystander((whole, came), traits.user, self.now)) {
            return;
        }
        let evidence = evidence(composition, traits, member);
        if evidence.is_none() && !belongs {
            return;
        }
        let policy = Arc::clone(&self.policy);
        let more = evidence.map_or(0, |_| prior(&policy.settings, composition.suspect));
        let evidence = evidence.unwrap_or_default();
        let least = if belongs { BELONGS } else { Verdict::Allow };
        let weighed = Weighed::new((&policy, &self.plan.prior), &found.entry, &evidence, more, least);
        if weighed.verdict <= found.entry.stand.now {
            return;
        }
        let Some(told) = self.told(found).filter(|told| !self.is_exempt(told)) else { return };
        let mut stand = found.entry.stand;
        if let Some(earlier) = self.crowds.as_mut().and_then(|known| known.earlier.remove(&told.id.digest)) {
            stand.revision = stand.revision.max(earlier.revision);
        }
        let stand = self.revise(&told, stand, weighed, traits.at);
        let (place, key) = (found.place, found.key);
        if let Some(crowds) = &mut self.crowds {
            crowds.trail.amend(place, key, 0, &stand.words());
            if let Some(campaign) = crowds.campaigns.get_mut(&key) {
                campaign.facts.corrected += 1;
                campaign.join(traits, campaign.grown_at);
            }
        }
        // What was found while state was warmed up is in the case that was taken over.
        let is_counted = campaign_since <= self.recall.warmed_at();
        if let (Some(name), Some(account), false) = (&told.event.target, &told.event.user, is_counted) {
            self.add_to_campaign((found.key, target), name, account, self.now, cases);
        }
    }

    /// Takes a correction back.
    fn take_back(&mut self, found: &Found) {
        let stand = found.entry.stand;
        if stand.revision == 0 || stand.now == stand.first {
            return;
        }
        let Some(told) = self.told(found) else { return };
        let policy = Arc::clone(&self.policy);
        let weighed = Weighed::cleared((&policy, &self.plan.prior), &found.entry);
        let stand = self.revise(&told, stand, weighed, found.entry.traits.at);
        if let Some(crowds) = &mut self.crowds {
            crowds.trail.amend(found.place, found.key, 0, &stand.words());
        }
    }

    /// What a correction of an entry tells.
    fn told(&self, found: &Found) -> Option<Told> {
        let (crowds, mut words) = (self.crowds.as_ref()?, Vec::new());
        crowds.trail.read(found.place, found.key, &mut words)?;
        entry::told(&words)
    }

    /// Whether a person, or the policy, asked that crowds are not held against the user.
    fn is_exempt(&self, told: &Told) -> bool {
        let (Some(watched), Some(user)) = (&self.policy.crowds, &told.event.user) else { return true };
        let entity = crate::engine::entity::Entity::new(crate::engine::entity::EntityKind::User, &**user);
        let id = &watched.campaign.info.id;
        let stated = self.policy.exemptions.iter().any(|stated| {
            self.now < stated.until
                && stated.entity == entity
                && (stated.rules.is_empty() || stated.rules.contains(id))
        });
        let key = self.normalise(&entity).map(|(key, _)| key);
        stated
            || key
                .is_some_and(|key| self.exceptions.on(key, |known| *known == entity, id, self.now).is_some())
    }

    /// Makes the next revision of a decision, and returns how it stands from then on.
    pub(super) fn revise(&mut self, told: &Told, stand: Stand, weighed: Weighed, at: Timestamp) -> Stand {
        let known = self.recall.find(&told.id, self.now).map(Kept::judgement);
        let before =
            known.as_ref().map_or(DecisionId { revision: stand.revision, ..told.id }, |known| known.id);
        let verdict = weighed.verdict;
        let judgement = self.judgement(told, before, weighed, at);
        let revision = Revision {
            event: told.event.clone(),
            topic: told.topic.clone(),
            append_time: told.append_time,
            judgement,
        };
        let decision = Decision { judgement: &revision.judgement, ..revision.decision() };
        let budget = self.policy.settings.retroactive_budget / 2;
        match known {
            Some(_) => self.recall.revise(&decision),
            None if matches!(verdict, Verdict::Challenge | Verdict::Hold) => {
                self.recall.remember(&decision, self.now, budget);
                self.recall.tell_later(&decision);
            }
            None => self.recall.tell_later(&decision),
        }
        Stand { now: verdict, revision: revision.judgement.id.revision, ..stand }
    }

    fn judgement(&self, told: &Told, before: DecisionId, weighed: Weighed, at: Timestamp) -> Judgement {
        let settings = &self.policy.settings;
        let hold = Hold { until: self.now.after(settings.hold_timeout), default: settings.hold_default };
        let Weighed { verdict, score, reasons } = weighed;
        let revision = self.recall.next_revision(before.revision, at, self.now);
        Judgement {
            id: before.revised(revision),
            supersedes: Some(before.revised(revision - 1)),
            address: Address::of(&told.event, settings.trusted_hops, settings.ipv6_prefix),
            effective_at: at,
            verdict,
            score,
            reasons,
            without: Vec::new(),
            retry_after: None,
            hold: (verdict == Verdict::Hold).then_some(hold),
            policy: Arc::clone(&self.policy.hash),
            quality: Vec::new(),
            revisable_until: at.after(settings.retroactive_window),
        }
    }
}

/// The policy, and the reason that carries its prior.
type Judges<'p> = (&'p Policy, &'p Arc<ReasonSource>);

/// What a decision comes to by what is known now.
pub(super) struct Weighed {
    verdict: Verdict,
    score: i32,
    reasons: Vec<Reason>,
}

impl Weighed {
    /// With what the crowd says.
    fn new(
        (policy, source): Judges<'_>,
        entry: &Entry,
        evidence: &Evidence,
        more: i32,
        least: Verdict,
    ) -> Self {
        let plain = entry.points.iter().map(|points| i32::from(*points));
        let sums = sums(policy, plain, evidence);
        let prior = policy.settings.prior.saturating_add(more);
        let verdicts = Verdicts { settings: &policy.settings, prior };
        let verdict = verdicts.of(sums.iter().copied()).clamp(least, MOST);
        let total = score(prior, sums.into_iter());
        let mut reasons: Vec<Reason> = speakers(policy, evidence)
            .map(|(rule, weighed, points)| weighed.reason(&rule.info, points))
            .collect();
        if let Some(watched) = &policy.crowds {
            reasons.push(Reason::of(&watched.prior, more));
            let campaign = Reason { verdict: Some(verdict), ..Reason::of(&watched.campaign.info, 0) };
            reasons.push(campaign);
        }
        Self { verdict, score: total, reasons }.rounded_off((policy, source))
    }

    /// As it was first decided.
    fn cleared((policy, prior): Judges<'_>, entry: &Entry) -> Self {
        let none = Evidence::default();
        let plain = entry.points.iter().map(|points| i32::from(*points));
        let total = score(policy.settings.prior, sums(policy, plain, &none).into_iter());
        Self::cleared_to((policy, prior), entry.stand.first, total)
    }

    /// As it was first decided, with what it came to then.
    pub(super) fn cleared_to((policy, prior): Judges<'_>, first: Verdict, total: i32) -> Self {
        let source = ReasonSource {
            id: "campaign-cleared".to_owned(),
            code: "CAMPAIGN_CLEARED".to_owned(),
            family: "group".to_owned(),
            text: "A person found that the crowd was honest".to_owned(),
            window: None,
        };
        let cleared = Reason { verdict: Some(first), ..Reason::of(&Arc::new(source), 0) };
        Self { verdict: first, score: total, reasons: vec![cleared] }.rounded_off((policy, prior))
    }

    /// With a reason for what was known before, so that the points add up, and the prior.
    fn rounded_off(mut self, (policy, prior): Judges<'_>) -> Self {
        let told = score(policy.settings.prior, self.reasons.iter().map(|reason| reason.points));
        let rest = self.score.saturating_sub(told);
        if let (Some(watched), true) = (&policy.crowds, rest != 0) {
            self.reasons.push(Reason::of(&watched.before, rest));
        }
        self.reasons.retain(|reason| reason.points != 0 || reason.verdict.is_some());
        let rank = |r: &Reason| (std::cmp::Reverse(r.verdict), std::cmp::Reverse(r.points.unsigned_abs()));
        self.reasons.sort_by_key(rank);
        self.reasons.push(Reason::of(prior, policy.settings.prior));
        self
    }
}

impl Crowds {
    /// The next entry of a walk that is under way.
    fn step(&mut self) -> Option<(Found, Walk)> {
        while let Some(&key) = self.walking.first() {
            match self.step_of(key) {
                Some(step) => return Some(step),
                None => {
                    self.walking.remove(0);
                    if let Some(campaign) = self.campaigns.get_mut(&key) {
                        campaign.walk = None;
                    }
                }
            }
        }
        None
    }

    fn step_of(&mut self, key: u64) -> Option<(Found, Walk)> {
        let campaign = self.campaigns.get_mut(&key)?;
        let walk = campaign.walk?;
        let before = self.trail.read(walk.at, key, &mut self.room.words)?;
        let entry = entry::read(&self.room.words)?;
        if entry.traits.at <= walk.until {
            return None;
        }
        campaign.walk = Some(Walk { at: before, ..walk });
        Some((Found { key, place: walk.at, entry }, walk))
    }
}
