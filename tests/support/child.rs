//! A process that runs a shard and dies on order.

#![allow(unreachable_pub, reason = "shared modules; each test binary uses its own part")]
#![allow(clippy::disallowed_methods, reason = "child processes and their environment")]

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process};
use weir::config::standard;
use weir::engine::key::HashSeed;
use weir::engine::policy::Policy;
use weir::engine::policy::load::load;
use weir::engine::time::Span;
use weir::pipeline::{Probe, ShardSettings, Surroundings, Wishes, run_live};
use weir::state::{Checkpoints, Step as CheckpointStep, Steps};
use weir::stream::{self, GroupProtocol, KafkaSettings, Step, Topic, TopicNames};
use weir::wire::interaction::DecodeLimits;

/// After so long without a word a member of the group is dead.
pub const SESSION: Duration = Duration::from_millis(2_000);
/// How long anything that is awaited may take: generous, for machines under load.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// How long a broker that is short of patience waits.
pub const SHORT: Duration = SESSION;
/// How long a process stands still: longer than that.
pub const STALL: Duration = Duration::from_millis(4_500);
/// Records that the client holds where there is little room.
pub const QUEUE: i64 = 10;
pub const SEED: HashSeed = HashSeed(3, 4);
/// What tells a process of this binary what to do.
pub const ORDERS: &str = "WEIR_TEST_CHILD";

/// How a process is to die.
#[derive(Clone, Debug, Default)]
pub struct Kill {
    pub step: String,
    pub disk_full: bool,
    pub reloads: bool,
    pub bounds: Bounds,
}

/// What is set closer than it should be, to be met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bounds {
    #[default]
    Usual,
    /// The client's own queue holds [`QUEUE`] records.
    Queue,
    /// The broker waits [`SHORT`] for a transaction to end, and for the group's member to poll.
    Patience,
}

impl Kill {
    /// Not by itself.
    pub fn never() -> Kill {
        Kill::default()
    }

    /// When it comes to a step for the n-th time: `name:n`.
    pub fn at(step: &str) -> Kill {
        Kill { step: step.to_owned(), ..Kill::default() }
    }

    /// Likewise, while another policy takes effect several times a second.
    pub fn reloading_at(step: &str) -> Kill {
        Kill { reloads: true, ..Kill::at(step) }
    }

    /// It lives, but no file may grow.
    pub fn disk_full() -> Kill {
        Kill { disk_full: true, ..Kill::default() }
    }

    /// It lives, but from the n-th file of a checkpoint on none can be synced.
    pub fn unsynced_from(file: u32) -> Kill {
        Kill { step: format!("unsynced:{file}"), ..Kill::default() }
    }

    /// It lives, but stands still for [`STALL`] when it comes to a step for the n-th time, or to a record:
    /// `record-partition-offset`. The broker is short of patience.
    pub fn stall_at(step: &str) -> Kill {
        Kill { bounds: Bounds::Patience, ..Kill::at(&format!("stall-{step}")) }
    }

    /// It lives, with little room between it and the broker.
    pub fn short_of_room() -> Kill {
        Kill { bounds: Bounds::Queue, ..Kill::default() }
    }

    /// It lives, but scoring this record panics.
    pub fn panic_at(partition: i32, offset: i64) -> Kill {
        Kill { step: format!("panic-{partition}-{offset}:1"), ..Kill::default() }
    }
}

/// What a process was told: brokers, topic prefix, folder, how to die, whether to change policies until then.
pub struct Orders {
    brokers: String,
    prefix: String,
    state: PathBuf,
    step: String,
    reloads: bool,
    bounds: String,
}

/// The orders of this process, if it is a child.
pub fn child_orders() -> Option<Orders> {
    let text = std::env::var(ORDERS).ok()?;
    let mut parts = text.split('|').map(str::to_owned);
    let mut next = || parts.next().unwrap_or_default();
    let (brokers, prefix, state, step) = (next(), next(), PathBuf::from(next()), next());
    Some(Orders { brokers, prefix, state, step, reloads: next() == "reloads", bounds: next() })
}

pub fn settings(brokers: &str, prefix: &str) -> (KafkaSettings, TopicNames) {
    let kafka = KafkaSettings {
        brokers: brokers.to_owned(),
        group: format!("{prefix}group"),
        protocol: GroupProtocol::Classic { session_timeout: SESSION },
        ..KafkaSettings::default()
    };
    (kafka, TopicNames::with_prefix(prefix))
}

/// The standard policy, and the same with one limit more.
pub fn policies() -> [Arc<Policy>; 2] {
    let limit = "version: 1\nlimits:\n  - { id: more, key: [user, action], window: 10s, max: 3, verdict: challenge, \
                 code: C, text: t, source: s, owner: o }\n";
    let mut more = standard::files();
    more.push(("more.yaml".to_owned(), limit.to_owned()));
    [standard::files(), more].map(|files| load(&files).expect("valid").policy)
}

/// Runs a shard until its standard input ends, or until it has to die.
pub fn run(orders: &Orders) {
    tracing_subscriber::fmt().with_ansi(false).with_writer(io::stderr).init();
    let (mut kafka, names) = settings(&orders.brokers, &orders.prefix);
    if orders.bounds == format!("{:?}", Bounds::Patience) {
        (kafka.transaction_timeout, kafka.poll_interval) = (SHORT, SHORT);
    }
    if orders.bounds == format!("{:?}", Bounds::Queue) {
        kafka.properties.insert("producer.queue.buffering.max.messages".to_owned(), QUEUE.to_string());
    }
    let settings = Arc::new(ShardSettings {
        kafka,
        names,
        shard: 0,
        interval: Duration::from_millis(20),
        records_max: 2_000,
        merge_wait: Duration::from_millis(20),
        lead_span: Span::from_secs(3600),
        checkpoint_every: Duration::from_millis(300),
        ticks: true,
        accept_lost_inputs: false,
    });
    let stop = Arc::new(AtomicBool::new(false));
    let at_end = Arc::clone(&stop);
    thread::spawn(move || {
        drop(io::stdin().read_to_end(&mut Vec::new()));
        at_end.store(true, Ordering::Relaxed);
    });
    let doom = Arc::new(Doom::new(&orders.step));
    let told = Arc::clone(&doom);
    let steps = if told.step == "unsynced" {
        Steps::synced(move |_| told.sync())
    } else {
        Steps::told(move |step| told.reach(checkpoint_step(step)))
    };
    let checkpoints = match Checkpoints::open(&orders.state, "a test", steps) {
        Ok(checkpoints) => Arc::new(Mutex::new(checkpoints)),
        Err(error) => {
            writeln!(io::stderr(), "{error}").expect("a log");
            std::process::exit(1);
        }
    };
    let (changes, incoming) = channel();
    let mut wishes = Wishes { stop, policies: incoming, wanted: Box::new(Vec::new), turned: Box::new(|| ()) };
    let [policy, other] = policies();
    if orders.reloads {
        let both = [other, Arc::clone(&policy)];
        thread::spawn(move || {
            let mut next = both.iter().cycle().cloned();
            while changes.send(next.next().expect("endless")).is_ok() {
                thread::sleep(Duration::from_millis(150));
            }
        });
    }
    let probe = doom.probe();
    let around = Surroundings {
        policy: &|| Arc::clone(&policy),
        seed: SEED,
        told: Arc::new(Mutex::new(|_: &mut weir::pipeline::Report| ())),
        stage: &|_| {},
        limits: DecodeLimits::default(),
        checkpoints: Some(checkpoints),
        candidate: None,
        probe,
        steps: Some(Arc::new(move |step| doom.reach(transaction_step(step)))),
    };
    if let Err(error) = run_live(&settings, &mut wishes, &around) {
        writeln!(io::stderr(), "ended: {error}").expect("a log");
        std::process::exit(1);
    }
    std::process::exit(0);
}

fn transaction_step(step: Step) -> &'static str {
    match step {
        Step::Begin => "begin",
        Step::Send => "send",
        Step::Drain => "drain",
        Step::Offsets => "offsets",
        Step::Commit => "commit",
        Step::Done => "done",
    }
}

fn checkpoint_step(step: CheckpointStep) -> &'static str {
    match step {
        CheckpointStep::SegmentHalfWritten => "half",
        CheckpointStep::Rename => "rename",
        CheckpointStep::Manifest => "manifest",
        CheckpointStep::Prune => "prune",
    }
}

/// Ends the process when it comes to its step for the n-th time.
struct Doom {
    step: String,
    left: AtomicU32,
}

impl Doom {
    fn new(order: &str) -> Doom {
        let (step, times) = order.split_once(':').unwrap_or((order, "0"));
        Doom { step: step.to_owned(), left: AtomicU32::new(times.parse().expect("a number")) }
    }

    fn reach(&self, step: &str) {
        if self.step.strip_prefix("stall-") == Some(step) {
            if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
                thread::sleep(STALL);
            }
            return;
        }
        let under_way = self.step == "commit-under-way" && step == "commit";
        if (self.step != step && !under_way) || self.left.fetch_sub(1, Ordering::Relaxed) != 1 {
            return;
        }
        if under_way {
            thread::spawn(|| {
                thread::sleep(Duration::from_micros(700));
                die();
            });
        } else {
            die();
        }
    }

    /// Stands for a disk that cannot keep what it is given, from the n-th file on.
    fn sync(&self) -> io::Result<()> {
        let left = self.left.load(Ordering::Relaxed).saturating_sub(1);
        self.left.store(left, Ordering::Relaxed);
        if left == 0 { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
    }

    /// Panics or stands still at the record it was told.
    fn probe(&self) -> Option<Probe> {
        let (stalls, place) = match self.step.strip_prefix("stall-record-") {
            Some(place) => (true, place),
            None => (false, self.step.strip_prefix("panic-")?),
        };
        let (partition, offset) = place.split_once('-')?;
        let (partition, offset): (i32, i64) = (partition.parse().ok()?, offset.parse().ok()?);
        Some(Arc::new(move |at: stream::Coordinates| {
            let here = (at.topic, at.partition, at.offset) == (Topic::Interactions, partition, offset);
            if stalls && here {
                tracing::info!("stands still");
                thread::sleep(STALL);
            } else {
                assert!(!here, "scoring fails here");
            }
        }))
    }
}

fn die() {
    kill_process(getpid(), Signal::KILL).expect("nobody survives this");
    thread::sleep(PATIENCE);
}

/// One process.
pub struct Child {
    pub process: std::process::Child,
    pub log: PathBuf,
}

impl Child {
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Resident memory, KB.
    pub fn memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.process.id());
        let status = fs::read_to_string(path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
    }

    pub fn has_ended(&mut self) -> bool {
        self.process.try_wait().expect("it can be asked").is_some()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).expect("it can be told");
    }

    pub fn wait(&mut self) {
        self.process.wait().expect("it ends");
    }

    /// Ends it in good order.
    pub fn stop(&mut self) {
        drop(self.process.stdin.take());
        let status = self.process.wait().expect("it ends");
        assert!(status.success(), "{status}\n{}", self.log());
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.process.kill().unwrap_or_default();
        drop(self.process.wait());
    }
}
