//! Crowds: what is watched of those who act on one target together.

use schemars::JsonSchema;
use serde::Deserialize;

use super::words::Size;
use crate::engine::policy::reader::At;

/// Watches those who act on one target together. Without this section no crowd is watched and no rule may take evidence
/// of one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawCrowds {
    /// The signals that count the people who act on a target, from the shortest window to the longest, 3 at most: counts of
    /// distinct users by one key with the target. Key and filter say what is watched.
    pub people: At<Vec<At<RawPeople>>>,
    /// The signal that counts the people behind an address: a count of distinct users by a key with the address.
    /// Without it nothing is said of addresses.
    pub address_users: Option<At<String>>,
    /// Attributes of devices that are compared, 16 at most. Without them nothing is said of devices.
    #[serde(default)]
    pub device: Vec<At<String>>,
    /// Nicknames and avatars that are compared; with it, 13 attributes of devices at most. Without it nothing is said of
    /// them.
    pub persona: Option<At<RawPersona>>,
    /// What beside `least` opens a gate.
    pub gate: Option<RawGate>,
    /// Memory for crowds, gates and ordinary actors. What lies behind an open gate is in `retroactive.budget`, half of
    /// which it takes. Default 64MB.
    pub budget: Option<At<Size>>,
    /// What a crowd is called when it is established that it was brought in.
    pub campaign: At<RawCampaign>,
    /// Public code, upper case, of the reason that carries the higher prior of an account in a suspicious crowd.
    pub code: At<String>,
    /// Public text of that reason.
    pub text: String,
}

/// Where events tell how an account calls itself and looks: `account.NAME` or `attributes.NAME`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawPersona {
    /// Its nickname: shape (`Aaaaa9999`) and stem are compared, never the name itself.
    pub nickname: Option<At<String>>,
    /// A hash of its avatar.
    pub avatar: Option<At<String>>,
}

/// The people on a target in one window.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawPeople {
    /// The signal that counts them.
    pub signal: At<String>,
    /// So many open the gate, or more where ordinary targets are busier.
    pub least: At<i64>,
}

/// When ordinary targets are busy, a gate opens from so many times a quantile of the people they have.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawGate {
    /// So many times ... Default 1.5.
    pub times: Option<At<f64>>,
    /// ... this quantile of what targets have. Default 0.99.
    pub quantile: Option<At<f64>>,
}

/// An established crowd: one case, and corrections of what was decided on its members before.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawCampaign {
    /// Identity, unique over the policy.
    pub id: At<String>,
    /// It has so many members. Default 20.
    pub members: Option<At<i64>>,
    /// Public code, upper case.
    pub code: At<String>,
    /// Public text.
    pub text: String,
    /// What is proposed, for people.
    pub proposal: String,
}
