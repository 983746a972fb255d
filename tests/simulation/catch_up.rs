//! After an outage: what had piled up is decided as if nothing had been down.
//!
//! `WEIR_EVENTS=1000000` takes that many events.
#![allow(clippy::print_stdout, reason = "measured figures")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use weir::engine::Engine;
use weir::engine::policy::Policy;
use weir::engine::time::Timestamp;
use weir::pipeline::{Batch, Entry, Job, Line, Positions, Replica, Taken, Work};
use weir::stream::{RecordBatch, Topic};
use weir::wire::decision::timeless;
use weir::wire::journal::JournalKind;

use crate::broker::Broker;
use crate::dice::Dice;
use crate::world::PARTITIONS;
use crate::{foundry, number, policies, world};

/// Events that CI takes.
const EVENTS: u64 = 20_000;
/// Events a batch while nothing is down, and in catch-up.
const LIVE: u64 = 40;
const PILED_UP: u64 = 5_000;
const COMMANDS: (Topic, i32) = (Topic::Commands, 0);

/// An hour of events in the order in which they happened. Of two who are banned at its beginning, one is free half way.
fn stream(events: u64) -> (Broker, Vec<Positions>) {
    let mut broker = Broker::new(&world::topics(), world::begin());
    let (mut dice, begin) = (Dice::new(61), broker.now);
    let mut ends = Vec::new();
    for (user, minutes) in [(0, 30), (1, 48 * 60)] {
        let value = format!(
            "{{\"command_id\":\"c{user}\",\"action\":\"ban\",\"verdict\":\"block\",\"length_ms\":{length},\
             \"entity\":\"user:u{user}\",\"actor\":\"ann\",\"reason\":\"r\",\"at\":{begin}}}",
            length = minutes * 60_000,
        );
        broker.produce(Topic::Commands, 0, "k", value.into_bytes());
    }
    for number in 0..events {
        broker.now = begin + (number * 3_600_000 / events) as i64;
        let user = if dice.one_in(10) { dice.below(3) } else { dice.below(2_000) };
        let value = format!(
            "{{\"event_id\":\"e{number}\",\"occurred_at\":{at},\"action\":\"like\",\"user_id\":\"u{user}\",\
             \"target_id\":\"t{target}\",\"ip\":\"198.51.{ip}.1\",\"device\":{{\"id\":\"d{user}\"}}}}",
            at = broker.now,
            target = dice.below(50),
            ip = user % 100,
        );
        broker.produce(Topic::Interactions, (user % PARTITIONS as u64) as i32, "k", value.into_bytes());
        let lanes = (0..PARTITIONS).map(|partition| (Topic::Interactions, partition)).chain([COMMANDS]);
        ends.push(
            lanes.map(|(topic, partition)| ((topic, partition), broker.log(topic, partition).end)).collect(),
        );
    }
    (broker, ends)
}

type Told = BTreeMap<Topic, Vec<Vec<u8>>>;

/// Applies the stream in batches of so many events, each up to one moment in every partition.
fn decide(broker: &RefCell<Broker>, ends: &[Positions], policy: &Arc<Policy>, each: u64) -> (Told, Replica) {
    let foundry = foundry();
    let positions = ends[0].keys().map(|place| (*place, 0)).collect();
    let line = Line::begin("l".to_owned(), positions, foundry.basis.clone());
    let mut replica = foundry.replica(Engine::new(Arc::clone(policy), foundry.seed), line);
    let mut told = Told::new();
    for end in ends.chunks(each as usize).filter_map(<[Positions]>::last) {
        let mut read = RecordBatch::default();
        for (place, next) in replica.line.positions.clone() {
            broker.borrow().read(place, next, (end[&place] - next) as usize, &mut read);
        }
        let batch = Batch::from(&replica.line.positions, vec![Arc::new(read)]);
        apply(&mut replica, &batch, &[], &mut told);
    }
    (told, replica)
}

fn apply(replica: &mut Replica, batch: &Batch, ticks: &[Timestamp], told: &mut Told) {
    let policy = replica.scorer.engine().policy().hash.to_string();
    let (kind, ranges) = (JournalKind::Batch, batch.ranges());
    let entry = Entry { kind, policy, ticks: ticks.to_vec(), ranges, skipped: Vec::new() };
    let decided_at = Timestamp::from_millis(world::begin());
    let work = Work { entry: &entry, policy: None, batch, taken: Taken::NOTHING, decided_at };
    let mut job = Job::default();
    replica.lead(&work, &BTreeSet::new(), &mut job);
    for record in job.out.iter().filter(|record| record.topic != Topic::Journal) {
        let value = record.value.unwrap_or_default();
        let value = if record.topic == Topic::Decisions { timeless(value) } else { value };
        told.entry(record.topic).or_default().push(value.to_vec());
    }
}

#[test]
fn an_outage_of_an_hour_changes_no_decision_and_no_ban() {
    let events = number("WEIR_EVENTS").unwrap_or(EVENTS);
    let policy = policies().swap_remove(0);
    let (broker, ends) = stream(events);
    let broker = Rc::new(RefCell::new(broker));
    let (live, mut present) = decide(&broker, &ends, &policy, LIVE);
    let (late, mut behind) = decide(&broker, &ends, &policy, PILED_UP);
    for topic in [Topic::Decisions, Topic::Bans, Topic::Cases, Topic::Shadow, Topic::DeadLetters] {
        assert!(live.get(&topic) == late.get(&topic), "{topic} differs");
    }
    let bans = behind.scorer.engine().bans();
    println!("{} decisions, {} bans in force at the end", live[&Topic::Decisions].len(), bans.len());
    assert_eq!(live[&Topic::Decisions].len() as u64, events);
    assert!(
        live[&Topic::Bans].len() >= 3 && !bans.is_empty(),
        "one of the two is free, by the time of the events"
    );
    assert_eq!(present.scorer.engine().bans(), bans);

    // Whoever was banned for a time that is over by now is free once time is told.
    let now = bans.iter().filter_map(|ban| ban.expires_at).max().expect("all of them end");
    for replica in [&mut present, &mut behind] {
        let mut told = Told::new();
        apply(replica, &Batch::default(), &[now], &mut told);
        assert!(replica.scorer.engine().bans().is_empty());
        assert!(told[&Topic::Bans].len() >= bans.len(), "each end is told");
    }
}
