//! The lock of a state directory: one process at a time.
//!
//! The operating system releases it when the process ends, however it ends, so a lock file that lies there says nothing;
//! what is written in it is only read when the lock is held: who holds it, and on a second line where it answers.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::error::StateError;

const NAME: &str = "lock";
/// The longest hint that is shown.
const HINT: usize = 200;
/// The most of the file that is read.
const TEXT: u64 = 1000;

/// A held lock; released when dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

/// Who owns a state directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its process, for people.
    pub who: String,
    /// Where it answers over HTTP, if it does: `http://127.0.0.1:8088`.
    pub url: Option<String>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.who)
    }
}

impl Lock {
    /// Takes the lock and leaves `hint` in it, with the number of this process.
    pub(super) fn take(dir: &Path, hint: &str) -> Result<Self, StateError> {
        let path = dir.join(NAME);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(StateError::io("opening", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StateError::Locked { dir: dir.to_owned(), holder: told(&file).who });
            }
            Err(TryLockError::Error(error)) => return Err(StateError::io("locking", &path)(error)),
        }
        let text = format!("process {} ({hint})", std::process::id());
        let written =
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(StateError::io("writing", &path))?;
        Ok(Self { file, path })
    }

    /// Leaves where this process answers.
    pub(super) fn answers_at(&mut self, url: &str) -> Result<(), StateError> {
        self.file.write_all(format!("\n{url}").as_bytes()).map_err(StateError::io("writing", &self.path))
    }
}

/// Who owns a state directory now; `None` when nobody does.
pub fn holder(dir: &Path) -> Option<Holder> {
    let file = File::open(dir.join(NAME)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(told(&file)),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

fn told(file: &File) -> Holder {
    let mut text = String::new();
    let read = file.take(TEXT).read_to_string(&mut text);
    let mut lines = text.lines().map(str::trim);
    let who: String = lines.next().filter(|_| read.is_ok()).unwrap_or_default().chars().take(HINT).collect();
    let url = lines.next().filter(|url| !who.is_empty() && !url.is_empty()).map(str::to_owned);
    Holder { who: if who.is_empty() { "another process".to_owned() } else { who }, url }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_one_is_told_who_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(holder(dir.path()), None);
        let mut held = Lock::take(dir.path(), "weir run").unwrap();
        let me = format!("process {} (weir run)", std::process::id());
        assert_eq!(holder(dir.path()), Some(Holder { who: me.clone(), url: None }));
        held.answers_at("http://127.0.0.1:8088").unwrap();
        let url = Some("http://127.0.0.1:8088".to_owned());
        assert_eq!(holder(dir.path()), Some(Holder { who: me.clone(), url }));
        let error = Lock::take(dir.path(), "weir run").unwrap_err();
        assert!(error.to_string().contains(&me), "{error}");
        assert!(error.to_string().contains(&dir.path().display().to_string()), "{error}");
        drop(held);
        assert_eq!(holder(dir.path()), None);
        let _next = Lock::take(dir.path(), "weir run").unwrap();
        assert_eq!(holder(dir.path()), Some(Holder { who: me, url: None }), "an earlier one answers no more");
    }
}
