//! What operators ask for. Commands are applied at a batch boundary, before the batch's events.

use super::case::CaseOutcome;
use super::entity::Entity;
use super::time::{Span, Timestamp};
use super::verdict::Verdict;

/// One operator action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Identity; the same id twice is applied once.
    pub id: String,
    /// Who asks.
    pub actor: String,
    /// When it was asked.
    pub at: Timestamp,
    /// Why, for people.
    pub reason: String,
    /// What is asked.
    pub action: CommandAction,
}

/// What a command asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandAction {
    /// Ban an entity.
    Ban {
        /// Whom.
        entity: Entity,
        /// `block` or a weaker standing refusal.
        verdict: Verdict,
        /// For how long; `None` until lifted.
        length: Option<Span>,
    },
    /// Lift one ban of an entity, or all of them; sets its penalty to zero.
    Unban {
        /// Whom.
        entity: Entity,
        /// Which ban; `None` for all.
        ban: Option<String>,
    },
    /// Rules and limits hold nothing against an entity for a time.
    Exempt {
        /// Whom.
        entity: Entity,
        /// Ids of the rules, limits, pools and penalty steps; empty: all.
        rules: Vec<String>,
        /// For how long; zero takes an exemption back.
        length: Span,
    },
    /// One rule does not act on an entity for a time; what it would have done is told as shadow.
    Snooze {
        /// Whom.
        entity: Entity,
        /// Id of the rule, limit, pool or penalty step.
        rule: String,
        /// For how long; zero takes a snooze back.
        length: Span,
    },
    /// A person has decided a case.
    Resolve {
        /// Id of the case.
        case: String,
        /// What it was.
        outcome: CaseOutcome,
    },
    /// A person has decided an appeal against a ban.
    Appeal {
        /// Who appealed.
        entity: Entity,
        /// Against which ban; `None` for all.
        ban: Option<String>,
        /// Whether the bans are lifted, as by [`CommandAction::Unban`]; otherwise they stay.
        granted: bool,
    },
}
