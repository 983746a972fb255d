//! Arrive: from a producer's clock to effective time, and how far each partition has come.

use std::collections::BTreeMap;

use super::Engine;
use super::command::Command;
use super::decision::QualityCode;
use super::event::{Arrival, Event};
use super::input::DeadLetterReason;
use super::time::{Span, Timestamp};

/// An event that claims to be further ahead of its append time than the policy lets any clock be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Future;

/// A partition this far behind the fastest one no longer holds back sweeping.
const IDLE: Span = Span::from_secs(86_400);

impl Engine {
    /// The effective time of an event: `occurred_at` held within `[append - grace, append + skew]`, and whether that
    /// moved it. Such a record changes no time when it is refused.
    pub(super) fn arrive(
        &mut self,
        event: &Event<'_>,
        arrival: &Arrival<'_>,
    ) -> Result<(Timestamp, Option<QualityCode>), DeadLetterReason> {
        let settings = &self.policy.settings;
        let (occurred, append) = (event.occurred_at, arrival.append_time);
        if occurred > append.after(settings.max_skew) {
            return Err(Future.into());
        }
        let (earliest, latest) = (append.before(settings.grace), append.after(settings.skew));
        let arrived = match occurred {
            at if at < earliest => (earliest, Some(QualityCode::Late)),
            at if at > latest => (latest, Some(QualityCode::Early)),
            at => (at, None),
        };
        self.watermark.note(arrival, arrived.0);
        self.sweep();
        Ok(arrived)
    }

    /// The time of a command: when it was asked, but never after the log took it.
    pub(super) fn command_time(&self, command: &Command, arrival: &Arrival<'_>) -> Timestamp {
        command.at.min(arrival.append_time)
    }
}

/// How far each partition has come in event time.
#[derive(Clone, Debug, Default)]
pub(super) struct Watermark {
    /// By partition number; topics that share a number share an entry, which errs on the slow side.
    partitions: BTreeMap<i32, Timestamp>,
    newest: Timestamp,
}

impl Watermark {
    fn note(&mut self, arrival: &Arrival<'_>, at: Timestamp) {
        let reached = self.partitions.entry(arrival.partition).or_insert(at);
        *reached = (*reached).max(at);
        self.newest = self.newest.max(at);
    }

    /// The time of the slowest partition; a silent one holds back sweeping for a day at most.
    pub(super) fn slowest(&self) -> Timestamp {
        let slowest = self.partitions.values().min().copied().unwrap_or(self.newest);
        slowest.max(self.newest.before(IDLE))
    }
}
