//! A policy as it is written: every section as a type, nothing checked yet beyond its shape.
//!
//! The doc comments of these types are the descriptions in the JSON Schema that editors use. Meaning (names, types,
//! ranges) is checked when the sections are turned into a `Policy`.

mod crowds;
mod rules;
mod settings;
mod words;

pub use crowds::*;
pub use rules::*;
pub use settings::*;
pub use words::*;

use schemars::JsonSchema;
use serde::Deserialize;

use super::reader::At;

/// One policy file. A policy is the sum of the `*.yaml` files of a directory; each may hold any of the sections. Ids
/// are unique over all files, and settings sections appear in one file only.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawFile {
    /// Version of this format: 1.
    pub version: Option<At<i64>>,
    /// Name of the policy, for people.
    pub name: Option<At<String>>,
    /// How far events may be off the clock.
    pub time: Option<RawTime>,
    /// How addresses are read.
    pub addresses: Option<RawAddresses>,
    /// From which score which verdict.
    pub score: Option<RawScore>,
    /// When an account is new, settled, paying.
    pub accounts: Option<RawAccounts>,
    /// How long and within which memory duplicates are recognised.
    pub duplicates: Option<RawDuplicates>,
    /// How long a held event waits for a person.
    pub hold: Option<RawHold>,
    /// How long decisions may be revised.
    pub retroactive: Option<RawRetroactive>,
    /// Memory budgets.
    pub memory: Option<RawMemory>,
    /// What refusals cost.
    pub penalties: Option<RawPenalties>,
    /// What holds the machine back.
    pub guards: Option<RawGuards>,
    /// Those who act on one target together.
    pub crowds: Option<RawCrowds>,
    /// Named lists of text, for `x in lists.NAME`.
    pub lists: Option<Named<Vec<At<String>>>>,
    /// Named lists of networks, for `in_network(event.ip, networks.NAME)`.
    pub networks: Option<Named<Vec<At<String>>>>,
    /// Open attributes of events that expressions may read, as `event.attributes.NAME`, with their type.
    pub attributes: Option<Named<At<RawType>>>,
    /// Attributes of the device that expressions may read, as `device.NAME`, with their type.
    pub device_attributes: Option<Named<At<RawType>>>,
    /// Named measurements over a window.
    pub signals: Option<Vec<RawSignal>>,
    /// Limits: so much in such a time.
    pub limits: Option<Vec<RawLimit>>,
    /// Rules: evidence that adds up to a score, or a verdict at least.
    pub rules: Option<Vec<RawRule>>,
    /// Observation pools: two of three conditions watch an entity, the third bans it.
    pub observation: Option<Vec<RawObservation>>,
    /// Standing exemptions.
    pub exemptions: Option<Vec<RawExemption>>,
}

/// The sections of a file, in the order of `RawFile`.
pub const SECTIONS: [&str; 22] = [
    "version",
    "name",
    "time",
    "addresses",
    "score",
    "accounts",
    "duplicates",
    "hold",
    "retroactive",
    "memory",
    "penalties",
    "guards",
    "crowds",
    "lists",
    "networks",
    "attributes",
    "device_attributes",
    "signals",
    "limits",
    "rules",
    "observation",
    "exemptions",
];
