//! The versions of a policy's folder: the one in place, and beside it those that were.
//!
//! ```text
//!  config/policy            in place: a folder, or a symbolic link to one
//!  config/policy.versions/  HASH/       each version that was in place, or was put there from here
//!                           log.jsonl   who put which one there, when, why, and by which figures
//! ```
//!
//! A version is put in place in one step, so that nobody ever reads half of one and half of another: folders change places
//! (`renameat2` with `RENAME_EXCHANGE`), a link is replaced by another. What else lies in the folder stays there.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::policy_dir::{is_policy_file, read_dir};

/// The texts of a version, by file name.
pub type Files = Vec<(String, String)>;

/// How a version came into place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Two folders changed places.
    Exchange,
    /// A symbolic link was replaced.
    Link,
    /// There was none before.
    First,
    /// Two renames: for a moment there was none.
    TwoSteps,
}

impl Way {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Way::Exchange => "folders exchanged in one step",
            Way::Link => "link replaced in one step",
            Way::First => "folder made",
            Way::TwoSteps => "in two steps: this file system cannot exchange folders",
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Versions {
    dir: PathBuf,
    kept: PathBuf,
}

impl Versions {
    /// The versions of a policy's folder.
    pub fn of(dir: &Path) -> Self {
        let dir: PathBuf = dir.components().collect();
        let mut kept = dir.clone().into_os_string();
        kept.push(".versions");
        Self { dir, kept: kept.into() }
    }

    /// Where the versions are.
    pub fn folder(&self) -> &Path {
        &self.kept
    }

    /// The hashes of the versions that are kept.
    ///
    /// # Errors
    /// The folder is there and cannot be read.
    pub fn hashes(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.kept) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| named(&self.kept, &error))?,
        };
        let mut hashes = Vec::new();
        for entry in entries {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                hashes.push(name);
            }
        }
        hashes.sort();
        Ok(hashes)
    }

    /// The texts of a version that is kept.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self, hash: &str) -> io::Result<Files> {
        read_dir(&self.kept.join(hash))
    }

    /// Keeps a version. One that is there already is left alone, for a link may show it; one that was changed is made anew.
    fn keep(&self, hash: &str, files: &Files) -> io::Result<PathBuf> {
        let (folder, new) = (self.kept.join(hash), self.kept.join(format!("{hash}.new")));
        if read_dir(&folder).is_ok_and(|kept| kept == *files) {
            return Ok(folder);
        }
        if new.exists() {
            fs::remove_dir_all(&new).map_err(|error| named(&new, &error))?;
        }
        fs::create_dir_all(&new).map_err(|error| named(&new, &error))?;
        for (name, text) in files {
            write_whole(&new.join(name), text)?;
        }
        sync(&new)?;
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|error| named(&folder, &error))?;
        }
        fs::rename(&new, &folder).map_err(|error| named(&folder, &error))?;
        sync(&self.kept)?;
        Ok(folder)
    }

    /// Puts a version in place and keeps it and the one before, `None` where that was none of a folder.
    ///
    /// # Errors
    /// The folders cannot be written. Then the one before is in place.
    pub fn put(&self, (hash, files): (&str, &Files), before: Option<(&str, &Files)>) -> io::Result<Way> {
        fs::create_dir_all(&self.kept).map_err(|error| named(&self.kept, &error))?;
        if let Some((hash, files)) = before {
            self.keep(hash, files)?;
        }
        let folder = self.keep(hash, files)?;
        if self.dir.is_symlink() { self.relink(&folder) } else { self.exchange(files) }
    }

    fn relink(&self, folder: &Path) -> io::Result<Way> {
        let new = self.kept.join("link.new");
        if new.is_symlink() {
            fs::remove_file(&new).map_err(|error| named(&new, &error))?;
        }
        let target = fs::canonicalize(folder).map_err(|error| named(folder, &error))?;
        std::os::unix::fs::symlink(&target, &new).map_err(|error| named(&new, &error))?;
        fs::rename(&new, &self.dir).map_err(|error| named(&self.dir, &error))?;
        sync(parent(&self.dir))?;
        Ok(Way::Link)
    }

    fn exchange(&self, files: &Files) -> io::Result<Way> {
        let other = self.kept.join("exchange");
        if other.exists() {
            return Err(io::Error::other(format!(
                "{} is left of a change that was broken off: see what it holds, and remove it",
                other.display()
            )));
        }
        fs::create_dir(&other).map_err(|error| named(&other, &error))?;
        for (name, text) in files {
            write_whole(&other.join(name), text)?;
        }
        sync(&other)?;
        if !self.dir.exists() {
            fs::rename(&other, &self.dir).map_err(|error| named(&self.dir, &error))?;
            sync(parent(&self.dir))?;
            return Ok(Way::First);
        }
        let way = match renameat_with(CWD, &other, CWD, &self.dir, RenameFlags::EXCHANGE) {
            Ok(()) => Way::Exchange,
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                let aside = self.kept.join("aside");
                fs::rename(&self.dir, &aside).map_err(|error| named(&self.dir, &error))?;
                fs::rename(&other, &self.dir).map_err(|error| named(&self.dir, &error))?;
                fs::rename(&aside, &other).map_err(|error| named(&other, &error))?;
                Way::TwoSteps
            }
            Err(error) => {
                let error = named(&self.dir, &error.into());
                fs::remove_dir_all(&other)?;
                return Err(error);
            }
        };
        self.bring_along(&other)?;
        sync(parent(&self.dir))?;
        Ok(way)
    }

    /// Moves what is no policy file out of the folder that was in place, and removes that.
    fn bring_along(&self, old: &Path) -> io::Result<()> {
        for entry in fs::read_dir(old).map_err(|error| named(old, &error))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default();
            let is_policy = name.to_str().is_some_and(is_policy_file) && !path.is_dir();
            if !is_policy {
                fs::rename(&path, self.dir.join(name)).map_err(|error| named(&path, &error))?;
            }
        }
        fs::remove_dir_all(old).map_err(|error| named(old, &error))
    }

    /// Adds a line to the log.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn note(&self, line: &str) -> io::Result<()> {
        let path = self.kept.join("log.jsonl");
        fs::create_dir_all(&self.kept).map_err(|error| named(&self.kept, &error))?;
        let mut log = fs::OpenOptions::new().create(true).append(true).open(&path);
        let written = log.as_mut().map_err(|error| named(&path, error))?;
        written.write_all(format!("{line}\n").as_bytes()).and_then(|()| written.sync_all())
    }

    /// The lines of the log, oldest first.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn log(&self) -> io::Result<Vec<String>> {
        match fs::read_to_string(self.kept.join("log.jsonl")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            text => Ok(text?.lines().map(str::to_owned).collect()),
        }
    }
}

fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path).map_err(|error| named(path, &error))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| named(path, &error))
}

fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| named(folder, &error))
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "1111111111111111111111111111111111111111111111111111111111111111";
    const NEW: &str = "2222222222222222222222222222222222222222222222222222222222222222";

    fn files(text: &str) -> Files {
        vec![("a.yaml".to_owned(), text.to_owned())]
    }

    #[test]
    fn folders_change_places_and_what_else_lies_there_stays() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("policy");
        fs::create_dir_all(dir.join("notes")).unwrap();
        fs::write(dir.join("README.md"), "why").unwrap();
        fs::write(dir.join("old.yaml"), "old").unwrap();
        let versions = Versions::of(&dir);
        let old = vec![("old.yaml".to_owned(), "old".to_owned())];
        assert_eq!(versions.put((NEW, &files("new")), Some((OLD, &old))).unwrap(), Way::Exchange);
        assert_eq!(read_dir(&dir).unwrap(), files("new"), "no file of the old one is left");
        assert!(dir.join("README.md").is_file() && dir.join("notes").is_dir());
        assert_eq!(versions.hashes().unwrap(), [OLD, NEW]);
        assert_eq!(versions.read(OLD).unwrap(), old);
        assert_eq!(versions.put((OLD, &old), Some((NEW, &files("new")))).unwrap(), Way::Exchange);
        assert_eq!(read_dir(&dir).unwrap(), old);
        assert!(!versions.folder().join("exchange").exists());
    }

    #[test]
    fn a_link_is_replaced_and_a_folder_that_is_not_there_is_made() {
        let place = tempfile::tempdir().unwrap();
        let (dir, target) = (place.path().join("policy"), place.path().join("v1"));
        assert_eq!(Versions::of(&target).put((OLD, &files("old")), None).unwrap(), Way::First);
        std::os::unix::fs::symlink(&target, &dir).unwrap();
        let versions = Versions::of(&dir);
        assert_eq!(versions.put((NEW, &files("new")), Some((OLD, &files("old")))).unwrap(), Way::Link);
        assert!(dir.is_symlink());
        assert_eq!(read_dir(&dir).unwrap(), files("new"));
        assert_eq!(read_dir(&target).unwrap(), files("old"), "what the link showed before is not touched");
        assert_eq!(versions.put((OLD, &files("old")), Some((NEW, &files("new")))).unwrap(), Way::Link);
        assert_eq!(read_dir(&dir).unwrap(), files("old"));
    }

    #[test]
    fn what_cannot_be_written_is_told_and_changes_nothing() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("policy");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("a.yaml"), "old").unwrap();
        let versions = Versions::of(&dir);
        fs::create_dir_all(versions.folder().join("exchange")).unwrap();
        let error = versions.put((NEW, &files("new")), Some((OLD, &files("old")))).unwrap_err();
        assert!(error.to_string().contains("broken off"), "{error}");
        assert_eq!(read_dir(&dir).unwrap(), files("old"));
        versions.note("{}").unwrap();
        assert_eq!(versions.log().unwrap(), ["{}"]);
    }
}
