//! The parts of a report on one evaluation.

use std::collections::BTreeMap;

use super::words::{after, clustered, group, named, percent, rate};
use crate::evaluate::figures::{Confusion, Curve, ExitHarm, Figures, GroupFigures, Harm, Read};
use crate::report::{Chart, Line, Section};

/// The most thresholds that a table beside a chart shows.
const THRESHOLDS_SHOWN: usize = 24;

/// All parts, in order.
pub fn sections(figures: &Figures) -> Vec<Section> {
    let mut sections = vec![
        read(&figures.read),
        confusions("Accounts", &figures.accounts).noted(ACCOUNTS_NOTE),
        confusions("Events", &figures.events).noted(EVENTS_NOTE),
    ];
    if figures.scenarios.len() > 1 {
        sections.push(scenarios(figures));
    }
    sections.extend([harm(&figures.harm), exits(&figures.harm.exits)]);
    if !figures.groups.is_empty() {
        let rows = figures.groups.iter().map(attack_group).collect();
        sections.push(Section::table("Attack groups", &GROUP_HEADS, rows).noted(GROUP_NOTE));
    }
    if !figures.honest_groups.is_empty() {
        sections.push(honest_groups(figures));
    }
    sections.extend([actions(figures), areas(figures)]);
    for (title, curve) in [("accounts", &figures.account_curve), ("events", &figures.event_curve)] {
        sections.push(over_the_score(title, curve));
    }
    sections
}

/// The parts on how well it detects alone: precision, recall and false-positive rate, by verdict and over the score.
pub fn detection(figures: &Figures) -> Vec<Section> {
    let mut sections = vec![
        confusions("Accounts", &figures.accounts).noted(ACCOUNTS_NOTE),
        confusions("Events", &figures.events).noted(EVENTS_NOTE),
        harm(&figures.harm),
        areas(figures),
    ];
    for (title, curve) in [("accounts", &figures.account_curve), ("events", &figures.event_curve)] {
        sections.push(over_the_score(title, curve));
    }
    sections
}

const ACCOUNTS_NOTE: &str = "An account is acted on when the last verdict on any of its events is above allow: of an \
    attacker on any of its attacks. Intervals are 95 %: after a rate the exact one of Clopper and Pearson; by address, \
    whole addresses drawn again (* nothing or everything was a hit: the exact one over addresses).";
const EVENTS_NOTE: &str = "By address: as above; by account where no event has an address.";

fn read(read: &Read) -> Section {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("lines", format!("{}: {}", read.consumed, counts(&read.outcomes))),
        row("first verdicts", counts(&read.verdicts)),
        row("revisions", read.revisions.to_string()),
        row("case records", read.case_records.to_string()),
        row("changes of bans", read.ban_changes.to_string()),
    ];
    if read.unlabelled > 0 {
        rows.push(row("without a label", format!("{} decisions, in no figure below", read.unlabelled)));
    }
    Section::table("What was read and told", &["", ""], rows)
}

fn counts(counts: &BTreeMap<&'static str, u64>) -> String {
    let told = counts.iter().filter(|(_, count)| **count > 0).map(|(name, count)| format!("{name} {count}"));
    let told: Vec<String> = told.collect();
    if told.is_empty() { "none".to_owned() } else { told.join(", ") }
}

const CONFUSION_HEADS: [&str; 9] = [
    "last verdict at least",
    "true pos.",
    "false pos.",
    "false neg.",
    "true neg.",
    "precision",
    "recall",
    "false-positive rate",
    "by address",
];

fn confusions(title: &str, confusions: &[Confusion]) -> Section {
    Section::table(title, &CONFUSION_HEADS, confusions.iter().map(|c| confusion(c.verdict, c)).collect())
}

fn confusion(name: &str, c: &Confusion) -> Vec<String> {
    let counts = [c.true_positives, c.false_positives, c.false_negatives, c.true_negatives];
    let rates = [rate(&c.precision), rate(&c.recall), rate(&c.false_positive_rate)];
    let counts = counts.iter().map(u64::to_string);
    let by_address = clustered(&c.false_positive_rate);
    std::iter::once(name.to_owned()).chain(counts).chain(rates).chain([by_address]).collect()
}

fn scenarios(figures: &Figures) -> Section {
    let mut heads = CONFUSION_HEADS;
    heads[0] = "scenario";
    let rows = figures.scenarios.iter().map(|of| confusion(&named(&of.scenario), &of.accounts)).collect();
    Section::table("Scenarios: accounts, above allow", &heads, rows)
}

fn harm(harm: &Harm) -> Section {
    let met = harm.met.iter().map(|met| (met.verdict, met));
    let banned = harm.banned.iter().map(|met| ("banned", met));
    let shown = met.chain(banned).filter(|(_, met)| met.accounts > 0);
    let rows = shown.map(|(what, met)| {
        let share = format!("{} %", percent(met.share));
        let most = format!("{} %", percent(met.share_at_most));
        vec![what.to_owned(), met.cause.name().to_owned(), met.accounts.to_string(), share, most]
    });
    let title = format!("Honest accounts: {}; acted on: {}", harm.accounts, rate(&harm.acted_on));
    Section::table(title, &["met", "by", "accounts", "share", "at most (95 %)"], rows.collect()).noted(
        "Last verdicts; an account that met several counts in each. A limit that would have done it alone is the \
         cause; all else that the policy does is suspicion.",
    )
}

fn exits(exits: &[ExitHarm]) -> Section {
    let row = |exit: &ExitHarm| {
        let size = match (exit.from, exit.to) {
            (0, _) => "no address".to_owned(),
            (from, Some(to)) if from == to => from.to_string(),
            (from, Some(to)) => format!("{from} to {to}"),
            (from, None) => format!("{from} and more"),
        };
        let acted_on = &exit.acted_on;
        vec![size, acted_on.of.to_string(), acted_on.hits.to_string(), rate(acted_on)]
    };
    let heads = ["accounts behind it", "honest accounts", "acted on", "share"];
    Section::table("Honest accounts by the size of their exit", &heads, exits.iter().map(row).collect())
        .noted("An account counts at the largest exit that it was seen at; only labelled accounts count to its size.")
}

const GROUP_HEADS: [&str; 12] = [
    "group",
    "accounts",
    "acted on",
    "events",
    "counted at first",
    "counted at last",
    "acted on after",
    "member in a case after",
    "pushed",
    "counted at first",
    "counted at last",
    "found after",
];
const GROUP_NOTE: &str = "Counted: the verdict is allow, the first one and the one that holds after all corrections. \
    Found: the first case on a pushed target, from the first event on it. What is pushed is what the labels name, else \
    the target that the group acts on most.";

fn attack_group(of: &GroupFigures) -> Vec<String> {
    let number = |number: u64| number.to_string();
    let mut row = vec![
        group(&of.scenario, &of.group),
        number(of.accounts),
        rate(&of.acted_on),
        number(of.events.all),
        number(of.events.counted_at_first),
        number(of.events.counted_at_last),
        after(of.acted_after),
        after(of.member_case_after),
    ];
    match &of.pushed {
        None => row.extend(["-"; 4].map(str::to_owned)),
        Some(pushed) => row.extend([
            format!("{} {} of {}", pushed.events.all, pushed.action, some(&pushed.targets)),
            number(pushed.events.counted_at_first),
            number(pushed.events.counted_at_last),
            after(pushed.found_after),
        ]),
    }
    row
}

/// The first names, and how many more.
fn some(names: &[String]) -> String {
    match names {
        [] => "-".to_owned(),
        [one] => one.clone(),
        [one, rest @ ..] => format!("{one} and {} more", rest.len()),
    }
}

fn honest_groups(figures: &Figures) -> Section {
    let rows = figures.honest_groups.iter().map(|of| {
        let acted_on = &of.acted_on;
        let name = group(&of.scenario, &of.group);
        vec![name, acted_on.of.to_string(), acted_on.hits.to_string(), rate(acted_on)]
    });
    Section::table("Groups of honest accounts", &["group", "accounts", "acted on", "share"], rows.collect())
}

fn actions(figures: &Figures) -> Section {
    let verdicts = ["allow", "demote", "challenge", "hold", "reject", "block"];
    let rows = figures.actions.iter().map(|of| {
        let kind = if of.kind == crate::evaluate::Kind::Attack { "attack" } else { "honest" };
        let counts = verdicts.iter().map(|name| of.verdicts.get(name).copied().unwrap_or(0).to_string());
        [of.action.clone(), kind.to_owned()].into_iter().chain(counts).collect()
    });
    let heads: Vec<&str> = ["action", "truth"].into_iter().chain(verdicts).collect();
    Section::table("Events by action and last verdict", &heads, rows.collect())
}

fn areas(figures: &Figures) -> Section {
    let curves = [("accounts", &figures.account_curve), ("events", &figures.event_curve)];
    let rows = curves.into_iter().filter_map(|(unit, curve)| {
        let area = curve.area_under_roc?;
        Some(vec![unit.to_owned(), format!("{area:.4}")])
    });
    Section::table("The score alone", &["unit", "area under the ROC curve"], rows.collect())
        .noted("The chance that an attack has a higher score than an honest one, ties halved.")
}

fn over_the_score(unit: &str, curve: &Curve) -> Section {
    let every = curve.points.len().div_ceil(THRESHOLDS_SHOWN).max(1);
    let last = curve.points.len().saturating_sub(1);
    let shown = curve.points.iter().enumerate().filter(|(place, _)| place % every == 0 || *place == last);
    let rows = shown.map(|(_, point)| {
        let share = |share: f64| format!("{} %", percent(share));
        let counts = [point.true_positives, point.false_positives].map(|count| count.to_string());
        let shares = [share(point.precision), share(point.recall), share(point.false_positive_rate)];
        std::iter::once(point.threshold.to_string()).chain(counts).chain(shares).collect()
    });
    let heads = ["score at least", "true pos.", "false pos.", "precision", "recall", "false-positive rate"];
    Section {
        charts: charts(unit, curve),
        page_only: true,
        ..Section::table(format!("A threshold over the score: {unit}"), &heads, rows.collect())
    }
    .noted(
        "The score alone, without the floors of rules, limits and bans; an account has the highest score of its events.",
    )
}

fn charts(unit: &str, curve: &Curve) -> Vec<Chart> {
    let line = |name: &str, dash, value: fn(&crate::evaluate::figures::Point) -> f64| Line {
        name: name.to_owned(),
        dash,
        points: curve.points.iter().map(|p| (f64::from(p.threshold), 100.0 * value(p))).collect(),
    };
    let chart =
        |title, lines| Chart { title, x: "score at least, points", y: "percent", lines, ..Chart::default() };
    let caught = vec![line("recall", "", |p| p.recall), line("precision", "6 4", |p| p.precision)];
    let hurt = vec![line("false-positive rate", "2 3", |p| p.false_positive_rate)];
    vec![
        chart(format!("Recall and precision over the score, {unit}"), caught),
        chart(format!("False-positive rate over the score, {unit}"), hurt),
    ]
}
