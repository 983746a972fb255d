//! A reference model of the engine: small, slow, with unbounded memory, and plainly right.
//!
//! It takes the same inputs and says what must be told. Windows are plain lists that are counted anew for every
//! question, and conditions run in CEL's own interpreter. It shares the nouns with the engine and none of its
//! workings. Where the engine may be inexact (counts by sub-windows, sketches, windows of events that come too late),
//! the model knows bounds; what does not depend on where between them the engine is must be told exactly, and of the
//! rest the model takes over what was told ([`Expected::followed`] counts that). So it does with evidence of crowds, which it
//! does not model, and with rates above what is usual, of which it knows the least threshold. Nor does it model eviction:
//! once a decision says `evicted`, nothing about windows can be said any more ([`Model::is_blind`]).

mod act;
mod blast;
mod calendar;
mod condition;
mod expected;
mod facts;
mod fields;
mod judge;
mod layout;
mod learn;
mod look;
mod meter;
mod operate;
mod pace;
mod person;
mod quota;
mod range;
mod register;
mod see;
mod series;
mod share;
mod told;
mod travel;
mod watch;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

pub use self::expected::{Expected, ExpectedReason, Shortcoming};
pub use self::range::Range;
pub use self::told::{Told, ToldReason};

use self::blast::Radius;
use self::layout::Layout;
use self::learn::Answerable;
use self::look::Exception;
use self::pace::Paces;
use self::person::Person;
use self::quota::Quota;
use self::register::{Bans, Cases};
use self::series::Series;
use self::travel::Whereabouts;
use self::watch::Watch;
use crate::engine::ban::{Ban, BanChange};
use crate::engine::case::Case;
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::input::Outcome;
use crate::engine::policy::Policy;
use crate::engine::time::{Span, Timestamp};

/// Repeated commands and feedback are recognised for so long.
const COMMAND_HORIZON: Span = Span::from_secs(7 * 86_400);

/// What was told, for the model to follow where only the engine can know.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hint<'h> {
    /// The decision on this event, if one was told.
    pub told: Option<&'h Told>,
    /// Ids of bans that were told, of this event or of any.
    pub bans: Option<&'h BTreeSet<String>>,
}

impl Hint<'_> {
    /// Whether the decision that was told gives this as a reason.
    fn names(&self, id: &str) -> bool {
        self.told.is_some_and(|told| told.reasons.iter().any(|reason| reason.id == id))
    }
}

/// What must come of one input.
#[derive(Debug)]
pub struct Answer {
    /// What becomes of it.
    pub outcome: Outcome,
    /// What must be told of an event, or of the decision that feedback revises.
    pub expected: Option<Expected>,
    /// Changes of bans; the order between entities is free.
    pub bans: Vec<BanChange>,
    /// Changes of cases; the order between cases is free.
    pub cases: Vec<Case>,
    /// Of feedback: it is about a decision that depends on what only the engine can know, and that nobody told. Whether it
    /// is revised, and to what, cannot be said.
    pub unsure: bool,
}

/// The state of everything, as lists.
#[derive(Debug)]
pub struct Model {
    policy: Arc<Policy>,
    layout: Layout,
    /// By counter, then by key.
    signals: HashMap<String, HashMap<String, Series>>,
    quotas: HashMap<String, HashMap<String, Quota>>,
    /// When and where each key was last; by counter, then by key.
    travels: HashMap<String, HashMap<String, Whereabouts>>,
    paces: HashMap<String, Paces>,
    /// When each limit's key was refused; by the limit's first counter, then by key.
    refusals: HashMap<String, HashMap<String, Vec<Timestamp>>>,
    /// Counters that a reload brought, and when.
    born: HashMap<String, Timestamp>,
    /// Numbers of distinct values.
    values: HashMap<String, u32>,
    people: HashMap<(EntityKind, String), Person>,
    /// Settled accounts seen behind each address.
    settled: HashMap<String, Series>,
    /// Time and content of events by actor and id.
    seen: HashMap<(String, String), (Timestamp, String)>,
    commands: HashMap<String, Timestamp>,
    bans: Bans,
    cases: Cases,
    watches: HashMap<(String, String), Watch>,
    exceptions: Vec<Exception>,
    radius: Radius,
    /// Decisions that can be answered, by the digest that all revisions share.
    answerable: HashMap<u64, Answerable>,
    /// Decisions that nobody told and only the engine can know, by that digest.
    guessed: BTreeSet<u64>,
    feedback: HashMap<String, Timestamp>,
    now: Timestamp,
    started_at: Option<Timestamp>,
    /// When state that began anew was warm.
    warmed_at: Option<Timestamp>,
    /// The highest number that a revision had when state began anew, by the journal.
    told_before: u32,
    blind: bool,
}

impl Model {
    /// A model that has seen nothing.
    pub fn new(policy: Arc<Policy>) -> Self {
        Self {
            layout: Layout::new(&policy),
            policy,
            signals: HashMap::new(),
            quotas: HashMap::new(),
            travels: HashMap::new(),
            paces: HashMap::new(),
            refusals: HashMap::new(),
            born: HashMap::new(),
            values: HashMap::new(),
            people: HashMap::new(),
            settled: HashMap::new(),
            seen: HashMap::new(),
            commands: HashMap::new(),
            bans: Bans::default(),
            cases: Cases::default(),
            watches: HashMap::new(),
            exceptions: Vec::new(),
            radius: Radius::default(),
            answerable: HashMap::new(),
            guessed: BTreeSet::new(),
            feedback: HashMap::new(),
            now: Timestamp::default(),
            started_at: None,
            warmed_at: None,
            told_before: 0,
            blind: false,
        }
    }

    /// All bans in force, by entity, strongest first.
    pub fn bans(&self) -> Vec<Ban> {
        self.bans.all()
    }

    /// The latest time of any input.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether something was evicted: what windows hold cannot be known from then on.
    pub fn is_blind(&self) -> bool {
        self.blind
    }

    /// The policy that holds.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// Bans that were told before the first input, as at a start.
    pub fn restore(&mut self, bans: Vec<Ban>) -> Vec<BanChange> {
        let mut told = Vec::new();
        bans.into_iter().for_each(|ban| self.bans.issue(ban, &mut told));
        told
    }

    /// Cases that were told before the first input, in the order of their last change.
    pub fn restore_cases(&mut self, cases: Vec<Case>) {
        cases.into_iter().for_each(|case| self.cases.take_over(case));
    }

    /// State begins anew; revisions had numbers up to this one before.
    pub fn begin_anew(&mut self, told_before: u32) {
        self.told_before = told_before;
    }

    /// State that began anew is warm: all that comes counts in its case.
    pub fn warm(&mut self) {
        self.cases.taken_over();
        self.warmed_at = Some(self.now);
    }

    /// Rules and entities of whose case only the engine can know how many events it has: an event that nobody told of may
    /// or may not have belonged to it. So until the case is taken over again.
    pub fn doubted_cases(&self) -> &BTreeSet<(String, Entity)> {
        self.cases.doubted()
    }

    /// Ids of the open cases that are not in doubt.
    pub fn open_cases(&self) -> Vec<String> {
        self.cases.open()
    }

    /// Forgets all bans, as where the topic of bans is taken over; pardons stay.
    pub fn forget_bans(&mut self) {
        self.bans.clear();
    }

    /// A policy takes effect. Counters that both policies have keep their lists.
    pub fn activate(&mut self, policy: &Arc<Policy>) -> Answer {
        let layout = Layout::new(policy);
        let (old, new) = (self.layout.counters(), layout.counters());
        let added: Vec<String> = new.difference(&old).map(|id| (*id).clone()).collect();
        let keeps = |id: &String| new.contains(id);
        self.signals.retain(|id, _| keeps(id));
        self.quotas.retain(|id, _| keeps(id));
        self.travels.retain(|id, _| keeps(id));
        self.paces.retain(|id, _| keeps(id));
        self.refusals.retain(|id, _| keeps(id));
        self.born.retain(|id, _| keeps(id));
        let pools: BTreeSet<&str> = policy.observations.iter().map(|pool| pool.info.id.as_str()).collect();
        self.watches.retain(|(pool, _), _| pools.contains(pool.as_str()));
        self.born.extend(added.into_iter().map(|id| (id, self.now)));
        self.layout = layout;
        self.radius.carry(&self.policy, policy);
        self.policy = Arc::clone(policy);
        Answer::of(Outcome::PolicyActivated)
    }

    /// Time has come to `now`.
    pub fn tick(&mut self, now: Timestamp) -> Answer {
        let mut answer = Answer::of(Outcome::Ticked);
        self.advance(now, &mut answer);
        answer
    }

    /// What was due by a time happens first.
    fn advance(&mut self, at: Timestamp, answer: &mut Answer) {
        self.started_at.get_or_insert(at);
        self.now = self.now.max(at);
        self.bans.expire(self.now, &mut answer.bans);
        self.cases.quiet(self.now, &mut answer.cases);
        let now = self.now;
        self.exceptions.retain(|exception| exception.until > now);
    }
}

impl Answer {
    fn of(outcome: Outcome) -> Self {
        Self { outcome, expected: None, bans: Vec::new(), cases: Vec::new(), unsure: false }
    }
}
