//! The same inputs give the same decisions: the digest of those on 60,000 events.
//!
//! **When this fails** the engine decides otherwise than it did. If the standard policy was changed, take the new numbers
//! over, after a look at which verdicts changed. If not, and the change is meant, raise `SEMANTICS` in `src/engine/mod.rs`
//! as well: state and journals made before it must not be continued. If it is not meant, it is a fault.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir::config::standard;
use weir::engine::decision::Decision;
use weir::engine::event::Arrival;
use weir::engine::key::HashSeed;
use weir::engine::policy::load::load;
use weir::engine::time::Timestamp;
use weir::engine::{Engine, Input, Outputs};
use weir::sim::{Incident, Scenario, Simulation};
use weir::wire::decision::encode;
use weir::wire::interaction::{DecodeLimits, decode};

const EVENTS: usize = 60_000;
const GOLDEN: &str = "11b55d3bf02a821a2de34bff8d910e0d: allow 35430, block 10381, challenge 16, demote 1, hold 66, reject 14076";

/// The simulated incident at half its size, over honest traffic.
fn simulation() -> Simulation {
    let incident = Incident { accounts: 1_500, likes: 20_000, camouflage: 10_000, ..Incident::FULL };
    Simulation::new(&Scenario { honest_accounts: 12_000, incidents: vec![incident], ..Scenario::demo() }, 21)
}

/// Digest of all decisions as they are written, and how many there were of each verdict. The policy's own hash and the
/// version are left out: they change without any decision changing.
fn decide_all() -> (u128, BTreeMap<String, u32>) {
    let policy = load(&standard::files()).unwrap_or_else(|problems| panic!("{}", problems[0])).policy;
    let mut engine = Engine::new(policy, HashSeed(7, 9));
    let (mut digest, mut verdicts) = (xxhash_rust::xxh3::Xxh3::new(), BTreeMap::new());
    let simulation = simulation();
    for (offset, event) in (0..).zip(simulation.events()).take(EVENTS) {
        let (mut line, mut bytes, mut out) = (Vec::new(), Vec::new(), Outputs::default());
        event.write_json(&mut line);
        let decoded = decode(Some(&line), &[], &DecodeLimits::default()).expect("an interaction");
        let append_time = Timestamp::from_millis(event.at_ms);
        let arrival = Arrival { topic: "golden", partition: 0, offset, append_time };
        engine.apply(Input::Event(&decoded.event, arrival), &mut out);
        let Some(mut judgement) = out.judgement else { continue };
        judgement.policy = Arc::from("");
        *verdicts.entry(judgement.verdict.to_string()).or_default() += 1;
        let decision = Decision { event: &decoded.event, arrival, judgement: &judgement };
        encode(&decision, append_time, "", &mut bytes);
        digest.update(&bytes);
    }
    (digest.digest128(), verdicts)
}

#[test]
fn the_decisions_on_sixty_thousand_events_are_what_they_were() {
    let (digest, verdicts) = decide_all();
    let verdicts: Vec<String> =
        verdicts.iter().map(|(verdict, count)| format!("{verdict} {count}")).collect();
    let told = format!("{digest:032x}: {}", verdicts.join(", "));
    assert_eq!(told, GOLDEN, "see the head of this file");
}
