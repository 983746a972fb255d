//! The lock of a state directory: one process at a time.
//!
//! The operating system releases it when the process ends, however it ends, so a lock file that lies there says nothing;
//! what is written in it is only read when the lock is held.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use super::error::StateError;

const NAME: &str = "lock";
/// The longest hint that is shown.
const HINT: u64 = 200;

/// A held lock; released when dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
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
                return Err(StateError::Locked { dir: dir.to_owned(), holder: told(&file) });
            }
            Err(TryLockError::Error(error)) => return Err(StateError::io("locking", &path)(error)),
        }
        let text = format!("process {} ({hint})", std::process::id());
        let written =
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(StateError::io("writing", &path))?;
        Ok(Self { _file: file })
    }
}

/// Who owns a state directory now; `None` when nobody does.
pub fn holder(dir: &Path) -> Option<String> {
    let file = File::open(dir.join(NAME)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(told(&file)),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

fn told(file: &File) -> String {
    let mut text = String::new();
    let read = file.take(HINT).read_to_string(&mut text);
    match read {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_one_is_told_who_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(holder(dir.path()), None);
        let held = Lock::take(dir.path(), "weir run").unwrap();
        let me = format!("process {} (weir run)", std::process::id());
        assert_eq!(holder(dir.path()), Some(me.clone()));
        let error = Lock::take(dir.path(), "weir run").unwrap_err();
        assert!(error.to_string().contains(&me), "{error}");
        assert!(error.to_string().contains(&dir.path().display().to_string()), "{error}");
        drop(held);
        assert_eq!(holder(dir.path()), None);
        Lock::take(dir.path(), "weir run").unwrap();
    }
}
