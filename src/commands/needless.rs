//! Options that would change nothing in a run are refused: whoever typed one expects something of it.

use super::Failure;
use crate::cli::{ConfigArgs, FileOrStandard, Format, PromoteArgs, RangeArgs, ReadingArgs};
use crate::evaluate::read::Format as Form;

/// `name` has no effect, and why.
fn without_effect(name: &str, why: &str) -> Failure {
    Failure::of_usage(format!("--{name} has no effect here: {why}"))
}

/// What says how rows of a table are read, of lines of JSON.
pub(super) fn of_lines(reading: &ReadingArgs, form: Form) -> Result<(), Failure> {
    let typed = mapped(reading).filter(|_| form == Form::JsonLines);
    typed.map_or(Ok(()), |name| {
        let why = "lines of JSON say of each field what it is; it is for tables (--format csv or tsv, where the file is not called so)";
        Err(without_effect(name, why))
    })
}

/// What says how events are read, where none are.
pub(super) fn without_events(reading: &ReadingArgs) -> Result<(), Failure> {
    let as_of = reading.as_of.map(|_| "as-of");
    let typed = mapped(reading).or(labelled(reading)).or(as_of);
    typed.map_or(Ok(()), |name| Err(without_effect(name, "there are no events: give --input")))
}

/// How Kafka is reached, where events come from a file. The variable stands for other commands, too, and is no mistake.
pub(super) fn brokers(config: &ConfigArgs) -> Result<(), Failure> {
    match config.brokers.is_typed {
        true => {
            Err(without_effect("brokers", "a file needs no broker; for a topic give --from, not --input"))
        }
        false => Ok(()),
    }
}

/// What says how events are read and reported, of a candidate that is judged without any of them; how they are formed, of
/// those of a topic.
pub(super) fn of_promotion(args: &PromoteArgs) -> Result<(), Failure> {
    let is_given = args.input.is_some() || args.from.is_some();
    if !is_given {
        let why = "no events are decided: give --input or --from besides --from-shadow";
        let typed = of_events(args).or(mapped(&args.reading)).or(labelled(&args.reading));
        return typed.map_or(Ok(()), |name| Err(without_effect(name, why)));
    }
    if args.from.is_some() && args.format.is_some() {
        return Err(without_effect("format", "the events of a topic have one form"));
    }
    if args.from.is_none() && !args.from_shadow {
        brokers(&args.versions.config)?;
    }
    Ok(())
}

/// The form of a report, where there is none.
pub(super) fn print(form: Format) -> Result<(), Failure> {
    match form {
        Format::Json => {
            Err(without_effect("print", "one line is printed, for people; the log has it as JSON"))
        }
        Format::Text => Ok(()),
    }
}

/// Labels, where nothing asks for them.
pub(super) fn labels(reading: &ReadingArgs) -> Result<(), Failure> {
    let why = "labels change nothing of this; `weir backtest` and `weir evaluate` count by them";
    labelled(reading).map_or(Ok(()), |name| Err(without_effect(name, why)))
}

/// A warm-up before nothing.
pub(super) fn warm_up(range: &RangeArgs) -> Result<(), Failure> {
    if range.warm_up.is_some() && range.since.is_none() {
        let why = "the range begins with the first event: give --since TIME, or --from TOPIC@TIME..";
        return Err(without_effect("warm-up", why));
    }
    Ok(())
}

/// Addresses and devices in full, where none are shown.
pub(super) fn unmask(unmask: bool, shown: bool) -> Result<(), Failure> {
    match unmask && !shown {
        true => Err(without_effect("unmask", "only --report, --json and --print json show accounts")),
        false => Ok(()),
    }
}

/// Several outputs on one stdout. `files` are named as they are typed.
pub(super) fn stdout(files: &[(&str, Option<&FileOrStandard>)], print: Format) -> Result<(), Failure> {
    let on_stdout = files.iter().filter(|(_, file)| *file == Some(&FileOrStandard::Standard));
    let mut names: Vec<String> = on_stdout.map(|(name, _)| format!("--{name} -")).collect();
    if print == Format::Json && !names.is_empty() {
        names.push("--print json".to_owned());
    }
    match names.len() {
        0 | 1 => Ok(()),
        _ => Err(Failure::of_usage(format!("{} would be mixed on stdout: name a file", names.join(" and ")))),
    }
}

fn of_events(args: &PromoteArgs) -> Option<&'static str> {
    let typed = [
        ("since", args.range.since.is_some()),
        ("until", args.range.until.is_some()),
        ("warm-up", args.range.warm_up.is_some()),
        ("format", args.format.is_some()),
        ("as-of", args.reading.as_of.is_some()),
        ("report", args.report.is_some()),
        ("print", args.versions.print == Format::Json),
    ];
    typed.into_iter().find(|(_, typed)| *typed).map(|(name, _)| name)
}

fn mapped(reading: &ReadingArgs) -> Option<&'static str> {
    let typed = [
        ("map", !reading.map.is_empty()),
        ("counts", !reading.counts.is_empty()),
        ("action", reading.action.is_some()),
        ("label-column", reading.label_column.is_some()),
        ("attack-values", !reading.attack_values.is_empty()),
    ];
    typed.into_iter().find(|(_, typed)| *typed).map(|(name, _)| name)
}

fn labelled(reading: &ReadingArgs) -> Option<&'static str> {
    let typed = [
        ("label-column", reading.label_column.is_some()),
        ("attack-values", !reading.attack_values.is_empty()),
        ("label", reading.label.is_some()),
    ];
    typed.into_iter().find(|(_, typed)| *typed).map(|(name, _)| name)
}
