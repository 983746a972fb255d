//! The score: how many decisions have which, and what another threshold would touch.

use std::collections::BTreeMap;

use super::{share, standing};
use crate::backtest::findings::Findings;
use crate::backtest::pass::Seat;
use crate::backtest::scores::Bin;
use crate::evaluate::Kind;
use crate::report::{Chart, Line, Section, Slider, Y};

/// Thresholds in the table beside the chart, at most.
const THRESHOLDS_SHOWN: usize = 24;

pub(super) fn scores(findings: &Findings) -> Section {
    let candidate = &findings.ran.seats[0];
    let bins: Vec<(i32, &Bin)> = candidate.ledger.scores.bins().collect();
    let all = candidate.ledger.decisions();
    let every = bins.len().div_ceil(THRESHOLDS_SHOWN).max(1);
    let rows = bins.iter().rev().step_by(every).map(|(score, _)| {
        let from = bins.iter().filter(|(other, _)| other >= score);
        let (events, settled, paying) = from.fold((0, 0, 0), |(events, settled, paying), (_, bin)| {
            (events + bin.events, settled + bin.settled, paying + bin.paying)
        });
        let part = share((all > 0).then(|| events as f64 / all as f64));
        let counts = [settled, paying].map(|count| count.to_string());
        [score.to_string(), events.to_string(), part].into_iter().chain(counts).collect()
    });
    let rows = rows.collect();
    let dashes = ["", "6 4", "2 3", "8 3 2 3"];
    let lines = findings.ran.seats.iter().enumerate().map(|(place, seat)| Line {
        name: seat.name.clone(),
        dash: dashes[place % dashes.len()],
        points: points(seat),
    });
    let chart = Chart {
        title: "Decisions by score".to_owned(),
        x: "score, points",
        y: "decisions",
        lines: lines.collect(),
        up: Y::Magnitude,
        apart: true,
        ..Chart::default()
    };
    let heads = ["score at least", "decisions", "share", "of settled accounts", "of paying accounts"];
    let mut section = Section::table("The score", &heads, rows)
        .noted(
            "The score alone: floors of rules, limits and bans act besides. The slider counts the candidate's decisions at \
             or above a threshold, and shows a sample of the accounts just above it.",
        )
        .charted(chart)
        .sortable()
        .page_only();
    section.slider = Some(slider(findings, &bins));
    section
}

/// Decisions of each score between the lowest and the highest, those without any too.
fn points(seat: &Seat) -> Vec<(f64, f64)> {
    let counts: BTreeMap<i32, u64> =
        seat.ledger.scores.bins().map(|(score, bin)| (score, bin.events)).collect();
    let ends = counts.first_key_value().zip(counts.last_key_value());
    let (Some(low), Some(high)) = (ends.map(|(low, _)| *low.0), ends.map(|(_, high)| *high.0)) else {
        return Vec::new();
    };
    let count = |score: i32| counts.get(&score).copied().unwrap_or(0) as f64;
    (low - 1..=high + 1).map(|score| (f64::from(score), count(score))).collect()
}

fn slider(findings: &Findings, bins: &[(i32, &Bin)]) -> Slider {
    let labelled = bins.iter().any(|(_, bin)| bin.labelled != [0, 0]);
    let mut series = vec!["decisions", "of settled accounts", "of paying accounts"];
    if labelled {
        series.extend(["labelled honest", "labelled attack"]);
    }
    let counts = |bin: &Bin| {
        let labels = Kind::ALL.map(|kind| bin.labelled[kind as usize]);
        let plain = [bin.events, bin.settled, bin.paying];
        plain.into_iter().chain(labels.into_iter().filter(|_| labelled)).collect()
    };
    let examples = bins.iter().flat_map(|(score, bin)| {
        bin.examples.iter().map(|example| {
            let name = findings.mask.name(&example.name);
            let (action, verdict) = (example.action.clone(), example.verdict.to_string());
            (*score, vec![score.to_string(), name, action, verdict, standing(example.standing)])
        })
    });
    Slider {
        label: "Threshold over the score".to_owned(),
        unit: "points",
        start: findings.ran.seats[0].ledger.policy.settings.ladder.demote,
        series: series.into_iter().map(str::to_owned).collect(),
        bins: bins.iter().map(|(score, bin)| (*score, counts(bin))).collect(),
        heads: ["score", "account", "action", "verdict", "standing"].map(str::to_owned).to_vec(),
        examples: examples.collect(),
    }
}
