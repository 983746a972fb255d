//! Whether this instance can serve, check by check, in words; and whether it still moves.
//!
//! Shared: the pipeline sets checks, `/readyz` and `/healthz` read them. Ready means that every check passes; not
//! ready means that traffic should wait, not that anything is broken. Healthy means that the pipeline has moved
//! within the stall time, or has not started yet; unhealthy means a restart would help.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::metrics;

/// What must hold before this instance is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// A policy is in force.
    Policy,
    /// A broker answers.
    Brokers,
    /// The topics are there and as they must be.
    Topics,
    /// This instance owns a shard.
    Shard,
    /// The map of current bans is complete.
    Bans,
    /// Events are being scored.
    Scoring,
}

impl Check {
    /// All checks, in the order in which a start passes them.
    pub const ALL: [Check; 6] =
        [Check::Policy, Check::Brokers, Check::Topics, Check::Shard, Check::Bans, Check::Scoring];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Check::Policy => "policy",
            Check::Brokers => "brokers",
            Check::Topics => "topics",
            Check::Shard => "shard",
            Check::Bans => "bans",
            Check::Scoring => "scoring",
        }
    }

    /// What is missing before anything was said about it.
    const fn at_first(self) -> &'static str {
        match self {
            Check::Policy => "no policy is loaded yet",
            Check::Brokers => "no broker has answered yet",
            Check::Topics => "the topics have not been looked at yet",
            Check::Shard => "this instance owns no shard yet: another one does, or the group is settling",
            Check::Bans => "the current bans have not been read yet",
            Check::Scoring => "scoring has not started yet",
        }
    }
}

/// One check as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckState {
    /// Which.
    pub check: Check,
    /// What is missing, in words; `None` when it passes.
    pub missing: Option<String>,
}

/// All checks as they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Every check, in order.
    pub checks: Vec<CheckState>,
    /// What does not hinder but should be known, for instance a policy change that was refused.
    pub notes: Vec<String>,
    /// Whether the process is shutting down.
    pub stopping: bool,
}

impl Report {
    /// Whether traffic may come.
    pub fn ready(&self) -> bool {
        !self.stopping && self.checks.iter().all(|check| check.missing.is_none())
    }
}

/// The shared checks of one process.
#[derive(Debug)]
pub struct Readiness {
    report: Mutex<Report>,
    /// What is wrong with the stream, which does not hinder either.
    alarm: Mutex<Option<String>>,
    moved: Mutex<Option<Stopwatch>>,
}

impl Default for Readiness {
    fn default() -> Self {
        Self::new()
    }
}

impl Readiness {
    /// Nothing passes yet.
    pub fn new() -> Self {
        let missing = |check: Check| CheckState { check, missing: Some(check.at_first().to_owned()) };
        let checks = Check::ALL.map(missing).to_vec();
        let report = Report { checks, notes: Vec::new(), stopping: false };
        metrics::ready(false);
        Self { report: Mutex::new(report), alarm: Mutex::new(None), moved: Mutex::new(None) }
    }

    /// The check passes.
    pub fn pass(&self, check: Check) {
        self.set(check, None);
    }

    /// The check fails; `missing` says what is missing, in words that an operator can act on.
    pub fn fail(&self, check: Check, missing: impl Into<String>) {
        self.set(check, Some(&missing.into()));
    }

    fn set(&self, check: Check, missing: Option<&String>) {
        self.change(|report| {
            for state in report.checks.iter_mut().filter(|state| state.check == check) {
                state.missing = missing.cloned();
            }
        });
    }

    /// Replaces what does not hinder but should be known; empty when there is nothing.
    pub fn set_notes(&self, notes: Vec<String>) {
        self.change(|report| report.notes = notes);
    }

    /// Sets or ends an alarm about the stream; it is told after the notes.
    pub fn set_alarm(&self, alarm: Option<String>) {
        *self.alarm.lock().unwrap_or_else(PoisonError::into_inner) = alarm;
    }

    /// The process is shutting down: not ready any more, whatever the checks say. Comes first in a shutdown.
    pub fn stop(&self) {
        self.change(|report| report.stopping = true);
    }

    fn change(&self, change: impl FnOnce(&mut Report)) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut report);
        metrics::ready(report.ready());
    }

    /// The checks as they stand.
    pub fn report(&self) -> Report {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        report.notes.extend(self.alarm.lock().unwrap_or_else(PoisonError::into_inner).clone());
        report
    }

    /// The pipeline has moved: called in each turn of its loop, also when there is nothing to do.
    pub fn beat(&self) {
        *self.moved.lock().unwrap_or_else(PoisonError::into_inner) = Some(Stopwatch::start());
    }

    /// Time since the pipeline last moved; `None` before it started.
    pub fn still_for(&self) -> Option<Duration> {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner).map(Stopwatch::elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_is_when_every_check_passes_and_nothing_stops() {
        let readiness = Readiness::new();
        for check in Check::ALL {
            assert!(!readiness.report().ready());
            readiness.pass(check);
        }
        assert!(readiness.report().ready());
        readiness.fail(Check::Shard, "another instance owns shard 0");
        let report = readiness.report();
        assert!(!report.ready());
        assert_eq!(report.checks[3].missing.as_deref(), Some("another instance owns shard 0"));
        readiness.pass(Check::Shard);
        readiness.set_notes(vec!["the changed policy was refused".into()]);
        assert!(readiness.report().ready(), "a note does not hinder");
        readiness.set_alarm(Some("nothing can be decided".into()));
        let notes = |readiness: &Readiness| readiness.report().notes;
        assert_eq!(notes(&readiness), ["the changed policy was refused", "nothing can be decided"]);
        readiness.set_notes(Vec::new());
        assert_eq!(notes(&readiness), ["nothing can be decided"]);
        readiness.stop();
        assert!(!readiness.report().ready());
    }

    #[test]
    fn a_pipeline_that_has_not_started_is_not_still() {
        let readiness = Readiness::new();
        assert_eq!(readiness.still_for(), None);
        readiness.beat();
        assert!(readiness.still_for().is_some_and(|still| still < Duration::from_secs(60)));
    }
}
