//! Replay with the standard policy: events per CPU-second from JSON lines to decision lines, without a broker.
//!
//! `cargo bench --bench replay -- [events] [users]` (1,000,000 events of 500,000 users unless told). Prints, over three
//! rounds: events per CPU-second (median), how many times a bare parse of the same lines the whole path takes
//! (`parse_floor_ratio`, the design bound is 4), the peak resident memory, and bytes per event in and out. CPU time, not
//! wall time, so that a busy machine disturbs little. The traffic is a function of its numbers alone.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir::clock;
use weir::engine::key::HashSeed;
use weir::engine::policy::load::load;
use weir::engine::time::Timestamp;
use weir::engine::{Engine, Prepared};
use weir::replay::{Lines, Options, Summary, replay};
use weir::wire::interaction::Interaction;

const ROUNDS: usize = 3;
/// Sunday, 2025-06-15T12:00:00Z.
const START: i64 = 1_749_988_800_000;
/// One hour, whatever the number of events.
const LENGTH: i64 = 3_600_000;

fn main() -> io::Result<()> {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let events = numbers.next().unwrap_or(1_000_000);
    let users = numbers.next().unwrap_or(500_000);
    let path = write_traffic(events, users)?;
    let bytes_in = std::fs::metadata(&path)?.len();
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push((parse(&path)?, decide(&path)?));
    }
    std::fs::remove_file(&path)?;
    report(events as f64, bytes_in as f64, &rounds);
    Ok(())
}

/// What one replay came to.
struct Run {
    seconds: f64,
    bytes_out: u64,
    summary: Summary,
}

#[expect(clippy::print_stdout, reason = "the result of the benchmark")]
fn report(events: f64, bytes_in: f64, rounds: &[(f64, Run)]) {
    let floor = median(rounds.iter().map(|(floor, _)| *floor));
    let seconds = median(rounds.iter().map(|(_, run)| run.seconds));
    println!("events_per_cpu_second {:.0}", events / seconds);
    println!("microseconds_per_event {:.2}", 1e6 * seconds / events);
    println!("parse_floor_ratio {:.2} (a bare parse takes {:.2} us)", seconds / floor, 1e6 * floor / events);
    if let Some(peak) = clock::peak_rss_bytes() {
        println!("peak_rss_mb {:.0}", peak as f64 / 1e6);
    }
    let (_, run) = &rounds[0];
    println!("bytes_per_event in {:.0} out {:.0}", bytes_in / events, run.bytes_out as f64 / events);
    println!("prepared_bytes {}", size_of::<Prepared>());
    let tally = &run.summary.tally;
    println!("outcomes {:?} verdicts {:?}", tally.outcomes(), tally.verdicts());
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The floor: every line into the borrowed type, and nothing done with it.
fn parse(path: &Path) -> io::Result<f64> {
    let mut lines = Lines::new(File::open(path)?);
    let start = clock::process_cpu_seconds();
    while lines.advance()? {
        for line in lines.lines() {
            let read: Interaction<'_> = serde_json::from_slice(line).expect("the traffic is valid");
            std::hint::black_box(&read);
        }
    }
    Ok(clock::process_cpu_seconds() - start)
}

/// The whole path.
fn decide(path: &Path) -> io::Result<Run> {
    let policy = load(&weir::config::standard::files()).expect("the standard policy is valid").policy;
    let mut engine = Engine::new(policy, HashSeed(1, 2));
    let options = Options { name: "bench".into(), as_of: Timestamp::MAX, limits: Default::default() };
    let mut out = Counted(0);
    let start = clock::process_cpu_seconds();
    let summary = replay(File::open(path)?, &mut out, &mut engine, &options, &mut |_, _| {})?;
    Ok(Run { seconds: clock::process_cpu_seconds() - start, bytes_out: out.0, summary })
}

/// Counts what is written.
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_traffic(events: u64, users: u64) -> io::Result<PathBuf> {
    let path = std::env::temp_dir().join(format!("weir-bench-replay-{}.jsonl", std::process::id()));
    let mut traffic = Traffic { dice: ChaCha8Rng::seed_from_u64(1), users };
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
    for number in 0..events {
        let at = START + (i128::from(LENGTH) * i128::from(number) / i128::from(events)) as i64;
        traffic.write(number, at, &mut out)?;
    }
    out.flush()?;
    warm(&path)?;
    Ok(path)
}

/// Reads the file once, so that each round finds it in memory.
fn warm(path: &Path) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    let mut file = File::open(path)?;
    while file.read(&mut buffer)? > 0 {}
    Ok(())
}

/// Traffic of people who like, look and write: few of them do much, few targets get much.
struct Traffic {
    dice: ChaCha8Rng,
    users: u64,
}

impl Traffic {
    /// One of `many`, the lower the more often: the share of the first `n` is `(n / many)^(1 / bend)`.
    fn one_of(&mut self, many: u64, bend: f64) -> u64 {
        let share: f64 = self.dice.random();
        ((many as f64 * share.powf(bend)) as u64).min(many - 1)
    }

    fn write(&mut self, number: u64, at: i64, out: &mut impl Write) -> io::Result<()> {
        let action = ACTIONS[self.dice.random_range(0..ACTIONS.len())];
        let user = self.one_of(self.users, 2.0);
        let target = self.one_of(self.users / 3 + 1, 2.5);
        // Most people act from home with their own device.
        let place = if self.dice.random_bool(0.9) { user } else { self.one_of(self.users, 2.0) };
        let address = mix(place / 2);
        let (device, age) = (mix(user ^ 0x5bd1), mix(user ^ 0xa1) % 80_000_000_000);
        write!(
            out,
            r#"{{"event_id":"e{number:011}","occurred_at":{at},"action":"{action}","user_id":"u{user:08}","#
        )?;
        write!(
            out,
            r#""target_id":"article-{target:06}","target_owner_id":"u{:08}","#,
            mix(target) % self.users
        )?;
        let [_, _, _, _, _, b, c, d] = address.to_be_bytes();
        write!(out, r#""ip":"{}.{b}.{c}.{d}","#, 11 + address % 180)?;
        write!(out, r#""device":{{"id":"d{:012x}","os":"Windows 11","#, device >> 16)?;
        write!(out, r#""screen":"1920x1080","canvas":"c{:08x}"}},"#, mix(device % 40_000) >> 32)?;
        if action == "comment" {
            write!(out, r#""content_hash":"{:016x}","#, mix(number))?;
        }
        let created = START - 60_000_000 - age.cast_signed();
        writeln!(out, r#""account":{{"created_at":{created},"plan":"{}"}}}}"#, PLANS[(user % 8) as usize / 7])
    }
}

const ACTIONS: [&str; 10] =
    ["view", "view", "view", "like", "like", "like", "like", "like", "follow", "comment"];
const PLANS: [&str; 2] = ["free", "pro"];

/// Spreads numbers over 64 bits (the finaliser of SplitMix64).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}
