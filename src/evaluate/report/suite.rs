//! The outcome of a suite as text: one line a scenario, the worst of the seeds, and what does not hold.

use std::fmt::Write;

use super::table::table;
use crate::evaluate::ablation::Loss;
use crate::evaluate::bounds::{Limit, Metric};
use crate::evaluate::suite::{Held, Outcome, Pooled};

/// The columns: heads, and the metrics of which a scenario has one.
const COLUMNS: [(&str, &[Metric]); 9] = [
    ("attackers acted on", &[Metric::AccountsActedOn]),
    ("found after", &[Metric::FoundAfter]),
    ("still counted", &[Metric::StillCounted, Metric::StillCountedShare]),
    ("claims refused", &[Metric::ClaimsRefused]),
    ("refused by suspicion", &[Metric::HonestRefusedBySuspicion]),
    ("banned by suspicion", &[Metric::HonestBannedBySuspicion]),
    ("held", &[Metric::HonestHeld]),
    ("challenged", &[Metric::HonestChallenged]),
    ("demoted", &[Metric::HonestDemoted]),
];

/// All of it.
pub fn suite(held: &[Held], outcomes: &[Outcome], pooled: &[Pooled], losses: &[Loss]) -> String {
    let mut out = String::new();
    let mut heads = vec!["scenario", "honest"];
    heads.extend(COLUMNS.iter().map(|(head, _)| *head));
    let names = held.iter().map(|held| held.scenario.as_str());
    let rows: Vec<Vec<String>> = unique(names).into_iter().map(|name| row(name, held, outcomes)).collect();
    table(
        &mut out,
        "worst of the seeds; ! does not hold; from `refused` on: share of honest accounts",
        &heads,
        &rows,
    );
    for pooled in pooled {
        let rate = &pooled.acted_on;
        writeln!(
            out,
            "seed {}: {} of {} honest accounts of all scenarios acted on: {:.4} % [{:.4}, {:.4}] (Clopper-Pearson)",
            pooled.seed,
            rate.hits,
            rate.of,
            100.0 * rate.value.unwrap_or(0.0),
            100.0 * rate.clopper_pearson.low,
            100.0 * rate.clopper_pearson.high
        )
        .expect("memory takes all");
    }
    broken(&mut out, held);
    if !losses.is_empty() {
        ablation(&mut out, losses);
    }
    out
}

fn row(name: &str, held: &[Held], outcomes: &[Outcome]) -> Vec<String> {
    let runs = outcomes.iter().filter(|outcome| outcome.scenario == name);
    let honest = runs.map(|outcome| outcome.figures.harm.accounts).min().unwrap_or(0);
    let cell = |metrics: &[Metric]| {
        let of = |held: &&Held| held.scenario == name && metrics.contains(&held.bound.metric);
        held.iter().find(of).map_or(String::new(), |held| {
            let mark = if held.holds { "" } else { " !" };
            format!("{}{mark}", held.bound.metric.words(held.worst))
        })
    };
    let start = [name.to_owned(), honest.to_string()];
    start.into_iter().chain(COLUMNS.iter().map(|(_, metrics)| cell(metrics))).collect()
}

fn broken(out: &mut String, held: &[Held]) {
    let broken: Vec<&Held> = held.iter().filter(|held| !held.holds).collect();
    let bounds = held.iter().filter(|held| held.bound.limit != Limit::Told).count();
    writeln!(out, "\n{} of {bounds} bounds hold", bounds - broken.len()).expect("memory takes all");
    for held in broken {
        let metric = held.bound.metric;
        let must = match held.bound.limit {
            Limit::AtMost(most) => format!("at most {}", metric.words(Some(most))),
            Limit::AtLeast(least) => format!("at least {}", metric.words(Some(least))),
            Limit::Told => String::new(),
        };
        let (worst, seed) = (metric.words(held.worst), held.seed);
        writeln!(out, "  {}: {}: {worst} (seed {seed}), must be {must}", held.scenario, metric.name())
            .expect("memory takes all");
    }
}

fn ablation(out: &mut String, losses: &[Loss]) {
    let rows: Vec<[String; 5]> = losses.iter().map(loss).collect();
    let heads = ["without", "scenario", "metric", "with all", "without it"];
    table(out, "each evidence family off in turn: what changes (worst of the seeds)", &heads, &rows);
}

fn loss(loss: &Loss) -> [String; 5] {
    let words = |value| loss.metric.words(value);
    let (family, scenario) = (loss.family.clone(), loss.scenario.clone());
    [family, scenario, loss.metric.name().to_owned(), words(loss.with), words(loss.without)]
}

fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut unique: Vec<&str> = Vec::new();
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    unique
}
