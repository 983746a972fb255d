//! The open cases: many events, one matter.
//!
//! A case is told when it opens and each time its events have doubled since, so that 40,000 events make 16 records.
//! Bounded: at most [`Cases::OPEN_MAX`] are open; while that many are, no new one opens and that is counted.

mod saved;

use std::collections::HashMap;

use super::case::{Case, CaseStatus};
use super::entity::Entity;
use super::key::Prehashed;
use super::time::{Span, Timestamp};
use super::timers::{Timer, Timers};

/// The open cases.
#[derive(Debug, Default)]
pub struct Cases {
    /// By key of rule and entity. Never iterated for outputs.
    open: HashMap<u64, Open, Prehashed>,
    refused: u64,
}

#[derive(Debug)]
struct Open {
    case: Case,
    tell_at: u64,
}

/// One event that belongs to a case.
#[derive(Clone, Debug)]
pub struct CaseEvent<'a> {
    /// The rule, limit or step that says so.
    pub rule: &'a str,
    /// Public code.
    pub code: &'a str,
    /// What is proposed.
    pub proposal: &'a str,
    /// What the case is about.
    pub entity: Entity,
    /// The acting account.
    pub account: Option<&'a str>,
    /// When.
    pub at: Timestamp,
}

impl Cases {
    /// The most cases that are open together.
    pub const OPEN_MAX: usize = 10_000;
    /// The most accounts a case names.
    pub const ACCOUNTS_MAX: usize = 100;
    /// A case that nothing was added to for this long is quiet and leaves memory.
    pub const QUIET: Span = Span::from_secs(86_400);

    /// Adds an event to the case of `key`, opening it if there is none.
    pub fn add(&mut self, key: u64, event: CaseEvent<'_>, timers: &mut Timers, out: &mut Vec<Case>) {
        if !self.open.contains_key(&key) && self.open.len() >= Self::OPEN_MAX {
            self.refused += 1;
            return;
        }
        let account = event.account;
        let at = event.at;
        let open = self.open.entry(key).or_insert_with(|| {
            timers.set(at.after(Self::QUIET), Timer::CaseQuiet { key });
            Open::new(event)
        });
        open.add(account, at, out);
    }

    /// Closes the case if nothing was added for [`Cases::QUIET`]; sets the timer again otherwise.
    pub fn quiet(&mut self, key: u64, now: Timestamp, timers: &mut Timers, out: &mut Vec<Case>) {
        let Some(open) = self.open.get(&key) else { return };
        let end = open.case.updated_at.after(Self::QUIET);
        if end > now {
            timers.set(end, Timer::CaseQuiet { key });
        } else if let Some(open) = self.open.remove(&key) {
            out.push(Case { status: CaseStatus::Quiet, ..open.case });
        }
    }

    /// How many are open, and how many could not be opened for want of room.
    pub fn counts(&self) -> (usize, u64) {
        (self.open.len(), self.refused)
    }
}

impl Open {
    fn new(event: CaseEvent<'_>) -> Self {
        let case = Case {
            id: format!("{}/{}/{}", event.rule, event.entity, event.at.millis()),
            entity: event.entity,
            rule: event.rule.to_owned(),
            code: event.code.to_owned(),
            proposal: event.proposal.to_owned(),
            status: CaseStatus::Opened,
            opened_at: event.at,
            updated_at: event.at,
            events: 0,
            accounts: Vec::new(),
        };
        Self { case, tell_at: 1 }
    }

    fn add(&mut self, account: Option<&str>, at: Timestamp, out: &mut Vec<Case>) {
        let case = &mut self.case;
        case.events += 1;
        case.updated_at = case.updated_at.max(at);
        if let Some(account) = account
            && case.accounts.len() < Cases::ACCOUNTS_MAX
            && !case.accounts.iter().any(|known| known == account)
        {
            case.accounts.push(account.to_owned());
        }
        if case.events >= self.tell_at {
            out.push(case.clone());
            case.status = CaseStatus::Grown;
            self.tell_at = self.tell_at.saturating_mul(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entity::EntityKind;
    use super::*;

    fn event(secs: i64, account: &str) -> CaseEvent<'_> {
        CaseEvent {
            rule: "crowd",
            code: "CROWD",
            proposal: "look at the target",
            entity: Entity::new(EntityKind::Target, "t"),
            account: Some(account),
            at: Timestamp::from_millis(secs * 1000),
        }
    }

    #[test]
    fn forty_thousand_events_are_one_case_and_sixteen_records() {
        let (mut cases, mut timers, mut out) = (Cases::default(), Timers::default(), Vec::new());
        for n in 0..40_000 {
            cases.add(7, event(n / 70, &format!("u{}", n % 3000)), &mut timers, &mut out);
        }
        assert_eq!(out.len(), 16);
        assert_eq!(out.last().map(|case| (case.events, case.accounts.len())), Some((32_768, 100)));
        assert!(out.iter().all(|case| case.id == out[0].id));
        assert_eq!(out[0].status, CaseStatus::Opened);
        assert_eq!(out[1].status, CaseStatus::Grown);
    }

    #[test]
    fn a_case_is_quiet_a_day_after_its_last_event() {
        let (mut cases, mut timers, mut out) = (Cases::default(), Timers::default(), Vec::new());
        cases.add(7, event(0, "a"), &mut timers, &mut out);
        cases.add(7, event(3600, "b"), &mut timers, &mut out);
        out.clear();
        let day = Timestamp::from_millis(86_400_000);
        let (due, _) = timers.next_due(day).expect("set when opened");
        cases.quiet(7, due, &mut timers, &mut out);
        assert!(out.is_empty());
        let (due, _) = timers.next_due(day.after(Span::from_secs(3600))).expect("set again");
        cases.quiet(7, due, &mut timers, &mut out);
        assert_eq!(out.len(), 1);
        assert_eq!((out[0].status, out[0].events), (CaseStatus::Quiet, 2));
        assert_eq!(cases.counts(), (0, 0));
    }
}
