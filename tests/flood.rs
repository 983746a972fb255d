//! Floods of keys: more than there is memory for. Who was counted before stays counted, who comes new is judged rightly
//! or said to be approximate, nobody honest is refused for it, and the budget holds.
//!
//! The full size, 10 million devices in 256 MB, is `cargo bench --bench flood`.

use std::sync::Arc;

use weir::engine::decision::{Judgement, QualityCode};
use weir::engine::event::{Arrival, Device, Event};
use weir::engine::key::HashSeed;
use weir::engine::policy::Policy;
use weir::engine::policy::load::load;
use weir::engine::time::Timestamp;
use weir::engine::verdict::Verdict::{Allow, Reject};
use weir::engine::{Engine, Input, Outcome, Outputs};

const T: i64 = 1_750_000_000_000;

fn policy(more: &str) -> Arc<Policy> {
    let text = format!(
        "version: 1
memory: {{ profiles: 1MB, dimension: 1MB }}
duplicates: {{ budget: 1MB }}
signals:
  - {{ name: seen, key: [device], window: 10m, count: {{}} }}
limits:
  - {{ id: five, code: FIVE, key: [device], window: 1h, max: 5, verdict: reject, {WORDS} }}
{more}"
    );
    match load(&[("p.yaml".to_owned(), text)]) {
        Ok(loaded) => loaded.policy,
        Err(problems) => panic!("{}", problems.iter().map(|p| format!("{p}\n")).collect::<String>()),
    }
}

const WORDS: &str = "text: t, source: s, owner: o";

struct Bench {
    engine: Engine,
    out: Outputs,
    next: i64,
}

impl Bench {
    fn new() -> Self {
        Self { engine: Engine::new(policy(""), HashSeed(1, 2)), out: Outputs::default(), next: 0 }
    }

    /// One like from a device; each event is 1 ms after the one before.
    fn like(&mut self, device: &str) -> Judgement {
        let at = Timestamp::from_millis(T + self.next);
        let event = Event {
            id: "e".into(),
            occurred_at: at,
            action: "like".into(),
            user: Some(format!("u{}", self.next).into()),
            device: Device { id: Some(device.to_owned().into()), ..Device::default() },
            ..Event::default()
        };
        let arrival = Arrival { topic: "t", partition: 0, offset: self.next, append_time: at };
        self.next += 1;
        self.out.clear();
        assert_eq!(self.engine.apply(Input::Event(&event, arrival), &mut self.out), Outcome::Decided);
        self.out.judgement.clone().expect("decided")
    }

    fn flood(&mut self, events: i64) {
        for _ in 0..events {
            let device = format!("flood-{}", self.next);
            assert_eq!(self.like(&device).verdict, Allow, "nobody is refused his first event");
        }
    }

    fn likes(&mut self, device: &str, times: usize) -> Vec<Judgement> {
        (0..times).map(|_| self.like(device)).collect()
    }
}

fn is_approximate(judgement: &Judgement) -> bool {
    judgement.quality.iter().any(|quality| quality.code == QualityCode::Approximate)
}

#[test]
fn a_victims_limit_fires_at_the_right_event() {
    let mut bench = Bench::new();
    for event in 1..=7 {
        let judged = bench.like("victim");
        assert_eq!(judged.verdict, if event <= 5 { Allow } else { Reject }, "event {event}");
        assert!(!is_approximate(&judged), "event {event}");
        bench.flood(30_000);
    }
    // The budget holds: three profile tables and the dimension of 1 MB each.
    for account in bench.engine.accounts() {
        assert!(account.stats.bytes <= 1 << 20, "{account:?}");
    }
    let device = bench.engine.accounts().into_iter().find(|account| account.name == "device").expect("there");
    assert!(device.stats.not_admitted > 150_000, "{device:?}");
}

/// Who goes on is exact from his first event on.
#[test]
fn who_comes_when_the_table_is_full_is_counted_from_his_first_event() {
    let mut bench = Bench::new();
    bench.flood(40_000);
    let mut early = 0;
    for number in 0..100 {
        let judged = bench.likes(&format!("new-{number}"), 12);
        let allowed = judged.iter().take_while(|judgement| judgement.verdict == Allow).count();
        assert!(judged[allowed..].iter().all(|judgement| judgement.verdict == Reject));
        // One in 256 shares all its cells with keys that came often.
        assert!((4..=5).contains(&allowed), "{allowed}");
        early += usize::from(allowed < 5);
        assert!(judged[1..].iter().all(is_approximate), "number {number}");
    }
    assert!(early <= 2, "{early}");
}

/// Who comes back only after more others than wait with him is known by estimate, which errs low: what others raised is
/// taken off, so that nobody is refused for it. It finds him all the same.
#[test]
fn who_comes_seldom_in_a_flood_is_estimated() {
    let mut bench = Bench::new();
    bench.flood(40_000);
    for number in 0..10 {
        let device = format!("slow-{number}");
        let mut allowed = 0;
        while bench.like(&device).verdict == Allow {
            allowed += 1;
            bench.flood(1_000);
        }
        assert!((4..=10).contains(&allowed), "number {number}: {allowed}");
    }
}

#[test]
fn honest_newcomers_are_not_refused_in_a_flood() {
    let mut bench = Bench::new();
    bench.flood(20_000);
    let mut refused = 0;
    for round in 0..4 {
        for number in 0..1000 {
            let judged = bench.like(&format!("honest-{number}"));
            refused += usize::from(judged.verdict != Allow);
            bench.flood(20);
        }
        assert!(refused * 1000 <= 4000, "round {round}: {refused}");
    }
}

/// Twice the price does not buy more: what the victim had is worth more than any of them.
#[test]
fn a_flood_that_comes_twice_pushes_out_nobody_either() {
    let mut bench = Bench::new();
    let before = bench.likes("victim", 4);
    assert!(before.iter().all(|judgement| judgement.verdict == Allow));
    for number in 0..60_000 {
        bench.likes(&format!("twice-{number}"), 2);
    }
    let verdicts: Vec<_> = bench.likes("victim", 2).iter().map(|judgement| judgement.verdict).collect();
    assert_eq!(verdicts, [Allow, Reject]);
}

/// A reload in a flood gives no fresh quota, whether the layout stays or grows.
#[test]
fn a_reload_in_a_flood_gives_no_fresh_quota() {
    let day = format!(
        "  - {{ id: day, code: DAY, key: [device], window: 1h, max: 1000, verdict: reject, {WORDS} }}\n"
    );
    for more in ["", &day] {
        let mut bench = Bench::new();
        bench.likes("victim", 5);
        bench.flood(30_000);
        bench.out.clear();
        bench.engine.apply(Input::Policy(policy(more)), &mut bench.out);
        assert_eq!(bench.like("victim").verdict, Reject, "{more}");
    }
}

#[test]
fn the_same_flood_gives_the_same_decisions() {
    let run = || {
        let mut bench = Bench::new();
        bench.flood(20_000);
        (0..2000).map(|number| bench.like(&format!("n{}", number % 700))).collect::<Vec<_>>()
    };
    assert!(run() == run());
}
