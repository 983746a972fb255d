//! The accounts and targets whose decisions change most, or that are acted on most where there is nothing to compare with.

use super::standing;
use crate::backtest::contrast::Contrast;
use crate::backtest::findings::Findings;
use crate::backtest::top::{Affected, Top};
use crate::report::Section;

/// Accounts, and targets, shown on a page.
const SHOWN: usize = 50;

/// A table of accounts and one of targets; `against` is the name of the other policy, where there is one.
pub(super) fn affected(findings: &Findings, contrast: &Contrast, against: Option<&str>) -> [Section; 2] {
    let title = |what: &str| match against {
        Some(name) => format!("{what} most affected, against {name}"),
        None => format!("{what} most acted on"),
    };
    let (compared, mask) = (against.is_some(), findings.mask);
    let account = |affected: &Affected| {
        let Affected { name, example, .. } = affected;
        let last = [
            example.event.clone(),
            example.action.clone(),
            example.target.clone(),
            mask.address(&example.address),
            mask.device(&example.device),
        ];
        let changes = changes(affected, compared);
        [vec![mask.name(name), standing(affected.standing)], changes, last.to_vec()].concat()
    };
    let target = |affected: &Affected| {
        let Affected { name, example, .. } = affected;
        let last = vec![example.event.clone(), example.action.clone()];
        [vec![mask.name(name)], changes(affected, compared), last].concat()
    };
    let last = ["event", "action", "target", "address", "device"];
    let accounts = [&["account", "standing"], heads(compared), &last].concat();
    let targets = [&["target"], heads(compared), &last[..2]].concat();
    [
        table(title("Accounts"), &accounts, &contrast.top, account),
        table(title("Targets"), &targets, &contrast.targets, target),
    ]
}

/// What is told of changes from one policy to another, or of what one policy does.
fn heads(compared: bool) -> &'static [&'static str] {
    if compared {
        &["changes", "stronger", "weaker", "speaks then, not now", "spoke now, not then", "last change"]
    } else {
        &["acted on", "speaks", "last verdict"]
    }
}

fn changes(affected: &Affected, compared: bool) -> Vec<String> {
    let changes = match affected.error {
        0 => affected.changes.to_string(),
        error => format!("{} \u{b1} {error}", affected.changes),
    };
    let speakers = |list: &[(String, u64)]| {
        let told: Vec<String> = list.iter().map(|(id, count)| format!("{id} ({count})")).collect();
        told.join(", ")
    };
    let (now, then) = (affected.example.now, affected.example.then);
    if !compared {
        return vec![changes, speakers(&affected.gained), then.to_string()];
    }
    vec![
        changes,
        affected.stronger.to_string(),
        affected.weaker.to_string(),
        speakers(&affected.gained),
        speakers(&affected.lost),
        format!("{now} to {then}"),
    ]
}

fn table(title: String, heads: &[&str], top: &Top, row: impl Fn(&Affected) -> Vec<String>) -> Section {
    let ranked = top.ranked();
    let rows = ranked.iter().take(SHOWN).map(|affected| row(affected)).collect();
    let mut note = format!("The most first, {SHOWN} at most; {} are kept at most.", Top::SIZE);
    if ranked.iter().any(|affected| affected.error > 0) {
        note += " More came than are kept: up to the number after \u{b1} may be others'.";
    }
    Section::table(title, heads, rows).noted(note).sortable().page_only()
}
