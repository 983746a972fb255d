//! Record: what follows from a verdict for the next events. Limits count, refusals cost, cases grow, watches ban.

use std::sync::Arc;

use super::Engine;
use super::admit;
use super::ban::{Ban, Origin};
use super::binding::entity_key;
use super::case::Case;
use super::cases::CaseEvent;
use super::decide::Judged;
use super::decision::{DecisionId, ReasonSource};
use super::entity::{Entity, EntityKind};
use super::episode;
use super::event::Event;
use super::exceptions::Exceptions;
use super::input::Outputs;
use super::look::{LimitLook, Look};
use super::plan::field_of;
use super::policy::PenaltyStep;
use super::profile;
use super::time::Span;
use super::verdict::Verdict;

impl Engine {
    /// Records what follows from a verdict and tells the bans and cases that come of it.
    pub(super) fn record(
        &mut self,
        event: &Event<'_>,
        look: &Look<'_>,
        judged: &Judged,
        id: DecisionId,
        out: &mut Outputs,
    ) {
        for (limit, asked) in look.limits.iter().zip(&judged.refused) {
            self.record_limit(event, limit, *asked, judged.verdict, look);
            if asked.is_some_and(|verdict| verdict >= Verdict::Challenge) {
                self.penalise(event, look, limit.limit, id, out);
            }
        }
        for &rule in &judged.fired {
            self.stats.rule_hits[rule] += 1;
            self.grow_case(rule, event, look, &mut out.cases);
        }
        // Who is refused already gives no further sign: a ban would otherwise be made anew at each of his events.
        let bound = look.binding.as_ref().is_some_and(|binding| binding.verdict >= Verdict::Reject);
        if !look.trusted && !bound {
            self.observe_pools(event, look, id, out);
        }
    }

    fn record_limit(
        &mut self,
        event: &Event<'_>,
        limit: &LimitLook,
        asked: Option<Verdict>,
        verdict: Verdict,
        look: &Look<'_>,
    ) {
        let Some(place) = limit.place else { return };
        let (at, key) = (look.at, look.keys[place.dimension]);
        let rule = &self.policy.limits[limit.limit];
        let cells = &self.plan.dimensions[place.dimension].limits[place.limit];
        let table = &mut self.tables[place.dimension];
        if limit.counts(rule, asked, verdict, || {
            rule.acts(event, look.address) && !self.blast.is_in_shadow(&self.policy, rule.budget, at)
        }) {
            let (record, spill) = table.cells_and_spill(place.slot);
            for (span, cell) in &cells.spans {
                // An event too old to be judged is not recorded; its decision says so already.
                let _backlog = span.record(cell.of_mut(record), spill, at, limit.cost);
            }
            if let (true, Some(key)) = (place.slot.is_guest(), key) {
                let n = u32::try_from(limit.cost).unwrap_or(u32::MAX);
                for (span, cell) in &cells.spans {
                    admit::count(table, key, span.window(), cell, n, at);
                }
            }
        }
        if let (Some(_), Some(repeat), Some(cell)) = (limit.refusal, rule.on_repeat, &cells.episode) {
            let record = table.cells_mut(place.slot);
            episode::record(cell.of_mut(record), at, rule.info.window.unwrap_or_default(), repeat.within);
        }
    }

    /// One penalty point for the user or device of a limit that refused.
    fn penalise(
        &mut self,
        event: &Event<'_>,
        look: &Look<'_>,
        limit: usize,
        id: DecisionId,
        out: &mut Outputs,
    ) {
        let Some(kind) = self.policy.limits[limit].penalty.filter(|_| self.costs_points(limit, look)) else {
            return;
        };
        // What is done in a user's name from elsewhere costs the device, not him.
        let kind = if kind == EntityKind::User && !look.familiar { EntityKind::Device } else { kind };
        let Some(entity) = entity_of(kind, event) else { return };
        if !self.bans.may_ban(&entity, look.at) {
            return;
        }
        let Self { users, devices, .. } = self;
        let words = match (kind, look.profiles.user, look.profiles.device) {
            (EntityKind::User, Some(slot), _) => users.cells_mut(slot),
            (EntityKind::Device, _, Some(slot)) => devices.cells_mut(slot),
            _ => return,
        };
        let penalties = &self.policy.settings.penalties;
        let (before, after) = profile::add_penalty(words, look.at, penalties.half_life, 1.0);
        let standing = profile::standing(words, look.at).map(|(step, _)| step);
        let Some(step) = step_reached(&penalties.steps, before, after, standing) else { return };
        let reached = penalties.steps[step].clone();
        if is_excepted(&self.exceptions, look, &entity, &reached.info) {
            return;
        }
        profile::set_standing(words, step, look.at.after(reached.length));
        if reached.verdict == Verdict::Block {
            self.ban(look, &entity, &reached.info, (Verdict::Block, reached.length), id, out);
        }
        if reached.case {
            self.add_case(&reached.info, "ban for good", entity, event, look, &mut out.cases);
        }
    }

    fn observe_pools(&mut self, event: &Event<'_>, look: &Look<'_>, id: DecisionId, out: &mut Outputs) {
        let policy = Arc::clone(&self.policy);
        for (number, rule) in policy.observations.iter().enumerate() {
            let Some(hash) = look.hashes[field_of(rule.entity)] else { continue };
            let holds = rule.conditions.each_ref().map(|when| when.eval(&look.slots) == Some(true));
            let key = entity_key(rule.entity, hash);
            if self.pools[number].note(rule, key, holds, look.at)
                && let Some(entity) = entity_of(rule.entity, event)
            {
                self.ban_by_pool(number, &entity, (event, id), look, out);
            }
        }
    }

    /// A ban by the machine, unless a person has pardoned what led to it. Never of an address, nor of a user for what was done
    /// in his name from an unfamiliar device.
    pub(super) fn ban(
        &mut self,
        look: &Look<'_>,
        entity: &Entity,
        info: &ReasonSource,
        (verdict, length): (Verdict, Span),
        id: DecisionId,
        out: &mut Outputs,
    ) {
        let Some(hash) = self.bannable(look, entity, info) else { return };
        let ban = Ban {
            id: format!("{}/{id}", info.id),
            entity: entity.clone(),
            verdict,
            origin: Origin::Policy(info.id.clone()),
            code: info.code.clone(),
            reason: info.text.clone(),
            issued_at: look.at,
            expires_at: Some(look.at.after(length)),
        };
        self.bans.issue(entity_key(entity.kind, hash), ban, &mut self.timers, &mut out.bans);
    }

    /// The hash of an entity that the machine may ban for this.
    pub(super) fn bannable(&self, look: &Look<'_>, entity: &Entity, info: &ReasonSource) -> Option<u64> {
        let hash = match entity.kind {
            EntityKind::User | EntityKind::Device => look.hashes[field_of(entity.kind)],
            EntityKind::Ip | EntityKind::Target => None,
        };
        let hash = hash.filter(|_| entity.kind != EntityKind::User || look.familiar);
        let hash = hash.filter(|_| self.bans.may_ban(entity, look.at))?;
        (!is_excepted(&self.exceptions, look, entity, info)).then_some(hash)
    }

    fn grow_case(&mut self, rule: usize, event: &Event<'_>, look: &Look<'_>, out: &mut Vec<Case>) {
        let policy = Arc::clone(&self.policy);
        let rule = &policy.rules[rule];
        let Some(case) = rule.case.as_ref().filter(|_| rule.acts(event, look.address)) else { return };
        if self.blast.is_in_shadow(&policy, rule.budget, look.at) {
            return;
        }
        let entity = match case.entity {
            EntityKind::Ip => look.address.map(|address| Entity::new(EntityKind::Ip, address.to_string())),
            kind => entity_of(kind, event),
        };
        if let Some(entity) = entity {
            self.add_case(&rule.info, &case.proposal, entity, event, look, out);
        }
    }

    pub(super) fn add_case(
        &mut self,
        info: &ReasonSource,
        proposal: &str,
        entity: Entity,
        event: &Event<'_>,
        look: &Look<'_>,
        out: &mut Vec<Case>,
    ) {
        let Some(hash) = look.hashes[field_of(entity.kind)] else { return };
        if is_excepted(&self.exceptions, look, &entity, info) {
            return;
        }
        let key = entity_key(entity.kind, hash) ^ self.seed.bytes(info.id.as_bytes());
        let event = CaseEvent {
            rule: &info.id,
            code: &info.code,
            proposal,
            entity,
            account: event.user.as_deref(),
            at: look.at,
            campaign: None,
        };
        self.cases.add(key, event, &mut self.timers, out);
    }
}

/// Whether a person asked that this rule, pool or step does nothing to this entity.
fn is_excepted(exceptions: &Exceptions, look: &Look<'_>, entity: &Entity, info: &ReasonSource) -> bool {
    let hash = |kind| look.hashes[field_of(kind)].filter(|_| kind == entity.kind);
    exceptions.on_any(hash, |known| known == entity, &info.id, look.at).is_some()
}

/// The highest step that these points reach and that does not stand already: by crossing its mark, or because what
/// stood has ended while the points stayed above it.
fn step_reached(steps: &[PenaltyStep], before: f32, after: f32, standing: Option<usize>) -> Option<usize> {
    let reached = steps.iter().rposition(|step| whole(after) >= step.points)?;
    let crossed = whole(before) < steps[reached].points;
    (crossed || standing.is_none()).then_some(reached)
}

/// Points decay between two refusals; five refusals within seconds are five points.
fn whole(points: f32) -> f64 {
    libm::round(f64::from(points))
}

fn entity_of(kind: EntityKind, event: &Event<'_>) -> Option<Entity> {
    let value = match kind {
        EntityKind::User => event.user.as_deref(),
        EntityKind::Device => event.device.id.as_deref(),
        EntityKind::Target => event.target.as_deref(),
        EntityKind::Ip => None,
    };
    value.map(|value| Entity::new(kind, value))
}
