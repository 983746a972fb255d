//! What can be typed after `weir ban`.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::{ConfigArgs, Format, kind, length, standing_verdict};
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::time::Span;
use crate::engine::verdict::Verdict;

pub(super) const HELP: &str = "\
A command is written to the topic of commands and takes effect with the next batch.

Examples:
  weir ban add user:4711 --for 24h --reason 'bought likes, case 12'
  weir ban lift user:4711 --reason 'was a mix-up'
  weir ban list --kind user";

/// `weir ban`
#[derive(Clone, Debug, Args)]
pub struct BanArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: BanAction,
}

/// `weir ban add|lift|list`
#[derive(Clone, Debug, Subcommand)]
pub enum BanAction {
    /// Ban a user, device, address or target
    Add {
        /// Whom: user:ID, device:ID, ip:ADDRESS, target:ID
        entity: Entity,
        /// For how long [default: until lifted]
        #[arg(long = "for", value_name = "TIME", value_parser = length)]
        length: Option<Span>,
        /// What happens to its events
        #[arg(long, default_value_t = Verdict::Block, value_parser = standing_verdict)]
        verdict: Verdict,
        /// Why, and by whom.
        #[command(flatten)]
        who: Signature,
        /// Where the configuration is.
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Lift one ban of an entity, or all of them; sets its penalty to zero
    Lift {
        /// Whose: user:ID, device:ID, ip:ADDRESS, target:ID
        entity: Entity,
        /// Only this ban
        #[arg(long, value_name = "ID")]
        ban: Option<String>,
        /// Why, and by whom.
        #[command(flatten)]
        who: Signature,
        /// Where the configuration is.
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// List the bans in force
    List {
        /// Only this kind of entity
        #[arg(long, value_parser = kind)]
        kind: Option<EntityKind>,
        /// Form of the list
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        /// Where the configuration is.
        #[command(flatten)]
        config: ConfigArgs,
    },
}

/// Why something is done, and by whom.
#[derive(Clone, Debug, Args)]
pub struct Signature {
    /// Why, for those who read it later
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub reason: String,
    /// Who asks
    #[arg(long, value_name = "NAME", env = "USER", default_value = "operator")]
    pub actor: String,
}
