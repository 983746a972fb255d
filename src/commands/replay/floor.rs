//! The floor a replay is held against: a bare `serde_json::from_slice` of the same lines, in the same process.
//!
//! One block in eight is parsed once more, after it was decided. What that costs is measured on its thread, is taken
//! out of the replay's own cost, and is scaled from the bytes parsed to all bytes.

use std::hint::black_box;

use crate::clock;
use crate::wire::interaction::bare::Bare;

/// One block in so many is measured, the first among them.
const ONE_IN: u64 = 8;

/// The measuring.
#[derive(Debug, Default)]
pub(super) struct Floor {
    blocks: u64,
    bytes: u64,
    sampled_bytes: u64,
    sampled_seconds: f64,
}

impl Floor {
    /// Looks at a block after it was decided.
    pub(super) fn block(&mut self, lines: &mut dyn Iterator<Item = &[u8]>, bytes: usize) {
        let bytes = bytes as u64;
        if self.blocks.is_multiple_of(ONE_IN) {
            let before = clock::thread_cpu_seconds();
            for line in lines {
                black_box(serde_json::from_slice::<Bare<'_>>(black_box(line)).is_ok());
            }
            self.sampled_seconds += clock::thread_cpu_seconds() - before;
            self.sampled_bytes += bytes;
        }
        self.blocks += 1;
        self.bytes += bytes;
    }

    /// CPU seconds that measuring took: no part of the replay.
    pub(super) fn spent_seconds(&self) -> f64 {
        self.sampled_seconds
    }

    /// How many times the floor `cpu_seconds` are; `None` when too little was read to tell.
    pub(super) fn ratio(&self, cpu_seconds: f64) -> Option<f64> {
        let floor = self.sampled_seconds * self.bytes as f64 / self.sampled_bytes as f64;
        Some(cpu_seconds / floor).filter(|ratio| ratio.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_scaled_to_all_bytes() {
        let floor = Floor { blocks: 9, bytes: 900, sampled_bytes: 200, sampled_seconds: 2.0 };
        assert_eq!(floor.ratio(27.0), Some(3.0));
        assert_eq!(Floor::default().ratio(1.0), None);
    }

    #[test]
    fn one_block_in_eight_is_parsed() {
        let mut floor = Floor::default();
        for _ in 0..17 {
            floor.block(&mut std::iter::once(&b"{}"[..]), 3);
        }
        assert_eq!((floor.bytes, floor.sampled_bytes), (51, 9));
    }
}
