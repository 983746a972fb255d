//! Owns a directory of checkpoints: begins, publishes, prunes.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::archive::{Archive, PARTIAL, Skipped};
use super::error::StateError;
use super::lock::Lock;
use super::manifest::Manifest;
use super::meta::{Generation, Meta};
use super::writer::{Files, Step, Steps, Writer, Written, sync_dir};

/// How many checkpoints stay.
pub const KEEP: usize = 2;

/// A directory of checkpoints that belongs to this process. Everything an [`Archive`] can read, and more.
pub struct Checkpoints {
    archive: Archive,
    manifest: Manifest,
    steps: Steps,
    /// Shared with the writer under way, if there is one.
    token: Arc<()>,
    /// What was found at the start that is worth a word.
    notes: Vec<String>,
    /// Those of which this process knows that the journal holds their record.
    confirmed: BTreeSet<u64>,
    lock: Lock,
}

/// A checkpoint as its owner knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owned {
    /// What it is.
    #[serde(flatten)]
    pub generation: Generation,
    /// Whether the owner knows that the committed journal holds its record: it was published, or restored from, by it.
    pub confirmed: bool,
}

/// What the owner of a directory says is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Newest first.
    pub checkpoints: Vec<Owned>,
    /// What is not complete.
    pub unusable: Vec<Skipped>,
    /// Whether one is being written, or waits for its record to be committed.
    pub writing: bool,
}

impl Deref for Checkpoints {
    type Target = Archive;

    fn deref(&self) -> &Archive {
        &self.archive
    }
}

impl Checkpoints {
    /// Opens a directory, made when missing, and takes its lock. `hint` tells others who holds it. What an earlier
    /// process left unfinished is removed, and the manifest is brought in line with the files.
    ///
    /// # Errors
    /// Another process owns it, or it cannot be read or written.
    pub fn open(dir: impl Into<PathBuf>, hint: &str, steps: Steps) -> Result<Self, StateError> {
        let archive = Archive::at(dir);
        fs::create_dir_all(archive.dir()).map_err(StateError::io("creating", archive.dir()))?;
        let lock = Lock::take(archive.dir(), hint)?;
        let (manifest, damage) = Manifest::open(archive.dir())?;
        let notes = damage.map(|reason| format!("the manifest was damaged and is made anew: {reason}"));
        let notes = notes.into_iter().collect();
        let (token, confirmed) = (Arc::new(()), BTreeSet::new());
        let mut new = Self { archive, manifest, steps, token, notes, confirmed, lock };
        new.remove_unfinished()?;
        new.reconcile()?;
        Ok(new)
    }

    /// What was found at the start that is worth a word, for people.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The published checkpoints, newest first, as the manifest tells.
    ///
    /// # Errors
    /// The manifest cannot be read.
    pub fn published(&self) -> Result<Vec<Generation>, StateError> {
        self.manifest.all()
    }

    /// Begins a checkpoint. Its writer may be moved to another thread.
    ///
    /// # Errors
    /// One is under way already, or the disk cannot be written.
    pub fn begin(&mut self, meta: Meta) -> Result<Writer, StateError> {
        if Arc::strong_count(&self.token) > 1 {
            return Err(StateError::Busy);
        }
        let generation = self.archive.generations()?.first().map_or(1, |newest| newest.saturating_add(1));
        let dir = self.archive.partial_path(generation);
        let files = Files { generation, dir, _token: Arc::clone(&self.token) };
        Writer::create(files, meta, self.steps.clone())
    }

    /// Gives a written checkpoint its name, takes it into the manifest and removes those that are too many. To be called
    /// once the journal record it stands for is known to be committed.
    ///
    /// # Errors
    /// The disk cannot be written. The earlier checkpoints are as they were; this one may be there at the next start.
    pub fn publish(&mut self, written: Written) -> Result<Generation, StateError> {
        let Written { generation, files } = written;
        self.steps.tell(Step::Rename);
        let to = self.archive.path(generation.generation);
        fs::rename(&files.dir, &to).map_err(StateError::io("renaming", &files.dir))?;
        sync_dir(self.archive.dir())?;
        self.steps.tell(Step::Manifest);
        self.manifest.put(&generation)?;
        self.confirmed.insert(generation.generation);
        self.steps.tell(Step::Prune);
        self.prune()?;
        Ok(generation)
    }

    /// Notes that the committed journal holds the record of a checkpoint.
    pub fn confirm(&mut self, generation: u64) {
        self.confirmed.insert(generation);
    }

    /// Leaves word, for those who find the directory taken, of where this process answers over HTTP.
    ///
    /// # Errors
    /// The lock file cannot be written.
    pub fn answers_at(&mut self, url: &str) -> Result<(), StateError> {
        self.lock.answers_at(url)
    }

    /// What there is, newest first, as its owner knows it.
    ///
    /// # Errors
    /// The manifest or the directory cannot be read.
    pub fn held(&self) -> Result<Held, StateError> {
        let (_, mut unusable) = self.archive.list()?;
        let broken: BTreeSet<u64> = unusable.iter().map(|skipped| skipped.generation).collect();
        let mut checkpoints = Vec::new();
        for known in self.published()? {
            let generation = known.generation;
            if !self.archive.path(generation).is_dir() {
                unusable.push(Skipped { generation, why: "its files are gone".to_owned() });
            } else if !broken.contains(&generation) {
                let confirmed = self.confirmed.contains(&generation);
                checkpoints.push(Owned { generation: known, confirmed });
            }
        }
        Ok(Held { checkpoints, unusable, writing: Arc::strong_count(&self.token) > 1 })
    }

    /// Removes all but the newest. The name goes first, so that a checkpoint is never there in part.
    fn prune(&mut self) -> Result<(), StateError> {
        for generation in self.archive.generations()?.into_iter().skip(KEEP) {
            self.manifest.remove(generation)?;
            self.confirmed.remove(&generation);
            let (path, partial) = (self.archive.path(generation), self.archive.partial_path(generation));
            fs::rename(&path, &partial).map_err(StateError::io("renaming", &path))?;
            fs::remove_dir_all(&partial).map_err(StateError::io("removing", &partial))?;
        }
        Ok(())
    }

    fn remove_unfinished(&mut self) -> Result<(), StateError> {
        for name in self.archive.names()?.into_iter().filter(|name| name.ends_with(PARTIAL)) {
            let path = self.archive.dir().join(name);
            fs::remove_dir_all(&path).map_err(StateError::io("removing", &path))?;
        }
        Ok(())
    }

    /// The files are right, whatever the manifest says.
    fn reconcile(&mut self) -> Result<(), StateError> {
        let (complete, skipped) = self.archive.list()?;
        let known = self.manifest.all()?;
        for gone in known.iter().filter(|known| !complete.contains(known)) {
            self.manifest.remove(gone.generation)?;
        }
        for new in complete.iter().filter(|complete| !known.contains(complete)) {
            self.manifest.put(new)?;
        }
        let told =
            skipped.into_iter().map(|s| format!("checkpoint {} cannot be used: {}", s.generation, s.why));
        self.notes.extend(told);
        Ok(())
    }
}
