//! From a node to a typed section, by serde, with the position of every mistake.
//!
//! Unknown keys are reported and passed over; a value of the wrong kind spoils its section (one rule, one limit) and
//! no other. `At<T>` in a section's type keeps the position of a value for the checks that come later.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{StrDeserializer, U64Deserializer};
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::nearest::did_you_mean;
use super::node::{Key, Kind, Node};
use super::problem::Report;
use super::source::Position;

const AT: &str = "$weir::At";

/// A value with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    /// Where it is written.
    pub at: Position,
    /// The value.
    pub value: T,
}

/// Reads a typed section; `None` (and an error in the report) where it has the wrong shape.
pub fn read<T: de::DeserializeOwned>(node: &Node, report: &Report<'_>) -> Option<T> {
    match T::deserialize(Reader { node, report }) {
        Ok(section) => Some(section),
        Err(flaw) => {
            report.error_with(flaw.at.unwrap_or(node.at), flaw.message, flaw.suggestion);
            None
        }
    }
}

/// Why a section cannot be read.
#[derive(Debug)]
struct Flaw {
    at: Option<Position>,
    message: String,
    suggestion: Option<String>,
}

impl Flaw {
    fn or_at(mut self, at: Position) -> Self {
        self.at.get_or_insert(at);
        self
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Flaw {}

impl de::Error for Flaw {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { at: None, message: message.to_string(), suggestion: None }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let suggestion = did_you_mean(variant, expected);
        Self { at: None, message: format!("unknown word `{variant}`"), suggestion }
    }

    fn missing_field(field: &'static str) -> Self {
        Self { at: None, message: format!("`{field}` is missing"), suggestion: None }
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self { at: None, message: format!("expected {expected}, found {found}"), suggestion: None }
    }
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    node: &'a Node,
    report: &'a Report<'a>,
}

impl<'a> Reader<'a> {
    fn of(self, node: &'a Node) -> Self {
        Self { node, ..self }
    }

    fn wrong(self, expected: &str) -> Flaw {
        let message = format!("expected {expected}, found {}", self.node.kind.name());
        let quotes = matches!(self.node.kind, Kind::Int(_) | Kind::Double(_) | Kind::Bool(_));
        let suggestion = (quotes && expected == "text").then(|| "put it in quotes".to_owned());
        Flaw { at: Some(self.node.at), message, suggestion }
    }

    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        let outcome = match &self.node.kind {
            Kind::Null => visitor.visit_unit(),
            Kind::Bool(value) => visitor.visit_bool(*value),
            Kind::Int(value) => visitor.visit_i64(*value),
            Kind::Double(value) => visitor.visit_f64(*value),
            Kind::Text(value) => visitor.visit_str(value),
            Kind::List(items) => visitor.visit_seq(Items { reader: self, items: items.iter() }),
            Kind::Map(entries) => visitor.visit_map(Entries::new(self, entries, None)),
        };
        outcome.map_err(|flaw| flaw.or_at(self.node.at))
    }
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Flaw;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        self.visit(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        match self.node.kind {
            Kind::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        match &self.node.kind {
            Kind::Text(_) => self.visit(visitor),
            _ => Err(self.wrong("text")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        self.deserialize_string(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        match &self.node.kind {
            Kind::List(_) => self.visit(visitor),
            _ => Err(self.wrong("a list")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        match &self.node.kind {
            Kind::Map(_) => self.visit(visitor),
            _ => Err(self.wrong("a map")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Flaw> {
        let Kind::Map(entries) = &self.node.kind else {
            return Err(self.wrong("a map"));
        };
        visitor.visit_map(Entries::new(self, entries, Some(fields))).map_err(|flaw| flaw.or_at(self.node.at))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Flaw> {
        if name == AT {
            visitor.visit_seq(Located { reader: self, told: false })
        } else {
            self.visit(visitor)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Flaw> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Flaw> {
        let (name, content) = match &self.node.kind {
            Kind::Text(word) => (word.as_str(), None),
            Kind::Map(entries) if entries.len() == 1 => (entries[0].0.name.as_str(), Some(&entries[0].1)),
            _ => return Err(self.wrong("a word")),
        };
        visitor.visit_enum(Word { reader: self, name, content }).map_err(|flaw| flaw.or_at(self.node.at))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple identifier
        ignored_any
    }
}

/// The items of a list.
struct Items<'a> {
    reader: Reader<'a>,
    items: std::slice::Iter<'a, Node>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Flaw;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Flaw> {
        self.items.next().map(|item| seed.deserialize(self.reader.of(item))).transpose()
    }
}

/// Position and value, for `At`.
struct Located<'a> {
    reader: Reader<'a>,
    told: bool,
}

impl<'de> SeqAccess<'de> for Located<'_> {
    type Error = Flaw;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Flaw> {
        if std::mem::replace(&mut self.told, true) {
            return seed.deserialize(self.reader).map(Some);
        }
        let at: U64Deserializer<Flaw> = (self.reader.node.at as u64).into_deserializer();
        seed.deserialize(at).map(Some)
    }
}

/// The entries of a map; keys that are no field are reported and passed over.
struct Entries<'a> {
    reader: Reader<'a>,
    entries: std::slice::Iter<'a, (Key, Node)>,
    fields: Option<&'static [&'static str]>,
    value: Option<&'a Node>,
}

impl<'a> Entries<'a> {
    fn new(reader: Reader<'a>, entries: &'a [(Key, Node)], fields: Option<&'static [&'static str]>) -> Self {
        Self { reader, entries: entries.iter(), fields, value: None }
    }

    fn next_known(&mut self) -> Option<&'a (Key, Node)> {
        for entry in self.entries.by_ref() {
            match self.fields {
                Some(fields) if !fields.contains(&entry.0.name.as_str()) => {
                    let message = format!("unknown field `{}`", entry.0.name);
                    self.reader.report.error_with(entry.0.at, message, field_advice(&entry.0.name, fields));
                }
                _ => return Some(entry),
            }
        }
        None
    }
}

fn field_advice(name: &str, fields: &'static [&'static str]) -> Option<String> {
    did_you_mean(name, fields).or_else(|| Some(format!("known are {}", fields.join(", "))))
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Flaw;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Flaw> {
        let Some((key, value)) = self.next_known() else {
            return Ok(None);
        };
        self.value = Some(value);
        let name: StrDeserializer<'_, Flaw> = key.name.as_str().into_deserializer();
        seed.deserialize(KeyReader { at: key.at, name }).map(Some).map_err(|flaw| flaw.or_at(key.at))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Flaw> {
        let node = self.value.take().ok_or_else(|| de::Error::custom("a value without a key"))?;
        seed.deserialize(self.reader.of(node)).map_err(|flaw| flaw.or_at(node.at))
    }
}

/// A key: text, or text with its position.
struct KeyReader<'a> {
    at: Position,
    name: StrDeserializer<'a, Flaw>,
}

impl<'de> Deserializer<'de> for KeyReader<'_> {
    type Error = Flaw;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Flaw> {
        self.name.deserialize_any(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Flaw> {
        visitor.visit_seq(LocatedKey { at: Some(self.at), name: Some(self.name) })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        newtype_struct seq map struct enum option identifier ignored_any
    }
}

struct LocatedKey<'a> {
    at: Option<Position>,
    name: Option<StrDeserializer<'a, Flaw>>,
}

impl<'de> SeqAccess<'de> for LocatedKey<'_> {
    type Error = Flaw;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Flaw> {
        if let Some(at) = self.at.take() {
            let at: U64Deserializer<Flaw> = (at as u64).into_deserializer();
            return seed.deserialize(at).map(Some);
        }
        self.name.take().map(|name| seed.deserialize(name)).transpose()
    }
}

/// A word of a closed list, alone or with content: `sliding_log`, or `sliding_window: {slots: 20}`.
struct Word<'a> {
    reader: Reader<'a>,
    name: &'a str,
    content: Option<&'a Node>,
}

impl<'de> EnumAccess<'de> for Word<'_> {
    type Error = Flaw;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Flaw> {
        let name: StrDeserializer<'_, Flaw> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for Word<'_> {
    type Error = Flaw;

    fn unit_variant(self) -> Result<(), Flaw> {
        match self.content {
            None => Ok(()),
            Some(content) => Err(self.reader.of(content).wrong("nothing after the word")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Flaw> {
        match self.content {
            Some(content) => seed.deserialize(self.reader.of(content)),
            None => Err(de::Error::custom(format!("`{}` needs a value", self.name))),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Flaw> {
        visitor.visit_unit()
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Flaw> {
        match self.content {
            Some(content) => self.reader.of(content).deserialize_struct("", fields, visitor),
            None => visitor.visit_map(Entries::new(self.reader, &[], Some(fields))),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple_struct(AT, 2, AtVisitor(PhantomData))
    }
}

struct AtVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for AtVisitor<T> {
    type Value = At<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of a policy file")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<At<T>, A::Error> {
        let missing = || de::Error::custom("a position and a value");
        let at: u64 = access.next_element()?.ok_or_else(missing)?;
        let value = access.next_element()?.ok_or_else(missing)?;
        Ok(At { at: usize::try_from(at).unwrap_or(usize::MAX), value })
    }
}

impl<T: schemars::JsonSchema> schemars::JsonSchema for At<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}
