//! Recovery by size, and what checkpoints cost a live stream, on a real Apache Kafka on this machine.
//!
//! `cargo bench --bench recovery -- [users] [seconds]` (1,000,000 users and 60 s unless told; fewer to try it).
//!
//! First: every user acts once, a checkpoint is taken, no further one follows, and then events of all users are decided for
//! so many seconds, as fast as that goes. kill -9; the time until a new process scores again is told, with its parts. It
//! includes the group's session timeout (6 s): a member that was killed is waited for.
//!
//! Then: twice as many events as users wait and are decided, without checkpoints and with one each second, in turns, and
//! the rates are told side by side. What the journal costs is told from the same process: the CPU of scoring batches with and
//! without hashing and journalling what comes out of them.
#![allow(clippy::disallowed_methods, reason = "a bench measures by the clock and reads its arguments")]

#[path = "../support/broker.rs"]
mod broker;
#[path = "../support/instance.rs"]
mod instance;
#[path = "../support/readback.rs"]
mod readback;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/traffic.rs"]
mod traffic;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use instance::Instance;
use readback::Readback;
use traffic::Sender;
use weir::config::standard;
use weir::engine::Engine;
use weir::engine::key::HashSeed;
use weir::engine::policy::load::load;
use weir::engine::time::Timestamp;
use weir::pipeline::{
    Batch, Entry, Foundry, Inputs, Job, Line, Positions, Replica, Report, Taken, Work, basis,
};
use weir::stream::{Coordinates, OutBatch, PartitionEnd, RecordBatch, Timestamp as Stamp, Topic, TopicNames};
use weir::wire::interaction::DecodeLimits;
use weir::wire::journal::JournalKind;

const PARTITIONS: i32 = 6;
/// Events that wait while a rate is taken.
const AHEAD: i64 = 200_000;
/// As good as never.
const NEVER: &str = "24h";
/// Rounds of the comparison of rates.
const ROUNDS: usize = 3;
/// Batches of the comparison of CPU, and events in each.
const BATCHES: u64 = 200;
const BATCH: u64 = 1_000;

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let users = numbers.next().unwrap_or(1_000_000_u64);
    let seconds = numbers.next().unwrap_or(60);
    let kafka = broker::Broker::start_for_measuring(&[]);
    recovery(kafka.bootstrap(), users, Duration::from_secs(seconds));
    rates(kafka.bootstrap(), users);
    journal_share(users.min(100_000));
}

fn say(text: &str) {
    writeln!(std::io::stdout(), "{text}").expect("stdout");
}

/// Events of so many users.
struct Traffic {
    sender: Sender,
    users: u64,
    number: u64,
    text: String,
}

impl Traffic {
    fn new(weir: &Instance, users: u64) -> Self {
        let sender = Sender::new(&weir.kafka.brokers, weir.names.get(Topic::Interactions), 5);
        Self { sender, users, number: 0, text: String::new() }
    }

    fn send(&mut self, events: u64) {
        for _ in 0..events {
            let user = write_event(self.number, self.users, &mut self.text);
            self.sender.send((user % PARTITIONS as u64) as i32, &user.to_string(), &self.text);
            self.number += 1;
        }
    }
}

/// An event of the user whose turn it is, with its own device, behind an address that ten share; returns the user.
fn write_event(number: u64, users: u64, to: &mut String) -> u64 {
    let user = if number < users { number } else { number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20 };
    let user = user % users;
    let action = if number.is_multiple_of(5) { "like" } else { "view" };
    let (a, b, c) = (user / 10 / 65_536 % 256, user / 10 / 256 % 256, user / 10 % 256);
    to.clear();
    write!(
        to,
        "{{\"event_id\":\"e{number}\",\"occurred_at\":{now},\"action\":\"{action}\",\"user_id\":\"u{user}\",\
         \"target_id\":\"t{target}\",\"target_owner_id\":\"o{target}\",\"ip\":\"{ip}.{a}.{b}.{c}\",\
         \"device\":{{\"id\":\"d{user}\",\"canvas\":\"c{user}\"}},\
         \"account\":{{\"created_at\":{created},\"plan\":\"free\"}},\"session_id\":\"s{user}\"}}",
        now = traffic::now_ms(),
        target = number * 31 % 40_009,
        ip = 11,
        created = 1_600_000_000_000 + user * 10_000,
    )
    .expect("text takes all");
    user
}

fn until(weir: &Instance, what: &str, patience: Duration, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < patience, "not {what} after {patience:?}\n{}", weir.log_end());
        thread::sleep(Duration::from_millis(20));
    }
}

fn is_consumed(weir: &Instance) -> bool {
    let reader = Readback::new(&weir.kafka, &weir.names);
    let ends: Vec<Option<i64>> = reader.ends(Topic::Interactions).into_iter().map(Some).collect();
    reader.committed(&weir.kafka, Topic::Interactions) == ends
}

const LONG: Duration = Duration::from_secs(1_800);

fn recovery(brokers: &str, users: u64, time: Duration) {
    let mut weir = Instance::new(brokers, &broker::unique("size"));
    weir.command(&["topics", "create"]);
    weir.start_with(&[("WEIR_STATE_CHECKPOINT_INTERVAL", "5s")]);
    weir.wait_until_ready();
    let mut traffic = Traffic::new(&weir, users);
    traffic.send(users);
    traffic.sender.finish();
    until(&weir, "consumed", LONG, || is_consumed(&weir));
    // Of the ones after this moment the second was begun after it.
    let written = |weir: &Instance| weir.log().matches("checkpoint generation=").count();
    let before = written(&weir);
    until(&weir, "a checkpoint", LONG, || written(&weir) >= before + 2);
    say(&format!("{users} users; {}", last_line(&weir.log(), "checkpoint generation=")));
    weir.terminate();

    weir.start_with(&[("WEIR_STATE_CHECKPOINT_INTERVAL", NEVER)]);
    weir.wait_until_ready();
    let (start, first) = (Instant::now(), committed(&weir));
    while start.elapsed() < time {
        // Never without work, and never far ahead: what is decided is to be behind the checkpoint, not what is sent.
        if (traffic.number as i64) < committed(&weir) + AHEAD {
            traffic.send(AHEAD as u64 / 4);
        }
    }
    let (events, took) = (committed(&weir) - first, start.elapsed().as_secs_f64());
    weir.kill();
    say(&format!("{events} events behind it in {took:.1} s: {:.0} a second", events as f64 / took));

    let killed = Instant::now();
    let log = weir.log().len();
    weir.start_with(&[("WEIR_STATE_CHECKPOINT_INTERVAL", NEVER)]);
    let mut parts = Vec::new();
    let words = ["restored from a checkpoint", "followed the journal to its end", "took the shard over"];
    until(&weir, "live again", LONG, || {
        let since = weir.log()[log..].to_owned();
        let reached = words.iter().filter(|words| since.contains(*words)).count();
        while parts.len() < reached {
            parts.push(killed.elapsed().as_secs_f64());
        }
        parts.len() == words.len()
    });
    weir.wait_until_ready();
    let live = killed.elapsed().as_secs_f64();
    for (words, at) in words.iter().zip(&parts) {
        say(&format!("  {at:6.2} s  {words}"));
    }
    say(&format!("  {live:6.2} s  live after kill -9, the group's session timeout of 6 s included"));
    weir.terminate();
}

fn last_line(log: &str, words: &str) -> String {
    let line = log.lines().rfind(|line| line.contains(words)).unwrap_or_default();
    line.split_once(words).map_or_else(String::new, |(_, rest)| format!("{words}{rest}"))
}

/// Events that wait are decided, with topics of their own each time.
fn rates(brokers: &str, users: u64) {
    let events = users * 2;
    let mut told = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (number, every) in [NEVER, "1s"].into_iter().enumerate() {
            let mut weir = Instance::new(brokers, &broker::unique("rate"));
            weir.command(&["topics", "create"]);
            let mut traffic = Traffic::new(&weir, users);
            traffic.send(events);
            traffic.sender.finish();
            weir.start_with(&[("WEIR_STATE_CHECKPOINT_INTERVAL", every)]);
            weir.wait_until_ready();
            let (start, first) = (Instant::now(), committed(&weir));
            until(&weir, "consumed", LONG, || is_consumed(&weir));
            let rate = (events as i64 - first) as f64 / start.elapsed().as_secs_f64();
            let count = weir.log().matches("checkpoint generation=").count();
            say(&format!("checkpoints every {every:>3}: {rate:.0} events/s, {count} checkpoints"));
            told[number].push(rate);
            weir.terminate();
        }
    }
    let best = told.map(|rates| rates.into_iter().fold(0.0, f64::max));
    say(&format!(
        "best of {ROUNDS}: {:.0} events/s without checkpoints, {:.0} with one each second: {:+.1} %",
        best[0],
        best[1],
        (best[1] / best[0] - 1.0) * 100.0
    ));
}

fn committed(weir: &Instance) -> i64 {
    let reader = Readback::new(&weir.kafka, &weir.names);
    reader.committed(&weir.kafka, Topic::Interactions).into_iter().flatten().sum()
}

/// CPU of batches scored and encoded alone, and with the journal: its record and the hash over all that comes out.
fn journal_share(users: u64) {
    let policy = load(&standard::files()).expect("valid").policy;
    let (seed, limits, names) = (HashSeed(1, 2), DecodeLimits::default(), TopicNames::with_prefix(""));
    let basis = basis(&seed, &limits);
    let foundry = Foundry { seed, names, shard: 0, limits, basis, probe: None };
    let replica = || {
        let positions = Positions::from([((Topic::Interactions, 0), 0)]);
        let line = Line::begin("l".to_owned(), positions, foundry.basis.clone());
        foundry.replica(Engine::new(Arc::clone(&policy), seed), line)
    };
    let batches: Vec<Batch> = (0..BATCHES).map(|number| batch_of(number, users)).collect();
    let mut cpu = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        for (number, journals) in [false, true].into_iter().enumerate() {
            let mut replica = replica();
            let start = weir::clock::thread_cpu_seconds();
            batches.iter().for_each(|batch| score(&mut replica, batch, journals));
            cpu[number] = cpu[number].min(weir::clock::thread_cpu_seconds() - start);
        }
    }
    let [alone, journalled] = cpu.map(|seconds| seconds * 1e6 / (BATCHES * BATCH) as f64);
    say(&format!(
        "scoring and encoding {alone:.2} us of CPU an event, with the journal {journalled:.2}: {:+.1} %",
        (journalled / alone - 1.0) * 100.0
    ));
}

fn batch_of(number: u64, users: u64) -> Batch {
    let (mut records, mut text) = (RecordBatch::default(), String::new());
    let (from, to) = ((number * BATCH) as i64, ((number + 1) * BATCH) as i64);
    for offset in from..to {
        write_event(offset as u64, users, &mut text);
        let at = Coordinates { topic: Topic::Interactions, partition: 0, offset };
        let append = Stamp::Append(traffic::now_ms() as i64);
        records.push(at, append, None, Some(text.as_bytes()));
    }
    records.push_end(PartitionEnd { topic: Topic::Interactions, partition: 0, position: to });
    Batch::from(&Positions::from([((Topic::Interactions, 0), from)]), vec![Arc::new(records)])
}

fn score(replica: &mut Replica, batch: &Batch, journals: bool) {
    let (policy, skip) = (replica.scorer.engine().policy().hash.to_string(), BTreeSet::new());
    let decided_at = Timestamp::from_millis(traffic::now_ms() as i64);
    if !journals {
        let inputs = Inputs { policy: None, ticks: &[], batch, skip: &skip, decided_at };
        let (mut out, mut report) = (OutBatch::default(), Report::default());
        replica.scorer.apply(&inputs, &mut out, &mut report);
        return;
    }
    let (kind, ranges) = (JournalKind::Batch, batch.ranges());
    let entry = Entry { kind, policy, ticks: Vec::new(), ranges, skipped: Vec::new() };
    let work = Work { entry: &entry, policy: None, batch, taken: Taken::NOTHING, decided_at };
    let mut job = Job::default();
    replica.lead(&work, &skip, &mut job);
}
