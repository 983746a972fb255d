//! Checkpoints under load: how much longer batches take while a cut is made, and what a checkpoint costs.
//!
//! `cargo bench --bench checkpoint -- [users] [batch events] [cuts]` (1,000,000 users, batches of 5,000 events, 3 cuts
//! unless told). Every user acts once, then traffic goes on in which few do much. State grows meanwhile and batches get
//! slower with it, so a cut is compared with the stretches of batches on both sides of it. Prints the median and the 99th
//! percentile of what a batch takes (decode, score, copy a slice) in wall and CPU time, what the cut adds to both, its
//! length, the size of the checkpoint, how long the writer took, and how long loading and restoring takes. The first
//! restored answer is compared with the one of the engine that was never stopped.
//!
//! A batch is what comes in within the commit interval of 50 ms: 5,000 events at 100,000 a second. Where scoring alone
//! takes nearly the whole interval (at the rate that saturates the thread it does by definition), a 99th percentile below
//! it says nothing of cuts: run it with 2,500 for the latency at half that rate. What a cut adds is the figure that holds
//! at any rate. Run it on a machine that does nothing else.

use std::fmt::{self, Write as _};
use std::sync::mpsc::{Sender, TrySendError, channel, sync_channel};
use std::thread;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir::clock::{self, Stopwatch};
use weir::engine::cut::{CutProgress, Page, Restore};
use weir::engine::event::Arrival;
use weir::engine::key::HashSeed;
use weir::engine::policy::load::load;
use weir::engine::time::Timestamp;
use weir::engine::{Ahead, Engine, Input, Outputs};
use weir::pipeline::copy_slice;
use weir::state::{Archive, Checkpoints, Generation, Meta, StateError, Steps, Writer, Written};
use weir::wire::interaction::{DecodeLimits, decode};

const SEED: HashSeed = HashSeed(1, 2);
/// Sunday, 2025-06-15T12:00:00Z.
const START: i64 = 1_749_988_800_000;
/// Event time between two events, in microseconds: 100,000 events a second.
const STEP_MICROS: i64 = 10;
/// Batches before the first cut, between two and after the last.
const BETWEEN: usize = 200;
/// Slices that wait for the writer.
const WAITING: usize = 4;

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let users = numbers.next().unwrap_or(1_000_000_u64);
    let (batch, cuts) = (numbers.next().unwrap_or(5_000), numbers.next().unwrap_or(3));
    let mut load = Load::new(users, batch);
    load.everybody_acts_once();
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut checkpoints = Checkpoints::open(dir.path(), "bench", Steps::default()).expect("its own folder");
    let (mut before, mut last, mut added) = (load.stretch(), None, Vec::new());
    for _ in 0..cuts {
        let (during, generation) = load.checkpoint(&mut checkpoints);
        let after = load.stretch();
        report(&[("before", &before), ("during", &during), ("after", &after)]);
        added.push(during_adds(&before, &during, &after));
        (before, last) = (after, Some(generation));
    }
    let middle = |of: fn(&Cost) -> f64| spread(added.iter().map(of).collect()).median;
    say(&format!(
        "a cut adds to the median batch: wall {:+.1} ms, cpu {:+.1} ms (the middle of {cuts} cuts)",
        middle(|added| added.wall),
        middle(|added| added.cpu)
    ));
    if let Some(generation) = last {
        restore(&mut load, &dir, &generation);
    }
}

/// What the median batch takes more than in the stretches on both sides.
fn during_adds(before: &[Cost], during: &[Cost], after: &[Cost]) -> Cost {
    let more = |of: fn(&Cost) -> f64| {
        let median = |costs: &[Cost]| spread(costs.iter().map(of).collect()).median;
        median(during) - f64::midpoint(median(before), median(after))
    };
    let added = Cost { wall: more(|cost| cost.wall), cpu: more(|cost| cost.cpu) };
    say(&format!("the cut adds to the median: wall {:+.1} ms, cpu {:+.1} ms", added.wall, added.cpu));
    added
}

/// What a batch took of the scoring thread, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Cost {
    wall: f64,
    cpu: f64,
}

/// Measures a [`Cost`].
struct Meter {
    wall: Stopwatch,
    cpu: f64,
}

impl Meter {
    fn start() -> Self {
        Self { wall: Stopwatch::start(), cpu: clock::thread_cpu_seconds() }
    }

    fn stop(&self) -> Cost {
        Cost { wall: self.wall.seconds() * 1e3, cpu: (clock::thread_cpu_seconds() - self.cpu) * 1e3 }
    }
}

/// The engine under load.
struct Load {
    engine: Engine,
    traffic: Traffic,
    batch: u64,
    /// The state at the cut goes on with these lines.
    since_cut: Vec<String>,
}

impl Load {
    fn new(users: u64, batch: u64) -> Self {
        let policy = load(&weir::config::standard::files()).expect("the standard policy is valid").policy;
        let traffic = Traffic { dice: ChaCha8Rng::seed_from_u64(1), users, number: 0 };
        Self { engine: Engine::new(policy, SEED), traffic, batch, since_cut: Vec::new() }
    }

    fn everybody_acts_once(&mut self) {
        for users in (0..self.traffic.users).collect::<Vec<_>>().chunks(self.batch as usize) {
            let lines: Vec<String> = users.iter().map(|user| self.traffic.line_of(*user)).collect();
            score(&mut self.engine, &lines, self.traffic.number);
        }
    }

    fn stretch(&mut self) -> Vec<Cost> {
        (0..BETWEEN).map(|_| self.batch()).collect()
    }

    fn batch(&mut self) -> Cost {
        let lines = self.lines();
        score(&mut self.engine, &lines, self.traffic.number)
    }

    fn lines(&mut self) -> Vec<String> {
        (0..self.batch).map(|_| self.traffic.line()).collect()
    }

    /// A cut while scoring goes on, written by another thread. Gives the times of the batches.
    fn checkpoint(&mut self, checkpoints: &mut Checkpoints) -> (Vec<Cost>, Generation) {
        let writer = checkpoints.begin(meta()).expect("writable");
        let (send, receive) = sync_channel::<Vec<Page>>(WAITING);
        let (written, spare) = channel();
        let writing = thread::spawn(move || write(writer, receive.into_iter().flatten(), &written));
        let (cut, mut waits) = (Stopwatch::start(), None);
        let (mut times, mut copies) = (Vec::new(), Vec::new());
        self.since_cut.clear();
        let mut copying = Meter::start();
        self.engine.begin_cut();
        loop {
            let copied = copying.stop();
            let lines = self.lines();
            let scored = score(&mut self.engine, &lines, self.traffic.number);
            copies.push(copied);
            times.push(Cost { wall: copied.wall + scored.wall, cpu: copied.cpu + scored.cpu });
            if self.since_cut.is_empty() {
                self.since_cut = lines;
            }
            copying = Meter::start();
            self.engine.reuse(spare.try_iter());
            let (pages, progress) = waits.take().unwrap_or_else(|| copy_slice(&mut self.engine));
            match send.try_send(pages) {
                Ok(()) if progress != CutProgress::More => break,
                Ok(()) => {}
                Err(TrySendError::Full(pages)) => waits = Some((pages, progress)),
                Err(TrySendError::Disconnected(_)) => panic!("the writer takes all"),
            }
        }
        let cut_s = cut.seconds();
        drop(send);
        let (written, cpu_s) = writing.join().expect("no panic");
        let written = written.expect("there is room on the disk");
        let whole_s = cut.seconds();
        let generation = checkpoints.publish(written).expect("writable");
        let mb = generation.bytes as f64 / 1e6;
        say(&format!("begin_cut {:.1} ms, cut {cut_s:.2} s in {} batches", copies[0].wall, times.len()));
        report(&[("copying", &copies[1..])]);
        say(&format!("checkpoint {mb:.0} MB in {} files, synced after {whole_s:.2} s", generation.files));
        say(&format!("writer {cpu_s:.2} CPU-s, published after {:.2} s", cut.seconds()));
        (times, generation)
    }
}

fn write(
    mut writer: Writer,
    pages: impl Iterator<Item = Page>,
    spare: &Sender<Vec<u32>>,
) -> (Result<Written, StateError>, f64) {
    for page in pages {
        match writer.write(page) {
            // Nobody needs it once the last page is copied.
            Ok(words) => spare.send(words).unwrap_or_default(),
            Err(error) => return (Err(error), 0.0),
        }
    }
    (writer.finish(), clock::thread_cpu_seconds())
}

/// Loads what was written and compares the first answers.
fn restore(load: &mut Load, dir: &tempfile::TempDir, generation: &Generation) {
    let watch = Stopwatch::start();
    let mut restore = Restore::new(std::sync::Arc::clone(load.engine.policy()), SEED);
    let pages = Archive::at(dir.path()).load(generation.generation).expect("it was published");
    for page in pages {
        restore.add(page.expect("sound")).expect("whole");
    }
    let mut engine = restore.finish().expect("whole");
    say(&format!("loaded and restored in {:.2} s", watch.seconds()));
    score(&mut engine, &load.since_cut, load.traffic.users);
    let accounts = engine.accounts().iter().map(|table| table.stats.entries).sum::<u64>();
    say(&format!("records {accounts} after one batch"));
    let mb = |bytes: Option<u64>| bytes.map_or(0.0, |bytes| bytes as f64 / 1e6);
    say(&format!("peak_rss_mb {:.0}", mb(clock::peak_rss_bytes())));
}

/// Decodes and scores, as a shard does.
fn score(engine: &mut Engine, lines: &[String], end: u64) -> Cost {
    let meter = Meter::start();
    let (limits, mut out, mut ahead) = (DecodeLimits::default(), Outputs::default(), Ahead::default());
    let first = end as i64 - lines.len() as i64;
    let decoded: Vec<_> =
        lines.iter().map(|line| decode(Some(line.as_bytes()), &[], &limits).expect("valid")).collect();
    for (chunk, number) in decoded.chunks(Ahead::EVENTS).zip((first..).step_by(Ahead::EVENTS)) {
        ahead.look(engine, chunk.iter().map(|decoded| Some(&decoded.event)));
        for (index, decoded) in chunk.iter().enumerate() {
            let offset = number + index as i64;
            let append_time = decoded.event.occurred_at;
            let arrival = Arrival { topic: "t", partition: 0, offset, append_time };
            out.clear();
            let prepared = ahead.turn(engine, index);
            engine.apply_prepared(&decoded.event, arrival, prepared, &mut out);
        }
    }
    out.clear();
    let last = START + (end as i64 * STEP_MICROS) / 1000;
    engine.apply(Input::Tick(Timestamp::from_millis(last)), &mut out);
    meter.stop()
}

fn meta() -> Meta {
    Meta {
        semantics: weir::engine::SEMANTICS.into(),
        basis: String::new(),
        policy: String::new(),
        policy_sources: weir::config::standard::files(),
        lineage: "bench".into(),
        seq: 0,
        chain: String::new(),
        journal_from: 0,
        positions: Vec::new(),
        created_at: START,
    }
}

#[expect(clippy::print_stdout, reason = "the result of the benchmark")]
fn say(line: &str) {
    println!("{line}");
}

fn report(phases: &[(&str, &[Cost])]) {
    for (phase, costs) in phases {
        let wall = spread(costs.iter().map(|cost| cost.wall).collect());
        let cpu = spread(costs.iter().map(|cost| cost.cpu).collect());
        say(&format!("{phase}: wall ms {wall}, cpu ms {cpu} ({} batches)", costs.len()));
    }
}

/// How some figures lie.
struct Spread {
    median: f64,
    p99: f64,
    max: f64,
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "median {:.1} p99 {:.1} max {:.1}", self.median, self.p99, self.max)
    }
}

fn spread(mut values: Vec<f64>) -> Spread {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() as f64 * share) as usize).min(values.len() - 1)];
    Spread { median: at(0.5), p99: at(0.99), max: at(1.0) }
}

/// People who like, look and write: few of them do much, few targets get much.
struct Traffic {
    dice: ChaCha8Rng,
    users: u64,
    number: u64,
}

impl Traffic {
    fn line(&mut self) -> String {
        let share: f64 = self.dice.random();
        let user = ((self.users as f64 * share * share) as u64).min(self.users - 1);
        self.line_of(user)
    }

    fn line_of(&mut self, user: u64) -> String {
        let number = self.number;
        self.number += 1;
        let at = START + (number as i64 * STEP_MICROS) / 1000;
        let action = ["view", "view", "like", "like", "comment"][self.dice.random_range(0..5)];
        let share: f64 = self.dice.random();
        let target = ((self.users / 3) as f64 * share.powf(2.5)) as u64;
        let (address, device) = (mix(user / 2).to_be_bytes(), mix(user ^ 0x5bd1));
        let created = START - 60_000_000 - (mix(user) % 80_000_000_000).cast_signed();
        let mut line = String::with_capacity(340);
        let written = write!(
            line,
            "{{\"event_id\":\"e{number:011}\",\"occurred_at\":{at},\"action\":\"{action}\",\
             \"user_id\":\"u{user:08}\",\"target_id\":\"a{target:06}\",\"target_owner_id\":\"u{:08}\",\
             \"ip\":\"{}.{}.{}.{}\",\"device\":{{\"id\":\"d{:012x}\",\"os\":\"Windows 11\",\
             \"canvas\":\"c{:08x}\"}},\"account\":{{\"created_at\":{created},\"plan\":\"free\"}}}}",
            mix(target) % self.users,
            11 + address[4] % 180,
            address[5],
            address[6],
            address[7],
            device >> 16,
            mix(device % 40_000) >> 32,
        );
        written.expect("text takes all");
        line
    }
}

/// Spreads numbers over 64 bits (the finaliser of SplitMix64).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
