//! Decide: from what was looked at to a verdict with its reasons. Pure: the same look gives the same answer.
//!
//! In order: what binds already, trusted networks, limits, rules. The verdict is the strongest that any of them asks
//! for. Evidence adds up in log-odds points, capped by family; `reject` by suspicion needs several families; what is
//! keyed by a shared address can do no more than the guard lets it. The points of the reasons add up to the score. A rule
//! that is snoozed for an entity, or has held up more accounts than it may, is told as shadow; one that an entity is
//! exempted from is not heard.

use std::sync::Arc;

use super::blast::Blast;
use super::crowd::{BELONGS, Verdicts, score};
use super::decision::{Reason, ReasonSource, Without};
use super::entity::Entity;
use super::event::Event;
use super::exceptions::{ExceptionKind, Exceptions};
use super::look::{LimitLook, Look, Refusal};
use super::plan::Plan;
use super::policy::{Effect, FallBack, Family, KeyField, LimitRule, Mode, Policy, Rule, SharedAddress};
use super::time::Span;
use super::verdict::Verdict;

/// The answer before it is recorded and told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Log-odds points.
    pub score: i32,
    /// Why, strongest first.
    pub reasons: Vec<Reason>,
    /// Which weaker verdict it would be without one evidence family.
    pub without: Vec<Without>,
    /// How long to wait, for refusals that time heals.
    pub retry_after: Option<Span>,
    /// What rules and limits in shadow would have said.
    pub shadow: Vec<Reason>,
    /// Rules that fired, whatever their mode (indices).
    pub fired: Vec<usize>,
    /// For each limit of the look: the verdict it asked for after guards and exemptions.
    pub refused: Vec<Option<Verdict>>,
    /// Points by family, after caps.
    pub points: Vec<i32>,
    /// Points by family without evidence of crowds, before caps.
    pub plain: Vec<i32>,
    /// Budgets of the rules and limits that took part in a verdict above `allow` (indices).
    pub touched: Vec<usize>,
}

/// Judges what was looked at. `room` is an earlier answer, whose room is used again.
pub(crate) fn decide(
    (policy, plan): (&Policy, &Plan),
    exceptions: &Exceptions,
    blast: &Blast,
    event: &Event<'_>,
    look: &Look<'_>,
    room: Judged,
) -> Judged {
    let mut bench = Bench::new((policy, plan), (exceptions, blast), event, look, room);
    bench.reasons.push(Reason::of(&plan.prior, policy.settings.prior));
    bench.bind();
    if look.trusted || bench.verdict == Verdict::Block {
        return bench.close();
    }
    // Who goes on while he is paused is refused by the limits too, and that counts towards the next step.
    bench.limits();
    if bench.verdict < Verdict::Reject {
        bench.crowd();
        bench.rules();
        bench.score();
    }
    bench.close()
}

/// Where evidence is gathered.
struct Bench<'b, 'e> {
    policy: &'b Policy,
    plan: &'b Plan,
    exceptions: &'b Exceptions,
    blast: &'b Blast,
    event: &'b Event<'b>,
    look: &'b Look<'e>,
    guard: Option<&'b SharedAddress>,
    verdict: Verdict,
    retry_after: Option<Span>,
    /// No wait helps: a ban without an end, or a cost above a limit's capacity.
    endless: bool,
    reasons: Vec<Reason>,
    shadow: Vec<Reason>,
    /// Points by family, before caps.
    points: Vec<i32>,
    /// The same without evidence of crowds.
    plain: Vec<i32>,
    fired: Vec<usize>,
    refused: Vec<Option<Verdict>>,
    prior: i32,
    /// What was asked for beside the score: by which family, if by one.
    demands: Vec<(Option<usize>, Verdict)>,
    /// Points by family without evidence of crowds, after caps; once there is a verdict to explain.
    bare: Vec<i32>,
    without: Vec<Without>,
    /// Budgets of the rules and limits that acted.
    touched: Vec<usize>,
    /// The most that the score may ask for, while a rule with points has fallen back to that.
    most: Verdict,
}

impl<'b, 'e> Bench<'b, 'e> {
    fn new(
        (policy, plan): (&'b Policy, &'b Plan),
        (exceptions, blast): (&'b Exceptions, &'b Blast),
        event: &'b Event<'b>,
        look: &'b Look<'e>,
        room: Judged,
    ) -> Self {
        let Judged { mut reasons, mut shadow, mut points, mut plain, mut fired, mut refused, .. } = room;
        let mut touched = room.touched;
        touched.clear();
        reasons.clear();
        shadow.clear();
        points.clear();
        points.resize(policy.families.len(), 0);
        plain.clear();
        plain.resize(policy.families.len(), 0);
        fired.clear();
        refused.clear();
        Self {
            policy,
            plan,
            exceptions,
            blast,
            event,
            look,
            guard: policy.settings.shared_address.as_ref().filter(|_| look.shared_address),
            verdict: Verdict::Allow,
            retry_after: None,
            endless: false,
            reasons,
            shadow,
            points,
            plain,
            fired,
            refused,
            prior: policy.settings.prior,
            demands: Vec::new(),
            bare: Vec::new(),
            without: Vec::new(),
            touched,
            most: Verdict::Block,
        }
    }

    /// What was decided before.
    fn bind(&mut self) {
        let Some(binding) = &self.look.binding else { return };
        self.reasons.push(demand(&binding.source, binding.verdict, None));
        self.demand(None, binding.verdict, binding.left);
        self.endless |= binding.verdict >= Verdict::Reject && binding.left.is_none();
    }

    fn limits(&mut self) {
        for look in &self.look.limits {
            let rule = &self.policy.limits[look.limit];
            let asked = look.refusal.and_then(|refusal| self.limit(rule, refusal));
            self.refused.push(asked);
        }
    }

    /// What a refusing limit asks for, once exemptions and the guard are heard.
    fn limit(&mut self, rule: &LimitRule, refusal: Refusal) -> Option<Verdict> {
        let exception = self.exception(&rule.info);
        if exception == Some(ExceptionKind::Exempt) {
            return None;
        }
        let own = match rule.on_repeat {
            Some(repeat) if refusal.repeated => repeat.verdict,
            _ => rule.verdict,
        };
        let measured = Some((refusal.used as f64, refusal.max as f64));
        let acts = exception.is_none() && rule.acts(self.event, self.look.address);
        let fallen = if acts { self.fallen(rule.budget) } else { None };
        if !acts || fallen == Some(FallBack::Shadow) {
            self.shadow.push(demand(&rule.info, own, measured));
            return None;
        }
        let own = if fallen.is_some() { own.min(Verdict::Hold) } else { own };
        self.touched.extend(rule.budget.filter(|_| fallen.is_none()));
        let verdict = match self.guard {
            Some(guard) if keyed_by_address(self.policy, rule) && own > guard.cap => {
                self.reasons.push(demand(&guard.info, guard.cap, None));
                guard.cap
            }
            _ => own,
        };
        self.reasons.push(demand(&rule.info, verdict, measured));
        self.demand(Some(rule.family), verdict, refusal.retry_after.filter(|_| verdict == Verdict::Reject));
        self.endless |= verdict >= Verdict::Reject && refusal.retry_after.is_none();
        Some(verdict)
    }

    /// A crowd that two families speak against raises the prior of those in it; who belongs to a campaign is not counted.
    fn crowd(&mut self) {
        let belongs = self.look.crowd.as_ref().is_some_and(|crowd| crowd.belongs);
        if let Some(watched) = self.policy.crowds.as_ref().filter(|_| belongs)
            && self.exception(&watched.campaign.info).is_none()
        {
            self.reasons.push(demand(&watched.campaign.info, BELONGS, None));
            self.demand(None, BELONGS, None);
        }
        let says = self.look.crowd.as_ref().and_then(|crowd| crowd.says.as_ref());
        if let (Some(says), Some(watched)) = (says, &self.policy.crowds) {
            self.prior = self.prior.saturating_add(says.prior);
            self.reasons.push(Reason::of(&watched.prior, says.prior));
        }
    }

    fn rules(&mut self) {
        for (index, rule) in self.policy.rules.iter().enumerate() {
            if rule.mode != Mode::Off && self.fires(rule) {
                self.fired.push(index);
                match self.exception(&rule.info) {
                    None if rule.acts(self.event, self.look.address) => {
                        let fallen = self.fallen(rule.budget);
                        self.rule(rule, fallen != Some(FallBack::Shadow), fallen.is_some());
                    }
                    None | Some(ExceptionKind::Snoozed) => self.rule(rule, false, false),
                    Some(ExceptionKind::Exempt) => {}
                }
            }
        }
    }

    /// What the rule of a budget does here, when it has fallen back; that is told.
    fn fallen(&mut self, budget: Option<usize>) -> Option<FallBack> {
        let (then, accounts) = self.blast.fallen(self.policy, budget, self.look.at)?;
        let budget = &self.policy.blast.budgets[budget?];
        let value = Some(accounts as f64);
        self.reasons.push(Reason {
            value,
            threshold: Some(budget.accounts as f64),
            ..Reason::of(&budget.info, 0)
        });
        Some(then)
    }

    /// `held`: it asks for `hold` at the most.
    fn rule(&mut self, rule: &Rule, acts: bool, held: bool) {
        let value = rule.value.as_ref().and_then(|value| value.eval(&self.look.slots));
        let mut reason = Reason { value, threshold: rule.threshold, ..Reason::of(&rule.info, 0) };
        let crowd = self.evidence(rule);
        if let Some(evidence) = &crowd {
            reason = evidence.clone();
        }
        if !acts {
            match rule.effect {
                Effect::Points(points) => reason.points = points,
                Effect::Floor(floor) => reason.verdict = Some(floor),
                Effect::Evidence { .. } => {}
            }
            self.shadow.push(reason);
            return;
        }
        self.touched.extend(rule.budget.filter(|_| !held));
        match rule.effect {
            Effect::Points(points) => {
                reason.points = points;
                self.most = if held { Verdict::Hold } else { self.most };
                self.points[rule.family] = self.points[rule.family].saturating_add(points);
                self.plain[rule.family] = self.plain[rule.family].saturating_add(points);
            }
            Effect::Evidence { .. } => {
                self.points[rule.family] = self.points[rule.family].saturating_add(reason.points);
            }
            Effect::Floor(floor) => {
                let floor = if held { floor.min(Verdict::Hold) } else { floor };
                let capped = self.guard.filter(|guard| guard.families.contains(&rule.family));
                let floor = capped.map_or(floor, |guard| floor.min(guard.cap));
                reason.verdict = Some(floor);
                self.demand(Some(rule.family), floor, None);
            }
        }
        self.reasons.push(reason);
    }

    /// What the crowd says about the actor, as the reason of a rule; `None` when it says nothing of this kind.
    fn evidence(&self, rule: &Rule) -> Option<Reason> {
        let Effect::Evidence { kind, weight } = rule.effect else { return None };
        let says = self.look.crowd.as_ref()?.says.as_ref()?;
        let weighed = says.evidence[kind as usize]?;
        Some(weighed.reason(&rule.info, weighed.points(weight)))
    }

    /// Whether a rule fires.
    fn fires(&self, rule: &Rule) -> bool {
        match rule.effect {
            Effect::Evidence { .. } => self.evidence(rule).is_some_and(|reason| reason.points != 0),
            _ => rule.when.eval(&self.look.slots) == Some(true),
        }
    }

    /// Adds the evidence up and climbs the ladder.
    fn score(&mut self) {
        for (family, sum) in self.policy.families.iter().zip(&mut self.points) {
            if *sum > family.cap {
                self.reasons.push(Reason::of(&family.info, family.cap - *sum));
                *sum = family.cap;
            }
        }

        let (verdict, held) = self.suspicion(None);
        if let (Some(guard), Some(held)) = (self.guard, held) {
            self.reasons.push(demand(&guard.info, held, None));
        }
        self.verdict = self.verdict.max(verdict);
        if self.verdict > Verdict::Allow {
            let capped = self.policy.families.iter().zip(&self.plain);
            self.bare = capped.map(|(family, sum)| (*sum).min(family.cap)).collect();
            self.without = self.each_without();
        }
    }

    /// The verdict that the evidence asks for, without that of one family when it is given; and, when the guard holds it
    /// there, once more.
    fn suspicion(&self, off: Option<usize>) -> (Verdict, Option<Verdict>) {
        let (prior, points) = self.without(off);
        let all = self.ladder(prior, points, |family| Some(family) != off).min(self.most);
        let Some(guard) = self.guard else { return (all, None) };
        let without = |family| Some(family) != off && !guard.families.contains(&family);
        let held = all.min(self.ladder(prior, points, without).max(guard.cap));
        (held, (held < all).then_some(held))
    }

    /// Prior and points when one family says nothing: a crowd may then no longer be one that two families agree on.
    fn without(&self, off: Option<usize>) -> (i32, &[i32]) {
        let says = self.look.crowd.as_ref().and_then(|crowd| crowd.says.as_ref());
        let (Some(says), Some(off)) = (says, off) else { return (self.prior, &self.points) };
        let settings = &self.policy.settings;
        match says.prior_without(settings, &self.plan.heard_without[off]) {
            Some(more) => (settings.prior.saturating_add(more), &self.points),
            None => (settings.prior, &self.bare),
        }
    }

    /// The families without which the verdict would be weaker, with what it would be then.
    fn each_without(&self) -> Vec<Without> {
        let weaker = |(family, info): (usize, &Family)| {
            let others = self.demands.iter().filter(|(by, _)| *by != Some(family));
            let demanded = others.map(|(_, verdict)| *verdict).max().unwrap_or_default();
            let verdict = demanded.max(self.suspicion(Some(family)).0);
            (verdict < self.verdict).then(|| Without { family: info.name.as_str().into(), verdict })
        };
        self.policy.families.iter().enumerate().filter_map(weaker).collect()
    }

    /// The verdict of the evidence of some families: what speaks against the actor only in those, what speaks for him
    /// in all.
    fn ladder(&self, prior: i32, points: &[i32], counts: impl Fn(usize) -> bool + Copy) -> Verdict {
        let held = |(family, sum): (usize, &i32)| if counts(family) { *sum } else { (*sum).min(0) };
        let verdicts = Verdicts { settings: &self.policy.settings, prior };
        verdicts.of(points.iter().enumerate().map(held))
    }

    /// Raises the verdict; of several waits the longest counts.
    fn demand(&mut self, family: Option<usize>, verdict: Verdict, retry_after: Option<Span>) {
        self.demands.push((family, verdict));
        self.verdict = self.verdict.max(verdict);
        self.retry_after = self.retry_after.max(retry_after);
    }

    /// What the policy, or a person, asked a rule not to do here.
    fn exception(&self, info: &ReasonSource) -> Option<ExceptionKind> {
        let is = |entity: &Entity| super::entity_is(entity, self.event, self.look.address);
        let mut stated = self.policy.exemptions.iter().filter(|stated| self.look.at < stated.until);
        let is_exempt = stated
            .any(|stated| (stated.rules.is_empty() || stated.rules.contains(&info.id)) && is(&stated.entity));
        if is_exempt {
            return Some(ExceptionKind::Exempt);
        }
        let hash = |kind| self.look.hashes[super::plan::field_of(kind)];
        self.exceptions.on_any(hash, is, &info.id, self.look.at)
    }

    fn close(mut self) -> Judged {
        let rank = |r: &Reason| (std::cmp::Reverse(r.verdict), std::cmp::Reverse(r.points.unsigned_abs()));
        self.reasons[1..].sort_by_key(rank);
        self.reasons.rotate_left(1);
        let score = score(self.prior, self.points.iter().copied());
        self.refused.resize(self.look.limits.len(), None);
        if self.verdict == Verdict::Allow {
            self.touched.clear();
        }
        Judged {
            verdict: self.verdict,
            score,
            reasons: self.reasons,
            without: self.without,
            retry_after: self.retry_after.filter(|_| self.verdict >= Verdict::Reject && !self.endless),
            shadow: self.shadow,
            fired: self.fired,
            refused: self.refused,
            points: self.points,
            plain: self.plain,
            touched: self.touched,
        }
    }
}

impl LimitLook {
    /// Whether the limit counts the event: always when it counts what it refused, else only when the verdict lets the
    /// event happen and the limit did not refuse it. A refusal that an exemption took back (`asked` is `None` although it
    /// `acts`) counts like any event that happened.
    pub(crate) fn counts(
        &self,
        rule: &LimitRule,
        asked: Option<Verdict>,
        verdict: Verdict,
        acts: impl FnOnce() -> bool,
    ) -> bool {
        let refused = self.refusal.is_some() && (asked.is_some() || !acts());
        rule.count_refused || (!refused && verdict < Verdict::Reject)
    }
}

fn keyed_by_address(policy: &Policy, rule: &LimitRule) -> bool {
    let fields = &policy.dimensions[rule.dimension].fields;
    let by_address = fields.iter().any(|field| matches!(field, KeyField::Ip(_)));
    by_address && !fields.iter().any(|field| matches!(field, KeyField::User | KeyField::Device))
}

fn demand(source: &Arc<ReasonSource>, verdict: Verdict, measured: Option<(f64, f64)>) -> Reason {
    Reason {
        verdict: Some(verdict),
        value: measured.map(|(value, _)| value),
        threshold: measured.map(|(_, threshold)| threshold),
        ..Reason::of(source, 0)
    }
}
