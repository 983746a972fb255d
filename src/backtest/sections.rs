//! What a backtest tells people, as parts of a report.

mod affected;
mod rules;
mod score;
mod shortcomings;

use super::contrast::Contrast;
use super::figures::reviews;
use super::findings::Findings;
use super::sample::Sample;
use super::timeline::Timeline;
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;
use crate::engine::{Outcome, Standing};
use crate::evaluate::report::{detection, percent};
use crate::report::{Chart, Line, Section, X, Y};

/// What two words mean in all of a report.
pub(super) const NOW_AND_THEN: [(&str, &str); 2] = [
    ("now", "a policy that the candidate is held against (--against, else the one in place)"),
    ("then", "the candidate (--policy)"),
];
/// Buckets of time shown in the table beside the chart.
const BUCKETS_SHOWN: usize = 48;

/// All parts, in order.
pub fn sections(findings: &Findings) -> Vec<Section> {
    let mut sections = vec![in_short(findings)];
    for (number, contrast) in findings.ran.contrasts.iter().enumerate() {
        let name = findings.name_of(number);
        sections.push(matrix(contrast, name));
        sections.extend(affected::affected(findings, contrast, Some(name)));
    }
    if findings.ran.contrasts.is_empty() {
        sections.extend(affected::affected(findings, &findings.ran.alone, None));
    }
    sections.push(rules::rules(findings));
    sections.push(score::scores(findings));
    if let Some(figures) = &findings.detection[0] {
        sections.push(labels(findings));
        let against = (findings.against() > 0).then(|| findings.name_of(0));
        sections.push(findings.ran.strata.section(against));
        sections.extend(detection(figures));
    }
    sections.push(timeline(findings));
    sections.extend(shortcomings::shortcomings(findings));
    sections
}

/// `about 1234` for an estimate.
pub(super) fn accounts(sample: &Sample) -> String {
    let about = if sample.is_exact() { "" } else { "about " };
    format!("{about}{}", sample.accounts())
}

/// `12.3 %`, or `-` of nothing.
pub(super) fn share(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{} %", percent(share)))
}

/// `12 (0.3 %)`
pub(super) fn part(part: u64, of: u64) -> String {
    let ratio = (of > 0).then(|| part as f64 / of as f64);
    format!("{part} ({})", share(ratio))
}

pub(super) fn standing(standing: Standing) -> String {
    let words = [
        (standing.settled == Some(true), "settled"),
        (standing.new == Some(true), "new"),
        (standing.paying == Some(true), "paying"),
    ];
    let told: Vec<&str> = words.iter().filter(|(holds, _)| *holds).map(|(_, word)| *word).collect();
    told.join(", ")
}

fn in_short(findings: &Findings) -> Section {
    let (ran, days) = (&findings.ran, findings.ran.passed.days());
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    let time = |at: Option<Timestamp>| at.map_or("-".to_owned(), |at| at.to_string());
    if !ran.contrasts.is_empty() {
        NOW_AND_THEN.iter().for_each(|(word, what)| row(word, (*what).to_owned()));
    }
    row("events that count", counted(findings));
    row("first", time(ran.passed.span.map(|(first, _)| first)));
    row("last", time(ran.passed.span.map(|(_, last)| last)));
    for (number, seat) in ran.seats.iter().enumerate() {
        let which = if number == 0 { "candidate" } else { "against" };
        row(&format!("{which}: {}", seat.name), format!("policy {}", seat.ledger.policy.hash));
        let ledger = &seat.ledger;
        row("- above allow", part(ledger.at_least(Verdict::Demote), ledger.decisions()));
        row("- accounts touched", {
            format!("{} of {}", accounts(&ledger.touched), accounts(&ledger.accounts))
        });
        row("- reviews per day", format!("{:.1}", reviews(seat, days)));
        let revisions: u64 = ledger.revisions.iter().sum();
        row("- bans, corrections", format!("{}, {revisions}", ledger.bans));
    }
    for (number, contrast) in ran.contrasts.iter().enumerate() {
        let flips = contrast.count(|now, then| now != then);
        row(&format!("verdicts that differ from {}", findings.name_of(number)), {
            part(flips, contrast.decisions())
        });
        let touched = &contrast.newly_touched;
        row("- accounts newly touched", {
            let of = |share: Option<f64>| self::share(share);
            let (settled, paying) = (touched.share(|kept| kept.settled), touched.share(|kept| kept.paying));
            format!("{} ({} settled, {} paying)", accounts(touched), of(settled), of(paying))
        });
        row("- accounts newly let through", accounts(&contrast.newly_freed));
    }
    Section::table("In short", &["", ""], rows).noted(
        "Verdicts are those first told; corrections made later are counted apart. A review is a case that is opened, or an \
         account with a held event.",
    )
}

/// How many, and what became of those that were not decided.
pub(super) fn counted(findings: &Findings) -> String {
    let others = findings.ran.seats[0].ledger.tally.each();
    // Records that are no events do not count.
    let others =
        others.filter(|(outcome, _)| !matches!(outcome, Outcome::Decided | Outcome::DeadLettered(_)));
    let others: Vec<String> = others.map(|(outcome, count)| format!("{count} {}", outcome.name())).collect();
    match others.as_slice() {
        [] => findings.counted().to_string(),
        others => {
            format!("{}: {} decided, {}", findings.counted(), findings.decided(), others.join(", "))
        }
    }
}

fn matrix(contrast: &Contrast, name: &str) -> Section {
    let names = Verdict::ALL.map(Verdict::name);
    let rows = Verdict::ALL.iter().map(|now| {
        let cells = Verdict::ALL.map(|then| match contrast.cell(*now, then) {
            0 => "0".to_owned(),
            count if *now == then => format!("{count} (same)"),
            count if *now < then => format!("{count} (stronger)"),
            count => format!("{count} (weaker)"),
        });
        std::iter::once(format!("now {now}")).chain(cells).collect()
    });
    let thens = names.map(|name| format!("then {name}"));
    let heads: Vec<&str> = std::iter::once("verdict").chain(thens.iter().map(String::as_str)).collect();
    let mut note = format!("Rows: what {name} says. Columns: what the candidate says of the same events.");
    if contrast.decided_by_one > 0 {
        note += &format!(
            " {} further events were decided by one of the two only: the other took them for duplicates or dead letters.",
            contrast.decided_by_one
        );
    }
    Section::table(format!("Verdicts now and then, against {name}"), &heads, rows.collect()).noted(note)
}

/// Which decisions have labels: when those that were acted on have them far more often, rates over all mislead.
fn labels(findings: &Findings) -> Section {
    let coverage = findings.ran.coverage;
    let row =
        |name: &str, [labelled, all]: [u64; 2]| vec![name.to_owned(), part(labelled, all), all.to_string()];
    let rows = vec![row("allowed", coverage.allowed), row("above allow", coverage.acted_on)];
    let note = if coverage.is_lopsided() {
        "What was acted on is labelled far more often than what was allowed: precision is right, but recall is too high \
         and the false-positive rate too high, for attackers and honest people who were let through are missing below the line."
    } else {
        "Both are labelled about as often, so the rates below speak of all."
    };
    Section::table("Labels", &["decisions of the candidate", "labelled", "all"], rows).noted(note)
}

fn timeline(findings: &Findings) -> Section {
    let lines: Vec<(&str, Timeline)> = aligned(findings);
    let width = lines[0].1.width();
    let mut times: Vec<Timestamp> =
        lines.iter().flat_map(|(_, line)| line.buckets().map(|(at, _)| at)).collect();
    times.sort_unstable();
    times.dedup();
    let every = times.len().div_ceil(BUCKETS_SHOWN).max(1);
    let rows = times.chunks(every).map(|chunk| {
        let sums = lines.iter().flat_map(|(_, line)| {
            let within = line.buckets().filter(|(at, _)| chunk.contains(at));
            let (all, acted) = within.fold((0, 0), |(all, acted), (_, counts)| {
                (all + counts.iter().sum::<u64>(), acted + counts[1..].iter().sum::<u64>())
            });
            [all.to_string(), acted.to_string()]
        });
        std::iter::once(chunk[0].to_string()).chain(sums).collect()
    });
    let rows = rows.collect();
    let heads: Vec<String> = std::iter::once("from".to_owned())
        .chain(lines.iter().flat_map(|(name, _)| [format!("{name}: decisions"), "above allow".to_owned()]))
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let dashes = ["", "6 4", "2 3", "8 3 2 3"];
    let line = |(place, (name, line)): (usize, &(&str, Timeline))| Line {
        name: (*name).to_owned(),
        dash: dashes[place % dashes.len()],
        points: line
            .buckets()
            .map(|(at, counts)| (at.millis() as f64, counts[1..].iter().sum::<u64>() as f64))
            .collect(),
    };
    let chart = Chart {
        title: "Decisions above allow over time".to_owned(),
        x: "time, UTC",
        y: "decisions",
        lines: lines.iter().enumerate().map(line).collect(),
        across: X::Time,
        up: Y::Magnitude,
        apart: true,
    };
    Section::table("Timeline", &heads, rows)
        .noted(format!("By effective time; {width} a point."))
        .charted(chart)
        .sortable()
        .page_only()
}

/// The timelines of all policies, in buckets of the same width.
fn aligned(findings: &Findings) -> Vec<(&str, Timeline)> {
    let mut lines: Vec<(&str, Timeline)> =
        findings.ran.seats.iter().map(|seat| (seat.name.as_str(), seat.ledger.timeline.clone())).collect();
    let widest =
        lines.iter().map(|(_, line)| line).max_by_key(|line| line.width()).cloned().unwrap_or_default();
    lines.iter_mut().for_each(|(_, line)| line.align(&widest));
    lines
}
