//! The pure core: no Kafka, no disk, no clock, no randomness, no thread.
//!
//! [`Engine::apply`] takes one [`Input`] and leaves in [`Outputs`] what is to be told. State is a function of the inputs
//! in their order and of nothing else, so live, replay, demo, tests and explanation run the same code. Time comes from
//! inputs. The road of an event is `apply.rs`: arrive, look, decide, record.

pub mod address;
pub mod ban;
pub mod bans;
pub mod blast;
pub mod case;
pub mod cases;
pub mod command;
pub mod crowd;
pub mod cut;
pub mod decide;
pub mod decision;
pub mod duplicates;
pub mod entity;
pub mod event;
pub mod exceptions;
pub mod expr;
pub mod feedback;
pub mod input;
pub mod key;
pub mod limit;
pub mod look;
pub mod observe;
pub mod pace;
pub mod place;
pub mod policy;
pub mod prefetch;
pub mod profile;
pub mod recall;
pub mod rollout;
pub mod slab;
pub mod subject;
pub mod table;
pub mod time;
pub mod timers;
pub mod trace;
pub mod verdict;
pub mod window;

mod activate;
mod admit;
mod apply;
mod arrive;
mod binding;
mod episode;
mod facts;
mod flat;
mod learn;
mod operate;
mod plan;
mod prepare;
mod record;
mod sieve;
mod stats;

pub use self::activate::same_crowds;
pub use self::apply::Engine;
pub use self::input::{DeadLetterReason, Input, Outcome, Outputs, Standing};
pub use self::prepare::{Ahead, Prepared};
pub use self::stats::{Stats, TableAccount};

use self::address::Address;
use self::entity::{Entity, EntityKind};
use self::event::Event;

/// The version of what the engine makes of its inputs. It changes whenever the same inputs would give other outputs:
/// state and journals of another version are not continued.
pub const SEMANTICS: &str = "10";

/// Whether an event is by or about an entity.
fn entity_is(entity: &Entity, event: &Event<'_>, address: Option<Address>) -> bool {
    let value = Some(entity.value.as_str());
    match entity.kind {
        EntityKind::User => event.user.as_deref() == value,
        EntityKind::Device => event.device.id.as_deref() == value,
        EntityKind::Target => event.target.as_deref() == value,
        EntityKind::Ip => address.is_some_and(|address| address.to_string() == entity.value),
    }
}
