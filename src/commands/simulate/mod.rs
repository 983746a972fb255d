//! `weir simulate`: a scenario as a file of events and a file of labels.
//!
//! Events go out as they are made, labels of accounts after the last of them. What was told of each campaign goes to
//! stderr: its size, its target and its first act. A file that cannot be written ends it with 1.

mod told;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use self::told::Summary;
use super::{Failure, finish, print, tell};
use crate::cli::{FileOrStandard, Format, SimulateArgs, exit};
use crate::sim::{Traffic, labels, scenario};

/// Runs it.
pub fn run(args: &SimulateArgs) -> u8 {
    finish(if args.list { list(args.stats) } else { simulate(args) })
}

fn list(format: Format) -> Result<u8, Failure> {
    let text = match format {
        Format::Text => told::list(&scenario::ALL),
        Format::Json => told::list_json(&scenario::ALL),
    };
    print(&text).map(|()| exit::OK)
}

fn simulate(args: &SimulateArgs) -> Result<u8, Failure> {
    let name = args.scenario.as_deref().unwrap_or_default();
    let Some(entry) = scenario::find(name) else {
        return Err(Failure::of_usage(format!(
            "no scenario is named `{name}`; `weir simulate --list` names them"
        )));
    };
    let (Some(output), Some(labels)) = (&args.output, &args.labels) else {
        return Err(Failure::of_usage("--output and --labels are needed"));
    };
    if matches!(output, FileOrStandard::File(path) if path == labels) {
        return Err(Failure::of_usage("events and labels are two files"));
    }
    let mut events = events_to(output)?;
    let mut truth = file(labels, "labels")?;
    let mut traffic = Traffic::new(entry, args.seed, args.scale);
    let summary = write(&mut traffic, &mut events, &mut truth)?;
    tell(&match args.stats {
        Format::Text => summary.text(entry.name, &traffic),
        Format::Json => summary.json(entry.name, args, &traffic),
    });
    Ok(exit::OK)
}

fn events_to(output: &FileOrStandard) -> Result<BufWriter<Box<dyn Write>>, Failure> {
    let to: Box<dyn Write> = match output {
        FileOrStandard::Standard => Box::new(io::stdout().lock()),
        FileOrStandard::File(path) => Box::new(create(path, "output")?),
    };
    Ok(BufWriter::with_capacity(1 << 18, to))
}

fn file(path: &Path, role: &str) -> Result<BufWriter<Box<dyn Write>>, Failure> {
    Ok(BufWriter::new(Box::new(create(path, role)?)))
}

fn create(path: &Path, role: &str) -> Result<File, Failure> {
    File::create(path).map_err(|error| Failure::new(format!("{role} {}: {error}", path.display())))
}

/// Writes all events, then the labels of the accounts.
fn write(traffic: &mut Traffic, events: &mut dyn Write, truth: &mut dyn Write) -> Result<Summary, Failure> {
    let of_events = |error: io::Error| Failure::of_output("output", &error);
    let of_labels = |error: io::Error| Failure::of_output("labels", &error);
    let mut summary = Summary::default();
    writeln!(truth, "{}", labels::HEADER).map_err(of_labels)?;
    while let Some(told) = traffic.next_event() {
        summary.count(&told);
        events.write_all(told.json).and_then(|()| events.write_all(b"\n")).map_err(of_events)?;
        if let Some(row) = told.label {
            writeln!(truth, "{row}").map_err(of_labels)?;
        }
    }
    events.flush().map_err(of_events)?;
    while let Some(row) = traffic.account_label() {
        writeln!(truth, "{row}").map_err(of_labels)?;
    }
    truth.flush().map_err(of_labels)?;
    Ok(summary)
}
