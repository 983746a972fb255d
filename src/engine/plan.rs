//! How a policy is laid out over state: which fields are hashed, which slots are filled, which cell lies where.
//!
//! Made once at activation, so that the road of an event is look-ups by index.

use std::sync::Arc;

use super::decision::ReasonSource;
use super::limit::Limit;
use super::policy::{EventField, Fact, KeyField, LimitRule, Measure, Origin, Policy, Signal};
use super::table::TableSpec;
use super::time::{Span, Timestamp};
use super::window::count::CountSpec;
use super::window::distinct::DistinctSpec;
use super::window::sum::SumSpec;

/// Positions in [`Plan::key_fields`] of the fields that are always hashed.
pub(crate) const USER: usize = 0;
/// The device.
pub(crate) const DEVICE: usize = 1;
/// The address, by the policy's own prefix.
pub(crate) const ADDRESS: usize = 2;
/// The target.
pub(crate) const TARGET: usize = 3;

/// Words of an episode cell: last refusal (2), begin of the episode (2), whether it is a repeat (1).
pub(crate) const EPISODE_WORDS: usize = 5;

/// The layout of a policy.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) key_fields: Vec<KeyField>,
    pub(crate) dimensions: Vec<DimensionPlan>,
    /// Slots filled from the event.
    pub(crate) fields: Vec<(usize, EventField)>,
    /// Slots filled from open attributes of the event.
    pub(crate) attributes: Vec<(usize, String)>,
    /// Slots filled from device attributes of the event.
    pub(crate) device_attributes: Vec<(usize, String)>,
    /// Slots filled from what is remembered.
    pub(crate) facts: Vec<(usize, Fact)>,
    /// Whether an expression reads the address as text.
    pub(crate) reads_address: bool,
    /// The longest window of any counter: until it has passed, the whole engine is warming up.
    pub(crate) longest_window: Span,
    /// The reason that carries the prior.
    pub(crate) prior: Arc<ReasonSource>,
}

/// The layout of one dimension's records.
#[derive(Debug)]
pub(crate) struct DimensionPlan {
    /// Indices into [`Plan::key_fields`].
    pub(crate) fields: Vec<usize>,
    pub(crate) signals: Vec<SignalCell>,
    pub(crate) limits: Vec<LimitCells>,
    pub(crate) spec: TableSpec,
}

/// Where a signal is kept.
#[derive(Debug)]
pub(crate) struct SignalCell {
    /// Index into the policy's signals.
    pub(crate) signal: usize,
    /// Its slot.
    pub(crate) slot: usize,
    pub(crate) cell: Cell,
    pub(crate) window: Window,
}

/// The window of a signal.
#[derive(Debug)]
pub(crate) enum Window {
    Count(CountSpec),
    Sum(SumSpec),
    /// With the position in [`Plan::key_fields`] of what is counted.
    Distinct(DistinctSpec, usize),
}

/// Where a limit is kept.
#[derive(Debug)]
pub(crate) struct LimitCells {
    /// Index into the policy's limits.
    pub(crate) limit: usize,
    pub(crate) spans: Vec<(Limit, Cell)>,
    pub(crate) episode: Option<Cell>,
}

/// Some words of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// What identifies its content over reloads.
    pub(crate) identity: u64,
    pub(crate) offset: usize,
    pub(crate) words: usize,
    /// Until when the counter has not seen its whole window; earlier than any event when that was the start.
    pub(crate) warm_at: Timestamp,
}

impl Cell {
    /// Which words of a record it is.
    pub(crate) fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.words
    }

    /// The words of this cell within a record.
    pub(crate) fn of<'r>(&self, record: &'r [u32]) -> &'r [u32] {
        &record[self.range()]
    }

    /// The words of this cell within a record.
    pub(crate) fn of_mut<'r>(&self, record: &'r mut [u32]) -> &'r mut [u32] {
        &mut record[self.range()]
    }
}

impl Plan {
    /// Lays a policy out.
    pub(crate) fn new(policy: &Policy) -> Self {
        let mut key_fields = vec![KeyField::User, KeyField::Device, KeyField::Ip(None), KeyField::Target];
        let dimensions: Vec<_> =
            (0..policy.dimensions.len()).map(|d| DimensionPlan::new(policy, d, &mut key_fields)).collect();
        let mut plan = Self {
            key_fields,
            longest_window: dimensions.iter().map(|d| d.spec.idle).max().unwrap_or_default(),
            dimensions,
            fields: Vec::new(),
            attributes: Vec::new(),
            device_attributes: Vec::new(),
            facts: Vec::new(),
            reads_address: false,
            prior: Arc::new(prior_source()),
        };
        for (slot, name) in policy.catalogue.iter().enumerate().filter(|(_, name)| name.used) {
            plan.fill(slot, &name.origin);
        }
        plan
    }

    fn fill(&mut self, slot: usize, origin: &Origin) {
        match origin {
            Origin::Field(field) => {
                self.reads_address |= *field == EventField::Ip;
                self.fields.push((slot, *field));
            }
            Origin::Fact(fact) => self.facts.push((slot, *fact)),
            Origin::Attribute(name) => self.attributes.push((slot, name.clone())),
            Origin::DeviceAttribute(name) => self.device_attributes.push((slot, name.clone())),
            Origin::Signal(_) => {}
        }
    }
}

impl DimensionPlan {
    fn new(policy: &Policy, index: usize, key_fields: &mut Vec<KeyField>) -> Self {
        let dimension = &policy.dimensions[index];
        let mut layout = Layout::default();
        let signals = (policy.signals.iter().enumerate())
            .filter(|(_, signal)| signal.dimension == index)
            .map(|(number, signal)| layout.signal(policy, number, signal, key_fields))
            .collect();
        let limits = (policy.limits.iter().enumerate())
            .filter(|(_, limit)| limit.dimension == index)
            .map(|(number, limit)| layout.limit(number, limit))
            .collect();
        let spec = TableSpec {
            words: layout.words,
            budget_bytes: dimension.budget,
            idle: layout.idle,
            spills: layout.spills,
            spill_bytes: dimension.budget / 4,
        };
        let fields = dimension.fields.iter().map(|field| position(key_fields, field)).collect();
        Self { fields, signals, limits, spec }
    }
}

/// Places cells one after the other.
#[derive(Default)]
struct Layout {
    words: usize,
    idle: Span,
    spills: Vec<usize>,
}

impl Layout {
    fn cell(&mut self, identity: u64, words: usize, idle: Span) -> Cell {
        let offset = self.words;
        self.words += words;
        self.idle = self.idle.max(idle);
        Cell { identity, offset, words, warm_at: Timestamp::from_millis(i64::MIN) }
    }

    fn signal(
        &mut self,
        policy: &Policy,
        number: usize,
        signal: &Signal,
        key_fields: &mut Vec<KeyField>,
    ) -> SignalCell {
        let grace = policy.settings.grace;
        let (window, words, idle) = match &signal.measure {
            Measure::Count { slots } => {
                let spec = CountSpec::new(signal.window, *slots).holding(grace);
                (Window::Count(spec), spec.words(), spec.idle())
            }
            Measure::Sum { slots, .. } => {
                let spec = SumSpec::new(signal.window, *slots).holding(grace);
                (Window::Sum(spec), spec.words(), spec.idle())
            }
            Measure::Distinct { of, slots } => {
                let spec = DistinctSpec::new(signal.window, *slots).holding(grace);
                let words = (spec.words(), spec.idle());
                (Window::Distinct(spec, position(key_fields, of)), words.0, words.1)
            }
        };
        let cell = self.cell(signal.identity, words, idle);
        if let Window::Distinct(..) = &window {
            self.spills.push(cell.offset + DistinctSpec::SPILL_WORD);
        }
        let slot = policy.catalogue.iter().position(|name| name.origin == Origin::Signal(number));
        SignalCell {
            signal: number,
            slot: slot.expect("each signal has its name in the catalogue"),
            cell,
            window,
        }
    }

    fn limit(&mut self, number: usize, limit: &LimitRule) -> LimitCells {
        let spans = limit
            .spans
            .iter()
            .map(|span| {
                let cell = self.cell(span.identity, span.limit.words(), span.limit.idle());
                (span.limit.clone(), cell)
            })
            .collect();
        let identity = limit.spans.first().map_or(0, |span| span.identity) ^ 0x0065_7069_736f_6465;
        let episode = limit.on_repeat.map(|repeat| self.cell(identity, EPISODE_WORDS, repeat.within));
        LimitCells { limit: number, spans, episode }
    }
}

fn position(key_fields: &mut Vec<KeyField>, field: &KeyField) -> usize {
    key_fields.iter().position(|known| known == field).unwrap_or_else(|| {
        key_fields.push(field.clone());
        key_fields.len() - 1
    })
}

fn prior_source() -> ReasonSource {
    ReasonSource {
        id: "prior".into(),
        code: "PRIOR".into(),
        family: "prior".into(),
        text: "The usual risk of an event without any evidence".into(),
        window: None,
    }
}
