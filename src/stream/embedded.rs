//! A broker inside the process, for demonstrations and tests of the plumbing.
//!
//! It is librdkafka's mock cluster. It keeps 5 MiB or 100,000 record sets a partition and drops the oldest beyond
//! that, without a word. It does not enforce transactions (aborted records are seen, a fenced producer goes on,
//! offsets sent to a transaction are not committed), knows no retention, no compaction, no append time and no lookup
//! by time. So nothing about exactly-once is ever shown on it. Everything is gone when it is dropped.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rdkafka::mocking::MockCluster;

use super::client::{GroupProtocol, KafkaSettings};
use super::error::StreamError;
use super::topics::{Topic, TopicNames};

const START_PATIENCE: Duration = Duration::from_secs(10);

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
        let topics = topics.iter().map(|(topic, count)| (names.get(*topic).to_owned(), *count)).collect();
        let (answer, started) = mpsc::channel();
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("weir-embedded".to_owned())
            .spawn(move || host(topics, &answer, &stopped))
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
fn host(topics: Vec<(String, i32)>, answer: &Sender<Result<String, StreamError>>, stopped: &Receiver<()>) {
    let cluster = MockCluster::new(1).and_then(|cluster| {
        topics.iter().try_for_each(|(name, count)| cluster.create_topic(name, *count, 1))?;
        Ok(cluster)
    });
    let (cluster, outcome) = match cluster {
        Ok(cluster) => {
            let bootstrap = cluster.bootstrap_servers();
            (Some(cluster), Ok(bootstrap))
        }
        Err(error) => (None, Err(failed(error.to_string()))),
    };
    drop(topics);
    if answer.send(outcome).is_ok() && cluster.is_some() {
        // Nothing is ever sent: this waits until the sender is dropped.
        stopped.recv().unwrap_or_default();
    }
}

fn failed(reason: String) -> StreamError {
    StreamError::Other { doing: "starting the embedded broker".to_owned(), reason }
}
