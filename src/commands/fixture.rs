//! `weir backtest --fixture EVENT_ID`: an event of a file as a masked policy test, on stdout.
//!
//! The fixture is run at once, as `weir test` will run it. When it does not come out as in the file, since what the event hung
//! on is more than a fixture holds, that is told, and the command ends with 1.

use std::sync::Arc;

use super::{Failure, needless, policy, print, reading, setup, tell};
use crate::backtest::{FIXTURE_EVENTS_MAX, Finder, Gatherer};
use crate::cli::{BacktestArgs, FileOrStandard, PolicyArgs, exit};
use crate::engine::Engine;
use crate::evaluate::read::Ear;
use crate::replay::{Options, run_test};
use crate::wire::interaction::DecodeLimits;

/// Runs it.
///
/// # Errors
/// There is no such event, or the input cannot be read twice.
pub(super) fn run(args: &BacktestArgs, id: &str) -> Result<u8, Failure> {
    let Some(FileOrStandard::File(_)) = &args.input else {
        return Err(Failure::of_usage("--fixture reads the input twice: give a file"));
    };
    needless::brokers(&args.config)?;
    let config = setup::config(&args.config)?;
    let policy = policy::of_args(&PolicyArgs { policy: args.policy.clone() }, &args.config)?;
    let policy = policy.load_or_fail()?.policy;
    let as_of = reading::as_of(&args.reading);
    let options = Options { name: "fixture".to_owned(), as_of, limits: DecodeLimits::default() };
    let engine = Engine::new(Arc::clone(&policy), setup::seed(&config));
    let mut finder = Finder::new(engine, options.clone(), id);
    read(args, &mut finder)?;
    let found = finder.end();
    let found = found.ok_or_else(|| Failure::new(format!("no event `{id}` was decided")))?;
    let mut gatherer = Gatherer::new(found, &policy, options);
    read(args, &mut gatherer)?;
    let fixture = gatherer.end();
    let unmet = run_test(&policy, &fixture.test);
    let about = if fixture.test.about.is_empty() { "any rule" } else { &fixture.test.about };
    print(&format!("    # beside {about}\n{}", fixture.yaml()))?;
    if fixture.cut {
        tell(&format!("only the last {FIXTURE_EVENTS_MAX} events that it may hang on are in it"));
    }
    for unmet in &unmet {
        tell(&format!("by itself it does not come out as in the file: {unmet}"));
    }
    Ok(if unmet.is_empty() { exit::OK } else { exit::FAILURE })
}

fn read(args: &BacktestArgs, ear: &mut impl Ear) -> Result<(), Failure> {
    let mut session = reading::session(&args.reading, None)?;
    let Some(file) = &args.input else { return Ok(()) };
    let input = reading::events(args.format, &args.reading, file)?.input;
    session.hear(ear, input).map_err(|error| Failure::new(error.to_string()))
}
