//! A summary for a pull request, in GitHub's markdown.

use std::fmt::Write;

use super::figures::reviews;
use super::findings::Findings;
use super::gate::{Gate, Ruling};
use super::sections::{NOW_AND_THEN, accounts, part, share};
use crate::engine::verdict::Verdict;

/// Rules that are told.
const RULES_SHOWN: usize = 10;

/// The summary; with what the gate says, where there is one.
pub fn markdown(findings: &Findings, gate: Option<(&Gate, &[Ruling])>) -> String {
    let mut text = String::new();
    let mut line = |words: &str| writeln!(text, "{words}").expect("memory takes all");
    let ran = &findings.ran;
    let candidate = &ran.seats[0];
    line(&format!("### weir backtest: {}", cell(&candidate.name)));
    line("");
    gate.into_iter().for_each(|(gate, rulings)| ruled(gate, rulings, &mut line));
    if findings.broke_off() {
        line("**The input broke off**: nothing behind that is in these figures.");
        line("");
    }
    let span = ran.passed.span.map_or("no events".to_owned(), |(first, last)| format!("{first} to {last}"));
    line(&format!("{} events, {span}. Policy `{}`.", ran.passed.inside, candidate.ledger.policy.hash));
    if !ran.contrasts.is_empty() {
        line("");
        let words = NOW_AND_THEN.map(|(word, what)| format!("{word}: {what}"));
        line(&format!("{}.", words.join("; ")));
    }
    for (number, contrast) in ran.contrasts.iter().enumerate() {
        let other = &ran.seats[number + 1];
        let flips = contrast.count(|now, then| now != then);
        line("");
        line(&format!("Against {} (`{}`):", cell(&other.name), other.ledger.policy.hash));
        line("");
        line(&format!("| | {} |", Verdict::ALL.map(|then| format!("then {then}")).join(" | ")));
        line(&format!("|---|{}", "---:|".repeat(Verdict::ALL.len())));
        for now in Verdict::ALL {
            let cells = Verdict::ALL.map(|then| contrast.cell(now, then).to_string());
            line(&format!("| now {now} | {} |", cells.join(" | ")));
        }
        line("");
        let touched = &contrast.newly_touched;
        let (settled, paying) = (touched.share(|kept| kept.settled), touched.share(|kept| kept.paying));
        line(&format!("- verdicts that differ: {}", part(flips, contrast.decisions())));
        line(&format!(
            "- accounts newly touched: {} ({} settled, {} paying); newly let through: {}",
            accounts(touched),
            share(settled),
            share(paying),
            accounts(&contrast.newly_freed)
        ));
        let days = ran.passed.days();
        line(&format!(
            "- reviews per day: {:.1} now, {:.1} then",
            reviews(other, days),
            reviews(candidate, days)
        ));
    }
    rules(findings, &mut line);
    if let Some(origin) = &ran.origin {
        line("");
        let rows = origin.rows(ran.passed.warm_up);
        rows.iter().for_each(|[name, value]| line(&format!("- {}: {}", cell(name), cell(value))));
    }
    for (name, value) in findings.facts().iter().filter(|(name, _)| name.contains("sample")) {
        line("");
        line(&format!("{}: {}", cell(name), cell(value)));
    }
    let unread: u64 = findings.faults.counts.values().sum();
    line("");
    line(&format!(
        "{unread} records or labels could not be read; {} decisions say that they are less exact than usual.",
        candidate.ledger.inexact
    ));
    text
}

/// What the gate says.
fn ruled(gate: &Gate, rulings: &[Ruling], line: &mut impl FnMut(&str)) {
    let shut = rulings.iter().any(Ruling::is_shut);
    let told: Vec<String> = rulings.iter().flat_map(|ruling| ruling.told.clone()).collect();
    let word = if shut { "**Gate shut**" } else { "Gate open" };
    line(&format!("{word} (it shuts on `{gate}`): {}", told.join(", ")));
    line("");
}

fn rules(findings: &Findings, line: &mut impl FnMut(&str)) {
    let list = &findings.ran.seats[0].ledger.speakers.list;
    let mut spoke: Vec<_> = list.iter().filter(|speaker| speaker.all() > 0).collect();
    spoke.sort_by_key(|speaker| std::cmp::Reverse(speaker.all()));
    if spoke.is_empty() {
        return;
    }
    line("");
    line("| rule or limit | hits | in shadow | accounts | settled | paying |");
    line("|---|---:|---:|---:|---:|---:|");
    for speaker in spoke.iter().take(RULES_SHOWN) {
        let shares =
            (speaker.accounts.share(|kept| kept.settled), speaker.accounts.share(|kept| kept.paying));
        line(&format!(
            "| {} | {} | {} | {} | {} | {} |",
            cell(&speaker.id),
            speaker.hits,
            speaker.shadow,
            accounts(&speaker.accounts),
            share(shares.0),
            share(shares.1)
        ));
    }
    if spoke.len() > RULES_SHOWN {
        line("");
        line(&format!("and {} more that spoke", spoke.len() - RULES_SHOWN));
    }
}

/// Text that can be nothing but text in a cell.
fn cell(text: &str) -> String {
    let mut cell = String::new();
    for c in text.chars() {
        match c {
            '|' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '\\' | '#' | '@' => cell.extend(['\\', c]),
            c if c.is_control() => cell.push('\u{fffd}'),
            c => cell.push(c),
        }
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(cell("a|b<img>`x`\n@all"), "a\\|b\\<img\\>\\`x\\`\u{fffd}\\@all");
    }
}
