//! What is known of a subject, as JSON. Times are RFC 3339 in UTC; what is not known is `null`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::serving::Answer;
use super::subject::{AccountSeen, DeviceSeen, Penalty, Subject, VerdictSeen};
use crate::engine::ban::{Ban, Origin};
use crate::engine::decision::risk_percent;
use crate::engine::time::Timestamp;

/// The body of `GET /v1/subjects/{kind}/{value}`.
#[derive(Debug, Serialize)]
pub(super) struct SubjectBody<'a> {
    kind: &'static str,
    value: &'a str,
    known: bool,
    as_of: Option<String>,
    bans: Vec<BanBody<'a>>,
    first_seen: Option<String>,
    seen_at: Option<String>,
    settled_accounts: Option<u64>,
    penalty: Option<PenaltyBody>,
    account: Option<AccountBody<'a>>,
    device: Option<DeviceBody<'a>>,
    signals: BTreeMap<&'a str, f64>,
    verdicts: Vec<VerdictBody<'a>>,
}

#[derive(Debug, Serialize)]
struct BanBody<'a> {
    id: &'a str,
    verdict: &'static str,
    issuer: IssuerBody<'a>,
    code: &'a str,
    reason: &'a str,
    issued_at: String,
    expires_at: Option<String>,
}

#[derive(Debug, Serialize)]
struct IssuerBody<'a> {
    kind: &'static str,
    name: &'a str,
}

#[derive(Debug, Serialize)]
struct PenaltyBody {
    points: f64,
    at: String,
}

#[derive(Debug, Serialize)]
struct AccountBody<'a> {
    created_at: Option<String>,
    age_seconds: Option<i64>,
    plan: Option<&'a str>,
    active_days: Option<u32>,
}

#[derive(Debug, Serialize)]
struct DeviceBody<'a> {
    id: &'a str,
    first_seen: Option<String>,
    accounts: Option<u64>,
    addresses: Option<u64>,
    penalty: Option<PenaltyBody>,
}

#[derive(Debug, Serialize)]
struct VerdictBody<'a> {
    decision_id: String,
    at: String,
    action: &'a str,
    verdict: &'static str,
    score: i32,
    risk_percent: u8,
    codes: Vec<&'a str>,
}

impl<'a> SubjectBody<'a> {
    /// An answer as it is told.
    pub(super) fn new(answer: &'a Answer) -> Self {
        let entity = &answer.entity;
        let subject = answer.subject.as_deref();
        let device = subject.and_then(|subject| subject.device.as_ref());
        let account = subject.and_then(|subject| subject.account.as_ref());
        Self {
            kind: entity.kind.name(),
            value: &entity.value,
            known: subject.is_some(),
            as_of: answer.as_of.map(text),
            bans: answer.bans.iter().map(ban).collect(),
            first_seen: subject.and_then(|subject| subject.first_seen).map(text),
            seen_at: subject.map(|subject| text(subject.seen_at)),
            settled_accounts: subject.and_then(|subject| subject.settled_accounts),
            penalty: subject.and_then(|subject| subject.penalty).map(penalty),
            account: account.map(|account| account_body(account, answer.now)),
            device: device.map(device_body),
            signals: subject.map(signals).unwrap_or_default(),
            verdicts: subject.into_iter().flat_map(|subject| &subject.verdicts).map(verdict).collect(),
        }
    }
}

fn text(time: Timestamp) -> String {
    time.to_string()
}

fn ban(ban: &Ban) -> BanBody<'_> {
    let (kind, name) = match &ban.origin {
        Origin::Policy(id) => ("policy", id),
        Origin::Actor(name) => ("actor", name),
    };
    BanBody {
        id: &ban.id,
        verdict: ban.verdict.name(),
        issuer: IssuerBody { kind, name },
        code: &ban.code,
        reason: &ban.reason,
        issued_at: text(ban.issued_at),
        expires_at: ban.expires_at.map(text),
    }
}

fn penalty(penalty: Penalty) -> PenaltyBody {
    PenaltyBody { points: penalty.points, at: text(penalty.at) }
}

fn account_body(account: &AccountSeen, now: Timestamp) -> AccountBody<'_> {
    AccountBody {
        created_at: account.created_at.map(text),
        age_seconds: account.created_at.map(|created| now.since(created).millis() / 1000),
        plan: account.plan.as_deref(),
        active_days: account.active_days,
    }
}

fn device_body(device: &DeviceSeen) -> DeviceBody<'_> {
    DeviceBody {
        id: &device.id,
        first_seen: device.first_seen.map(text),
        accounts: device.accounts,
        addresses: device.addresses,
        penalty: device.penalty.map(penalty),
    }
}

fn signals(subject: &Subject) -> BTreeMap<&str, f64> {
    subject.signals.iter().map(|(name, value)| (name.as_ref(), *value)).collect()
}

fn verdict(seen: &VerdictSeen) -> VerdictBody<'_> {
    VerdictBody {
        decision_id: seen.decision.to_string(),
        at: text(seen.at),
        action: &seen.action,
        verdict: seen.verdict.name(),
        score: seen.score,
        risk_percent: risk_percent(seen.score),
        codes: seen.codes.iter().map(AsRef::as_ref).collect(),
    }
}
