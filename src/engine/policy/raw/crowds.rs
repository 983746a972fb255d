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
    /// The signal that counts the people who act on a target: a count of distinct users by a key with the target. Its
    /// key, filter and window say what is watched.
    pub users: At<String>,
    /// The signal that counts the people behind an address: a count of distinct users by a key with the address.
    /// Without it nothing is said of addresses.
    pub address_users: Option<At<String>>,
    /// Attributes of devices that are compared, 16 at most. Without them nothing is said of devices.
    #[serde(default)]
    pub device: Vec<At<String>>,
    /// From how many people on a target is looked at them.
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

/// From how many people on a target is looked at them: `least`, or more where ordinary targets are busier.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawGate {
    /// So many people in the window. Default 10.
    pub least: Option<At<i64>>,
    /// And so many times ...  Default 1.5.
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
