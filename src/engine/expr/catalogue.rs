//! Every name an expression may use: the fields of the event, what the engine remembers of the actor, the attributes
//! and signals that the policy declares. The index of a name is its slot.

use std::collections::BTreeMap;

use super::{Slot, Type};
use crate::engine::crowd::Kind;
use crate::engine::event::Value;
use crate::engine::place::PlaceField;
use crate::engine::policy::{CrowdFact, EventField, Fact, Name, Origin};

/// The names of one policy.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    names: Vec<Name>,
    slots: BTreeMap<String, usize>,
}

/// Words that cannot name a signal: roots of other names, functions, and what CEL keeps for itself.
pub const RESERVED: &[&str] = &[
    "account",
    "address",
    "as",
    "bool",
    "break",
    "bytes",
    "const",
    "contains",
    "continue",
    "crowd",
    "days",
    "device",
    "double",
    "duration",
    "dyn",
    "else",
    "endsWith",
    "event",
    "exists",
    "exists_one",
    "false",
    "filter",
    "for",
    "function",
    "has",
    "hours",
    "if",
    "import",
    "in",
    "in_network",
    "int",
    "ip",
    "let",
    "list",
    "lists",
    "loop",
    "map",
    "matches",
    "minutes",
    "namespace",
    "networks",
    "null",
    "null_type",
    "optional",
    "optional_type",
    "package",
    "return",
    "seconds",
    "size",
    "startsWith",
    "string",
    "timestamp",
    "true",
    "type",
    "uint",
    "user",
    "var",
    "void",
    "while",
    "all",
    "google",
    "math",
];

impl Catalogue {
    /// The names that every policy has.
    pub fn standard() -> Self {
        let mut catalogue = Self::default();
        for (path, field, doc) in FIELDS {
            catalogue.add(name(path, Type::Text, "", doc, Origin::Field(field)));
        }
        for (path, fact, ty, unit, doc) in FACTS {
            catalogue.add(name(path, ty, unit, doc, Origin::Fact(fact)));
        }
        for (path, fact, ty, unit, doc) in CROWD {
            catalogue.add(name(path, ty, unit, doc, Origin::Crowd(fact)));
        }
        for (of, doc) in PLACES {
            catalogue.add(name(of.name(), Type::Text, "", doc, Origin::Place(of)));
        }
        for kind in Kind::ALL {
            let fact = Origin::Crowd(CrowdFact::Evidence(kind));
            catalogue.add(name(kind.name(), Type::Double, "nats", kind.doc(), fact));
        }
        catalogue
    }

    /// Adds a name; false when there is one of this path already.
    pub fn add(&mut self, name: Name) -> bool {
        if self.slots.contains_key(&name.path) {
            return false;
        }
        self.slots.insert(name.path.clone(), self.names.len());
        self.names.push(name);
        true
    }

    /// The slot of a name.
    pub fn slot(&self, path: &str) -> Option<usize> {
        self.slots.get(path).copied()
    }

    /// The names, by slot.
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// Marks a name as read by an expression or limit.
    pub fn mark_used(&mut self, slot: usize) {
        if let Some(name) = self.names.get_mut(slot) {
            name.used = true;
        }
    }

    /// The names, by slot, for keeps.
    pub fn into_names(self) -> Vec<Name> {
        self.names
    }
}

/// One name, not read by anything yet.
pub fn name(path: &str, ty: Type, unit: &'static str, doc: &str, origin: Origin) -> Name {
    Name { path: path.to_owned(), ty, unit, doc: doc.to_owned(), origin, used: false }
}

impl<'a> Slot<'a> {
    /// An open attribute as the type it is declared with; unknown when it has another. A whole number is a double
    /// where one is declared.
    pub fn of_value(ty: Type, value: &'a Value<'a>) -> Self {
        match (ty, value) {
            (Type::Bool, Value::Bool(value)) => Slot::Bool(*value),
            (Type::Int, Value::Int(value)) => Slot::Int(*value),
            (Type::Double, Value::Double(value)) => Slot::Double(*value),
            (Type::Double, Value::Int(value)) => Slot::Double(*value as f64),
            (Type::Text, Value::Text(value)) => Slot::Text(value),
            _ => Slot::Unknown,
        }
    }
}

const PLACES: [(PlaceField, &str); 3] = [
    (PlaceField::Country, "Country of the address, two letters, by the table of addresses."),
    (PlaceField::City, "City of the address, by the table of addresses."),
    (
        PlaceField::NetworkClass,
        "Kind of network: residential, business, education, mobile, hosting or vpn, by the table of addresses.",
    ),
];

const FIELDS: [(&str, EventField, &str); 12] = [
    ("event.id", EventField::Id, "Id of the event."),
    ("event.action", EventField::Action, "What was done: like, comment, login, ..."),
    ("event.user_id", EventField::User, "Who acted."),
    ("event.target_id", EventField::Target, "What it was done to."),
    ("event.target_owner_id", EventField::TargetOwner, "Whom the target belongs to."),
    ("event.ip", EventField::Ip, "The address, normalised: IPv4, or an IPv6 prefix."),
    ("event.device_id", EventField::Device, "The acting device."),
    ("event.user_agent", EventField::UserAgent, "Opaque text of the client."),
    ("event.session_id", EventField::Session, "Login session."),
    ("event.outcome", EventField::Outcome, "Whether what was tried worked: success or failure."),
    ("event.content_hash", EventField::ContentHash, "Hash of the content posted."),
    ("account.plan", EventField::Plan, "Plan of the acting account."),
];

const FACTS: [(&str, Fact, Type, &str, &str); 11] = [
    (
        "account.age",
        Fact::AccountAge,
        Type::Int,
        "s",
        "Age of the account, from its registration as last known.",
    ),
    ("account.new", Fact::AccountNew, Type::Bool, "", "The account is younger than accounts.new_for."),
    (
        "account.settled",
        Fact::AccountSettled,
        Type::Bool,
        "",
        "The account is old and active enough to be settled.",
    ),
    (
        "account.paying",
        Fact::AccountPaying,
        Type::Bool,
        "",
        "The account's plan is one of accounts.paying_plans.",
    ),
    ("user.known_for", Fact::UserKnownFor, Type::Int, "s", "Time since the user was first seen here."),
    (
        "user.active_days",
        Fact::UserActiveDays,
        Type::Int,
        "days",
        "Distinct UTC days the user was seen here.",
    ),
    ("user.penalty", Fact::UserPenalty, Type::Double, "points", "Penalty points of the user now."),
    ("device.known_for", Fact::DeviceKnownFor, Type::Int, "s", "Time since the device was first seen here."),
    ("device.penalty", Fact::DevicePenalty, Type::Double, "points", "Penalty points of the device now."),
    (
        "address.known_for",
        Fact::AddressKnownFor,
        Type::Int,
        "s",
        "Time since the address was first seen here.",
    ),
    ("address.trusted", Fact::AddressTrusted, Type::Bool, "", "The address is in a trusted network."),
];

const CROWD: [(&str, CrowdFact, Type, &str, &str); 2] = [
    (
        "crowd.users",
        CrowdFact::Users,
        Type::Int,
        "accounts",
        "Accounts by which the crowd on the target was judged; unknown while it is not watched.",
    ),
    (
        "crowd.suspect",
        CrowdFact::Suspect,
        Type::Double,
        "",
        "Share of the crowd on the target that two families of evidence agree was brought in.",
    ),
];
