//! Files that are read and written by an evaluation.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use super::Failure;
use crate::cli::{EvaluateArgs, EventFormat, FileOrStandard};
use crate::evaluate::read::{Format, Input};

/// The events.
pub(super) fn events(args: &EvaluateArgs, from: &FileOrStandard) -> Result<Input, Failure> {
    let (name, from): (String, Box<dyn Read>) = match from {
        FileOrStandard::Standard => ("stdin".to_owned(), Box::new(io::stdin().lock())),
        FileOrStandard::File(path) => (path.display().to_string(), Box::new(open(path)?)),
    };
    let called = |end: &str| name.ends_with(end);
    let format = match args.format {
        Some(EventFormat::Jsonl) => Format::JsonLines,
        Some(EventFormat::Csv) => Format::Csv,
        None if called(".csv") || called(".csv.gz") => Format::Csv,
        None => Format::JsonLines,
    };
    Ok(Input { name, from, format })
}

/// A file to be read.
pub(super) fn open(path: &Path) -> Result<File, Failure> {
    let failed = |error: io::Error| Failure::new(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(Failure::new(format!("{}: is a directory", path.display())));
    }
    Ok(file)
}

/// Writes a whole file.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::of_output(&path.display().to_string(), &error))
}
