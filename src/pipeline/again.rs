//! Inputs of a batch, again, in the order in which they go into the engine.

use crate::engine::policy::Settings;
use crate::stream::{RecordRef, Topic};
use crate::wire::interaction::{DecodeLimits, Spare};

use super::batch::Batch;
use super::merge::Merge;
use super::score::head;

impl Batch {
    /// Its records of a topic that is not merged: partition by partition.
    pub fn in_lanes(&self, topic: Topic) -> impl Iterator<Item = RecordRef<'_>> {
        self.lanes(topic).flatten().map(|index| self.get(*index))
    }

    /// Its interactions in merged order, under the settings of the policy that held.
    pub fn in_order(&self, settings: &Settings, limits: &DecodeLimits) -> Vec<RecordRef<'_>> {
        let mut spare = Spare::default();
        let mut read = |index| {
            let (at, (record, decoded)) = head(self, index, settings, limits, &mut spare);
            decoded.into_iter().for_each(|decoded| spare.keep(decoded.event));
            (at, record)
        };
        let lanes: Vec<Vec<_>> = (self.lanes(Topic::Interactions))
            .map(|lane| lane.iter().copied().map(&mut read).collect())
            .collect();
        Merge::new(lanes.into_iter().map(Vec::into_iter)).collect()
    }
}
