//! The stage of a demo: embedded broker, a live shard, a feeder and a reader.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::config::standard;
use crate::engine::key::HashSeed;
use crate::engine::policy::Policy;
use crate::engine::policy::load::load;
use crate::engine::time::Span;
use crate::pipeline::{Report, ShardError, ShardSettings, Surroundings, Tally, Wishes, run_live};
use crate::stream::{
    Embedded, Feed, Input, InputEvent, InputLimits, KafkaSettings, RecordBatch, StreamError, Topic,
    TopicNames, TopicStart,
};
use crate::wire::interaction::DecodeLimits;

/// Partitions of interactions and decisions: the embedded broker keeps only 5 MiB of each.
const PARTITIONS: i32 = 32;
const PATIENCE: Duration = Duration::from_secs(10);
const SEED: HashSeed = HashSeed(0x6465_6d6f, 1);

/// See the module.
pub(super) struct Stage {
    feed: Feed,
    reader: Input,
    tally: Arc<Mutex<Tally>>,
    stop: Arc<AtomicBool>,
    shard: Option<JoinHandle<Result<(), ShardError>>>,
    events: u64,
    /// Last: it ends when the others have.
    _broker: Embedded,
}

impl Stage {
    /// Starts everything.
    pub(super) fn set() -> Result<Self, StreamError> {
        let names = TopicNames::with_prefix("");
        let wide = [Topic::Interactions, Topic::Decisions];
        let topics = Topic::ALL.map(|topic| (topic, if wide.contains(&topic) { PARTITIONS } else { 1 }));
        let broker = Embedded::start(&names, &topics)?;
        let kafka = broker.settings();
        let tally = Arc::new(Mutex::new(Tally::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let shard = start_shard(&kafka, &names, Arc::clone(&tally), Arc::clone(&stop))?;
        let positions = (0..PARTITIONS).map(|partition| (partition, 0)).collect();
        let start = [TopicStart { topic: Topic::Decisions, positions }];
        let reader = Input::open(&kafka, &names, &start, InputLimits::default(), PATIENCE)?;
        let feed = Feed::open(&kafka, &names)?;
        Ok(Self { feed, reader, tally, stop, shard: Some(shard), events: 0, _broker: broker })
    }

    /// Sends one interaction; its record carries the event's own time.
    pub(super) fn send(&mut self, key: &[u8], value: &[u8], at_ms: i64) -> Result<(), StreamError> {
        self.events += 1;
        self.feed.send(Topic::Interactions, Some(key), value, Some(at_ms), PATIENCE)
    }

    /// Waits until the broker has all that was sent.
    pub(super) fn sent(&self) -> Result<(), StreamError> {
        self.feed.finish(PATIENCE)
    }

    pub(super) fn events_sent(&self) -> u64 {
        self.events
    }

    pub(super) fn read(&self, patience: Duration) -> InputEvent {
        self.reader.next(patience)
    }

    pub(super) fn recycle(&self, records: RecordBatch) {
        self.reader.recycle(records);
    }

    /// What the pipeline has committed so far.
    pub(super) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error when the pipeline has ended by itself.
    pub(super) fn check(&mut self) -> Result<(), StreamError> {
        match self.shard.take_if(|shard| shard.is_finished()) {
            None => Ok(()),
            Some(shard) => ended(shard),
        }
    }

    /// Stops the pipeline and returns what it committed.
    pub(super) fn stop(&mut self) -> Result<Tally, StreamError> {
        self.stop.store(true, Ordering::Relaxed);
        self.shard.take().map_or(Ok(()), ended)?;
        Ok(self.tally().clone())
    }
}

fn ended(shard: JoinHandle<Result<(), ShardError>>) -> Result<(), StreamError> {
    let failed = |reason: String| StreamError::Other { doing: "running the pipeline".to_owned(), reason };
    match shard.join() {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed("it panicked".to_owned())),
    }
}

fn start_shard(
    kafka: &KafkaSettings,
    names: &TopicNames,
    tally: Arc<Mutex<Tally>>,
    stop: Arc<AtomicBool>,
) -> Result<JoinHandle<Result<(), ShardError>>, StreamError> {
    let settings = Arc::new(ShardSettings {
        kafka: kafka.clone(),
        names: names.clone(),
        shard: 0,
        interval: Duration::from_millis(50),
        records_max: 20_000,
        // All its records are old, and none is late.
        merge_wait: Duration::ZERO,
        lead_span: Span::from_secs(3600),
        checkpoint_every: Duration::MAX,
        ticks: false,
        accept_lost_inputs: false,
    });
    let policy = standard_policy();
    let told = move |report: &mut Report| {
        tally.lock().unwrap_or_else(PoisonError::into_inner).add(&report.tally);
    };
    let run = move || {
        let (_policies, incoming) = channel();
        let mut wishes =
            Wishes { stop, policies: incoming, wanted: Box::new(Vec::new), turned: Box::new(|| ()) };
        let around = Surroundings {
            policy: &|| Arc::clone(&policy),
            seed: SEED,
            told: Arc::new(Mutex::new(told)),
            stage: &|_| {},
            limits: DecodeLimits::default(),
            checkpoints: None,
            candidate: None,
            probe: None,
            steps: None,
        };
        run_live(&settings, &mut wishes, &around)
    };
    let thread = std::thread::Builder::new().name("weir-shard".to_owned()).spawn(run);
    thread.map_err(|error| StreamError::Other {
        doing: "starting the pipeline".to_owned(),
        reason: error.to_string(),
    })
}

fn standard_policy() -> Arc<Policy> {
    let loaded = load(&standard::files());
    loaded.expect("a test holds the standard policy valid").policy
}
