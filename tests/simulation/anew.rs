//! State that is lost again and again within one second, and with it what had been learnt.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use weir::engine::verdict::Verdict;
use weir::pipeline::Foundry;
use weir::stream::Topic;
use weir::wire::decision::{self, DecisionRecord};
use weir::wire::journal;

use crate::broker::Broker;
use crate::dice::Dice;
use crate::instance::{Instance, Seen};
use crate::logs::follow_another_chain;
use crate::{check, foundry, heal, policies, world};

fn decisions(broker: &RefCell<Broker>) -> Vec<DecisionRecord> {
    let broker = broker.borrow();
    let told = broker.all(Topic::Decisions).map(|(_, record)| decision::decode(record.value.as_deref()));
    told.map(|told| told.expect("a decision")).collect()
}

/// One too many likes, none too soon after the one before: the last one is challenged.
fn likes(broker: &RefCell<Broker>) {
    let mut broker = broker.borrow_mut();
    for number in 0..13 {
        broker.now += 4_000;
        let value = format!(
            "{{\"event_id\":\"e{number}\",\"occurred_at\":{},\"action\":\"like\",\"user_id\":\"u\",\"ip\":\"198.51.100.1\"}}",
            broker.now
        );
        broker.produce(Topic::Interactions, 0, "u", value.into_bytes());
    }
}

fn learn(broker: &RefCell<Broker>, number: usize, decision: &str) {
    let result = ["confirmed_abuse", "confirmed_honest"][number % 2];
    let value = format!(
        "{{\"feedback_id\":\"f{number}\",\"decision_id\":\"{decision}\",\"result\":\"{result}\",\"actor\":\"ann\",\"at\":{}}}",
        broker.borrow().now
    );
    broker.borrow_mut().produce(Topic::Feedback, 0, decision, value.into_bytes());
}

/// A record of the journal says something else than what comes of its inputs: whoever follows says so, with both values,
/// and tells nothing of it.
#[test]
fn several_threads_stop_at_a_difference() {
    let policies = policies();
    let mut broker = Broker::new(&world::topics(), world::begin());
    let (foundry, mut dice, mut seen) = (foundry(), Dice::new(3), Seen::default());
    let shared = Rc::new(RefCell::new(std::mem::take(&mut broker)));
    let mut instance = Instance::new(0, &shared, &policies);
    for _ in 0..5 {
        likes(&shared);
        heal(&shared, &mut instance, &foundry, &mut dice, &mut seen);
    }
    let mut log = shared.borrow().log(Topic::Journal, 0).clone();
    let middle = log.records.len() / 2;
    let mut record = journal::decode(log.records[middle].value.as_deref()).expect("a record");
    let theirs = record.chain.replace(['0', '1'], "2");
    record.chain.clone_from(&theirs);
    log.records[middle].value = Some(journal::encode(&record));
    shared.borrow_mut().fill((Topic::Journal, 0), log);
    let error = follow_another_chain(&shared.borrow(), &policies, &foundry);
    assert!(error.contains("gives other outputs") && error.contains(&theirs), "{error}");
    assert!(error.contains(&format!("record {} of", record.seq)), "{error}");
}

#[test]
fn revisions_of_states_within_one_second_have_numbers_of_their_own() {
    let policies = policies();
    let broker = Rc::new(RefCell::new(Broker::new(&world::topics(), world::begin())));
    let mut instance = Instance::new(0, &broker, &policies);
    let (mut dice, mut seen) = (Dice::new(17), Seen::default());
    let (old, new) = (foundry(), Foundry { basis: "of another version".to_owned(), ..foundry() });
    likes(&broker);
    let mut challenged = None;
    for (number, version) in [&old, &new, &old, &new].into_iter().enumerate() {
        heal(&broker, &mut instance, version, &mut dice, &mut seen);
        let first = |told: &DecisionRecord| matches!(told.verdict(), Verdict::Challenge | Verdict::Hold);
        let id = challenged.get_or_insert_with(|| {
            decisions(&broker).into_iter().find(first).expect("one too many").decision_id
        });
        learn(&broker, number, id);
        heal(&broker, &mut instance, version, &mut dice, &mut seen);
        instance.crash(&mut seen);
        // Nobody can learn of it again.
        let end = broker.borrow().log(Topic::Feedback, 0).end;
        broker.borrow_mut().trim((Topic::Feedback, 0), end);
    }
    let told = decisions(&broker);
    let ids: BTreeSet<&str> = told.iter().map(|told| told.decision_id.as_str()).collect();
    let revisions: Vec<u32> =
        told.iter().map(|told| told.revision).filter(|revision| *revision > 0).collect();
    assert_eq!((seen.resets, ids.len()), (4, told.len()), "{ids:?}");
    assert_eq!(revisions, [1, 2, 3, 4], "{ids:?}");
    let verdict = check::topics(&broker, &policies, &old);
    assert!(verdict.is_clean(), "{verdict}");
}
