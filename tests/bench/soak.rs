//! Some days of traffic in one go: does memory stay flat, the disk bounded, and is the last decision as right as the first?
//!
//! `cargo bench --bench soak -- [events] [users]` (50,000,000 events of 200,000 users in five days of event time, unless
//! told). The policy is changed at random, some forty times; ten times a checkpoint is written, the engine dropped and
//! restored from it. All along an account of which it is known by hand what must become of it does the same again each
//! quarter of an hour: its thirty-first like within a minute is not counted, all before are. Prints resident memory and
//! the folder's size at each restart. Memory may not grow by more than a twentieth over the second half, nor the folder
//! beyond three checkpoints; both are asserted.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir::clock;
use weir::engine::cut::{CutProgress, Restore};
use weir::engine::event::Arrival;
use weir::engine::key::HashSeed;
use weir::engine::policy::Policy;
use weir::engine::policy::load::load;
use weir::engine::time::Timestamp;
use weir::engine::verdict::Verdict;
use weir::engine::{Ahead, Engine, Input, Outputs};
use weir::state::{Archive, Checkpoints, Meta, Steps};
use weir::wire::interaction::{DecodeLimits, decode};

const SEED: HashSeed = HashSeed(1, 2);
/// Sunday, 2025-06-15T12:00:00Z.
const START: i64 = 1_749_988_800_000;
/// Event time of the whole run: longer than the longest window, several times.
const SPAN: i64 = 5 * 86_400_000;
/// The watched account begins anew this often, milliseconds; longer than all that its likes count in.
const ROUND: i64 = 15 * 60_000;
/// Between two of its likes, milliseconds: 31 of them are within a minute.
const APART: i64 = 1_900;
/// Its likes of a round, the last of which is one too many.
const LIKES: i64 = 31;
const RESTARTS: u64 = 10;
const RELOADS: u64 = 40;

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let (events, users) = (numbers.next().unwrap_or(50_000_000_u64), numbers.next().unwrap_or(200_000));
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut soak = Soak::new(events, users);
    let before = clock::process_cpu_seconds();
    let mut held = Vec::new();
    for part in 1..=RESTARTS {
        soak.run_to(events * part / RESTARTS);
        let checkpoint = soak.restart(dir.path());
        let (rss, folder) = (clock::rss_bytes().unwrap_or_default(), size_of(dir.path()));
        say(&format!(
            "events {} rss_mb {} checkpoint_mb {} folder_mb {}",
            soak.number,
            rss >> 20,
            checkpoint >> 20,
            folder >> 20
        ));
        assert!(folder <= 3 * checkpoint + (1 << 20), "the folder grows");
        held.push(rss);
    }
    let seconds = clock::process_cpu_seconds() - before;
    say(&format!("watched {} likes, each as known by hand; reloads {}", soak.watched, soak.reloads));
    say(&format!(
        "microseconds_per_event {:.2}, restarts and traffic included",
        1e6 * seconds / events as f64
    ));
    let (half, end) = (held[held.len() / 2 - 1], held[held.len() - 1]);
    assert!(end <= half + half / 20, "memory grew from {half} to {end} bytes over the second half");
}

struct Soak {
    engine: Engine,
    out: Outputs,
    policies: [Arc<Policy>; 2],
    dice: ChaCha8Rng,
    events: u64,
    users: u64,
    /// Events so far.
    number: u64,
    /// Likes of the watched account so far, and when the next one is due.
    watched: u64,
    due: i64,
    reloads: u64,
}

impl Soak {
    fn new(events: u64, users: u64) -> Self {
        let files = weir::config::standard::files();
        let other: Vec<_> =
            files.iter().map(|(name, text)| (name.clone(), text.replace("max: 60\n", "max: 61\n"))).collect();
        let policies =
            [&files, &other].map(|files| load(files).expect("the standard policy is valid").policy);
        Self {
            engine: Engine::new(Arc::clone(&policies[0]), SEED),
            out: Outputs::default(),
            policies,
            dice: ChaCha8Rng::seed_from_u64(1),
            events,
            users,
            number: 0,
            watched: 0,
            due: ROUND,
            reloads: 0,
        }
    }

    fn run_to(&mut self, number: u64) {
        while self.number < number {
            if self.dice.random_range(0..self.events) < RELOADS * Ahead::EVENTS as u64 {
                self.reloads += 1;
                let policy = Arc::clone(&self.policies[self.reloads as usize % 2]);
                self.out.clear();
                self.engine.apply(Input::Policy(policy), &mut self.out);
            }
            let lines: Vec<String> = (0..Ahead::EVENTS).map(|_| self.line()).collect();
            self.score(&lines);
            self.watch();
        }
    }

    /// Milliseconds since the start.
    fn now(&self) -> i64 {
        (SPAN as i128 * i128::from(self.number) / i128::from(self.events)) as i64
    }

    fn line(&mut self) -> String {
        let (now, number) = (START + self.now(), self.number);
        self.number += 1;
        let share: f64 = self.dice.random();
        let user = ((self.users as f64 * share * share) as u64).min(self.users - 1);
        let action = ["view", "view", "like", "like", "comment", "follow"][self.dice.random_range(0..6)];
        // What people act on is new every hour.
        let target = now / 3_600_000 * 1_000 + (1_000.0 * self.dice.random::<f64>().powi(3)) as i64;
        let born = START - 86_400_000 * (30 + user % 1000).cast_signed();
        let mut line = String::with_capacity(320);
        let written = write!(
            line,
            "{{\"event_id\":\"e{number}\",\"occurred_at\":{now},\"action\":\"{action}\",\"user_id\":\"u{user}\",\
             \"target_id\":\"t{target}\",\"target_owner_id\":\"o{}\",\"ip\":\"203.{}.{}.{}\",\
             \"device\":{{\"id\":\"d{user}\",\"os\":\"iOS 19\"}},\"account\":{{\"created_at\":{born}}}}}",
            target % 9_000,
            user >> 14 & 255,
            user >> 7 & 127,
            user & 127
        );
        written.expect("text takes all");
        line
    }

    fn score(&mut self, lines: &[String]) {
        let (limits, mut ahead) = (DecodeLimits::default(), Ahead::default());
        let decoded: Vec<_> =
            lines.iter().map(|line| decode(Some(line.as_bytes()), &[], &limits).expect("valid")).collect();
        ahead.look(&self.engine, decoded.iter().map(|decoded| Some(&decoded.event)));
        let first = self.number - lines.len() as u64;
        for (index, decoded) in decoded.iter().enumerate() {
            let event = &decoded.event;
            let offset = first.cast_signed() + index as i64;
            let arrival = Arrival { topic: "t", partition: 0, offset, append_time: event.occurred_at };
            self.out.clear();
            let prepared = ahead.turn(&self.engine, index);
            self.engine.apply_prepared(event, arrival, prepared, &mut self.out);
        }
    }

    /// The likes of the watched account that are due.
    fn watch(&mut self) {
        while self.due <= self.now() {
            let (like, at) = (self.watched.cast_signed() % LIKES + 1, START + self.due);
            let line = format!(
                "{{\"event_id\":\"w{}\",\"occurred_at\":{at},\"action\":\"like\",\"user_id\":\"watched\",\
                 \"target_id\":\"w{}\",\"ip\":\"198.51.100.7\",\"account\":{{\"created_at\":1700000000000}}}}",
                self.watched, self.watched
            );
            let decoded = decode(Some(line.as_bytes()), &[], &DecodeLimits::default()).expect("valid");
            let append_time = Timestamp::from_millis(at);
            let arrival =
                Arrival { topic: "w", partition: 0, offset: self.watched.cast_signed(), append_time };
            self.out.clear();
            self.engine.apply(Input::Event(&decoded.event, arrival), &mut self.out);
            let judgement = self.out.judgement.as_ref().expect("no id comes twice");
            let right = if like == LIKES { Verdict::Demote } else { Verdict::Allow };
            assert_eq!(judgement.verdict, right, "like {like} of {}: {judgement:?}", self.watched);
            self.watched += 1;
            self.due += if like == LIKES { ROUND - APART * (LIKES - 1) } else { APART };
        }
    }

    /// Writes a checkpoint, drops the engine and goes on with what was written. Returns the checkpoint's bytes.
    fn restart(&mut self, dir: &Path) -> u64 {
        let mut checkpoints = Checkpoints::open(dir, "soak", Steps::default()).expect("its own folder");
        let policy = Arc::clone(self.engine.policy());
        let mut writer = checkpoints.begin(meta()).expect("writable");
        let mut pages = Vec::new();
        self.engine.begin_cut();
        loop {
            let progress = self.engine.copy_pages(16 << 20, &mut pages);
            for page in pages.drain(..) {
                let words = writer.write(page).expect("there is room on the disk");
                self.engine.reuse(std::iter::once(words));
            }
            if progress != CutProgress::More {
                break;
            }
        }
        let generation = checkpoints.publish(writer.finish().expect("there is room")).expect("writable");
        self.engine = Engine::new(Arc::clone(&policy), SEED);
        let mut restore = Restore::new(policy, SEED);
        for page in Archive::at(dir).load(generation.generation).expect("it was published") {
            restore.add(page.expect("sound")).expect("whole");
        }
        self.engine = restore.finish().expect("whole");
        generation.bytes
    }
}

fn meta() -> Meta {
    Meta {
        semantics: weir::engine::SEMANTICS.into(),
        basis: String::new(),
        policy: String::new(),
        policy_sources: weir::config::standard::files(),
        lineage: "soak".into(),
        seq: 0,
        chain: String::new(),
        journal_from: 0,
        positions: Vec::new(),
        created_at: START,
    }
}

/// Bytes of the files of a folder.
fn size_of(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).expect("a folder").flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => size_of(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

#[expect(clippy::print_stdout, reason = "the result of the benchmark")]
fn say(line: &str) {
    println!("{line}");
}
