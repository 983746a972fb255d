//! Attack groups: how many of their accounts were acted on, how soon they were noticed, what of them still counts.

use std::collections::BTreeMap;

use serde::Serialize;

use super::rate::Rate;
use crate::engine::verdict::Verdict;
use crate::evaluate::book::{Account, Book, Counted, GroupBook, seconds};
use crate::evaluate::label::{Group, GroupId, Groups, Kind};

/// One attack group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupFigures {
    /// The scenario.
    pub scenario: String,
    /// Its name.
    pub group: String,
    /// Its accounts.
    pub accounts: u64,
    /// Those acted on, among them.
    pub acted_on: Rate,
    /// Its events.
    pub events: Counts,
    /// Seconds from its first event to the first that was acted on (or to the revision that first did).
    pub acted_after: Option<f64>,
    /// Seconds from its first event to the first case that names one of its accounts.
    pub member_case_after: Option<f64>,
    /// What it pushes: the labelled targets, else the target it acts on most.
    pub pushed: Option<Pushed>,
}

/// Events of a group and what became of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Counts {
    /// Decided.
    pub all: u64,
    /// First verdict allow.
    pub counted_at_first: u64,
    /// Last verdict allow.
    pub counted_at_last: u64,
}

/// What a group does most to the targets it pushes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pushed {
    /// What is done.
    pub action: String,
    /// To what.
    pub targets: Vec<String>,
    /// Events of that action on those targets.
    pub events: Counts,
    /// Seconds from the first of them to the first case on one of the targets.
    pub found_after: Option<f64>,
}

/// A group of honest accounts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HonestGroup {
    /// The scenario.
    pub scenario: String,
    /// Its name.
    pub group: String,
    /// Those acted on among its accounts.
    pub acted_on: Rate,
}

/// All attack groups, in the order of appearance.
pub(super) fn groups(book: &Book, groups: &Groups) -> Vec<GroupFigures> {
    let accounts = accounts_by_group(book.accounts.list(), Kind::Attack);
    let attacks = groups.iter().filter_map(|(id, group)| book.groups.get(&id).map(|kept| (id, group, kept)));
    attacks.map(|(id, group, kept)| figures(book, group, kept, accounts.get(&id))).collect()
}

/// All named groups of honest accounts.
pub(super) fn honest_groups(book: &Book, groups: &Groups) -> Vec<HonestGroup> {
    let accounts = accounts_by_group(book.accounts.list(), Kind::Honest);
    let named = groups.iter().filter(|(_, group)| !group.name.is_empty());
    let figures = |(id, group): (GroupId, &Group)| {
        let (hits, of) = accounts.get(&id).copied()?;
        let (scenario, name) = (group.scenario.clone(), group.name.clone());
        Some(HonestGroup { scenario, group: name, acted_on: Rate::plain(hits, of) })
    };
    named.filter_map(figures).collect()
}

/// For each group: its accounts of this kind that were acted on, and all of them.
fn accounts_by_group(accounts: &[Account], kind: Kind) -> BTreeMap<GroupId, (u64, u64)> {
    let mut by_group: BTreeMap<GroupId, (u64, u64)> = BTreeMap::new();
    for account in accounts.iter().filter(|account| account.is_user && account.kind() == kind) {
        let (hits, of) = by_group.entry(account.group).or_default();
        *hits += u64::from(account.judged().at_least(Verdict::Demote) > 0);
        *of += 1;
    }
    by_group
}

fn figures(book: &Book, group: &Group, kept: &GroupBook, accounts: Option<&(u64, u64)>) -> GroupFigures {
    let (hits, of) = accounts.copied().unwrap_or_default();
    let after = |then: Option<_>| Some(seconds(kept.all.began?, then?));
    GroupFigures {
        scenario: group.scenario.clone(),
        group: group.name.clone(),
        accounts: of,
        acted_on: Rate::plain(hits, of),
        events: counts(&kept.all),
        acted_after: after(kept.acted),
        member_case_after: after(kept.member_case),
        pushed: pushed(book, group, kept),
    }
}

fn pushed(book: &Book, group: &Group, kept: &GroupBook) -> Option<Pushed> {
    let ((action, target), _) = kept.pushed(&group.targets)?;
    let targets = if group.targets.is_empty() { vec![target.clone()] } else { group.targets.clone() };
    let counted = kept.on(action, &targets);
    let case = targets.iter().filter_map(|target| book.target_cases.get(target)).min();
    let found_after = counted.began.zip(case).map(|(began, case)| seconds(began, *case));
    Some(Pushed { action: action.clone(), targets, events: counts(&counted), found_after })
}

fn counts(counted: &Counted) -> Counts {
    Counts { all: counted.events, counted_at_first: counted.at_first, counted_at_last: counted.at_last }
}
