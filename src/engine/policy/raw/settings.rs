//! Everything that is one number: settings, budgets, penalties, guards.

use schemars::JsonSchema;
use serde::Deserialize;

use super::words::{Duration, Named, RawFallBack, RawVerdict, Size};
use crate::engine::policy::reader::At;

/// How far events may be off the clock.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawTime {
    /// How far behind its append time an event may count at its own time. Default 60s.
    pub grace: Option<At<Duration>>,
    /// How far ahead of its append time an event may count at its own time. Default 10s.
    pub skew: Option<At<Duration>>,
    /// Further ahead than this is a dead letter. Default 5m.
    pub max_skew: Option<At<Duration>>,
}

/// How addresses are read.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawAddresses {
    /// Proxies of yours in front of the producers, whose entries of `X-Forwarded-For` are skipped. Default 0.
    pub trusted_hops: Option<At<i64>>,
    /// IPv6 addresses count by this prefix, 1 to 128. Default 64.
    pub ipv6_prefix: Option<At<i64>>,
    /// Where addresses are: the name of a `.csv` file beside this one, which begins with `# version: ...` and the line
    /// `cidr,country,city,latitude,longitude,network_class`. Default: unknown.
    pub table: Option<At<String>>,
    /// Networks that are never limited, scored by address or banned.
    #[serde(default)]
    pub trusted: Vec<At<String>>,
}

/// From which score which verdict.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawScore {
    /// Score of an event with no evidence, in points; 10 points double the odds. Default -100 (1 in 1,000).
    pub prior: Option<At<i64>>,
    /// The verdict ladder.
    pub ladder: Option<At<RawLadder>>,
    /// What a reject by suspicion needs.
    pub independence: Option<RawIndependence>,
    /// Evidence families with their caps in points. The default families stay unless named here.
    pub families: Option<Named<At<i64>>>,
}

/// From which score, in points, which verdict; ascending.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawLadder {
    /// Default -6 (40 percent).
    pub demote: Option<At<i64>>,
    /// Default 9 (65 percent).
    pub challenge: Option<At<i64>>,
    /// Default 17 (76 percent).
    pub hold: Option<At<i64>>,
    /// Default 25 (85 percent).
    pub reject: Option<At<i64>>,
}

/// What a reject by suspicion needs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawIndependence {
    /// So many families. Default 2.
    pub reject_families: Option<At<i64>>,
    /// With so many points each. Default 14 (1 nat).
    pub strong: Option<At<i64>>,
}

/// When an account is new, settled, paying.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawAccounts {
    /// New while younger than this. Default 7d.
    pub new_for: Option<At<Duration>>,
    /// Settled accounts.
    pub settled: Option<RawSettled>,
    /// Plans that pay.
    #[serde(default)]
    pub paying_plans: Vec<At<String>>,
}

/// When an account is settled: both hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSettled {
    /// Older than this. Default 30d.
    pub age: Option<At<Duration>>,
    /// Active on so many days. Default 3.
    pub active_days: Option<At<i64>>,
}

/// How long and within which memory duplicates are recognised.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawDuplicates {
    /// Default 1h.
    pub horizon: Option<At<Duration>>,
    /// Default 64MB.
    pub budget: Option<At<Size>>,
}

/// How long a held event waits for a person, and what holds when nobody decides.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawHold {
    /// Default 24h.
    pub timeout: Option<At<Duration>>,
    /// Default demote.
    pub default: Option<At<RawVerdict>>,
}

/// How long decisions may be revised.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawRetroactive {
    /// Default 24h.
    pub window: Option<At<Duration>>,
    /// Memory for the decisions concerned. Default 128MB.
    pub budget: Option<At<Size>>,
}

/// Memory budgets.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawMemory {
    /// For the user, device and address profiles, each. Default 256MB.
    pub profiles: Option<At<Size>>,
    /// Profiles idle longer than this are forgotten. Default 30d.
    pub profile_idle: Option<At<Duration>>,
    /// For each dimension that is not named below. Default 128MB.
    pub dimension: Option<At<Size>>,
    /// For single dimensions, by their fields joined with `+`.
    pub dimensions: Option<Named<At<Size>>>,
}

/// What refusals cost: a limit that refuses with `challenge` or stronger adds a penalty point.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawPenalties {
    /// Time in which points halve. Default 1h.
    pub half_life: Option<At<Duration>>,
    /// Steps, ascending by points.
    #[serde(default)]
    pub steps: Vec<At<RawPenaltyStep>>,
}

/// What happens when penalty points reach a mark.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawPenaltyStep {
    /// The mark.
    pub points: At<f64>,
    /// The standing verdict from then on.
    pub verdict: At<RawVerdict>,
    /// For how long.
    #[serde(rename = "for")]
    pub length: At<Duration>,
    /// A case that proposes a permanent ban is opened too.
    #[serde(default)]
    pub case: bool,
    /// Public code, upper case.
    pub code: At<String>,
    /// Public text: says what, not the threshold.
    pub text: String,
}

/// What holds the machine back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawGuards {
    /// An address with many settled accounts behind it is an exit, not a culprit.
    pub shared_address: Option<RawSharedAddress>,
    /// How many accounts each limit with challenge or stronger, and each rule with a verdict of its own, may hold up, and
    /// each observation pool may ban, before it falls back by itself. Default: any number.
    pub blast_radius: Option<At<RawBlastRadius>>,
}

/// How many accounts may be held up before a rule falls back by itself. What a rule, limit or pool leaves out is as in
/// `guards.blast_radius`. Penalty steps need none: a limit that has fallen back costs no points.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawBlastRadius {
    /// So many accounts, 1 to 100,000 ...
    pub accounts: Option<At<i64>>,
    /// ... or this share, in percent, of the accounts active in a day, if that is more (100,000 at most). Default: none.
    pub share: Option<At<f64>>,
    /// Within this time, which begins with the first of them; the rule acts again when it is over. Such windows follow each
    /// other: of any time of this length, up to twice as many accounts may be held up, half of them at the end of one
    /// window and half at the beginning of the next. Halve `accounts` where that is too many.
    pub within: Option<At<Duration>>,
    /// What the rule does for the rest of that time: `shadow`, the default, or `hold`, which of a pool are bans that hold.
    pub then: Option<At<RawFallBack>>,
    /// Any number, and why; of a rule, limit or pool, instead of all others.
    pub unlimited: Option<At<String>>,
    /// Public code, upper case; of `guards` only. Default BLAST_RADIUS.
    pub code: Option<At<String>>,
    /// Public text; of `guards` only.
    pub text: Option<At<String>>,
}

/// The shared-address guard.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSharedAddress {
    /// From so many distinct settled accounts in 24 h.
    pub settled_accounts: At<i64>,
    /// The strongest verdict that limits keyed by the address, and rules of these families, may still cause.
    pub cap: At<RawVerdict>,
    /// The families it holds back.
    #[serde(default)]
    pub families: Vec<At<String>>,
    /// Public code, upper case.
    pub code: At<String>,
    /// Public text.
    pub text: String,
}
