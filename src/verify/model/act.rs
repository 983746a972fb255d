//! What follows from a verdict: limits count, refusals cost, cases grow, watches ban.

use super::judge::{Fired, Judged, demand};
use super::look::{LimitLook, Look, counts};
use super::share::in_force;
use super::{Answer, Hint, Model};
use crate::engine::ban::{Ban, Origin};
use crate::engine::case::{Case, CaseStatus};
use crate::engine::decision::{DecisionId, ReasonSource};
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::event::Event;
use crate::engine::policy::{FallBack, Observation};
use crate::engine::time::Span;
use crate::engine::verdict::Verdict;

/// One event that was judged.
pub(super) struct Hand<'a> {
    pub(super) event: &'a Event<'a>,
    pub(super) look: &'a Look,
    pub(super) id: DecisionId,
    pub(super) hint: Hint<'a>,
}

impl Model {
    pub(super) fn act(
        &mut self,
        hand: &Hand<'_>,
        judged: &mut Judged,
        fired: &[Fired],
        pools: &[[Option<bool>; 3]],
        answer: &mut Answer,
    ) {
        for (look, asked) in hand.look.limits.iter().zip(&judged.asked) {
            self.count(look, *asked, judged.expected.verdict, hand);
            if asked.is_some_and(|verdict| verdict >= Verdict::Challenge) {
                self.penalise(look.rule, hand, answer);
            }
        }
        if judged.rules_ran {
            fired.iter().for_each(|fired| self.grow_case(fired.rule, hand, answer));
        }
        let bound = hand.look.binding.as_ref().is_some_and(|binding| binding.verdict >= Verdict::Reject);
        if !hand.look.trusted && !bound {
            self.observe(hand, pools, judged, answer);
        }
    }

    fn count(&mut self, look: &LimitLook, asked: Option<Verdict>, verdict: Verdict, hand: &Hand<'_>) {
        let Some(key) = &look.key else { return };
        let rule = &self.policy.limits[look.rule];
        let acts = in_force(rule.mode, rule.rollout, &rule.info.id, hand.event, hand.look)
            && !self.is_shadowed(rule.budget, hand);
        if counts(rule, acts, look, asked, verdict) || !look.sure {
            for (span, counter) in rule.spans.iter().zip(&self.layout.spans[look.rule]) {
                let quota = self.quotas.entry(counter.clone()).or_default().entry(key.clone()).or_default();
                quota.record(&span.spec, hand.look.at.millis(), look.cost, look.sure);
            }
        }
        if let (Some(_), Some(_), Some(counter)) =
            (&look.refusal, rule.on_repeat, self.layout.spans[look.rule].first())
        {
            let keys = self.refusals.entry(counter.clone()).or_default();
            keys.entry(key.clone()).or_default().push(hand.look.at);
        }
    }

    /// One penalty point for the user or device of a limit that refused.
    fn penalise(&mut self, limit: usize, hand: &Hand<'_>, answer: &mut Answer) {
        let policy = std::sync::Arc::clone(&self.policy);
        let pays =
            |kind| if kind == EntityKind::User && hand.look.unfamiliar { EntityKind::Device } else { kind };
        let Some(entity) = policy.limits[limit].penalty.and_then(|kind| entity(pays(kind), hand)) else {
            return;
        };
        if self.fallen(policy.limits[limit].budget, hand).is_some() {
            return;
        }
        if !self.bans.may_ban(&entity, hand.look.at) {
            return;
        }
        let Some(person) = self.people.get_mut(&(entity.kind, entity.value.clone())) else { return };
        let penalties = &policy.settings.penalties;
        let Some(step) = person.penalise(hand.look.at, penalties.half_life, &penalties.steps) else { return };
        let (number, step) = (step, &penalties.steps[step]);
        if self.is_excepted(&entity, &step.info, hand) {
            return;
        }
        if let Some(person) = self.people.get_mut(&(entity.kind, entity.value.clone())) {
            person.stand(number, hand.look.at.after(step.length));
        }
        if step.verdict == Verdict::Block {
            self.ban(&entity, &step.info, (Verdict::Block, step.length), hand, answer);
        }
        if step.case {
            self.add_case(&step.info, "ban for good", entity, hand, answer);
        }
    }

    /// A ban by the machine.
    fn ban(
        &mut self,
        whom: &Entity,
        info: &ReasonSource,
        (verdict, length): (Verdict, Span),
        hand: &Hand<'_>,
        answer: &mut Answer,
    ) {
        if !self.may_ban(whom, info, hand) {
            return;
        }
        let ban = Ban {
            id: format!("{}/{}", info.id, hand.id),
            entity: whom.clone(),
            verdict,
            origin: Origin::Policy(info.id.clone()),
            code: info.code.clone(),
            reason: info.text.clone(),
            issued_at: hand.look.at,
            expires_at: Some(hand.look.at.after(length)),
        };
        self.bans.issue(ban, &mut answer.bans);
    }

    /// Users and devices only, and not for what a person has pardoned.
    fn may_ban(&self, whom: &Entity, info: &ReasonSource, hand: &Hand<'_>) -> bool {
        let may = match whom.kind {
            EntityKind::User => !hand.look.unfamiliar,
            kind => kind == EntityKind::Device,
        };
        may && self.bans.may_ban(whom, hand.look.at) && !self.is_excepted(whom, info, hand)
    }

    fn grow_case(&mut self, rule: usize, hand: &Hand<'_>, answer: &mut Answer) {
        let policy = std::sync::Arc::clone(&self.policy);
        let rule = &policy.rules[rule];
        let case = rule
            .case
            .as_ref()
            .filter(|_| in_force(rule.mode, rule.rollout, &rule.info.id, hand.event, hand.look))
            .filter(|_| !self.is_shadowed(rule.budget, hand));
        if let Some((case, entity)) = case.and_then(|case| Some((case, entity(case.entity, hand)?))) {
            self.add_case(&rule.info, &case.proposal, entity, hand, answer);
        }
    }

    /// An event may or may not belong to the case of a rule.
    pub(super) fn doubt_case(&mut self, rule: usize, hand: &Hand<'_>) {
        let rule = &self.policy.rules[rule];
        let acts = || in_force(rule.mode, rule.rollout, &rule.info.id, hand.event, hand.look);
        let case = rule.case.as_ref().filter(|_| acts());
        if let Some(entity) = case.and_then(|case| entity(case.entity, hand)) {
            let matter = (rule.info.id.clone(), entity);
            self.cases.doubt(matter, hand.look.at);
        }
    }

    pub(super) fn add_case(
        &mut self,
        info: &ReasonSource,
        proposal: &str,
        entity: Entity,
        hand: &Hand<'_>,
        answer: &mut Answer,
    ) {
        if self.is_excepted(&entity, info, hand) {
            return;
        }
        let at = hand.look.at;
        let new = Case {
            id: format!("{}/{entity}/{}", info.id, at.millis()),
            entity,
            rule: info.id.clone(),
            code: info.code.clone(),
            proposal: proposal.to_owned(),
            status: CaseStatus::Opened,
            opened_at: at,
            updated_at: at,
            events: 0,
            accounts: Vec::new(),
            campaign: None,
            resolution: None,
        };
        self.cases.add(new, hand.event.user.as_deref(), &mut answer.cases);
    }

    /// Whether a rule only tells what it would have done, for it has held up too many.
    fn is_shadowed(&self, budget: Option<usize>, hand: &Hand<'_>) -> bool {
        self.fallen(budget, hand) == Some(FallBack::Shadow)
    }

    /// What it does instead, when it has held up too many.
    fn fallen(&self, budget: Option<usize>, hand: &Hand<'_>) -> Option<FallBack> {
        let budget = &self.policy.blast.budgets[budget?];
        self.radius.fallen(budget, hand.look.at, hand.hint).map(|(then, _)| then)
    }

    /// Whether a person asked that a rule, pool or step does nothing to an entity.
    fn is_excepted(&self, entity: &Entity, info: &ReasonSource, hand: &Hand<'_>) -> bool {
        let mut on = self.exceptions.iter().filter(|exception| &exception.entity == entity);
        on.any(|exception| exception.covers(&info.id, hand.look.at))
    }

    fn observe(
        &mut self,
        hand: &Hand<'_>,
        pools: &[[Option<bool>; 3]],
        judged: &mut Judged,
        answer: &mut Answer,
    ) {
        let policy = std::sync::Arc::clone(&self.policy);
        for (pool, holds) in policy.observations.iter().zip(pools) {
            let Some(entity) = entity(pool.entity, hand) else { continue };
            let key = (pool.info.id.clone(), entity.to_string());
            let watch = self.watches.entry(key.clone()).or_default();
            watch.unsure |= holds.contains(&None);
            let due = watch.note(pool, holds.map(|holds| holds == Some(true)), hand.look.at);
            let told =
                hand.hint.bans.is_some_and(|bans| bans.contains(&format!("{}/{}", pool.info.id, hand.id)));
            let budget = pool.budget.map(|number| &policy.blast.budgets[number]);
            // One that has fallen back tells no ban, but its guard.
            let told = told || budget.is_some_and(|budget| hand.hint.names(&budget.info.id));
            let ban = if watch.unsure && hand.hint.bans.is_some() { told } else { due };
            if ban {
                self.watches.remove(&key);
                self.ban_by_pool(pool, &entity, (hand, judged), answer);
            }
        }
    }

    /// A ban by a pool, within its budget.
    fn ban_by_pool(
        &mut self,
        pool: &Observation,
        entity: &Entity,
        (hand, judged): (&Hand<'_>, &mut Judged),
        answer: &mut Answer,
    ) {
        if !self.may_ban(entity, &pool.info, hand) {
            return;
        }
        let policy = std::sync::Arc::clone(&self.policy);
        let budget = pool.budget.map(|number| &policy.blast.budgets[number]);
        let then =
            budget.and_then(|budget| self.spend_on_ban(budget, entity, hand, &mut judged.expected, answer));
        let verdict = match then {
            None => Verdict::Block,
            Some(FallBack::Shadow) => {
                judged.expected.shadow.push(demand(&pool.info.id, Verdict::Block));
                return;
            }
            Some(FallBack::Hold)
                if hand.look.binding.as_ref().is_some_and(|b| b.verdict >= Verdict::Hold) =>
            {
                return;
            }
            Some(FallBack::Hold) => Verdict::Hold,
        };
        self.ban(entity, &pool.info, (verdict, pool.ban), hand, answer);
    }
}

fn entity(kind: EntityKind, hand: &Hand<'_>) -> Option<Entity> {
    let event = hand.event;
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let value = match kind {
        EntityKind::User => owned(event.user.as_deref()),
        EntityKind::Device => owned(event.device.id.as_deref()),
        EntityKind::Target => owned(event.target.as_deref()),
        EntityKind::Ip => hand.look.address.map(|address| address.to_string()),
    };
    value.map(|value| Entity::new(kind, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::Arrival;
    use crate::engine::key::HashSeed;
    use crate::engine::policy::load::load;
    use crate::engine::time::Timestamp;
    use crate::engine::{Engine, Input, Outputs};
    use crate::verify::model::Told;

    const POLICY: &str = "
version: 1
time: { grace: 5s, skew: 2s, max_skew: 1m }
signals:
  - { name: drawn, key: [target], window: 1m, count: {} }
rules:
  - { id: crowd, family: volume, when: drawn >= 2, points: 1, case: { entity: target, proposal: look }, code: C, text: t, source: s, owner: o }
";

    /// Whether the case is in doubt after an event that came out of order by more than grace: which of the events before
    /// it the engine still sees, the model cannot know.
    fn is_in_doubt(is_told: bool) -> bool {
        let policy = load(&[("p.yaml".to_owned(), POLICY.to_owned())]).expect("valid").policy;
        let mut engine = Engine::new(std::sync::Arc::clone(&policy), HashSeed(1, 2));
        let mut model = Model::new(policy);
        for (offset, seconds) in [(0, 0), (1, 1), (2, 20), (3, 10)] {
            let at = Timestamp::from_millis(1_750_000_000_000 + seconds * 1000);
            let event = Event {
                id: format!("e{offset}").into(),
                occurred_at: at,
                action: "like".into(),
                target: Some("t".into()),
                ..Event::default()
            };
            let arrival = Arrival { topic: "i", partition: 0, offset, append_time: at };
            let mut out = Outputs::default();
            engine.apply(Input::Event(&event, arrival), &mut out);
            let told = out.judgement.map(|judgement| Told::by_engine(&judgement, &out.shadow));
            let hint = Hint { told: told.as_ref().filter(|_| is_told), bans: None };
            model.event(&event, arrival, hint);
            assert!(offset == 3 || model.doubted_cases().is_empty(), "in order nothing is in doubt");
        }
        let matter = ("crowd".to_owned(), Entity::new(EntityKind::Target, "t"));
        assert!(model.doubted_cases().iter().all(|doubted| *doubted == matter));
        assert_eq!(model.open_cases().is_empty(), !model.doubted_cases().is_empty());
        !model.doubted_cases().is_empty()
    }

    #[test]
    fn a_case_is_in_doubt_where_only_an_event_that_nobody_told_can_say_how_far_it_grew() {
        assert!(!is_in_doubt(true), "what was told says it");
        assert!(is_in_doubt(false), "as while state is warmed up");
    }
}
