//! Files of events and of labels, as they are named on the command line.

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{Failure, needless, print, table, tell, topic};
use crate::cli::{EventFormat, EventsArgs, FileOrStandard, LabelKind, ReadingArgs, exit};
use crate::clock;
use crate::engine::time::Timestamp;
use crate::evaluate::read::{Faults, Format, Input, Labels, Mapping, Session};
use crate::evaluate::{Groups, Kind};
use crate::replay::Odd;

/// Events of a file or a topic, and how long it is where that is known.
pub(super) struct Events {
    pub(super) input: Input,
    pub(super) length: Option<u64>,
    /// Of a topic: which record each line was made of.
    pub(super) places: Option<topic::Places>,
}

/// The events.
pub(super) fn events(
    format: Option<EventFormat>,
    reading: &ReadingArgs,
    from: &FileOrStandard,
) -> Result<Events, Failure> {
    let name = name(from);
    if format.is_some() && name.ends_with(ARCHIVE) {
        return Err(Failure::of_usage(format!(
            "{name}: a Parquet file has one form only; leave the format out"
        )));
    }
    let (from, length): (Box<dyn Read>, _) = match from {
        FileOrStandard::Standard => (Box::new(io::stdin().lock()), None),
        FileOrStandard::File(path) if name.ends_with(ARCHIVE) => (archive(path)?, None),
        FileOrStandard::File(path) => {
            let file = open(path)?;
            let length = file.metadata().ok().filter(Metadata::is_file).map(|about| about.len());
            (Box::new(file), length)
        }
    };
    let format = match format {
        Some(EventFormat::Jsonl) => Format::JsonLines,
        Some(EventFormat::Csv) => Format::Csv,
        Some(EventFormat::Tsv) => Format::Tsv,
        None => table_by_name(&name).unwrap_or(Format::JsonLines),
    };
    needless::of_lines(reading, format)?;
    Ok(Events { input: Input { name, from, format }, length, places: None })
}

/// Whether a file of this name is a table.
pub(super) fn is_table(name: &str) -> bool {
    table_by_name(name).is_some()
}

/// What kind of table a file of this name is, packed or not.
pub(super) fn table_by_name(name: &str) -> Option<Format> {
    let name = name.to_ascii_lowercase();
    let plain = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    match plain.rsplit_once('.')?.1 {
        "csv" => Some(Format::Csv),
        "tsv" | "tab" => Some(Format::Tsv),
        _ => None,
    }
}

/// The events of a topic, or else of a file.
pub(super) fn of(args: &EventsArgs) -> Result<Events, Failure> {
    match (&args.from, &args.input) {
        (Some(from), _) => {
            needless::of_lines(&args.reading, Format::JsonLines)?;
            topic::events(&args.config, from)
        }
        (None, Some(file)) => {
            needless::brokers(&args.config)?;
            events(args.events_format, &args.reading, file)
        }
        (None, None) => Err(Failure::of_usage("give --input or --from")),
    }
}

/// What a Parquet file is called.
pub(super) const ARCHIVE: &str = ".parquet";

/// A Parquet file as lines of JSON.
pub(super) fn archive(path: &Path) -> Result<Box<dyn Read>, Failure> {
    #[cfg(feature = "parquet")]
    return match crate::archive::Lines::open(open(path)?) {
        Ok(lines) => Ok(Box::new(lines)),
        Err(error) => Err(Failure::new(format!("{}: {error}", path.display()))),
    };
    #[cfg(not(feature = "parquet"))]
    Err(Failure::new(format!("{}: {}", path.display(), crate::archive::HOW)))
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

/// Writes a file as a whole, or all of it to stdout.
pub(super) fn put(file: &FileOrStandard, text: &str) -> Result<(), Failure> {
    match file {
        FileOrStandard::Standard => print(text),
        FileOrStandard::File(path) => write(path, text),
    }
}

/// Refuses an output that would overwrite the input, under whatever name.
pub(super) fn keep(input: &FileOrStandard, output: &Path) -> Result<(), Failure> {
    let FileOrStandard::File(input) = input else { return Ok(()) };
    match (fs::metadata(input), fs::metadata(output)) {
        (Ok(one), Ok(other)) if same(&one, &other) => {
            Err(Failure::of_usage(format!("output {} is the input itself", output.display())))
        }
        _ => Ok(()),
    }
}

/// Refuses an output that would overwrite the labels.
pub(super) fn keep_labels(labels: Option<&Path>, output: &Path) -> Result<(), Failure> {
    match labels.and_then(|labels| fs::metadata(labels).ok()).zip(fs::metadata(output).ok()) {
        Some((one, other)) if same(&one, &other) => {
            Err(Failure::of_usage(format!("output {} is the file of labels", output.display())))
        }
        _ => Ok(()),
    }
}

/// Whether both are one file.
pub(super) fn same(one: &Metadata, other: &Metadata) -> bool {
    one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Writes a file as a whole.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::of_output(&path.display().to_string(), &error))
}

/// What a file is called for people.
pub(super) fn name(file: &FileOrStandard) -> String {
    match file {
        FileOrStandard::Standard => "stdin".to_owned(),
        FileOrStandard::File(path) => path.display().to_string(),
    }
}

/// Whether events may come with labels of their own: from a column, or all alike.
pub(super) fn is_labelled(reading: &ReadingArgs) -> bool {
    let mapped = reading.map.iter().any(|text| text.trim_start().starts_with("label="));
    let column = reading.label_column.is_some() || !reading.attack_values.is_empty();
    column || reading.label.is_some() || mapped
}

/// How rows are read, and with which labels.
pub(super) fn session(reading: &ReadingArgs, labels: Option<&Path>) -> Result<Session, Failure> {
    match labels {
        None => Ok(Session::new(mapping(reading)?, Labels::default(), Groups::default(), Faults::default())),
        Some(path) => labelled(reading, &path.display().to_string(), BufReader::new(open(path)?)),
    }
}

/// The same, with labels from anywhere.
pub(super) fn labelled(reading: &ReadingArgs, name: &str, from: impl BufRead) -> Result<Session, Failure> {
    let (mut groups, mut faults) = (Groups::default(), Faults::default());
    let labels = Labels::read(name, from, &mut groups, &mut faults);
    let labels = labels.map_err(|error| Failure::new(error.to_string()))?;
    Ok(Session::new(mapping(reading)?, labels, groups, faults))
}

fn mapping(reading: &ReadingArgs) -> Result<Mapping, Failure> {
    let mut mapping = Mapping::default();
    mapping.action.clone_from(&reading.action);
    mapping.attack_values.clone_from(&reading.attack_values);
    mapping.label = reading.label.map(|kind| match kind {
        LabelKind::Honest => Kind::Honest,
        LabelKind::Attack => Kind::Attack,
    });
    let label = reading.label_column.iter().map(|column| format!("label={column}"));
    for text in reading.map.iter().cloned().chain(label) {
        mapping.add(&text).map_err(|error| Failure::of_usage(error.to_string()))?;
    }
    for text in &reading.counts {
        mapping.count(text).map_err(|error| Failure::of_usage(error.to_string()))?;
    }
    Ok(mapping)
}

/// No event counts later than this.
pub(super) fn as_of(reading: &ReadingArgs) -> Timestamp {
    reading.as_of.unwrap_or_else(clock::now)
}

/// Tells what could not be read.
pub(super) fn faults(faults: &Faults) {
    for fault in &faults.first {
        tell(&table::visible(&format!("{}: {}: {}", fault.at, fault.kind, fault.message)));
    }
    for (kind, count) in &faults.counts {
        tell(&format!("{count} times: {kind}"));
    }
}

/// A failure to read an input at all; one that is empty holds nothing that could be decided.
pub(super) fn unread(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Failure::of_data(error.to_string()),
        _ => Failure::new(error.to_string()),
    }
}

/// Nothing was decided: of the whole input, or of as much as there was before it broke off.
pub(super) fn nothing(faults: &Faults, text: &str) -> Failure {
    if faults.broke_off() { Failure::new(text) } else { Failure::of_data(text) }
}

/// A failure where the input broke off, once what was found is told.
pub(super) fn whole(faults: &Faults) -> Result<u8, Failure> {
    match faults.broke_off() {
        true => Err(Failure::new("the input broke off: nothing behind that is in these figures")),
        false => Ok(exit::OK),
    }
}

/// Tells what was read and is odd.
pub(super) fn odd(odd: &Odd) {
    for odd in odd.list() {
        let many = if odd.count == 1 { "1 event".to_owned() } else { format!("{} events, first", odd.count) };
        tell(&table::visible(&format!("{}: {many} at {}: {}", odd.kind, odd.first, odd.message)));
    }
}
