//! The names that expressions may use, and where their values come from.

use crate::engine::crowd::Kind;
use crate::engine::expr::Type;
use crate::engine::place::PlaceField;

/// One name that expressions may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// As written: `event.action`, `account.age`, `likes_by_user_1m`.
    pub path: String,
    /// Its type.
    pub ty: Type,
    /// Its unit, for people; empty where there is none.
    pub unit: &'static str,
    /// What it means, for people.
    pub doc: String,
    /// Where its value comes from.
    pub origin: Origin,
    /// Whether any expression or limit of this policy reads it: the engine fills only those.
    pub used: bool,
}

/// Where the value of a name comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A field of the event.
    Field(EventField),
    /// Something the engine remembers about the actor.
    Fact(Fact),
    /// An open attribute that the policy declares.
    Attribute(String),
    /// A device attribute that the policy declares.
    DeviceAttribute(String),
    /// A signal of the policy.
    Signal(usize),
    /// Something about the crowd on the target.
    Crowd(CrowdFact),
    /// Where the address is, by the policy's table.
    Place(PlaceField),
}

/// What is known of the crowd on the target of an event; unknown while its gate is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrowdFact {
    /// `crowd.users`, accounts by which it was judged.
    Users,
    /// `crowd.suspect`, the share of it that two families of evidence agree was brought in.
    Suspect,
    /// `crowd.age` and the like: evidence on the acting account, in nats.
    Evidence(Kind),
}

/// Fields of the event that expressions may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventField {
    /// `event.id`
    Id,
    /// `event.action`
    Action,
    /// `event.user_id`
    User,
    /// `event.target_id`
    Target,
    /// `event.target_owner_id`
    TargetOwner,
    /// `event.ip`, normalised: an IPv4 address, or an IPv6 prefix.
    Ip,
    /// `event.device_id`
    Device,
    /// `event.user_agent`
    UserAgent,
    /// `event.session_id`
    Session,
    /// `event.outcome`: `success` or `failure`
    Outcome,
    /// `event.content_hash`
    ContentHash,
    /// `account.plan`
    Plan,
}

/// What the engine remembers or derives about the actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// `account.age`, seconds, from the event's or the last known registration time.
    AccountAge,
    /// `account.new`
    AccountNew,
    /// `account.settled`
    AccountSettled,
    /// `account.paying`
    AccountPaying,
    /// `user.known_for`, seconds since first seen here.
    UserKnownFor,
    /// `user.active_days`, distinct UTC days seen here.
    UserActiveDays,
    /// `user.penalty`, points now.
    UserPenalty,
    /// `device.known_for`, seconds since first seen here.
    DeviceKnownFor,
    /// `device.penalty`, points now.
    DevicePenalty,
    /// `address.known_for`, seconds since first seen here.
    AddressKnownFor,
    /// `address.trusted`: within a trusted network.
    AddressTrusted,
}
