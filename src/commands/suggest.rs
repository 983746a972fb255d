//! `weir suggest`: thresholds from what is usual, as a policy patch, with whom they would have touched.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::reading::Events;
use super::{Failure, finish, needless, policy, print, reading, setup, tell};
use crate::backtest::{Findings, Mask, Pass, Range, Side, Spoken};
use crate::cli::{FileOrStandard, Format, SuggestArgs};
use crate::engine::Engine;
use crate::engine::policy::load::load;
use crate::evaluate::report::percent;
use crate::replay::Options;
use crate::report::{self, Section};
use crate::tune::{Suggestion, Usual, ids, patch, suggestions};
use crate::wire::interaction::DecodeLimits;

/// What the patch is called beside the files of the policy.
const PATCH: &str = "suggested-by-weir.yaml";

/// Runs it.
pub fn run(args: &SuggestArgs) -> u8 {
    finish(suggest(args))
}

/// One signal with whom its two rules would have touched.
#[derive(Debug, Serialize)]
struct Row<'r> {
    #[serde(flatten)]
    suggestion: &'r Suggestion,
    soft_touches: Option<Spoken>,
    hard_touches: Option<Spoken>,
}

fn suggest(args: &SuggestArgs) -> Result<u8, Failure> {
    needless::labels(&args.events.reading)?;
    if let (Some(input), Some(patch)) = (&args.events.input, &args.patch) {
        reading::keep(input, patch)?;
    }
    let found = policy::of_args(&args.policy, &args.events.config)?;
    let policy = found.load_or_fail()?.policy;
    let config = setup::config(&args.events.config)?;
    let as_of = reading::as_of(&args.events.reading);
    let options = Options { name: "suggest".to_owned(), as_of, limits: DecodeLimits::default() };

    let mut engine = Engine::new(Arc::clone(&policy), setup::seed(&config));
    let mut usual = Usual::new(&mut engine, &options);
    let mut session = reading::session(&args.events.reading, None)?;
    session.odd.heed(&policy);
    let events = events(args)?;
    session.hear(&mut usual, events.input).map_err(|error| reading::unread(&error))?;
    reading::faults(&session.faults);
    reading::odd(&session.odd);
    if usual.events() == 0 {
        return Err(reading::nothing(&session.faults, &format!("{}: no event was decided", name(args))));
    }
    let suggestions = suggestions(&usual);
    let text = patch(&suggestions, &name(args));
    let touched = touched(args, &found, &text, &options)?;
    let rows = suggestions.iter().map(|suggestion| {
        let [soft, hard] = ids(&suggestion.signal).map(|id| touched.spoken(&id));
        Row { suggestion, soft_touches: soft, hard_touches: hard }
    });
    told(args, &rows.collect::<Vec<_>>(), &text)?;
    reading::whole(&session.faults)
}

fn events(args: &SuggestArgs) -> Result<Events, Failure> {
    if args.events.input == Some(FileOrStandard::Standard) {
        return Err(Failure::of_usage("the input is read twice: it must be a file or a topic"));
    }
    reading::of(&args.events)
}

/// What the input is called.
fn name(args: &SuggestArgs) -> String {
    match (&args.events.input, &args.events.from) {
        (Some(FileOrStandard::File(path)), _) => file_name(path),
        (_, Some(from)) => from.topic.clone(),
        (Some(FileOrStandard::Standard) | None, None) => String::new(),
    }
}

/// The same events through the policy with the patch beside it.
fn touched(
    args: &SuggestArgs,
    found: &policy::Found,
    patch: &str,
    options: &Options,
) -> Result<Findings, Failure> {
    let config = setup::config(&args.events.config)?;
    let mut files = found.files.clone();
    files.retain(|(name, _)| name != PATCH);
    files.push((PATCH.to_owned(), patch.to_owned()));
    let loaded = load(&files).map_err(|problems| {
        let first = problems.first().map(ToString::to_string).unwrap_or_default();
        Failure::new(format!("the suggested rules do not fit beside this policy: {first}"))
    })?;
    let side = Side { name: found.name(), policy: loaded.policy };
    let mut pass =
        Pass::new(side, Vec::new(), setup::seed(&config), (options.clone(), Range::default()), false);
    let mut session = reading::session(&args.events.reading, None)?;
    let events = events(args)?;
    session.hear(&mut pass, events.input).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Findings::new(pass.end(), &session.groups, (session.faults, session.odd), Mask::default(), Vec::new()))
}

fn told(args: &SuggestArgs, rows: &[Row<'_>], patch: &str) -> Result<(), Failure> {
    if let Some(path) = &args.patch {
        reading::write(path, patch)?;
        tell(&format!("{}: written; all of it is in shadow", path.display()));
    }
    match (args.format, &args.patch) {
        (Format::Json, _) => {
            let document = serde_json::json!({ "signals": rows, "patch": patch });
            let text = serde_json::to_string_pretty(&document).expect("text and numbers can be written");
            print(&format!("{text}\n"))?;
        }
        (Format::Text, Some(_)) => print(&report::text(&[table(rows)]))?,
        (Format::Text, None) => print(&format!("{}\n{patch}", report::text(&[table(rows)])))?,
    }
    Ok(())
}

const HEADS: [&str; 9] = [
    "signal",
    "measures",
    "P50",
    "P95",
    "P99",
    "highest P99",
    "1.5 times: would have touched",
    "2 times: would have touched",
    "measured over events",
];

fn table(rows: &[Row<'_>]) -> Section {
    let cells = |row: &Row<'_>| {
        let Suggestion { signal, measure, events, p50, p95, p99, busiest, soft, hard, .. } = row.suggestion;
        let busiest = busiest.as_ref().map_or("-".to_owned(), |(hour, value)| format!("{value} ({hour})"));
        vec![
            signal.clone(),
            measure.clone(),
            p50.to_string(),
            p95.to_string(),
            p99.to_string(),
            busiest,
            touches(*soft, row.soft_touches.as_ref()),
            touches(*hard, row.hard_touches.as_ref()),
            events.to_string(),
        ]
    };
    Section::table("What is usual of each count", &HEADS, rows.iter().map(cells).collect())
}

/// `30: 12 accounts, 40 events (8.3 % settled, 0.0 % paying)`; a signal about no actor has no rule.
fn touches(threshold: u64, spoken: Option<&Spoken>) -> String {
    let share = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{} %", percent(share)));
    match spoken {
        None => threshold.to_string(),
        Some(Spoken { accounts: 0, .. }) => format!("{threshold}: nobody"),
        Some(Spoken { accounts, decisions, settled_share, paying_share }) => {
            let (settled, paying) = (share(*settled_share), share(*paying_share));
            format!(
                "{threshold}: {accounts} accounts, {decisions} events ({settled} settled, {paying} paying)"
            )
        }
    }
}

/// The name of a file without its folder: a patch goes into a policy, and folders are nobody's business there.
fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
