//! From what was looked at to what must be told: the ladder, families and caps, floors, guards.

use super::Hint;
use super::blast::Radius;
use super::expected::{Expected, ExpectedReason};
use super::look::{Except, Exception, Look, exception};
use super::range::Range;
use super::share::in_force;
use crate::engine::event::Event;
use crate::engine::policy::{Budget, Effect, FallBack, KeyField, LimitRule, Policy, Rule, SharedAddress};
use crate::engine::time::Span;
use crate::engine::verdict::Verdict;

/// A rule that fired, with its value.
#[derive(Clone, Debug)]
pub(super) struct Fired {
    pub(super) rule: usize,
    pub(super) value: Option<Range>,
    /// Its points, where they are those of evidence that only the engine can know.
    pub(super) points: Option<i32>,
}

/// A verdict with what is needed to record it.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) expected: Expected,
    /// What each limit of the look asked for after exemptions and guards.
    pub(super) asked: Vec<Option<Verdict>>,
    /// Whether rules were asked at all.
    pub(super) rules_ran: bool,
    /// Budgets of what took part in a verdict above `allow`.
    pub(super) touched: Vec<usize>,
}

/// Judges. `shared` says whether the address counts as shared by many; `fired` are the rules whose condition holds.
pub(super) fn judge(
    (policy, exceptions): (&Policy, &[Exception]),
    (radius, hint): (&Radius, Hint<'_>),
    event: &Event<'_>,
    look: &Look,
    shared: bool,
    fired: &[Fired],
) -> Judged {
    let guard = policy.settings.shared_address.as_ref().filter(|_| shared);
    let told = Expected::default();
    let fallen = |budget: &Budget| radius.fallen(budget, look.at, hint);
    let fallen = policy.blast.budgets.iter().map(fallen).collect();
    let mut bench = Bench {
        policy,
        exceptions,
        event,
        look,
        guard,
        told,
        endless: false,
        asked: Vec::new(),
        fallen,
        touched: Vec::new(),
        most: Verdict::Block,
    };
    bench.bind();
    let mut rules_ran = false;
    if !look.trusted && bench.told.verdict < Verdict::Block {
        bench.limits();
        if bench.told.verdict < Verdict::Reject {
            rules_ran = true;
            bench.rules(fired);
        }
    }
    bench.asked.resize(look.limits.len(), None);
    bench.close(rules_ran)
}

struct Bench<'b> {
    policy: &'b Policy,
    exceptions: &'b [Exception],
    event: &'b Event<'b>,
    look: &'b Look,
    guard: Option<&'b SharedAddress>,
    told: Expected,
    /// No wait helps.
    endless: bool,
    asked: Vec<Option<Verdict>>,
    /// What the rule of each budget does instead, and of how many accounts that is said.
    fallen: Vec<Option<(FallBack, f64)>>,
    touched: Vec<usize>,
    /// The most that the score may ask for.
    most: Verdict,
}

impl Bench<'_> {
    fn bind(&mut self) {
        self.told.score = self.policy.settings.prior;
        if let Some(binding) = &self.look.binding {
            self.told.reasons.push(demand(&binding.id, binding.verdict));
            self.raise(binding.verdict, binding.left.map(|left| Range::whole(left.millis())));
            self.endless |= binding.verdict >= Verdict::Reject && binding.left.is_none();
        }
    }

    fn limits(&mut self) {
        for look in &self.look.limits {
            let rule = &self.policy.limits[look.rule];
            let except = self.exception(&rule.info.id);
            let refusal = look.refusal.as_ref().filter(|_| except != Some(Except::Exempt));
            let Some(refusal) = refusal else {
                self.asked.push(None);
                continue;
            };
            let repeat = rule.on_repeat.filter(|_| refusal.repeated);
            let own = repeat.map_or(rule.verdict, |repeat| repeat.verdict);
            let reason = |verdict| ExpectedReason {
                value: Some(refusal.used),
                thresholds: refusal.maxima.clone(),
                ..demand(&rule.info.id, verdict)
            };
            let acts = in_force(rule.mode, rule.rollout, &rule.info.id, self.event, self.look);
            let acts = acts && except.is_none();
            let fallen = if acts { self.falls(rule.budget) } else { None };
            if !acts || fallen == Some(FallBack::Shadow) {
                self.told.shadow.push(reason(own));
                self.asked.push(None);
                continue;
            }
            let own = if fallen.is_some() { own.min(Verdict::Hold) } else { own };
            self.touched.extend(rule.budget.filter(|_| fallen.is_none()));
            let held = self.guard.filter(|guard| by_address(self.policy, rule) && guard.cap < own);
            if let Some(guard) = held {
                self.told.reasons.push(demand(&guard.info.id, guard.cap));
            }
            let verdict = held.map_or(own, |guard| guard.cap);
            self.told.reasons.push(reason(verdict));
            self.raise(verdict, refusal.wait.filter(|_| verdict == Verdict::Reject));
            self.endless |= verdict >= Verdict::Reject && refusal.wait.is_none();
            self.asked.push(Some(verdict));
        }
    }

    fn rules(&mut self, fired: &[Fired]) {
        if let (Some(crowds), Some(verdict)) = (&self.policy.crowds, self.look.campaign) {
            self.told.reasons.push(demand(&crowds.campaign.info.id, verdict));
            self.raise(verdict, None);
        }
        if let (Some(crowds), more @ 1..) = (&self.policy.crowds, self.look.crowd_prior) {
            self.told.reasons.push(adds(&crowds.prior.id, more));
            self.told.score += more;
        }
        let mut sums = vec![0i64; self.policy.families.len()];
        for fired in fired {
            let rule = &self.policy.rules[fired.rule];
            let except = self.exception(&rule.info.id);
            if except != Some(Except::Exempt) {
                let acts = in_force(rule.mode, rule.rollout, &rule.info.id, self.event, self.look);
                self.rule(rule, fired, except.is_none() && acts, &mut sums);
            }
        }
        for (sum, family) in sums.iter_mut().zip(&self.policy.families) {
            let over = *sum - i64::from(family.cap);
            if over > 0 {
                self.told.reasons.push(adds(&family.info.id, -(over as i32)));
                *sum -= over;
            }
        }
        self.told.score += sums.iter().sum::<i64>() as i32;
        let all = self.climb(&sums, |_| true).min(self.most);
        let mut verdict = all;
        if let Some(guard) = self.guard {
            let free = self.climb(&sums, |family| !guard.families.contains(&family));
            verdict = all.min(free.max(guard.cap));
            if verdict < all {
                self.told.reasons.push(demand(&guard.info.id, verdict));
            }
        }
        self.raise(verdict, None);
    }

    fn rule(&mut self, rule: &Rule, fired: &Fired, acts: bool, sums: &mut [i64]) {
        let mut reason = ExpectedReason {
            value: fired.value,
            thresholds: rule.threshold.into_iter().collect(),
            ..adds(&rule.info.id, 0)
        };
        match rule.effect {
            Effect::Points(points) => reason.points = points,
            Effect::Floor(floor) => reason.verdict = Some(floor),
            Effect::Evidence { .. } => reason.points = fired.points.unwrap_or(0),
        }
        let fallen = if acts { self.falls(rule.budget) } else { None };
        if !acts || fallen == Some(FallBack::Shadow) {
            return self.told.shadow.push(reason);
        }
        if fallen.is_some() {
            reason.verdict = reason.verdict.map(|floor| floor.min(Verdict::Hold));
            self.most = if reason.points > 0 { Verdict::Hold } else { self.most };
        } else {
            self.touched.extend(rule.budget);
        }
        sums[rule.family] += i64::from(reason.points);
        if let Some(floor) = &mut reason.verdict {
            if let Some(guard) = self.guard.filter(|guard| guard.families.contains(&rule.family)) {
                *floor = guard.cap.min(*floor);
            }
            let floor = *floor;
            self.raise(floor, None);
        }
        self.told.reasons.push(reason);
    }

    /// What a rule does instead of acting, when it has held up too many; that is told.
    fn falls(&mut self, budget: Option<usize>) -> Option<FallBack> {
        let number = budget?;
        let (then, accounts) = self.fallen[number]?;
        let budget = &self.policy.blast.budgets[number];
        let (value, thresholds) = (Some(Range::exact(accounts)), vec![budget.accounts as f64]);
        self.told.reasons.push(ExpectedReason { value, thresholds, ..adds(&budget.info.id, 0) });
        Some(then)
    }

    /// The verdict by the ladder: what speaks against the actor in families that count, what speaks for him in all.
    fn climb(&self, sums: &[i64], counts: impl Fn(usize) -> bool) -> Verdict {
        let settings = &self.policy.settings;
        let mut score = i64::from(settings.prior) + i64::from(self.look.crowd_prior);
        let mut strong = 0;
        for (family, sum) in sums.iter().enumerate() {
            let sum = if counts(family) { *sum } else { (*sum).min(0) };
            score += sum;
            strong += usize::from(sum >= i64::from(settings.strong));
        }
        let ladder = settings.ladder;
        if score >= i64::from(ladder.reject) && strong >= settings.reject_families {
            return Verdict::Reject;
        }
        let steps = [
            (ladder.hold, Verdict::Hold),
            (ladder.challenge, Verdict::Challenge),
            (ladder.demote, Verdict::Demote),
        ];
        steps
            .into_iter()
            .find(|(from, _)| score >= i64::from(*from))
            .map_or(Verdict::Allow, |(_, verdict)| verdict)
    }

    fn raise(&mut self, verdict: Verdict, wait: Option<Range>) {
        self.told.verdict = self.told.verdict.max(verdict);
        self.told.retry_after = match (self.told.retry_after, wait) {
            (Some(a), Some(b)) => Some(Range { lo: a.lo.max(b.lo), hi: a.hi.max(b.hi) }),
            (a, b) => a.or(b),
        };
    }

    fn exception(&self, id: &str) -> Option<Except> {
        exception(self.policy, self.exceptions, id, self.look, self.event)
    }

    /// Reasons by the verdict they ask for, then by their points, then in the order in which they came; the prior last.
    fn close(mut self, rules_ran: bool) -> Judged {
        let settings = &self.policy.settings;
        self.told.reasons.sort_by(|a, b| {
            b.verdict.cmp(&a.verdict).then(b.points.unsigned_abs().cmp(&a.points.unsigned_abs()))
        });
        self.told.reasons.push(adds("prior", settings.prior));
        let waits = self.told.verdict >= Verdict::Reject && !self.endless;
        self.told.retry_after = self.told.retry_after.filter(|_| waits);
        let wait = |span: Span| self.look.at.after(span);
        let held = self.told.verdict == Verdict::Hold;
        self.told.hold = held.then(|| (wait(settings.hold_timeout), settings.hold_default));
        self.told.effective_at = self.look.at;
        self.told.revisable_until = wait(settings.retroactive_window);
        self.told.policy = self.policy.hash.to_string();
        self.told.address = self.look.address.map(|address| address.to_string());
        self.told.quality.clone_from(&self.look.quality);
        self.told.followed = self.look.followed;
        let touched = if self.told.verdict > Verdict::Allow { self.touched } else { Vec::new() };
        Judged { expected: self.told, asked: self.asked, rules_ran, touched }
    }
}

fn by_address(policy: &Policy, rule: &LimitRule) -> bool {
    let has = |wanted: fn(&KeyField) -> bool| policy.dimensions[rule.dimension].fields.iter().any(wanted);
    has(|field| matches!(field, KeyField::Ip(_)))
        && !has(|field| matches!(field, KeyField::User | KeyField::Device))
}

pub(super) fn adds(id: &str, points: i32) -> ExpectedReason {
    ExpectedReason { id: id.to_owned(), points, verdict: None, value: None, thresholds: Vec::new() }
}

pub(super) fn demand(id: &str, verdict: Verdict) -> ExpectedReason {
    ExpectedReason { verdict: Some(verdict), ..adds(id, 0) }
}
