//! The records of a topic in the order in which they were applied, or would have been.

use std::sync::Arc;
use std::time::Duration;

use super::hearing::Hearing;
use crate::backtest::Range;
use crate::commands::{Failure, setup};
use crate::config::Config;
use crate::engine::Input;
use crate::engine::case::Case;
use crate::engine::policy::Policy;
use crate::engine::time::{Span, Timestamp};
use crate::pipeline::{self, KafkaLogs, Line, Logs, Positions, ShardSettings};
use crate::stream::{Topic, TopicNames};
use crate::wire::interaction::DecodeLimits;
use crate::wire::journal::{JournalKind, JournalRecord};

/// About so many records are merged at a time at most.
const SLICE: i64 = 100_000;
/// The first slice of time, and the longest.
const SLICE_FIRST: Span = Span::from_secs(60);
const SLICE_LONGEST: Span = Span::from_secs(86_400);
/// How long the journal is listened to at a time.
const PATIENCE: Duration = Duration::from_millis(100);

/// See the module.
pub(super) struct Source {
    logs: KafkaLogs,
    settings: Arc<ShardSettings>,
    limits: DecodeLimits,
    policy: Arc<Policy>,
}

impl Source {
    pub(super) fn open(
        config: &Config,
        names: TopicNames,
        policy: Arc<Policy>,
        limits: DecodeLimits,
    ) -> Result<Self, Failure> {
        let settings = Arc::new(ShardSettings {
            kafka: setup::kafka(config),
            names,
            shard: 0,
            interval: setup::lasting(config.batch.interval),
            records_max: config.batch.records_max,
            merge_wait: setup::lasting(config.batch.merge_wait),
            lead_span: config.batch.lead_span,
            checkpoint_every: setup::lasting(config.state.checkpoint_interval),
            ticks: false,
        });
        let logs = KafkaLogs::new(Arc::clone(&settings), Arc::clone(&policy))?;
        Ok(Self { logs, settings, limits, policy })
    }

    pub(super) fn settings(&self) -> &Arc<ShardSettings> {
        &self.settings
    }

    /// All that the journal covers, in its order; returns the order in words.
    pub(super) fn follow(&mut self, hearing: &mut Hearing) -> Result<&'static str, Failure> {
        let (low, end) = self.logs.journal_held()?;
        let (mut next, mut line, mut taken) = (low, None, false);
        while next < end {
            let page = self.logs.journal(next, PATIENCE)?;
            for (offset, record) in page.records.iter().take_while(|(offset, _)| *offset < end) {
                self.record(record, &mut line, &mut taken, hearing)?;
                next = offset + 1;
            }
            next = next.max(page.next);
        }
        Ok("that of the journal: the very order in which it was live")
    }

    fn record(
        &mut self,
        record: &JournalRecord,
        line: &mut Option<Line>,
        taken: &mut bool,
        hearing: &mut Hearing,
    ) -> Result<(), Failure> {
        let names = self.settings.names.clone();
        if record.kind == JournalKind::Reset {
            hearing.pass.begin_anew();
            *line = Some(Line::of_reset(record, &names, &record.basis).map_err(pipeline::FollowError::from)?);
            *taken = false;
        }
        let line = line.get_or_insert_with(|| {
            let text =
                "the journal does not hold the beginning of its line of state: what was before is not known";
            hearing.notes.push(text.to_owned());
            middle(record, &names)
        });
        let entry = line.expect(record, &names).map_err(pipeline::FollowError::from)?;
        let batch = self.logs.batch(&entry.ranges, &line.positions)?;
        let policy = self.logs.policy(&entry.policy).unwrap_or_else(|_| Arc::clone(&self.policy));
        match entry.kind {
            JournalKind::Reset => {}
            JournalKind::Bans => {
                let bans: Vec<_> = record.bans.iter().map(|record| record.clone().into_bans()).collect();
                let cases: Vec<Case> = record.cases.iter().cloned().map(Case::from).collect();
                hearing.pass.take_over(!std::mem::replace(taken, true), &bans, &cases);
            }
            JournalKind::Ready => hearing.pass.taken_over(),
            JournalKind::Batch | JournalKind::Warm => {
                hearing.pass.mute(entry.kind == JournalKind::Warm);
                entry.ticks.iter().for_each(|now| hearing.pass.input(&Input::Tick(*now)));
                hearing.people(&batch);
                hearing.events(&batch, &policy.settings, &self.limits, &entry.skipped);
                hearing.pass.mute(false);
            }
        }
        if entry.kind == JournalKind::Batch {
            let moved = entry.ranges.iter().map(|range| ((range.topic, range.partition), range.to));
            line.positions.extend(moved);
        }
        line.next += 1;
        Ok(())
    }

    /// The interactions of a range with its warm-up, merged by time; returns the order in words.
    pub(super) fn merged(&mut self, range: Range, hearing: &mut Hearing) -> Result<&'static str, Failure> {
        let (mut at, to) = self.spans(range, hearing)?;
        let (mut time, mut width) = (self.earliest(&at, &to)?, SLICE_FIRST);
        while at.iter().zip(&to).any(|(at, to)| at < to) {
            let (next, end) = self.slice(&at, &to, (time, &mut width))?;
            if next == at {
                // Nothing for a while: on to where there is something.
                time = end.max(self.earliest(&at, &to)?);
                continue;
            }
            let positions = positions(&at);
            let ranges: Vec<_> = (0..).zip(at.iter().zip(&next)).filter_map(of_partition).collect();
            let batch = self.logs.batch(&ranges, &positions)?;
            hearing.events(&batch, &self.policy.settings, &self.limits, &[]);
            (at, time) = (next, end);
        }
        Ok("partitions merged by time: live may have taken events of a moment in another order")
    }

    /// Where each partition begins and ends for a range.
    fn spans(&mut self, range: Range, hearing: &mut Hearing) -> Result<(Vec<i64>, Vec<i64>), Failure> {
        let topic = Topic::Interactions;
        let begin = range.begins().unwrap_or_default();
        let from = self.logs.at_time(topic, begin)?;
        let until = range.until.map(|until| self.logs.at_time(topic, until)).transpose()?;
        let (mut at, mut to) = (Vec::new(), Vec::new());
        for (partition, from) in (0..).zip(from) {
            let (low, high) = self.logs.held(topic, partition)?;
            let from = from.unwrap_or(high).clamp(low, high);
            if from == low && low > 0 {
                let name = self.settings.names.get(topic);
                hearing
                    .notes
                    .push(format!("{name}/{partition} begins at offset {low}: what came before is gone"));
            }
            let end = until.as_ref().and_then(|until| until.get(partition as usize).copied().flatten());
            at.push(from);
            to.push(end.unwrap_or(high).clamp(from, high));
        }
        Ok((at, to))
    }

    /// The next slice of time: where each partition goes on behind it, and its end. As long as a slice holds too much, it is
    /// halved; where it holds little the next one is longer.
    fn slice(
        &mut self,
        at: &[i64],
        to: &[i64],
        (time, width): (Timestamp, &mut Span),
    ) -> Result<(Vec<i64>, Timestamp), Failure> {
        loop {
            let end = time.after(*width);
            let found = self.logs.at_time(Topic::Interactions, end)?;
            let bound = |(found, (at, to)): (Option<i64>, (&i64, &i64))| found.unwrap_or(*to).clamp(*at, *to);
            let next: Vec<i64> = found.into_iter().zip(at.iter().zip(to)).map(bound).collect();
            let count: i64 = next.iter().zip(at).map(|(next, at)| next - at).sum();
            if count > SLICE && width.millis() > 1 {
                *width = Span::from_millis(width.millis() / 2);
                continue;
            }
            if count < SLICE / 8 {
                *width = width.times(2).min(SLICE_LONGEST);
            }
            return Ok((next, end));
        }
    }

    /// When the first record at or behind these offsets was appended.
    fn earliest(&mut self, at: &[i64], to: &[i64]) -> Result<Timestamp, Failure> {
        let one = |(at, to): (&i64, &i64)| (*at, (*at + 1).min(*to));
        let firsts: Vec<(i64, i64)> = at.iter().zip(to).map(one).collect();
        let ranges: Vec<_> =
            (0..).zip(firsts.iter().map(|(at, next)| (at, next))).filter_map(of_partition).collect();
        let batch = self.logs.batch(&ranges, &positions(at))?;
        let times = batch.in_lanes(Topic::Interactions).filter_map(|record| super::hearing::stamp(&record));
        Ok(times.min().unwrap_or_default())
    }
}

fn positions(at: &[i64]) -> Positions {
    (0..).zip(at).map(|(partition, at)| ((Topic::Interactions, partition), *at)).collect()
}

/// The range of a partition, unless it is empty.
fn of_partition((partition, (from, to)): (i32, (&i64, &i64))) -> Option<pipeline::Range> {
    let range = pipeline::Range { topic: Topic::Interactions, partition, from: *from, to: *to };
    (from < to).then_some(range)
}

/// The line of a journal whose beginning is gone, before this record.
fn middle(record: &JournalRecord, names: &TopicNames) -> Line {
    let topic = |name: &str| Topic::INPUTS.into_iter().find(|topic| names.get(*topic) == name);
    let mut positions = Positions::new();
    for at in &record.positions {
        positions.extend(topic(&at.topic).map(|topic| ((topic, at.partition), at.offset)));
    }
    for range in &record.ranges {
        positions.extend(topic(&range.topic).map(|topic| ((topic, range.partition), range.from)));
    }
    let line = Line::begin(record.lineage.clone(), positions, record.basis.clone());
    Line { next: record.seq, ..line }
}
