//! `weir ban add|lift|list`.
//!
//! `add` and `lift` write one command record and print its id; it takes effect with the owner's next batch. They do
//! not wait for that: `weir ban list` shows what holds. Nothing here judges an entity; a record that the pipeline
//! would refuse is refused before it is written.

mod list;
mod order;

use super::finish;
use crate::cli::{BanAction, BanArgs};
use crate::engine::command::CommandAction;

/// Runs it.
pub fn run(args: &BanArgs) -> u8 {
    finish(match &args.action {
        BanAction::Add { entity, length, verdict, who, config } => {
            let action = CommandAction::Ban { entity: entity.clone(), verdict: *verdict, length: *length };
            order::give(action, who, config)
        }
        BanAction::Lift { entity, ban, who, config } => {
            order::give(CommandAction::Unban { entity: entity.clone(), ban: ban.clone() }, who, config)
        }
        BanAction::List { kind, format, config } => list::list(*kind, *format, config),
    })
}
