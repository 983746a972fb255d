//! Whether the brokers answer, and how far behind the group is: asked every few seconds from a thread of its own.
//!
//! Lag is counted from what is committed to the end, so it is what a stranger would see, and counts commit markers as
//! records. A question that is not answered fails the check of the brokers until one is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::commands::setup;
use crate::config::Config;
use crate::desk::{Check, Readiness};
use crate::metrics;
use crate::stream::{KafkaSettings, Lookup, StreamError, Topic, TopicNames};

/// Time between two questions.
const EVERY: Duration = Duration::from_secs(5);
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// See the module's text.
pub(super) struct Watch {
    kafka: KafkaSettings,
    names: TopicNames,
    readiness: Arc<Readiness>,
    stop: Arc<AtomicBool>,
}

impl Watch {
    pub(super) fn new(config: &Config, readiness: &Arc<Readiness>, stop: &Arc<AtomicBool>) -> Self {
        let (readiness, stop) = (Arc::clone(readiness), Arc::clone(stop));
        Self { kafka: setup::kafka(config), names: setup::topics(config).names(), readiness, stop }
    }

    /// Starts to ask; ends some time after `stop` is set.
    pub(super) fn start(self) -> std::io::Result<()> {
        std::thread::Builder::new().name("weir-watch".to_owned()).spawn(move || self.watch()).map(drop)
    }

    fn watch(&self) {
        let lookup = match Lookup::open(&self.kafka, &self.names) {
            Ok(lookup) => lookup,
            Err(error) => return tracing::error!(%error, "lag is not measured"),
        };
        while !self.stop.load(Ordering::Relaxed) {
            match Topic::INPUTS.into_iter().try_for_each(|topic| self.measure(&lookup, topic)) {
                Ok(()) => self.readiness.pass(Check::Brokers),
                Err(error) if error.is_transient() => {
                    self.readiness.fail(Check::Brokers, error.to_string());
                }
                Err(error) => tracing::warn!(%error, "measuring the lag"),
            }
            std::thread::park_timeout(EVERY);
        }
    }

    /// Only the owner of the shard commits, so only it tells a lag: a standby's gauges would be the same again.
    fn measure(&self, lookup: &Lookup, topic: Topic) -> Result<(), StreamError> {
        let partitions = lookup.partitions(topic, PATIENCE)?;
        if !self.readiness.report().ready() {
            return Ok(());
        }
        let committed = lookup.committed(topic, partitions, PATIENCE)?;
        for (partition, committed) in (0..).zip(committed) {
            let held = lookup.held(topic, partition, PATIENCE)?;
            let behind = held.high.saturating_sub(committed.unwrap_or(held.low));
            metrics::consumer_lag(topic.name(), partition, u64::try_from(behind).unwrap_or(0));
        }
        Ok(())
    }
}
