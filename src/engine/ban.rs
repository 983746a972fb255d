//! The nouns of a ban: a standing restriction on an entity, and what is told when the set of them changes.

use super::entity::Entity;
use super::time::Timestamp;
use super::verdict::Verdict;

/// Who issued a ban or gave a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A rule, limit or penalty step of the policy, by its id.
    Policy(String),
    /// A person or service, by the name in the command.
    Actor(String),
}

/// One ban. An entity holds a set of them; the strongest shows, and expiry removes only its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ban {
    /// Identity: of the command or of the decision that made it.
    pub id: String,
    /// Whom it binds.
    pub entity: Entity,
    /// `block`, or a weaker standing refusal such as `reject` for a minute.
    pub verdict: Verdict,
    /// Who issued it.
    pub origin: Origin,
    /// Public reason code.
    pub code: String,
    /// Why, for people.
    pub reason: String,
    /// From when (inclusive).
    pub issued_at: Timestamp,
    /// Until when (exclusive); `None` until lifted.
    pub expires_at: Option<Timestamp>,
}

/// A change of the bans of one entity, complete in itself: whoever reads the newest change of each
/// entity knows all bans there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BanChange {
    /// The whole set now in force, strongest first; never empty.
    InForce(Vec<Ban>),
    /// All bans were lifted by a person.
    Lifted {
        /// The entity.
        entity: Entity,
        /// The ban that was in force, as last told.
        ban: Box<Ban>,
        /// Who lifted it.
        actor: String,
        /// Why.
        reason: String,
        /// When.
        at: Timestamp,
    },
    /// Nothing binds the entity any more: a tombstone.
    Gone(Entity),
}
