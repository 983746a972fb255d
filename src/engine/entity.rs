//! Who or what a ban, a penalty or a case is about.

use std::fmt;
use std::str::FromStr;

/// The kinds of entity that can be banned, exempted or reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntityKind {
    /// An account.
    User,
    /// A device id.
    Device,
    /// A normalised address: IPv4, or an IPv6 prefix. Never banned automatically.
    Ip,
    /// What was acted on.
    Target,
}

impl EntityKind {
    /// All kinds.
    pub const ALL: [EntityKind; 4] =
        [EntityKind::User, EntityKind::Device, EntityKind::Ip, EntityKind::Target];

    /// The name used on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            EntityKind::User => "user",
            EntityKind::Device => "device",
            EntityKind::Ip => "ip",
            EntityKind::Target => "target",
        }
    }
}

impl fmt::Display for EntityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One entity; written `kind:value`, where the value may hold colons itself (IPv6).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entity {
    /// What kind.
    pub kind: EntityKind,
    /// Its id, exactly as events carry it (addresses: normalised).
    pub value: String,
}

impl Entity {
    /// `kind:value`.
    pub fn new(kind: EntityKind, value: impl Into<String>) -> Self {
        Self { kind, value: value.into() }
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.value)
    }
}

impl FromStr for Entity {
    type Err = EntityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, value) = text.split_once(':').ok_or_else(|| EntityError(text.to_owned()))?;
        let kind = EntityKind::ALL.into_iter().find(|k| k.name() == kind);
        match kind {
            Some(kind) if !value.trim().is_empty() => Ok(Entity::new(kind, value)),
            _ => Err(EntityError(text.to_owned())),
        }
    }
}

/// Text that names no entity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no entity: write kind:value with kind one of user, device, ip, target")]
pub struct EntityError(pub String);
