//! A summary for a pull request, in GitHub's markdown: what changes, and by how much.
//!
//! Whatever is somebody's text (names of policies, ids of rules, the command) stands in code: there no mention, reference or
//! markup is made of it.

mod changed;
mod rates;

use std::fmt::Write;

use self::changed::rules;
use self::rates::{labels, rates};
use super::figures::reviews;
use super::findings::Findings;
use super::gate::{Gate, Ruling};
use super::ledger::Ledger;
use super::pass::Seat;
use super::sections::{NOW_AND_THEN, accounts, counted, part, share};
use crate::engine::verdict::Verdict;

/// Lines that are written one after the other.
#[derive(Debug, Default)]
struct Lines(String);

impl Lines {
    fn line(&mut self, words: impl AsRef<str>) {
        writeln!(self.0, "{}", words.as_ref()).expect("memory takes all");
    }

    /// A paragraph of its own.
    fn paragraph(&mut self, words: impl AsRef<str>) {
        self.line("");
        self.line(words);
    }

    /// A table; all columns but the first `texts` are numbers.
    fn table(&mut self, heads: &[&str], texts: usize, rows: &[Vec<String>]) {
        let row =
            |cells: &mut dyn Iterator<Item = &str>| format!("| {} |", cells.collect::<Vec<_>>().join(" | "));
        self.paragraph(row(&mut heads.iter().copied()));
        let marks = (0..heads.len()).map(|place| if place < texts { "---|" } else { "---:|" });
        self.line(format!("|{}", marks.collect::<String>()));
        rows.iter().for_each(|cells| self.line(row(&mut cells.iter().map(String::as_str))));
    }
}

/// The summary; with what the gate says, where there is one.
pub fn markdown(findings: &Findings, gate: Option<(&Gate, &[Ruling])>) -> String {
    let mut lines = Lines::default();
    lines.line(format!("### weir backtest: {}", code(findings.candidate())));
    gate.into_iter().for_each(|(gate, rulings)| ruled(gate, rulings, &mut lines));
    if findings.broke_off() {
        lines.paragraph("**The input broke off**: nothing behind that is in these figures.");
    }
    let span = findings
        .ran
        .passed
        .span
        .map_or(String::new(), |(first, last)| format!(", from {first} to {last}, each by append time"));
    lines.paragraph(format!("Events: {}{span}.", counted(findings)));
    if findings.against() > 0 {
        let words = NOW_AND_THEN.map(|(word, what)| format!("{word}: {what}"));
        lines.paragraph(format!("{}.", words.join("; ")));
    }
    for number in 0..findings.against() {
        against(findings, number, &mut lines);
    }
    if findings.against() == 0 {
        alone(findings, &mut lines);
    }
    labels(findings, &mut lines);
    began(findings, &mut lines);
    unread(findings, &mut lines);
    let hash = |seat: &Seat| format!("{} is {}", code(&seat.name), code(&seat.ledger.policy.hash));
    let hashes: Vec<String> = findings.ran.seats.iter().map(hash).collect();
    lines.paragraph(format!("Policies: {}.", hashes.join(", ")));
    if let Some((_, command)) = findings.facts().iter().find(|(name, _)| name == "command") {
        lines.paragraph(block(command));
    }
    lines.0
}

/// What the gate says.
fn ruled(gate: &Gate, rulings: &[Ruling], lines: &mut Lines) {
    let shut = rulings.iter().any(Ruling::is_shut);
    let told: Vec<String> = rulings.iter().flat_map(|ruling| ruling.told.clone()).collect();
    let word = if shut { "**Gate shut**" } else { "**Gate open**" };
    lines.paragraph(format!("{word} (it shuts on {}): {}", code(&gate.to_string()), cell(&told.join(", "))));
}

/// The candidate against one other policy.
fn against(findings: &Findings, number: usize, lines: &mut Lines) {
    let (then, now) = (&findings.ran.seats[0], &findings.ran.seats[number + 1]);
    let contrast = &findings.ran.contrasts[number];
    lines.paragraph(format!("#### Against {}", code(&now.name)));
    let mut rows = figures(now, then, findings.ran.passed.days());
    rows.extend(rates(findings, Some(number)));
    lines.table(&["", "now", "then", "difference"], 1, &rows);
    let (touched, freed) = (&contrast.newly_touched, &contrast.newly_freed);
    let (settled, paying) = (touched.share(|kept| kept.settled), touched.share(|kept| kept.paying));
    let flips = contrast.count(|now, then| now != then);
    lines.line("");
    lines.line(format!(
        "- **accounts newly touched: {}** ({} settled, {} paying); newly let through: {}",
        accounts(touched),
        share(settled),
        share(paying),
        accounts(freed)
    ));
    lines.line(format!(
        "- verdicts that differ: {}; stronger: {}, weaker: {}",
        part(flips, contrast.decisions()),
        contrast.count(|now, then| now < then),
        contrast.count(|now, then| now > then)
    ));
    if contrast.decided_by_one > 0 {
        lines.line(format!("- events that only one of the two decided: {}", contrast.decided_by_one));
    }
    // Only verdicts that were given: a large table of zeros hides the few counts that matter.
    let nows = Verdict::ALL.into_iter().filter(|now| contrast.count(|other, _| other == *now) > 0);
    let thens: Vec<Verdict> =
        Verdict::ALL.into_iter().filter(|then| contrast.count(|_, other| other == *then) > 0).collect();
    let row = |now: Verdict| {
        let cells = thens.iter().map(|then| contrast.cell(now, *then).to_string());
        std::iter::once(format!("now {now}")).chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = nows.map(row).collect();
    let heads = thens.iter().map(|then| format!("then {then}"));
    let heads: Vec<String> = std::iter::once("decisions".to_owned()).chain(heads).collect();
    if !rows.is_empty() {
        lines.table(&heads.iter().map(String::as_str).collect::<Vec<_>>(), 1, &rows);
    }
    rules(Some(now), then, lines);
}

/// The candidate by itself.
fn alone(findings: &Findings, lines: &mut Lines) {
    let seat = &findings.ran.seats[0];
    let rows = figures(seat, seat, findings.ran.passed.days()).into_iter().chain(rates(findings, None));
    let rows: Vec<Vec<String>> = rows.map(|mut row| row.drain(..2).collect()).collect();
    lines.table(&["", "candidate"], 1, &rows);
    rules(None, seat, lines);
}

/// What both policies did: name, now, then, difference.
fn figures(now: &Seat, then: &Seat, days: f64) -> Vec<Vec<String>> {
    let acted = |ledger: &Ledger| ledger.at_least(Verdict::Demote);
    let counts = |name: &str, count: &dyn Fn(&Seat) -> u64, told: &dyn Fn(&Seat) -> String| {
        let difference = count(then).cast_signed() - count(now).cast_signed();
        vec![name.to_owned(), told(now), told(then), signed(difference)]
    };
    let count =
        |name: &str, count: &dyn Fn(&Seat) -> u64| counts(name, count, &|seat| count(seat).to_string());
    let by_verdict = |verdict: Verdict| {
        let of = move |seat: &Seat| seat.ledger.tally.verdicts()[verdict as usize].1;
        (of(now) + of(then) > 0).then(|| count(&format!("- {verdict}"), &of))
    };
    let (before, after) = (reviews(now, days), reviews(then, days));
    let mut rows = vec![counts("decisions above allow", &|seat| acted(&seat.ledger), &|seat| {
        part(acted(&seat.ledger), seat.ledger.decisions())
    })];
    rows.extend(Verdict::ALL.into_iter().skip(1).filter_map(by_verdict));
    rows.push(counts("accounts touched", &|seat| seat.ledger.touched.accounts(), &|seat| {
        format!("{} of {}", accounts(&seat.ledger.touched), accounts(&seat.ledger.accounts))
    }));
    rows.push(vec![
        "reviews per day".to_owned(),
        format!("{before:.1}"),
        format!("{after:.1}"),
        format!("{:+.1}", after - before),
    ]);
    rows.push(count("bans", &|seat| seat.ledger.bans));
    rows.push(count("corrections", &|seat| seat.ledger.revisions.iter().sum()));
    rows
}

/// `+12`, `-3`, `0`
fn signed(difference: i64) -> String {
    if difference == 0 { "0".to_owned() } else { format!("{difference:+}") }
}

/// Where it began, and what a sample is.
fn began(findings: &Findings, lines: &mut Lines) {
    if let Some(origin) = &findings.ran.origin {
        lines.line("");
        let rows = origin.rows(findings.ran.passed.warm_up);
        rows.iter().for_each(|[name, value]| lines.line(format!("- {}: {}", cell(name), cell(value))));
    }
    for (name, value) in findings.facts().iter().filter(|(name, _)| name.contains("sample")) {
        lines.paragraph(format!("{}: {}", cell(name), cell(value)));
    }
}

/// What could not be read, and what was less exact than usual.
fn unread(findings: &Findings, lines: &mut Lines) {
    let counts = findings.faults.counts.iter().map(|(kind, count)| format!("{kind} {count}"));
    let kinds = counts.collect::<Vec<_>>().join(", ");
    let unread: u64 = findings.faults.counts.values().sum();
    let kinds = if unread == 0 { String::new() } else { format!(" ({})", cell(&kinds)) };
    lines.paragraph(format!(
        "{unread} records or labels could not be read{kinds}; {} decisions say that they are less exact than usual.",
        findings.ran.seats[0].ledger.inexact
    ));
    for odd in findings.odd.list() {
        let first = code(&odd.first);
        lines.paragraph(format!(
            "**{}**: {} decisions, first {first}: {}.",
            cell(odd.kind),
            odd.count,
            cell(&odd.message)
        ));
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

/// Text as code: between more backticks than it has in a row.
fn code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    let fence = "`".repeat(longest_run(&text) + 1);
    // One blank at either end is taken off again; without, a backtick of the text would belong to the fence.
    let pad =
        if text.is_empty() || text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// The same in a table, whose cells are parted before anything else is read.
fn code_in_cell(text: &str) -> String {
    // A backslash would take the one before a pipe for its own.
    if text.contains('\\') { cell(text) } else { code(text).replace('|', "\\|") }
}

/// A block of code, to be copied.
fn block(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    let fence = "`".repeat((longest_run(&text) + 1).max(3));
    format!("{fence}sh\n{text}\n{fence}")
}

/// The most backticks in a row.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(cell("a|b<img>`x`\n@all"), "a\\|b\\<img\\>\\`x\\`\u{fffd}\\@all");
    }

    /// By CommonMark's rules of code spans, and GitHub's of tables: a cell ends at a pipe without a backslash, in code too.
    #[test]
    fn code_is_fenced_by_more_backticks_than_it_has() {
        assert_eq!(code("user-minute"), "`user-minute`");
        assert_eq!(code("a``b"), "```a``b```");
        assert_eq!(code("`x"), "`` `x ``");
        assert_eq!(code("a\nb"), "`a\u{fffd}b`");
        assert_eq!(code_in_cell("a|b"), "`a\\|b`");
        assert_eq!(code_in_cell("a\\|b"), "a\\\\\\|b");
        assert_eq!(block("weir backtest --input '```'"), "````sh\nweir backtest --input '```'\n````");
    }

    #[test]
    fn differences_have_a_sign() {
        assert_eq!([12, -3, 0].map(signed), ["+12", "-3", "0"]);
    }
}
