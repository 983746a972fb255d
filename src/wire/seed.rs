//! Readers of single JSON values that borrow from the record wherever it has no escapes.
//!
//! `null` is absent everywhere. A value of another type is an error that names what was expected.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::error::Trail;
use super::time;
use crate::engine::event::{Text, Value};
use crate::engine::input::DeadLetterReason;
use crate::engine::time::Timestamp;

/// Implements `DeserializeSeed` for a visitor that takes whatever comes.
macro_rules! any_seed {
    ($name:ident $(<$life:lifetime>)?, $value:ty) => {
        impl<'de> DeserializeSeed<'de> for $name $(<$life>)? {
            type Value = $value;

            fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
                from.deserialize_any(self)
            }
        }
    };
}

/// The key of an object.
pub(crate) struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Text, or nothing.
pub(crate) struct Plain;
any_seed!(Plain, Option<Text<'de>>);

impl<'de> Visitor<'de> for Plain {
    type Value = Option<Text<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// An id: text, or a whole number taken digit for digit. A number that a double has rounded is refused.
pub(crate) struct Id;
any_seed!(Id, Option<Text<'de>>);

impl<'de> Visitor<'de> for Id {
    type Value = Option<Text<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id: text, or a whole number within 64 bits")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// An instant: RFC 3339 text or epoch milliseconds.
pub(crate) struct Instant<'t>(pub(crate) &'t Trail);
any_seed!(Instant<'_>, Option<Timestamp>);

impl Instant<'_> {
    fn told<E: Error>(&self, time: Result<Timestamp, String>) -> Result<Option<Timestamp>, E> {
        time.map(Some).map_err(|message| self.0.fault(DeadLetterReason::InvalidTimestamp, message))
    }
}

impl<'de> Visitor<'de> for Instant<'_> {
    type Value = Option<Timestamp>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time: RFC 3339 text, or milliseconds since the Unix epoch")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        if text.trim_start().is_empty() {
            return Ok(None);
        }
        self.told(time::from_text(text))
    }

    fn visit_u64<E: Error>(self, millis: u64) -> Result<Self::Value, E> {
        self.told(time::from_millis(i128::from(millis)))
    }

    fn visit_i64<E: Error>(self, millis: i64) -> Result<Self::Value, E> {
        self.told(time::from_millis(i128::from(millis)))
    }

    fn visit_f64<E: Error>(self, millis: f64) -> Result<Self::Value, E> {
        self.told(time::from_double(millis))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// A scalar of an open attribute; lists and objects are passed over as nothing.
pub(crate) struct Scalar;
any_seed!(Scalar, Option<Value<'de>>);

impl<'de> Visitor<'de> for Scalar {
    type Value = Option<Value<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a finite number within 64 bits, or a truth value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(Value::Bool(value)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Value::Int(number)))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        match i64::try_from(number) {
            Ok(number) => Ok(Some(Value::Int(number))),
            Err(_) => Err(E::custom(format!("{number} is beyond 64 bits with sign; send it as text"))),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        if !number.is_finite() {
            return Err(E::custom("the number is not finite"));
        }
        // Adding zero makes -0.0 the same key as 0.0.
        Ok(Some(Value::Double(number + 0.0)))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Value::Text(Cow::Borrowed(text))))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Value::Text(Cow::Owned(text.to_owned()))))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Skip.visit_map(map).map(|()| None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Skip.visit_seq(seq).map(|()| None)
    }
}

/// Passes over any value. Unlike serde's `IgnoredAny`, for which the parser keeps no count of levels, this one
/// is subject to the parser's nesting limit of 128.
#[derive(Clone, Copy)]
pub(crate) struct Skip;
any_seed!(Skip, ());

impl<'de> Visitor<'de> for Skip {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(Skip)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Skip)?.is_some() {}
        Ok(())
    }
}
