//! The objects of an interaction: which key goes where, and that no key comes twice.
//!
//! One generic visitor walks an object; each kind of object says what to do with a key. On an error the field
//! path is left in the trail. Everything is read into place.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use super::{Attributes, Interaction};
use crate::engine::event::{Account, Attempt, Device, Text};
use crate::engine::input::DeadLetterReason;
use crate::engine::time::Timestamp;
use crate::wire::error::Trail;
use crate::wire::seed::{Id, Instant, Key, Plain, Scalar, Skip};

/// The most attributes, and the most unknown or empty keys, of one object.
pub(super) const KEYS_MAX: usize = 64;

/// An object that is read key by key.
pub(super) trait Fields<'de> {
    /// Reads the value of one key.
    fn read<A: MapAccess<'de>>(&mut self, key: Text<'de>, map: &mut A, trail: &Trail)
    -> Result<(), A::Error>;
}

/// Reads the object of an interaction into place: an event is too large to be moved about.
pub(super) fn read<'de, D: Deserializer<'de>>(
    from: D,
    trail: &Trail,
    into: &mut Interaction<'de>,
) -> Result<(), D::Error> {
    Object(trail, TopFields { out: into, seen: Seen::default() }).deserialize(from)
}

/// For measuring and for tools: what the JSON says, without the checks that [`super::decode`] makes after it.
impl<'de> Deserialize<'de> for Interaction<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut out = Self::default();
        read(from, &Trail::default(), &mut out)?;
        Ok(out)
    }
}

/// Reads any object; `null` is an empty one.
pub(super) struct Object<'t, T>(pub(super) &'t Trail, pub(super) T);

impl<'de, T: Fields<'de>> DeserializeSeed<'de> for Object<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: Fields<'de>> Visitor<'de> for Object<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            self.1.read(key, &mut map, self.0)?;
        }
        Ok(())
    }
}

/// Which keys an object has had: known ones by bit, others by name.
#[derive(Default)]
pub(super) struct Seen<'de> {
    known: u32,
    others: Vec<Text<'de>>,
}

impl<'de> Seen<'de> {
    /// A key with a bit of its own.
    fn known<E: Error>(&mut self, bit: u32, key: &str, trail: &Trail) -> Result<(), E> {
        let mask = 1 << bit;
        if self.known & mask != 0 {
            return Err(repeated(key, trail));
        }
        self.known |= mask;
        Ok(())
    }

    /// Any other key.
    pub(super) fn other<E: Error>(&mut self, key: Text<'de>, trail: &Trail) -> Result<(), E> {
        if self.others.contains(&key) {
            return Err(repeated(&key, trail));
        }
        if self.others.len() >= KEYS_MAX {
            return Err(too_many(trail));
        }
        self.others.push(key);
        Ok(())
    }
}

fn repeated<E: Error>(key: &str, trail: &Trail) -> E {
    trail.inside(key);
    trail.fault(DeadLetterReason::RepeatedKey, "the key comes twice in one object")
}

fn too_many<E: Error>(trail: &Trail) -> E {
    trail.fault(DeadLetterReason::InvalidField, format!("more than {KEYS_MAX} keys in one object"))
}

struct TopFields<'o, 'de> {
    out: &'o mut Interaction<'de>,
    seen: Seen<'de>,
}

/// The known keys; the discriminant is the bit in [`Seen`].
#[derive(Clone, Copy)]
pub(super) enum Top {
    EventId,
    OccurredAt,
    Action,
    UserId,
    TargetId,
    TargetOwnerId,
    Ip,
    ForwardedFor,
    Device,
    Account,
    UserAgent,
    SessionId,
    Outcome,
    ContentHash,
    Attributes,
    AppendTime,
}

impl Top {
    pub(super) fn of(key: &str) -> Option<Self> {
        Some(match key {
            "event_id" => Top::EventId,
            "occurred_at" => Top::OccurredAt,
            "action" => Top::Action,
            "user_id" => Top::UserId,
            "target_id" => Top::TargetId,
            "target_owner_id" => Top::TargetOwnerId,
            "ip" => Top::Ip,
            "forwarded_for" | "xff" => Top::ForwardedFor,
            "device" => Top::Device,
            "account" => Top::Account,
            "user_agent" => Top::UserAgent,
            "session_id" => Top::SessionId,
            "outcome" => Top::Outcome,
            "content_hash" => Top::ContentHash,
            "attributes" => Top::Attributes,
            "append_time" => Top::AppendTime,
            _ => return None,
        })
    }
}

impl<'de> Fields<'de> for TopFields<'_, 'de> {
    fn read<A: MapAccess<'de>>(
        &mut self,
        key: Text<'de>,
        map: &mut A,
        trail: &Trail,
    ) -> Result<(), A::Error> {
        let Some(field) = Top::of(&key) else {
            self.seen.other(key.clone(), trail)?;
            return map.next_value_seed(Skip).inspect_err(|_| trail.inside(&key));
        };
        self.seen.known(field as u32, &key, trail)?;
        self.known(field, map, trail).inspect_err(|_| trail.inside(&key))
    }
}

impl<'de> TopFields<'_, 'de> {
    fn known<A: MapAccess<'de>>(&mut self, field: Top, map: &mut A, trail: &Trail) -> Result<(), A::Error> {
        let event = &mut self.out.event;
        match field {
            Top::EventId => event.id = map.next_value_seed(Id)?.unwrap_or_default(),
            Top::OccurredAt => self.out.occurred_at = map.next_value_seed(Instant(trail))?,
            Top::Action => event.action = map.next_value_seed(Plain)?.unwrap_or_default(),
            Top::UserId => event.user = map.next_value_seed(Id)?,
            Top::TargetId => event.target = map.next_value_seed(Id)?,
            Top::TargetOwnerId => event.target_owner = map.next_value_seed(Id)?,
            Top::Ip => event.ip = map.next_value_seed(Plain)?,
            Top::ForwardedFor => event.forwarded_for = map.next_value_seed(Plain)?,
            Top::Device => map.next_value_seed(Object(trail, DeviceFields::of(&mut event.device)))?,
            Top::Account => map.next_value_seed(Object(trail, AccountFields::of(&mut event.account)))?,
            Top::UserAgent => event.user_agent = map.next_value_seed(Plain)?,
            Top::SessionId => event.session = map.next_value_seed(Id)?,
            Top::Outcome => event.outcome = attempt(map.next_value_seed(Plain)?.as_deref(), trail)?,
            Top::ContentHash => event.content_hash = map.next_value_seed(Id)?,
            Top::Attributes => map.next_value_seed(Object(trail, OpenFields::of(&mut event.attributes)))?,
            Top::AppendTime => self.out.append_time = map.next_value_seed(Instant(trail))?,
        }
        Ok(())
    }
}

fn attempt<E: Error>(text: Option<&str>, trail: &Trail) -> Result<Option<Attempt>, E> {
    match text.map(str::trim) {
        None | Some("") => Ok(None),
        Some("success") => Ok(Some(Attempt::Success)),
        Some("failure") => Ok(Some(Attempt::Failure)),
        Some(_) => Err(trail.fault(DeadLetterReason::InvalidField, "expected `success` or `failure`")),
    }
}

/// An object whose keys are all attributes.
struct OpenFields<'o, 'de> {
    out: &'o mut Attributes<'de>,
    /// Keys that hold nothing: they may not come twice either.
    empty: Vec<Text<'de>>,
}

impl<'o, 'de> OpenFields<'o, 'de> {
    fn of(out: &'o mut Attributes<'de>) -> Self {
        Self { out, empty: Vec::new() }
    }
}

impl<'de> Fields<'de> for OpenFields<'_, 'de> {
    fn read<A: MapAccess<'de>>(
        &mut self,
        key: Text<'de>,
        map: &mut A,
        trail: &Trail,
    ) -> Result<(), A::Error> {
        if self.out.iter().any(|(name, _)| *name == key) || self.empty.contains(&key) {
            return Err(repeated(&key, trail));
        }
        if self.out.len() + self.empty.len() >= KEYS_MAX {
            return Err(too_many(trail));
        }
        match map.next_value_seed(Scalar).inspect_err(|_| trail.inside(&key))? {
            Some(value) => self.out.push((key, value)),
            None => self.empty.push(key),
        }
        Ok(())
    }
}

struct DeviceFields<'o, 'de> {
    id: &'o mut Option<Text<'de>>,
    others: OpenFields<'o, 'de>,
    seen: Seen<'de>,
}

impl<'o, 'de> DeviceFields<'o, 'de> {
    fn of(device: &'o mut Device<'de>) -> Self {
        Self { id: &mut device.id, others: OpenFields::of(&mut device.attributes), seen: Seen::default() }
    }
}

impl<'de> Fields<'de> for DeviceFields<'_, 'de> {
    fn read<A: MapAccess<'de>>(
        &mut self,
        key: Text<'de>,
        map: &mut A,
        trail: &Trail,
    ) -> Result<(), A::Error> {
        if key != "id" {
            return self.others.read(key, map, trail);
        }
        self.seen.known(0, &key, trail)?;
        *self.id = map.next_value_seed(Id).inspect_err(|_| trail.inside(&key))?;
        Ok(())
    }
}

struct AccountFields<'o, 'de> {
    created_at: &'o mut Option<Timestamp>,
    plan: &'o mut Option<Text<'de>>,
    others: OpenFields<'o, 'de>,
    seen: Seen<'de>,
}

impl<'o, 'de> AccountFields<'o, 'de> {
    fn of(account: &'o mut Account<'de>) -> Self {
        Self {
            created_at: &mut account.created_at,
            plan: &mut account.plan,
            others: OpenFields::of(&mut account.attributes),
            seen: Seen::default(),
        }
    }
}

impl<'de> Fields<'de> for AccountFields<'_, 'de> {
    fn read<A: MapAccess<'de>>(
        &mut self,
        key: Text<'de>,
        map: &mut A,
        trail: &Trail,
    ) -> Result<(), A::Error> {
        match &*key {
            "created_at" => {
                self.seen.known(0, &key, trail)?;
                *self.created_at = map.next_value_seed(Instant(trail)).inspect_err(|_| trail.inside(&key))?;
            }
            "plan" => {
                self.seen.known(1, &key, trail)?;
                *self.plan = map.next_value_seed(Plain).inspect_err(|_| trail.inside(&key))?;
            }
            _ => return self.others.read(key, map, trail),
        }
        Ok(())
    }
}
