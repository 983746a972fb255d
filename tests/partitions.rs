//! Time across partitions: what one partition brings late or from the future changes nothing for the people of another.
//!
//! The same traffic is decided alone and together with a second partition that has hours of backlog and producers whose
//! clocks are wrong. The two share no user, target, address, device or action, so every verdict must be the same.

use weir::config::standard;
use weir::engine::decision::{Judgement, QualityCode};
use weir::engine::event::Arrival;
use weir::engine::key::HashSeed;
use weir::engine::policy::load::load;
use weir::engine::time::Timestamp;
use weir::engine::{DeadLetterReason, Engine, Input, Outcome, Outputs};
use weir::sim::{Scenario, Simulation};
use weir::wire::interaction::{DecodeLimits, decode};

const HOUR: i64 = 3_600_000;

struct Bench {
    engine: Engine,
    out: Outputs,
    offsets: [i64; 2],
    future: u64,
}

impl Bench {
    fn new() -> Self {
        let policy = load(&standard::files()).expect("valid").policy;
        Self {
            engine: Engine::new(policy, HashSeed(5, 6)),
            out: Outputs::default(),
            offsets: [0; 2],
            future: 0,
        }
    }

    fn event(&mut self, partition: usize, line: &[u8], append: i64) -> Option<Judgement> {
        let decoded = decode(Some(line), &[], &DecodeLimits::default()).expect("an interaction");
        let offset = self.offsets[partition];
        self.offsets[partition] += 1;
        let append_time = Timestamp::from_millis(append);
        let arrival = Arrival { topic: "simulated", partition: partition as i32, offset, append_time };
        self.out.clear();
        let outcome = self.engine.apply(Input::Event(&decoded.event, arrival), &mut self.out);
        self.future += u64::from(outcome == Outcome::DeadLettered(DeadLetterReason::FutureTimestamp));
        self.out.judgement.clone()
    }

    /// What the neighbour brings while time is `now`: its backlog, an event of now, and clocks that are wrong.
    fn neighbour(&mut self, number: i64, now: i64) {
        let backlog = now - 9 * HOUR + number % 1000;
        let wrong = [backlog, now, now + 4_000, now + 299_000, now + 10 * 365 * 24 * HOUR, now - 3 * HOUR];
        let occurred = wrong[(number % 6) as usize];
        let append = if number % 6 == 0 { backlog } else { now };
        let line = format!(
            "{{\"event_id\":\"n{number}\",\"occurred_at\":{occurred},\"action\":\"neighbour\",\"user_id\":\"n{user}\",\
             \"target_id\":\"nt{target}\",\"ip\":\"203.0.113.{user}\",\"device\":{{\"id\":\"nd{user}\"}}}}",
            user = number % 50,
            target = number % 7,
        );
        self.event(1, line.as_bytes(), append);
    }
}

/// Verdict, score and reasons of every event of a simulation, alone or beside the neighbour.
fn judged(beside_a_neighbour: bool) -> (Vec<String>, u64) {
    let scenario = Scenario { honest_accounts: 600, incidents: Vec::new(), ..Scenario::demo() };
    let simulation = Simulation::new(&scenario, 3);
    let (mut bench, mut all) = (Bench::new(), Vec::new());
    let begin = simulation.events().next().expect("events").at_ms;
    // Both begin alike: how long the engine has watched is told in decisions.
    bench.event(0, &first(begin - 9 * HOUR), begin - 9 * HOUR);
    for (number, event) in (0..).zip(simulation.events()) {
        if beside_a_neighbour {
            bench.neighbour(number, event.at_ms);
        }
        let mut line = Vec::new();
        event.write_json(&mut line);
        if let Some(judgement) = bench.event(0, &line, event.at_ms) {
            all.push(told(&judgement));
        }
    }
    (all, bench.future)
}

fn first(at: i64) -> Vec<u8> {
    format!("{{\"event_id\":\"first\",\"occurred_at\":{at},\"action\":\"neighbour\",\"user_id\":\"first\"}}")
        .into_bytes()
}

fn told(judgement: &Judgement) -> String {
    let reasons: Vec<String> = judgement
        .reasons
        .iter()
        .map(|reason| {
            format!("{} {} {:?} {:?}", reason.source.id, reason.points, reason.verdict, reason.value)
        })
        .collect();
    let quality: Vec<QualityCode> = judgement.quality.iter().map(|quality| quality.code).collect();
    format!("{} {} {reasons:?} {quality:?} {:?}", judgement.verdict, judgement.score, judgement.effective_at)
}

#[test]
fn a_neighbours_backlog_and_wrong_clocks_change_no_verdict() {
    let ((alone, _), (beside, future)) = (judged(false), judged(true));
    assert!(alone.len() > 1_500, "{}", alone.len());
    assert!(future > 200, "{future} events from the future were refused");
    assert_eq!(alone.len(), beside.len());
    for (number, (alone, beside)) in alone.iter().zip(&beside).enumerate() {
        assert_eq!(alone, beside, "event {number}");
    }
}
