//! The road of one event through the model: arrive, look, judge, act.

use std::collections::HashMap;

use super::act::Hand;
use super::condition::{Known, Scope};
use super::facts::actors;
use super::judge::{Fired, Judged, judge};
use super::look::{Binding, LimitLook, Look, Refusal, refusal, refuses};
use super::meter::{Addition, measure};
use super::quota::Reading;
use super::range::Range;
use super::register::strength;
use super::{Answer, Hint, Model, Told, fields};
use crate::engine::address::Address;
use crate::engine::decision::{DecisionId, QualityCode};
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::event::{Arrival, Event};
use crate::engine::expr::Condition;
use crate::engine::input::{DeadLetterReason, Outcome};
use crate::engine::policy::{Effect, Measure, Mode, OnEmpty, OnRepeat, Origin, Policy};
use crate::engine::rollout::Rollout;
use crate::engine::time::{Span, Timestamp};
use crate::engine::verdict::Verdict;

impl Model {
    /// One interaction.
    pub fn event(&mut self, event: &Event<'_>, arrival: Arrival<'_>, hint: Hint<'_>) -> Answer {
        let Some((at, moved)) = self.effective(event.occurred_at, arrival.append_time) else {
            return Answer::of(Outcome::DeadLettered(DeadLetterReason::FutureTimestamp));
        };
        let mut answer = Answer::of(Outcome::Decided);
        self.advance(at, &mut answer);
        let settings = &self.policy.settings;
        let address = Address::of(event, settings.trusted_hops, settings.ipv6_prefix);
        let mut look = Look { at, address, ..Look::default() };
        let conflict = match self.seen_before(event, &look) {
            Some(true) => {
                answer.outcome = Outcome::Duplicate;
                return answer;
            }
            seen => seen.is_some(),
        };
        self.blind |= hint.told.is_some_and(|told| self.lost(told));
        let mut names = self.look(event, &mut look, hint);
        let whole = moved.into_iter().chain(conflict.then_some(QualityCode::IdConflict));
        whole.for_each(|code| look.note(code, None, true));
        self.warming(&mut look);
        self.decide(event, arrival, &mut look, &mut names, hint, &mut answer);
        answer
    }

    /// Whether a decision says that counts were pushed out: that is so too when a count or limit is an estimate.
    fn lost(&self, told: &Told) -> bool {
        let sketched = |counter: &str| {
            let signal = self.policy.signals.iter().find(|signal| *signal.name == *counter);
            signal.is_some_and(|signal| matches!(signal.measure, Measure::Distinct { .. } | Measure::Pace(_)))
        };
        let estimates = told.quality.iter().filter(|(code, _)| code == QualityCode::Approximate.name());
        told.says(QualityCode::Evicted.name())
            || estimates
                .into_iter()
                .any(|(_, counter)| counter.as_deref().is_some_and(|counter| !sketched(counter)))
    }

    /// `occurred_at` held near the append time; `None` when it is too far ahead.
    fn effective(&self, occurred: Timestamp, append: Timestamp) -> Option<(Timestamp, Option<QualityCode>)> {
        let settings = &self.policy.settings;
        let ahead = occurred.millis() - append.millis();
        match ahead {
            ahead if ahead > settings.max_skew.millis() => None,
            ahead if ahead > settings.skew.millis() => {
                Some((append.after(settings.skew), Some(QualityCode::Early)))
            }
            ahead if -ahead > settings.grace.millis() => {
                Some((append.before(settings.grace), Some(QualityCode::Late)))
            }
            _ => Some((occurred, None)),
        }
    }

    /// Whether the actor sent this id within the horizon: `Some(true)` with the same content, `Some(false)` with other.
    fn seen_before(&mut self, event: &Event<'_>, look: &Look) -> Option<bool> {
        let user = event.user.as_deref().map(|user| format!("user {user}"));
        let actor =
            user.or_else(|| look.address.map(|address| format!("address {address}"))).unwrap_or_default();
        let content = format!(
            "{:?}",
            (
                event.occurred_at,
                &event.action,
                &event.target,
                &event.device.id,
                &event.content_hash,
                &event.ip
            )
        );
        let horizon = self.policy.settings.duplicate_horizon;
        let key = (actor, event.id.clone().into_owned());
        match self.seen.get(&key) {
            Some((earlier, known)) if look.at.since(*earlier) < horizon => Some(*known == content),
            _ => {
                self.seen.insert(key, (look.at, content));
                None
            }
        }
    }

    /// Looks at everything; returns the names of expressions with their values.
    fn look(&mut self, event: &Event<'_>, look: &mut Look, hint: Hint<'_>) -> Vec<(String, Option<Known>)> {
        look.unfamiliar = !self.sight(event, look);
        look.trusted =
            look.address.is_some_and(|address| address.within(&self.policy.settings.trusted_networks));
        let mut names = self.names(event, look);
        look.shared = self.share(event, look);
        look.binding = self.binding(event, look);
        let passed = self.filters(&names);
        for dimension in 0..self.policy.dimensions.len() {
            self.dimension(dimension, event, look, &mut names, (&passed, hint));
        }
        names
    }

    /// Which filters of signals and limits hold, by their text; they ask for what the event tells and what is known of its
    /// actor, not for signals.
    fn filters(&self, names: &[(String, Option<Known>)]) -> HashMap<String, bool> {
        let expressions = &self.layout.expressions;
        let signals = self.policy.signals.iter().filter_map(|signal| signal.filter.as_ref());
        let limits = self.policy.limits.iter().filter_map(|limit| limit.filter.as_ref());
        let mut passed = HashMap::new();
        for text in signals.chain(limits).map(|filter| &*filter.text) {
            if !passed.contains_key(text) {
                let holds = expressions.holds(text, &expressions.scope_of(text, names)) == Some(true);
                passed.insert(text.to_owned(), holds);
            }
        }
        passed
    }

    /// The strongest ban or penalty step on the event's user, device or address.
    fn binding(&self, event: &Event<'_>, look: &Look) -> Option<Binding> {
        let actors = actors(event, look).into_iter().map(|(kind, value)| Entity::new(kind, value));
        let bans = actors.filter_map(|actor| self.bans.strongest(&actor).cloned());
        let ban = bans.max_by_key(strength);
        let mut all: Vec<Binding> = ban
            .map(|ban| Binding {
                verdict: ban.verdict,
                left: ban.expires_at.map(|end| end.since(look.at)),
                id: ban.id,
            })
            .into_iter()
            .collect();
        let steps = &self.policy.settings.penalties.steps;
        for kind in [EntityKind::User, EntityKind::Device] {
            let stands = self.person(kind, event, look).and_then(|person| person.stands(look.at));
            if let Some((step, until)) = stands.and_then(|(step, until)| Some((steps.get(step)?, until))) {
                let left = Some(until.since(look.at));
                all.push(Binding { id: step.info.id.clone(), verdict: step.verdict, left });
            }
        }
        all.into_iter().max_by_key(|binding| (binding.verdict, binding.left.map_or(i64::MAX, Span::millis)))
    }

    fn dimension(
        &mut self,
        dimension: usize,
        event: &Event<'_>,
        look: &mut Look,
        names: &mut [(String, Option<Known>)],
        (passed, hint): (&HashMap<String, bool>, Hint<'_>),
    ) {
        let passes = |filter: &Option<Condition>| filter.as_ref().is_none_or(|filter| passed[&filter.text]);
        let policy = std::sync::Arc::clone(&self.policy);
        let key =
            fields::key(&policy.dimensions[dimension].fields, event, look.address, policy.places.as_deref());
        let signals: Vec<usize> =
            (0..policy.signals.len()).filter(|n| policy.signals[*n].dimension == dimension).collect();
        for signal in signals {
            if let Some(key) = key.as_ref().filter(|_| passes(&policy.signals[signal].filter))
                && let Some(value) = self.signal(signal, key, event, look, names)
            {
                let slot = policy.catalogue.iter().position(|name| name.origin == Origin::Signal(signal));
                names[slot.expect("each signal has its name")].1 = Some(value);
            }
        }
        let bound = look.binding.as_ref().is_some_and(|binding| binding.verdict == Verdict::Block);
        for (number, rule) in policy.limits.iter().enumerate() {
            if rule.dimension != dimension || rule.mode == Mode::Off || !passes(&rule.filter) {
                continue;
            }
            match &key {
                None if rule.on_empty == OnEmpty::Refuse => look.limits.push(keyless(number)),
                Some(key) if !look.trusted && !bound => self.limit(number, key, look, names, hint),
                _ => {}
            }
        }
    }

    fn signal(
        &mut self,
        number: usize,
        key: &str,
        event: &Event<'_>,
        look: &mut Look,
        names: &[(String, Option<Known>)],
    ) -> Option<Known> {
        let policy = std::sync::Arc::clone(&self.policy);
        let signal = &policy.signals[number];
        let mut addition = Addition { at: look.at.millis(), n: 1, of: 0 };
        match &signal.measure {
            Measure::Count { .. } => {}
            Measure::Pace(spec) => {
                let counter = self.layout.signals[number].clone();
                return Some(self.pace((&counter, &signal.name), (&event.action, key), look, spec));
            }
            Measure::Travel { least_km, exits } => {
                let counter = self.layout.signals[number].clone();
                return self.travel(&counter, key, look, (signal.window, *least_km), exits);
            }
            Measure::Sum { of, .. } => {
                let expressions = &self.layout.expressions;
                let value = expressions.number(&of.text, &expressions.scope_of(&of.text, names))?;
                addition.n = (value.lo * 1000.0).round() as i64;
            }
            Measure::Distinct { of, .. } => {
                let value = fields::part(of, event, look.address, policy.places.as_deref())?;
                addition.of = self.value_number(&value);
            }
        }
        let counter = self.layout.signals[number].clone();
        let born = self.born.get(&counter).copied();
        let series = self.signals.entry(counter).or_default().entry(key.to_owned()).or_default();
        let grace = policy.settings.grace.millis();
        let measured = measure(series, signal, grace, addition);
        let name = Some(signal.name.as_ref());
        if measured.backlog != Some(false) {
            look.note(QualityCode::Backlog, name, measured.backlog == Some(true));
        }
        if measured.approximate {
            look.note(QualityCode::Approximate, name, false);
        }
        young(look, &signal.name, born, signal.window, self.layout.longest);
        let doubles = matches!(signal.measure, Measure::Sum { .. });
        Some(if doubles { Known::Doubles(measured.value) } else { Known::Ints(measured.value) })
    }

    fn limit(
        &mut self,
        number: usize,
        key: &str,
        look: &mut Look,
        names: &[(String, Option<Known>)],
        hint: Hint<'_>,
    ) {
        let policy = std::sync::Arc::clone(&self.policy);
        let rule = &policy.limits[number];
        let expressions = &self.layout.expressions;
        let weigh = |text: &str| expressions.number(text, &expressions.scope_of(text, names));
        let cost = rule.cost.as_ref().and_then(|cost| weigh(&cost.text));
        let cost = cost.map_or(1, |cost| cost.lo.max(0.0).ceil() as u64);
        let mut readings: Vec<Reading> = Vec::new();
        for (span, counter) in rule.spans.iter().zip(self.layout.spans[number].clone()) {
            let born = self.born.get(&counter).copied();
            let quota = self.quotas.entry(counter).or_default().entry(key.to_owned()).or_default();
            let reading = quota.check(&span.spec, look.at.millis(), cost);
            if reading.backlog != Some(false) {
                look.note(QualityCode::Backlog, Some(&rule.info.id), reading.backlog == Some(true));
            }
            let window = span.spec.algorithm.window();
            young(look, &rule.info.id, born, window, self.layout.longest);
            readings.push(reading);
        }
        let (refused, sure) =
            self.follow(refuses(&readings), open(rule.mode, rule.rollout), &rule.info.id, look, hint);
        let mut refusal = refused.then(|| refusal(&readings));
        if let (Some(refusal), Some(repeat)) = (&mut refusal, rule.on_repeat) {
            refusal.repeated = self.repeats(number, key, look.at, repeat);
        }
        look.limits.push(LimitLook { rule: number, refusal, sure, cost, key: Some(key.to_owned()) });
    }

    /// What is known, or else what was told; and whether that is sure.
    pub(super) fn follow(
        &self,
        known: Option<bool>,
        mode: Mode,
        id: &str,
        look: &mut Look,
        hint: Hint<'_>,
    ) -> (bool, bool) {
        if let Some(known) = known {
            return (known, true);
        }
        look.followed += 1;
        let visible = hint.told.filter(|told| mode == Mode::Live || told.shadow.is_some());
        (visible.is_some_and(|told| told.names(id)), visible.is_some())
    }

    /// Whether a refusal now belongs to an episode that began soon after another.
    fn repeats(&self, limit: usize, key: &str, at: Timestamp, repeat: OnRepeat) -> bool {
        let window = self.policy.limits[limit].info.window.unwrap_or_default();
        let counter = self.layout.spans[limit].first();
        let earlier = counter.and_then(|counter| self.refusals.get(counter)?.get(key));
        let (mut last, mut begin, mut repeated) = (None::<Timestamp>, None::<Timestamp>, false);
        for refused in earlier.into_iter().flatten().copied().chain([at]) {
            if last.is_none_or(|last| refused.since(last) >= window) {
                repeated = begin.is_some_and(|begin| refused.since(begin) < repeat.within);
                begin = Some(refused);
            }
            last = last.max(Some(refused));
        }
        repeated
    }

    /// Until the longest window has passed since the start, every decision says so.
    fn warming(&self, look: &mut Look) {
        let watched = self.started_at.map_or(Span::ZERO, |started| look.at.since(started));
        if watched < self.layout.longest.times(8).plus(Span::from_secs(2 * 86_400)) {
            look.note(QualityCode::WarmingUp, None, watched < self.layout.longest);
        }
        look.note(QualityCode::Evicted, None, false);
    }

    fn decide(
        &mut self,
        event: &Event<'_>,
        arrival: Arrival<'_>,
        look: &mut Look,
        names: &mut [(String, Option<Known>)],
        hint: Hint<'_>,
        answer: &mut Answer,
    ) {
        let policy = std::sync::Arc::clone(&self.policy);
        let mentioned = names.iter().zip(&policy.catalogue).filter(|(_, name)| name.used);
        let scope = self.layout.expressions.scope(mentioned.map(|(known, _)| known));
        let by_limits = look.followed;
        let (fired, doubtful) = self.fired(&scope, look, hint);
        look.crowd_prior = told_prior(&policy, hint);
        look.campaign = told_campaign(&policy, hint);
        let pools = self.pools(&scope);
        drop(scope);
        let id = DecisionId::first(&arrival, &event.id);
        let hand = Hand { event, look, id, hint };
        let mut judged = self.judged(&hand, &fired, by_limits);
        while self.spend(&hand, &judged, answer) {
            judged = self.judged(&hand, &fired, by_limits);
        }
        self.act(&hand, &mut judged, &fired, &pools, answer);
        if judged.rules_ran {
            doubtful.into_iter().for_each(|rule| self.doubt_case(rule, &hand));
        }
        self.remember(id, &judged.expected, hint.told.is_some());
        answer.expected = Some(judged.expected);
    }

    /// The verdict, whether or not it is known that the address is shared by many.
    fn judged(&self, hand: &Hand<'_>, fired: &[Fired], by_limits: usize) -> Judged {
        let (event, look, hint) = (hand.event, hand.look, hand.hint);
        let judge = |shared: bool| {
            let law = (&*self.policy, self.exceptions.as_slice());
            let mut judged: Judged = judge(law, (&self.radius, hint), event, look, shared, fired);
            judged.expected.id = hand.id.to_string();
            if !judged.rules_ran {
                judged.expected.followed = by_limits;
            }
            judged
        };
        match (look.shared, hint.told) {
            (Some(shared), _) => judge(shared),
            (None, None) => judge(false),
            (None, Some(told)) => {
                let open = judge(false);
                let mut judged = if open.expected.faults(told).is_empty() { open } else { judge(true) };
                judged.expected.followed += 1;
                judged
            }
        }
    }

    /// The rules that hold; and those of which only the engine can know, where nothing was told.
    fn fired(&self, scope: &Scope<'_>, look: &mut Look, hint: Hint<'_>) -> (Vec<Fired>, Vec<usize>) {
        let expressions = &self.layout.expressions;
        let (mut fired, mut doubtful) = (Vec::new(), Vec::new());
        for (number, rule) in self.policy.rules.iter().enumerate().filter(|(_, rule)| rule.mode != Mode::Off)
        {
            if let Effect::Evidence { .. } = rule.effect {
                fired.extend(told_evidence(number, &rule.info.id, look, hint));
                continue;
            }
            let holds = expressions.holds(&rule.when.text, scope);
            let (holds, sure) = self.follow(holds, open(rule.mode, rule.rollout), &rule.info.id, look, hint);
            doubtful.extend((!sure).then_some(number));
            if holds {
                let value = rule.value.as_ref().and_then(|value| expressions.number(&value.text, scope));
                fired.push(Fired { rule: number, value, points: None });
            }
        }
        (fired, doubtful)
    }

    /// For each pool, which of its conditions hold.
    fn pools(&self, scope: &Scope<'_>) -> Vec<[Option<bool>; 3]> {
        let holds = |condition: &Condition| self.layout.expressions.holds(&condition.text, scope);
        self.policy.observations.iter().map(|pool| pool.conditions.each_ref().map(holds)).collect()
    }
}

/// Where what a rule says is told: of one that acts for a share only, it may be told as shadow.
fn open(mode: Mode, rollout: Option<Rollout>) -> Mode {
    if rollout.is_some() { Mode::Shadow } else { mode }
}

/// Points by which a crowd raises the prior, as told.
fn told_prior(policy: &Policy, hint: Hint<'_>) -> i32 {
    let told = policy.crowds.as_ref().zip(hint.told);
    told.and_then(|(crowds, told)| told.reasons.iter().find(|reason| reason.id == crowds.prior.id))
        .map_or(0, |reason| reason.points)
}

/// What is asked of those who belong to a campaign, as told.
fn told_campaign(policy: &Policy, hint: Hint<'_>) -> Option<Verdict> {
    let (crowds, told) = policy.crowds.as_ref().zip(hint.told)?;
    told.reasons.iter().find(|reason| reason.id == crowds.campaign.info.id)?.verdict
}

/// Evidence of a crowd, which only the engine can know, as it was told.
fn told_evidence(rule: usize, id: &str, look: &mut Look, hint: Hint<'_>) -> Option<Fired> {
    let told = hint.told?;
    let mut reasons = told.reasons.iter().chain(told.shadow.iter().flatten());
    let reason = reasons.find(|reason| reason.id == id)?;
    look.followed += 1;
    Some(Fired { rule, value: reason.value.map(Range::exact), points: Some(reason.points) })
}

/// A limit that refuses for want of a key.
fn keyless(rule: usize) -> LimitLook {
    let refusal = Refusal { wait: None, used: Range::exact(0.0), maxima: vec![0.0], repeated: false };
    LimitLook { rule, refusal: Some(refusal), sure: true, cost: 1, key: None }
}

/// A counter that a reload brought says so until its window has passed; a signal may say so for as long as its
/// dimension's longest window.
fn young(look: &mut Look, name: &str, born: Option<Timestamp>, window: Span, longest: Span) {
    let Some(born) = born else { return };
    let may = longest.times(4).plus(Span::from_secs(86_400));
    if look.at < born.after(may) {
        look.note(QualityCode::WarmingUp, Some(name), look.at < born.after(window));
    }
}
