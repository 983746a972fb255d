//! `weir evaluate`: labelled events through the engine, and how well it detected.
//!
//! Figures go to stdout (and as JSON to a file), talk to stderr: what could not be read, with its place. Over files it
//! ends with 0 whatever the figures are, with 65 where nothing was decided; over simulated scenarios with 1 when a bound does not hold.

mod files;
mod scenarios;

use std::sync::Arc;

use serde::Serialize;

use super::{Failure, finish, policy, reading, setup, tell};
use crate::cli::{ConfigArgs, EvaluateArgs, FileOrStandard};
use crate::engine::Engine;
use crate::evaluate::read::{Faults, Format as InputFormat};
use crate::evaluate::{Figures, Trial, report};
use crate::replay::Options;
use crate::report::Head;
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
    for output in [&args.report, &args.json].into_iter().flatten() {
        reading::keep(events, output)?;
        reading::keep_labels(args.labels.as_deref(), output)?;
    }
    let config = setup::config(&ConfigArgs::from_environment())?;
    let policy = policy::of_args(&args.policy, &ConfigArgs::from_environment())?.load_or_fail()?.policy;
    let input = reading::events(args.format, &args.reading, events)?.input;
    if args.labels.is_none() && args.reading.label.is_none() && input.format == InputFormat::JsonLines {
        return Err(Failure::of_usage(
            "nothing says what is an attack: give --labels, or --label for all events",
        ));
    }
    let mut session = reading::session(&args.reading, args.labels.as_deref())?;
    session.odd.heed(&policy);
    let options = Options {
        name: SOURCE.to_owned(),
        as_of: reading::as_of(&args.reading),
        limits: DecodeLimits::default(),
    };
    let mut engine = Engine::new(Arc::clone(&policy), setup::seed(&config));
    let mut trial = Trial::new(&mut engine, &options);
    session.hear(&mut trial, input).map_err(|error| reading::unread(&error))?;
    let book = trial.end();
    if let Some(labels) = &args.labels {
        session.end(&labels.display().to_string());
    }
    let figures = Figures::of(&book, &session.groups);
    reading::faults(&session.faults);
    reading::odd(&session.odd);
    told(args, &Document { policy: &policy.hash, faults: &session.faults, figures: &figures })
}

fn told(args: &EvaluateArgs, document: &Document<'_>) -> Result<u8, Failure> {
    let mut facts = vec![("policy".to_owned(), document.policy.to_owned())];
    facts.extend(
        document.faults.counts.iter().map(|(kind, count)| (format!("not read: {kind}"), count.to_string())),
    );
    let events = args.events.as_ref().map(reading::name).unwrap_or_default();
    let head = Head { title: format!("Evaluation of {events}"), facts };
    files::tell(args, document, &head, &report::sections(document.figures))?;
    if document.figures.read.verdicts.values().sum::<u64>() == 0 {
        return Err(reading::nothing(document.faults, &format!("{events}: no event was decided")));
    }
    reading::whole(document.faults)
}
