//! The small words of a policy file: quantities, closed lists, open maps.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::engine::expr::Type;
use crate::engine::policy::reader::At;
use crate::engine::policy::{FallBack, Mode, OnEmpty};
use crate::engine::verdict::Verdict;

/// A map with names of the author's choice, in the order of the file.
#[derive(Debug)]
pub struct Named<T>(pub Vec<(At<String>, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Named<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = access.next_entry()? {
                    entries.push(entry);
                }
                Ok(Named(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Named".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
    }
}

/// A duration such as `90s`, `1h30m`, `7d`; kept as written until it is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duration(pub String);

/// A size such as `64MB`; kept as written until it is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size(pub String);

/// A CEL expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cel(pub String);

struct AnyScalar(&'static str);

impl Visitor<'_> for AnyScalar {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E>(self, value: &str) -> Result<String, E> {
        Ok(value.to_owned())
    }

    fn visit_i64<E>(self, value: i64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_f64<E>(self, value: f64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_bool<E>(self, value: bool) -> Result<String, E> {
        Ok(value.to_string())
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyScalar("a duration such as 10m")).map(Self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyScalar("a size such as 64MB")).map(Self)
    }
}

impl<'de> Deserialize<'de> for Cel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyScalar("an expression")).map(Self)
    }
}

impl JsonSchema for Duration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(?=.)([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$",
            "description": "Whole numbers with units, largest first: w, d, h, m (minutes), s, ms.",
            "examples": ["250ms", "10s", "1h30m", "7d"]
        })
    }
}

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[0-9]+(B|KB|MB|GB)$",
            "description": "A whole number of B, KB, MB or GB, in powers of 1024.",
            "examples": ["64MB", "1GB"]
        })
    }
}

impl JsonSchema for Cel {
    fn schema_name() -> Cow<'static, str> {
        "Expression".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "number", "boolean"],
            "description": "A CEL expression over fields, facts, signals and lists.",
            "examples": ["event.action == 'like' && account.new"]
        })
    }
}

/// How many are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Max {
    /// So many; 0 refuses always.
    Number(i64),
    /// No limit at all.
    Unlimited,
}

impl<'de> Deserialize<'de> for Max {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MaxVisitor;
        impl Visitor<'_> for MaxVisitor {
            type Value = Max;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number or the word `unlimited`")
            }

            fn visit_i64<E>(self, value: i64) -> Result<Max, E> {
                Ok(Max::Number(value))
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<Max, E> {
                match word {
                    "unlimited" => Ok(Max::Unlimited),
                    _ => Err(E::custom(format!("expected a whole number or `unlimited`, found `{word}`"))),
                }
            }
        }
        deserializer.deserialize_any(MaxVisitor)
    }
}

impl JsonSchema for Max {
    fn schema_name() -> Cow<'static, str> {
        "Max".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "const": "unlimited" }],
            "description": "How many are allowed within the window; 0 refuses always."
        })
    }
}

/// A value of a test event, as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// Keys and values in their order.
    Map(Vec<(String, Value)>),
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Double(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}

impl JsonSchema for Value {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!(true)
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident => $target:ty { $($(#[$variant_doc:meta])* $variant:ident => $meaning:expr,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// What the word means.
            pub fn meaning(self) -> $target {
                match self { $($name::$variant => $meaning,)+ }
            }
        }
    };
}

words! {
    /// A verdict, weakest first.
    RawVerdict => Verdict {
        /// Let it through and count it.
        Allow => Verdict::Allow,
        /// Keep it, but do not count it until it is confirmed.
        Demote => Verdict::Demote,
        /// Ask for proof.
        Challenge => Verdict::Challenge,
        /// Wait for a person.
        Hold => Verdict::Hold,
        /// Refuse it.
        Reject => Verdict::Reject,
        /// The entity is banned.
        Block => Verdict::Block,
    }
}

words! {
    /// The type of an attribute.
    RawType => Type {
        /// `true` or `false`.
        Bool => Type::Bool,
        /// A whole number.
        Int => Type::Int,
        /// A number.
        Double => Type::Double,
        /// Text.
        Text => Type::Text,
    }
}

words! {
    /// Whether a limit or rule acts.
    RawMode => Mode {
        /// It acts.
        Live => Mode::Live,
        /// It only tells what it would have done.
        Shadow => Mode::Shadow,
        /// It is not evaluated.
        Off => Mode::Off,
    }
}

words! {
    /// What a rule does that has held up too many accounts.
    RawFallBack => FallBack {
        /// It only tells what it would have done.
        Shadow => FallBack::Shadow,
        /// It asks for `hold` at the most.
        Hold => FallBack::Hold,
    }
}

words! {
    /// What an event without one of the key's fields means to a limit.
    RawOnEmpty => OnEmpty {
        /// The limit does not apply.
        Skip => OnEmpty::Skip,
        /// The limit refuses.
        Refuse => OnEmpty::Refuse,
    }
}
