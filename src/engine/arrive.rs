//! Arrive: from a producer's clock to effective time, and how far each partition has come.

mod saved;

use std::collections::BTreeMap;

use super::Engine;
use super::command::Command;
use super::decision::QualityCode;
use super::event::{Arrival, Event};
use super::input::DeadLetterReason;
use super::time::{Span, Timestamp};

/// A partition this far behind the fastest one no longer holds back sweeping.
const IDLE: Span = Span::from_secs(86_400);

impl Engine {
    /// The effective time of an event, and whether it was moved there. An event that is refused moves no time.
    pub(super) fn arrive(
        &mut self,
        event: &Event<'_>,
        arrival: &Arrival<'_>,
    ) -> Result<(Timestamp, Option<QualityCode>), DeadLetterReason> {
        let arrived = self.policy.settings.effective_time(event.occurred_at, arrival.append_time)?;
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
