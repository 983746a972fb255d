//! `weir checkpoint list|verify|export|import`.
//!
//! All but `import` only read the files, and so may look at a folder that a running process owns; they say so then. What
//! is listed or verified is judged by its files alone: whether the journal confirms it, only `weir run` knows.

mod list;
mod transfer;
mod verify;

use std::path::PathBuf;

use super::{Failure, finish, tell};
use crate::cli::{CheckpointAction, CheckpointArgs, StateArgs};
use crate::state::{Archive, StateError, holder};

/// Runs it.
pub fn run(args: &CheckpointArgs) -> u8 {
    finish(match &args.action {
        CheckpointAction::List { format, state } => archive(state).and_then(|a| list::list(&a, *format)),
        CheckpointAction::Verify { generation, format, state } => {
            archive(state).and_then(|a| verify::verify(&a, *generation, *format))
        }
        CheckpointAction::Export { generation, output, state } => {
            archive(state).and_then(|a| transfer::export(&a, *generation, output))
        }
        CheckpointAction::Import { file, state } => dir(state).and_then(|dir| transfer::import(&dir, file)),
    })
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        Self::new(error.to_string())
    }
}

fn dir(args: &StateArgs) -> Result<PathBuf, Failure> {
    let loaded = args.load().map_err(|problems| Failure::of_config(problems.to_string()))?;
    Ok(loaded.config.state.dir)
}

/// The folder to be read. Tells when somebody is using it.
fn archive(args: &StateArgs) -> Result<Archive, Failure> {
    let dir = dir(args)?;
    if let Some(holder) = holder(&dir) {
        tell(&format!("{} is in use by {holder}; this is what stands on the disk now", dir.display()));
    }
    Ok(Archive::at(dir))
}

/// The checkpoint that was asked for, else the newest.
fn chosen(archive: &Archive, generation: Option<u64>) -> Result<u64, Failure> {
    let newest = || Ok(archive.generations()?.first().copied());
    match generation.map_or_else(newest, |generation| Ok::<_, Failure>(Some(generation)))? {
        Some(generation) => Ok(generation),
        None => Err(Failure::new(none_in(archive))),
    }
}

fn none_in(archive: &Archive) -> String {
    format!("there are no checkpoints in {}", archive.dir().display())
}
