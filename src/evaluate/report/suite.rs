//! The parts of a report on a suite: one line a scenario, the worst of the seeds, and what does not hold.

use super::words::rate;
use crate::evaluate::ablation::Loss;
use crate::evaluate::bounds::{Limit, Metric};
use crate::evaluate::suite::{Held, Outcome, Pooled};
use crate::report::Section;

/// The columns: heads, and the metrics of which a scenario has one.
const COLUMNS: [(&str, &[Metric]); 9] = [
    ("attackers acted on", &[Metric::AccountsActedOn]),
    ("found after", &[Metric::FoundAfter]),
    ("still counted", &[Metric::StillCounted, Metric::StillCountedShare]),
    ("requests refused", &[Metric::ClaimsRefused, Metric::HonestRequestsRefused]),
    ("refused by suspicion", &[Metric::HonestRefusedBySuspicion]),
    ("banned by suspicion", &[Metric::HonestBannedBySuspicion]),
    ("held", &[Metric::HonestHeld]),
    ("challenged", &[Metric::HonestChallenged]),
    ("demoted", &[Metric::HonestDemoted]),
];

/// All parts, in order.
pub fn suite(held: &[Held], outcomes: &[Outcome], pooled: &[Pooled], losses: &[Loss]) -> Vec<Section> {
    let mut sections = vec![scenarios(held, outcomes), honest(pooled), bounds(held)];
    if !losses.is_empty() {
        sections.push(ablation(losses));
    }
    sections
}

fn scenarios(held: &[Held], outcomes: &[Outcome]) -> Section {
    let names = unique(held.iter().map(|held| held.scenario.as_str()));
    let rows = names.into_iter().map(|name| row(name, held, outcomes)).collect();
    let heads: Vec<&str> =
        ["scenario", "honest accounts"].into_iter().chain(COLUMNS.map(|(head, _)| head)).collect();
    Section::table("Scenarios, the worst of the seeds (! does not hold)", &heads, rows).noted(
        "Found: the first case on the pushed target, from the first event on it. Still counted: events on the pushed \
         target whose last verdict is allow. Requests refused: of coupon claims, then of honest requests. From `refused \
         by suspicion` on: shares of the honest accounts, by last verdict.",
    )
}

fn row(name: &str, held: &[Held], outcomes: &[Outcome]) -> Vec<String> {
    let runs = outcomes.iter().filter(|outcome| outcome.scenario == name);
    let honest = runs.map(|outcome| outcome.figures.harm.accounts).min().unwrap_or(0);
    let cell = |metrics: &[Metric]| {
        let of = held.iter().filter(|held| held.scenario == name && metrics.contains(&held.bound.metric));
        let told = of.map(|held| {
            let mark = if held.holds { "" } else { " !" };
            format!("{}{mark}", held.bound.metric.words(held.worst))
        });
        told.collect::<Vec<_>>().join(", ")
    };
    let start = [name.to_owned(), honest.to_string()];
    start.into_iter().chain(COLUMNS.iter().map(|(_, metrics)| cell(metrics))).collect()
}

fn honest(pooled: &[Pooled]) -> Section {
    let rows = pooled.iter().map(|pooled| {
        let acted_on = &pooled.acted_on;
        let counts = [pooled.seed, acted_on.of, acted_on.hits].map(|number| number.to_string());
        counts.into_iter().chain([rate(acted_on)]).collect()
    });
    let heads = ["seed", "honest accounts", "acted on", "share"];
    Section::table("Honest accounts of all scenarios together", &heads, rows.collect())
        .noted("Above allow for whatever cause, with the exact interval of Clopper and Pearson.")
}

fn bounds(held: &[Held]) -> Section {
    let bounds = held.iter().filter(|held| held.bound.limit != Limit::Told);
    let (all, broken) = (bounds.clone().count(), bounds.filter(|held| !held.holds));
    let row = |held: &Held| {
        let metric = held.bound.metric;
        let must = match held.bound.limit {
            Limit::AtMost(most) => format!("at most {}", metric.words(Some(most))),
            Limit::AtLeast(least) => format!("at least {}", metric.words(Some(least))),
            Limit::Told => String::new(),
        };
        let (scenario, seed) = (held.scenario.clone(), held.seed.to_string());
        vec![scenario, metric.name().to_owned(), metric.words(held.worst), seed, must]
    };
    let rows: Vec<_> = broken.map(row).collect();
    let title = format!("{} of {all} bounds hold; those that do not", all - rows.len());
    Section::table(title, &["scenario", "figure", "worst", "seed", "must be"], rows)
}

fn ablation(losses: &[Loss]) -> Section {
    let row = |loss: &Loss| {
        let words = |value| loss.metric.words(value);
        let (family, scenario) = (loss.family.clone(), loss.scenario.clone());
        vec![family, scenario, loss.metric.name().to_owned(), words(loss.with), words(loss.without)]
    };
    let heads = ["without", "scenario", "figure", "with all", "without it"];
    Section::table("Each part off in turn: what changes", &heads, losses.iter().map(row).collect())
        .noted("The worst of the seeds; figures that stay as they are, are left out. A family is its rules and limits; `crowd NAME` is \
                what it takes from crowds alone.")
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
