//! Intake: gathers what the readers bring into batches, and keeps partitions together.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::{self, Stopwatch};
use crate::stream::{Input, InputEvent, InputLimits, InputProblem, RecordBatch, Topic, TopicStart};

use super::lead::Leads;
use super::line::Positions;
use super::shard::{ShardError, ShardSettings};

/// How long a question to the brokers may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// See the module.
pub(super) struct Intake {
    settings: Arc<ShardSettings>,
    input: Input,
    leads: Leads,
    started: Stopwatch,
}

impl Intake {
    /// Reads every input partition from its position on.
    pub(super) fn open(settings: Arc<ShardSettings>, positions: &Positions) -> Result<Self, ShardError> {
        let limits = InputLimits { batch_records: settings.records_max.min(5_000), ..InputLimits::default() };
        let starts: Vec<TopicStart> =
            Topic::INPUTS.into_iter().filter_map(|topic| start(topic, positions)).collect();
        let input = Input::open(&settings.kafka, &settings.names, &starts, limits, PATIENCE)?;
        Ok(Self { settings, input, leads: Leads::default(), started: Stopwatch::start() })
    }

    /// Records until the interval is over, enough are there, or there is something else to do. While the batch before is
    /// being committed (not `free`) this one may grow; for partitions that are known to have older records it waits a little.
    pub(super) fn gather(
        &mut self,
        mut free: impl FnMut() -> Result<bool, ShardError>,
        stop: impl Fn() -> bool,
    ) -> Result<Vec<Arc<RecordBatch>>, ShardError> {
        let (watch, mut gathered, mut records) = (Stopwatch::start(), Vec::new(), 0);
        let mut seen = BTreeSet::new();
        loop {
            let free = free()?;
            let left = self.settings.interval.saturating_sub(watch.elapsed());
            let over = left.is_zero() && free && !self.awaits(&seen, watch.elapsed());
            if over || records >= self.settings.records_max || stop() {
                return Ok(gathered);
            }
            if let Some(more) = self.read(left.max(Duration::from_millis(1)))? {
                records += more.len();
                self.leads.note(&more, self.started.elapsed());
                let interactions = more.iter().filter(|record| record.at.topic == Topic::Interactions);
                seen.extend(interactions.map(|record| record.at.partition));
                gathered.push(Arc::new(more));
                self.keep_together();
            }
        }
    }

    fn read(&self, patience: Duration) -> Result<Option<RecordBatch>, InputProblem> {
        match self.input.next(patience) {
            InputEvent::Records(more) => return Ok(Some(more)),
            InputEvent::Problem(problem) if problem.stops => return Err(problem),
            InputEvent::Problem(problem) => tracing::warn!(%problem.error, topic = %problem.topic, "reading"),
            InputEvent::Idle => {}
        }
        Ok(None)
    }

    /// Whether it is worth waiting for a partition that brought nothing to this batch.
    fn awaits(&self, seen: &BTreeSet<i32>, gathered: Duration) -> bool {
        let patience = self.settings.interval.saturating_add(self.settings.merge_wait);
        // A batch without records would wait for the same partitions again and again.
        !seen.is_empty()
            && gathered < patience
            && self.leads.awaits(seen, clock::now(), self.started.elapsed())
    }

    /// Pauses partitions that run ahead, and goes on with those that were waited for.
    pub(super) fn keep_together(&mut self) {
        let change = self.leads.change(self.settings.lead_span, self.started.elapsed());
        if !change.pause.is_empty() {
            tracing::debug!(partitions = ?change.pause, "paused: ahead of the slowest");
            self.input.pause(Topic::Interactions, &change.pause);
        }
        if !change.resume.is_empty() {
            tracing::debug!(partitions = ?change.resume, "resumed");
            self.input.resume(Topic::Interactions, &change.resume);
        }
    }

    /// Whether no partition is known to have anything older than what is appended now.
    pub(super) fn is_caught_up(&self) -> bool {
        self.leads.is_caught_up(clock::now(), self.started.elapsed())
    }

    /// Gives used records back, to be filled again.
    pub(super) fn recycle(&self, records: Vec<Arc<RecordBatch>>) {
        records.into_iter().filter_map(Arc::into_inner).for_each(|records| self.input.recycle(records));
    }

    /// Ends the readers, waiting a moment for them.
    pub(super) fn close(self) {
        self.input.close(Duration::from_secs(1));
    }
}

fn start(topic: Topic, positions: &Positions) -> Option<TopicStart> {
    let of = positions.iter().filter(|((known, _), _)| *known == topic);
    let positions: Vec<_> = of.map(|((_, partition), next)| (*partition, *next)).collect();
    (!positions.is_empty()).then_some(TopicStart { topic, positions })
}
