//! Processes that run a shard and die on order, the stream they work on, and what is checked at its end.

#![allow(clippy::disallowed_methods, reason = "child processes and their environment")]

use std::cell::RefCell;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions};
use rdkafka::client::DefaultClientContext;
use rustix::process::{Pid, Signal, getpid, kill_process};
use tempfile::TempDir;
use weir::config::standard;
use weir::engine::key::HashSeed;
use weir::engine::policy::Policy;
use weir::engine::policy::load::load;
use weir::engine::time::Span;
use weir::pipeline::{Foundry, Probe, ShardSettings, Surroundings, Wishes, basis, run_live};
use weir::state::{Checkpoints, Step as CheckpointStep, Steps};
use weir::stream::{self, GroupProtocol, KafkaSettings, Lookup, Step, Topic, TopicNames, TopicPlan};
use weir::wire::interaction::DecodeLimits;

use crate::broker::{Broker as Memory, Log, Stored};
use crate::readback::Readback;
use crate::traffic::{self, Sender};
use crate::{check, kafka};

/// After so long without a word a member of the group is dead.
pub const SESSION: Duration = Duration::from_millis(2_000);
/// How long anything that is awaited may take: generous, for machines under load.
const PATIENCE: Duration = Duration::from_secs(120);
const PARTITIONS: i32 = 4;
const SEED: HashSeed = HashSeed(3, 4);
/// What tells a process of this binary what to do.
const ORDERS: &str = "WEIR_TEST_CHILD";

/// How a process is to die.
#[derive(Clone, Debug, Default)]
pub struct Kill {
    step: String,
    disk_full: bool,
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

    /// It lives, but no file may grow.
    pub fn disk_full() -> Kill {
        Kill { disk_full: true, ..Kill::default() }
    }

    /// It lives, but scoring this record panics.
    pub fn panic_at(partition: i32, offset: i64) -> Kill {
        Kill { step: format!("panic-{partition}-{offset}:1"), ..Kill::default() }
    }
}

/// What a process was told: brokers, topic prefix, folder, how to die.
pub struct Orders {
    brokers: String,
    prefix: String,
    state: PathBuf,
    step: String,
}

/// The orders of this process, if it is a child.
pub fn child_orders() -> Option<Orders> {
    let text = std::env::var(ORDERS).ok()?;
    let mut parts = text.split('|').map(str::to_owned);
    let mut next = || parts.next().unwrap_or_default();
    Some(Orders { brokers: next(), prefix: next(), state: PathBuf::from(next()), step: next() })
}

fn settings(brokers: &str, prefix: &str) -> (KafkaSettings, TopicNames) {
    let kafka = KafkaSettings {
        brokers: brokers.to_owned(),
        group: format!("{prefix}group"),
        protocol: GroupProtocol::Classic { session_timeout: SESSION },
        ..KafkaSettings::default()
    };
    (kafka, TopicNames::with_prefix(prefix))
}

fn policy() -> Arc<Policy> {
    load(&standard::files()).expect("valid").policy
}

/// Runs a shard until its standard input ends, or until it has to die.
pub fn run(orders: &Orders) {
    tracing_subscriber::fmt().with_ansi(false).with_writer(std::io::stderr).init();
    let (kafka, names) = settings(&orders.brokers, &orders.prefix);
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
    });
    let stop = Arc::new(AtomicBool::new(false));
    let at_end = Arc::clone(&stop);
    thread::spawn(move || {
        drop(std::io::stdin().read_to_end(&mut Vec::new()));
        at_end.store(true, Ordering::Relaxed);
    });
    let doom = Arc::new(Doom::new(&orders.step));
    let told = Arc::clone(&doom);
    let steps = Steps::told(move |step| told.reach(checkpoint_step(step)));
    let checkpoints = match Checkpoints::open(&orders.state, "a test", steps) {
        Ok(checkpoints) => Arc::new(Mutex::new(checkpoints)),
        Err(error) => {
            writeln!(std::io::stderr(), "{error}").expect("a log");
            std::process::exit(1);
        }
    };
    let (_policies, incoming) = channel();
    let mut wishes = Wishes { stop, policies: incoming, wanted: Box::new(Vec::new), turned: Box::new(|| ()) };
    let (policy, probe) = (policy(), doom.probe());
    let around = Surroundings {
        policy: &|| Arc::clone(&policy),
        seed: SEED,
        told: Arc::new(Mutex::new(|_: &mut weir::pipeline::Report| ())),
        stage: &|_| {},
        limits: DecodeLimits::default(),
        checkpoints: Some(checkpoints),
        probe,
        steps: Some(Arc::new(move |step| doom.reach(transaction_step(step)))),
    };
    if let Err(error) = run_live(&settings, &mut wishes, &around) {
        writeln!(std::io::stderr(), "ended: {error}").expect("a log");
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

    /// Panics at the record it was told.
    fn probe(&self) -> Option<Probe> {
        let (partition, offset) = self.step.strip_prefix("panic-")?.split_once('-')?;
        let (partition, offset): (i32, i64) = (partition.parse().ok()?, offset.parse().ok()?);
        Some(Arc::new(move |at: stream::Coordinates| {
            let here = (at.topic, at.partition, at.offset) == (Topic::Interactions, partition, offset);
            assert!(!here, "scoring fails here");
        }))
    }
}

fn die() {
    kill_process(getpid(), Signal::KILL).expect("nobody survives this");
    thread::sleep(PATIENCE);
}

/// One process.
pub struct Child {
    process: std::process::Child,
    log: PathBuf,
}

impl Child {
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
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

/// A stream, its topics, and the folders of the processes that work on it.
pub struct Stage {
    own: Option<kafka::Broker>,
    brokers: String,
    prefix: String,
    dir: TempDir,
    sender: Sender,
    partitions: i32,
    sent: u64,
    starts: u32,
}

impl Stage {
    pub fn new(name: &str) -> Stage {
        Stage::on(None, short_sessions(), name)
    }

    pub fn with_broker_of_its_own(name: &str) -> Stage {
        let own = kafka::Broker::start(&["group.min.session.timeout.ms=1000"]);
        let brokers = own.bootstrap().to_owned();
        Stage::on(Some(own), &brokers, name)
    }

    fn on(own: Option<kafka::Broker>, brokers: &str, name: &str) -> Stage {
        let prefix = kafka::unique(name);
        let (settings, names) = settings(brokers, &prefix);
        let plan = TopicPlan {
            prefix: prefix.clone(),
            partitions: PARTITIONS,
            replication: 1,
            ..TopicPlan::default()
        };
        stream::create(&settings, &plan, PATIENCE).expect("topics");
        let sender = Sender::new(brokers, names.get(Topic::Interactions), 2);
        let dir = TempDir::new().expect("a temporary folder");
        Stage {
            own,
            brokers: brokers.to_owned(),
            prefix,
            dir,
            sender,
            partitions: PARTITIONS,
            sent: 0,
            starts: 0,
        }
    }

    pub fn state(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("state-{name}"))
    }

    /// Starts a process that keeps its state under a name.
    pub fn start(&mut self, name: &str, kill: &Kill) -> Child {
        self.starts += 1;
        let log = self.dir.path().join(format!("{}-{name}.log", self.starts));
        let file = fs::File::create(&log).expect("a log");
        let state = self.state(name);
        let orders = format!("{}|{}|{}|{}", self.brokers, self.prefix, state.display(), kill.step);
        let exe = std::env::current_exe().expect("this test");
        let limit = if kill.disk_full { "trap '' XFSZ; ulimit -f 64; " } else { "" };
        let script = format!("{limit}exec \"$0\" child --exact --nocapture --test-threads 1");
        let mut command = Command::new("bash");
        command.args(["-c", &script]).arg(exe).env(ORDERS, orders).env("RUST_BACKTRACE", "0");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("it starts");
        // Through a pipe, for a limit on files would hold for a log as well.
        let (mut pipe, mut file) = (process.stderr.take().expect("a pipe"), file);
        thread::spawn(move || drop(std::io::copy(&mut pipe, &mut file)));
        Child { process, log }
    }

    /// Sends a few events.
    fn load(&mut self) {
        let mut text = String::new();
        for _ in 0..50 {
            traffic::event(self.sent, &mut text);
            let user = traffic::user(self.sent);
            self.sender.send((user % self.partitions as u64) as i32, &user.to_string(), &text);
            self.sent += 1;
        }
        thread::sleep(Duration::from_millis(20));
    }

    /// Keeps the stream flowing until something holds.
    pub fn load_until(&mut self, mut holds: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds() {
            assert!(Instant::now() < deadline, "it did not come to that: {}", self.logs());
            self.load();
        }
    }

    pub fn load_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        self.load_until(|| Instant::now() > end);
    }

    fn logs(&self) -> String {
        let mut all = String::new();
        for number in 1..=self.starts {
            for name in ["a", "b"] {
                let log = self.dir.path().join(format!("{number}-{name}.log"));
                let text = fs::read_to_string(log).unwrap_or_default();
                let lines: Vec<&str> = text.lines().collect();
                all += &lines[lines.len().saturating_sub(12)..].join("\n");
                all.push('\n');
            }
        }
        all
    }

    fn reader(&self) -> (Readback, KafkaSettings) {
        let (kafka, names) = settings(&self.brokers, &self.prefix);
        (Readback::new(&kafka, &names), kafka)
    }

    /// What the group has committed; `None` while the broker cannot tell.
    fn consumed(&self) -> Option<i64> {
        let (kafka, names) = settings(&self.brokers, &self.prefix);
        let lookup = Lookup::open(&kafka, &names).expect("a client");
        let committed =
            lookup.committed(Topic::Interactions, self.partitions, Duration::from_secs(5)).ok()?;
        Some(committed.into_iter().flatten().sum())
    }

    /// Keeps the stream flowing until more of it was decided.
    pub fn wait_for_progress(&mut self, weir: &mut Child) {
        let deadline = Instant::now() + PATIENCE;
        let mut before = None;
        loop {
            match (before, self.consumed()) {
                (None, now) => before = now,
                (Some(before), Some(now)) if now > before => return,
                _ => {}
            }
            assert!(!weir.has_ended() && Instant::now() < deadline, "no progress\n{}", weir.log());
            self.load();
        }
    }

    pub fn wait_for_takeover(&mut self, weir: &mut Child) {
        self.load_until(|| weir.log().contains("took the shard over"));
        self.wait_for_progress(weir);
    }

    /// The topic of interactions gets more partitions.
    pub fn grow(&mut self, partitions: i32) {
        let admin: AdminClient<DefaultClientContext> =
            rdkafka::ClientConfig::new().set("bootstrap.servers", &self.brokers).create().expect("a client");
        let (_, names) = settings(&self.brokers, &self.prefix);
        let more = NewPartitions::new(names.get(Topic::Interactions), partitions as usize);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let made =
            runtime.block_on(admin.create_partitions([&more], &AdminOptions::new())).expect("an answer");
        assert!(made.iter().all(Result::is_ok), "{made:?}");
        self.partitions = partitions;
        // A client that knew the topic before learns of them late.
        self.sender.finish();
        self.sender = Sender::new(&self.brokers, names.get(Topic::Interactions), 2);
    }

    pub fn restart_broker(&mut self) {
        let own = self.own.as_mut().expect("a broker of its own");
        own.kill();
        own.launch();
    }

    /// Where records stood that became dead letters for this reason.
    pub fn dead_letters(&self, reason: &str) -> Vec<(i32, i64)> {
        let mut found = Vec::new();
        self.reader().0.read_all(Topic::DeadLetters, |record| {
            let header = |name: &str| {
                let value =
                    record.headers.iter().find(|(known, _)| *known == name).and_then(|(_, value)| value);
                String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
            };
            if header("__weir.errors.reason") == reason {
                let number = |name: &str| header(name).parse::<i64>().expect("a number");
                found.push((number("__weir.errors.partition") as i32, number("__weir.errors.offset")));
            }
        });
        found
    }

    /// A process in good health comes to the end of the stream; then everything is checked. Returns its log.
    pub fn finish(mut self) -> String {
        self.sender.finish();
        let mut weir = self.start("a", &Kill::never());
        let (reader, kafka) = self.reader();
        let ends: Vec<Option<i64>> = reader.ends(Topic::Interactions).into_iter().map(Some).collect();
        let deadline = Instant::now() + PATIENCE;
        while reader.committed(&kafka, Topic::Interactions) != ends {
            assert!(!weir.has_ended() && Instant::now() < deadline, "not consumed\n{}", weir.log());
            thread::sleep(Duration::from_millis(50));
        }
        let log = weir.log();
        weir.stop();
        let start = Instant::now();
        let memory = Rc::new(RefCell::new(self.copy(&reader, &kafka)));
        let limits = DecodeLimits::default();
        let names = TopicNames::with_prefix(&self.prefix);
        let foundry =
            Foundry { seed: SEED, names, shard: 0, limits, basis: basis(&SEED, &limits), probe: None };
        let checked = check::everything(&memory, &[policy()], &foundry);
        assert_eq!(checked.checked["interactions"], self.sent);
        assert!(checked.checked["decisions compared"] > 0, "{checked}");
        println!("{} processes, checked in {:.1?}\n{checked}", self.starts, start.elapsed());
        log
    }

    /// All topics, as a committed reader sees them.
    fn copy(&self, reader: &Readback, kafka: &KafkaSettings) -> Memory {
        let mut memory = Memory::default();
        for topic in Topic::ALL {
            for (partition, end) in (0..).zip(reader.ends(topic)) {
                memory.fill((topic, partition), Log { end, ..Log::default() });
            }
            let mut logs: Vec<Log> =
                (0..memory.partitions(topic)).map(|p| memory.log(topic, p).clone()).collect();
            reader.read_all(topic, |record| logs[record.at.partition as usize].records.push(stored(&record)));
            (0..).zip(logs).for_each(|(partition, log)| memory.fill((topic, partition), log));
        }
        for topic in [Topic::Interactions, Topic::Commands, Topic::Feedback] {
            for (partition, next) in (0..).zip(reader.committed(kafka, topic)) {
                memory.committed.extend(next.map(|next| ((topic, partition), next)));
            }
        }
        memory
    }
}

fn stored(record: &stream::RecordRef<'_>) -> Stored {
    let append = match record.timestamp {
        stream::Timestamp::Append(at) | stream::Timestamp::Create(at) => at,
        stream::Timestamp::None => 0,
    };
    Stored {
        offset: record.at.offset,
        append,
        key: record.key.map(<[u8]>::to_vec),
        value: record.value.map(<[u8]>::to_vec),
        headers: record
            .headers
            .iter()
            .map(|(name, value)| (name.to_owned(), value.map(<[u8]>::to_vec)))
            .collect(),
    }
}

/// A broker, shared by the tests of this binary, that takes short session timeouts.
fn short_sessions() -> &'static str {
    static SHARED: std::sync::OnceLock<kafka::Broker> = std::sync::OnceLock::new();
    SHARED.get_or_init(|| kafka::Broker::start(&["group.min.session.timeout.ms=1000"])).bootstrap()
}
