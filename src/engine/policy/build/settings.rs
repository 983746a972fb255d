//! Everything that is one number, penalties and guards.

use std::sync::Arc;

use ipnet::IpNet;

use super::draft::Draft;
use super::quantity::{budget_or, number_or, positive_or, positive_span, span_or};
use super::{check_code, family_index};
use crate::engine::decision::ReasonSource;
use crate::engine::expr::tree::read_network;
use crate::engine::policy::problem::Report;
use crate::engine::policy::raw::{RawAddresses, RawPenaltyStep, RawTime};
use crate::engine::policy::reader::At;
use crate::engine::policy::{Family, Penalties, PenaltyStep, Settings, SharedAddress};
use crate::engine::time::Span;
use crate::engine::verdict::Verdict;

const HOUR: Span = Span::from_secs(3600);
const DAY: Span = Span::from_secs(86_400);
const MB: u64 = 1 << 20;

/// The numbers of a policy, but for penalties and guards.
pub(super) fn settings(draft: &Draft, report: &Report<'_>) -> Settings {
    let (grace, skew, max_skew) = time(draft.time.as_ref(), report);
    let addresses = draft.addresses.as_ref();
    let (prior, ladder, reject_families, strong) = super::score::numbers(draft.score.as_ref(), report);
    let accounts = draft.accounts.as_ref();
    let settled = accounts.and_then(|accounts| accounts.settled.as_ref());
    let duplicates = draft.duplicates.as_ref();
    let memory = draft.memory.as_ref();
    let (hold, retroactive) = (draft.hold.as_ref(), draft.retroactive.as_ref());
    Settings {
        grace,
        skew,
        max_skew,
        trusted_hops: number_or(
            "trusted_hops",
            addresses.and_then(|a| a.trusted_hops.as_ref()),
            0..=32,
            0,
            report,
        ),
        ipv6_prefix: number_or(
            "ipv6_prefix",
            addresses.and_then(|a| a.ipv6_prefix.as_ref()),
            1..=128,
            64,
            report,
        ),
        trusted_networks: addresses.map(|a| trusted(a, report)).unwrap_or_default(),
        prior,
        ladder,
        reject_families,
        strong,
        new_for: positive_or("new_for", accounts.and_then(|a| a.new_for.as_ref()), DAY.times(7), report),
        settled_age: positive_or("age", settled.and_then(|s| s.age.as_ref()), DAY.times(30), report),
        settled_days: number_or(
            "active_days",
            settled.and_then(|s| s.active_days.as_ref()),
            1..=1000,
            3,
            report,
        ),
        paying_plans: accounts
            .map(|a| a.paying_plans.iter().map(|plan| plan.value.clone()).collect())
            .unwrap_or_default(),
        duplicate_horizon: positive_or("horizon", duplicates.and_then(|d| d.horizon.as_ref()), HOUR, report),
        duplicate_budget: budget_or(duplicates.and_then(|d| d.budget.as_ref()), 64 * MB, report),
        hold_timeout: positive_or("timeout", hold.and_then(|hold| hold.timeout.as_ref()), DAY, report),
        hold_default: hold
            .and_then(|hold| hold.default.as_ref())
            .map_or(Verdict::Demote, |word| word.value.meaning()),
        retroactive_window: span_or(retroactive.and_then(|r| r.window.as_ref()), DAY, report),
        retroactive_budget: budget_or(retroactive.and_then(|r| r.budget.as_ref()), 128 * MB, report),
        profile_budget: budget_or(memory.and_then(|m| m.profiles.as_ref()), 256 * MB, report),
        profile_idle: positive_or(
            "profile_idle",
            memory.and_then(|m| m.profile_idle.as_ref()),
            DAY.times(30),
            report,
        ),
        penalties: Penalties { half_life: HOUR, steps: Vec::new() },
        shared_address: None,
    }
}

fn time(raw: Option<&RawTime>, report: &Report<'_>) -> (Span, Span, Span) {
    let part = |pick: fn(&RawTime) -> Option<&At<crate::engine::policy::raw::Duration>>, default: i64| {
        span_or(raw.and_then(pick), Span::from_secs(default), report)
    };
    let grace = part(|time| time.grace.as_ref(), 60);
    let skew = part(|time| time.skew.as_ref(), 10);
    let max_skew = part(|time| time.max_skew.as_ref(), 300);
    if max_skew < skew {
        let at = raw.and_then(|time| time.max_skew.as_ref().or(time.skew.as_ref())).map_or(0, |raw| raw.at);
        report.error(at, format!("max_skew ({max_skew}) is shorter than skew ({skew})"));
    }
    (grace, skew, max_skew)
}

fn trusted(raw: &RawAddresses, report: &Report<'_>) -> Vec<IpNet> {
    raw.trusted.iter().filter_map(|text| network(text, report)).collect()
}

/// An address or network.
pub(super) fn network(text: &At<String>, report: &Report<'_>) -> Option<IpNet> {
    let network = read_network(&text.value);
    match network {
        Some(network) if network.addr() != network.network() => {
            let suggestion = format!("write `{}`", network.trunc());
            report.error_with(
                text.at,
                format!("`{}` has bits beyond its prefix", text.value),
                Some(suggestion),
            );
        }
        Some(_) => {}
        None => report.error(text.at, format!("`{}` is no address or network", text.value)),
    }
    network
}

/// What refusals cost.
pub(super) fn penalties(draft: &Draft, report: &Report<'_>) -> Penalties {
    let raw = draft.penalties.as_ref();
    let half_life = positive_or("half_life", raw.and_then(|raw| raw.half_life.as_ref()), HOUR, report);
    let raw_steps = raw.map(|raw| raw.steps.as_slice()).unwrap_or_default();
    let steps: Vec<PenaltyStep> =
        raw_steps.iter().filter_map(|step| penalty_step(&step.value, report)).collect();
    for (pair, raw) in raw_steps.windows(2).zip(&raw_steps[raw_steps.len().min(1)..]) {
        let (before, after) = (&pair[0].value, &pair[1].value);
        if after.points.value <= before.points.value {
            let message = format!(
                "penalty steps must ascend: {} comes after {}",
                after.points.value, before.points.value
            );
            report.error(raw.value.points.at, message);
        }
        if after.verdict.value.meaning() < before.verdict.value.meaning() {
            report.warn(raw.value.verdict.at, "a higher step has a weaker verdict", None);
        }
    }
    Penalties { half_life, steps }
}

fn penalty_step(raw: &RawPenaltyStep, report: &Report<'_>) -> Option<PenaltyStep> {
    if raw.points.value <= 0.0 {
        report.error(raw.points.at, "a penalty step begins above 0 points");
    }
    let verdict = raw.verdict.value.meaning();
    if verdict == Verdict::Allow {
        report.error(raw.verdict.at, "a penalty step that allows does nothing");
    }
    check_code(&raw.code, report);
    Some(PenaltyStep {
        points: raw.points.value,
        verdict,
        length: positive_span("the time of a penalty step", &raw.length, report)?,
        info: reason(&format!("penalty-{}", raw.points.value), &raw.code.value, "volume", &raw.text),
        case: raw.case,
    })
}

/// The shared-address guard.
pub(super) fn shared_address(
    draft: &Draft,
    families: &[Family],
    report: &Report<'_>,
) -> Option<SharedAddress> {
    let raw = draft.guards.as_ref()?.shared_address.as_ref()?;
    check_code(&raw.code, report);
    if raw.cap.value.meaning() > Verdict::Hold {
        report.warn(raw.cap.at, "a guard that lets reject or block pass holds nothing back", None);
    }
    let accounts = super::quantity::within("settled_accounts", &raw.settled_accounts, 1..=1_000_000, report)?;
    Some(SharedAddress {
        settled_accounts: u64::try_from(accounts).ok()?,
        cap: raw.cap.value.meaning(),
        families: raw.families.iter().filter_map(|name| family_index(families, name, report)).collect(),
        info: reason("shared-address", &raw.code.value, "network", &raw.text),
    })
}

/// A reason that is not of a rule or limit.
pub(super) fn reason(id: &str, code: &str, family: &str, text: &str) -> Arc<ReasonSource> {
    Arc::new(ReasonSource {
        id: id.to_owned(),
        code: code.to_owned(),
        family: family.to_owned(),
        text: text.to_owned(),
        window: None,
    })
}
