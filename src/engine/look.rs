//! Look: everything one decision is made from, read in one go.
//!
//! Signals see every event, so they are recorded here and then read, this event included. Limits are only looked at;
//! what counts is recorded after the verdict. A key without all its fields is no key: its limits and signals are
//! skipped.

use std::sync::Arc;

use super::Engine;
use super::address::Address;
use super::admit;
use super::crowd::CrowdLook;
use super::decision::{Quality, QualityCode, ReasonSource};
use super::event::{Attempt, Event, Value};
use super::expr::Slot;
use super::facts::Facts;
use super::input::Standing;
use super::key::attribute;
use super::limit;
use super::pace::Baseline;
use super::plan::{ACTION, ADDRESS, Cell, DEVICE, DimensionPlan, LimitCells, Plan, SignalCell, USER, Window};
use super::policy::{EventField, Measure, Mode, OnEmpty, Policy};
use super::prepare::Prepared;
use super::slab::Spill;
use super::table::{self, Seen, Table};
use super::time::{Span, Timestamp};
use super::verdict::Verdict;
use super::window::{Held, Recorded};

/// What one decision is made from.
#[derive(Debug)]
pub struct Look<'e> {
    /// Effective time of the event.
    pub at: Timestamp,
    /// The acting address.
    pub address: Option<Address>,
    /// Values of the names of the policy's catalogue.
    pub slots: Vec<Slot<'e>>,
    /// What was decided before and still binds.
    pub binding: Option<Binding>,
    /// The address lies in a trusted network: nothing is held against it.
    pub trusted: bool,
    /// Nothing says that somebody else acts in the user's name: he was seen with this device before, or with none.
    pub familiar: bool,
    /// Many settled accounts stand behind the address.
    pub shared_address: bool,
    /// What is known of the account.
    pub(crate) standing: Standing,
    /// What each limit that applies says.
    pub limits: Vec<LimitLook>,
    /// What was not as exact as usual.
    pub quality: Vec<Quality>,
    /// What is known of the crowd on the target, if it is watched.
    pub(crate) crowd: Option<CrowdLook>,
    /// Hashes of the plan's key fields.
    pub(crate) hashes: &'e [Option<u64>],
    /// The key in each of the plan's dimensions.
    pub(crate) keys: &'e [Option<u64>],
    /// What else was worked out before its turn.
    pub(super) prepared: &'e Prepared,
    /// Which of the plan's filters let the event pass.
    pub(crate) passes: Vec<bool>,
    /// Where the actor's profiles are.
    pub(crate) profiles: Profiles,
    /// The record of the dimension in which crowds are watched, if the event has one there.
    pub(crate) watched: Option<table::Slot>,
}

/// A ban or penalty step that binds the event's user, device or address.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// What it demands.
    pub verdict: Verdict,
    /// Where it comes from.
    pub source: Arc<ReasonSource>,
    /// How much longer it binds; `None` until lifted.
    pub left: Option<Span>,
}

/// What one limit says of the event.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitLook {
    /// Index into the policy's limits.
    pub limit: usize,
    /// Set when it refuses.
    pub refusal: Option<Refusal>,
    /// What the event weighs.
    pub cost: u64,
    pub(crate) place: Option<Place>,
}

/// Why a limit refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// How long to wait; `None` when no wait helps.
    pub retry_after: Option<Span>,
    /// What counted.
    pub used: u64,
    /// The maximum.
    pub max: u64,
    /// It refused before, within the time in which that asks for more.
    pub repeated: bool,
}

/// Where a limit's cells are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) dimension: usize,
    /// Index into the dimension's limits.
    pub(crate) limit: usize,
    pub(crate) slot: table::Slot,
}

/// Where the actor's profiles are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Profiles {
    pub(crate) user: Option<table::Slot>,
    pub(crate) device: Option<table::Slot>,
    pub(crate) address: Option<table::Slot>,
}

impl Look<'_> {
    /// Whether a filter of the plan, if there is one, lets the event pass.
    fn passes(&self, filter: Option<usize>) -> bool {
        filter.is_none_or(|filter| self.passes[filter])
    }
}

impl Engine {
    /// Reads everything the decision on an event is made from. `address_text` is the address as expressions
    /// see it, `place` where it is.
    pub(super) fn look<'e>(
        &mut self,
        event: &'e Event<'_>,
        at: Timestamp,
        prepared: &'e Prepared,
        (address_text, place): (Option<&'e str>, Option<&'e super::place::Place>),
    ) -> Look<'e> {
        let mut look = self.open(at, prepared);
        self.open_profiles(event, &mut look);
        let facts = self.facts(event, &look);
        look.trusted = facts.trusted == Some(true);
        look.standing = facts.standing();
        fill_fields(&self.plan, event, address_text, &mut look.slots);
        super::place::fill(&self.plan.places, place, &mut look.slots);
        facts.fill(&self.plan.facts, &mut look.slots);
        let filters = self.plan.filters.iter().enumerate();
        look.passes.extend(filters.map(|(number, filter)| {
            prepared.sifted.passes(number).unwrap_or_else(|| filter.eval(&look.slots) == Some(true))
        }));
        look.shared_address = self.note_shared_address(&facts, &look);
        look.binding = self.binding(event, &look);
        for dimension in 0..self.plan.dimensions.len() {
            if prepared.sifted.reaches(dimension) {
                self.look_at(dimension, &mut look);
            }
        }
        self.look_at_crowd(event, &facts, &mut look);
        look
    }

    /// Takes the room of the last look for a new one.
    fn open<'e>(&mut self, at: Timestamp, prepared: &'e Prepared) -> Look<'e> {
        let mut slots = recycle(std::mem::take(&mut self.scratch.slots));
        slots.resize(self.policy.catalogue.len(), Slot::Unknown);
        Look {
            at,
            address: prepared.address,
            slots,
            binding: None,
            trusted: false,
            familiar: true,
            shared_address: false,
            standing: Standing::default(),
            limits: std::mem::take(&mut self.scratch.limits),
            quality: std::mem::take(&mut self.scratch.quality),
            crowd: None,
            hashes: &prepared.hashes,
            keys: &prepared.keys,
            prepared,
            passes: std::mem::take(&mut self.scratch.passes),
            profiles: Profiles::default(),
            watched: None,
        }
    }

    /// Gives the room of a look back.
    pub(super) fn close(&mut self, mut look: Look<'_>) {
        look.limits.clear();
        look.passes.clear();
        self.scratch.limits = look.limits;
        self.scratch.passes = look.passes;
        self.scratch.slots = recycle(look.slots);
    }

    fn open_profiles(&mut self, event: &Event<'_>, look: &mut Look<'_>) {
        let at = look.at;
        let open = |table: &mut Table, field: usize| {
            look.hashes[field].map(|key| open(table, key, look.prepared.seen_profile(field), at))
        };
        look.profiles = Profiles {
            user: open(&mut self.users, USER),
            device: open(&mut self.devices, DEVICE),
            address: open(&mut self.addresses, ADDRESS),
        };
        Facts::note(self, event, look);
    }

    fn look_at(&mut self, dimension: usize, look: &mut Look<'_>) {
        let Self { plan, policy, tables, stats, paces, .. } = self;
        let (plan, table) = (&plan.dimensions[dimension], &mut tables[dimension]);
        let Some(key) = look.keys[dimension] else {
            skip_empty(policy, &plan.limits, look, &mut stats.skipped_empty);
            return;
        };
        let heard = plan.signals.iter().position(|cell| look.passes(cell.filter));
        let slot = heard.map(|_| enter(plan, policy, table, dimension, look));
        if let (Some(first), Some(slot)) = (heard, slot) {
            if slot.is_guest() {
                count_guest(&plan.signals, table, key, look);
            }
            let (record, spill) = table.cells_and_spill(slot);
            for cell in &plan.signals[first..] {
                if look.passes(cell.filter) {
                    look.slots[cell.slot] = observe(cell, policy, (record, spill), paces, look);
                }
            }
        }
        if plan.gate.is_some() {
            look.watched = slot;
        }
        // Who is banned is asked no more.
        if look.trusted || look.binding.as_ref().is_some_and(|binding| binding.verdict == Verdict::Block) {
            return;
        }
        let asked = |cells: &LimitCells, look: &Look<'_>| {
            policy.limits[cells.limit].mode != Mode::Off && look.passes(cells.filter)
        };
        let Some(first) = plan.limits.iter().position(|cells| asked(cells, look)) else { return };
        let slot = slot.unwrap_or_else(|| enter(plan, policy, table, dimension, look));
        let record = (table.cells(slot), table.spill());
        for (number, cells) in plan.limits.iter().enumerate().skip(first) {
            if asked(cells, look) {
                let place = Place { dimension, limit: number, slot };
                let limit = check(cells, policy, record, place, look);
                look.limits.push(limit);
            }
        }
    }
}

/// The profile of a key; without a past that must have been there, it says so.
pub(super) fn open(table: &mut Table, key: u64, seen: Seen, at: Timestamp) -> table::Slot {
    let entry = table.find_seen_or_insert(key, seen, at);
    if entry.evicted {
        table.release_displaced();
    }
    if !entry.known.is_nothing() {
        table.set_estimated(entry.slot, at);
    }
    entry.slot
}

/// The record of the event's key in a dimension, which it must have; tells when it was not there although the key had been,
/// and when counts in it are estimates.
fn enter(
    plan: &DimensionPlan,
    policy: &Policy,
    table: &mut Table,
    dimension: usize,
    look: &mut Look<'_>,
) -> table::Slot {
    let key = look.keys[dimension].expect("who has no key is not looked at");
    let (slot, known) = admit::enter(plan, table, key, look.prepared.seen(dimension), look.at);
    if known {
        note(&mut look.quality, QualityCode::Evicted, None);
    }
    if table.is_estimated(slot) {
        let counts = plan.signals.iter().filter(|cell| matches!(cell.window, Window::Count(_)));
        for cell in counts {
            note(&mut look.quality, QualityCode::Approximate, Some(&policy.signals[cell.signal].name));
        }
        for cells in &plan.limits {
            note(&mut look.quality, QualityCode::Approximate, Some(&cells.name));
        }
    }
    slot
}

/// What the counts of a key take in that has no record of its own.
#[cold]
fn count_guest(signals: &[SignalCell], table: &mut Table, key: u64, look: &Look<'_>) {
    for place in signals.iter().filter(|place| look.passes(place.filter)) {
        if let Window::Count(spec) = &place.window {
            admit::count(table, key, spec.window(), &place.cell, 1, look.at);
        }
    }
}

/// Records the event in a signal's window and reads it.
fn observe<'e>(
    place: &SignalCell,
    policy: &Policy,
    (record, spill): (&mut [u32], &mut Spill),
    paces: &mut [Baseline],
    look: &mut Look<'_>,
) -> Slot<'e> {
    let signal = &policy.signals[place.signal];
    let cell = place.cell.of_mut(record);
    let at = look.at;
    let (value, recorded, exact, held) = match &place.window {
        Window::Count(spec) => {
            let recorded = spec.record(cell, spill, at, 1);
            let read = spec.read(cell, spill, at);
            (Slot::Int(clamp(read.count)), recorded, !read.coarse, read.held)
        }
        Window::Sum(spec) => {
            let Measure::Sum { of, .. } = &signal.measure else { return Slot::Unknown };
            let Some(value) = of.eval(&look.slots) else { return Slot::Unknown };
            let recorded = spec.record(cell, at, thousandths(value));
            let read = spec.read(cell, at);
            (Slot::Double(read.sum as f64 / 1000.0), recorded, true, read.held)
        }
        Window::Distinct(spec, of) => {
            let Some(hash) = look.hashes[*of] else { return Slot::Unknown };
            let recorded = spec.record(cell, spill, hash, at);
            let read = spec.read(cell, spill, at);
            (Slot::Int(clamp(read.count)), recorded, read.exact, read.held)
        }
        Window::Pace(spec, number) => {
            let noted = paces[*number].note(spec, look.hashes[ACTION].unwrap_or_default(), cell, at);
            let value = noted.pace.map_or(Slot::Unknown, Slot::Double);
            (value, Recorded::Yes, !noted.is_frozen, Held::Whole)
        }
        Window::Travel(spec) => {
            let Measure::Travel { exits, .. } = &signal.measure else { return Slot::Unknown };
            let Some(here) = super::place::travel::here(policy, look, exits) else { return Slot::Unknown };
            let Some(speed) = spec.note(cell, at, here) else { return Slot::Unknown };
            (Slot::Double(speed), Recorded::Yes, true, Held::Whole)
        }
    };
    if recorded == Recorded::Backlog || held != Held::Whole {
        note(&mut look.quality, QualityCode::Backlog, Some(&signal.name));
    }
    if !exact {
        note(&mut look.quality, QualityCode::Approximate, Some(&signal.name));
    }
    warm(&place.cell, look, &signal.name);
    value
}

/// What a limit says, over all its spans.
fn check(
    cells: &LimitCells,
    policy: &Policy,
    (record, spill): (&[u32], &Spill),
    place: Place,
    look: &mut Look<'_>,
) -> LimitLook {
    let rule = &policy.limits[cells.limit];
    let cost = rule.cost.as_ref().and_then(|cost| cost.eval(&look.slots)).map_or(1, weight);
    let mut refusal: Option<Refusal> = None;
    for (limit, cell) in &cells.spans {
        let check = limit.check(cell.of(record), spill, look.at, cost);
        let short = match check.verdict {
            limit::Verdict::Backlog => Some(QualityCode::Backlog),
            _ => (!check.exact).then_some(QualityCode::Approximate),
        };
        if let Some(code) = short {
            note(&mut look.quality, code, Some(&cells.name));
        }
        refusal = longer(refusal, refused(&check));
        warm(cell, look, &cells.name);
    }
    if let (Some(refusal), Some(repeat), Some(cell)) = (&mut refusal, rule.on_repeat, &cells.episode) {
        let window = rule.info.window.unwrap_or_default();
        refusal.repeated = super::episode::next(cell.of(record), look.at, window, repeat.within).repeated;
    }
    LimitLook { limit: cells.limit, refusal, cost, place: Some(place) }
}

/// The refusal of one span, if it refuses.
fn refused(check: &limit::Check) -> Option<Refusal> {
    let retry_after = match check.verdict {
        limit::Verdict::Allowed | limit::Verdict::Backlog => return None,
        limit::Verdict::Refused { retry_after } => Some(retry_after),
        limit::Verdict::CostExceedsCapacity => None,
    };
    Some(Refusal { retry_after, used: check.used, max: check.limit, repeated: false })
}

/// Of two refusals the one that lasts longer; never ending lasts longest.
fn longer(a: Option<Refusal>, b: Option<Refusal>) -> Option<Refusal> {
    let lasts = |refusal: &Refusal| refusal.retry_after.map_or(i64::MAX, Span::millis);
    match (a, b) {
        (Some(a), Some(b)) => Some(if lasts(&b) > lasts(&a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Limits of a dimension whose key the event does not have.
fn skip_empty(policy: &Policy, limits: &[LimitCells], look: &mut Look<'_>, skipped: &mut [u64]) {
    for cells in limits {
        let rule = &policy.limits[cells.limit];
        if rule.mode == Mode::Off || !look.passes(cells.filter) {
            continue;
        }
        match rule.on_empty {
            OnEmpty::Skip => skipped[cells.limit] += 1,
            OnEmpty::Refuse => look.limits.push(LimitLook {
                limit: cells.limit,
                refusal: Some(Refusal { retry_after: None, used: 0, max: 0, repeated: false }),
                cost: 1,
                place: None,
            }),
        }
    }
}

fn fill_fields<'e>(plan: &Plan, event: &'e Event<'_>, address: Option<&'e str>, slots: &mut [Slot<'e>]) {
    for (slot, field) in &plan.fields {
        slots[*slot] = field_slot(*field, event, address);
    }
    for (slot, name) in &plan.attributes {
        slots[*slot] = attribute(&event.attributes, name).map_or(Slot::Unknown, value_slot);
    }
    for (slot, name) in &plan.device_attributes {
        slots[*slot] = attribute(&event.device.attributes, name).map_or(Slot::Unknown, value_slot);
    }
}

fn field_slot<'e>(field: EventField, event: &'e Event<'_>, address: Option<&'e str>) -> Slot<'e> {
    let text = match field {
        EventField::Id => Some(&*event.id),
        EventField::Action => Some(&*event.action),
        EventField::User => event.user.as_deref(),
        EventField::Target => event.target.as_deref(),
        EventField::TargetOwner => event.target_owner.as_deref(),
        EventField::Ip => address,
        EventField::Device => event.device.id.as_deref(),
        EventField::UserAgent => event.user_agent.as_deref(),
        EventField::Session => event.session.as_deref(),
        EventField::ContentHash => event.content_hash.as_deref(),
        EventField::Plan => event.account.plan.as_deref(),
        EventField::Outcome => event.outcome.map(|outcome| match outcome {
            Attempt::Success => "success",
            Attempt::Failure => "failure",
        }),
    };
    text.map_or(Slot::Unknown, Slot::Text)
}

fn value_slot<'e>(value: &'e Value<'_>) -> Slot<'e> {
    match value {
        Value::Bool(b) => Slot::Bool(*b),
        Value::Int(i) => Slot::Int(*i),
        Value::Double(d) => Slot::Double(*d),
        Value::Text(text) => Slot::Text(text),
    }
}

fn note(quality: &mut Vec<Quality>, code: QualityCode, counter: Option<&Arc<str>>) {
    let known = quality.iter().any(|known| known.code == code && known.counter.as_ref() == counter);
    if !known {
        quality.push(Quality { code, counter: counter.cloned() });
    }
}

fn warm(cell: &Cell, look: &mut Look<'_>, name: &Arc<str>) {
    if look.at < cell.warm_at {
        note(&mut look.quality, QualityCode::WarmingUp, Some(name));
    }
}

fn clamp(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A sum is kept in thousandths; casts of `f64` saturate.
fn thousandths(value: f64) -> i64 {
    libm::round(value * 1000.0) as i64
}

/// A cost in whole units, rounded up; negative ones weigh nothing.
fn weight(cost: f64) -> u64 {
    libm::ceil(cost.max(0.0)) as u64
}

/// Empties a vector of slots and gives it another lifetime; the allocation stays.
fn recycle<'b>(mut slots: Vec<Slot<'_>>) -> Vec<Slot<'b>> {
    slots.clear();
    slots.into_iter().map(|_| Slot::Unknown).collect()
}
