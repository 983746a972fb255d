//! An explanation as data: what `--format json` prints, and what the text is made of.

use serde::Serialize;

use super::state::State;
use crate::engine::decision::{Judgement, Reason, risk_percent};
use crate::engine::entity::EntityKind;
use crate::engine::event::{Arrival, Event};
use crate::engine::expr::Slot;
use crate::engine::expr::parts::{Part, parts};
use crate::engine::policy::listing::catalogue_table;
use crate::engine::policy::{Budget, Effect, FallBack, LimitRule, Mode, Policy, Rule};
use crate::engine::rollout::Rollout;
use crate::engine::time::Timestamp;
use crate::engine::trace::{LimitTrace, Trace, Value};
use crate::engine::verdict::Verdict;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Explanation {
    /// When it counted.
    #[serde(skip)]
    pub(super) at: Timestamp,
    pub(super) event: Fields,
    pub(super) policy: String,
    pub(super) verdict: String,
    pub(super) score: i32,
    pub(super) risk_percent: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retry_after: Option<String>,
    pub(super) before: Vec<State>,
    pub(super) bound_by: Option<String>,
    pub(super) trusted_network: bool,
    pub(super) shared_address: bool,
    /// Rules and limits that have held up as many accounts as they may, and what they do instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) fell_back: Vec<FellBack>,
    /// Accounts by which the crowd on the target was judged, when it says anything.
    pub(super) crowd: Option<u32>,
    pub(super) values: Vec<Named>,
    pub(super) limits: Vec<Limited>,
    pub(super) rules: Vec<Ruled>,
    /// Points that add up to the score.
    pub(super) arithmetic: Vec<Points>,
    pub(super) ladder: Vec<Rung>,
    pub(super) reasons: Vec<Told>,
    pub(super) shadow: Vec<Told>,
    pub(super) quality: Vec<String>,
    pub(super) counterfactuals: Vec<Counterfactual>,
}

/// The event, as far as it is told.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Fields {
    pub(super) id: String,
    /// File and line, or topic, partition and offset.
    pub(super) at: String,
    /// The line, or the number among the records that were read.
    pub(super) line: u64,
    pub(super) action: String,
    pub(super) user: Option<String>,
    pub(super) target: Option<String>,
    pub(super) address: Option<String>,
    pub(super) device: Option<String>,
    pub(super) occurred_at: String,
    pub(super) append_time: String,
    pub(super) effective_at: String,
}

impl Fields {
    /// What a limit or rule is of this event, and for whom it acts when not for all.
    fn mode(&self, stated: Mode, rollout: Option<Rollout>, id: &str) -> (&'static str, Option<String>) {
        let Some(rollout) = rollout else { return (mode(stated), None) };
        let entity = match rollout.by {
            EntityKind::User => &self.user,
            EntityKind::Device => &self.device,
            EntityKind::Ip => &self.address,
            EntityKind::Target => &self.target,
        };
        let within = entity.as_ref().is_some_and(|entity| rollout.covers(id, entity));
        let here = if stated == Mode::Live && !within { Mode::Shadow } else { stated };
        (mode(here), Some(rollout.to_string()))
    }
}

/// A rule that has held up as many accounts as it may.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct FellBack {
    pub(super) rule: String,
    /// `shadow` or `hold`.
    pub(super) then: String,
    pub(super) accounts: f64,
    pub(super) within: String,
}

/// A name of the policy with its value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) kind: &'static str,
    /// `null` is unknown.
    pub(super) value: serde_json::Value,
    pub(super) unit: &'static str,
    pub(super) measure: String,
}

/// A limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Limited {
    pub(super) id: String,
    /// What it is of this event: a limit that acts for a share only is in shadow for the others.
    pub(super) mode: &'static str,
    /// For whom it acts, when not for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rollout: Option<String>,
    pub(super) key: String,
    /// Whether it looked at the event, and why not.
    pub(super) applies: bool,
    pub(super) why_not: Option<&'static str>,
    pub(super) spans: Vec<Spanned>,
    pub(super) refuses: bool,
    pub(super) asks_for: Option<String>,
    pub(super) retry_after: Option<String>,
    pub(super) repeated: bool,
}

/// One span of a limit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Spanned {
    pub(super) window: String,
    /// What counted before this event.
    pub(super) used: u64,
    pub(super) cost: u64,
    /// `null` is unlimited.
    pub(super) max: Option<u64>,
    pub(super) refuses: bool,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Ruled {
    pub(super) id: String,
    /// What it is of this event: a rule that acts for a share only is in shadow for the others.
    pub(super) mode: &'static str,
    /// For whom it acts, when not for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rollout: Option<String>,
    pub(super) does: String,
    /// It was asked: not when a limit or ban decided before.
    pub(super) asked: bool,
    pub(super) fires: bool,
    /// Its condition, taken apart; none of evidence.
    pub(super) condition: Option<Condition>,
}

/// A condition, and those it is made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Condition {
    pub(super) text: String,
    /// `true`, `false` or `unknown`.
    pub(super) outcome: &'static str,
    /// The values it reads.
    pub(super) reads: Vec<(String, String)>,
    pub(super) parts: Vec<Condition>,
}

/// One summand of the score.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Points {
    pub(super) of: String,
    pub(super) family: String,
    pub(super) points: i32,
}

/// One rung of the ladder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Rung {
    pub(super) verdict: &'static str,
    pub(super) from: i32,
    pub(super) reached: bool,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Told {
    pub(super) id: String,
    pub(super) code: String,
    pub(super) text: String,
    pub(super) points: i32,
    pub(super) verdict: Option<&'static str>,
    pub(super) value: Option<f64>,
    pub(super) threshold: Option<f64>,
}

/// What the decision would be otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Counterfactual {
    pub(super) what: String,
    pub(super) verdict: &'static str,
    pub(super) score: Option<i32>,
}

impl Explanation {
    /// What the decision itself tells.
    pub(super) fn begin(
        line: u64,
        event: &Event<'_>,
        arrival: &Arrival<'_>,
        judgement: &Judgement,
        shadow: &[Reason],
    ) -> Self {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let quality = judgement.quality.iter().map(|short| match &short.counter {
            Some(counter) => format!("{}: {counter}", short.code.name()),
            None => short.code.name().to_owned(),
        });
        let with_points = judgement.reasons.iter().filter(|reason| reason.points != 0);
        let families = judgement.without.iter().map(|without| Counterfactual {
            what: format!("without all evidence of the family {}", without.family),
            verdict: without.verdict.name(),
            score: None,
        });
        Self {
            event: Fields {
                id: event.id.to_string(),
                at: String::new(),
                line,
                action: event.action.to_string(),
                user: text(event.user.as_deref()),
                target: text(event.target.as_deref()),
                address: judgement.address.map(|address| address.to_string()),
                device: text(event.device.id.as_deref()),
                occurred_at: event.occurred_at.to_string(),
                append_time: arrival.append_time.to_string(),
                effective_at: judgement.effective_at.to_string(),
            },
            at: judgement.effective_at,
            policy: judgement.policy.to_string(),
            verdict: judgement.verdict.to_string(),
            score: judgement.score,
            risk_percent: risk_percent(judgement.score),
            retry_after: judgement.retry_after.map(|wait| wait.to_string()),
            arithmetic: with_points.map(points).collect(),
            reasons: judgement.reasons.iter().map(told).collect(),
            shadow: shadow.iter().map(told).collect(),
            quality: quality.collect(),
            counterfactuals: families.collect(),
            ..Self::default()
        }
    }

    /// Where the event stands in its file: a row of a table may be many lines, and is not the line of its number.
    pub fn stands(&mut self, name: &str, line: u64) {
        (self.event.at, self.event.line) = (format!("{name}:{line}"), line);
    }

    /// Where the event stands in a topic: topic, partition and offset.
    pub fn stands_at(&mut self, place: String) {
        self.event.at = place;
    }

    /// What the trace and the state before tell.
    pub(super) fn fill(&mut self, policy: &Policy, before: Vec<State>, trace: &Trace) {
        self.before = before;
        self.bound_by = trace.binding.as_ref().map(|(verdict, source, left)| {
            let until = left.map_or("until lifted".to_owned(), |left| {
                format!("until {}, {left} more", self.at.after(left))
            });
            format!("{} ({verdict} {until}): {}", source.id, source.text)
        });
        (self.trusted_network, self.shared_address) = (trace.trusted, trace.shared_address);
        self.crowd = trace.crowd;
        self.fell_back = self.fell_back(policy);
        self.values = values(policy, trace);
        self.limits =
            policy.limits.iter().enumerate().map(|(n, rule)| self.limited(policy, n, rule, trace)).collect();
        let asked = self.asks_rules(trace);
        self.rules = policy
            .rules
            .iter()
            .enumerate()
            .map(|(n, rule)| self.ruled(policy, n, rule, trace, asked))
            .collect();
        self.ladder = self.ladder(policy);
        let exempted = trace.exempted.iter().map(|(id, verdict, score)| Counterfactual {
            what: format!("without {id}"),
            verdict: verdict.name(),
            score: Some(*score),
        });
        self.counterfactuals.extend(exempted);
    }

    fn limited(&self, policy: &Policy, number: usize, rule: &LimitRule, trace: &Trace) -> Limited {
        let (mode, rollout) = self.event.mode(rule.mode, rule.rollout, &rule.info.id);
        let mode = self.mode_within(mode, policy, rule.budget);
        Limited { mode, rollout, ..limited(policy, number, rule, trace) }
    }

    fn ruled(&self, policy: &Policy, number: usize, rule: &Rule, trace: &Trace, asked: bool) -> Ruled {
        let (mode, rollout) = self.event.mode(rule.mode, rule.rollout, &rule.info.id);
        let mode = self.mode_within(mode, policy, rule.budget);
        Ruled { mode, rollout, ..ruled(policy, number, rule, trace, asked) }
    }

    /// The rules that the decision names as fallen back.
    fn fell_back(&self, policy: &Policy) -> Vec<FellBack> {
        let fell = |budget: &Budget| {
            let told = self.reasons.iter().find(|reason| reason.id == budget.info.id)?;
            Some(FellBack {
                rule: budget.rule.to_string(),
                then: budget.then.to_string(),
                accounts: told.value.unwrap_or_default(),
                within: budget.within.to_string(),
            })
        };
        policy.blast.budgets.iter().filter_map(fell).collect()
    }

    /// What a limit or rule is, when it may have spent its budget.
    fn mode_within(&self, stated: &'static str, policy: &Policy, budget: Option<usize>) -> &'static str {
        let budget = budget.map(|number| &policy.blast.budgets[number]);
        let in_shadow = budget.filter(|budget| budget.then == FallBack::Shadow);
        let fell =
            in_shadow.is_some_and(|budget| self.fell_back.iter().any(|fell| *fell.rule == *budget.rule));
        if fell { mode(Mode::Shadow) } else { stated }
    }

    /// Rules are not asked of what is trusted, nor where a ban, a penalty or a limit refuses already.
    fn asks_rules(&self, trace: &Trace) -> bool {
        let bound = trace.binding.as_ref().map_or(Verdict::Allow, |(verdict, _, _)| *verdict);
        let limits = trace.limits.iter().filter_map(|limit| limit.asked).max().unwrap_or_default();
        !trace.trusted && bound.max(limits) < Verdict::Reject
    }

    fn ladder(&self, policy: &Policy) -> Vec<Rung> {
        let ladder = &policy.settings.ladder;
        let rungs = [
            (Verdict::Demote, ladder.demote),
            (Verdict::Challenge, ladder.challenge),
            (Verdict::Hold, ladder.hold),
            (Verdict::Reject, ladder.reject),
        ];
        let rung = |(verdict, from): (Verdict, i32)| Rung {
            verdict: verdict.name(),
            from,
            reached: self.score >= from,
        };
        rungs.map(rung).to_vec()
    }
}

fn points(reason: &Reason) -> Points {
    let source = &reason.source;
    Points { of: source.id.clone(), family: source.family.clone(), points: reason.points }
}

fn told(reason: &Reason) -> Told {
    Told {
        id: reason.source.id.clone(),
        code: reason.source.code.clone(),
        text: reason.source.text.clone(),
        points: reason.points,
        verdict: reason.verdict.map(Verdict::name),
        value: reason.value,
        threshold: reason.threshold,
    }
}

/// The names that the policy reads, with their values.
fn values(policy: &Policy, trace: &Trace) -> Vec<Named> {
    let rows = catalogue_table(policy);
    let used = rows.into_iter().zip(&trace.values).filter(|(row, _)| row.used || row.kind == "signal");
    let named = used.map(|(row, value)| Named {
        name: row.name,
        kind: row.kind,
        value: json(value),
        unit: row.unit,
        measure: row.measure,
    });
    named.collect()
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Unknown => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Double(value) => (*value).into(),
        Value::Text(value) => value.as_str().into(),
    }
}

const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Live => "live",
        Mode::Shadow => "shadow",
        Mode::Off => "off",
    }
}

fn limited(policy: &Policy, number: usize, rule: &LimitRule, trace: &Trace) -> Limited {
    let look = trace.limits.iter().find(|look| look.limit == number);
    let bound = trace.binding.as_ref().is_some_and(|(verdict, _, _)| *verdict == Verdict::Block);
    let why_not = match look {
        Some(_) => None,
        None if rule.mode == Mode::Off => Some("it is off"),
        None if trace.trusted => Some("the address lies in a trusted network"),
        None if bound => Some("who is banned is asked no more"),
        None if trace.keyless.contains(&number) => Some("the event does not have its key"),
        None => Some("its filter does not let the event pass"),
    };
    let spans = |look: &LimitTrace| {
        let spans = look.spans.iter().map(|span| Spanned {
            window: span.window.to_string(),
            used: span.used,
            cost: look.cost,
            max: (span.max != u64::MAX).then_some(span.max),
            refuses: span.refuses,
        });
        spans.collect()
    };
    Limited {
        id: rule.info.id.clone(),
        mode: mode(rule.mode),
        rollout: None,
        key: policy.dimensions[rule.dimension].name.to_string(),
        applies: look.is_some(),
        why_not,
        spans: look.map(spans).unwrap_or_default(),
        refuses: look.is_some_and(|look| look.refuses),
        asks_for: look.and_then(|look| look.asked).map(|verdict| verdict.to_string()),
        retry_after: look.and_then(|look| look.retry_after).map(|wait| wait.to_string()),
        repeated: look.is_some_and(|look| look.repeated),
    }
}

fn ruled(policy: &Policy, number: usize, rule: &Rule, trace: &Trace, asked: bool) -> Ruled {
    let slots: Vec<_> = trace.values.iter().map(Value::slot).collect();
    let (does, condition) = match rule.effect {
        Effect::Points(points) => (format!("{points:+} points"), true),
        Effect::Floor(verdict) => (format!("at least {verdict}"), true),
        Effect::Evidence { kind, weight } => (format!("evidence {} times {weight}", kind.name()), false),
    };
    let part = condition.then(|| parts(&rule.when.text, policy)).flatten();
    Ruled {
        id: rule.info.id.clone(),
        mode: mode(rule.mode),
        rollout: None,
        does,
        asked: asked && rule.mode != Mode::Off,
        fires: trace.fired.contains(&number),
        condition: part.map(|part| apart(policy, trace, &part, &slots)),
    }
}

fn apart(policy: &Policy, trace: &Trace, part: &Part, slots: &[Slot<'_>]) -> Condition {
    let read = |slot: &usize| {
        let value = match &trace.values[*slot] {
            Value::Unknown => "unknown".to_owned(),
            value => json(value).to_string(),
        };
        (policy.catalogue[*slot].path.clone(), value)
    };
    Condition {
        text: part.text().to_owned(),
        outcome: match part.outcome(slots) {
            Some(true) => "true",
            Some(false) => "false",
            None => "unknown",
        },
        reads: part.reads.iter().map(read).collect(),
        parts: part.parts.iter().map(|inner| apart(policy, trace, inner, slots)).collect(),
    }
}
