//! Inputs that were read ahead of what the journal asks for, kept until a record of it covers them.
//!
//! A shelf that grows too large stops the partitions that are not needed next: one that runs ahead never hides another.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::stream::{Input, InputEvent, InputLimits, RecordBatch, StreamError, Topic, TopicStart};

use super::batch::{Batch, Lanes};
use super::line::{Positions, Range};
use super::logs::FollowError;
use super::shard::ShardSettings;

/// How long the brokers may take for one answer, and how long records that the journal names may fail to come.
const PATIENCE: Duration = Duration::from_secs(30);
/// After so long without a record it is asked whether those that are missing are held at all.
const ASK: Duration = Duration::from_secs(1);
/// Bytes on the shelf at which partitions that are not needed next are stopped.
const SHELF_BYTES: usize = 128 << 20;

/// See the module.
pub(super) struct Shelf {
    input: Input,
    held: Held,
    /// Where the shelf begins, by partition: what lies before was covered or never read.
    floor: Positions,
    /// Where it ends.
    reached: Positions,
    paused: BTreeSet<(Topic, i32)>,
}

impl Shelf {
    /// Reads every partition from its floor on.
    pub(super) fn open(settings: &ShardSettings, floor: Positions) -> Result<Self, StreamError> {
        let starts = Topic::INPUTS.into_iter().map(|topic| {
            let of = floor.iter().filter(|((known, _), _)| *known == topic);
            TopicStart { topic, positions: of.map(|((_, partition), from)| (*partition, *from)).collect() }
        });
        let starts: Vec<_> = starts.filter(|start| !start.positions.is_empty()).collect();
        let input = Input::open(&settings.kafka, &settings.names, &starts, InputLimits::default(), PATIENCE)?;
        let held = Held::default();
        Ok(Self { input, held, reached: floor.clone(), floor, paused: BTreeSet::new() })
    }

    /// Whether these ranges begin on it.
    pub(super) fn fits(&self, ranges: &[Range]) -> bool {
        ranges.iter().all(|range| self.floor.get(&(range.topic, range.partition)) == Some(&range.from))
    }

    /// Reads until the ranges are complete, and hands them out. Where nothing more comes it asks whether it is `lost`.
    pub(super) fn take(
        &mut self,
        ranges: &[Range],
        lost: impl Fn() -> Result<(), StreamError>,
    ) -> Result<Batch, FollowError> {
        let (mut quiet, mut asked) = (Stopwatch::start(), false);
        self.let_flow(ranges);
        while !ranges.iter().all(|range| self.reached.get(&(range.topic, range.partition)) >= Some(&range.to))
        {
            match self.input.next(Duration::from_millis(100)) {
                InputEvent::Records(records) => {
                    (quiet, asked) = (Stopwatch::start(), false);
                    self.put(records, ranges);
                }
                InputEvent::Problem(problem) if problem.stops => return Err(FollowError::Input(problem)),
                InputEvent::Problem(problem) => tracing::warn!(%problem.error, "reading inputs again"),
                InputEvent::Idle if quiet.elapsed() > PATIENCE => return Err(self.missing(ranges)),
                InputEvent::Idle if !asked && quiet.elapsed() > ASK => {
                    lost()?;
                    asked = true;
                }
                InputEvent::Idle => {}
            }
        }
        self.floor.extend(ranges.iter().map(|range| ((range.topic, range.partition), range.to)));
        Ok(self.held.take(ranges))
    }

    /// Gives used records back, to be filled again.
    pub(super) fn recycle(&self, records: Vec<Arc<RecordBatch>>) {
        records.into_iter().filter_map(Arc::into_inner).for_each(|records| self.input.recycle(records));
    }

    fn put(&mut self, records: RecordBatch, needed: &[Range]) {
        let ends = records.ends().iter().map(|end| ((end.topic, end.partition), end.position));
        let last = records.iter().map(|last| ((last.at.topic, last.at.partition), last.at.offset + 1));
        for (place, end) in last.chain(ends) {
            let reached = self.reached.entry(place).or_insert(end);
            *reached = (*reached).max(end);
        }
        self.held.put(records);
        if self.held.bytes > SHELF_BYTES {
            self.hold_back(needed);
        }
    }

    /// Stops the partitions that have what is needed.
    fn hold_back(&mut self, needed: &[Range]) {
        for (&(topic, partition), reached) in &self.reached {
            let lacks = needed
                .iter()
                .any(|range| (range.topic, range.partition) == (topic, partition) && range.to > *reached);
            if !lacks && self.paused.insert((topic, partition)) {
                self.input.pause(topic, &[partition]);
            }
        }
    }

    /// Lets the partitions go on that are needed again.
    fn let_flow(&mut self, needed: &[Range]) {
        for range in needed {
            if self.paused.remove(&(range.topic, range.partition)) {
                self.input.resume(range.topic, &[range.partition]);
            }
        }
    }

    fn missing(&self, ranges: &[Range]) -> FollowError {
        let lacking =
            ranges.iter().find(|range| self.reached.get(&(range.topic, range.partition)) < Some(&range.to));
        let words = lacking.map_or_else(String::new, |range| {
            format!("{}/{} up to offset {}", range.topic, range.partition, range.to)
        });
        FollowError::Stream(StreamError::Other {
            doing: "reading inputs that the journal names".to_owned(),
            reason: format!("{words} did not come within {} s", PATIENCE.as_secs()),
        })
    }
}

/// The number of a record batch, which record in it, and its offset.
type Place = (u64, u32, i64);

/// Records that no batch has yet, by partition: each is looked at once when it comes and once when it goes.
#[derive(Default)]
struct Held {
    /// Record batches in the order in which they came, with how many of their records no batch has.
    batches: VecDeque<(Option<Arc<RecordBatch>>, usize)>,
    /// The number of the first of them, counted from the beginning.
    first: u64,
    /// Records in the order of the log.
    lanes: BTreeMap<(Topic, i32), VecDeque<Place>>,
    bytes: usize,
}

impl Held {
    fn put(&mut self, records: RecordBatch) {
        if records.is_empty() {
            return;
        }
        let number = self.first + self.batches.len() as u64;
        for (inner, record) in (0..).zip(records.iter()) {
            let lane = self.lanes.entry((record.at.topic, record.at.partition)).or_default();
            lane.push_back((number, inner, record.at.offset));
        }
        self.bytes += records.bytes();
        let left = records.len();
        self.batches.push_back((Some(Arc::new(records)), left));
    }

    /// Takes the records of these ranges out.
    fn take(&mut self, ranges: &[Range]) -> Batch {
        let (mut records, mut places) = (Vec::new(), BTreeMap::new());
        let mut lanes = Lanes::new();
        for range in ranges {
            let place = (range.topic, range.partition);
            let Some(held) = self.lanes.get_mut(&place) else { continue };
            let covered = held.partition_point(|(_, _, offset)| *offset < range.to);
            let mut lane = Vec::with_capacity(covered);
            for (number, inner, offset) in held.drain(..covered) {
                let (batch, left) = &mut self.batches[(number - self.first) as usize];
                *left -= 1;
                if offset < range.from {
                    continue;
                }
                let outer = *places.entry(number).or_insert_with(|| {
                    records.extend(batch.clone());
                    records.len() as u32 - 1
                });
                lane.push((outer, inner));
            }
            lanes.insert(place, lane);
        }
        self.forget();
        Batch::found(ranges, records, lanes)
    }

    /// Lets go of record batches of which every record was taken.
    fn forget(&mut self) {
        for (batch, _) in self.batches.iter_mut().filter(|(_, left)| *left == 0) {
            self.bytes -= batch.take().map_or(0, |batch| batch.bytes());
        }
        while self.batches.front().is_some_and(|(batch, _)| batch.is_none()) {
            self.batches.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Coordinates, Timestamp};

    fn records(offsets: &[(i32, i64)]) -> RecordBatch {
        let mut batch = RecordBatch::default();
        for &(partition, offset) in offsets {
            let at = Coordinates { topic: Topic::Interactions, partition, offset };
            batch.push(at, Timestamp::None, None, Some(b"{}"));
        }
        batch
    }

    fn range(partition: i32, from: i64, to: i64) -> Range {
        Range { topic: Topic::Interactions, partition, from, to }
    }

    fn offsets(batch: &Batch) -> Vec<Vec<i64>> {
        let lanes = batch.lanes(Topic::Interactions);
        lanes.map(|lane| lane.iter().map(|index| batch.get(*index).at.offset).collect()).collect()
    }

    #[test]
    fn each_record_is_handed_out_once_in_the_order_of_its_log() {
        let mut held = Held::default();
        held.put(records(&[(0, 5), (1, 3), (0, 6)]));
        held.put(records(&[(0, 7), (0, 9)]));
        let batch = held.take(&[range(0, 5, 8)]);
        assert_eq!((offsets(&batch), batch.records.len()), (vec![vec![5, 6, 7]], 2));
        held.put(records(&[(1, 4), (0, 12)]));
        let batch = held.take(&[range(0, 8, 12), range(1, 0, 5)]);
        assert_eq!(offsets(&batch), [vec![9], vec![3, 4]]);
        assert_eq!((held.batches.len(), held.first), (1, 2));
        let batch = held.take(&[range(0, 12, 13), range(1, 5, 9)]);
        assert_eq!(offsets(&batch), [vec![12], vec![]]);
        assert_eq!((held.batches.len(), held.bytes), (0, 0));
    }

    #[test]
    fn a_batch_that_is_done_with_gives_its_room_back_although_an_older_one_waits() {
        let mut held = Held::default();
        held.put(records(&[(0, 0)]));
        held.put(records(&[(1, 0), (1, 1)]));
        let bytes = held.bytes;
        drop(held.take(&[range(1, 0, 2)]));
        assert!(held.bytes < bytes && held.batches.len() == 2);
        assert_eq!(offsets(&held.take(&[range(0, 0, 1)])), [vec![0]]);
        assert_eq!((held.batches.len(), held.bytes), (0, 0));
    }
}
