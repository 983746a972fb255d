//! `weir explain`: why one event of a file or a topic was decided as it was.

use std::sync::Arc;

use super::progress::Progress;
use super::{Failure, finish, needless, policy, print, reading, setup};
use crate::cli::{ExplainArgs, Format, exit};
use crate::engine::Engine;
use crate::explain::Explainer;
use crate::replay::Options;
use crate::wire::interaction::DecodeLimits;

/// What decisions name as their source.
const SOURCE: &str = "explain";

/// Runs it.
pub fn run(args: &ExplainArgs) -> u8 {
    finish(explain(args))
}

fn explain(args: &ExplainArgs) -> Result<u8, Failure> {
    needless::labels(&args.events.reading)?;
    if args.all && args.format == Format::Json {
        return Err(Failure::of_usage("--all has no effect here: JSON has the conditions of all rules"));
    }
    let config = setup::config(&args.events.config)?;
    let policy = policy::of_args(&args.policy, &args.events.config)?.load_or_fail()?.policy;
    let events = reading::of(&args.events)?;
    let mut session = reading::session(&args.events.reading, None)?;
    let as_of = reading::as_of(&args.events.reading);
    let options = Options { name: SOURCE.to_owned(), as_of, limits: DecodeLimits::default() };
    let mut engine = Engine::new(Arc::clone(&policy), setup::seed(&config));
    let mut explainer = Explainer::new(&mut engine, &options, &args.event_id, args.user.as_deref());

    let progress = Progress::start(events.length, false);
    let mut input = events.input;
    let name = input.name.clone();
    input.from = progress.reading(input.from);
    let read = session.hear(&mut explainer, input);
    progress.finish();
    read.map_err(|error| Failure::new(error.to_string()))?;
    reading::faults(&session.faults);
    reading::odd(&session.odd);
    let mut explanation = explainer.end().map_err(Failure::new)?;
    match events.places.and_then(|places| places.of(session.line)) {
        Some((partition, offset)) => explanation.stands_at(format!("{name}/{partition}@{offset}")),
        None => explanation.stands(&name, session.line),
    }
    print(&match args.format {
        Format::Json => explanation.json(),
        Format::Text => explanation.text(args.all),
    })?;
    Ok(exit::OK)
}
