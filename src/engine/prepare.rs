//! Prepare: what can be worked out of an event before its turn: its address, the hashes of its keys, its identity.
//!
//! It reads the event and the layout of the policy, no state, so that a caller who has the next few events can prepare
//! them together while their state is fetched from memory. What was prepared under an earlier policy is recognised and
//! prepared again.

use super::Engine;
use super::address::Address;
use super::event::{Event, Text};
use super::key::tuple;
use super::place::Place;
use super::plan::{ACTION, ADDRESS, CONTENT, DEVICE, TARGET, USER, key_of};
use super::policy::KeyField;
use super::sieve::Sifted;
use super::table::{Seen, Table};

/// What was worked out of one event by the engine that is to apply it. Room that is used again for the next event.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// The policy it was made under, by number.
    activation: u64,
    /// The acting address.
    pub(crate) address: Option<Address>,
    /// Hashes of the plan's key fields.
    pub(crate) hashes: Vec<Option<u64>>,
    /// The key in each dimension, unless a field of it is missing or nothing looks at the event there.
    pub(crate) keys: Vec<Option<u64>>,
    /// The tables that it has a key in, by [`PROFILES`] and then by dimension.
    tables: Vec<(usize, u64)>,
    /// Where the record of its key in each table seemed to be.
    seen: Vec<Seen>,
    /// What its action decides.
    pub(super) sifted: Sifted,
    /// Hash of actor and event id.
    pub(crate) identity: u64,
    /// Digest of what the event says: equal for a retry, other for another event under the same id.
    pub(crate) content: u32,
}

/// The tables of profiles, which come before those of the dimensions.
pub(super) const PROFILES: [usize; 3] = [USER, DEVICE, ADDRESS];

impl Prepared {
    /// Where the profile of its user, device or address seemed to be.
    pub(super) fn seen_profile(&self, field: usize) -> Seen {
        self.seen.get(field).copied().unwrap_or_default()
    }

    /// Where its record in a dimension seemed to be.
    pub(super) fn seen(&self, dimension: usize) -> Seen {
        self.seen.get(PROFILES.len() + dimension).copied().unwrap_or_default()
    }
}

/// Events that are prepared together: the state of the later ones is fetched while the earlier ones are applied.
#[derive(Debug, Default)]
pub struct Ahead {
    /// The first `count` of them are in use.
    prepared: Vec<Prepared>,
    count: usize,
}

impl Ahead {
    /// How many events are worth preparing together.
    pub const EVENTS: usize = 32;
    /// How many events before its turn the records of an event are asked for: the processor can wait for some dozens of
    /// cache lines at a time, and one event asks for nearly as many.
    const RECORDS: usize = 6;
    /// The same for what hangs on the records.
    const BLOCKS: usize = 2;

    /// Prepares the next events, in their order; `None` stands for a record that holds no event.
    pub fn look<'e>(&mut self, engine: &Engine, events: impl Iterator<Item = Option<&'e Event<'e>>>) {
        self.count = 0;
        for event in events {
            if self.count == self.prepared.len() {
                self.prepared.push(Prepared::default());
            }
            match event {
                Some(event) => engine.prepare(event, &mut self.prepared[self.count]),
                None => self.prepared[self.count] = Prepared::default(),
            }
            self.count += 1;
        }
        let prepared = &mut self.prepared[..self.count];
        prepared.iter().for_each(|prepared| engine.approach(prepared));
        prepared.iter_mut().take(Self::RECORDS).for_each(|prepared| engine.prefetch(prepared));
    }

    /// What was prepared of the `index`-th of them, whose turn it is; asks for what a later one will need.
    ///
    /// # Panics
    /// When there were not so many.
    pub fn turn<'a>(&'a mut self, engine: &Engine, index: usize) -> &'a Prepared {
        let prepared = &mut self.prepared[..self.count];
        if let Some(later) = prepared.get_mut(index + Self::RECORDS) {
            engine.prefetch(later);
        }
        if let Some(later) = prepared.get(index + Self::BLOCKS) {
            engine.prefetch_blocks(later);
        }
        &prepared[index]
    }
}

impl Engine {
    /// Works out what can be known of an event before its turn.
    pub fn prepare(&self, event: &Event<'_>, into: &mut Prepared) {
        let settings = &self.policy.settings;
        into.activation = self.activation;
        into.address = Address::of(event, settings.trusted_hops, settings.ipv6_prefix);
        into.hashes.clear();
        let fields = self.plan.key_fields.iter();
        into.hashes.extend(fields.map(|field| match field {
            KeyField::Place(of) => {
                let place = self.place_of(into.address);
                place.and_then(|place| place.text(*of)).map(|text| self.seed.bytes(text.as_bytes()))
            }
            field => self.seed.field(field, event, into.address),
        }));
        let actor = into.hashes[USER].or(into.hashes[ADDRESS]).unwrap_or(0);
        into.identity = tuple([actor, self.seed.bytes(event.id.as_bytes())].into_iter());
        into.content = self.content_digest(event, &into.hashes);
        into.keys.clear();
        into.sifted = into.hashes[ACTION].map_or_else(Sifted::default, |action| self.sieve.get(action));
        let dimensions = self.plan.dimensions.iter().enumerate();
        into.keys.extend(dimensions.map(|(dimension, plan)| {
            let reached = into.sifted.reaches(dimension);
            if reached { key_of(&plan.fields, &into.hashes) } else { None }
        }));
        into.tables.clear();
        let profiles = PROFILES.into_iter().map(|field| into.hashes[field]);
        let keys = profiles.chain(into.keys.iter().copied()).enumerate();
        into.tables.extend(keys.filter_map(|(table, key)| Some((table, key?))));
        into.seen.clear();
        self.duplicates.prefetch(into.identity);
    }

    /// What the policy's table says of an address.
    fn place_of(&self, address: Option<Address>) -> Option<&Place> {
        self.policy.places.as_ref()?.find(address?.full())
    }

    /// Asks the processor for what [`Engine::prefetch`] reads.
    fn approach(&self, prepared: &Prepared) {
        if self.is_ready(prepared) {
            prepared.tables.iter().for_each(|(table, key)| self.table(*table).approach(*key));
        }
    }

    /// Asks the processor for the state that a prepared event will need, and notes where it is. Worth it some events
    /// ahead.
    pub fn prefetch(&self, prepared: &mut Prepared) {
        if self.is_ready(prepared) {
            prepared.seen.resize(PROFILES.len() + self.tables.len(), Seen::default());
            for (table, key) in &prepared.tables {
                prepared.seen[*table] = self.table(*table).prefetch(*key);
            }
        }
    }

    /// Asks the processor for what hangs on the records that [`Engine::prefetch`] asked for.
    fn prefetch_blocks(&self, prepared: &Prepared) {
        if self.is_ready(prepared) {
            let dimensions = prepared.seen.get(PROFILES.len()..).unwrap_or_default();
            self.tables.iter().zip(dimensions).for_each(|(table, seen)| table.prefetch_blocks(*seen));
        }
    }

    /// A table by its place in [`Prepared::tables`].
    fn table(&self, number: usize) -> &Table {
        match number {
            USER => &self.users,
            DEVICE => &self.devices,
            ADDRESS => &self.addresses,
            dimension => &self.tables[dimension - PROFILES.len()],
        }
    }

    /// Whether it was made under the policy that holds.
    pub(super) fn is_ready(&self, prepared: &Prepared) -> bool {
        prepared.activation == self.activation && prepared.hashes.len() == self.plan.key_fields.len()
    }

    fn content_digest(&self, event: &Event<'_>, hashes: &[Option<u64>]) -> u32 {
        let text = |text: &Option<Text<'_>>| text.as_ref().map_or(0, |text| self.seed.bytes(text.as_bytes()));
        let field = |field: usize| hashes[field].unwrap_or(0);
        let said = [
            event.occurred_at.millis().cast_unsigned(),
            field(ACTION),
            field(TARGET),
            field(DEVICE),
            field(CONTENT),
            text(&event.ip),
        ];
        tuple(said.into_iter()) as u32
    }
}
