//! A sample of the actors, with the neighbours that their signals need.
//!
//! Actors are users, and addresses where there is no user; a hash of the name says who is in the sample, so a larger share
//! only adds. What others did counts for them where a key is shared: on the same target, behind the same address, on the
//! same device. So two readings: the first finds the keys of what the sample did, the second applies the sample, and of
//! the others what touches one of those keys, untold. What others did elsewhere is passed over; so whether their own
//! limits refused them is not known, nor what ordinary actors at large look like.

use std::collections::HashSet;

use crate::engine::address::Address;
use crate::engine::event::Event;
use crate::engine::key::{HashSeed, Prehashed, tuple};
use crate::engine::policy::{KeyField, Measure, Policy};
use crate::evaluate::Label;
use crate::evaluate::read::Ear;
use crate::replay::{Heard, Options, Panel, Record, Told, Turn};

/// Any seed will do: it only tells keys apart, and says who is in the sample.
const SEED: HashSeed = HashSeed(0x7361_6d70_6c65, 0x6163_746f_7273);

/// Who an event is by, as far as the sample is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// In the sample: it counts.
    Member,
    /// It shares a key with what a member did: it is applied.
    Neighbour,
    /// It is passed over.
    Stranger,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Thin {
    /// Hundredths of a percent.
    share: u32,
    /// Keys that actors share.
    shared: Vec<Vec<KeyField>>,
    hops: usize,
    prefix: u8,
    /// What the sample touched, by key and its values.
    touched: HashSet<u64, Prehashed>,
    crowds: bool,
    /// A count over all actors together cannot be thinned.
    global: bool,
}

impl Thin {
    /// A sample of so many hundredths of a percent of the actors, for these policies.
    pub fn new<'p>(share: u32, policies: impl IntoIterator<Item = &'p Policy>) -> Self {
        let mut thin = Self {
            share,
            shared: Vec::new(),
            hops: 0,
            prefix: 64,
            touched: HashSet::default(),
            crowds: false,
            global: false,
        };
        for policy in policies {
            (thin.hops, thin.prefix) = (policy.settings.trusted_hops, policy.settings.ipv6_prefix);
            thin.crowds |= policy.crowds.is_some();
            // What is usual is learnt from all actors.
            thin.global |= policy.signals.iter().any(|signal| matches!(signal.measure, Measure::Pace(_)));
            for dimension in &policy.dimensions {
                thin.share_by(&dimension.fields);
            }
            if policy.settings.shared_address.is_some() {
                thin.share_by(&[KeyField::Ip(None)]);
            }
            if policy.crowds.is_some() {
                thin.share_by(&[KeyField::Target]);
            }
        }
        thin
    }

    fn share_by(&mut self, fields: &[KeyField]) {
        if fields.contains(&KeyField::User) {
            return;
        }
        // Where an address is only a policy says: whoever shares the rest of the key is a neighbour.
        let fields = fields.iter().filter(|field| !matches!(field, KeyField::Place(_))).cloned();
        let fields: Vec<KeyField> = fields.collect();
        if fields.iter().all(|field| *field == KeyField::Action) {
            self.global = true;
        } else if !self.shared.contains(&fields) {
            self.shared.push(fields);
        }
    }

    fn is_member(&self, event: &Event<'_>, address: Option<Address>) -> bool {
        let name = match (&event.user, address) {
            (Some(user), _) => SEED.bytes(user.as_bytes()),
            (None, Some(address)) => SEED.bytes(&address.key_bytes()),
            (None, None) => return false,
        };
        u128::from(name) * 10_000 < u128::from(self.share) << 64
    }

    fn keys(&self, event: &Event<'_>, address: Option<Address>) -> impl Iterator<Item = u64> {
        self.shared.iter().enumerate().filter_map(move |(number, fields)| {
            let mut whole = true;
            let hashes = fields.iter().map(|field| SEED.field(field, event, address)).map(|hash| {
                whole &= hash.is_some();
                hash.unwrap_or_default()
            });
            let key = tuple(std::iter::once(number as u64).chain(hashes));
            whole.then_some(key)
        })
    }

    fn address(&self, event: &Event<'_>) -> Option<Address> {
        Address::of(event, self.hops, self.prefix)
    }

    /// First reading: what the sample touches.
    pub fn note(&mut self, event: &Event<'_>) {
        let address = self.address(event);
        if self.is_member(event, address) {
            let keys: Vec<u64> = self.keys(event, address).collect();
            self.touched.extend(keys);
        }
    }

    /// Second reading: who an event is by.
    pub fn who(&self, event: &Event<'_>) -> Who {
        let address = self.address(event);
        if self.is_member(event, address) {
            return Who::Member;
        }
        let touches = self.keys(event, address).any(|key| self.touched.contains(&key));
        if touches { Who::Neighbour } else { Who::Stranger }
    }

    /// What a sample cannot answer, in words.
    pub fn cannot_answer(&self) -> String {
        let mut open = vec![
            "figures are of the sample and not scaled up",
            "of others only what shares a target, address or device with the sample is applied: refusals by their own limits, \
             their ages as actors, and bans of theirs may be missing",
        ];
        if self.crowds {
            open.push("crowds and campaigns: ordinary actors at large are not known");
        }
        if self.global {
            open.push("counts over all actors together: they are those of what was applied");
        }
        open.join("; ")
    }

    /// The share in words.
    pub fn told(&self) -> String {
        format!("{} % of the actors", f64::from(self.share) / 100.0)
    }
}

/// The first reading.
pub struct Scout {
    panel: Panel,
    thin: Thin,
    read: i64,
}

impl Scout {
    /// Looks for what a sample touches.
    pub fn new(thin: Thin, options: Options) -> Self {
        Self { panel: Panel::new(Vec::new(), options), thin, read: 0 }
    }

    /// The next records, a few at a time. Returns how many it took, 0 at the end.
    pub fn records<'r>(&mut self, records: impl Iterator<Item = Record<'r>>) -> usize {
        let Self { panel, thin, read } = self;
        let hear = |told: &Told<'_>| told.event.iter().for_each(|(event, _)| thin.note(event));
        let count = panel.together(records, |_, _| Turn::Apply, hear);
        *read += count as i64;
        count
    }

    /// The sample, with what it touches.
    pub fn end(self) -> Thin {
        self.thin
    }
}

impl Ear for Scout {
    fn together<'l>(
        &mut self,
        lines: impl Iterator<Item = &'l [u8]>,
        _: impl FnMut(&Heard<'_>) -> Option<Label>,
    ) -> usize {
        let numbers = self.read..;
        self.records(lines.zip(numbers).map(|(bytes, number)| Record::line(bytes, number)))
    }
}
