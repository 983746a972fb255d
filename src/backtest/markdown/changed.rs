//! Rules and limits that speak otherwise than now, those that change most first.

use super::super::pass::Seat;
use super::super::sections::{accounts, share};
use super::super::speakers::Speaker;
use super::{Lines, code_in_cell, signed};
use crate::engine::policy::Mode;

/// Rules that are told, at most.
const RULES_SHOWN: usize = 20;

/// One rule, limit, step or pool under both policies; one of the two may not have it.
#[derive(Clone, Copy, Debug)]
struct Pair<'s> {
    now: Option<&'s Speaker>,
    then: Option<&'s Speaker>,
}

impl<'s> Pair<'s> {
    /// All of both policies, in the order of the candidate; then those that it has no more.
    fn all(now: &'s Seat, then: &'s Seat) -> Vec<Self> {
        let (before, after) = (&now.ledger.speakers, &then.ledger.speakers);
        let kept =
            after.list.iter().map(|speaker| Self { now: before.named(&speaker.id), then: Some(speaker) });
        let gone = before.list.iter().filter(|speaker| after.named(&speaker.id).is_none());
        kept.chain(gone.map(|speaker| Self { now: Some(speaker), then: None })).collect()
    }

    fn either(&self) -> &'s Speaker {
        self.then.or(self.now).expect("one of the two has it")
    }

    /// What it does and how often: nothing else is compared.
    fn differs(&self) -> bool {
        let said = |speaker: &'s Speaker| {
            let counts =
                [speaker.hits, speaker.shadow, speaker.cases, speaker.bans, speaker.accounts.accounts()];
            (speaker.mode, &speaker.effect, counts)
        };
        self.now.map(said) != self.then.map(said)
    }

    /// Decisions that it spoke of, now and then, as `of` counts them.
    fn counts(&self, of: fn(&Speaker) -> u64) -> [u64; 2] {
        [self.now, self.then].map(|speaker| speaker.map_or(0, of))
    }

    /// By how much what it says differs, live and in shadow.
    fn weight(&self) -> u64 {
        let by = |of: fn(&Speaker) -> u64| {
            let [now, then] = self.counts(of);
            now.abs_diff(then)
        };
        by(|speaker| speaker.hits) + by(|speaker| speaker.shadow)
    }

    /// `hold`, `new: hold`, `gone: hold`, `demote, now hold`
    fn does(&self) -> String {
        match (self.now.map(effect), self.then.map(effect)) {
            (Some(now), Some(then)) if now != then => format!("{now} → {then}"),
            (None, Some(then)) => format!("new: {then}"),
            (Some(now), None) => format!("gone: {now}"),
            (now, then) => then.or(now).unwrap_or_default(),
        }
    }

    fn row(&self) -> Vec<String> {
        let [now, then] = self.counts(|speaker| speaker.hits);
        let shadow = match self.counts(|speaker| speaker.shadow) {
            [now, then] if now == then => now.to_string(),
            [now, then] => format!("{now} → {then}"),
        };
        let of = |speaker: Option<&Speaker>| speaker.map_or("0".to_owned(), |of| accounts(&of.accounts));
        let whose = &self.either().accounts;
        vec![
            code_in_cell(&self.either().id),
            self.does(),
            now.to_string(),
            then.to_string(),
            signed(then.cast_signed() - now.cast_signed()),
            shadow,
            of(self.now),
            of(self.then),
            share(whose.share(|kept| kept.settled)),
            share(whose.share(|kept| kept.paying)),
        ]
    }
}

fn effect(speaker: &Speaker) -> String {
    match speaker.mode {
        Mode::Live => speaker.effect.clone(),
        Mode::Shadow => format!("{} in shadow", speaker.effect),
        Mode::Off => "off".to_owned(),
    }
}

/// Those whose counts or effects differ; without another policy those that spoke most.
pub(super) fn rules(now: Option<&Seat>, then: &Seat, lines: &mut Lines) {
    match now {
        Some(now) => changed(now, then, lines),
        None => loudest(then, lines),
    }
}

fn changed(now: &Seat, then: &Seat, lines: &mut Lines) {
    let pairs = Pair::all(now, then);
    let (mut differ, same): (Vec<Pair<'_>>, Vec<Pair<'_>>) = pairs.into_iter().partition(Pair::differs);
    differ.sort_by_key(|pair| std::cmp::Reverse(pair.weight()));
    let rows: Vec<Vec<String>> = differ.iter().take(RULES_SHOWN).map(Pair::row).collect();
    let heads = [
        "rule or limit that changed",
        "does",
        "hits now",
        "then",
        "difference",
        "in shadow",
        "accounts now",
        "then",
        "settled",
        "paying",
    ];
    if !rows.is_empty() {
        lines.table(&heads, 2, &rows);
    }
    let spoke = same.iter().filter(|pair| !pair.either().is_silent()).count();
    let silent = same.len() - spoke;
    let mut told = match differ.len().saturating_sub(RULES_SHOWN) {
        0 if rows.is_empty() => "No rule or limit speaks otherwise. ".to_owned(),
        0 => String::new(),
        more => format!("{more} more changed. "),
    };
    told += &format!("Left out: {spoke} that speak as now, {silent} that speak of nothing here.");
    lines.paragraph(told);
}

fn loudest(seat: &Seat, lines: &mut Lines) {
    let mut spoke: Vec<_> = seat.ledger.speakers.list.iter().filter(|speaker| speaker.all() > 0).collect();
    spoke.sort_by_key(|speaker| std::cmp::Reverse(speaker.all()));
    if spoke.is_empty() {
        return;
    }
    let row = |speaker: &&Speaker| {
        vec![
            code_in_cell(&speaker.id),
            effect(speaker),
            speaker.hits.to_string(),
            speaker.shadow.to_string(),
            accounts(&speaker.accounts),
            share(speaker.accounts.share(|kept| kept.settled)),
            share(speaker.accounts.share(|kept| kept.paying)),
        ]
    };
    let rows: Vec<Vec<String>> = spoke.iter().take(RULES_SHOWN).map(row).collect();
    let heads = ["rule or limit", "does", "hits", "in shadow", "accounts", "settled", "paying"];
    lines.table(&heads, 2, &rows);
    if spoke.len() > RULES_SHOWN {
        lines.paragraph(format!("{} more spoke.", spoke.len() - RULES_SHOWN));
    }
}
