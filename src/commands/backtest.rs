//! `weir backtest`: a candidate policy and those it is held against over the same events, in one pass.
//!
//! What was found goes to stdout and into the files that were asked for; talk goes to stderr: what could not be read,
//! and what the condition of `--fail-on` says. It ends with 3 when that condition holds or cannot be known, with 65 when
//! nothing was decided, with 1 when the input broke off.

use super::progress::Progress;
use super::{Failure, finish, fixture, needless, policy, print, reading, setup, table, tell, topic};
use crate::backtest::{Findings, Gate, Mask, Pass, Range, Ruling, Scout, Side, Thin, markdown, sections};
use crate::cli::{self, BacktestArgs, FileOrStandard, Format, PolicyArgs, exit};
use crate::config::Config;
use crate::engine::policy::actions;
use crate::engine::policy::nearest::did_you_mean;
use crate::engine::time::Timestamp;
use crate::evaluate::Label;
use crate::evaluate::read::Ear;
use crate::replay::{Heard, Options};
use crate::report::{self, Head};
use crate::wire::interaction::DecodeLimits;

/// What decisions name as their source: not the file, so that its name changes no decision.
const SOURCE: &str = "backtest";

/// Runs it.
pub fn run(args: &BacktestArgs) -> u8 {
    finish(match &args.fixture {
        Some(id) => fixture::run(args, id),
        None => backtest(args),
    })
}

fn backtest(args: &BacktestArgs) -> Result<u8, Failure> {
    if args.from.is_none() {
        needless::brokers(&args.config)?;
    }
    let (findings, gate) = find(args)?;
    told(args, &findings, gate.as_ref())
}

/// What comes of it, before it is told anywhere but for what could not be read.
pub(super) fn find(args: &BacktestArgs) -> Result<(Findings, Option<Gate>), Failure> {
    let typed = args.range();
    needless::warm_up(&typed)?;
    let shown = args.report.is_some() || args.json.is_some() || args.print == Format::Json;
    needless::unmask(args.unmask, shown)?;
    needless::stdout(&files(args), args.print)?;
    for (_, file) in files(args) {
        let Some(FileOrStandard::File(output)) = file else { continue };
        args.input.iter().try_for_each(|input| reading::keep(input, output))?;
        reading::keep_labels(args.labels.as_deref(), output)?;
    }
    let sides = sides(args)?;
    let warm_up = typed.warm_up.unwrap_or_else(|| Pass::warm_up(&sides));
    let range = Range { since: typed.since, until: typed.until, warm_up };
    let labelled = is_labelled(args);
    let gate = gate(args, sides.len() > 1, labelled)?;
    heeded(args.reading.action.as_deref(), &sides);
    let findings = match &args.from {
        Some(from) => topic::pass(args, &from.topic, sides, (range, labelled))?,
        None => from_file(args, sides, range, labelled)?,
    };
    reading::faults(findings.faults());
    reading::odd(findings.odd());
    Ok((findings, gate))
}

/// Tells of a typed action that no policy names: only conditions without an action would look at its rows.
fn heeded(action: Option<&str>, sides: &[Side]) {
    let Some(action) = action else { return };
    let named: Vec<String> = sides.iter().flat_map(|side| actions(&side.policy)).collect();
    if !named.is_empty() && !named.iter().any(|known| known == action) {
        let names: Vec<&str> = named.iter().map(String::as_str).collect();
        let hint = did_you_mean(action, &names).map(|hint| format!(" ({hint})")).unwrap_or_default();
        tell(&table::visible(&format!(
            "warning: no condition of the policy names the action `{action}`{hint}: only what asks for no action looks at it"
        )));
    }
}

/// What is written, and to where.
fn files(args: &BacktestArgs) -> [(&'static str, Option<&FileOrStandard>); 3] {
    [("json", args.json.as_ref()), ("markdown", args.markdown.as_ref()), ("report", args.report.as_ref())]
}

/// The candidate, then those it is held against; the same policy is there once.
fn sides(args: &BacktestArgs) -> Result<Vec<Side>, Failure> {
    let side = |found: policy::Found| -> Result<Side, Failure> {
        let loaded = found.load_or_fail()?;
        Ok(Side { name: found.name(), policy: loaded.policy })
    };
    let named = |dir: &std::path::PathBuf| side(policy::read(dir)?);
    let installed = || side(policy::of_args(&PolicyArgs { policy: None }, &args.config)?);
    let mut sides = vec![args.policy.as_ref().map_or_else(installed, named)?];
    match (&args.policy, args.against.as_slice()) {
        (None, _) => {}
        (Some(_), []) => sides.push(installed()?),
        (Some(_), against) => {
            for dir in against {
                sides.push(named(dir)?);
            }
        }
    }
    let candidate = sides[0].policy.hash.clone();
    let before = sides.len();
    let mut place = 0;
    sides.retain(|side| {
        place += 1;
        place == 1 || side.policy.hash != candidate
    });
    if sides.len() < before {
        tell(&format!("{} is held against itself: it is the same policy, and left out", sides[0].name));
    }
    Ok(sides)
}

/// Whether anything may say what is true: a file, a column, or all events alike.
fn is_labelled(args: &BacktestArgs) -> bool {
    args.labels.is_some() || args.topic_labels || reading::is_labelled(&args.reading)
}

fn gate(args: &BacktestArgs, contrast: bool, labelled: bool) -> Result<Option<Gate>, Failure> {
    let parse = |text: &String| Gate::parse(text, contrast, labelled);
    let gate = args.fail_on.as_ref().map(parse).transpose();
    gate.map_err(|error| Failure::of_usage(format!("--fail-on: {error}")))
}

/// A pass before all policies, the candidate first.
fn pass(
    args: &BacktestArgs,
    config: &Config,
    mut sides: Vec<Side>,
    (range, labelled): (Range, bool),
) -> Pass {
    let as_of = reading::as_of(&args.reading);
    let options = Options { name: SOURCE.to_owned(), as_of, limits: DecodeLimits::default() };
    let against = sides.split_off(1);
    let candidate = sides.remove(0);
    Pass::new(candidate, against, setup::seed(config), (options, range), labelled)
}

fn from_file(
    args: &BacktestArgs,
    sides: Vec<Side>,
    range: Range,
    labelled: bool,
) -> Result<Findings, Failure> {
    let Some(file) = &args.input else { return Err(Failure::of_usage("give --input or --from")) };
    let config = setup::config(&args.config)?;
    let events = reading::events(args.format, &args.reading, file)?;
    let thin = args.sample.map(|share| thin(args, file, share, &sides)).transpose()?;
    let about_sample = thin.as_ref().map(about_sample);
    let mut session = reading::session(&args.reading, args.labels.as_deref())?;
    sides.iter().for_each(|side| session.odd.heed(&side.policy));
    let pass = pass(args, &config, sides, (range, labelled)).thinned(thin);
    let progress = Progress::start(events.length, false);
    let mut watched = Watched { pass, progress, count: 0 };
    let mut input = events.input;
    input.from = watched.progress.reading(input.from);
    let read = session.hear(&mut watched, input);
    watched.progress.finish();
    read.map_err(|error| reading::unread(&error))?;
    let ran = watched.pass.end();
    if let Some(labels) = &args.labels {
        session.end(&labels.display().to_string());
    }
    let mut facts = facts(args, &reading::name(file), "as in the input");
    facts.extend(about_sample.into_iter().flatten());
    Ok(Findings::new(ran, &session.groups, (session.faults, session.odd), mask(args), facts))
}

/// First reading of a sample: what it touches.
fn thin(args: &BacktestArgs, file: &FileOrStandard, share: u32, sides: &[Side]) -> Result<Thin, Failure> {
    if *file == FileOrStandard::Standard {
        return Err(Failure::of_usage("--sample reads its input twice: it must be a file"));
    }
    let thin = Thin::new(share, sides.iter().map(|side| &*side.policy));
    let options = Options {
        name: SOURCE.to_owned(),
        as_of: reading::as_of(&args.reading),
        limits: DecodeLimits::default(),
    };
    let mut scout = Scout::new(thin, options);
    let mut session = reading::session(&args.reading, None)?;
    let events = reading::events(args.format, &args.reading, file)?;
    session.hear(&mut scout, events.input).map_err(|error| reading::unread(&error))?;
    Ok(scout.end())
}

/// What is to be known of a sample, as facts of a report.
pub(super) fn about_sample(thin: &Thin) -> Vec<(String, String)> {
    let facts = [("sample", thin.told()), ("a sample cannot answer", thin.cannot_answer())];
    facts.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

pub(super) fn mask(args: &BacktestArgs) -> Mask {
    if args.unmask { Mask::Plain } else { Mask::Masked }
}

pub(super) fn facts(args: &BacktestArgs, input: &str, order: &str) -> Vec<(String, String)> {
    let as_of = args.reading.as_of.map_or("now".to_owned(), |at| at.to_string());
    let facts = [
        ("input", input.to_owned()),
        ("order", order.to_owned()),
        ("as of", as_of),
        ("command", command(args)),
    ];
    facts.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// A pass that tells how far it has come.
struct Watched {
    pass: Pass,
    progress: Progress,
    count: u64,
}

impl Ear for Watched {
    fn together<'l>(
        &mut self,
        lines: impl Iterator<Item = &'l [u8]>,
        truth: impl FnMut(&Heard<'_>) -> Option<Label>,
    ) -> usize {
        let count = self.pass.together(lines, truth);
        self.count += count as u64;
        if count == 0 {
            self.progress.events(self.count);
        }
        count
    }
}

/// Tells what was found everywhere it was asked for.
pub(super) fn told(args: &BacktestArgs, findings: &Findings, gate: Option<&Gate>) -> Result<u8, Failure> {
    let rulings = gate.map(|gate| rulings(gate, findings)).unwrap_or_default();
    let parts = sections(findings);
    if let Some(file) = &args.json {
        reading::put(file, &findings.json())?;
    }
    if let Some(file) = &args.markdown {
        let gate = gate.map(|gate| (gate, rulings.as_slice()));
        reading::put(file, &markdown(findings, gate))?;
    }
    if let Some(file) = &args.report {
        let title = format!("Backtest of {}", findings.candidate());
        let head = Head { title, facts: findings.facts().to_vec() };
        reading::put(file, &report::page(&head, &parts))?;
    }
    let is_taken = files(args).iter().any(|(_, file)| *file == Some(&FileOrStandard::Standard));
    match args.print {
        _ if is_taken => {}
        Format::Json => print(&findings.json())?,
        Format::Text => print(&report::text(&parts))?,
    }
    Ok(ended(findings, gate, &rulings))
}

/// What the gate says of each comparison, or of the candidate alone.
pub(super) fn rulings(gate: &Gate, findings: &Findings) -> Vec<Ruling> {
    let mut rulings: Vec<Ruling> = match findings.against() {
        0 => vec![gate.rule(findings, None)],
        count => (0..count).map(|number| gate.rule(findings, Some(number))).collect(),
    };
    // Figures of nothing, and of a part of the input, say nothing of the whole.
    if let Some(why) = failure(findings) {
        for ruling in rulings.iter_mut().filter(|ruling| !ruling.fails) {
            ruling.unknown = true;
            ruling.told.push(why.clone());
        }
    }
    rulings
}

/// Why what was found says nothing of the input, if it does not.
fn failure(findings: &Findings) -> Option<String> {
    match findings.counted() {
        0 => Some(format!("no event counts: {}", findings.emptiness())),
        count if findings.decided() == 0 => Some(format!("none of {count} events was decided")),
        _ if findings.broke_off() => {
            Some("the input broke off: nothing behind that is in these figures".to_owned())
        }
        _ => None,
    }
}

/// The exit code, with its reason on stderr.
fn ended(findings: &Findings, gate: Option<&Gate>, rulings: &[Ruling]) -> u8 {
    for (number, ruling) in rulings.iter().enumerate() {
        let against = if findings.against() > 0 {
            format!(" against {}", findings.name_of(number))
        } else {
            String::new()
        };
        let word = match ruling {
            Ruling { fails: true, .. } => "fails",
            Ruling { unknown: true, .. } => "is not known, which opens no gate",
            _ => "passes",
        };
        let told = ruling.told.join(", ");
        if let Some(gate) = gate {
            tell(&table::visible(&format!("--fail-on {gate}: {word}{against}: {told}")));
        }
    }
    let failure = failure(findings);
    failure.iter().for_each(|failure| tell(&format!("error: {failure}")));
    match (rulings.iter().any(Ruling::is_shut), failure) {
        (true, _) => exit::GATE,
        (false, Some(_)) if findings.broke_off() => exit::FAILURE,
        (false, Some(_)) => exit::DATA,
        (false, None) => exit::OK,
    }
}

/// The command that makes the same again. Paths are quoted for a shell.
fn command(args: &BacktestArgs) -> String {
    let quoted = |text: &str| match text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=%".contains(c)) {
        true if !text.is_empty() => text.to_owned(),
        _ => format!("'{}'", text.replace('\'', "'\\''")),
    };
    let mut words = vec!["weir".to_owned(), "backtest".to_owned()];
    let mut flag = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([format!("--{name}"), quoted(&value)]);
        }
    };
    let path = |path: &std::path::PathBuf| path.display().to_string();
    let input = args.input.as_ref().map(|input| match input {
        FileOrStandard::Standard => "-".to_owned(),
        FileOrStandard::File(file) => path(file),
    });
    flag("input", input);
    flag(
        "from",
        args.from.as_ref().map(|from| {
            let time = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
            format!("{}@{}..{}", from.topic, time(from.since), time(from.until))
        }),
    );
    flag("config", args.config.config.as_ref().map(path));
    flag("checkpoints", args.checkpoints.as_ref().map(path));
    flag("policy", args.policy.as_ref().map(path));
    args.against.iter().for_each(|dir| flag("against", Some(path(dir))));
    flag("labels", args.labels.as_ref().map(path));
    flag("since", args.range.since.map(|at| at.to_string()));
    flag("until", args.range.until.map(|at| at.to_string()));
    flag("warm-up", args.range.warm_up.map(|span| span.to_string()));
    let reading = &args.reading;
    flag("format", args.format.as_ref().and_then(cli::typed));
    reading.map.iter().for_each(|map| flag("map", Some(map.clone())));
    reading.counts.iter().for_each(|count| flag("counts", Some(count.clone())));
    flag("action", reading.action.clone());
    flag("label-column", reading.label_column.clone());
    reading.attack_values.iter().for_each(|value| flag("attack-values", Some(value.clone())));
    flag("label", reading.label.as_ref().and_then(cli::typed));
    flag("as-of", reading.as_of.map(|at| at.to_string()));
    flag("sample", args.sample.map(|share| format!("{}%", f64::from(share) / 100.0)));
    flag("fail-on", args.fail_on.clone());
    words.extend(args.topic_labels.then(|| "--topic-labels".to_owned()));
    words.extend(args.follow_journal.then(|| "--follow-journal".to_owned()));
    words.join(" ")
}
