//! Who is ahead of whom: what is known of each partition of the interactions, and which of them to pause.
//!
//! In catch-up, partitions are read at different speeds; one that runs ahead would age the events of the others. So a
//! partition that leads the slowest one by more than a span of append time is paused, and goes on when its lead is
//! half of it. A partition that has come to its end holds nobody back, nor does one that brought nothing for a while:
//! its broker may be gone. Pure: times come from the caller.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::engine::time::{Span, Timestamp};
use crate::stream::{RecordBatch, Topic};

/// A partition that brought nothing for so long, without having come to its end, is not waited for.
const SILENT: Duration = Duration::from_secs(10);
/// A partition whose newest record is older than this has more to bring: it is not waiting for new ones.
const LIVE: Span = Span::from_secs(1);

/// What is known of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// Newest append time read.
    pub(super) at: Timestamp,
    /// Nothing came after the end that was seen last.
    pub(super) ended: bool,
    /// Not read for now, because it leads.
    pub(super) paused: bool,
    /// When it brought something last, since the start of the shard.
    pub(super) moved: Duration,
}

impl Standing {
    /// Whether others wait for it.
    fn counts(&self, since_start: Duration) -> bool {
        !self.ended && (self.paused || since_start.saturating_sub(self.moved) < SILENT)
    }
}

/// What to ask of the reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) pause: Vec<i32>,
    pub(super) resume: Vec<i32>,
}

/// The standing of all partitions that were heard of.
#[derive(Debug, Default)]
pub(super) struct Leads {
    lanes: BTreeMap<i32, Standing>,
}

impl Leads {
    /// Takes note of what was read. `since_start` is the time since the start of the shard.
    pub(super) fn note(&mut self, records: &RecordBatch, since_start: Duration) {
        for record in records.iter().filter(|record| record.at.topic == Topic::Interactions) {
            let at = super::score::append_time(&record, Timestamp::default());
            let lane = self.lane(record.at.partition, since_start);
            lane.at = lane.at.max(at);
            lane.ended = false;
        }
        for end in records.ends().iter().filter(|end| end.topic == Topic::Interactions) {
            self.lane(end.partition, since_start).ended = true;
        }
    }

    fn lane(&mut self, partition: i32, since_start: Duration) -> &mut Standing {
        let new = Standing { at: Timestamp::default(), ended: false, paused: false, moved: Duration::ZERO };
        let lane = self.lanes.entry(partition).or_insert(new);
        lane.moved = since_start;
        lane
    }

    /// Which partitions to pause and which to go on with; they are taken to be so from now on.
    pub(super) fn change(&mut self, span: Span, since_start: Duration) -> Change {
        let paused = leaders(&self.lanes, span, since_start);
        let mut change = Change::default();
        for (partition, lane) in &mut self.lanes {
            match (lane.paused, paused.contains(partition)) {
                (false, true) => change.pause.push(*partition),
                (true, false) => change.resume.push(*partition),
                _ => continue,
            }
            lane.paused = !lane.paused;
            lane.moved = since_start;
        }
        change
    }

    /// Whether a partition outside of `seen` is known to have more, older than what is appended now.
    pub(super) fn awaits(&self, seen: &BTreeSet<i32>, now: Timestamp, since_start: Duration) -> bool {
        let behind = |lane: &Standing| !lane.paused && is_behind(lane, now, since_start);
        self.lanes.iter().any(|(partition, lane)| !seen.contains(partition) && behind(lane))
    }

    /// Whether no partition is known to have anything older than what is appended now.
    pub(super) fn is_caught_up(&self, now: Timestamp, since_start: Duration) -> bool {
        !self.lanes.values().any(|lane| is_behind(lane, now, since_start))
    }
}

fn is_behind(lane: &Standing, now: Timestamp, since_start: Duration) -> bool {
    lane.counts(since_start) && now.since(lane.at) > LIVE
}

/// The partitions that should be paused: more than `span` ahead of the slowest one that has more to bring, or already
/// paused and still more than half of it ahead.
pub(super) fn leaders(lanes: &BTreeMap<i32, Standing>, span: Span, since_start: Duration) -> BTreeSet<i32> {
    let waited_for = lanes.values().filter(|lane| lane.counts(since_start));
    let Some(slowest) = waited_for.map(|lane| lane.at).min() else { return BTreeSet::new() };
    let half = Span::from_millis(span.millis() / 2);
    let leads = |lane: &Standing| {
        let bound = if lane.paused { half } else { span };
        !lane.ended && lane.at.since(slowest) > bound
    };
    lanes.iter().filter(|(_, lane)| leads(lane)).map(|(partition, _)| *partition).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Coordinates, PartitionEnd, Timestamp as Stamp};

    const SPAN: Span = Span::from_secs(30);
    const SOON: Duration = Duration::from_secs(1);

    fn read(leads: &mut Leads, partition: i32, seconds: &[i64]) {
        let mut records = RecordBatch::default();
        for (offset, second) in (0..).zip(seconds) {
            let at = Coordinates { topic: Topic::Interactions, partition, offset };
            records.push(at, Stamp::Append(second * 1000), None, Some(b"{}"));
        }
        leads.note(&records, SOON);
    }

    fn end(leads: &mut Leads, partition: i32) {
        let mut records = RecordBatch::default();
        records.push_end(PartitionEnd { topic: Topic::Interactions, partition, position: 9 });
        leads.note(&records, SOON);
    }

    fn change(leads: &mut Leads) -> (Vec<i32>, Vec<i32>) {
        let change = leads.change(SPAN, SOON);
        (change.pause, change.resume)
    }

    #[test]
    fn a_leader_is_paused_and_goes_on_at_half_the_lead() {
        let mut leads = Leads::default();
        read(&mut leads, 0, &[100]);
        read(&mut leads, 1, &[130]);
        assert_eq!(change(&mut leads), (vec![], vec![]), "30 s is not more than 30 s");
        read(&mut leads, 1, &[131]);
        assert_eq!(change(&mut leads), (vec![1], vec![]));
        assert_eq!(change(&mut leads), (vec![], vec![]), "told once");
        read(&mut leads, 0, &[115]);
        assert_eq!(change(&mut leads), (vec![], vec![]), "16 s is more than half");
        read(&mut leads, 0, &[116]);
        assert_eq!(change(&mut leads), (vec![], vec![1]));
    }

    #[test]
    fn an_ended_partition_holds_nobody_back() {
        let mut leads = Leads::default();
        read(&mut leads, 0, &[100]);
        read(&mut leads, 1, &[200]);
        read(&mut leads, 2, &[300]);
        assert_eq!(change(&mut leads), (vec![1, 2], vec![]));
        end(&mut leads, 0);
        assert_eq!(change(&mut leads), (vec![], vec![1]), "the slowest that is paused goes on");
        end(&mut leads, 1);
        assert_eq!(change(&mut leads), (vec![], vec![2]));
    }

    #[test]
    fn time_that_goes_back_is_no_lag() {
        let mut leads = Leads::default();
        read(&mut leads, 0, &[100, 50]);
        read(&mut leads, 1, &[120]);
        assert_eq!(change(&mut leads), (vec![], vec![]), "the newest counts");
    }

    #[test]
    fn a_silent_partition_is_not_waited_for() {
        let mut leads = Leads::default();
        read(&mut leads, 0, &[100]);
        read(&mut leads, 1, &[200]);
        let later = SOON + SILENT;
        assert_eq!(leads.change(SPAN, later), Change::default(), "neither brought anything");
        assert_eq!(change(&mut leads), (vec![1], vec![]));
        let resumed = leads.change(SPAN, later);
        assert_eq!((resumed.pause, resumed.resume), (vec![], vec![1]));
    }

    #[test]
    fn the_slowest_is_never_paused_whatever_the_state() {
        for bits in 0..8u8 {
            let lane = |bit: u8, at: i64| Standing {
                at: Timestamp::from_millis(at),
                ended: false,
                paused: bits & bit != 0,
                moved: Duration::ZERO,
            };
            let lanes = BTreeMap::from([(0, lane(1, 0)), (1, lane(2, 90_000)), (2, lane(4, 40_000))]);
            let told = leaders(&lanes, SPAN, SOON);
            assert_eq!(told, BTreeSet::from([1, 2]), "{bits:03b}");
        }
    }

    #[test]
    fn more_that_is_old_is_waited_for_and_what_is_new_is_not() {
        let mut leads = Leads::default();
        read(&mut leads, 0, &[100]);
        let (none, zero) = (BTreeSet::new(), BTreeSet::from([0]));
        let now = Timestamp::from_millis(200_000);
        assert!(leads.awaits(&none, now, SOON) && !leads.awaits(&zero, now, SOON));
        assert!(!leads.is_caught_up(now, SOON));
        read(&mut leads, 0, &[199]);
        assert!(!leads.awaits(&none, now, SOON) && leads.is_caught_up(now, SOON));
        read(&mut leads, 1, &[100]);
        end(&mut leads, 1);
        assert!(!leads.awaits(&none, now, SOON) && leads.is_caught_up(now, SOON));
    }
}
