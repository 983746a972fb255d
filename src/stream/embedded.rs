//! A broker inside the process, for demonstrations and tests of the plumbing.
//!
//! It is librdkafka's mock cluster. It keeps 5 MiB or 100,000 record sets a partition and drops the oldest beyond
//! that, without a word. It does not enforce transactions (aborted records are seen, a fenced producer goes on,
//! offsets sent to a transaction are not committed), knows no retention, no compaction, no append time and no lookup
//! by time. So nothing about exactly-once is ever shown on it. Everything is gone when it is dropped.

use std::net::TcpStream;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rdkafka::mocking::MockCluster;

use super::client::{GroupProtocol, KafkaSettings};
use super::error::StreamError;
use super::topics::{Topic, TopicNames};

const START_PATIENCE: Duration = Duration::from_secs(10);

/// How long the cluster is left alone before it is nudged.
const NUDGE: Duration = Duration::from_millis(5);

/// A running embedded broker. Dropping it ends it.
#[derive(Debug)]
pub struct Embedded {
    bootstrap: String,
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Embedded {
    /// Starts a broker with these topics, each with so many partitions.
    ///
    /// # Errors
    /// The mock cannot start, or refuses a topic.
    pub fn start(names: &TopicNames, topics: &[(Topic, i32)]) -> Result<Embedded, StreamError> {
        let topics: Vec<(String, i32)> =
            topics.iter().map(|(topic, count)| (names.get(*topic).to_owned(), *count)).collect();
        let (answer, started) = mpsc::channel();
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("weir-embedded".to_owned())
            .spawn(move || host(&topics, &answer, &stopped))
            .map_err(|error| failed(error.to_string()))?;
        let bootstrap = started.recv_timeout(START_PATIENCE).map_err(|error| failed(error.to_string()))??;
        Ok(Embedded { bootstrap, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens: loopback only.
    pub fn bootstrap_servers(&self) -> &str {
        &self.bootstrap
    }

    /// Settings that suit it: its address, and the group protocol that it answers at once.
    pub fn settings(&self) -> KafkaSettings {
        KafkaSettings {
            brokers: self.bootstrap.clone(),
            protocol: GroupProtocol::Consumer,
            ..KafkaSettings::default()
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the embedded broker's thread panicked");
        }
    }
}

/// Owns the cluster, whose handle cannot leave its thread, until told to stop.
fn host(topics: &[(String, i32)], answer: &Sender<Result<String, StreamError>>, stopped: &Receiver<()>) {
    let cluster = MockCluster::new(1).and_then(|cluster| {
        let bootstrap = cluster.bootstrap_servers();
        nudged(&bootstrap, || {
            topics.iter().try_for_each(|(name, count)| cluster.create_topic(name, *count, 1))
        })?;
        Ok((cluster, bootstrap))
    });
    let (cluster, outcome) = match cluster {
        Ok((cluster, bootstrap)) => (Some(cluster), Ok(bootstrap)),
        Err(error) => (None, Err(failed(error.to_string()))),
    };
    if answer.send(outcome).is_ok() && cluster.is_some() {
        // Nothing is ever sent: this waits until the sender is dropped.
        stopped.recv().unwrap_or_default();
    }
}

/// Runs `call` and nudges the cluster meanwhile. Its thread can miss a request that comes right after another, and
/// then sleeps for a second; a connection wakes it.
fn nudged<T>(bootstrap: &str, call: impl FnOnce() -> T) -> T {
    let (done, finished) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while finished.recv_timeout(NUDGE) == Err(RecvTimeoutError::Timeout) {
                drop(TcpStream::connect(bootstrap));
            }
        });
        let result = call();
        drop(done);
        result
    })
}

fn failed(reason: String) -> StreamError {
    StreamError::Other { doing: "starting the embedded broker".to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::super::input::{Input, InputEvent, InputLimits, TopicStart};
    use super::super::outcome::Step;
    use super::super::outgoing::OutBatch;
    use super::super::ownership::{GroupMetadata, Ownership, OwnershipEvent};
    use super::super::transaction::{InputOffset, Transactions};
    use super::*;
    use rdkafka::mocking::MockCoordinator;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// The plumbing of a whole instance: own a shard, write a batch, read it to the end.
    #[test]
    fn an_instance_runs_on_it() {
        let names = TopicNames::with_prefix("");
        let topics = [(Topic::Interactions, 2), (Topic::Journal, 1), (Topic::Decisions, 1)];
        let broker = Embedded::start(&names, &topics).expect("it starts");
        let settings = broker.settings();
        let member = Ownership::join(&settings, &names).expect("a member");
        assert_eq!(member.next(PATIENCE), Some(OwnershipEvent::Acquired(0)));
        let mut writer = Transactions::open(&settings, 0, &names, PATIENCE).expect("a producer");
        let mut batch = OutBatch::default();
        batch.record(Topic::Decisions).key_bytes(Some(b"k")).header("h", Some(b"1")).finish();
        let offsets = [InputOffset { topic: Topic::Interactions, partition: 1, next: 1 }];
        let outcome = writer.commit(&[&batch], &offsets, || member.group_metadata(), |_| {});
        assert_eq!(outcome, Ok(()));

        let start = TopicStart { topic: Topic::Decisions, positions: vec![(0, 0)] };
        let limits = InputLimits::default();
        let input = Input::open(&settings, &names, &[start], limits, PATIENCE).expect("an input");
        let InputEvent::Records(read) = input.next(PATIENCE) else { panic!("no records") };
        assert_eq!((read.len(), read.get(0).key), (1, Some(&b"k"[..])));
        assert_eq!(read.get(0).headers.last("h"), Some(&b"1"[..]));
        let end = match read.ends().first() {
            Some(end) => *end,
            None => match input.next(PATIENCE) {
                InputEvent::Records(more) => more.ends()[0],
                other => panic!("{other:?}"),
            },
        };
        assert_eq!((end.partition, end.position), (0, 1));
        assert!(input.close(PATIENCE) && member.leave(PATIENCE));
    }

    /// The coordinator of the shard's transactions moves to another broker, between two transactions and inside of one: the
    /// calls are made again there, and nothing is lost or doubled.
    #[test]
    fn a_coordinator_that_moves_costs_a_retry() {
        let names = TopicNames::with_prefix("");
        let cluster = MockCluster::new(2).expect("two brokers");
        let brokers = cluster.bootstrap_servers();
        let first = brokers.split(',').next().expect("an address").to_owned();
        let topic = names.get(Topic::Decisions);
        nudged(&first, || cluster.create_topic(topic, 1, 1)).expect("a topic");
        let settings =
            KafkaSettings { brokers, protocol: GroupProtocol::Consumer, ..KafkaSettings::default() };
        let id = format!("{}-shard-0", settings.group);
        let move_to = |broker| {
            let coordinator = MockCoordinator::Transaction(id.clone());
            nudged(&first, || cluster.coordinator(coordinator, broker)).expect("a broker of the two");
        };
        move_to(1);
        let mut writer = Transactions::open(&settings, 0, &names, PATIENCE).expect("a producer");
        for (number, at) in
            [None, Some(Step::Begin), Some(Step::Drain), Some(Step::Commit)].into_iter().enumerate()
        {
            let mut batch = OutBatch::default();
            batch.record(Topic::Decisions).partition(0).key_bytes(Some(&[b'0' + number as u8])).finish();
            let none =
                || -> Result<GroupMetadata, StreamError> { unreachable!("without offsets nobody asks") };
            let moves = |step| {
                if Some(step) == at {
                    move_to(1 + (number as i32 % 2));
                }
            };
            assert_eq!(writer.commit(&[&batch], &[], none, moves), Ok(()), "moved at {at:?}");
        }
        let start = TopicStart { topic: Topic::Decisions, positions: vec![(0, 0)] };
        let input =
            Input::open(&settings, &names, &[start], InputLimits::default(), PATIENCE).expect("an input");
        let mut keys = Vec::new();
        while keys.len() < 4 {
            let InputEvent::Records(read) = input.next(PATIENCE) else { panic!("no records") };
            keys.extend(read.iter().filter_map(|record| record.key.map(<[u8]>::to_vec)));
        }
        assert_eq!(keys, [b"0", b"1", b"2", b"3"]);
        assert!(input.close(PATIENCE));
    }

    /// The coordinator of the group moves to another broker, between two transactions and inside of one: offsets are handed
    /// over there, and the member keeps the shard.
    #[test]
    fn a_group_whose_coordinator_moves_keeps_its_member() {
        let names = TopicNames::with_prefix("");
        let cluster = MockCluster::new(2).expect("two brokers");
        let brokers = cluster.bootstrap_servers();
        let first = brokers.split(',').next().expect("an address").to_owned();
        for topic in [Topic::Interactions, Topic::Journal, Topic::Decisions] {
            nudged(&first, || cluster.create_topic(names.get(topic), 1, 1)).expect("a topic");
        }
        let settings =
            KafkaSettings { brokers, protocol: GroupProtocol::Consumer, ..KafkaSettings::default() };
        let move_to = |broker| {
            let coordinator = MockCoordinator::Group(settings.group.clone());
            nudged(&first, || cluster.coordinator(coordinator, broker)).expect("a broker of the two");
        };
        move_to(1);
        let member = Ownership::join(&settings, &names).expect("a member");
        assert_eq!(member.next(PATIENCE), Some(OwnershipEvent::Acquired(0)));
        let mut writer = Transactions::open(&settings, 0, &names, PATIENCE).expect("a producer");
        for (number, at) in
            [None, Some(Step::Begin), Some(Step::Drain), Some(Step::Offsets)].into_iter().enumerate()
        {
            let mut batch = OutBatch::default();
            batch.record(Topic::Decisions).partition(0).key_bytes(Some(&[b'0' + number as u8])).finish();
            let offsets = [InputOffset { topic: Topic::Interactions, partition: 0, next: 1 + number as i64 }];
            let moves = |step| {
                if Some(step) == at {
                    move_to(1 + (number as i32 % 2));
                }
            };
            let outcome = writer.commit(&[&batch], &offsets, || member.group_metadata(), moves);
            assert_eq!(outcome, Ok(()), "moved at {at:?}");
        }
        assert_eq!(member.next(Duration::ZERO), None, "nothing was lost or acquired meanwhile");
        assert!(member.owns(0) && member.leave(PATIENCE));
    }
}
