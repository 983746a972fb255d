//! What one decision was made from, for people who ask why. It is taken beside the decision, by the same code, when it was
//! asked for; an engine that is not asked does one comparison more an event, and one that is decides the same.

use std::sync::Arc;

use super::Engine;
use super::binding::actor;
use super::decide::{Judged, decide};
use super::decision::ReasonSource;
use super::event::Event;
use super::exceptions::{Exception, ExceptionKind};
use super::expr::Slot;
use super::limit::Verdict as LimitVerdict;
use super::look::{LimitLook, Look};
use super::policy::Mode;
use super::time::{Span, Timestamp};
use super::timers::Timers;
use super::verdict::Verdict;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Effective time.
    pub at: Timestamp,
    /// The values of the policy's names, by slot.
    pub values: Vec<Value>,
    /// What each limit said, in the order in which they were asked.
    pub limits: Vec<LimitTrace>,
    /// Limits whose filter let the event pass but whose key it does not have: indices.
    pub keyless: Vec<usize>,
    /// What was decided before and binds, with how much longer.
    pub binding: Option<(Verdict, Arc<ReasonSource>, Option<Span>)>,
    /// The address lies in a trusted network: nothing is held against it.
    pub trusted: bool,
    /// Many settled accounts stand behind the address.
    pub shared_address: bool,
    /// Accounts by which the crowd on the target was judged, when it says anything.
    pub crowd: Option<u32>,
    /// Rules that fired, whatever their mode: indices.
    pub fired: Vec<usize>,
    /// Points by family, after caps.
    pub points: Vec<i32>,
    /// For each limit and rule that acted: verdict and score if the actor were exempted from it.
    pub exempted: Vec<(String, Verdict, i32)>,
}

/// A value, or that there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Not told by the event, or not known.
    #[default]
    Unknown,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// Text.
    Text(String),
}

impl Value {
    /// As expressions read it.
    pub fn slot(&self) -> Slot<'_> {
        match self {
            Value::Unknown => Slot::Unknown,
            Value::Bool(value) => Slot::Bool(*value),
            Value::Int(value) => Slot::Int(*value),
            Value::Double(value) => Slot::Double(*value),
            Value::Text(value) => Slot::Text(value),
        }
    }
}

impl From<&Slot<'_>> for Value {
    fn from(slot: &Slot<'_>) -> Self {
        match slot {
            Slot::Unknown => Value::Unknown,
            Slot::Bool(value) => Value::Bool(*value),
            Slot::Int(value) => Value::Int(*value),
            Slot::Double(value) => Value::Double(*value),
            Slot::Text(value) => Value::Text((*value).to_owned()),
        }
    }
}

/// What one limit said.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitTrace {
    /// Index into the policy's limits.
    pub limit: usize,
    /// Its spans: window, what counted before this event, and the maximum.
    pub spans: Vec<SpanTrace>,
    /// What the event weighs.
    pub cost: u64,
    /// It refuses, whatever its mode.
    pub refuses: bool,
    /// How long to wait, when it refuses and time heals it.
    pub retry_after: Option<Span>,
    /// It refused before, within the time in which that asks for more.
    pub repeated: bool,
    /// The verdict it asked for after guards and exemptions.
    pub asked: Option<Verdict>,
}

/// One span of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanTrace {
    /// The window.
    pub window: Span,
    /// What counted before this event.
    pub used: u64,
    /// The maximum; `u64::MAX` when unlimited.
    pub max: u64,
    /// This span refuses.
    pub refuses: bool,
}

/// Whether the next event leaves a trace, and the last one; the last values of the signals, when they are watched.
#[derive(Debug, Default)]
pub(super) struct Tracing {
    wanted: bool,
    /// Without what would be otherwise, which is one decision more for each thing that acted.
    plain: bool,
    watches: bool,
    signals: Vec<Option<f64>>,
    trace: Option<Box<Trace>>,
}

impl Engine {
    /// The next event that is decided leaves a [`Trace`].
    pub fn trace_next(&mut self) {
        (self.tracing.wanted, self.tracing.plain) = (true, false);
    }

    /// The same without [`Trace::exempted`]: for many events in a row.
    pub fn trace_next_plainly(&mut self) {
        (self.tracing.wanted, self.tracing.plain) = (true, true);
    }

    /// The trace that was asked for, once there is one.
    pub fn take_trace(&mut self) -> Option<Trace> {
        self.tracing.trace.take().map(|trace| *trace)
    }

    /// From now on [`Engine::signals`] has the values of the last decision.
    pub fn watch_signals(&mut self) {
        self.tracing.watches = true;
    }

    /// The values of the policy's signals at the last decision, by index, when they are watched; `None` is unknown.
    pub fn signals(&self) -> &[Option<f64>] {
        &self.tracing.signals
    }

    /// Leaves a trace of a decision, if one was asked for.
    pub(super) fn trace(&mut self, event: &Event<'_>, look: &Look<'_>, judged: &Judged) {
        if self.tracing.watches {
            let cells = self.plan.dimensions.iter().flat_map(|dimension| &dimension.signals);
            self.tracing.signals.clear();
            self.tracing.signals.resize(self.policy.signals.len(), None);
            for cell in cells {
                self.tracing.signals[cell.signal] = match look.slots[cell.slot] {
                    Slot::Int(value) => Some(value as f64),
                    Slot::Double(value) => Some(value),
                    _ => None,
                };
            }
        }
        if std::mem::take(&mut self.tracing.wanted) {
            self.tracing.trace = Some(Box::new(self.traced(event, look, judged)));
        }
    }

    fn traced(&self, event: &Event<'_>, look: &Look<'_>, judged: &Judged) -> Trace {
        let limits = look.limits.iter().zip(&judged.refused);
        let asked = |limit: usize| look.limits.iter().any(|look| look.limit == limit);
        let rules = self.policy.limits.iter().enumerate();
        let keyless = rules.filter(|(number, rule)| {
            let passes = rule.filter.as_ref().is_none_or(|filter| filter.eval(&look.slots) == Some(true));
            rule.mode != Mode::Off && passes && !asked(*number) && look.keys[rule.dimension].is_none()
        });
        let says = look.crowd.as_ref().and_then(|crowd| crowd.says.as_ref());
        Trace {
            at: look.at,
            values: look.slots.iter().map(Value::from).collect(),
            limits: limits.map(|(limit, asked)| self.limit_trace(limit, *asked, look)).collect(),
            keyless: keyless.map(|(number, _)| number).collect(),
            binding: look.binding.as_ref().map(|b| (b.verdict, Arc::clone(&b.source), b.left)),
            trusted: look.trusted,
            shared_address: look.shared_address,
            crowd: says.map(|says| says.users),
            fired: judged.fired.clone(),
            points: judged.points.clone(),
            exempted: if self.tracing.plain { Vec::new() } else { self.exempted(event, look, judged) },
        }
    }

    fn limit_trace(&self, limit: &LimitLook, asked: Option<Verdict>, look: &Look<'_>) -> LimitTrace {
        let mut spans = Vec::new();
        if let Some(place) = limit.place {
            let table = &self.tables[place.dimension];
            let (record, spill) = (table.cells(place.slot), table.spill());
            for (span, cell) in &self.plan.dimensions[place.dimension].limits[place.limit].spans {
                let check = span.check(cell.of(record), spill, look.at, limit.cost);
                let refuses = !matches!(check.verdict, LimitVerdict::Allowed | LimitVerdict::Backlog);
                spans.push(SpanTrace { window: span.window(), used: check.used, max: check.limit, refuses });
            }
        }
        LimitTrace {
            limit: limit.limit,
            spans,
            cost: limit.cost,
            refuses: limit.refusal.is_some(),
            retry_after: limit.refusal.and_then(|refusal| refusal.retry_after),
            repeated: limit.refusal.is_some_and(|refusal| refusal.repeated),
            asked,
        }
    }

    /// The same decision once more for each limit and rule that acted, with the actor exempted from it.
    fn exempted(&self, event: &Event<'_>, look: &Look<'_>, judged: &Judged) -> Vec<(String, Verdict, i32)> {
        let refused = look.limits.iter().zip(&judged.refused).filter(|(_, asked)| asked.is_some());
        let limits = refused.map(|(look, _)| &self.policy.limits[look.limit].info.id);
        let rules = judged.fired.iter().map(|rule| &self.policy.rules[*rule]);
        let rules = rules.filter(|rule| rule.acts(event, look.address)).map(|rule| &rule.info.id);
        let Some((entity, key)) = actor(event, look) else { return Vec::new() };
        let mut told = Vec::new();
        for id in limits.chain(rules) {
            let (mut exceptions, rule) = (self.exceptions.clone(), Some(id.clone()));
            let (entity, kind, until) = (entity.clone(), ExceptionKind::Exempt, Timestamp::MAX);
            let exception = Exception { entity, kind, rule, until };
            if exceptions.set(key, exception, &mut Timers::default()) {
                let room = Judged::default();
                let other = decide((&self.policy, &self.plan), &exceptions, &self.blast, event, look, room);
                told.push((id.clone(), other.verdict, other.score));
            }
        }
        told
    }
}
