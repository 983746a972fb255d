//! The nouns that come in: an interaction event, and where its record stood in the log.
//!
//! An event borrows from the record it was decoded from. What the record did not say is `None`, and `None` is
//! *unknown*: it never counts as evidence against a person. Blank text (`""`, `"  "`) is decoded as `None`.

use std::borrow::Cow;

use super::time::Timestamp;

/// Text borrowed from the record where it has no escapes.
pub type Text<'a> = Cow<'a, str>;

/// One interaction, as its producer told it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event<'a> {
    /// Unique per acting user or address within the duplicate horizon.
    pub id: Text<'a>,
    /// When it happened, by the producer's clock.
    pub occurred_at: Timestamp,
    /// What was done: `like`, `comment`, `login`, ...
    pub action: Text<'a>,
    /// Who acted. At least one of `user` and `ip` is there.
    pub user: Option<Text<'a>>,
    /// What it was done to.
    pub target: Option<Text<'a>>,
    /// Whom the target belongs to.
    pub target_owner: Option<Text<'a>>,
    /// The peer address as text, with or without port and brackets.
    pub ip: Option<Text<'a>>,
    /// The `X-Forwarded-For` list; read only as far as the policy trusts hops.
    pub forwarded_for: Option<Text<'a>>,
    /// The acting device.
    pub device: Device<'a>,
    /// The acting account, as its owner service knows it.
    pub account: Account<'a>,
    /// Opaque text of the client.
    pub user_agent: Option<Text<'a>>,
    /// Login session.
    pub session: Option<Text<'a>>,
    /// Whether what was tried worked, for instance a login.
    pub outcome: Option<Attempt>,
    /// Hash of the content posted, by the producer.
    pub content_hash: Option<Text<'a>>,
    /// Open attributes for rules, in the order of the record.
    pub attributes: Vec<(Text<'a>, Value<'a>)>,
}

/// The acting device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Device<'a> {
    /// Stable device id.
    pub id: Option<Text<'a>>,
    /// Fingerprint attributes (`os`, `screen`, `gpu`, ...), in the order of the record.
    pub attributes: Vec<(Text<'a>, Value<'a>)>,
}

/// The acting account.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account<'a> {
    /// When it was registered.
    pub created_at: Option<Timestamp>,
    /// Its plan; the policy's named list says which plans pay.
    pub plan: Option<Text<'a>>,
    /// Further attributes, in the order of the record.
    pub attributes: Vec<(Text<'a>, Value<'a>)>,
}

/// Whether what was tried worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It worked.
    Success,
    /// It did not.
    Failure,
}

/// A scalar of an open attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number within 64 bits.
    Int(i64),
    /// A finite number.
    Double(f64),
    /// Text.
    Text(Text<'a>),
}

/// Where a record stood, and when the log took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival<'a> {
    /// Topic, or the name of the file it was read from.
    pub topic: &'a str,
    /// Partition of the topic; 0 for a file.
    pub partition: i32,
    /// Offset in the partition; for a file the line number, from 0.
    pub offset: i64,
    /// Append time: when the log took the record.
    pub append_time: Timestamp,
}
