//! How a policy is laid out over state: which fields are hashed, which slots are filled, which cell lies where.
//!
//! Made once at activation, so that the road of an event is look-ups by index.

mod saved;

use std::sync::Arc;

use super::crowd::{GATE, Heard, WINDOWS_MAX, gate_words, heard};
use super::decision::ReasonSource;
use super::entity::EntityKind;
use super::expr::Condition;
use super::key::{ByHash, tuple};
use super::limit::Limit;
use super::pace::PaceSpec;
use super::place::PlaceField;
use super::place::travel::TravelSpec;
use super::policy::{
    CrowdFact, Crowds, EventField, Fact, KeyField, LimitRule, LimitSpan, Measure, Origin, Policy, Signal,
};
use super::slab::Spill;
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
/// The action.
pub(crate) const ACTION: usize = 4;
/// The content hash.
pub(crate) const CONTENT: usize = 5;
/// The fields that are always hashed, by those positions.
const ALWAYS: [KeyField; 6] = [
    KeyField::User,
    KeyField::Device,
    KeyField::Ip(None),
    KeyField::Target,
    KeyField::Action,
    KeyField::ContentHash,
];

/// Words of an episode cell: last refusal (2), begin of the episode (2), whether it is a repeat (1).
pub(crate) const EPISODE_WORDS: usize = 5;

/// The layout of a policy.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) key_fields: Vec<KeyField>,
    pub(crate) dimensions: Vec<DimensionPlan>,
    /// Each filter of signals and limits once: most of them share a few.
    pub(crate) filters: Vec<Condition>,
    /// Slots filled from the event.
    pub(crate) fields: Vec<(usize, EventField)>,
    /// Slots filled from open attributes of the event.
    pub(crate) attributes: Vec<(usize, String)>,
    /// Slots filled from device attributes of the event.
    pub(crate) device_attributes: Vec<(usize, String)>,
    /// Slots filled from what is remembered.
    pub(crate) facts: Vec<(usize, Fact)>,
    /// Where what is watched of crowds is found.
    pub(crate) watched: Option<Watched>,
    /// Slots filled from where the address is.
    pub(crate) places: Vec<(usize, PlaceField)>,
    /// Slots filled from the crowd on the target.
    pub(crate) crowd: Vec<(usize, CrowdFact)>,
    /// What is heard of crowds when the rules of one family say nothing, by family.
    pub(crate) heard_without: Vec<Heard>,
    /// Whether an expression reads the address as text.
    pub(crate) reads_address: bool,
    /// The longest window of any counter: until it has passed, the whole engine is warming up.
    pub(crate) longest_window: Span,
    /// The reason that carries the prior.
    pub(crate) prior: Arc<ReasonSource>,
}

/// Where what is watched of crowds is found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    /// The dimension in which people on a target are counted; its records hold the gates.
    pub(crate) dimension: usize,
    /// The slots with the people on a target, one for each window; unused ones are those of the first.
    pub(crate) people: [usize; WINDOWS_MAX],
    /// The slot with the people behind an address.
    pub(crate) address_users: Option<usize>,
}

impl Watched {
    fn new(policy: &Policy, crowds: &Crowds) -> Self {
        let signal = |window: usize| crowds.people.get(window).unwrap_or(&crowds.people[0]).signal;
        Self {
            dimension: policy.signals[signal(0)].dimension,
            people: std::array::from_fn(|window| slot_of(policy, signal(window))),
            address_users: crowds.address_users.map(|signal| slot_of(policy, signal)),
        }
    }
}

/// The slot of a signal.
fn slot_of(policy: &Policy, signal: usize) -> usize {
    let slot = policy.catalogue.iter().position(|name| name.origin == Origin::Signal(signal));
    slot.expect("each signal has its name in the catalogue")
}

/// The layout of one dimension's records.
#[derive(Debug)]
pub(crate) struct DimensionPlan {
    /// Indices into [`Plan::key_fields`].
    pub(crate) fields: Vec<usize>,
    pub(crate) signals: Vec<SignalCell>,
    pub(crate) limits: Vec<LimitCells>,
    /// How far back its counters look, at most.
    pub(crate) reach: Span,
    /// The gate of a target, in the dimension in which crowds are watched.
    pub(crate) gate: Option<Cell>,
    pub(crate) spec: TableSpec,
    /// The windows of its limits and counts: what is estimated of keys that have no record.
    pub(crate) windows: Vec<Span>,
}

/// Where a signal is kept.
#[derive(Debug)]
pub(crate) struct SignalCell {
    /// Index into the policy's signals.
    pub(crate) signal: usize,
    /// Its slot.
    pub(crate) slot: usize,
    /// Index into [`Plan::filters`].
    pub(crate) filter: Option<usize>,
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
    Travel(TravelSpec),
    /// With the number of its baseline.
    Pace(PaceSpec, usize),
}

/// A count of a signal, or a span of a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counter<'p> {
    Count(&'p CountSpec, &'p Cell),
    Limit(&'p Limit, &'p Cell),
}

impl Counter<'_> {
    pub(crate) fn window(&self) -> Span {
        match self {
            Counter::Count(spec, _) => spec.window(),
            Counter::Limit(limit, _) => limit.window(),
        }
    }

    pub(crate) fn cell(&self) -> &Cell {
        match self {
            Counter::Count(_, cell) | Counter::Limit(_, cell) => cell,
        }
    }

    /// What it counts in a record at `at`.
    pub(crate) fn read(&self, record: &[u32], spill: &Spill, at: Timestamp) -> u64 {
        match self {
            Counter::Count(spec, cell) => spec.read(cell.of(record), spill, at).count,
            Counter::Limit(limit, cell) => limit.check(cell.of(record), spill, at, 1).used,
        }
    }

    /// Counts `n` more in a record at `at`.
    pub(crate) fn add(&self, record: &mut [u32], spill: &mut Spill, at: Timestamp, n: u32) {
        // Into an empty cell: nothing is too old for it.
        let _recorded = match self {
            Counter::Count(spec, cell) => spec.record(cell.of_mut(record), spill, at, n),
            Counter::Limit(limit, cell) => limit.record(cell.of_mut(record), spill, at, n.into()),
        };
    }
}

/// Where a limit is kept.
#[derive(Debug)]
pub(crate) struct LimitCells {
    /// Index into the policy's limits.
    pub(crate) limit: usize,
    /// Its id, as shortcomings name it.
    pub(crate) name: Arc<str>,
    /// Index into [`Plan::filters`].
    pub(crate) filter: Option<usize>,
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
    /// Lays a policy out. Limits that the plan before it had keep the room they had.
    pub(crate) fn new(policy: &Policy, before: Option<&Plan>) -> Self {
        Self::with_rooms(policy, before.map(Plan::rooms).unwrap_or_default())
    }

    /// Lays a policy out. Limits whose identity is in `rooms` get at least so much room.
    fn with_rooms(policy: &Policy, rooms: ByHash<usize>) -> Self {
        let grace = policy.settings.grace.plus(policy.settings.skew);
        let mut shared = Shared { key_fields: ALWAYS.to_vec(), filters: Vec::new(), rooms, grace };
        let dimensions: Vec<_> =
            (0..policy.dimensions.len()).map(|d| DimensionPlan::new(policy, d, &mut shared)).collect();
        let mut plan = Self {
            key_fields: shared.key_fields,
            filters: shared.filters,
            longest_window: dimensions.iter().map(|d| d.reach).max().unwrap_or_default(),
            dimensions,
            fields: Vec::new(),
            attributes: Vec::new(),
            device_attributes: Vec::new(),
            facts: Vec::new(),
            watched: policy.crowds.as_ref().map(|crowds| Watched::new(policy, crowds)),
            places: Vec::new(),
            crowd: Vec::new(),
            heard_without: (0..policy.families.len()).map(|family| heard(policy, Some(family))).collect(),
            reads_address: false,
            prior: Arc::new(prior_source()),
        };
        for (slot, name) in policy.catalogue.iter().enumerate().filter(|(_, name)| name.used) {
            plan.fill(slot, &name.origin);
        }
        plan
    }

    /// The room that each limit has, by identity.
    fn rooms(&self) -> ByHash<usize> {
        let spans = self.dimensions.iter().flat_map(|d| &d.limits).flat_map(|limit| &limit.spans);
        spans.map(|(limit, cell)| (cell.identity, limit.room())).collect()
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
            Origin::Crowd(fact) => self.crowd.push((slot, *fact)),
            Origin::Place(of) => self.places.push((slot, *of)),
            Origin::Signal(_) => {}
        }
    }
}

impl DimensionPlan {
    fn new(policy: &Policy, index: usize, shared: &mut Shared) -> Self {
        let dimension = &policy.dimensions[index];
        let mut layout = Layout::default();
        let signals = (policy.signals.iter().enumerate())
            .filter(|(_, signal)| signal.dimension == index)
            .map(|(number, signal)| layout.signal(policy, number, signal, shared))
            .collect();
        let limits = (policy.limits.iter().enumerate())
            .filter(|(_, limit)| limit.dimension == index)
            .map(|(number, limit)| layout.limit(number, limit, shared))
            .collect();
        let reach = layout.idle;
        let watched = policy.crowds.as_ref().filter(|crowds| {
            crowds.people.first().is_some_and(|people| policy.signals[people.signal].dimension == index)
        });
        let gate = watched.map(|crowds| {
            let idle = policy.settings.retroactive_window.plus(crowds.longest());
            layout.cell(GATE, gate_words(crowds.people.len()), idle)
        });
        let spill_bytes = if layout.spills.is_empty() { 0 } else { dimension.budget / 4 };
        let spec = TableSpec {
            words: layout.words,
            budget_bytes: dimension.budget - spill_bytes,
            idle: layout.idle,
            spills: layout.spills,
            spill_bytes,
        };
        let fields = dimension.fields.iter().map(|field| shared.field(field)).collect();
        let mut plan = Self { fields, signals, limits, reach, gate, spec, windows: Vec::new() };
        plan.windows = plan.counters().map(|counter| counter.window()).collect();
        plan
    }

    /// What is counted of a key one by one, and so can be estimated: counts of signals and limits.
    pub(crate) fn counters(&self) -> impl Iterator<Item = Counter<'_>> {
        let counts = self.signals.iter().filter_map(|signal| match &signal.window {
            Window::Count(spec) => Some(Counter::Count(spec, &signal.cell)),
            _ => None,
        });
        let spans = self.limits.iter().flat_map(|limit| &limit.spans);
        counts.chain(spans.map(|(limit, cell)| Counter::Limit(limit, cell)))
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

    fn signal(&mut self, policy: &Policy, number: usize, signal: &Signal, shared: &mut Shared) -> SignalCell {
        let grace = policy.settings.grace;
        let (window, words, idle) = match &signal.measure {
            Measure::Count { slots } => {
                let spec = CountSpec::new(signal.window, *slots).holding(grace);
                (Window::Count(spec), CountSpec::WORDS, spec.idle())
            }
            Measure::Sum { slots, .. } => {
                let spec = SumSpec::new(signal.window, *slots).holding(grace);
                (Window::Sum(spec), spec.words(), spec.idle())
            }
            Measure::Distinct { of, slots } => {
                let spec = DistinctSpec::new(signal.window, *slots).holding(grace);
                let words = (spec.words(), spec.idle());
                (Window::Distinct(spec, shared.field(of)), words.0, words.1)
            }
            Measure::Pace(spec) => {
                let before = policy.signals[..number].iter();
                let baseline = before.filter(|signal| matches!(signal.measure, Measure::Pace(_))).count();
                (Window::Pace(*spec, baseline), PaceSpec::WORDS, signal.window.times(2).plus(grace))
            }
            Measure::Travel { least_km, .. } => {
                let spec = TravelSpec { window: signal.window, least_km: *least_km };
                (Window::Travel(spec), TravelSpec::WORDS, signal.window.plus(grace))
            }
        };
        let cell = self.cell(signal.identity, words, idle);
        match &window {
            Window::Count(_) => self.spills.push(cell.offset + CountSpec::SPILL_WORD),
            Window::Distinct(..) => self.spills.push(cell.offset + DistinctSpec::SPILL_WORD),
            Window::Sum(_) | Window::Travel(_) | Window::Pace(..) => {}
        }
        SignalCell {
            signal: number,
            slot: slot_of(policy, number),
            filter: signal.filter.as_ref().map(|filter| shared.filter(filter)),
            cell,
            window,
        }
    }

    fn limit(&mut self, number: usize, limit: &LimitRule, shared: &mut Shared) -> LimitCells {
        let spans = limit
            .spans
            .iter()
            .map(|span| {
                let limit = shared.remembering(span);
                let cell = self.cell(span.identity, limit.words(), limit.idle());
                self.spills.extend(limit.spill_word().map(|word| cell.offset + word));
                (limit, cell)
            })
            .collect();
        let identity = limit.spans.first().map_or(0, |span| span.identity) ^ 0x0065_7069_736f_6465;
        let episode = limit
            .on_repeat
            .map(|repeat| self.cell(identity, EPISODE_WORDS, repeat.within.plus(shared.grace)));
        let filter = limit.filter.as_ref().map(|filter| shared.filter(filter));
        LimitCells { limit: number, name: limit.info.id.as_str().into(), filter, spans, episode }
    }
}

/// What dimensions share: each field is hashed once, each filter evaluated once.
struct Shared {
    key_fields: Vec<KeyField>,
    filters: Vec<Condition>,
    /// How much older than the newest event of a key another one may be that is judged with it.
    grace: Span,
    /// The least room of limits that were there before, by identity.
    rooms: ByHash<usize>,
}

impl Shared {
    fn remembering(&self, span: &LimitSpan) -> Limit {
        let limit = span.limit.clone();
        match self.rooms.get(&span.identity) {
            Some(room) => limit.with_room(*room),
            None => limit,
        }
    }

    fn field(&mut self, field: &KeyField) -> usize {
        self.key_fields.iter().position(|known| known == field).unwrap_or_else(|| {
            self.key_fields.push(field.clone());
            self.key_fields.len() - 1
        })
    }

    fn filter(&mut self, filter: &Condition) -> usize {
        self.filters.iter().position(|known| known.text == filter.text).unwrap_or_else(|| {
            self.filters.push(filter.clone());
            self.filters.len() - 1
        })
    }
}

/// The key of a dimension, unless a field of it is missing.
pub(crate) fn key_of(fields: &[usize], hashes: &[Option<u64>]) -> Option<u64> {
    if fields.iter().any(|field| hashes[*field].is_none()) {
        return None;
    }
    Some(tuple(fields.iter().filter_map(|field| hashes[*field])))
}

/// The position in [`Plan::key_fields`] of what an entity of this kind is keyed by.
pub(crate) fn field_of(kind: EntityKind) -> usize {
    match kind {
        EntityKind::User => USER,
        EntityKind::Device => DEVICE,
        EntityKind::Ip => ADDRESS,
        EntityKind::Target => TARGET,
    }
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
