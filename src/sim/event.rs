//! One simulated event, its truth, and its JSON.
//!
//! The JSON has the fields of the interaction contract and nothing that tells the truth about the account.

use std::net::IpAddr;

use serde::Serialize;
use serde_json::value::RawValue;

use super::device::Device;
use super::dice::scatter;
use super::population::Account;

/// What an account is in truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// A person.
    Honest,
    /// One of a campaign's accounts.
    Attacker {
        /// Index into the campaigns of the simulation.
        campaign: u32,
    },
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Opens an article.
    View,
    /// Likes it.
    Like,
    /// Takes a like back.
    Unlike,
    /// Writes under it.
    Comment,
    /// Passes it on.
    Share,
    /// Follows a person.
    Follow,
    /// Writes to another account.
    Message,
    /// Claims a coupon.
    CouponClaim,
    /// Logs in, or fails to.
    Login,
    /// Registers; there is no user id yet.
    SignUp,
}

/// One event of a simulation, in the order of sending.
#[derive(Clone, Copy, Debug)]
pub struct SimEvent<'a> {
    /// When it is sent: milliseconds since the Unix epoch, never falling from one event to the next. The append
    /// time, where a log is played.
    pub at_ms: i64,
    /// When it happened; up to some seconds before it is sent, never after.
    pub occurred_at_ms: i64,
    /// Number of the event; a retry carries the number of the first sending.
    pub number: u32,
    /// What is done.
    pub action: Action,
    /// Who acts.
    pub account: &'a Account,
    /// Id of what is acted on: an article, or the person followed or written to.
    pub target_id: Option<&'a str>,
    /// Whom that belongs to.
    pub target_owner_id: Option<&'a str>,
    /// From where.
    pub ip: IpAddr,
    /// With what.
    pub device: &'a Device,
    pub(super) device_json: &'a RawValue,
    /// Number of the login session.
    pub session: u32,
    /// Text of a comment or message, as a number.
    pub text: Option<u64>,
    /// Whether a login worked.
    pub success: Option<bool>,
}

impl SimEvent<'_> {
    /// What the acting account is in truth.
    pub fn truth(&self) -> Truth {
        self.account.truth
    }

    /// The id of the event as the JSON carries it.
    pub fn event_id(&self) -> String {
        format!("e{:08x}", scatter(u64::from(self.number) + 1, 32))
    }

    /// Who acts, as the JSON carries it; a sign-up has no user yet.
    pub fn user_id(&self) -> Option<&str> {
        (self.action != Action::SignUp).then_some(self.account.id.as_str())
    }

    /// Appends the event as one JSON object, without a line end.
    pub fn write_json(&self, to: &mut Vec<u8>) {
        let user_id = self.user_id();
        let record = Record {
            event_id: &self.event_id(),
            occurred_at: self.occurred_at_ms,
            append_time: (self.at_ms != self.occurred_at_ms).then_some(self.at_ms),
            action: self.action,
            user_id,
            target_id: self.target_id,
            target_owner_id: self.target_owner_id,
            ip: self.ip,
            device: self.device_json,
            account: user_id
                .map(|_| Registration { created_at: self.account.created_at, plan: self.account.plan }),
            user_agent: &self.device.user_agent,
            session_id: &format!("s{:08x}", scatter(u64::from(self.session) + 1, 32)),
            outcome: self.success.map(|ok| if ok { "success" } else { "failure" }),
            content_hash: self.text.map(|text| format!("{text:016x}")),
            attributes: (self.action == Action::CouponClaim).then_some(Attributes { coupon: "SUMMER25" }),
        };
        serde_json::to_writer(to, &record).expect("a vector takes all bytes, and the keys are text");
    }
}

/// The interaction as the contract names its fields.
#[derive(Serialize)]
struct Record<'a> {
    event_id: &'a str,
    occurred_at: i64,
    /// When a log would take it, where that is later; for files, on a topic the record's time counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    append_time: Option<i64>,
    action: Action,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_owner_id: Option<&'a str>,
    ip: IpAddr,
    device: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<Registration>,
    user_agent: &'a str,
    session_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<Attributes>,
}

#[derive(Serialize)]
struct Registration {
    created_at: i64,
    plan: &'static str,
}

#[derive(Serialize)]
struct Attributes {
    coupon: &'static str,
}
