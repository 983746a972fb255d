//! A flood of random devices between the events of one victim, at full size.
//!
//! `cargo bench --bench flood -- [devices]` (10,000,000 unless told, in 256 MB). The victim's limit has to fire at the
//! right event and the peak of resident memory to stay within the budget and a tenth; both are asserted. Prints the peak,
//! the CPU time of an event, and what became of the devices.

use std::sync::Arc;

use weir::clock;
use weir::engine::event::{Arrival, Device, Event};
use weir::engine::key::HashSeed;
use weir::engine::policy::Policy;
use weir::engine::policy::load::load;
use weir::engine::time::Timestamp;
use weir::engine::verdict::Verdict;
use weir::engine::{Engine, Input, Outputs};

/// 2025-06-15T15:06:40Z.
const START: i64 = 1_750_000_000_000;
/// The devices of one gap come within so many milliseconds.
const GAP: u64 = 60_000;
const VICTIM_EVENTS: u64 = 6;
const BUDGET_MB: f64 = 256.0;

/// All budgets together are 256 MB: 160 for what is counted by device, 24 for each of three kinds of profile, 24 for
/// duplicates.
const POLICY: &str = "
version: 1
memory: { dimension: 160MB, profiles: 24MB }
duplicates: { budget: 24MB }
signals:
  - { name: seen, key: [device], window: 10m, count: {} }
limits:
  - { id: five, code: FIVE, text: t, source: s, owner: o, key: [device], window: 1h, max: 5, verdict: reject }
";

#[expect(clippy::print_stdout, reason = "the result of the benchmark")]
fn main() {
    let told = std::env::args().filter_map(|argument| argument.parse().ok()).next();
    let devices: u64 = told.unwrap_or(10_000_000);
    let mut flood = Flood::new();
    let before = clock::thread_cpu_seconds();
    for event in 1..=VICTIM_EVENTS {
        let verdict = flood.event("victim");
        let expected = if event <= 5 { Verdict::Allow } else { Verdict::Reject };
        assert_eq!(verdict, expected, "the victim's event {event}");
        flood.pass(devices);
    }
    let seconds = clock::thread_cpu_seconds() - before;
    println!("events {} ({devices} devices between two events of the victim)", flood.events);
    println!("microseconds_per_event {:.2}", 1e6 * seconds / flood.events as f64);
    println!("refused_wrongly {}", flood.refused);
    for account in flood.engine.accounts() {
        let stats = account.stats;
        println!(
            "{}: {} records, {:.0} MB, {} not admitted, {} evicted",
            account.name,
            stats.entries,
            stats.bytes as f64 / 1e6,
            stats.not_admitted,
            stats.evicted
        );
    }
    if let Some(peak) = clock::peak_rss_bytes() {
        let peak = peak as f64 / f64::from(1 << 20);
        println!("peak_rss_mb {peak:.0} (budget {BUDGET_MB})");
        assert!(peak <= BUDGET_MB * 1.1, "over the budget");
    }
}

struct Flood {
    engine: Engine,
    out: Outputs,
    events: u64,
    refused: u64,
    /// Milliseconds after the start.
    now: u64,
}

impl Flood {
    fn new() -> Self {
        let engine = Engine::new(policy(), HashSeed(1, 2));
        Self { engine, out: Outputs::default(), events: 0, refused: 0, now: 0 }
    }

    /// So many devices, each once.
    fn pass(&mut self, devices: u64) {
        let start = self.now;
        for number in 0..devices {
            self.now = start + number * GAP / devices;
            let device = format!("d{:x}", self.events);
            self.refused += u64::from(self.event(&device) != Verdict::Allow);
        }
        self.now = start + GAP;
    }

    fn event(&mut self, device: &str) -> Verdict {
        let at = Timestamp::from_millis(START + self.now.cast_signed());
        let event = Event {
            id: format!("e{}", self.events).into(),
            occurred_at: at,
            action: "like".into(),
            user: Some(format!("u{}", self.events % 100_000).into()),
            device: Device { id: Some(device.to_owned().into()), ..Device::default() },
            ..Event::default()
        };
        let arrival =
            Arrival { topic: "t", partition: 0, offset: self.events.cast_signed(), append_time: at };
        self.events += 1;
        self.out.clear();
        self.engine.apply(Input::Event(&event, arrival), &mut self.out);
        self.out.judgement.as_ref().expect("no id comes twice").verdict
    }
}

fn policy() -> Arc<Policy> {
    match load(&[("p.yaml".to_owned(), POLICY.to_owned())]) {
        Ok(loaded) => loaded.policy,
        Err(problems) => panic!("{}", problems.iter().map(|p| format!("{p}\n")).collect::<String>()),
    }
}
