//! What was read and not read, and what was less exact than usual.

use crate::backtest::findings::Findings;
use crate::backtest::sample::Sample;
use crate::backtest::top::Top;
use crate::engine::time::Timestamp;
use crate::replay::Oddity;
use crate::report::Section;

use super::{counted, part};

pub(super) fn shortcomings(findings: &Findings) -> Vec<Section> {
    let always = [read(findings), faults(findings), quality(findings)];
    began(findings).into_iter().chain(odd(findings)).chain(always).collect()
}

fn read(findings: &Findings) -> Section {
    let (passed, range) = (&findings.ran.passed, &findings.ran.range);
    let mut rows = vec![vec!["records read".to_owned(), passed.read.to_string()]];
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    let time = |at: Option<Timestamp>| at.map_or("the beginning".to_owned(), |at| at.to_string());
    if range.since.is_some() || range.until.is_some() {
        let until = range.until.map_or("the end".to_owned(), |at| at.to_string());
        row("range, by append time", format!("from {} until {until}", time(range.since)));
        row("passed over before the warm-up", passed.before.to_string());
        row("warm-up, applied untold", format!("{} over {}", passed.warm_up, range.warm_up_told()));
        row("passed over after the range", passed.after.to_string());
    }
    if let (Some(since), Some(first)) = (range.since, passed.first_applied)
        && passed.before == 0
        && !range.is_warmed_by_all()
    {
        let reach = since.since(first);
        row("the input reaches back", format!("{reach} before the range, of {} wanted", range.warm_up));
    }
    if passed.neighbours + passed.strangers > 0 {
        row("outside of the sample, applied untold", passed.neighbours.to_string());
        row("outside of the sample, passed over", passed.strangers.to_string());
    }
    row("events that count", counted(findings));
    for seat in &findings.ran.seats {
        let outcomes = seat.ledger.tally.outcomes();
        let told: Vec<String> = outcomes.iter().map(|(name, count)| format!("{name} {count}")).collect();
        row(&format!("outcomes, {}", seat.name), told.join(", "));
    }
    Section::table("What was read", &["", ""], rows).noted(if is_restored(findings) {
        "What came before the range is known as far as the checkpoint knew it. Operators' actions and feedback since it are \
         applied with --follow-journal only."
    } else {
        "Windows are whole from the begin of the range on where the input reaches back the whole warm-up. Days of activity, \
         first sightings, penalties and bans from before the warm-up are not known; a key that was never silent for a \
         window may be counted in sub-windows from the start and one by one after the warm-up: they differ by a sub-window \
         at most."
    })
}

fn is_restored(findings: &Findings) -> bool {
    findings.ran.origin.as_ref().is_some_and(|origin| origin.checkpoint.is_some())
}

/// What the state of the range began with, where a checkpoint was asked for.
fn began(findings: &Findings) -> Option<Section> {
    let origin = findings.ran.origin.as_ref()?;
    let rows = origin.rows(findings.ran.passed.warm_up);
    let rows = rows.into_iter().map(Vec::from).collect();
    Some(Section::table("What the range began with", &["", ""], rows).noted(
        "Each policy took effect on a copy of the checkpoint as a reload does live: counters that the checkpoint has keep \
         their counts; those that it has not begin empty.",
    ))
}

/// What was decided and may not be as it was meant, where there is any.
fn odd(findings: &Findings) -> Option<Section> {
    let row = |odd: &Oddity| {
        let count = part(odd.count, findings.decided());
        vec![odd.kind.replace('_', " "), count, odd.first.clone(), odd.message.clone()]
    };
    let rows: Vec<Vec<String>> = findings.odd.list().iter().map(row).collect();
    let heads = ["what", "decisions", "first", "why"];
    (!rows.is_empty()).then(|| Section::table("What is odd in the input", &heads, rows))
}

fn faults(findings: &Findings) -> Section {
    let faults = &findings.faults;
    let rows = faults.counts.iter().flat_map(|(kind, count)| {
        let first = faults.first.iter().filter(|fault| fault.kind == *kind);
        first.enumerate().map(|(number, fault)| {
            // Said once of a kind: beside each place it would be taken for how often that happened there.
            let count = if number == 0 { count.to_string() } else { String::new() };
            vec![(*kind).to_owned(), count, fault.at.clone(), fault.message.clone()]
        })
    });
    Section::table("What could not be read", &["what", "how often", "where", "why"], rows.collect())
        .noted("The first of each kind with their places; all were counted, and the rest was done.")
}

fn quality(findings: &Findings) -> Section {
    let mut rows = Vec::new();
    for seat in &findings.ran.seats {
        let decisions = seat.ledger.decisions();
        for ((code, counter), count) in &seat.ledger.quality {
            let counter = counter.as_deref().unwrap_or("the whole event");
            let cells = [seat.name.as_str(), code.name(), counter].map(str::to_owned);
            rows.push(cells.into_iter().chain([part(*count, decisions)]).collect());
        }
    }
    let kept = Sample::SIZE;
    Section::table("What was approximate", &["policy", "code", "counter", "decisions"], rows)
        .noted(format!(
            "As decisions say it of themselves. Beyond that, numbers of accounts called about are estimated from a sample of \
             {kept} (standard error 3.1 %), and so are shares of settled and paying ones; of accounts whose decisions change \
             at most {} are kept.",
            Top::SIZE
        ))
        .sortable()
}
