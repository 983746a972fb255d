//! One batch: offset ranges of several partitions, and the records in them as they came.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::stream::{RecordBatch, RecordRef, Topic};

use super::line::{Positions, Range};

/// Records to be scored and committed together.
#[derive(Debug, Default)]
pub struct Batch {
    /// As they came; each partition's records in the order of the log. They may hold more than the batch: other batches
    /// share them.
    pub records: Vec<Arc<RecordBatch>>,
    /// What belongs to the batch, by partition: offsets, half open.
    pub ranges: BTreeMap<(Topic, i32), (i64, i64)>,
    /// Its records by partition, in the order of the log.
    lanes: Lanes,
}

/// One record of a batch: which record batch, which record in it.
pub(crate) type Index = (u32, u32);

/// Records by partition, in the order of the log.
pub(crate) type Lanes = BTreeMap<(Topic, i32), Vec<Index>>;

impl Batch {
    /// All that was read from these positions on.
    pub fn from(positions: &Positions, records: Vec<Arc<RecordBatch>>) -> Self {
        let mut ranges = BTreeMap::new();
        for (place, next) in ends(&records) {
            let from = positions.get(&place).copied().unwrap_or(0);
            if next > from {
                ranges.insert(place, (from, next));
            }
        }
        let lanes = lanes(&records, &ranges);
        Self { records, ranges, lanes }
    }

    /// The records of these ranges.
    pub fn of(ranges: &[Range], records: Vec<Arc<RecordBatch>>) -> Self {
        let ranges = by_place(ranges);
        let lanes = lanes(&records, &ranges);
        Self { records, ranges, lanes }
    }

    /// The records of these ranges, which were found before.
    pub(super) fn found(ranges: &[Range], records: Vec<Arc<RecordBatch>>, lanes: Lanes) -> Self {
        Self { records, ranges: by_place(ranges), lanes }
    }

    /// What was read, by partition.
    pub fn ranges(&self) -> Vec<Range> {
        let each = self.ranges.iter();
        each.map(|((topic, partition), (from, to))| Range {
            topic: *topic,
            partition: *partition,
            from: *from,
            to: *to,
        })
        .collect()
    }

    /// The records of a topic by partition, in the order of the log.
    pub(crate) fn lanes(&self, topic: Topic) -> impl Iterator<Item = &[Index]> {
        let of = self.lanes.range((topic, i32::MIN)..=(topic, i32::MAX));
        of.map(|(_, lane)| lane.as_slice())
    }

    /// How many records it has.
    pub fn len(&self) -> usize {
        self.lanes.values().map(Vec::len).sum()
    }

    /// Whether it has no record; it may have ranges.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One record.
    pub(crate) fn get(&self, (outer, inner): Index) -> RecordRef<'_> {
        self.records[outer as usize].get(inner as usize)
    }
}

fn by_place(ranges: &[Range]) -> BTreeMap<(Topic, i32), (i64, i64)> {
    ranges.iter().map(|range| ((range.topic, range.partition), (range.from, range.to))).collect()
}

/// Where the records of these ranges are.
fn lanes(records: &[Arc<RecordBatch>], ranges: &BTreeMap<(Topic, i32), (i64, i64)>) -> Lanes {
    let mut lanes = Lanes::new();
    for (outer, records) in (0..).zip(records) {
        for (inner, record) in (0..).zip(records.iter()) {
            let place = (record.at.topic, record.at.partition);
            let range = ranges.get(&place);
            if range.is_some_and(|(from, to)| (*from..*to).contains(&record.at.offset)) {
                lanes.entry(place).or_default().push((outer, inner));
            }
        }
    }
    lanes
}

/// Where each partition goes on after these records. The end of a partition counts where it lies behind the last record:
/// commit markers take offsets too.
pub(crate) fn ends(records: &[Arc<RecordBatch>]) -> Positions {
    let mut next = Positions::new();
    let mut reach = |place, offset: i64| {
        let known = next.entry(place).or_insert(offset);
        *known = (*known).max(offset);
    };
    for records in records {
        for record in records.iter() {
            reach((record.at.topic, record.at.partition), record.at.offset + 1);
        }
        for end in records.ends() {
            reach((end.topic, end.partition), end.position);
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Coordinates, PartitionEnd, Timestamp};

    fn records(offsets: &[(i32, i64)]) -> RecordBatch {
        let mut batch = RecordBatch::default();
        for &(partition, offset) in offsets {
            let at = Coordinates { topic: Topic::Interactions, partition, offset };
            batch.push(at, Timestamp::None, None, Some(b"{}"));
        }
        batch
    }

    fn in_partition(partition: i32, from: i64, to: i64) -> Range {
        Range { topic: Topic::Interactions, partition, from, to }
    }

    #[test]
    fn ranges_go_from_the_positions_to_the_last_or_the_end_behind_it() {
        let mut second = records(&[(0, 7)]);
        second.push_end(PartitionEnd { topic: Topic::Interactions, partition: 0, position: 10 });
        second.push_end(PartitionEnd { topic: Topic::Interactions, partition: 2, position: 4 });
        let read = vec![Arc::new(records(&[(0, 5), (1, 3), (0, 6)])), Arc::new(second)];
        let positions = Positions::from([((Topic::Interactions, 0), 4), ((Topic::Interactions, 2), 4)]);
        let batch = Batch::from(&positions, read);
        assert_eq!(batch.ranges(), [in_partition(0, 4, 10), in_partition(1, 0, 4)]);
        let lanes: Vec<_> = batch.lanes(Topic::Interactions).collect();
        assert_eq!(lanes, [&[(0, 0), (0, 2), (1, 0)][..], &[(0, 1)]]);
    }

    #[test]
    fn a_batch_sees_its_ranges_alone() {
        let read = vec![Arc::new(records(&[(0, 5), (1, 3), (0, 6)])), Arc::new(records(&[(0, 7)]))];
        let batch = Batch::of(&[in_partition(0, 6, 7)], read);
        let lanes: Vec<_> = batch.lanes(Topic::Interactions).collect();
        assert_eq!(lanes, [&[(0, 2)]]);
        assert_eq!(batch.lanes(Topic::Commands).count(), 0);
    }
}
