//! `weir checkpoint export` and `weir checkpoint import`.

use std::path::Path;

use super::chosen;
use super::list::megabytes;
use crate::cli::exit;
use crate::commands::{Failure, print};
use crate::state::{Archive, Checkpoints, Steps};

/// Writes a checkpoint into one file.
pub(super) fn export(archive: &Archive, generation: Option<u64>, to: &Path) -> Result<u8, Failure> {
    let generation = chosen(archive, generation)?;
    let bytes = archive.export(generation, to)?;
    print(&format!("checkpoint {generation} is in {} ({})\n", to.display(), megabytes(bytes)))?;
    Ok(exit::OK)
}

/// Takes a checkpoint over from a file. Nobody else may be using the folder.
pub(super) fn import(dir: &Path, file: &Path) -> Result<u8, Failure> {
    let mut checkpoints = Checkpoints::open(dir, "weir checkpoint import", Steps::default())?;
    let taken = checkpoints.import(file)?;
    let size = megabytes(taken.bytes);
    print(&format!("{} is now checkpoint {} ({size})\n", file.display(), taken.generation))?;
    Ok(exit::OK)
}
