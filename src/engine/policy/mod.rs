//! A policy as it is meant: checked, compiled, immutable. `load` makes it from files; nothing else does.
//!
//! What identifies a counter is its dimension, filter, window and algorithm (for limits also the limit's id), never
//! its threshold or the policy's hash: a reload gives no fresh quota.

pub mod duration;
pub mod edit;
pub mod listing;
pub mod load;
pub mod names;
pub mod nearest;
pub mod node;
pub mod problem;
pub mod raw;
pub mod reader;
pub mod schema;
pub mod source;
pub mod tests;

mod actions;
mod blast;
mod build;
mod crowds;
mod signal;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ipnet::IpNet;

use super::crowd::Kind;
use super::decision::{QualityCode, ReasonSource};
use super::entity::{Entity, EntityKind};
use super::expr::{Condition, Number};
use super::input::DeadLetterReason;
use super::place::{PlaceField, Places};
use super::rollout::Rollout;
use super::time::{Span, Timestamp};
use super::verdict::Verdict;

pub use self::actions::actions;
pub use self::blast::{BlastRadius, Budget, FallBack};
pub use self::crowds::{Campaigns, Crowds, Gate, OpenAttribute, People, Persona};
pub use self::names::{CrowdFact, EventField, Fact, Name, Origin};
pub use self::signal::{Measure, Signal};

/// A whole policy.
#[derive(Debug)]
pub struct Policy {
    /// Content hash of its files, 64 hex digits.
    pub hash: Arc<str>,
    /// Its name, for people.
    pub name: String,
    /// Everything that is one number.
    pub settings: Settings,
    /// Every name an expression may use; an index into it is a slot.
    pub catalogue: Vec<Name>,
    /// Key tuples; one table of state each.
    pub dimensions: Vec<Dimension>,
    /// Named measurements. Their slots are in the catalogue as `Origin::Signal(index)`.
    pub signals: Vec<Signal>,
    /// Limits, in the order of the files.
    pub limits: Vec<LimitRule>,
    /// Rules, in the order of the files.
    pub rules: Vec<Rule>,
    /// Evidence families; an index into it is a family.
    pub families: Vec<Family>,
    /// What is watched of those who act on one target together.
    pub crowds: Option<Crowds>,
    /// Where addresses are, by a table that the policy names.
    pub places: Option<Arc<Places>>,
    /// How many accounts rules and limits may hold up.
    pub blast: BlastRadius,
    /// Observation pools.
    pub observations: Vec<Observation>,
    /// Standing exemptions.
    pub exemptions: Vec<Exemption>,
    /// Named lists of text.
    pub lists: BTreeMap<String, Vec<String>>,
    /// Named lists of networks.
    pub networks: BTreeMap<String, Vec<IpNet>>,
    /// The texts it was made from, by path relative to the policy's directory, sorted.
    pub sources: Vec<(String, String)>,
}

/// The numbers of a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How far behind its append time an event may count at its own time.
    pub grace: Span,
    /// How far ahead of its append time an event may count at its own time.
    pub skew: Span,
    /// Further ahead than this is a dead letter.
    pub max_skew: Span,
    /// Proxies of ours in front of the producers: the acting address is the entry that the outermost of them wrote,
    /// this many from the right of `X-Forwarded-For`. 0 reads `ip` alone.
    pub trusted_hops: usize,
    /// IPv6 addresses count by this prefix.
    pub ipv6_prefix: u8,
    /// Networks that are never limited, scored by address or banned.
    pub trusted_networks: Vec<IpNet>,
    /// Score of an event with no evidence, in points (1 in 1,000 is -100).
    pub prior: i32,
    /// From which score which verdict.
    pub ladder: Ladder,
    /// Families with at least `strong` points that a reject by suspicion needs.
    pub reject_families: usize,
    /// What counts as one family's worth of evidence, in points (1 nat is 14).
    pub strong: i32,
    /// An account is new while younger than this.
    pub new_for: Span,
    /// An account is settled when older than this and ...
    pub settled_age: Span,
    /// ... active on at least this many days.
    pub settled_days: u32,
    /// Name of the list of plans that pay.
    pub paying_plans: Vec<String>,
    /// Duplicates are recognised within this time ...
    pub duplicate_horizon: Span,
    /// ... and this memory, in bytes.
    pub duplicate_budget: u64,
    /// How long a held event waits for a person ...
    pub hold_timeout: Span,
    /// ... and what holds when nobody decides.
    pub hold_default: Verdict,
    /// Decisions may be revised for this long.
    pub retroactive_window: Span,
    /// Memory for decisions that may be revised, in bytes.
    pub retroactive_budget: u64,
    /// Memory for the user, device and address profiles, in bytes each.
    pub profile_budget: u64,
    /// Profiles idle longer than this are forgotten.
    pub profile_idle: Span,
    /// What refusals cost.
    pub penalties: Penalties,
    /// Many settled accounts behind one address.
    pub shared_address: Option<SharedAddress>,
}

impl Settings {
    /// The effective time of an event: `occurred` held within `[append - grace, append + skew]`, and whether that moved
    /// it.
    ///
    /// # Errors
    /// It claims to be more than `max_skew` ahead of its append time.
    pub fn effective_time(
        &self,
        occurred: Timestamp,
        append: Timestamp,
    ) -> Result<(Timestamp, Option<QualityCode>), DeadLetterReason> {
        if occurred > append.after(self.max_skew) {
            return Err(DeadLetterReason::FutureTimestamp);
        }
        let (earliest, latest) = (append.before(self.grace), append.after(self.skew));
        Ok(match occurred {
            at if at < earliest => (earliest, Some(QualityCode::Late)),
            at if at > latest => (latest, Some(QualityCode::Early)),
            at => (at, None),
        })
    }

    /// Whether a plan is one that pays.
    pub fn is_paying(&self, plan: &str) -> bool {
        self.paying_plans.iter().any(|paying| paying == plan)
    }
}

/// From which score, in points, which verdict. Ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder {
    /// From here `demote`.
    pub demote: i32,
    /// From here `challenge`.
    pub challenge: i32,
    /// From here `hold`.
    pub hold: i32,
    /// From here `reject`.
    pub reject: i32,
}

/// Penalty points of a user or device: one per refusal whose verdict is `challenge` or stronger, halved every
/// `half_life`.
#[derive(Clone, Debug, PartialEq)]
pub struct Penalties {
    /// Time in which points halve.
    pub half_life: Span,
    /// Steps, ascending by points.
    pub steps: Vec<PenaltyStep>,
}

/// What happens when penalty points reach a mark.
#[derive(Clone, Debug, PartialEq)]
pub struct PenaltyStep {
    /// The mark.
    pub points: f64,
    /// The standing verdict from then on.
    pub verdict: Verdict,
    /// For how long.
    pub length: Span,
    /// Public code and text.
    pub info: Arc<ReasonSource>,
    /// A case that proposes a permanent ban is opened too.
    pub case: bool,
}

/// The shared-address guard: an address with many settled accounts behind it is an exit, not a culprit.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedAddress {
    /// From this many distinct settled accounts in 24 h.
    pub settled_accounts: u64,
    /// The strongest verdict that limits keyed by the address, and rules of these families, may still cause.
    pub cap: Verdict,
    /// The families it holds back (indices).
    pub families: Vec<usize>,
    /// Public code and text.
    pub info: Arc<ReasonSource>,
}

/// A key tuple.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// Its name: the fields joined by `+`.
    pub name: Arc<str>,
    /// The fields, in order.
    pub fields: Vec<KeyField>,
    /// Memory for its table, in bytes.
    pub budget: u64,
}

/// One field of a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyField {
    /// The acting user.
    User,
    /// The target.
    Target,
    /// The target's owner.
    TargetOwner,
    /// The action.
    Action,
    /// The address; IPv6 by this prefix, else by the policy's.
    Ip(Option<u8>),
    /// The device id.
    Device,
    /// The session.
    Session,
    /// The content hash.
    ContentHash,
    /// The user agent.
    UserAgent,
    /// An open attribute.
    Attribute(String),
    /// A device attribute.
    DeviceAttribute(String),
    /// Where the address is.
    Place(PlaceField),
}

/// As written in a policy's keys.
impl fmt::Display for KeyField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyField::User => f.write_str("user"),
            KeyField::Target => f.write_str("target"),
            KeyField::TargetOwner => f.write_str("target_owner"),
            KeyField::Action => f.write_str("action"),
            KeyField::Ip(None) => f.write_str("ip"),
            KeyField::Ip(Some(prefix)) => write!(f, "ip/{prefix}"),
            KeyField::Device => f.write_str("device"),
            KeyField::Session => f.write_str("session"),
            KeyField::ContentHash => f.write_str("content"),
            KeyField::UserAgent => f.write_str("user_agent"),
            KeyField::Attribute(name) => write!(f, "attributes.{name}"),
            KeyField::DeviceAttribute(name) => write!(f, "device.{name}"),
            KeyField::Place(of) => f.write_str(of.name()),
        }
    }
}

/// Whether a limit or rule acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// It acts.
    #[default]
    Live,
    /// It only tells what it would have done.
    Shadow,
    /// It is not evaluated.
    Off,
}

/// One limit of the policy.
#[derive(Debug)]
pub struct LimitRule {
    /// Public code, text, family, window.
    pub info: Arc<ReasonSource>,
    /// Family, an index.
    pub family: usize,
    /// The dimension, an index.
    pub dimension: usize,
    /// Which events it sees; `None` is all. Reads fields and facts only.
    pub filter: Option<Condition>,
    /// One or several spans, judged together: it refuses when any of them does.
    pub spans: Vec<LimitSpan>,
    /// What one event weighs; `None` is 1.
    pub cost: Option<Number>,
    /// What it says when it refuses.
    pub verdict: Verdict,
    /// What it says instead when it refuses again.
    pub on_repeat: Option<OnRepeat>,
    /// Refused and rejected events are recorded too.
    pub count_refused: bool,
    /// What an event without one of the key's fields means.
    pub on_empty: OnEmpty,
    /// Whose penalty grows when it refuses with `challenge` or stronger.
    pub penalty: Option<EntityKind>,
    /// Whether it acts.
    pub mode: Mode,
    /// For whom it acts, when not for all; for the others it is in shadow.
    pub rollout: Option<Rollout>,
    /// How many accounts it may hold up: an index into [`BlastRadius::budgets`].
    pub budget: Option<usize>,
}

/// One span of a limit.
#[derive(Clone, Debug)]
pub struct LimitSpan {
    /// The algorithm with its numbers.
    pub limit: super::limit::Limit,
    /// What it was made from.
    pub spec: super::limit::LimitSpec,
    /// Hash of limit id, dimension, filter, window and algorithm: what identifies the counter.
    pub identity: u64,
}

/// A limit that is broken again after some quiet asks for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnRepeat {
    /// A second episode of refusals that begins within this time after the first one began. Episodes are parted by
    /// at least the limit's window without a refusal.
    pub within: Span,
    /// What it says then.
    pub verdict: Verdict,
}

/// What an event without one of a limit's key fields means to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnEmpty {
    /// The limit does not apply (and is counted as skipped).
    #[default]
    Skip,
    /// The limit refuses.
    Refuse,
}

/// One rule of the policy.
#[derive(Debug)]
pub struct Rule {
    /// Public code, text, family.
    pub info: Arc<ReasonSource>,
    /// Family, an index.
    pub family: usize,
    /// When it fires.
    pub when: Condition,
    /// What it does.
    pub effect: Effect,
    /// The value shown with the reason.
    pub value: Option<Number>,
    /// What it is held against, shown with the reason.
    pub threshold: Option<f64>,
    /// Events it fires on belong to a case about this entity.
    pub case: Option<CaseRule>,
    /// Whether it acts.
    pub mode: Mode,
    /// For whom it acts, when not for all; for the others it is in shadow.
    pub rollout: Option<Rollout>,
    /// How many accounts it may hold up: an index into [`BlastRadius::budgets`].
    pub budget: Option<usize>,
}

/// What a rule does when it fires.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// Adds log-odds points to the score (negative ones speak for the actor).
    Points(i32),
    /// The verdict is at least this.
    Floor(Verdict),
    /// Adds what the crowd on the target says of the account, when there is such evidence.
    Evidence {
        /// Of which kind.
        kind: Kind,
        /// How much it counts, above 0 and at most 1.
        weight: f64,
    },
}

/// The case a rule keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseRule {
    /// What the case is about.
    pub entity: EntityKind,
    /// What is proposed, for people.
    pub proposal: String,
}

/// One evidence family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name.
    pub name: String,
    /// The most points its rules may add together.
    pub cap: i32,
    /// The reason that shows what the cap took away.
    pub info: Arc<ReasonSource>,
}

/// An observation pool: any two of three conditions watch an entity for a time; the third then, a stated number of
/// times, bans it.
#[derive(Debug)]
pub struct Observation {
    /// Public code and text.
    pub info: Arc<ReasonSource>,
    /// Who is watched.
    pub entity: EntityKind,
    /// The three conditions.
    pub conditions: [Condition; 3],
    /// How close together the first two must be, and how long the watch lasts.
    pub watch: Span,
    /// How often the third must come ...
    pub times: u32,
    /// ... within this time.
    pub within: Span,
    /// Length of the ban.
    pub ban: Span,
    /// Memory: the most entities it keeps.
    pub entities_max: usize,
    /// How many it may ban: an index into [`BlastRadius::budgets`].
    pub budget: Option<usize>,
}

/// A standing exemption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exemption {
    /// Who is exempt.
    pub entity: Entity,
    /// From which rules and limits, by id; empty is all.
    pub rules: Vec<String>,
    /// Until when (exclusive).
    pub until: Timestamp,
    /// Why, for people.
    pub reason: String,
}
