//! One batch: records of several partitions as they came, and the offset ranges they make up.

use std::collections::BTreeMap;

use crate::stream::{InputOffset, RecordBatch, RecordRef, Topic};

/// Records to be scored and committed together.
#[derive(Debug, Default)]
pub struct Batch {
    /// As they came; each partition's records in the order of the log.
    pub records: Vec<RecordBatch>,
}

/// One record of a batch: which record batch, which record in it.
pub(crate) type Index = (u32, u32);

impl Batch {
    /// How many records.
    pub fn len(&self) -> usize {
        self.records.iter().map(RecordBatch::len).sum()
    }

    /// Whether there is no record in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The records of a topic by partition, in the order of the log.
    pub(crate) fn lanes(&self, topic: Topic) -> BTreeMap<i32, Vec<Index>> {
        let mut lanes = BTreeMap::<i32, Vec<Index>>::new();
        for (outer, records) in self.records.iter().enumerate() {
            for (inner, record) in records.iter().enumerate().filter(|(_, record)| record.at.topic == topic) {
                lanes.entry(record.at.partition).or_default().push((outer as u32, inner as u32));
            }
        }
        lanes
    }

    /// One record.
    pub(crate) fn get(&self, (outer, inner): Index) -> RecordRef<'_> {
        self.records[outer as usize].get(inner as usize)
    }

    /// Where each partition goes on after this batch. The end of a partition counts where it lies behind the last
    /// record: commit markers take offsets too.
    pub fn offsets(&self) -> Vec<InputOffset> {
        let mut next = BTreeMap::<(Topic, i32), i64>::new();
        let mut reach = |topic, partition, offset: i64| {
            let known = next.entry((topic, partition)).or_insert(offset);
            *known = (*known).max(offset);
        };
        for records in &self.records {
            for record in records.iter() {
                reach(record.at.topic, record.at.partition, record.at.offset + 1);
            }
            for end in records.ends() {
                reach(end.topic, end.partition, end.position);
            }
        }
        let offsets = next.into_iter();
        offsets.map(|((topic, partition), next)| InputOffset { topic, partition, next }).collect()
    }
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

    #[test]
    fn offsets_are_last_plus_one_or_the_end_behind_it() {
        let mut second = records(&[(0, 7)]);
        second.push_end(PartitionEnd { topic: Topic::Interactions, partition: 0, position: 10 });
        let batch = Batch { records: vec![records(&[(0, 5), (1, 3), (0, 6)]), second] };
        let next: Vec<_> = batch.offsets().iter().map(|at| (at.partition, at.next)).collect();
        assert_eq!(next, [(0, 10), (1, 4)]);
        assert_eq!(batch.lanes(Topic::Interactions)[&0], [(0, 0), (0, 2), (1, 0)]);
        assert_eq!(batch.len(), 4);
    }
}
