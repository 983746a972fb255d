//! Files that are read and written by an evaluation.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use serde::Serialize;

use super::super::print;
use super::Failure;
use crate::cli::{EvaluateArgs, EventFormat, FileOrStandard, Format as Shown};
use crate::evaluate::read::{Format, Input};
use crate::evaluate::report::{self, Head, Section};

/// The events.
pub(super) fn events(args: &EvaluateArgs, from: &FileOrStandard) -> Result<Input, Failure> {
    let name = name(from);
    let from: Box<dyn Read> = match from {
        FileOrStandard::Standard => Box::new(io::stdin().lock()),
        FileOrStandard::File(path) => Box::new(open(path)?),
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

/// Tells it all where it was asked for: as JSON, as a page, and on stdout.
pub(super) fn tell(
    args: &EvaluateArgs,
    document: &impl Serialize,
    head: &Head,
    sections: &[Section],
) -> Result<(), Failure> {
    let json = || serde_json::to_string_pretty(document).expect("figures are numbers and text") + "\n";
    if let Some(path) = &args.json {
        write(path, &json())?;
    }
    if let Some(path) = &args.report {
        write(path, &report::page(head, sections))?;
    }
    match args.print {
        Shown::Json => print(&json()),
        Shown::Text => print(&report::text(sections)),
    }
}

/// What a file is called for people.
pub(super) fn name(file: &FileOrStandard) -> String {
    match file {
        FileOrStandard::Standard => "stdin".to_owned(),
        FileOrStandard::File(path) => path.display().to_string(),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::of_output(&path.display().to_string(), &error))
}
