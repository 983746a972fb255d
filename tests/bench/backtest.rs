//! Backtests of the standard policy against itself with one number changed: events per CPU-second, each under both
//! policies in one pass, and the peak memory at two lengths of the file.
//!
//! `cargo bench --bench backtest -- [events] [users]` (1,000,000 events and five times as many, of 100,000 users, unless
//! told). Each length runs in a process of its own, so that its peak is its own. CPU time, not wall time.
//!
//! What grows from one length to the other is engine state within the budgets of the policies, printed by table: the trail
//! of crowds is a ring that grows to half of `retroactive.budget` (64 MB a policy) and then overwrites itself, and counters of
//! targets come to all targets that are seen while records are kept. `beside_state_mb` is all other memory, the
//! allocator's room included: that is what must be alike.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weir::backtest::{Findings, Mask, Pass, Range, Side};
use weir::clock;
use weir::engine::key::HashSeed;
use weir::engine::policy::load::load;
use weir::engine::time::Timestamp;
use weir::evaluate::Groups;
use weir::evaluate::read::Ear;
use weir::replay::{Lines, Options};

/// Sunday, 2025-06-15T12:00:00Z.
const START: i64 = 1_749_988_800_000;
/// How much longer the second file is.
const LONGER: u64 = 5;
/// Time that the shorter file covers, milliseconds: more than the longest window, so that all windows are full. The longer
/// one goes on at the same pace.
const SPAN: u64 = 28 * 3_600_000;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let mut numbers = arguments.iter().filter_map(|argument| argument.parse().ok());
    let events: u64 = numbers.next().unwrap_or(1_000_000);
    let users = numbers.next().unwrap_or(100_000);
    if let Some(place) = arguments.iter().position(|argument| argument == "measure") {
        return measure(Path::new(&arguments[place + 1]), events);
    }
    let apart = (SPAN / events.max(1)).max(1).cast_signed();
    for events in [events, LONGER * events] {
        let path = write_traffic(events, users, apart)?;
        let mut child = Command::new(std::env::current_exe()?);
        let status = child.arg(events.to_string()).arg("measure").arg(&path).status()?;
        std::fs::remove_file(&path)?;
        if !status.success() {
            return Err(io::Error::other("a measurement failed"));
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the result of the benchmark")]
fn measure(path: &Path, events: u64) -> io::Result<()> {
    let files = weir::config::standard::files();
    let changed: Vec<(String, String)> =
        files.iter().map(|(name, text)| (name.clone(), text.replace("max: 60\n", "max: 61\n"))).collect();
    let side = |name: &str, files: &[(String, String)]| {
        let policy = load(files).expect("the standard policy is valid").policy;
        Side { name: name.to_owned(), policy }
    };
    let options = Options { name: "bench".into(), as_of: Timestamp::MAX, limits: Default::default() };
    let (candidate, now) = (side("then", &changed), side("now", &files));
    let start = clock::process_cpu_seconds();
    let mut pass = Pass::new(candidate, vec![now], HashSeed(1, 2), (options, Range::default()), false);
    let mut lines = Lines::new(File::open(path)?);
    while lines.advance()? {
        let mut block = lines.lines();
        while pass.together(&mut block, |_| None) > 0 {}
    }
    let (state, resident) = (pass.state_bytes(), clock::rss_bytes());
    let ran = pass.end();
    let seconds = clock::process_cpu_seconds() - start;
    let findings = Findings::new(ran, &Groups::default(), Default::default(), Mask::default(), Vec::new());
    assert_eq!(findings.counted(), events, "each event counts");
    println!("events {events}");
    println!("events_per_cpu_second {:.0} (each under 2 policies)", events as f64 / seconds);
    let mut tables: Vec<(&String, &u64)> = state.iter().collect();
    tables.sort_by_key(|(_, bytes)| std::cmp::Reverse(**bytes));
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    println!("state_mb {:.1}", megabytes(state.values().sum()));
    for (table, bytes) in tables.iter().take(8) {
        println!("  {:.1} {table}", megabytes(**bytes));
    }
    if let Some(rss) = resident {
        let state: u64 = state.values().sum();
        println!("beside_state_mb {:.0}", megabytes(rss.saturating_sub(state)));
    }
    if let Some(peak) = clock::peak_rss_bytes() {
        println!("peak_rss_mb {:.0}", peak as f64 / 1e6);
    }
    Ok(())
}

fn write_traffic(events: u64, users: u64, apart: i64) -> io::Result<PathBuf> {
    let path = std::env::temp_dir().join(format!("weir-bench-backtest-{}.jsonl", std::process::id()));
    let mut dice = ChaCha8Rng::seed_from_u64(1);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
    for number in 0..events {
        let user = dice.random_range(0..users);
        let action = ["like", "like", "like", "comment", "follow", "share"][dice.random_range(0..6)];
        let (target, at) = (dice.random_range(0..50_000_u64), START + apart * number as i64);
        let born = START - 86_400_000 * (user % 1000) as i64;
        writeln!(
            out,
            "{{\"event_id\":\"e-{number}\",\"occurred_at\":{at},\"action\":\"{action}\",\"user_id\":\"u-{user}\",\
             \"target_id\":\"t-{target}\",\"target_owner_id\":\"o-{}\",\"ip\":\"10.{}.{}.{}\",\
             \"device\":{{\"id\":\"d-{user}\",\"os\":\"iOS 19\"}},\
             \"account\":{{\"created_at\":{born},\"plan\":\"free\"}}}}",
            target % 9000,
            user >> 14 & 255,
            user >> 7 & 127,
            user & 127
        )?;
    }
    out.flush()?;
    Ok(path)
}
