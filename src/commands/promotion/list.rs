//! The versions that are kept, and who put them in place.

use serde::Serialize;

use super::entry::Entry;
use super::{Place, failed, short};
use crate::cli::{Format, VersionsArgs, exit};
use crate::commands::table::columns;
use crate::commands::{Failure, print};

#[derive(Debug, Serialize)]
struct Document {
    folder: String,
    in_place: String,
    kept: Vec<String>,
    log: Vec<Entry>,
}

/// See the module.
pub(super) fn list(args: &VersionsArgs) -> Result<u8, Failure> {
    let place = Place::of(args)?;
    let kept = place.versions.hashes().map_err(|error| failed(place.versions.folder(), &error))?;
    let log = Entry::all(&place)?;
    let folder = place.dir.display().to_string();
    match args.print {
        Format::Json => {
            let document = Document { folder, in_place: place.hash, kept, log };
            print(
                &(serde_json::to_string_pretty(&document).expect("text and numbers can be written") + "\n"),
            )?;
        }
        Format::Text => {
            let others = kept.iter().filter(|hash| **hash != place.hash).map(|hash| short(hash));
            let others: Vec<&str> = others.collect();
            let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
            print(&format!("{folder}: {} is in place; kept besides: {others}\n", short(&place.hash)))?;
            let rows: Vec<[String; 6]> = log.iter().map(row).collect();
            if !rows.is_empty() {
                print(&columns(["WHEN", "WHAT", "FROM", "TO", "BY", "WHY"], &rows))?;
            }
        }
    }
    Ok(exit::OK)
}

fn row(entry: &Entry) -> [String; 6] {
    let judged = entry.judged.iter().chain(&entry.shadow);
    let forced =
        judged.filter_map(|judged| judged.forced.as_ref()).next().map(|why| format!(" (forced: {why})"));
    let why = entry.reason.clone() + &forced.unwrap_or_default();
    let [from, to] = [&entry.from, &entry.to].map(|hash| short(hash).to_owned());
    [entry.at.clone(), entry.what.clone(), from, to, entry.actor.clone(), why]
}
