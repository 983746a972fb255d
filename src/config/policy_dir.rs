//! Reading the files of a policy from a directory.
//!
//! Only the files directly in it whose names end in `.yaml`, `.yml` or `.csv` (tables) are read, symbolic links followed (a mounted
//! configuration swaps a link), hidden names passed over. What the texts mean is not known here.

use std::fs;
use std::io;
use std::path::Path;

/// The largest policy file that is read, in bytes.
pub const LARGEST_FILE: u64 = 4 << 20;

/// The policy files of a directory, by name, with their texts.
///
/// # Errors
/// A directory or file that cannot be read, is too large or is not UTF-8; the message names it.
pub fn read_dir(dir: &Path) -> io::Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(|error| named(dir, &error))? {
        let path = entry.map_err(|error| named(dir, &error))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if is_policy_file(&name) && !path.is_dir() {
            files.push((name, read_file(&path)?));
        }
    }
    files.sort();
    Ok(files)
}

pub(super) fn is_policy_file(name: &str) -> bool {
    !name.starts_with('.') && [".yaml", ".yml", ".csv"].iter().any(|end| name.ends_with(end))
}

fn read_file(path: &Path) -> io::Result<String> {
    let file = fs::metadata(path).map_err(|error| named(path, &error))?;
    let refused =
        |why: String| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()));
    // A pipe or a device would be waited for, or never end.
    if !file.is_file() {
        return Err(refused("is no regular file".to_owned()));
    }
    if file.len() > LARGEST_FILE {
        return Err(refused(format!("{} bytes; a policy file has at most {LARGEST_FILE}", file.len())));
    }
    let bytes = fs::read(path).map_err(|error| named(path, &error))?;
    String::from_utf8(bytes).map_err(|error| {
        let (line, column) = end_of(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        let message = format!("{}:{line}:{column}: is not UTF-8", path.display());
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

/// Line and column, from 1, of what comes behind a text.
fn end_of(text: &[u8]) -> (usize, usize) {
    let last = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    (lines + 1, String::from_utf8_lossy(last).chars().count() + 1)
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_and_other_files_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("..data");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("rules.yaml"), "rules: []\n").unwrap();
        fs::write(dir.path().join("README.md"), "x").unwrap();
        fs::write(dir.path().join(".hidden.yaml"), "x").unwrap();
        fs::write(dir.path().join("a.yml"), "version: 1\n").unwrap();
        std::os::unix::fs::symlink("..data/rules.yaml", dir.path().join("rules.yaml")).unwrap();
        let read = read_dir(dir.path()).unwrap();
        let own = |text: &str| text.to_owned();
        assert_eq!(read, [(own("a.yml"), own("version: 1\n")), (own("rules.yaml"), own("rules: []\n"))]);
    }

    #[test]
    fn an_error_names_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("none");
        assert!(read_dir(&missing).unwrap_err().to_string().contains("none"));
        fs::write(dir.path().join("bad.yaml"), b"version: 1\nname: \xc3\xbc\xff").unwrap();
        let told = read_dir(dir.path()).unwrap_err().to_string();
        assert!(told.ends_with("bad.yaml:2:8: is not UTF-8"), "{told}");
    }
}
