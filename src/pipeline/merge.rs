//! The order inside a batch: a k-way merge of its partitions by (effective time, lane).
//!
//! Pure: the order follows from what the lanes hold and from nothing else, so it need not be stored. Inside a lane
//! order is that of the log, even where its times go back; equal times go by lane.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::engine::time::Timestamp;

/// Yields the items of several lanes in merged order. Each lane is read one item ahead and no further.
#[derive(Debug)]
pub struct Merge<I, T> {
    lanes: Vec<(I, Option<T>)>,
    heads: BinaryHeap<Reverse<(Timestamp, usize)>>,
}

impl<T, I: Iterator<Item = (Timestamp, T)>> Merge<I, T> {
    /// Merges lanes; the order of `lanes` decides between equal times.
    pub fn new(lanes: impl IntoIterator<Item = I>) -> Self {
        let mut merge = Self { lanes: Vec::new(), heads: BinaryHeap::new() };
        for lane in lanes {
            merge.lanes.push((lane, None));
            merge.fill(merge.lanes.len() - 1);
        }
        merge
    }

    fn fill(&mut self, lane: usize) {
        if let Some((at, item)) = self.lanes[lane].0.next() {
            self.lanes[lane].1 = Some(item);
            self.heads.push(Reverse((at, lane)));
        }
    }
}

impl<T, I: Iterator<Item = (Timestamp, T)>> Iterator for Merge<I, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let Reverse((_, lane)) = self.heads.pop()?;
        let item = self.lanes[lane].1.take();
        self.fill(lane);
        item
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn merged(lanes: &[Vec<i64>]) -> Vec<(usize, usize)> {
        let lanes = lanes.iter().enumerate().map(|(lane, times)| {
            let items = times.iter().enumerate();
            items.map(move |(index, &at)| (Timestamp::from_millis(at), (lane, index)))
        });
        Merge::new(lanes).collect()
    }

    #[test]
    fn earlier_heads_go_first_and_equal_ones_by_lane() {
        let order = merged(&[vec![10, 5, 30], vec![10, 20], vec![]]);
        assert_eq!(order, [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2)]);
    }

    proptest! {
        /// Against the definition: at each step, of the lanes' heads the one with the smallest (time, lane).
        #[test]
        fn every_step_takes_the_smallest_head(lanes in prop::collection::vec(prop::collection::vec(0..50i64, 0..20), 0..6)) {
            let mut next = vec![0; lanes.len()];
            let mut expected = Vec::new();
            while let Some(lane) =
                (0..lanes.len()).filter(|&l| next[l] < lanes[l].len()).min_by_key(|&l| (lanes[l][next[l]], l))
            {
                expected.push((lane, next[lane]));
                next[lane] += 1;
            }
            prop_assert_eq!(merged(&lanes), expected);
        }
    }
}
