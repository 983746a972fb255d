//! Files that are written by an evaluation.

use serde::Serialize;

use super::super::{print, reading};
use super::Failure;
use crate::cli::{EvaluateArgs, Format as Shown};
use crate::report::{self, Head, Section};

/// Tells it all where it was asked for: as JSON, as a page, and on stdout.
pub(super) fn tell(
    args: &EvaluateArgs,
    document: &impl Serialize,
    head: &Head,
    sections: &[Section],
) -> Result<(), Failure> {
    let json = || serde_json::to_string_pretty(document).expect("figures are numbers and text") + "\n";
    if let Some(path) = &args.json {
        reading::write(path, &json())?;
    }
    if let Some(path) = &args.report {
        reading::write(path, &report::page(head, sections))?;
    }
    match args.print {
        Shown::Json => print(&json()),
        Shown::Text => print(&report::text(sections)),
    }
}
