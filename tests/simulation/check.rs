//! What must hold at the end of a run, whatever happened: what the history checker and its model say of the topics, and
//! that a follower of the whole journal tells the same bytes again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use weir::engine::policy::Policy;
use weir::engine::time::Timestamp;
use weir::pipeline::Foundry;
use weir::stream::{Topic, TopicNames};
use weir::verify::history::{self, Committed, History, LogRecord, Names, Options, Verdict};
use weir::wire::decision::timeless;
use weir::wire::journal;

use crate::broker::Broker;
use crate::logs::{follow_all, follow_apart};

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
    let mut all = Topic::INPUTS.into_iter().flat_map(partitions);
    all.all(|(topic, partition)| at(topic, partition) >= broker.log(topic, partition).end)
}

/// Everything that must hold; says how much was looked at.
pub fn everything(broker: &Rc<RefCell<Broker>>, policies: &[Arc<Policy>], foundry: &Foundry) -> Verdict {
    let verdict = topics(broker, policies, foundry);
    assert!(verdict.is_clean(), "{verdict}");
    followed_again_all_is_the_same(broker, policies, foundry);
    verdict
}

/// What the history checker and its model say.
pub fn topics(broker: &Rc<RefCell<Broker>>, policies: &[Arc<Policy>], foundry: &Foundry) -> Verdict {
    let history = history(&broker.borrow(), &foundry.names);
    let options = Options { model: true, policies: policies.to_vec(), limits: foundry.limits, chain: None };
    history::check(&history, &options)
}

/// What the topics hold, as the checker takes it.
fn history(broker: &Broker, names: &TopicNames) -> History {
    let name = |topic| names.get(topic).to_owned();
    let all = |topic| records(broker, topic, names.get(topic));
    let committed = broker.committed.iter().map(|((topic, partition), next)| Committed {
        topic: name(*topic),
        partition: *partition,
        next: *next,
    });
    History {
        names: Names {
            interactions: name(Topic::Interactions),
            commands: name(Topic::Commands),
            feedback: name(Topic::Feedback),
        },
        interactions: all(Topic::Interactions),
        commands: all(Topic::Commands),
        feedback: all(Topic::Feedback),
        decisions: all(Topic::Decisions),
        bans: all(Topic::Bans),
        cases: all(Topic::Cases),
        dead_letters: all(Topic::DeadLetters),
        policies: all(Topic::Policies),
        journal: all(Topic::Journal),
        committed: committed.collect(),
    }
}

fn records(broker: &Broker, topic: Topic, name: &str) -> Vec<LogRecord> {
    let plain = |(partition, record): (i32, &crate::broker::Stored)| LogRecord {
        topic: name.to_owned(),
        partition,
        offset: record.offset,
        timestamp: Some(Timestamp::from_millis(record.append)),
        key: record.key.clone(),
        headers: record.headers.clone(),
        unreadable: false,
        value: record.value.clone(),
    };
    broker.all(topic).map(plain).collect()
}

/// A follower comes to the same chain, and to the same bytes in every topic.
fn followed_again_all_is_the_same(broker: &Rc<RefCell<Broker>>, policies: &[Arc<Policy>], foundry: &Foundry) {
    type Told = BTreeMap<Topic, Vec<(Option<Vec<u8>>, Option<Vec<u8>>)>>;
    let mut again = Told::new();
    let followed = follow_all(broker, policies, foundry, &mut |_, out| {
        for record in out.iter() {
            let value = record.value.map(|value| comparable(record.topic, value));
            let told = again.entry(record.topic).or_default();
            told.push((record.key.map(<[u8]>::to_vec), value.map(<[u8]>::to_vec)));
        }
    });
    let broker = broker.borrow();
    let apart = follow_apart(&broker, policies, foundry);
    assert_eq!(
        (&apart.replica.line, apart.next),
        (&followed.replica.line, followed.next),
        "by several threads"
    );
    assert_eq!(apart.replica.scorer.engine().bans(), followed.replica.scorer.engine().bans());
    for topic in [Topic::Decisions, Topic::Bans, Topic::Cases, Topic::DeadLetters, Topic::Shadow] {
        let mut again = again.remove(&topic).unwrap_or_default();
        let live = broker.all(topic).map(|(_, record)| {
            let value = record.value.as_deref().map(|value| comparable(topic, value));
            (record.key.clone(), value.map(<[u8]>::to_vec))
        });
        let mut live: Vec<_> = live.collect();
        // Their order over partitions is in the chain.
        live.sort();
        again.sort();
        assert!(live == again, "{topic} differs when followed again: {} and {}", live.len(), again.len());
    }
}

/// All but the one field that may differ.
fn comparable(topic: Topic, value: &[u8]) -> &[u8] {
    if topic == Topic::Decisions { timeless(value) } else { value }
}
