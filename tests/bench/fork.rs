//! What a candidate that is newly announced costs the live stream: how long copying the whole state takes, and the new policy
//! taking effect on the copy, between two batches.
//!
//! `cargo bench --bench fork -- [users]` (100,000 users unless told). Every user acts once, with an address and a device of
//! its own. Prints the state's bytes, the wall time of the copy, of the same policy and of one with a window more on it,
//! and by how much resident memory grew. Run it on a machine that does nothing else.

use std::sync::Arc;

use weir::clock::{self, Stopwatch};
use weir::engine::event::Arrival;
use weir::engine::key::HashSeed;
use weir::engine::policy::Policy;
use weir::engine::policy::load::load;
use weir::engine::time::Timestamp;
use weir::engine::{Engine, Input, Outputs};
use weir::wire::interaction::{DecodeLimits, decode};

/// Sunday, 2025-06-15T12:00:00Z.
const START: i64 = 1_749_988_800_000;
/// Copies that are measured; the median is told.
const COPIES: usize = 5;

fn main() {
    let users = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(100_000_u64);
    let files = weir::config::standard::files();
    let mut more = files.clone();
    let window = "version: 1\nlimits:\n  - { id: more, key: [user, action], window: 7m, max: 900, verdict: demote, code: M, text: t, \
                  source: s, owner: o }\n";
    more.push(("more.yaml".to_owned(), window.to_owned()));
    let [policy, more] = [&files, &more].map(|files| load(files).expect("it is valid").policy);
    let mut engine = Engine::new(policy, HashSeed(1, 2));
    (0..users).for_each(|user| act(&mut engine, user));
    report(&mut engine, users, &more);
}

fn act(engine: &mut Engine, user: u64) {
    let line = format!(
        "{{\"event_id\":\"e-{user}\",\"occurred_at\":{START},\"action\":\"like\",\"user_id\":\"u-{user}\",\"target_id\":\"t-{}\",\
         \"ip\":\"10.{}.{}.{}\",\"device\":{{\"id\":\"d-{user}\",\"os\":\"iOS 19\"}},\"account\":{{\"created_at\":{START}}}}}",
        user % 50_000,
        user >> 16 & 255,
        user >> 8 & 255,
        user & 255
    );
    let decoded = decode(Some(line.as_bytes()), &[], &DecodeLimits::default()).expect("an interaction");
    let append_time = Timestamp::from_millis(START);
    let arrival = Arrival { topic: "bench", partition: 0, offset: user as i64, append_time };
    engine.apply(Input::Event(&decoded.event, arrival), &mut Outputs::default());
}

#[expect(clippy::print_stdout, reason = "the result of the benchmark")]
fn report(engine: &mut Engine, users: u64, more: &Arc<Policy>) {
    let bytes: u64 = engine.accounts().iter().map(|table| table.stats.bytes).sum();
    let before = clock::rss_bytes().unwrap_or_default();
    let (mut copied, mut changed, mut grown) = (Vec::new(), Vec::new(), 0);
    for _ in 0..COPIES {
        let copying = Stopwatch::start();
        let mut copy = engine.fork().expect("the state fits together");
        copied.push(copying.seconds());
        grown = grown.max(clock::rss_bytes().unwrap_or_default().saturating_sub(before));
        let changing = Stopwatch::start();
        copy.apply(Input::Policy(Arc::clone(more)), &mut Outputs::default());
        changed.push(changing.seconds());
        assert_eq!(copy.policy().hash, more.hash);
    }
    println!("users {users}");
    println!("state_mb {:.1}", bytes as f64 / 1e6);
    println!("copy_ms {:.0}", 1e3 * median(&mut copied));
    println!("new_policy_on_it_ms {:.0}", 1e3 * median(&mut changed));
    println!("rss_grown_mb {:.0}", grown as f64 / 1e6);
}

fn median(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
