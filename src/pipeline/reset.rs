//! Reset: state begins anew where none can be restored. What is told again is told as a new line of the journal.
//!
//! The bans come from their topic and the commands from the beginning of theirs; the inputs of the longest window are
//! applied untold. All of it is journalled in one transaction, so that a follower comes to the same state. Inputs that
//! are no longer held cannot warm anything up: decisions say `warming_up` until the window has passed.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::clock;
use crate::engine::Engine;
use crate::engine::policy::Policy;
use crate::engine::time::{Span, Timestamp};
use crate::stream::Topic;
use crate::wire::ban::BanRecord;
use crate::wire::journal::JournalKind;

use super::batch::Batch;
use super::commit::Job;
use super::follow::Foundry;
use super::line::{Entry, Line, Range};
use super::logs::{FollowError, Logs};
use super::positions::beginning;
use super::replica::{Replica, Work};
use super::score::Report;

/// Bans a record of the journal holds at most: about 300 bytes each.
const BANS_A_RECORD: usize = 1_000;
/// Offsets that are applied together at most.
const SLICE_OFFSETS: i64 = 100_000;
/// The span of append time of the first slice.
const SLICE: Span = Span::from_secs(600);

/// Makes state anew, under a policy and at positions that the logs tell; what is to be told of it is put into `job`.
/// `now` is where the longest window ends.
///
/// # Errors
/// The brokers do not answer, or inputs cannot be read.
pub fn reset(
    foundry: &Foundry,
    logs: &mut impl Logs,
    policy: Arc<Policy>,
    now: Timestamp,
    job: &mut Job,
) -> Result<Replica, FollowError> {
    let positions = beginning(logs, &foundry.names)?;
    let line = Line::begin(format!("{now}-{}", foundry.shard), positions, foundry.basis.clone());
    let replica = foundry.replica(Engine::new(Arc::clone(&policy), foundry.seed), line);
    let mut renewal = Renewal { replica, job, policy };
    renewal.add(JournalKind::Reset, &[], &Batch::default(), &[]);
    renewal.commands(logs)?;
    renewal.bans(logs)?;
    renewal.interactions(logs, now)?;
    renewal.add(JournalKind::Ready, &[], &Batch::default(), &[]);
    Ok(renewal.replica)
}

/// A reset under way.
struct Renewal<'r> {
    replica: Replica,
    job: &'r mut Job,
    policy: Arc<Policy>,
}

impl Renewal<'_> {
    /// Applies one entry and journals it.
    fn add(&mut self, kind: JournalKind, ranges: &[Range], batch: &Batch, bans: &[BanRecord]) {
        let policy = self.policy.hash.to_string();
        let entry = Entry { kind, policy, ticks: Vec::new(), ranges: ranges.to_vec(), skipped: Vec::new() };
        let work = Work { entry: &entry, policy: None, batch, bans, decided_at: clock::now() };
        self.replica.lead(&work, &BTreeSet::new(), self.job);
        // Nothing was consumed: what was read is the past. What changed of bans is all there is to tell.
        let bans = std::mem::take(&mut self.job.report.bans);
        self.job.report = Report { bans, ..Report::default() };
    }

    /// Every command that is held, from the first on: exemptions and pardons are made of them.
    fn commands(&mut self, logs: &mut impl Logs) -> Result<(), FollowError> {
        let mut ranges = Vec::new();
        let commands = self.replica.line.positions.iter().filter(|((topic, _), _)| *topic == Topic::Commands);
        for (&(topic, partition), &to) in commands {
            let from = logs.held(topic, partition)?.0;
            if from < to {
                ranges.push(Range { topic, partition, from, to });
            }
        }
        self.warm(logs, &ranges)
    }

    fn bans(&mut self, logs: &mut impl Logs) -> Result<(), FollowError> {
        let bans = logs.bans()?;
        tracing::info!(entities = bans.len(), "bans in force taken over from their topic");
        let records: Vec<BanRecord> = bans.values().filter_map(|bans| BanRecord::in_force(bans)).collect();
        // Also without any: that the topic holds none is known from then on.
        self.add(JournalKind::Bans, &[], &Batch::default(), &records[..records.len().min(BANS_A_RECORD)]);
        for part in records.chunks(BANS_A_RECORD).skip(1) {
            self.add(JournalKind::Bans, &[], &Batch::default(), part);
        }
        Ok(())
    }

    /// The interactions of the longest window, in slices of append time.
    fn interactions(&mut self, logs: &mut impl Logs, now: Timestamp) -> Result<(), FollowError> {
        let window = self.replica.scorer.engine().longest_window();
        let mut at = now.before(window).before(self.policy.settings.grace);
        let mut from = self.at_time(logs, at)?;
        let end = self.ends();
        let (mut slice, mut read) = (SLICE, 0);
        while from != end {
            let next = at.after(slice);
            let to = if next > now { end.clone() } else { self.at_time(logs, next)? };
            let offsets = count(&from, &to);
            if offsets > SLICE_OFFSETS && slice > Span::from_millis(1) {
                slice = Span::from_millis((slice.millis() / 2).max(1));
                continue;
            }
            self.warm(logs, &ranges(&from, &to))?;
            read += offsets;
            tracing::info!(read, left = count(&to, &end), "warming up with the inputs of the longest window");
            (at, from, slice) = (next, to, SLICE.min(Span::from_millis(slice.millis().saturating_mul(2))));
        }
        Ok(())
    }

    fn warm(&mut self, logs: &mut impl Logs, ranges: &[Range]) -> Result<(), FollowError> {
        if ranges.is_empty() {
            return Ok(());
        }
        let batch = logs.batch(ranges, &self.replica.line.positions)?;
        self.add(JournalKind::Warm, ranges, &batch, &[]);
        Ok(())
    }

    /// Where the state stands in the interactions: what warms up lies before.
    fn ends(&self) -> Vec<i64> {
        let each = self.replica.line.positions.iter();
        each.filter(|((topic, _), _)| *topic == Topic::Interactions).map(|(_, next)| *next).collect()
    }

    /// The first offset of each partition at a time, within what is held and the positions.
    fn at_time(&self, logs: &mut impl Logs, at: Timestamp) -> Result<Vec<i64>, FollowError> {
        let ends = self.ends();
        let mut offsets = Vec::new();
        let mut lows = Vec::new();
        for (partition, end) in (0..).zip(&ends) {
            lows.push(logs.held(Topic::Interactions, partition)?.0.min(*end));
        }
        if lows == ends {
            return Ok(ends);
        }
        let found = logs.at_time(Topic::Interactions, at)?;
        for ((low, end), found) in lows.into_iter().zip(ends).zip(found) {
            offsets.push(found.unwrap_or(end).clamp(low, end));
        }
        Ok(offsets)
    }
}

fn count(from: &[i64], to: &[i64]) -> i64 {
    from.iter().zip(to).map(|(from, to)| to - from).sum()
}

fn ranges(from: &[i64], to: &[i64]) -> Vec<Range> {
    let each = (0..).zip(from.iter().zip(to)).filter(|(_, (from, to))| from < to);
    each.map(|(partition, (from, to))| Range { topic: Topic::Interactions, partition, from: *from, to: *to })
        .collect()
}
