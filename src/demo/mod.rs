//! `weir demo`: the founding incident over honest traffic, through the whole pipeline, in one process.
//!
//! The same shard, engine and policy as `weir run`, against the embedded broker. The truth about each account is known
//! here and nowhere in the pipeline: what is told at the end is counted from what a reader got back from the topics.
//! Times are event times; fifteen minutes of them pass in the given seconds. Nothing is written to disk.

mod ledger;
mod stage;
mod summary;

use std::io::{IsTerminal, Write};
use std::time::Duration;

use crate::cli::{DemoArgs, Format, exit};
use crate::clock::Stopwatch;
use crate::sim::{Scenario, Simulation};
use crate::stream::{InputEvent, StreamError};
use crate::wire::decision::DecisionRecord;

use self::ledger::{Known, Ledger};
use self::stage::Stage;
use self::summary::Summary;

/// How long the rest may take once all events are sent.
const REST: Duration = Duration::from_secs(60);

/// Runs the demo; returns the exit code.
pub fn run(args: &DemoArgs) -> u8 {
    match show(args) {
        Ok(code) => code,
        Err(error) => {
            tell(format_args!("weir demo: {error}"));
            exit::FAILURE
        }
    }
}

fn show(args: &DemoArgs) -> Result<u8, StreamError> {
    let watch = Stopwatch::start();
    let simulation = Simulation::new(&Scenario::demo(), args.seed);
    let stage = Stage::set()?;
    if !args.headless {
        banner(&simulation, args);
    }
    let mut show =
        Show { known: Known { simulation: &simulation }, ledger: Ledger::default(), stage, first: None };
    show.play(args, watch)?;
    let summary = show.end(watch)?;
    Ok(told(&summary, args.format))
}

/// A demo under way.
struct Show<'s> {
    known: Known<'s>,
    ledger: Ledger,
    stage: Stage,
    /// Seconds from the start of the process's work to the first decision read.
    first: Option<f64>,
}

impl Show<'_> {
    /// Sends all events at their pace and reads what comes back meanwhile.
    fn play(&mut self, args: &DemoArgs, watch: Stopwatch) -> Result<(), StreamError> {
        let length = Scenario::demo().length.millis() as f64 / 1000.0;
        let speed = length / f64::from(args.seconds);
        let (mut json, mut line) = (Vec::new(), Stopwatch::start());
        let begin = self.known.simulation.events().next().map_or(0, |event| event.at_ms);
        let start = Stopwatch::start();
        for event in self.known.simulation.events() {
            let due = (event.at_ms - begin) as f64 / 1000.0 / speed;
            while start.seconds() < due {
                self.read(Duration::from_secs_f64((due - start.seconds()).clamp(0.0, 0.02)), watch)?;
            }
            json.clear();
            event.write_json(&mut json);
            self.stage.send(event.account.id.as_bytes(), &json, event.at_ms)?;
            if !args.headless && line.seconds() > 0.25 {
                line = Stopwatch::start();
                self.live_line(start.seconds() * speed);
            }
        }
        self.stage.sent()
    }

    /// Reads decisions until the pipeline has answered for every event, then stops it.
    fn end(mut self, watch: Stopwatch) -> Result<Summary, StreamError> {
        let rest = Stopwatch::start();
        while !self.is_complete() && rest.elapsed() < REST {
            self.read(Duration::from_millis(50), watch)?;
        }
        let complete = self.is_complete();
        let tally = self.stage.stop()?;
        Ok(Summary::of(&self.ledger, &self.known, &tally, complete, self.first))
    }

    fn is_complete(&self) -> bool {
        let tally = self.stage.tally();
        let decided = tally.outcomes().get("decided").copied().unwrap_or(0);
        tally.consumed >= self.stage.events_sent() && self.ledger.decisions() >= decided
    }

    fn read(&mut self, patience: Duration, watch: Stopwatch) -> Result<(), StreamError> {
        let records = match self.stage.read(patience) {
            InputEvent::Records(records) => records,
            InputEvent::Problem(problem) if problem.stops => return Err(problem.error),
            InputEvent::Problem(_) | InputEvent::Idle => return self.stage.check(),
        };
        for record in records.iter() {
            let value = record.value.unwrap_or_default();
            match serde_json::from_slice::<DecisionRecord>(value) {
                Ok(decision) => self.ledger.enter(&decision, &self.known),
                Err(error) => tracing::error!(%error, offset = record.at.offset, "a decision cannot be read"),
            }
            self.first.get_or_insert_with(|| watch.seconds());
        }
        self.stage.recycle(records);
        Ok(())
    }

    fn live_line(&self, event_seconds: f64) {
        let incident = self.ledger.incident(&self.known);
        let honest = self.ledger.honest(&self.known);
        let touched = honest.demoted + honest.challenged + honest.held + honest.rejected + honest.blocked;
        let line = format!(
            "{:02}:{:02} {:>6} decided | incident: {} of {} stopped, {} likes count | honest touched: {touched}",
            event_seconds as u64 / 60,
            event_seconds as u64 % 60,
            self.ledger.decisions(),
            incident.accounts_actioned,
            incident.accounts,
            incident.likes_counted,
        );
        // On a terminal the line is drawn anew in its place; in a file each is a line of its own.
        let (before, after) = if std::io::stderr().is_terminal() { ("\r\x1b[2K", "") } else { ("", "\n") };
        write!(std::io::stderr(), "{before}{line}{after}").unwrap_or_default();
    }
}

fn banner(simulation: &Simulation, args: &DemoArgs) {
    let campaign = simulation.campaigns().first();
    tell(format_args!(
        "weir {}: an embedded broker, the standard policy, seed {}\n\
         {} events of {} accounts; from minute 3 on, {} accounts registered last week put {} likes on one article.\n\
         15 minutes pass in {} seconds. Times are event times; Ctrl-C ends it.\n",
        env!("CARGO_PKG_VERSION"),
        args.seed,
        simulation.events().len(),
        simulation.accounts().len(),
        campaign.map_or(0, |campaign| campaign.accounts),
        campaign.map_or(0, |campaign| campaign.likes),
        args.seconds,
    ));
}

/// Prints the summary; the exit code says whether all went as it must.
fn told(summary: &Summary, format: Format) -> u8 {
    let text = match format {
        Format::Json => summary.json(),
        Format::Text => summary.to_string(),
    };
    let written = writeln!(std::io::stdout(), "{text}");
    if written.is_ok() && summary.holds() { exit::OK } else { exit::FAILURE }
}

fn tell(line: std::fmt::Arguments<'_>) {
    // Nobody is left to be told when stderr is gone.
    writeln!(std::io::stderr(), "{line}").unwrap_or_default();
}
