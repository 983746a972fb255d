//! What must hold at the end of a run, whatever happened.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use weir::engine::policy::Policy;
use weir::pipeline::Foundry;
use weir::stream::{Topic, TopicNames};
use weir::wire::decision::{self, timeless};
use weir::wire::journal;

use crate::broker::Broker;
use crate::logs::{bans_told, follow_all};

/// How much was looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checked {
    pub inputs: u64,
}

/// Whether the journal's newest positions are the ends of all inputs.
pub fn is_done(broker: &Broker, names: &TopicNames) -> bool {
    let Some(newest) = broker.log(Topic::Journal, 0).records.last() else { return false };
    let newest = journal::decode(newest.value.as_deref()).expect("a record");
    let at = |topic: Topic, partition: i32| {
        let known =
            newest.positions.iter().find(|at| at.topic == names.get(topic) && at.partition == partition);
        known.map_or(0, |at| at.offset)
    };
    let partitions = |topic| (0..broker.partitions(topic)).map(move |partition| (topic, partition));
    let mut all = partitions(Topic::Interactions).chain(partitions(Topic::Commands));
    all.all(|(topic, partition)| at(topic, partition) >= broker.log(topic, partition).end)
}

/// Everything that must hold.
pub fn everything(broker: &Rc<RefCell<Broker>>, policies: &[Arc<Policy>], foundry: &Foundry) -> Checked {
    let inputs = each_input_has_one_outcome(&broker.borrow());
    followed_again_all_is_the_same(broker, policies, foundry);
    offsets_are_the_journals(&broker.borrow(), &foundry.names);
    Checked { inputs }
}

/// No input has two outcomes, none that was not a duplicate has none.
fn each_input_has_one_outcome(broker: &Broker) -> u64 {
    let mut outcomes = BTreeMap::<(i32, i64), u32>::new();
    let mut decided = BTreeSet::new();
    for (_, record) in broker.all(Topic::Decisions) {
        let decision = decision::decode(record.value.as_deref()).expect("a decision");
        assert!(decided.insert(decision.event_id.clone()), "{} is decided twice", decision.event_id);
        *outcomes.entry((decision.source.partition, decision.source.offset)).or_default() += 1;
    }
    for (_, record) in broker.all(Topic::DeadLetters) {
        let header = |name: &str| {
            let found =
                record.headers.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.clone());
            String::from_utf8(found.unwrap_or_default()).expect("text").parse::<i64>().ok()
        };
        let place = (header("__weir.errors.partition"), header("__weir.errors.offset"));
        let (Some(partition), Some(offset)) = place else {
            panic!("a dead letter without a place: {:?}", record.headers)
        };
        *outcomes.entry((partition as i32, offset)).or_default() += 1;
    }
    let mut inputs = 0;
    for (partition, record) in broker.all(Topic::Interactions) {
        inputs += 1;
        let times = outcomes.remove(&(partition, record.offset)).unwrap_or_default();
        let text = String::from_utf8_lossy(record.value.as_deref().unwrap_or_default()).into_owned();
        assert!(times <= 1, "{partition}/{} has {times} outcomes: {text}", record.offset);
        let id = text.split("\"event_id\":\"").nth(1).and_then(|rest| rest.split('"').next());
        let twice = id.is_some_and(|id| decided.contains(id));
        assert!(times == 1 || twice, "{partition}/{} has no outcome: {text}", record.offset);
    }
    assert!(outcomes.is_empty(), "decisions without an input: {outcomes:?}");
    inputs
}

/// A follower comes to the same chain, and to the same bytes in every topic.
fn followed_again_all_is_the_same(broker: &Rc<RefCell<Broker>>, policies: &[Arc<Policy>], foundry: &Foundry) {
    type Told = BTreeMap<Topic, Vec<(Option<Vec<u8>>, Option<Vec<u8>>)>>;
    let mut again = Told::new();
    let follower = follow_all(broker, policies, foundry, &mut |_, out| {
        for record in out.iter() {
            let value = record
                .value
                .map(|value| if record.topic == Topic::Decisions { timeless(value) } else { value });
            let told = again.entry(record.topic).or_default();
            told.push((record.key.map(<[u8]>::to_vec), value.map(<[u8]>::to_vec)));
        }
    });
    let broker = broker.borrow();
    for topic in [Topic::Decisions, Topic::Bans, Topic::Cases, Topic::DeadLetters, Topic::Shadow] {
        let mut again = again.remove(&topic).unwrap_or_default();
        let mut live: Vec<_> = broker
            .all(topic)
            .map(|(_, record)| {
                let value = record.value.as_deref();
                let value =
                    value.map(|value| if topic == Topic::Decisions { timeless(value) } else { value });
                (record.key.clone(), value.map(<[u8]>::to_vec))
            })
            .collect();
        assert_eq!(live.len(), again.len(), "records of {topic}");
        // Their order over partitions is in the chain.
        live.sort();
        again.sort();
        assert!(live == again, "{topic} differs when followed again");
    }
    let engine = follower.replica.scorer.engine();
    let told: usize = bans_told(&broker).values().map(Vec::len).sum();
    assert_eq!(told, engine.bans_in_force(), "bans in force, by their topic and by the engine");
}

/// The group's offsets are the newest positions of the journal.
fn offsets_are_the_journals(broker: &Broker, names: &TopicNames) {
    let newest = broker.log(Topic::Journal, 0).records.last().expect("a record");
    let newest = journal::decode(newest.value.as_deref()).expect("a record");
    for at in &newest.positions {
        let place = broker
            .committed
            .iter()
            .find(|((topic, partition), _)| names.get(*topic) == at.topic && *partition == at.partition);
        assert_eq!(place.map(|(_, next)| *next), Some(at.offset), "{}/{}", at.topic, at.partition);
    }
}
