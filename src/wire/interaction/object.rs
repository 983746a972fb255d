//! The objects of an interaction: which key goes where, and that no key comes twice.
//!
//! One generic visitor walks an object; each kind of object says what to do with a key. On an error the field
//! path is left in the trail.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use super::{Attributes, Interaction};
use crate::engine::event::{Account, Attempt, Device, Text};
use crate::engine::input::DeadLetterReason;
use crate::wire::error::Trail;
use crate::wire::seed::{Id, Instant, Key, Plain, Scalar, Skip};

/// The most attributes, and the most unknown or empty keys, of one object.
pub(super) const KEYS_MAX: usize = 64;

/// An object that is read key by key.
pub(super) trait Fields<'de>: Default {
    /// Reads the value of one key.
    fn read<A: MapAccess<'de>>(&mut self, key: Text<'de>, map: &mut A, trail: &Trail)
    -> Result<(), A::Error>;
}

/// Reads the object of an interaction.
pub(super) fn read<'de, D: Deserializer<'de>>(from: D, trail: &Trail) -> Result<Interaction<'de>, D::Error> {
    Object::<TopFields<'de>>::new(trail).deserialize(from).map(|fields| fields.out)
}

/// For measuring and for tools: what the JSON says, without the checks of
/// [`into_event`](Interaction::into_event).
impl<'de> Deserialize<'de> for Interaction<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        read(from, &Trail::default())
    }
}

/// Reads any object; `null` is an empty one.
pub(super) struct Object<'t, T>(&'t Trail, PhantomData<T>);

impl<'t, T> Object<'t, T> {
    pub(super) fn new(trail: &'t Trail) -> Self {
        Self(trail, PhantomData)
    }
}

impl<'de, T: Fields<'de>> DeserializeSeed<'de> for Object<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: Fields<'de>> Visitor<'de> for Object<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut fields = T::default();
        while let Some(key) = map.next_key_seed(Key)? {
            fields.read(key, &mut map, self.0)?;
        }
        Ok(fields)
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

#[derive(Default)]
struct TopFields<'de> {
    out: Interaction<'de>,
    seen: Seen<'de>,
}

/// The known keys; the discriminant is the bit in [`Seen`].
#[derive(Clone, Copy)]
enum Top {
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
    fn of(key: &str) -> Option<Self> {
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

impl<'de> Fields<'de> for TopFields<'de> {
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

impl<'de> TopFields<'de> {
    fn known<A: MapAccess<'de>>(&mut self, field: Top, map: &mut A, trail: &Trail) -> Result<(), A::Error> {
        let out = &mut self.out;
        match field {
            Top::EventId => out.event_id = map.next_value_seed(Id)?,
            Top::OccurredAt => out.occurred_at = map.next_value_seed(Instant(trail))?,
            Top::Action => out.action = map.next_value_seed(Plain)?,
            Top::UserId => out.user_id = map.next_value_seed(Id)?,
            Top::TargetId => out.target_id = map.next_value_seed(Id)?,
            Top::TargetOwnerId => out.target_owner_id = map.next_value_seed(Id)?,
            Top::Ip => out.ip = map.next_value_seed(Plain)?,
            Top::ForwardedFor => out.forwarded_for = map.next_value_seed(Plain)?,
            Top::Device => out.device = map.next_value_seed(Object::<DeviceFields<'de>>::new(trail))?.device,
            Top::Account => {
                out.account = map.next_value_seed(Object::<AccountFields<'de>>::new(trail))?.account;
            }
            Top::UserAgent => out.user_agent = map.next_value_seed(Plain)?,
            Top::SessionId => out.session_id = map.next_value_seed(Id)?,
            Top::Outcome => out.outcome = attempt(map.next_value_seed(Plain)?.as_deref(), trail)?,
            Top::ContentHash => out.content_hash = map.next_value_seed(Id)?,
            Top::Attributes => {
                out.attributes = map.next_value_seed(Object::<OpenFields<'de>>::new(trail))?.out;
            }
            Top::AppendTime => out.append_time = map.next_value_seed(Instant(trail))?,
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
#[derive(Default)]
struct OpenFields<'de> {
    out: Attributes<'de>,
    /// Keys that hold nothing: they may not come twice either.
    empty: Vec<Text<'de>>,
}

impl<'de> Fields<'de> for OpenFields<'de> {
    fn read<A: MapAccess<'de>>(
        &mut self,
        key: Text<'de>,
        map: &mut A,
        trail: &Trail,
    ) -> Result<(), A::Error> {
        attribute(key, map, trail, &mut self.out, &mut self.empty)
    }
}

fn attribute<'de, A: MapAccess<'de>>(
    key: Text<'de>,
    map: &mut A,
    trail: &Trail,
    out: &mut Attributes<'de>,
    empty: &mut Vec<Text<'de>>,
) -> Result<(), A::Error> {
    if out.iter().any(|(name, _)| *name == key) || empty.contains(&key) {
        return Err(repeated(&key, trail));
    }
    if out.len() + empty.len() >= KEYS_MAX {
        return Err(too_many(trail));
    }
    match map.next_value_seed(Scalar).inspect_err(|_| trail.inside(&key))? {
        Some(value) => out.push((key, value)),
        None => empty.push(key),
    }
    Ok(())
}

#[derive(Default)]
struct DeviceFields<'de> {
    device: Device<'de>,
    empty: Vec<Text<'de>>,
    seen: Seen<'de>,
}

impl<'de> Fields<'de> for DeviceFields<'de> {
    fn read<A: MapAccess<'de>>(
        &mut self,
        key: Text<'de>,
        map: &mut A,
        trail: &Trail,
    ) -> Result<(), A::Error> {
        if key != "id" {
            return attribute(key, map, trail, &mut self.device.attributes, &mut self.empty);
        }
        self.seen.known(0, &key, trail)?;
        self.device.id = map.next_value_seed(Id).inspect_err(|_| trail.inside(&key))?;
        Ok(())
    }
}

#[derive(Default)]
struct AccountFields<'de> {
    account: Account<'de>,
    empty: Vec<Text<'de>>,
    seen: Seen<'de>,
}

impl<'de> Fields<'de> for AccountFields<'de> {
    fn read<A: MapAccess<'de>>(
        &mut self,
        key: Text<'de>,
        map: &mut A,
        trail: &Trail,
    ) -> Result<(), A::Error> {
        match &*key {
            "created_at" => {
                self.seen.known(0, &key, trail)?;
                self.account.created_at =
                    map.next_value_seed(Instant(trail)).inspect_err(|_| trail.inside(&key))?;
            }
            "plan" => {
                self.seen.known(1, &key, trail)?;
                self.account.plan = map.next_value_seed(Plain).inspect_err(|_| trail.inside(&key))?;
            }
            _ => return attribute(key, map, trail, &mut self.account.attributes, &mut self.empty),
        }
        Ok(())
    }
}
