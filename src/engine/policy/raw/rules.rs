//! What measures and judges: signals, limits, rules, observation pools, exemptions, and the tests beside them.

use schemars::JsonSchema;
use serde::Deserialize;

use super::settings::RawBlastRadius;
use super::words::{Cel, Duration, Max, RawMode, RawOnEmpty, RawVerdict, Value};
use crate::engine::policy::reader::At;

/// A named measurement over a window. It sees every event that passes its filter, this one included.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSignal {
    /// Its name in expressions: lower case, digits, underscores.
    pub name: At<String>,
    /// Whose measurement it is: user, target, target_owner, action, ip, ip/56, device, session, content,
    /// user_agent, attributes.NAME, device.NAME; several make a tuple.
    pub key: At<Vec<At<String>>>,
    /// Which events it sees; fields and facts only. Default: all.
    pub when: Option<At<Cel>>,
    /// Over how long.
    pub window: At<Duration>,
    /// Counts events.
    pub count: Option<At<RawCount>>,
    /// Counts distinct values of this field.
    pub distinct: Option<At<String>>,
    /// Adds up this number.
    pub sum: Option<At<Cel>>,
    /// How often the key comes, over a threshold that follows from how often keys come that are usual now: above 1 is too
    /// often. Windows are aligned; the baseline is kept for each action.
    pub rate: Option<RawRate>,
    /// How fast the key would have had to travel, km/h, since the event before: great-circle distance by time.
    pub travel: Option<RawTravel>,
    /// Sub-windows once an exact log no longer fits, 2 to 100. Default 12.
    pub slots: Option<At<i64>>,
    /// What it means, for people.
    pub doc: Option<String>,
}

/// Counts events.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawCount {}

/// What a rate is held against. Unknown while too little was learnt.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawRate {
    /// What is usual is this quantile of the counts of all keys: of the same hour of the week where enough is known of it,
    /// else of the last days. From 0.5 to 0.999. Default 0.99.
    pub quantile: Option<At<f64>>,
    /// The threshold is so many times that, 1 to 100. Default 2.
    pub times: Option<At<f64>>,
    /// And so many events in a window at the least. Default 10.
    pub least: Option<At<i64>>,
    /// It is unknown before so many keys were learnt from. Default 1000.
    pub keys: Option<At<i64>>,
    /// Windows in which a larger share of the keys, in percent, is beyond the threshold are not learnt from. Default 2.
    /// After a day of nothing but such windows the keys within the threshold are learnt from again, or all as the threshold
    /// where most are beyond it, and what is usual grows by a fifth a day at the most.
    pub freeze_above: Option<At<f64>>,
}

/// How fast somebody would have had to travel. Unknown where the place of either address is, of the networks named here,
/// and of an address that many settled accounts share.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawTravel {
    /// Shorter distances are no travel, and 0 km/h: places of addresses are that far off. Default 500 (km).
    pub least_km: Option<At<f64>>,
    /// Classes of networks whose place is not that of the people behind them. Default mobile, vpn, hosting, business.
    pub exits: Option<Vec<At<String>>>,
}

/// So much in such a time.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawLimit {
    /// Identity, unique over the policy.
    pub id: At<String>,
    /// Whom it limits; fields as in a signal's key.
    pub key: At<Vec<At<String>>>,
    /// Which events it sees; fields and facts only. Default: all.
    pub when: Option<At<Cel>>,
    /// Over how long; with `max`, or else `spans`.
    pub window: Option<At<Duration>>,
    /// How many are allowed within the window.
    pub max: Option<At<Max>>,
    /// Several spans that are judged together.
    pub spans: Option<At<Vec<At<RawSpan>>>>,
    /// How it counts. Default: sliding_log up to 32, sliding_window above.
    pub algorithm: Option<At<RawAlgorithm>>,
    /// What it says when it refuses.
    pub verdict: At<RawVerdict>,
    /// What it says when it is broken again after some quiet.
    pub on_repeat: Option<At<RawOnRepeat>>,
    /// What one event weighs; fields and facts only. Default 1.
    pub cost: Option<At<Cel>>,
    /// Refused and rejected events are counted too. Default false.
    #[serde(default)]
    pub count_refused: bool,
    /// What an event without one of the key's fields means. Default skip.
    pub on_empty: Option<At<RawOnEmpty>>,
    /// Whose penalty grows when it refuses with challenge or stronger. Default: the user of the key, else its device.
    pub penalty: Option<At<RawPenalty>>,
    /// Evidence family. Default volume.
    pub family: Option<At<String>>,
    /// Public code, upper case.
    pub code: At<String>,
    /// Public text: says what, not the threshold.
    pub text: String,
    /// Where the threshold comes from.
    pub source: Option<String>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// Whether it acts. Default live.
    pub mode: Option<At<RawMode>>,
    /// For which share of all entities it acts; for the others it is in shadow. Default: for all.
    pub rollout: Option<At<RawRollout>>,
    /// How many accounts it may hold up before it falls back by itself. Default: as in `guards`, with challenge or
    /// stronger.
    pub blast_radius: Option<At<RawBlastRadius>>,
    /// Its tests: an honest heavy user who passes, an abuser who is stopped.
    #[serde(default)]
    pub tests: Vec<At<RawTest>>,
}

/// One span of a limit.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSpan {
    /// Over how long.
    pub window: At<Duration>,
    /// How many are allowed.
    pub max: At<Max>,
}

/// How a limit counts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(transform = words_alone)]
pub enum RawAlgorithm {
    /// Exact: every time is kept. Up to 32.
    SlidingLog {},
    /// Sub-windows with a running sum.
    SlidingWindow {
        /// Sub-windows, 10 to 100. Default 12.
        slots: Option<At<i64>>,
    },
    /// A bucket of `max` tokens that refills.
    TokenBucket {
        /// Such as `10 per 1s`. Default: `max` per window.
        refill: Option<At<String>>,
    },
    /// A bucket that holds `max` and leaks `max` in each window, evenly.
    LeakyBucket {},
    /// Windows aligned to a calendar.
    Calendar {
        /// Time zone, such as `Europe/Berlin`. Default UTC.
        zone: Option<At<String>>,
    },
}

/// The name of an algorithm may stand alone, without numbers.
fn words_alone(schema: &mut schemars::Schema) {
    let with_numbers = schema.clone();
    let words = ["sliding_log", "sliding_window", "token_bucket", "leaky_bucket", "calendar"];
    *schema = schemars::json_schema!({ "anyOf": [{ "enum": words }, with_numbers] });
}

/// What a limit says when it is broken again after some quiet.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawOnRepeat {
    /// A second episode that begins within this time after the first.
    pub within: At<Duration>,
    /// What it says then.
    pub verdict: At<RawVerdict>,
}

/// Whose penalty grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawPenalty {
    /// The user of the key.
    User,
    /// The device of the key.
    Device,
    /// Nobody's.
    None,
}

/// Evidence that adds up to a score, or a verdict at least.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawRule {
    /// Identity, unique over the policy.
    pub id: At<String>,
    /// Evidence family.
    pub family: At<String>,
    /// When it fires. Not of a rule with `evidence`.
    pub when: Option<At<Cel>>,
    /// Log-odds points it adds; 10 double the odds, negative ones speak for the actor.
    pub points: Option<At<i64>>,
    /// Or the verdict is at least this.
    pub verdict: Option<At<RawVerdict>>,
    /// Or its points are this evidence of a crowd: crowd.age, crowd.cohort, crowd.device, crowd.network. It speaks
    /// whenever there is any.
    pub evidence: Option<At<String>>,
    /// How much the evidence counts, above 0 and at most 1. Default 0.7: evidence of one family is never quite
    /// independent.
    pub weight: Option<At<f64>>,
    /// The value shown with the reason.
    pub value: Option<At<Cel>>,
    /// What it is held against, shown with the reason.
    pub threshold: Option<f64>,
    /// Events it fires on belong to a case.
    pub case: Option<RawCase>,
    /// Public code, upper case.
    pub code: At<String>,
    /// Public text: says what, not the threshold.
    pub text: String,
    /// Where the threshold comes from.
    pub source: Option<String>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// Whether it acts. Default live.
    pub mode: Option<At<RawMode>>,
    /// For which share of all entities it acts; for the others it is in shadow. Default: for all. Not of a rule with
    /// `evidence`.
    pub rollout: Option<At<RawRollout>>,
    /// How many accounts it may hold up before it falls back by itself. Default: as in `guards`, with a verdict of its
    /// own. Not of a rule with `evidence`.
    pub blast_radius: Option<At<RawBlastRadius>>,
    /// Its tests: an honest heavy user who passes, an abuser who is stopped.
    #[serde(default)]
    pub tests: Vec<At<RawTest>>,
}

/// For which share of all entities a limit or rule acts. Which they are is a hash of its id and theirs: the same after a
/// restart or a reload, another sample for each rule, and a larger share only adds to a smaller one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawRollout {
    /// The share in percent, above 0 and at most 100, with two decimals at most.
    pub percent: At<f64>,
    /// Entities of which kind: user, device, ip or target. An event without one is in shadow. Default user.
    pub by: Option<At<String>>,
}

/// The case a rule keeps.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawCase {
    /// What the case is about: user, device, ip or target.
    pub entity: At<String>,
    /// What is proposed, for people.
    pub proposal: String,
}

/// Any two of three conditions watch an entity for a time; the third then, a stated number of times, bans it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawObservation {
    /// Identity, unique over the policy.
    pub id: At<String>,
    /// Who is watched: user or device.
    pub entity: At<String>,
    /// The three conditions.
    pub conditions: At<Vec<At<Cel>>>,
    /// How close together the first two must be, and how long the watch lasts.
    pub watch: At<Duration>,
    /// How often the third must come.
    pub times: At<i64>,
    /// Within which time.
    pub within: At<Duration>,
    /// Length of the ban.
    pub ban: At<Duration>,
    /// The most entities it keeps. Default 100,000.
    pub entities_max: Option<At<i64>>,
    /// How many it may ban before it falls back by itself. Default: as in `guards`.
    pub blast_radius: Option<At<RawBlastRadius>>,
    /// Evidence family of its reason. Default account.
    pub family: Option<At<String>>,
    /// Public code, upper case.
    pub code: At<String>,
    /// Public text.
    pub text: String,
    /// Where the numbers come from.
    pub source: Option<String>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// Its tests.
    #[serde(default)]
    pub tests: Vec<At<RawTest>>,
}

/// A standing exemption.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawExemption {
    /// Who is exempt, as `kind:value`.
    pub entity: At<String>,
    /// From which rules and limits, by id. Default: all.
    #[serde(default)]
    pub rules: Vec<At<String>>,
    /// Until when (exclusive), RFC 3339.
    pub until: At<String>,
    /// Why, for people.
    pub reason: String,
}

/// One test beside a rule or limit: events in, expectation about the decisions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawTest {
    /// What it shows.
    pub name: String,
    /// The events: fields as in the interaction schema; besides `at` (offset from 2025-06-15T12:00:00Z), `repeat`,
    /// `every`, `vary`.
    pub events: Vec<At<Value>>,
    /// What must come out: of the last event, or a list with `event: N` each.
    pub expect: At<Value>,
}
