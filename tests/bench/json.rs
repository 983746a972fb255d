//! What reading and writing JSON costs, against a bare `serde_json` of the same bytes.
//!
//! `cargo bench --bench json`. The ratios are what counts, not the nanoseconds.

use std::hint::black_box;
use std::sync::Arc;

use divan::Bencher;
use weir::engine::address::Address;
use weir::engine::decision::{Decision, DecisionId, Judgement, Reason, ReasonSource};
use weir::engine::event::{Arrival, Event};
use weir::engine::time::{Span, Timestamp};
use weir::engine::verdict::Verdict;
use weir::wire::decision::{self, DecisionRecord};
use weir::wire::interaction::bare::Bare;
use weir::wire::interaction::{DecodeLimits, Interaction, decode};

/// 309 bytes.
const EVENT: &str = concat!(
    r#"{"event_id":"8f14e45fceea167a5a36dedd4bea2543","occurred_at":1764470000000,"action":"like","#,
    r#""user_id":"u184223","target_id":"p99120","ip":"10.23.4.250","device":{"id":"d-9e3779b97f4a7c15"},"#,
    r#""account":{"created_at":1600000000000},"#,
    r#""user_agent":"Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 Mobile"}"#
);

fn main() {
    divan::main();
}

#[divan::bench(sample_size = 500)]
fn read_bare_from_slice(bencher: Bencher<'_, '_>) {
    bencher.bench(|| serde_json::from_slice::<Bare<'_>>(black_box(EVENT.as_bytes())).map(|_| ()));
}

#[divan::bench(sample_size = 500)]
fn read_interaction_bare(bencher: Bencher<'_, '_>) {
    bencher.bench(|| serde_json::from_slice::<Interaction<'_>>(black_box(EVENT.as_bytes())).map(|_| ()));
}

#[divan::bench(sample_size = 500)]
fn read_decode(bencher: Bencher<'_, '_>) {
    let limits = DecodeLimits::default();
    bencher.bench(|| decode(Some(black_box(EVENT.as_bytes())), &[], &limits).map(|_| ()));
}

#[divan::bench(sample_size = 500)]
fn write_decision_by_hand(bencher: Bencher<'_, '_>) {
    let event = event();
    let judgement = sample(&event);
    let decision = Decision { event: &event, arrival: ARRIVAL, judgement: &judgement };
    bencher.with_inputs(|| Vec::with_capacity(1024)).bench_refs(|out| {
        decision::encode(black_box(&decision), Timestamp::from_millis(1), "0.1.0", out);
    });
}

#[divan::bench(sample_size = 500)]
fn write_decision_by_serde(bencher: Bencher<'_, '_>) {
    let event = event();
    let judgement = sample(&event);
    let decision = Decision { event: &event, arrival: ARRIVAL, judgement: &judgement };
    let record = DecisionRecord::of(&decision, Timestamp::from_millis(1), "0.1.0");
    bencher
        .with_inputs(|| Vec::with_capacity(1024))
        .bench_refs(|out| serde_json::to_writer(out, black_box(&record)).is_ok());
}

fn event() -> Event<'static> {
    decode(Some(EVENT.as_bytes()), &[], &DecodeLimits::default()).expect("valid").event
}

const ARRIVAL: Arrival<'static> = Arrival {
    topic: "engagement.interactions.v1",
    partition: 3,
    offset: 123_456,
    append_time: Timestamp::from_millis(1_764_470_000_040),
};

fn reason(id: &str, text: &str, points: i32) -> Reason {
    let source = Arc::new(ReasonSource {
        id: id.to_owned(),
        code: "RATE".to_owned(),
        family: "volume".to_owned(),
        text: text.to_owned(),
        window: Some(Span::from_secs(60)),
    });
    Reason { value: Some(31.0), threshold: Some(30.0), ..Reason::of(&source, points) }
}

fn sample(event: &Event<'_>) -> Judgement {
    Judgement {
        id: DecisionId::first(&ARRIVAL, &event.id),
        supersedes: None,
        address: Some(Address::parse("10.23.4.250", 64).expect("valid")),
        effective_at: event.occurred_at,
        verdict: Verdict::Demote,
        score: -88,
        reasons: vec![
            reason("prior", "Where everyone starts", -100),
            reason("rate", "Many actions in a minute", 12),
        ],
        without: Vec::new(),
        retry_after: None,
        hold: None,
        policy: Arc::from("9f86d081884c7d65"),
        quality: Vec::new(),
        revisable_until: event.occurred_at.after(Span::from_secs(86_400)),
    }
}
