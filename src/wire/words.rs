//! Words of the contract that a later minor version may add to, and entities as text.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::quantity::inline_schema;
use crate::engine::entity::Entity;
use crate::engine::verdict::Verdict;

/// A verdict as told: one of the six, or one of a later minor version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerdictWord {
    /// One that this version knows.
    Known(Verdict),
    /// Any other word.
    Other(String),
}

impl VerdictWord {
    /// The verdict to act on. For a word not known here that is the weaker one told beside it, and without
    /// that `allow`: a reader never does more than it understands.
    pub fn or_weaker(&self, weaker: Option<&VerdictWord>) -> Verdict {
        match (self, weaker) {
            (VerdictWord::Known(verdict), _) | (_, Some(VerdictWord::Known(verdict))) => *verdict,
            _ => Verdict::Allow,
        }
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        match self {
            VerdictWord::Known(verdict) => verdict.name(),
            VerdictWord::Other(word) => word,
        }
    }
}

impl From<Verdict> for VerdictWord {
    fn from(verdict: Verdict) -> Self {
        Self::Known(verdict)
    }
}

impl Serialize for VerdictWord {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for VerdictWord {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let word = String::deserialize(from)?;
        Ok(word.parse().map_or(VerdictWord::Other(word), VerdictWord::Known))
    }
}

inline_schema!(VerdictWord, "VerdictWord", {
    "type": "string",
    "enum": ["allow", "demote", "challenge", "hold", "reject", "block"],
    "x-unit": "word; listed weakest first",
    "examples": ["allow", "reject"]
});

/// An entity, written `kind:value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityText(pub Entity);

impl fmt::Display for EntityText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for EntityText {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for EntityText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map(EntityText).map_err(serde::de::Error::custom)
    }
}

inline_schema!(EntityText, "EntityText", {
    "type": "string",
    "pattern": "^(user|device|ip|target):.*\\S",
    "x-unit": "kind:value, kind one of user, device, ip, target",
    "examples": ["user:u-1", "ip:2001:db8:1:2::/64"]
});
