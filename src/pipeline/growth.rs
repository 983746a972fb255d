//! Notices partitions that are added to the inputs of a running shard: they begin at 0.
//!
//! Asked from a thread of its own, since a broker may take its time to answer; the thread ends with the shard.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::stream::{Lookup, Topic};

use super::line::Positions;
use super::shard::ShardSettings;

/// Time between two questions.
const EVERY: Duration = Duration::from_secs(5);
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

type Counts = [AtomicI32; Topic::INPUTS.len()];

/// See the module.
pub(super) struct Growth {
    counts: Arc<Counts>,
}

impl Growth {
    /// Starts to watch.
    pub(super) fn watch(settings: Arc<ShardSettings>) -> std::io::Result<Self> {
        let counts = Arc::new(Counts::default());
        let watched = Arc::downgrade(&counts);
        let thread = std::thread::Builder::new().name("weir-growth".to_owned());
        thread.spawn(move || ask(&settings, &watched))?;
        Ok(Self { counts })
    }

    /// Adds partitions that are new to `positions`; true when there were any.
    pub(super) fn add_to(&self, positions: &mut Positions) -> bool {
        let before = positions.len();
        for (topic, count) in Topic::INPUTS.into_iter().zip(self.counts.iter()) {
            for partition in 0..count.load(Ordering::Relaxed) {
                positions.entry((topic, partition)).or_insert(0);
            }
        }
        positions.len() > before
    }
}

fn ask(settings: &ShardSettings, watched: &Weak<Counts>) {
    let lookup = match Lookup::open(&settings.kafka, &settings.names) {
        Ok(lookup) => lookup,
        Err(error) => return tracing::error!(%error, "new partitions are not noticed"),
    };
    while watched.strong_count() > 0 {
        for (number, topic) in Topic::INPUTS.into_iter().enumerate() {
            count(&lookup, topic, number, watched);
        }
        std::thread::park_timeout(EVERY);
    }
}

fn count(lookup: &Lookup, topic: Topic, number: usize, watched: &Weak<Counts>) {
    match (lookup.partitions(topic, PATIENCE), watched.upgrade()) {
        (Ok(partitions), Some(counts)) => counts[number].store(partitions, Ordering::Relaxed),
        (Err(error), _) => tracing::debug!(%error, "asking for new partitions"),
        (Ok(_), None) => {}
    }
}
