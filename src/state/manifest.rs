//! Which checkpoints there are, in sled: one small value a checkpoint.
//!
//! Plain inserts, then a flush: a large batch makes sled grow. It is no source of truth, for everything in it stands in
//! the segment files too: one that cannot be opened is moved aside, and a new one is filled from those. sled is known to
//! panic over some damaged files; that counts as not being able to open it.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use super::error::StateError;
use super::meta::Generation;

const NAME: &str = "manifest";
const ASIDE: &str = "manifest.damaged";
/// Memory that sled may take for its cache, bytes.
const CACHE: u64 = 8 << 20;

/// The store of the manifest.
pub(super) struct Manifest {
    dir: PathBuf,
    store: sled::Db,
}

impl Manifest {
    /// Opens the manifest in a state directory. The second value tells why a damaged one was moved aside, when it was.
    pub(super) fn open(state_dir: &Path) -> Result<(Self, Option<String>), StateError> {
        let dir = state_dir.join(NAME);
        let first = match sound(&dir) {
            Ok(store) => return Ok((Self { dir, store }, None)),
            Err(reason) => reason,
        };
        let aside = state_dir.join(ASIDE);
        if aside.exists() {
            fs::remove_dir_all(&aside).map_err(StateError::io("removing", &aside))?;
        }
        fs::rename(&dir, &aside).map_err(StateError::io("renaming", &dir))?;
        match sound(&dir) {
            Ok(store) => Ok((Self { dir, store }, Some(first))),
            Err(reason) => Err(StateError::Manifest { dir, reason }),
        }
    }

    /// Every checkpoint it knows, newest first.
    pub(super) fn all(&self) -> Result<Vec<Generation>, StateError> {
        read(&self.store).map_err(|reason| self.error(reason))
    }

    /// Takes a checkpoint in, and waits until the disk has it.
    pub(super) fn put(&self, generation: &Generation) -> Result<(), StateError> {
        let value = serde_json::to_vec(generation).expect("text and numbers can be written");
        let key = generation.generation.to_be_bytes();
        self.store.insert(key, value).map_err(|error| self.error(error.to_string()))?;
        self.flush()
    }

    /// Forgets a checkpoint.
    pub(super) fn remove(&self, generation: u64) -> Result<(), StateError> {
        self.store.remove(generation.to_be_bytes()).map_err(|error| self.error(error.to_string()))?;
        self.flush()
    }

    fn flush(&self) -> Result<(), StateError> {
        self.store.flush().map(drop).map_err(|error| self.error(error.to_string()))
    }

    fn error(&self, reason: String) -> StateError {
        StateError::Manifest { dir: self.dir.clone(), reason }
    }
}

/// A store that opens and can be read to its end.
fn sound(dir: &Path) -> Result<sled::Db, String> {
    let open = || {
        let store = sled::Config::new().path(dir).cache_capacity(CACHE).flush_every_ms(None).open();
        let store = store.map_err(|error| error.to_string())?;
        read(&store).map(|_| store)
    };
    catch_unwind(AssertUnwindSafe(open)).unwrap_or_else(|_| Err("it could not be read".to_owned()))
}

fn read(store: &sled::Db) -> Result<Vec<Generation>, String> {
    let read = |entry: sled::Result<(sled::IVec, sled::IVec)>| {
        let (_, value) = entry.map_err(|error| error.to_string())?;
        serde_json::from_slice(&value).map_err(|error| error.to_string())
    };
    store.iter().rev().map(read).collect()
}
