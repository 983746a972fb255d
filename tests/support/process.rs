//! The stream that processes work on, how it is disturbed, and what is checked at its end.

#![allow(clippy::disallowed_methods, reason = "child processes and their environment")]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions};
use rdkafka::client::DefaultClientContext;
use tempfile::TempDir;
use weir::pipeline::{Foundry, basis};
use weir::state::{Checkpoints, Meta, Steps};
use weir::stream::{self, KafkaSettings, Lookup, Topic, TopicNames, TopicPlan};
use weir::wire::interaction::DecodeLimits;
use weir::wire::journal;

use crate::broker::{Broker as Memory, Log, Stored};
use crate::child::{Child, Kill, ORDERS, PATIENCE, SEED, policies, settings};
use crate::proxy::Proxy;
use crate::readback::Readback;
use crate::traffic::{self, Sender};
use crate::{check, kafka};

const PARTITIONS: i32 = 4;

/// What the owner of the shard says once it goes on where another one, or nobody, had come to.
const TAKEOVER: &str = "took the shard over";

/// A stream, its topics, and the folders of the processes that work on it.
pub struct Stage {
    own: Option<kafka::Broker>,
    /// The wire between the processes and the broker; nobody else goes by it.
    pub wire: Option<Proxy>,
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

    /// A broker of its own, to which the processes have a wire that can be disturbed.
    pub fn behind_a_wire(name: &str) -> Stage {
        let wire = Proxy::open();
        let (own, port) = kafka::Broker::start_behind(wire.port(), &["group.min.session.timeout.ms=1000"]);
        wire.lead_to(port);
        let brokers = own.bootstrap().to_owned();
        Stage { wire: Some(wire), ..Stage::on(Some(own), &brokers, name) }
    }

    /// The wire.
    pub fn wire(&self) -> &Proxy {
        self.wire.as_ref().expect("a stage behind a wire")
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
            wire: None,
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
        let reloads = if kill.reloads { "reloads" } else { "" };
        let brokers = match &self.wire {
            Some(wire) => format!("127.0.0.1:{}", wire.port()),
            None => self.brokers.clone(),
        };
        let (state, step, bounds) = (state.display(), &kill.step, kill.bounds);
        let orders = format!("{brokers}|{}|{state}|{step}|{reloads}|{bounds:?}", self.prefix);
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

    /// Sends a few events: about 800 a second. To check one at the end costs more than to decide it a hundred times.
    fn load(&mut self) {
        let mut text = String::new();
        for _ in 0..20 {
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
        self.load_until(|| weir.log().contains(TAKEOVER));
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

    /// The most records of one batch.
    pub fn largest_batch(&self) -> i64 {
        let mut largest = 0;
        self.reader().0.read_all(Topic::Journal, |record| {
            let ranges = journal::decode(record.value).expect("a record of the journal").ranges;
            largest = ranges.iter().map(|range| range.to - range.from).sum::<i64>().max(largest);
        });
        largest
    }

    /// How many policies the journal tells of, and how often one took the place of another.
    pub fn policy_changes(&self) -> (usize, usize) {
        let mut told = Vec::new();
        self.reader().0.read_all(Topic::Journal, |record| {
            told.push(journal::decode(record.value).expect("a record of the journal").policy);
        });
        let changes = told.windows(2).filter(|pair| pair[0] != pair[1]).count();
        (told.into_iter().collect::<BTreeSet<String>>().len(), changes)
    }

    /// What a batch leaves whose transaction was aborted after its checkpoint was written: the newest checkpoint again, for
    /// a record that the journal does not hold.
    pub fn forge_a_checkpoint_of_an_aborted_batch(&self, name: &str) {
        let mut checkpoints =
            Checkpoints::open(self.state(name), "a test", Steps::default()).expect("nobody else's");
        let newest = checkpoints.published().expect("a manifest").first().expect("a checkpoint").generation;
        let pages = checkpoints.load(newest).expect("whole");
        let meta = Meta { seq: pages.meta().seq + 1, chain: "ab".repeat(32), ..pages.meta().clone() };
        let mut writer = checkpoints.begin(meta).expect("room");
        pages.for_each(|page| drop(writer.write(page.expect("whole")).expect("room")));
        let written = writer.finish().expect("room");
        assert!(checkpoints.publish(written).expect("room").generation > newest);
    }

    /// `weir verify` on the topics as they stand: its exit code and what it printed.
    pub fn verify(&self) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.args(["verify", "--model", "--brokers", &self.brokers]).current_dir(self.dir.path());
        command.env("WEIR_KAFKA_TOPIC_PREFIX", &self.prefix);
        command.env("WEIR_KAFKA_GROUP", format!("{}group", self.prefix));
        let output = command.stdin(Stdio::null()).output().expect("it runs");
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    }

    /// Writes the first decision there is once more, changed; returns where it stands.
    pub fn forge_a_decision(&self) -> String {
        let (reader, _) = self.reader();
        let mut first = None;
        reader.read_all(Topic::Decisions, |record| {
            first.get_or_insert_with(|| (record.at.partition, record.value.expect("a decision").to_vec()));
        });
        let (partition, value) = first.expect("a decision");
        let value = String::from_utf8(value).expect("JSON");
        let forged = value.replacen("\"verdict\":\"", "\"verdict\":\"block\",\"was\":\"", 1);
        let (_, names) = settings(&self.brokers, &self.prefix);
        let topic = names.get(Topic::Decisions);
        // Behind the true one in its own partition: the second of the two, in whatever order partitions are read.
        let place = format!("{topic}-{partition}@{}", reader.ends(Topic::Decisions)[partition as usize]);
        let sender = Sender::new(&self.brokers, topic, 0);
        sender.send(partition, "forged", &forged);
        sender.finish();
        place
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
        let log = self.come_to_the_end();
        self.check();
        log
    }

    /// A process in good health comes to the end of the stream and ends. Returns its log.
    pub fn come_to_the_end(&mut self) -> String {
        self.sender.finish();
        let mut weir = self.start("a", &Kill::never());
        let (reader, kafka) = self.reader();
        let ends: Vec<Option<i64>> = reader.ends(Topic::Interactions).into_iter().map(Some).collect();
        let deadline = Instant::now() + PATIENCE;
        // All may have been consumed before: then it has still to say how it came to own the shard.
        while reader.committed(&kafka, Topic::Interactions) != ends || !weir.log().contains(TAKEOVER) {
            assert!(!weir.has_ended() && Instant::now() < deadline, "not consumed\n{}", weir.log());
            thread::sleep(Duration::from_millis(50));
        }
        let log = weir.log();
        weir.stop();
        log
    }

    fn check(&self) {
        let start = Instant::now();
        let (reader, kafka) = self.reader();
        let memory = Rc::new(RefCell::new(self.copy(&reader, &kafka)));
        let limits = DecodeLimits::default();
        let names = TopicNames::with_prefix(&self.prefix);
        let foundry =
            Foundry { seed: SEED, names, shard: 0, limits, basis: basis(&SEED, &limits), probe: None };
        let checked = check::everything(&memory, &policies(), &foundry);
        assert_eq!(checked.checked["interactions"], self.sent);
        assert!(checked.checked["decisions compared"] > 0, "{checked}");
        println!("{} processes, checked in {:.1?}\n{checked}", self.starts, start.elapsed());
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

/// How often the broker looks for transactions whose time is over.
const TIMED_OUT: &str = "transaction.abort.timed.out.transaction.cleanup.interval.ms=500";

/// A broker, shared by the tests of this binary, that takes short session timeouts.
fn short_sessions() -> &'static str {
    static SHARED: std::sync::OnceLock<kafka::Broker> = std::sync::OnceLock::new();
    SHARED.get_or_init(|| kafka::Broker::start(&[TIMED_OUT])).bootstrap()
}
