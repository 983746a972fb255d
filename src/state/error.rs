//! What can go wrong with a directory of checkpoints, in words that name the file.

use std::io;
use std::path::{Path, PathBuf};

/// Why something with checkpoints could not be done. None of these touches an earlier checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The operating system refused: disk full, no permission, an I/O error.
    #[error("{doing} {}: {cause}", path.display())]
    Io {
        /// What was being done, as a verb: `writing`, `reading`, ...
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
    /// Another process owns the directory.
    #[error("{} is in use by {holder}: a state directory belongs to one process at a time", dir.display())]
    Locked {
        /// The directory.
        dir: PathBuf,
        /// Who, as far as it is told: `process 4711 (weir run)`.
        holder: String,
    },
    /// A file does not hold what was written to it.
    #[error("{} is damaged at byte {offset}: {what}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Offset of the record that is damaged.
        offset: u64,
        /// How.
        what: &'static str,
    },
    /// The file was written in a form that this version does not read.
    #[error("{} has format {found}; this version reads format {known}", file.display())]
    Format {
        /// The file.
        file: PathBuf,
        /// Its format.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// There is no such checkpoint.
    #[error("there is no checkpoint {generation} in {}", dir.display())]
    Missing {
        /// The directory.
        dir: PathBuf,
        /// The number.
        generation: u64,
    },
    /// One is being written or awaits publication already.
    #[error("a checkpoint is being written already")]
    Busy,
    /// The manifest could not be read or written.
    #[error("the manifest in {}: {reason}", dir.display())]
    Manifest {
        /// Its directory.
        dir: PathBuf,
        /// What its store says.
        reason: String,
    },
}

impl StateError {
    /// Wraps an error of the system.
    pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io { doing, path, cause }
    }

    pub(super) fn damaged(file: &Path, offset: u64, what: &'static str) -> Self {
        Self::Damaged { file: file.to_owned(), offset, what }
    }
}
