//! The labels of a file: `event_id,user_id,label,group,scenario`, and optionally `target_id` and `from`.
//!
//! A row with an `event_id` labels that event; one without labels the account, before `from` (where it is given) as
//! honest. An event's own row beats its account's. All labels are in memory while the events go by.

use std::collections::HashMap;
use std::io::{self, BufRead};

use super::csv::{Csv, Row};
use super::faults::Faults;
use super::moment::moment;
use crate::engine::time::Timestamp;
use crate::evaluate::label::{GroupId, Groups, Kind, Label};

/// The labels of one file, and which of them were met.
#[derive(Debug, Default)]
pub struct Labels {
    accounts: HashMap<Box<str>, AccountLabel>,
    /// By event id; by event id and user, where several users have events of one id.
    events: HashMap<Box<str>, EventLabel>,
}

#[derive(Clone, Copy, Debug)]
struct AccountLabel {
    label: Label,
    /// Before this it is honest, and in this group.
    from: Option<(Timestamp, GroupId)>,
    met: bool,
    line: u64,
}

#[derive(Clone, Debug)]
struct EventLabel {
    label: Label,
    user: Box<str>,
    met: bool,
    line: u64,
}

/// Where the columns are.
#[derive(Debug)]
struct Columns {
    event: Option<usize>,
    user: Option<usize>,
    label: usize,
    group: Option<usize>,
    scenario: Option<usize>,
    target: Option<usize>,
    from: Option<usize>,
}

impl Labels {
    /// Reads a file of labels called `name`. Groups are entered as they come.
    ///
    /// # Errors
    /// Reading fails, or the columns are not there. Rows that make no sense are faults.
    pub fn read(
        name: &str,
        from: impl BufRead,
        groups: &mut Groups,
        faults: &mut Faults,
    ) -> io::Result<Self> {
        let mut csv = Csv::new(from);
        let mut labels = Self::default();
        let head = csv.next_row()?.and_then(Result::ok);
        let columns = columns(head.as_ref()).map_err(|message| invalid(name, &message))?;
        while let Some(row) = csv.next_row()? {
            match row {
                Ok(row) => labels.row(name, &row, &columns, groups, faults),
                Err(bad) => faults.note("label", || place(name, (bad.line, bad.column)), bad.message),
            }
        }
        Ok(labels)
    }

    /// The label of an event: its own, else its account's.
    pub fn of(&mut self, user: Option<&str>, event_id: &str, at: Timestamp) -> Option<Label> {
        let account = user.and_then(|user| self.accounts.get_mut(user)).map(|account| {
            account.met = true;
            match account.from {
                Some((from, group)) if at < from => Label { kind: Kind::Honest, group, ..account.label },
                _ => account.label,
            }
        });
        match self.event_of(user, event_id) {
            Some(own) => {
                Some(Label { account: account.map_or(own.account, |account| account.account), ..own })
            }
            None => account,
        }
    }

    fn event_of(&mut self, user: Option<&str>, event_id: &str) -> Option<Label> {
        if self.events.is_empty() {
            return None;
        }
        let both = user.map(|user| both(event_id, user));
        let own = both.filter(|both| self.events.contains_key(both.as_str()));
        let event = self.events.get_mut(own.as_deref().unwrap_or(event_id))?;
        event.met = true;
        Some(event.label)
    }

    /// Tells the labels that no event met.
    pub fn unmet(&self, name: &str, faults: &mut Faults) {
        let accounts = self.accounts.iter().filter(|(_, label)| !label.met);
        let events = self.events.iter().filter(|(_, label)| !label.met);
        let mut unmet: Vec<(u64, &'static str)> =
            accounts.map(|(_, label)| (label.line, "account")).collect();
        unmet.extend(events.map(|(_, label)| (label.line, "event")));
        unmet.sort_unstable();
        for (line, what) in unmet {
            let (kind, message) = match what {
                "event" => ("label of no event", "no decision was made on this event"),
                _ => ("label of no account", "no decision was made on an event of this account"),
            };
            faults.note(kind, || format!("{name}:{line}"), message);
        }
    }

    fn row(&mut self, name: &str, row: &Row, columns: &Columns, groups: &mut Groups, faults: &mut Faults) {
        let get = |column: Option<usize>| column.and_then(|column| row.get(column));
        let kind = match row.get(columns.label).unwrap_or_default().parse::<Kind>() {
            Ok(kind) => kind,
            Err(error) => {
                let at = || place(name, row.place(columns.label));
                return faults.note("label", at, error.to_string());
            }
        };
        let from = match get(columns.from).map(moment).transpose() {
            Ok(from) => from,
            Err(message) => {
                let at = || place(name, row.place(columns.from.unwrap_or_default()));
                return faults.note("label", at, message);
            }
        };
        let scenario = get(columns.scenario).unwrap_or_default();
        let group = groups.number(scenario, get(columns.group).unwrap_or_default());
        if let Some(target) = get(columns.target) {
            groups.aim(group, target);
        }
        let label = Label::plain(kind, group);
        let from = from.map(|from| (from, groups.number(scenario, "")));
        let repeated = match (get(columns.event), get(columns.user)) {
            (Some(event), user) => self.event(event, user.unwrap_or_default(), label, row.line),
            (None, Some(user)) => {
                let label = AccountLabel { label, from, met: false, line: row.line };
                let before = self.accounts.insert(user.into(), label);
                before.is_some_and(|before| (before.label, before.from) != (label.label, from))
            }
            (None, None) => {
                let at = || place(name, (row.line, 1));
                return faults.note("label", at, "neither event_id nor user_id");
            }
        };
        if repeated {
            faults.note(
                "label repeated",
                || place(name, (row.line, 1)),
                "was labelled otherwise before; this row counts",
            );
        }
    }

    fn event(&mut self, event: &str, user: &str, label: Label, line: u64) -> bool {
        let new = EventLabel { label, user: user.into(), met: false, line };
        let before = match self.events.get(event) {
            Some(known) if *known.user != *user => self.events.insert(both(event, user).into(), new),
            _ => self.events.insert(event.into(), new),
        };
        before.is_some_and(|before| before.label != label)
    }
}

fn both(event: &str, user: &str) -> String {
    format!("{event}\n{user}")
}

fn columns(head: Option<&Row>) -> Result<Columns, String> {
    let head = head.ok_or("is empty: a line of column names is needed")?;
    let find = |name: &str| head.iter().position(|column| column == name);
    let columns = Columns {
        event: find("event_id"),
        user: find("user_id"),
        label: find("label").ok_or("has no column `label`")?,
        group: find("group"),
        scenario: find("scenario"),
        target: find("target_id"),
        from: find("from"),
    };
    match (columns.event, columns.user) {
        (None, None) => Err("has neither a column `event_id` nor `user_id`".to_owned()),
        _ => Ok(columns),
    }
}

fn invalid(name: &str, message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("labels {name}:1:1: {message}"))
}

fn place(name: &str, (line, column): (u64, u64)) -> String {
    format!("{name}:{line}:{column}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Labels, Groups, Faults) {
        let (mut groups, mut faults) = (Groups::default(), Faults::default());
        let labels = Labels::read("l.csv", text.as_bytes(), &mut groups, &mut faults).expect("readable");
        (labels, groups, faults)
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn an_events_own_row_beats_its_accounts() {
        let (mut labels, _, faults) =
            read("event_id,user_id,label,group,scenario\n,u1,honest,,s\ne9,u1,attack,g,s\n,u2,attack,g,s\n");
        let mut kind = |user, event| labels.of(Some(user), event, at(0)).map(|label| label.kind);
        assert_eq!(kind("u1", "e1"), Some(Kind::Honest));
        assert_eq!(kind("u1", "e9"), Some(Kind::Attack));
        assert_eq!(kind("u2", "e2"), Some(Kind::Attack));
        assert_eq!(kind("u3", "e3"), None);
        assert_eq!(faults, Faults::default());
    }

    #[test]
    fn one_event_id_of_two_users_is_two_events() {
        let (mut labels, _, _) = read("event_id,user_id,label\ne,u1,honest\ne,u2,attack\n");
        let mut kind = |user| labels.of(Some(user), "e", at(0)).map(|label| label.kind);
        assert_eq!((kind("u1"), kind("u2")), (Some(Kind::Honest), Some(Kind::Attack)));
        assert_eq!(labels.of(None, "e", at(0)).map(|label| label.kind), Some(Kind::Honest));
    }

    #[test]
    fn a_stolen_account_is_honest_until_it_is_stolen() {
        let (mut labels, groups, _) =
            read("event_id,user_id,label,group,scenario,from\n,u,attack,g,s,1750000000000\n");
        let before = labels.of(Some("u"), "e", at(1_749_999_999_999)).expect("labelled");
        let after = labels.of(Some("u"), "e", at(1_750_000_000_000)).expect("labelled");
        assert_eq!((before.kind, after.kind), (Kind::Honest, Kind::Attack));
        assert_eq!(groups.get(after.group).map(ToString::to_string).as_deref(), Some("s/g"));
    }

    #[test]
    fn what_makes_no_sense_is_told_and_the_rest_is_done() {
        let (labels, _, mut faults) = read(
            "user_id,label,from\nu1,bot,\nu2,attack,yesterday\n,honest,\nu3,attack,\nu3,honest,\n\"u4,attack,\n",
        );
        let told: Vec<&str> = faults.first.iter().map(|fault| fault.at.as_str()).collect();
        assert_eq!(told, ["l.csv:2:4", "l.csv:3:11", "l.csv:4:1", "l.csv:6:1", "l.csv:7:1"]);
        labels.unmet("l.csv", &mut faults);
        assert_eq!(faults.count("label of no account"), 1);
    }

    #[test]
    fn the_columns_must_be_there() {
        let (mut groups, mut faults) = (Groups::default(), Faults::default());
        for (text, missing) in [("", "empty"), ("user_id\n", "label"), ("label\n", "event_id")] {
            let error = Labels::read("l.csv", text.as_bytes(), &mut groups, &mut faults).unwrap_err();
            assert!(error.to_string().contains(missing), "{error}");
        }
    }
}
