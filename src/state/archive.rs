//! Reads a directory of checkpoints. Takes no lock and opens no store, so it may look at a directory that another process
//! owns. Files of a checkpoint never change. One that is removed while it is read can be read to its end, for all its files
//! are open from the first page on; one that is removed before that is missing, not damaged.

use std::fmt::Display;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::StateError;
use super::meta::Generation;
use super::pages::Pages;
use super::segment;
use super::writer::segment_name;

/// Names of the directories of checkpoints.
const PREFIX: &str = "generation-";
/// What an unfinished one has at the end of its name.
pub(super) const PARTIAL: &str = ".partial";

/// A directory of checkpoints, to be read.
#[derive(Clone, Debug)]
pub struct Archive {
    dir: PathBuf,
}

/// A checkpoint that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Its number.
    pub generation: u64,
    /// Why, for people.
    pub why: String,
}

/// What a search for the newest checkpoint came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newest<T> {
    /// It, and what was made of it; none when there is none that is wanted and whole.
    pub found: Option<(Generation, T)>,
    /// Newer ones that were passed over.
    pub skipped: Vec<Skipped>,
}

impl Archive {
    /// The archive in a directory. Nothing is read yet.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The numbers of the checkpoints there are, newest first. None when there is no such directory.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn generations(&self) -> Result<Vec<u64>, StateError> {
        let mut numbers: Vec<u64> = self.names()?.iter().filter_map(|name| number_of(name)).collect();
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        Ok(numbers)
    }

    /// The checkpoints, newest first, as their files tell; and those that are not complete. Reads no pages: what is listed
    /// may still turn out damaged.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn list(&self) -> Result<(Vec<Generation>, Vec<Skipped>), StateError> {
        let (mut complete, mut skipped) = (Vec::new(), Vec::new());
        for generation in self.generations()? {
            match self.summary(generation) {
                Ok(summary) => complete.push(summary),
                // Its owner removed it meanwhile.
                Err(StateError::Missing { .. }) => {}
                Err(error) => skipped.push(Skipped { generation, why: error.to_string() }),
            }
        }
        Ok((complete, skipped))
    }

    /// What one checkpoint is, as its first head and its feet tell.
    ///
    /// # Errors
    /// It is not there, or not complete.
    pub fn summary(&self, generation: u64) -> Result<Generation, StateError> {
        self.summarize(generation).map_err(|error| self.unless_gone(generation, error))
    }

    fn summarize(&self, generation: u64) -> Result<Generation, StateError> {
        let files = self.files(generation)?;
        let mut bytes = 0;
        for (number, path) in files.iter().enumerate() {
            let (foot, len) = segment::foot(path)?;
            bytes += len;
            if (foot.file as usize, foot.last) != (number, number + 1 == files.len()) {
                return Err(StateError::damaged(path, 0, "its files are not complete"));
            }
        }
        let meta = self.load(generation)?.meta().clone();
        Ok(Generation::of(generation, &meta, files.len() as u32, bytes))
    }

    /// The meta of a checkpoint and its pages, each verified as it is read.
    ///
    /// # Errors
    /// It is not there, or its first head is damaged.
    pub fn load(&self, generation: u64) -> Result<Pages, StateError> {
        let pages =
            Pages::open(self.files(generation)?).map_err(|error| self.unless_gone(generation, error))?;
        if pages.generation() == generation {
            return Ok(pages);
        }
        let file = self.path(generation).join(segment_name(0));
        Err(StateError::damaged(&file, 0, "it belongs to another checkpoint"))
    }

    /// Reads a checkpoint to its end and gives the bytes of its pages.
    ///
    /// # Errors
    /// It is not there, or the first damage that is found.
    pub fn verify(&self, generation: u64) -> Result<u64, StateError> {
        let mut pages = self.load(generation)?;
        while let Some(page) = pages.next().transpose()? {
            drop(page);
        }
        Ok(pages.bytes())
    }

    /// Loads the newest checkpoint that is wanted and whole, going on to the next when one is damaged. `load` takes the
    /// pages and must take them all; an error of a page is an error of its own. Gives what it made, and what was passed
    /// over.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn newest<T, E: Display>(
        &self,
        mut wanted: impl FnMut(&Generation) -> Result<(), String>,
        mut load: impl FnMut(&Generation, Pages) -> Result<T, E>,
    ) -> Result<Newest<T>, StateError> {
        let mut skipped = Vec::new();
        for generation in self.generations()? {
            let tried = self.summary(generation).map_err(|error| error.to_string()).and_then(|summary| {
                wanted(&summary)?;
                let pages = self.load(generation).map_err(|error| error.to_string())?;
                let made = load(&summary, pages).map_err(|error| error.to_string())?;
                Ok((summary, made))
            });
            match tried {
                Ok(found) => return Ok(Newest { found: Some(found), skipped }),
                Err(why) => skipped.push(Skipped { generation, why }),
            }
        }
        Ok(Newest { found: None, skipped })
    }

    /// What cannot be opened since the whole checkpoint was removed meanwhile is no damage.
    fn unless_gone(&self, generation: u64, error: StateError) -> StateError {
        match error {
            StateError::Io { .. } | StateError::Damaged { .. } if !self.path(generation).exists() => {
                StateError::Missing { dir: self.dir.clone(), generation }
            }
            error => error,
        }
    }

    /// The directory of a checkpoint.
    pub(super) fn path(&self, generation: u64) -> PathBuf {
        self.dir.join(format!("{PREFIX}{generation:012}"))
    }

    /// The directory of one that is being written.
    pub(super) fn partial_path(&self, generation: u64) -> PathBuf {
        self.dir.join(format!("{PREFIX}{generation:012}{PARTIAL}"))
    }

    /// Names of everything that looks like a checkpoint, finished or not.
    pub(super) fn names(&self) -> Result<Vec<String>, StateError> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(StateError::io("reading", &self.dir))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(StateError::io("reading", &self.dir))?.file_name();
            names.extend(name.into_string().ok().filter(|name| name.starts_with(PREFIX)));
        }
        Ok(names)
    }

    /// The segment files of a checkpoint in their order.
    fn files(&self, generation: u64) -> Result<Vec<PathBuf>, StateError> {
        let dir = self.path(generation);
        let entries = match fs::read_dir(&dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(StateError::Missing { dir: self.dir.clone(), generation });
            }
            entries => entries.map_err(StateError::io("reading", &dir))?,
        };
        let count = entries.count() as u32;
        Ok((0..count).map(|file| dir.join(segment_name(file))).collect())
    }
}

/// The number in the name of a finished checkpoint.
fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix(PREFIX)?.parse().ok()
}
