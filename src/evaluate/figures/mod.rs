//! The figures of an evaluation, worked out of the book at its end.

mod confusion;
mod curve;
mod group;
mod harm;
mod rate;

use std::collections::BTreeMap;

use serde::Serialize;

pub use self::confusion::{Confusion, confusion, confusions};
pub use self::curve::{Curve, Point};
pub use self::group::{Counts, GroupFigures, HonestGroup, Pushed};
pub use self::harm::{ExitHarm, Harm, Met, harm};
pub use self::rate::{Rate, Unit};

use super::book::{Account, Book, Verdicts};
use super::label::{Groups, Kind};
use crate::engine::verdict::Verdict;

/// All figures of one evaluation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// What was read.
    pub read: Read,
    /// Per account, at each level of verdict.
    pub accounts: Vec<Confusion>,
    /// Per event, at each level of verdict.
    pub events: Vec<Confusion>,
    /// What honest accounts met.
    pub harm: Harm,
    /// Labelled events by action and kind, by last verdict.
    pub actions: Vec<ActionFigures>,
    /// Each scenario.
    pub scenarios: Vec<ScenarioFigures>,
    /// Each attack group.
    pub groups: Vec<GroupFigures>,
    /// Each named group of honest accounts.
    pub honest_groups: Vec<HonestGroup>,
    /// Over the score of accounts.
    pub account_curve: Curve,
    /// Over the score of events.
    pub event_curve: Curve,
}

/// What was read and told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Read {
    /// Lines.
    pub consumed: u64,
    /// What became of them.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Decisions by first verdict.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Decisions on events without a label: in no other figure.
    pub unlabelled: u64,
    /// Revisions told.
    pub revisions: u64,
    /// Case records told.
    pub case_records: u64,
    /// Changes of bans told.
    pub ban_changes: u64,
}

/// Events of one action and kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ActionFigures {
    /// What is done.
    pub action: String,
    /// By whom.
    pub kind: Kind,
    /// Events by the verdict that holds.
    pub verdicts: BTreeMap<&'static str, u64>,
}

impl ActionFigures {
    /// Events whose last verdict is at least this, and all of them.
    pub fn at_least(&self, verdict: Verdict) -> (u64, u64) {
        let of = |from: Verdict| {
            let strong = Verdict::ALL.into_iter().filter(|verdict| *verdict >= from);
            strong.filter_map(|verdict| self.verdicts.get(verdict.name())).sum()
        };
        (of(verdict), of(Verdict::Allow))
    }
}

/// One scenario: its accounts alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScenarioFigures {
    /// Its name; empty where labels name none.
    pub scenario: String,
    /// Per account, at the level of demote: above allow.
    pub accounts: Confusion,
    /// Per event, at the level of demote.
    pub events: Confusion,
    /// What its honest accounts met.
    pub harm: Harm,
}

impl Figures {
    /// Works them out.
    pub fn of(book: &Book, groups: &Groups) -> Self {
        let all = book.accounts.list().iter();
        Self {
            read: Read::of(book),
            accounts: confusions(&all, Unit::Accounts),
            events: confusions(&all, Unit::Events),
            harm: harm(all.clone(), &book.exits),
            actions: actions(book),
            scenarios: scenarios(book, groups),
            groups: group::groups(book, groups),
            honest_groups: group::honest_groups(book, groups),
            account_curve: curve::of_accounts(all),
            event_curve: curve::of_events(&book.events),
        }
    }
}

impl Read {
    fn of(book: &Book) -> Self {
        Self {
            consumed: book.tally.consumed,
            outcomes: book.tally.outcomes(),
            verdicts: book.tally.verdicts().into_iter().map(|(verdict, n)| (verdict.name(), n)).collect(),
            unlabelled: book.unlabelled,
            revisions: book.revisions,
            case_records: book.case_records,
            ban_changes: book.ban_changes,
        }
    }
}

fn actions(book: &Book) -> Vec<ActionFigures> {
    let one = |(action, kind, verdicts): (&String, Kind, &Verdicts)| ActionFigures {
        action: action.clone(),
        kind,
        verdicts: Verdict::ALL.map(|verdict| (verdict.name(), verdicts[verdict as usize])).into(),
    };
    let each = book
        .actions
        .iter()
        .flat_map(|(action, kinds)| Kind::ALL.map(|kind| (action, kind, &kinds[kind as usize])));
    each.filter(|(_, _, verdicts)| verdicts.iter().any(|count| *count > 0)).map(one).collect()
}

fn scenarios(book: &Book, groups: &Groups) -> Vec<ScenarioFigures> {
    let names = groups.scenarios();
    let of_account = |account: &Account| groups.get(account.group).map(|group| group.scenario.as_str());
    let one = |name: &str| {
        let accounts = book.accounts.list().iter().filter(|account| of_account(account) == Some(name));
        ScenarioFigures {
            scenario: name.to_owned(),
            accounts: confusion(&accounts, Unit::Accounts, Verdict::Demote),
            events: confusion(&accounts, Unit::Events, Verdict::Demote),
            harm: harm(accounts, &book.exits),
        }
    };
    names.into_iter().map(one).collect()
}
