//! Parse: the interactions of a batch as the engine takes them, in merged order.

use std::cell::RefCell;

use crate::engine::Outputs;
use crate::engine::policy::Settings;
use crate::engine::time::Timestamp;
use crate::pipeline::batch::{Batch, Index};
use crate::pipeline::merge::Merge;
use crate::stream::{self, RecordRef, Topic};
use crate::wire::error::DecodeError;
use crate::wire::headers::Header;
use crate::wire::interaction::{DecodeLimits, Decoded, Spare, decode_with};

/// A record of the merge: what it is and what it says.
pub(in crate::pipeline) type Item<'b> = (RecordRef<'b>, Result<Decoded<'b>, DecodeError>);

/// Interactions that follow each other, and what came of them. One that was told is emptied and filled again.
#[derive(Default)]
pub(in crate::pipeline) struct Group<'b> {
    /// The interactions.
    pub(in crate::pipeline) items: Vec<Item<'b>>,
    /// What came of each, once they were applied. There may be room for more.
    pub(super) said: Vec<Said>,
}

/// What came of one interaction.
#[derive(Default)]
pub(super) struct Said {
    /// What the engine tells.
    pub(super) outputs: Outputs,
    /// Why the engine refused it, if it did.
    pub(super) refused: Option<DecodeError>,
}

impl Group<'_> {
    /// Gives back what its interactions are made of.
    pub(in crate::pipeline) fn empty(&mut self, spare: &mut Spare) {
        let decoded = self.items.drain(..).filter_map(|(_, decoded)| decoded.ok());
        decoded.for_each(|decoded| spare.keep(decoded.event));
    }
}

/// The interactions of a batch in merged order, under the settings of the policy that holds. All are decoded with one
/// `spare`, one at a time.
pub(in crate::pipeline) fn merged<'b>(
    batch: &'b Batch,
    settings: &Settings,
    limits: &DecodeLimits,
    spare: &RefCell<Spare>,
) -> impl Iterator<Item = Item<'b>> {
    let lanes = batch.lanes(Topic::Interactions);
    let lanes = lanes
        .map(|lane| lane.iter().map(|index| head(batch, *index, settings, limits, &mut spare.borrow_mut())));
    Merge::new(lanes)
}

/// A record as the merge sees it: what is no interaction stands at its append time.
pub(in crate::pipeline) fn head<'b>(
    batch: &'b Batch,
    index: Index,
    settings: &Settings,
    limits: &DecodeLimits,
    spare: &mut Spare,
) -> (Timestamp, Item<'b>) {
    let record = batch.get(index);
    let decoded = if record.headers.unreadable() > 0 {
        Err(DecodeError::header_name())
    } else {
        with_headers(&record, |headers| decode_with(spare, record.value, headers, limits))
    };
    let at = match &decoded {
        Ok(decoded) => {
            let occurred = decoded.event.occurred_at;
            let append = append_time(&record, occurred);
            settings.effective_time(occurred, append).map_or(append, |(at, _)| at)
        }
        Err(_) => append_time(&record, Timestamp::default()),
    };
    (at, (record, decoded))
}

pub(super) fn with_headers<'b, T>(record: &RecordRef<'b>, read: impl FnOnce(&[Header<'b>]) -> T) -> T {
    if record.headers.is_empty() {
        return read(&[]);
    }
    let headers: Vec<Header<'b>> = record.headers.iter().collect();
    read(&headers)
}

/// When the log took the record; without any timestamp, when the event says it happened.
pub(in crate::pipeline) fn append_time(record: &RecordRef<'_>, occurred: Timestamp) -> Timestamp {
    match record.timestamp {
        stream::Timestamp::Append(millis) | stream::Timestamp::Create(millis) => {
            Timestamp::from_millis(millis)
        }
        stream::Timestamp::None => occurred,
    }
}
