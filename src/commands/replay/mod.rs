//! `weir replay`: the engine over a file of events, one decision line for each event line, in the same order.
//!
//! Decisions go to the output, talk to stderr: a progress bar on a terminal, the first lines that could not be
//! decided, and the statistics. A file may be gzip or zstd; one that breaks off is decided as far as it goes, and is a failure.
//! It ends with 65 when no line could be decided, or there was none. With `--stats json` stderr has one line of JSON and nothing else. The same lines with
//! the same policy, seed and `--as-of` give the same bytes, whatever the file is called.

mod files;
mod floor;
mod stats;

use std::io::{self, IsTerminal};
use std::sync::Arc;

use self::floor::Floor;
use self::stats::{Cost, Stats};
use super::progress::Progress;
use super::{Failure, finish, policy, setup, tell};
use crate::cli::{ConfigArgs, FileOrStandard, Format, ReplayArgs, exit};
use crate::clock;
use crate::config::Config;
use crate::engine::Engine;
use crate::evaluate::read::unpacked;
use crate::replay::{Options, replay_revised as decide};
use crate::wire::interaction::DecodeLimits;

/// What decisions name as their source: not the file, so that its name changes no decision.
const SOURCE: &str = "replay";

/// Runs it.
pub fn run(args: &ReplayArgs) -> u8 {
    finish(replay(args))
}

fn replay(args: &ReplayArgs) -> Result<u8, Failure> {
    let config = setup::config(&ConfigArgs::from_environment())?;
    let policy = policy::of_args(&args.policy, &ConfigArgs::from_environment())?.load_or_fail()?.policy;
    let input = files::open(&args.input)?;
    let outputs = files::outputs(args)?;
    let as_of = args.as_of.unwrap_or_else(clock::now);
    let options = Options { name: SOURCE.to_owned(), as_of, limits: limits(&config) };
    let standard = [Some(&args.output), args.revisions.as_ref()].contains(&Some(&FileOrStandard::Standard));
    let on_screen = standard && io::stdout().is_terminal();
    let progress = Progress::start(input.length, on_screen);

    let cpu = clock::process_cpu_seconds();
    let mut engine = Engine::new(Arc::clone(&policy), setup::seed(&config));
    let mut floor = Floor::default();
    let mut watch = |lines: &mut dyn Iterator<Item = &[u8]>, bytes: usize| {
        floor.block(lines, bytes);
    };
    let (from, broken) = unpacked(progress.reading(input.from));
    let summary = decide(from, outputs, &mut engine, &options, &mut watch);
    let cpu = clock::process_cpu_seconds() - cpu - floor.spent_seconds();
    progress.finish();
    let summary = summary.map_err(|error| files::failed(&error, &input.name))?;

    let cost =
        Cost { cpu_seconds: cpu, parse_floor_ratio: floor.ratio(cpu), peak_rss: clock::peak_rss_bytes() };
    let mut stats = Stats::new(&input.name, &summary, &cost, &policy.hash, as_of);
    stats.revisions_written = args.revisions.is_some();
    let broken_off = broken.why().map(|why| Failure::new(format!("input {}: {why}", input.name)));
    match (args.stats, &broken_off) {
        (Format::Json, None) => tell(&stats.json()),
        // There is no statistic of what was not read.
        (Format::Json, Some(_)) => {}
        (Format::Text, _) => tell(&stats.text()),
    }
    if let Some(failure) = broken_off {
        return Err(failure);
    }
    Ok(if stats.is_all_faults() { exit::DATA } else { exit::OK })
}

/// Records as large as on the topic.
fn limits(config: &Config) -> DecodeLimits {
    let record_max = usize::try_from(config.kafka.record_bytes_max).unwrap_or(usize::MAX);
    DecodeLimits { record_max, ..DecodeLimits::default() }
}
