//! `weir evaluate`: labelled events through the engine, and how well it detected.
//!
//! Figures go to stdout (and as JSON to a file), talk to stderr: what could not be read, with its place. Over files it
//! ends with 0 whatever the figures are; over simulated scenarios with 1 when a bound does not hold.

mod files;
mod scenarios;

use std::io::BufReader;
use std::sync::Arc;

use serde::Serialize;

use super::{Failure, finish, policy, setup, tell};
use crate::cli::{ConfigArgs, EvaluateArgs, FileOrStandard, LabelKind, exit};
use crate::clock;
use crate::engine::Engine;
use crate::evaluate::read::{Faults, Format as InputFormat, Labels, Mapping, Session};
use crate::evaluate::report::Head;
use crate::evaluate::{Figures, Groups, Kind, Trial, report};
use crate::replay::Options;
use crate::wire::interaction::DecodeLimits;

/// What decisions name as their source.
const SOURCE: &str = "evaluate";

/// Runs it.
pub fn run(args: &EvaluateArgs) -> u8 {
    finish(match &args.events {
        Some(events) => evaluate(args, events),
        None => scenarios::run(args),
    })
}

/// The JSON of an evaluation.
#[derive(Debug, Serialize)]
struct Document<'d> {
    /// Content hash of the policy.
    policy: &'d str,
    /// What could not be read.
    faults: &'d Faults,
    #[serde(flatten)]
    figures: &'d Figures,
}

fn evaluate(args: &EvaluateArgs, events: &FileOrStandard) -> Result<u8, Failure> {
    let config = setup::config(&ConfigArgs::from_environment())?;
    let policy = policy::of_args(&args.policy)?.load_or_fail()?.policy;
    let mapping = mapping(args)?;
    let input = files::events(args, events)?;
    if args.labels.is_none() && args.label.is_none() && input.format == InputFormat::JsonLines {
        return Err(Failure::of_usage(
            "nothing says what is an attack: give --labels, or --label for all events",
        ));
    }
    let mut session = session(args, mapping)?;
    let options = Options {
        name: SOURCE.to_owned(),
        as_of: args.as_of.unwrap_or_else(clock::now),
        limits: DecodeLimits::default(),
    };
    let mut engine = Engine::new(Arc::clone(&policy), setup::seed(&config));
    let mut trial = Trial::new(&mut engine, &options);
    let failed = |error: std::io::Error| Failure::new(error.to_string());
    session.hear(&mut trial, input).map_err(failed)?;
    let book = trial.end();
    if let Some(labels) = &args.labels {
        session.end(&labels.display().to_string());
    }
    let figures = Figures::of(&book, &session.groups);
    faults(&session.faults);
    told(args, &Document { policy: &policy.hash, faults: &session.faults, figures: &figures })
}

fn mapping(args: &EvaluateArgs) -> Result<Mapping, Failure> {
    let mut mapping = Mapping::default();
    mapping.action.clone_from(&args.action);
    mapping.attack_values.clone_from(&args.attack_values);
    mapping.label = args.label.map(|kind| match kind {
        LabelKind::Honest => Kind::Honest,
        LabelKind::Attack => Kind::Attack,
    });
    let label = args.label_column.iter().map(|column| format!("label={column}"));
    for text in args.map.iter().cloned().chain(label) {
        mapping.add(&text).map_err(|error| Failure::of_usage(error.to_string()))?;
    }
    for text in &args.counts {
        mapping.count(text).map_err(|error| Failure::of_usage(error.to_string()))?;
    }
    Ok(mapping)
}

fn session(args: &EvaluateArgs, mapping: Mapping) -> Result<Session, Failure> {
    let (mut groups, mut faults) = (Groups::default(), Faults::default());
    let labels = match &args.labels {
        None => Labels::default(),
        Some(path) => {
            let from = BufReader::new(files::open(path)?);
            Labels::read(&path.display().to_string(), from, &mut groups, &mut faults)
                .map_err(|error| Failure::new(error.to_string()))?
        }
    };
    Ok(Session::new(mapping, labels, groups, faults))
}

fn faults(faults: &Faults) {
    for fault in &faults.first {
        tell(&super::table::visible(&format!("{}: {}: {}", fault.at, fault.kind, fault.message)));
    }
    for (kind, count) in &faults.counts {
        tell(&format!("{count} times: {kind}"));
    }
}

fn told(args: &EvaluateArgs, document: &Document<'_>) -> Result<u8, Failure> {
    let mut facts = vec![("policy".to_owned(), document.policy.to_owned())];
    facts.extend(
        document.faults.counts.iter().map(|(kind, count)| (format!("not read: {kind}"), count.to_string())),
    );
    let events = args.events.as_ref().map(files::name).unwrap_or_default();
    let head = Head { title: format!("Evaluation of {events}"), facts };
    files::tell(args, document, &head, &report::sections(document.figures))?;
    Ok(exit::OK)
}
