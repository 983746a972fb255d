//! What can be typed after `weir checkpoint`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ConfigArgs, Format};
use crate::config::{Loaded, Problems};

pub(super) const HELP: &str = "\
A checkpoint is the state of the engine at one record of the journal. `weir run` makes them, keeps two, and goes on from
the newest that the journal confirms. Where one is running, it is asked (its address stands in the folder's lock, the
token in the configuration); where it does not answer, the files are read as they stand. `import` needs a folder that
nobody is using.

Examples:
  weir checkpoint list
  weir checkpoint verify                        reads every byte; ends with 1 when one is damaged
  weir checkpoint export --output state.ckp     the newest, as one file
  weir checkpoint list --url http://127.0.0.1:8088     asks a process, wherever its folder is
  weir checkpoint import state.ckp --state-dir /var/lib/weir";

/// `weir checkpoint`
#[derive(Clone, Debug, Args)]
pub struct CheckpointArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: CheckpointAction,
}

/// `weir checkpoint list|verify|export|import`
#[derive(Clone, Debug, Subcommand)]
pub enum CheckpointAction {
    /// List the checkpoints there are, newest first
    List {
        /// Form of the list
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        /// Whom to ask, or where the state is.
        #[command(flatten)]
        from: FromArgs,
    },
    /// Read checkpoints to their end and tell what is damaged
    Verify {
        /// Which [default: all]
        generation: Option<u64>,
        /// Form of the report
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        /// Whom to ask, or where the state is.
        #[command(flatten)]
        from: FromArgs,
    },
    /// Write a checkpoint into one file
    Export {
        /// Which [default: the newest]
        generation: Option<u64>,
        /// Where to
        #[arg(long, value_name = "FILE")]
        output: PathBuf,
        /// Whom to ask, or where the state is.
        #[command(flatten)]
        from: FromArgs,
    },
    /// Take over a checkpoint from a file, as the newest
    Import {
        /// What `weir checkpoint export` wrote
        file: PathBuf,
        /// Where the state is.
        #[command(flatten)]
        state: StateArgs,
    },
}

/// Whom to ask, or where the state is.
#[derive(Clone, Debug, Default, Args)]
pub struct FromArgs {
    /// Where a running `weir run` answers: http://HOST:PORT [default: as the lock of the folder says]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Where the state is.
    #[command(flatten)]
    pub state: StateArgs,
}

/// Where the state is.
#[derive(Clone, Debug, Default, Args)]
pub struct StateArgs {
    /// Configuration file [default: config/weir.toml, where it is there]
    #[arg(long, value_name = "FILE", env = "WEIR_CONFIG")]
    pub config: Option<PathBuf>,
    /// Folder of local state, instead of the configured one
    #[arg(long, value_name = "DIR", env = "WEIR_STATE_DIR")]
    pub state_dir: Option<String>,
}

impl StateArgs {
    /// Loads the configuration with what was typed and what the environment says.
    ///
    /// # Errors
    /// All problems at once.
    pub fn load(&self) -> Result<Loaded, Problems> {
        let config = ConfigArgs { config: self.config.clone(), ..ConfigArgs::default() };
        config.load_with(|overrides| overrides.flag("state", "dir", "--state-dir", self.state_dir.clone()))
    }
}
