//! What goes into the engine, what comes out, and the name of what became of it.

use std::sync::Arc;

use super::ban::BanChange;
use super::blast::FellBack;
use super::case::Case;
use super::command::Command;
use super::decision::{Judgement, Quality, Reason};
use super::event::{Arrival, Event};
use super::feedback::{Feedback, Revision};
use super::policy::Policy;
use super::time::Timestamp;

/// One input. The engine's state is a function of the inputs in their order, and of nothing else.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// An interaction.
    Event(&'a Event<'a>, Arrival<'a>),
    /// An operator's action.
    Command(&'a Command, Arrival<'a>),
    /// What was learnt about a decision.
    Feedback(&'a Feedback, Arrival<'a>),
    /// From here on this policy holds.
    Policy(Arc<Policy>),
    /// Time has come to here although nothing happened: moves expiry, never windows.
    Tick(Timestamp),
}

/// What the engine tells the world after one input. Borrows nothing; used again for the next input.
#[derive(Debug, Default)]
pub struct Outputs {
    /// On the event that went in; none for a duplicate, a dead letter and for other inputs.
    pub judgement: Option<Judgement>,
    /// What rules and limits in shadow would have said of that event.
    pub shadow: Vec<Reason>,
    /// Changes of bans, in order.
    pub bans: Vec<BanChange>,
    /// Cases opened, grown or resolved, in order.
    pub cases: Vec<Case>,
    /// What was known of the account that acted.
    pub standing: Standing,
    /// Decisions that replace earlier ones, in order. At most [`Outputs::REVISIONS_MAX`] an input; the rest follow with
    /// the next inputs.
    pub revisions: Vec<Revision>,
    /// Rules that fell back because they held up too many accounts, in order.
    pub fell_back: Vec<FellBack>,
    /// The room of the judgement that was told last.
    spare: (Vec<Reason>, Vec<Quality>),
}

/// What is known of the account of one event; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// It is new, by the policy's words.
    pub new: Option<bool>,
    /// It is settled, by the policy's words.
    pub settled: Option<bool>,
    /// Its plan is one that pays.
    pub paying: Option<bool>,
}

impl Outputs {
    /// The most revisions that are told with one input.
    pub const REVISIONS_MAX: usize = 64;

    /// Forgets everything; capacity is kept.
    pub fn clear(&mut self) {
        if let Some(mut told) = self.judgement.take() {
            told.reasons.clear();
            told.quality.clear();
            self.spare = (told.reasons, told.quality);
        }
        self.standing = Standing::default();
        self.shadow.clear();
        self.bans.clear();
        self.cases.clear();
        self.fell_back.clear();
        self.revisions.clear();
    }

    /// Room for the reasons and shortcomings of the next judgement.
    pub(super) fn room(&mut self) -> (Vec<Reason>, Vec<Quality>) {
        std::mem::take(&mut self.spare)
    }
}

/// What became of one input. Each consumed record ends in exactly one outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// A decision was made.
    Decided,
    /// Seen before within the horizon, with the same content: no decision, no count.
    Duplicate,
    /// A command was applied.
    CommandApplied,
    /// A command was seen before.
    CommandRepeated,
    /// A command names what does not exist (any more).
    CommandRefused,
    /// What was learnt was noted; it may revise the decision.
    FeedbackApplied,
    /// The same feedback, or the same answer to the same decision, was seen before.
    FeedbackRepeated,
    /// It is about a decision that is not remembered (any more), that was not made, or that it does not fit.
    FeedbackRefused,
    /// A policy took effect.
    PolicyActivated,
    /// Time moved.
    Ticked,
    /// The record is for the dead letters.
    DeadLettered(DeadLetterReason),
}

/// Why a record became a dead letter: a closed list, used on the wire and as a metric label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeadLetterReason {
    /// No value: not an interaction.
    NullValue,
    /// Larger than the configured limit.
    TooLarge,
    /// A header that cannot be read.
    InvalidHeaders,
    /// Not UTF-8.
    InvalidUtf8,
    /// Not JSON, or cut off, or nested too deeply.
    MalformedJson,
    /// A required field is not there.
    MissingField,
    /// A field has the wrong type or a value out of range.
    InvalidField,
    /// The same key twice in one object.
    RepeatedKey,
    /// A schema version or content type that is not known here.
    UnsupportedVersion,
    /// A time in the wrong unit, or outside 2000 to 2200.
    InvalidTimestamp,
    /// More than `max_skew` ahead of its append time.
    FutureTimestamp,
    /// Scoring it failed twice.
    EngineFault,
}

impl DeadLetterReason {
    /// All reasons.
    pub const ALL: [DeadLetterReason; 12] = [
        DeadLetterReason::NullValue,
        DeadLetterReason::TooLarge,
        DeadLetterReason::InvalidHeaders,
        DeadLetterReason::InvalidUtf8,
        DeadLetterReason::MalformedJson,
        DeadLetterReason::MissingField,
        DeadLetterReason::InvalidField,
        DeadLetterReason::RepeatedKey,
        DeadLetterReason::UnsupportedVersion,
        DeadLetterReason::InvalidTimestamp,
        DeadLetterReason::FutureTimestamp,
        DeadLetterReason::EngineFault,
    ];

    /// The name used on the wire and as a metric label.
    pub const fn name(self) -> &'static str {
        match self {
            DeadLetterReason::NullValue => "null_value",
            DeadLetterReason::TooLarge => "too_large",
            DeadLetterReason::InvalidHeaders => "invalid_headers",
            DeadLetterReason::InvalidUtf8 => "invalid_utf8",
            DeadLetterReason::MalformedJson => "malformed_json",
            DeadLetterReason::MissingField => "missing_field",
            DeadLetterReason::InvalidField => "invalid_field",
            DeadLetterReason::RepeatedKey => "repeated_key",
            DeadLetterReason::UnsupportedVersion => "unsupported_version",
            DeadLetterReason::InvalidTimestamp => "invalid_timestamp",
            DeadLetterReason::FutureTimestamp => "future_timestamp",
            DeadLetterReason::EngineFault => "engine_fault",
        }
    }
}

impl Outcome {
    /// The name used in statistics and as a metric label; dead letters carry their reason apart.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Decided => "decided",
            Outcome::Duplicate => "duplicate",
            Outcome::CommandApplied => "command_applied",
            Outcome::CommandRepeated => "command_repeated",
            Outcome::CommandRefused => "command_refused",
            Outcome::FeedbackApplied => "feedback_applied",
            Outcome::FeedbackRepeated => "feedback_repeated",
            Outcome::FeedbackRefused => "feedback_refused",
            Outcome::PolicyActivated => "policy_activated",
            Outcome::Ticked => "ticked",
            Outcome::DeadLettered(_) => "dead_lettered",
        }
    }
}
