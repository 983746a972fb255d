//! The open cases: many events, one matter.
//!
//! A case is told when it opens and each time its events have doubled since, so that 40,000 events make 16 records.
//! Bounded: at most [`Cases::OPEN_MAX`] are open; while that many are, no new one opens and that is counted.
//!
//! A person decides a case while it is open, or later while it is still remembered. For [`Cases::SETTLED`] after that the
//! same matter opens no case, unless as many events come again as it had: then there is something new to look at.

mod saved;

use std::collections::{BTreeMap, VecDeque};

use super::case::{CampaignFacts, Case, CaseStatus, Resolution};
use super::entity::Entity;
use super::key::ByHash;
use super::time::{Span, Timestamp};
use super::timers::{Timer, Timers};

/// The open cases.
#[derive(Debug, Default)]
pub struct Cases {
    /// By key of rule and entity. Never iterated for outputs.
    open: ByHash<Open>,
    /// Quiet ones that can still be decided, in the order in which they fell quiet.
    quiet: VecDeque<(u64, Case)>,
    /// What a person decided, by key of rule and entity.
    settled: BTreeMap<u64, Settled>,
    /// While state is warmed up: by key, up to when events are counted in the cases that were taken over.
    counted: BTreeMap<u64, Timestamp>,
    refused: u64,
}

/// A matter that a person decided.
#[derive(Clone, Copy, Debug)]
struct Settled {
    until: Timestamp,
    /// Events that the case had.
    events: u64,
    /// Events that came since.
    since: u64,
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
    /// What is known of the crowd, for a campaign.
    pub campaign: Option<&'a CampaignFacts>,
}

impl Cases {
    /// The most cases that are open together.
    pub const OPEN_MAX: usize = 10_000;
    /// The most accounts a case names.
    pub const ACCOUNTS_MAX: usize = 100;
    /// A case that nothing was added to for this long is quiet.
    pub const QUIET: Span = Span::from_secs(86_400);
    /// The most quiet cases that are remembered, and the most decided ones.
    pub const REMEMBERED_MAX: usize = 10_000;
    /// A decided matter opens no case for this long, unless its events double.
    pub const SETTLED: Span = Span::from_secs(7 * 86_400);

    /// Adds an event to the case of `key`, opening it if there is none.
    pub fn add(&mut self, key: u64, event: CaseEvent<'_>, timers: &mut Timers, out: &mut Vec<Case>) {
        if self.counted.get(&key).is_some_and(|to| event.at <= *to) {
            return;
        }
        let Some(before) = self.is_news(key, event.at) else { return };
        if !self.open.contains_key(&key) && self.open.len() >= Self::OPEN_MAX {
            self.refused += 1;
            return;
        }
        let (account, at, campaign) = (event.account, event.at, event.campaign);
        let open = self.open.entry(key).or_insert_with(|| {
            timers.set(at.after(Self::QUIET), Timer::CaseQuiet { key });
            Open::new(event, before)
        });
        open.add(account, at, campaign, out);
    }

    /// How many events came before this one since the matter was decided, none when it never was; `None` while it is
    /// settled.
    fn is_news(&mut self, key: u64, at: Timestamp) -> Option<u64> {
        let Some(settled) = self.settled.get_mut(&key) else { return Some(0) };
        settled.since += 1;
        let (is_over, before) = (at >= settled.until, settled.since - 1);
        if !is_over && settled.since < settled.events {
            return None;
        }
        self.settled.remove(&key);
        Some(if is_over { 0 } else { before })
    }

    /// Closes the case of this id as decided, and returns it; `None` when it is not known.
    pub fn resolve(
        &mut self,
        id: &str,
        resolution: Resolution,
        timers: &mut Timers,
        out: &mut Vec<Case>,
    ) -> Option<Case> {
        let (key, mut case) = self.take(id)?;
        let until = resolution.at.after(Self::SETTLED);
        if self.settled.len() >= Self::REMEMBERED_MAX {
            let oldest = self.settled.iter().min_by_key(|(key, settled)| (settled.until, **key));
            let oldest = oldest.map(|(key, _)| *key);
            oldest.and_then(|key| self.settled.remove(&key));
        }
        self.settled.insert(key, Settled { until, events: case.events, since: 0 });
        timers.set(until, Timer::CaseSettled { key });
        case.status = CaseStatus::Resolved;
        case.updated_at = case.updated_at.max(resolution.at);
        case.resolution = Some(resolution);
        out.push(case.clone());
        Some(case)
    }

    /// Takes a case over that was told earlier. Events up to its last change, which are in it already, are not counted again
    /// until [`Cases::taken_over`].
    pub fn take_over(&mut self, key: u64, case: Case, timers: &mut Timers) {
        let counted = self.counted.entry(key).or_default();
        *counted = (*counted).max(case.updated_at);
        match (case.status, &case.resolution) {
            (CaseStatus::Quiet, _) if self.quiet.len() < Self::REMEMBERED_MAX => {
                self.quiet.push_back((key, case));
            }
            (CaseStatus::Quiet, _) => {}
            (CaseStatus::Resolved, Some(resolution)) => {
                let until = resolution.at.after(Self::SETTLED);
                if self.settled.len() < Self::REMEMBERED_MAX {
                    self.settled.insert(key, Settled { until, events: case.events, since: 0 });
                    timers.set(until, Timer::CaseSettled { key });
                }
            }
            _ if self.open.len() < Self::OPEN_MAX => {
                timers.set(case.updated_at.after(Self::QUIET), Timer::CaseQuiet { key });
                self.settled.remove(&key);
                let tell_at = case.events.max(1).saturating_mul(2);
                self.open.insert(key, Open { case: Case { status: CaseStatus::Grown, ..case }, tell_at });
            }
            _ => self.refused += 1,
        }
    }

    /// State is warm: every event counts again.
    pub fn taken_over(&mut self) {
        self.counted.clear();
    }

    /// Forgets a decision whose time is over.
    pub fn unsettle(&mut self, key: u64, now: Timestamp) {
        if self.settled.get(&key).is_some_and(|settled| settled.until <= now) {
            self.settled.remove(&key);
        }
    }

    /// Takes the case of this id out. Ids are unique, so it does not matter in which order they are looked at.
    fn take(&mut self, id: &str) -> Option<(u64, Case)> {
        let open = self.open.iter().find(|(_, open)| open.case.id == id).map(|(key, _)| *key);
        if let Some(key) = open {
            return self.open.remove(&key).map(|open| (key, open.case));
        }
        let at = self.quiet.iter().position(|(_, case)| case.id == id)?;
        self.quiet.remove(at)
    }

    /// Closes the case if nothing was added for [`Cases::QUIET`]; sets the timer again otherwise.
    pub fn quiet(&mut self, key: u64, now: Timestamp, timers: &mut Timers, out: &mut Vec<Case>) {
        let Some(open) = self.open.get(&key) else { return };
        let end = open.case.updated_at.after(Self::QUIET);
        if end > now {
            timers.set(end, Timer::CaseQuiet { key });
        } else if let Some(open) = self.open.remove(&key) {
            let case = Case { status: CaseStatus::Quiet, ..open.case };
            out.push(case.clone());
            if self.quiet.len() >= Self::REMEMBERED_MAX {
                self.quiet.pop_front();
            }
            self.quiet.push_back((key, case));
        }
    }

    /// Those that a person may still decide.
    pub fn decidable(&self) -> impl Iterator<Item = &Case> {
        self.open.values().map(|open| &open.case).chain(self.quiet.iter().map(|(_, case)| case))
    }

    /// How many are open, and how many could not be opened for want of room.
    pub fn counts(&self) -> (usize, u64) {
        (self.open.len(), self.refused)
    }
}

impl Open {
    fn new(event: CaseEvent<'_>, before: u64) -> Self {
        let case = Case {
            id: format!("{}/{}/{}", event.rule, event.entity, event.at.millis()),
            entity: event.entity,
            rule: event.rule.to_owned(),
            code: event.code.to_owned(),
            proposal: event.proposal.to_owned(),
            status: CaseStatus::Opened,
            opened_at: event.at,
            updated_at: event.at,
            events: before,
            accounts: Vec::new(),
            campaign: None,
            resolution: None,
        };
        Self { case, tell_at: before + 1 }
    }

    fn add(
        &mut self,
        account: Option<&str>,
        at: Timestamp,
        campaign: Option<&CampaignFacts>,
        out: &mut Vec<Case>,
    ) {
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
            case.campaign = campaign.cloned();
            out.push(case.clone());
            case.status = CaseStatus::Grown;
            self.tell_at = self.tell_at.saturating_mul(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::CaseOutcome;
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
            campaign: None,
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

    fn resolution(secs: i64) -> Resolution {
        Resolution {
            outcome: CaseOutcome::Cleared,
            actor: "ann".into(),
            reason: "a fair".into(),
            at: Timestamp::from_millis(secs * 1000),
            undone: None,
        }
    }

    /// Three events, decided; the third further one doubles it, and its case begins with all three.
    #[test]
    fn a_decided_case_opens_anew_when_its_events_have_doubled() {
        let (mut cases, mut timers, mut out) = (Cases::default(), Timers::default(), Vec::new());
        (0..3).for_each(|n| cases.add(7, event(n, "a"), &mut timers, &mut out));
        let id = out[0].id.clone();
        assert!(cases.resolve("crowd/target:t/1", resolution(10), &mut timers, &mut out).is_none());
        out.clear();
        let told = cases.resolve(&id, resolution(10), &mut timers, &mut out).expect("open");
        assert_eq!((told.status, told.events), (CaseStatus::Resolved, 3));
        assert_eq!(out, [told]);
        assert!(cases.resolve(&id, resolution(11), &mut timers, &mut out).is_none());
        out.clear();
        (20..22).for_each(|secs| cases.add(7, event(secs, "b"), &mut timers, &mut out));
        assert_eq!((out.len(), cases.counts().0), (0, 0));
        cases.add(7, event(22, "b"), &mut timers, &mut out);
        assert_eq!(
            out.iter().map(|case| (case.status, case.events)).collect::<Vec<_>>(),
            [(CaseStatus::Opened, 3)]
        );
        assert_ne!(out[0].id, id);
    }

    #[test]
    fn a_decided_case_opens_anew_after_a_week() {
        let (mut cases, mut timers, mut out) = (Cases::default(), Timers::default(), Vec::new());
        (0..9).for_each(|n| cases.add(7, event(n, "a"), &mut timers, &mut out));
        let id = out[0].id.clone();
        cases.resolve(&id, resolution(10), &mut timers, &mut out);
        out.clear();
        let week = 7 * 86_400;
        cases.add(7, event(week + 9, "a"), &mut timers, &mut out);
        assert!(out.is_empty());
        cases.add(7, event(week + 10, "a"), &mut timers, &mut out);
        assert_eq!((out[0].status, out[0].events), (CaseStatus::Opened, 1));
    }

    /// Of a state that is lost the events up to the last telling are known; what came since is counted anew.
    #[test]
    fn a_case_that_is_taken_over_goes_on_where_it_was() {
        let (mut cases, mut timers, mut told) = (Cases::default(), Timers::default(), Vec::new());
        (0..11).for_each(|n| cases.add(7, event(n, "a"), &mut timers, &mut told));
        let last = told.pop().expect("told at eight");
        assert_eq!((last.events, last.updated_at), (8, Timestamp::from_millis(7_000)));

        let (mut again, mut timers, mut out) = (Cases::default(), Timers::default(), Vec::new());
        again.take_over(7, last.clone(), &mut timers);
        (0..11).for_each(|n| again.add(7, event(n, "a"), &mut timers, &mut out));
        again.taken_over();
        assert!(out.is_empty());
        (11..16).for_each(|n| again.add(7, event(n, "b"), &mut timers, &mut out));
        assert_eq!(
            out.iter().map(|case| (case.events, case.status)).collect::<Vec<_>>(),
            [(16, CaseStatus::Grown)]
        );
        assert_eq!((&out[0].id, out[0].opened_at), (&last.id, last.opened_at));
        assert!(timers.first_due().is_some());
        assert!(again.resolve(&last.id, resolution(20), &mut timers, &mut out).is_some());
    }

    #[test]
    fn a_decision_that_is_taken_over_still_settles_its_matter() {
        let (mut cases, mut timers, mut told) = (Cases::default(), Timers::default(), Vec::new());
        (0..4).for_each(|n| cases.add(7, event(n, "a"), &mut timers, &mut told));
        let id = told[0].id.clone();
        let resolved = cases.resolve(&id, resolution(10), &mut timers, &mut told).expect("open");

        let (mut again, mut timers, mut out) = (Cases::default(), Timers::default(), Vec::new());
        again.take_over(7, resolved, &mut timers);
        (0..4).for_each(|n| again.add(7, event(n, "a"), &mut timers, &mut out));
        again.taken_over();
        (20..23).for_each(|n| again.add(7, event(n, "b"), &mut timers, &mut out));
        assert!(out.is_empty());
        again.add(7, event(23, "b"), &mut timers, &mut out);
        assert_eq!((out.len(), out[0].events), (1, 4));
    }

    #[test]
    fn a_quiet_case_can_still_be_decided() {
        let (mut cases, mut timers, mut out) = (Cases::default(), Timers::default(), Vec::new());
        cases.add(7, event(0, "a"), &mut timers, &mut out);
        cases.quiet(7, Timestamp::from_millis(86_400_000), &mut timers, &mut out);
        let id = out[0].id.clone();
        assert!(cases.resolve(&id, resolution(90_000), &mut timers, &mut out).is_some());
        assert_eq!(out.last().map(|case| case.status), Some(CaseStatus::Resolved));
    }
}
