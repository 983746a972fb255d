//! What operators ask for. Commands are applied at a batch boundary, before the batch's events.

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
}
