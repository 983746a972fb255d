//! Rules, limits and pools: how often each speaks, of whom, with whom, and sooner or later than now.

use super::{accounts, share};
use crate::backtest::findings::{Findings, mode};
use crate::backtest::pass::Seat;
use crate::backtest::sample::Against;
use crate::backtest::speakers::Speaker;
use crate::engine::time::Span;
use crate::report::Section;

/// Others that a speaker is told to overlap with.
const OVERLAPS_SHOWN: usize = 3;

pub(super) fn rules(findings: &Findings) -> Section {
    let (candidate, other) = (&findings.ran.seats[0], findings.ran.seats.get(1));
    let days = findings.ran.passed.days();
    let speakers = candidate.ledger.speakers.list.iter().enumerate();
    let rows = speakers.filter(|(_, speaker)| !speaker.is_silent());
    let rows = rows.map(|(number, speaker)| row(candidate, other, number, speaker, days)).collect();
    let silent = findings.silent();
    let mut heads = vec![
        "rule or limit",
        "kind",
        "mode",
        "does",
        "hits",
        "in shadow",
        "alone",
        "accounts",
        "settled",
        "paying",
        "reviews per day",
        "bans",
        "together with",
    ];
    heads.extend(other.map(|_| "earlier or later than now"));
    let silent = match silent.as_slice() {
        [] => String::new(),
        silent => format!(" Silent here: {}.", silent.join(", ")),
    };
    let sooner = match other {
        Some(_) => {
            " Earlier or later: over accounts that both meet, against the rule of the same id, or else against anything above allow."
        }
        None => "",
    };
    let note = format!(
        "Of the candidate. Alone: decisions above allow of which nothing else is a reason. Settled and paying: shares of \
         the accounts; who is not known to be, is not counted as such. Together with: the share of its hits of which the \
         other speaks too.{sooner}{silent}"
    );
    Section::table("Rules and limits", &heads, rows).noted(note).sortable()
}

fn row(candidate: &Seat, other: Option<&Seat>, number: usize, speaker: &Speaker, days: f64) -> Vec<String> {
    let mut row = vec![
        speaker.id.clone(),
        speaker.kind.name().to_owned(),
        mode(speaker.mode).to_owned(),
        speaker.effect.clone(),
        speaker.hits.to_string(),
        speaker.shadow.to_string(),
        speaker.alone.to_string(),
        accounts(&speaker.accounts),
        share(speaker.accounts.share(|kept| kept.settled)),
        share(speaker.accounts.share(|kept| kept.paying)),
        format!("{:.1}", speaker.reviews() as f64 / days),
        speaker.bans.to_string(),
        overlaps(candidate, number, speaker),
    ];
    row.extend(other.map(|other| sooner(other, speaker)));
    row
}

fn overlaps(candidate: &Seat, number: usize, speaker: &Speaker) -> String {
    let speakers = &candidate.ledger.speakers;
    let told = speakers.overlaps(number).into_iter().take(OVERLAPS_SHOWN).map(|(other, count)| {
        let part = count as f64 / speaker.all().max(1) as f64;
        format!("{} {}", speakers.list[other].id, share(Some(part)))
    });
    told.collect::<Vec<_>>().join(", ")
}

/// How much sooner it meets the accounts than the other policy does.
fn sooner(other: &Seat, speaker: &Speaker) -> String {
    let same = other.ledger.speakers.named(&speaker.id).map(|speaker| &speaker.accounts);
    let against = speaker.accounts.against(same.unwrap_or(&other.ledger.touched));
    let Against { both, earlier, later, median_ms: Some(median) } = against else {
        return "nobody in both".to_owned();
    };
    let by = match median {
        0 => "at the same time".to_owned(),
        ahead if ahead > 0 => format!("{} earlier", Span::from_millis(ahead)),
        behind => format!("{} later", Span::from_millis(-behind)),
    };
    format!("of {both}: {earlier} earlier, {later} later; median {by}")
}
