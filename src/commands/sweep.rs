//! `weir sweep`: what other values of a policy's numbers would cost, in one pass over the events.

use serde::Serialize;

use super::{Failure, finish, needless, policy, print, reading, setup};
use crate::backtest::{Costs, Findings, Mask, Pass, Range, Side};
use crate::cli::{ConfigArgs, Format, SweepArgs};
use crate::config;
use crate::evaluate::report::percent;
use crate::replay::Options;
use crate::report::{self, Chart, Head, Line, Section};
use crate::tune::{Parameter, ParameterError, Variant, Variants};
use crate::wire::interaction::DecodeLimits;

/// Runs it.
pub fn run(args: &SweepArgs) -> u8 {
    finish(sweep(args))
}

/// One row.
#[derive(Clone, Debug, Serialize)]
struct Row {
    parameter: String,
    value: String,
    now: String,
    #[serde(flatten)]
    costs: Costs,
}

fn sweep(args: &SweepArgs) -> Result<u8, Failure> {
    needless::warm_up(&args.range)?;
    if let Some(report) = &args.report {
        reading::keep(&args.input, report)?;
        reading::keep_labels(args.labels.as_deref(), report)?;
    }
    let found = policy::of_args(&args.policy, &ConfigArgs::from_environment())?;
    let current = Side { name: found.name(), policy: found.load_or_fail()?.policy };
    let usage = |error: ParameterError| Failure::of_usage(error.to_string());
    let parameters = args.set.iter().map(|text| text.parse::<Parameter>());
    let parameters = parameters.collect::<Result<Vec<_>, _>>().map_err(usage)?;
    let variants = Variants::of(&found.files, &parameters).map_err(usage)?;
    let findings = pass(args, current, &variants)?;
    reading::faults(findings.faults());
    reading::odd(findings.odd());
    if findings.counted() == 0 {
        return Err(reading::nothing(
            findings.faults(),
            &format!("no event counts: {}", findings.emptiness()),
        ));
    }
    if findings.decided() == 0 {
        let why = format!("none of {} events was decided", findings.counted());
        return Err(reading::nothing(findings.faults(), &why));
    }
    let rows: Vec<Row> =
        variants.0.iter().enumerate().map(|(number, variant)| row(&findings, number, variant)).collect();
    let current = findings.costs(None);
    let parts = sections(&current, &rows);
    if let Some(path) = &args.report {
        let title = format!("Sweep over {}", reading::name(&args.input));
        let facts = vec![("policy".to_owned(), found.name())];
        reading::write(path, &report::page(&Head { title, facts }, &parts))?;
    }
    print(&match args.format {
        Format::Text => report::text(&parts),
        Format::Json => {
            let document = serde_json::json!({ "now": current, "variants": rows });
            serde_json::to_string_pretty(&document).expect("text and numbers can be written") + "\n"
        }
    })?;
    reading::whole(findings.faults())
}

fn pass(args: &SweepArgs, current: Side, variants: &Variants) -> Result<Findings, Failure> {
    let config = setup::config(&ConfigArgs::from_environment())?;
    let mut all = variants.sides();
    all.push(current.clone());
    let warm_up = args.range.warm_up.unwrap_or_else(|| Pass::warm_up(&all));
    let range = Range { since: args.range.since, until: args.range.until, warm_up };
    let events = reading::events(args.events_format, &args.reading, &args.input)?;
    let mut session = reading::session(&args.reading, args.labels.as_deref())?;
    session.odd.heed(&current.policy);
    let as_of = reading::as_of(&args.reading);
    let options = Options { name: "sweep".to_owned(), as_of, limits: DecodeLimits::default() };
    let labelled = args.labels.is_some() || reading::is_labelled(&args.reading);
    let mut pass = Pass::new(current, variants.sides(), setup::seed(&config), (options, range), labelled);
    session.hear(&mut pass, events.input).map_err(|error| reading::unread(&error))?;
    Ok(Findings::new(pass.end(), &session.groups, (session.faults, session.odd), Mask::default(), Vec::new()))
}

fn row(findings: &Findings, number: usize, variant: &Variant) -> Row {
    Row {
        parameter: variant.name.clone(),
        value: variant.value.clone(),
        now: variant.now.clone(),
        costs: findings.costs(Some(number)),
    }
}

const HEADS: [&str; 12] = [
    "value",
    "above allow",
    "share",
    "stronger",
    "weaker",
    "newly touched",
    "settled",
    "paying",
    "newly let through",
    "reviews per day",
    "recall",
    "false-positive rate",
];

/// A table, and a curve, for each parameter.
fn sections(now: &Costs, rows: &[Row]) -> Vec<Section> {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.parameter.as_str()) {
            names.push(&row.parameter);
        }
    }
    let of = |name: &str| rows.iter().filter(|row| row.parameter == name).collect::<Vec<_>>();
    names.into_iter().map(|name| section(name, now, &of(name))).collect()
}

fn section(name: &str, now: &Costs, rows: &[&Row]) -> Section {
    let is = rows.first().map(|row| row.now.clone()).unwrap_or_default();
    let first = cells(&format!("{is} (now)"), now);
    let table = std::iter::once(first).chain(rows.iter().map(|row| cells(&row.value, &row.costs))).collect();
    let mut points: Vec<(f64, f64)> =
        rows.iter().filter_map(|row| Some((number(&row.value)?, touched(&row.costs)))).collect();
    points.extend(number(&is).map(|at| (at, touched(now))));
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup();
    let section = Section::table(format!("{name}, now {is}"), &HEADS, table).noted(
        "Accounts newly touched or let through, and verdicts stronger or weaker, are against the policy as it is.",
    );
    let lines = vec![Line { name: "above allow".to_owned(), dash: "", points }];
    let title = format!("Decisions above allow over {name}");
    section.charted(Chart {
        title,
        x: "value (durations in seconds)",
        y: "decisions",
        lines,
        ..Chart::default()
    })
}

fn touched(costs: &Costs) -> f64 {
    costs.acted_on as f64
}

fn cells(value: &str, costs: &Costs) -> Vec<String> {
    let share = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{} %", percent(share)));
    let part = (costs.decisions > 0).then(|| costs.acted_on as f64 / costs.decisions as f64);
    vec![
        value.to_owned(),
        costs.acted_on.to_string(),
        share(part),
        costs.stronger.to_string(),
        costs.weaker.to_string(),
        costs.newly_touched.to_string(),
        share(costs.settled_share),
        share(costs.paying_share),
        costs.newly_freed.to_string(),
        format!("{:.1}", costs.reviews_per_day),
        share(costs.recall),
        share(costs.false_positive_rate),
    ]
}

/// A value as a number: durations in seconds.
fn number(text: &str) -> Option<f64> {
    let duration = || config::duration(text).ok().map(|span| span.millis() as f64 / 1000.0);
    text.parse().ok().or_else(duration)
}
