//! The figures as text for a terminal or a log.

use std::fmt::Write;

use super::super::figures::{Confusion, Figures, GroupFigures, Harm, Rate};
use super::super::interval::Method;
use super::table::table;

/// All of it, in short.
pub fn text(figures: &Figures) -> String {
    let mut out = String::new();
    read(&mut out, figures);
    for (unit, confusions) in [("account", &figures.accounts), ("event", &figures.events)] {
        table(&mut out, &format!("per {unit}"), &HEADS, &confusions.iter().map(row).collect::<Vec<_>>());
    }
    if figures.scenarios.len() > 1 {
        let rows = figures.scenarios.iter().map(|scenario| {
            let [_, rest @ ..] = row(&scenario.accounts);
            std::iter::once(named(&scenario.scenario)).chain(rest).collect::<Vec<_>>()
        });
        let heads = std::iter::once("scenario").chain(HEADS[1..].iter().copied()).collect::<Vec<_>>();
        table(&mut out, "per account, above allow, by scenario", &heads, &rows.collect::<Vec<_>>());
    }
    harm(&mut out, &figures.harm);
    if !figures.groups.is_empty() {
        table(&mut out, "attack groups", &GROUP_HEADS, &figures.groups.iter().map(group).collect::<Vec<_>>());
    }
    let curves = [("accounts", &figures.account_curve), ("events", &figures.event_curve)];
    for (name, area) in curves.iter().filter_map(|(name, curve)| Some((name, curve.area_under_roc?))) {
        writeln!(out, "area under the ROC curve of the score, {name}: {area:.4}").expect("memory takes all");
    }
    out
}

const HEADS: [&str; 9] =
    ["at least", "TP", "FP", "FN", "TN", "precision", "recall", "false positives", "by address"];
const GROUP_HEADS: [&str; 9] = [
    "group",
    "accounts",
    "acted on",
    "events",
    "counted at first",
    "counted at last",
    "acted after",
    "pushed",
    "found after",
];

fn row(confusion: &Confusion) -> [String; 9] {
    let c = confusion;
    [
        c.verdict.to_owned(),
        c.true_positives.to_string(),
        c.false_positives.to_string(),
        c.false_negatives.to_string(),
        c.true_negatives.to_string(),
        share(&c.precision),
        share(&c.recall),
        share(&c.false_positive_rate),
        clustered(&c.false_positive_rate),
    ]
}

fn group(group: &GroupFigures) -> [String; 9] {
    let after = |seconds: Option<f64>| seconds.map_or("never".to_owned(), |s| format!("{s:.1} s"));
    let pushed = group.pushed.as_ref();
    let name = [group.scenario.as_str(), group.group.as_str()];
    let name: Vec<&str> = name.into_iter().filter(|part| !part.is_empty()).collect();
    [
        named(&name.join("/")),
        group.accounts.to_string(),
        share(&group.acted_on),
        group.events.all.to_string(),
        group.events.counted_at_first.to_string(),
        group.events.counted_at_last.to_string(),
        after(group.acted_after),
        pushed.map_or("-".to_owned(), |pushed| {
            let (events, first, last) =
                (pushed.events.all, pushed.events.counted_at_first, pushed.events.counted_at_last);
            format!("{} {} of {}, {first} then {last} count", events, pushed.action, pushed.targets.join(" "))
        }),
        pushed.map_or("-".to_owned(), |pushed| after(pushed.found_after)),
    ]
}

fn read(out: &mut String, figures: &Figures) {
    let read = &figures.read;
    let counts = |counts: &std::collections::BTreeMap<&str, u64>| {
        let told = counts.iter().filter(|(_, n)| **n > 0).map(|(name, n)| format!("{name} {n}"));
        told.collect::<Vec<_>>().join(", ")
    };
    let mut line = |name: &str, value: String| writeln!(out, "{name:<12} {value}").expect("memory takes all");
    line("consumed", format!("{} lines: {}", read.consumed, counts(&read.outcomes)));
    line("verdicts", format!("{} (first); {} revisions", counts(&read.verdicts), read.revisions));
    line("told", format!("{} changes of bans, {} case records", read.ban_changes, read.case_records));
    if read.unlabelled > 0 {
        line("unlabelled", format!("{} decisions are in no figure below", read.unlabelled));
    }
}

fn harm(out: &mut String, harm: &Harm) {
    let percent = |share: f64| format!("{:.4} %", 100.0 * share);
    let met = harm.met.iter().map(|met| (met.verdict, met)).filter(|(_, met)| met.accounts > 0);
    let banned = harm.banned.iter().map(|met| ("banned", met)).filter(|(_, met)| met.accounts > 0);
    let rows = met.chain(banned).map(|(what, met)| {
        let by = met.cause.name().to_owned();
        vec![what.to_owned(), by, met.accounts.to_string(), percent(met.share), percent(met.share_at_most)]
    });
    let rows: Vec<_> = rows.collect();
    let title = format!("honest accounts: {}, acted on {}", harm.accounts, share(&harm.acted_on));
    if rows.is_empty() {
        writeln!(out, "\n{title}").expect("memory takes all");
    } else {
        table(out, &title, &["met", "by", "accounts", "share", "at most (95 %)"], &rows);
    }
    let exits = harm.exits.iter().map(|exit| {
        let size = match (exit.from, exit.to) {
            (0, _) => "no address".to_owned(),
            (from, Some(to)) if from == to => from.to_string(),
            (from, Some(to)) => format!("{from}-{to}"),
            (from, None) => format!("{from} and more"),
        };
        let rate = &exit.acted_on;
        vec![size, rate.of.to_string(), rate.hits.to_string(), share(rate)]
    });
    table(
        out,
        "honest accounts by the size of their exit",
        &["accounts behind it", "honest", "acted on", "share"],
        &exits.collect::<Vec<_>>(),
    );
}

/// `0.0123 % [0.0100, 0.0200]`: the exact interval, in percent.
fn share(rate: &Rate) -> String {
    let interval = rate.clopper_pearson;
    match rate.value {
        None => "-".to_owned(),
        Some(value) => {
            format!("{} % [{}, {}]", digits(value), digits(interval.low), digits(interval.high))
        }
    }
}

/// The interval by address, else by account; `*` marks one over clusters without a bootstrap.
fn clustered(rate: &Rate) -> String {
    rate.by_address.or(rate.by_account).map_or("-".to_owned(), |clustered| {
        let mark = if clustered.method == Method::ClusterBootstrap { "" } else { "*" };
        format!("[{}, {}]{mark}", digits(clustered.low), digits(clustered.high))
    })
}

/// Percent with as many digits as small rates need.
fn digits(rate: f64) -> String {
    let percent = 100.0 * rate;
    if percent == 0.0 || percent >= 10.0 { format!("{percent:.1}") } else { format!("{percent:.4}") }
}

fn named(name: &str) -> String {
    if name.is_empty() { "(none)".to_owned() } else { name.to_owned() }
}
