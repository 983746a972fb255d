//! `weir checkpoint export` and `weir checkpoint import`.

use std::path::Path;

use super::Source;
use super::list::megabytes;
use crate::cli::exit;
use crate::commands::{Failure, print};
use crate::state::{Checkpoints, StateError, Steps};

/// Writes a checkpoint into one file.
pub(super) fn export(from: &Source, generation: Option<u64>, to: &Path) -> Result<u8, Failure> {
    let generation = from.chosen(generation)?;
    let bytes = match from {
        Source::Files(archive) => archive.export(generation, to)?,
        Source::Process(process, _) => process.export(generation, to)?,
    };
    print(&format!("checkpoint {generation} is in {} ({})\n", to.display(), megabytes(bytes)))?;
    Ok(exit::OK)
}

/// Takes a checkpoint over from a file. Nobody else may be using the folder.
pub(super) fn import(dir: &Path, file: &Path) -> Result<u8, Failure> {
    let opened = Checkpoints::open(dir, "weir checkpoint import", Steps::default());
    let mut checkpoints = opened.map_err(|error| match error {
        StateError::Locked { .. } => Failure::new(format!(
            "{error}, and one that runs takes over no checkpoint: stop it, or import into another folder"
        )),
        error => error.into(),
    })?;
    let taken = checkpoints.import(file)?;
    let size = megabytes(taken.bytes);
    print(&format!("{} is now checkpoint {} ({size})\n", file.display(), taken.generation))?;
    Ok(exit::OK)
}
