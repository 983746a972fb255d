//! Membership of the group that decides which instance owns which shard.
//!
//! The group is subscribed to the journal topic: whoever is assigned its partition k owns shard k. No record is read
//! through the membership: its partitions are paused at their end, and the journal is read by an
//! [`super::input::Input`] of its own. Leaving gives the shards up at once; dying gives them up after the session
//! timeout. The membership has a thread of its own and so outlives a scorer that hangs: whoever finds that out must
//! leave or end the process. Losing a partition is told after the fact: what stops a former owner is the fence of the transactional
//! producer and the group's generation in each commit, never this news.

use std::collections::BTreeSet;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{
    BaseConsumer, Consumer, ConsumerContext, ConsumerGroupMetadata, Rebalance, RebalanceProtocol,
};
use rdkafka::error::KafkaError;
use rdkafka::statistics::Statistics;
use rdkafka::topic_partition_list::Offset;
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{ClientContext, TopicPartitionList};

use super::client::{Context, KafkaSettings, Role, log_line, open_error};
use super::deadline::Deadline;
use super::error::{StreamError, explain};
use super::topics::{Topic, TopicNames};

/// How long one poll waits; also how soon leaving begins.
const POLL: Duration = Duration::from_millis(50);

/// News about shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnershipEvent {
    /// This instance owns the shard of this journal partition from now on.
    Acquired(i32),
    /// It does not any more.
    Lost(i32),
    /// The group cannot be reached or refuses this member.
    Problem(StreamError),
}

/// Proof of membership at a moment, to be sent with the offsets of a transaction. It goes stale when members come
/// and go: take a fresh one for each transaction.
pub struct GroupMetadata(pub(super) ConsumerGroupMetadata);

/// What the member's thread and its owner share.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    owned: BTreeSet<i32>,
    leave: bool,
    gone: bool,
}

/// A membership; see the module's text. Dropping it leaves the group in the background.
pub struct Ownership {
    consumer: Option<Arc<BaseConsumer<Member>>>,
    shared: Arc<Shared>,
    events: Receiver<OwnershipEvent>,
    brokers: String,
}

impl Ownership {
    /// Joins the group. The first news comes when the group has settled.
    ///
    /// # Errors
    /// A property is refused, or the subscription is.
    pub fn join(settings: &KafkaSettings, names: &TopicNames) -> Result<Ownership, StreamError> {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let (news, events) = mpsc::channel();
        let member = Member { shared: Arc::clone(&shared), news: news.clone(), context: Context::default() };
        let consumer: BaseConsumer<Member> = settings
            .config(Role::Member)?
            .create_with_context(member)
            .map_err(|error| open_error("opening a group member", &error))?;
        consumer
            .subscribe(&[names.get(Topic::Journal)])
            .map_err(|error| explain(&settings.brokers, "joining the group", &error, None))?;
        let consumer = Arc::new(consumer);
        let brokers = settings.brokers.clone();
        let run =
            MemberThread { consumer: Arc::clone(&consumer), shared: Arc::clone(&shared), news, brokers };
        thread::Builder::new().name("weir-member".to_owned()).spawn(move || run.run()).map_err(|error| {
            StreamError::Other { doing: "starting the member thread".to_owned(), reason: error.to_string() }
        })?;
        Ok(Ownership { consumer: Some(consumer), shared, events, brokers: settings.brokers.clone() })
    }

    /// The next news, waiting at most `patience`.
    pub fn next(&self, patience: Duration) -> Option<OwnershipEvent> {
        self.events.recv_timeout(patience).ok()
    }

    /// True while this instance owns the shard, as far as it knows.
    pub fn owns(&self, shard: i32) -> bool {
        self.shared.lock().owned.contains(&shard)
    }

    /// Proof of membership now.
    ///
    /// # Errors
    /// The membership is being left.
    pub fn group_metadata(&self) -> Result<GroupMetadata, StreamError> {
        self.consumer.as_ref().and_then(|consumer| consumer.group_metadata()).map(GroupMetadata).ok_or_else(
            || StreamError::Other {
                doing: format!("asking for the group's state at {}", self.brokers),
                reason: "this process is not a member any more".to_owned(),
            },
        )
    }

    /// Leaves the group, so that another instance gets the shards at once. Returns false when that did not end
    /// within `patience`: the group then learns of it by the session timeout, and a thread is left behind.
    pub fn leave(mut self, patience: Duration) -> bool {
        // The member's thread must be the last holder: closing the consumer blocks.
        self.consumer = None;
        self.shared.ask_to_leave();
        self.shared.wait_until_gone(patience)
    }
}

impl Drop for Ownership {
    fn drop(&mut self) {
        self.consumer = None;
        self.shared.ask_to_leave();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask_to_leave(&self) {
        self.lock().leave = true;
        self.changed.notify_all();
    }

    fn wait_until_gone(&self, patience: Duration) -> bool {
        let deadline = Deadline::after(patience);
        let mut state = self.lock();
        while !state.gone && !deadline.passed() {
            state =
                self.changed.wait_timeout(state, deadline.left()).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.gone
    }
}

/// Polls the membership until told to leave: rebalances are served by whoever polls.
struct MemberThread {
    consumer: Arc<BaseConsumer<Member>>,
    shared: Arc<Shared>,
    news: Sender<OwnershipEvent>,
    brokers: String,
}

impl MemberThread {
    fn run(self) {
        while !self.shared.lock().leave {
            match self.consumer.poll(POLL) {
                Some(Err(error)) => self.report(&error),
                Some(Ok(_)) => tracing::debug!("a record came through the membership and was ignored"),
                None => {}
            }
        }
        self.consumer.unsubscribe();
        drop(self.consumer);
        self.shared.lock().gone = true;
        self.shared.changed.notify_all();
    }

    fn report(&self, error: &KafkaError) {
        let reason = self.consumer.context().context.take_reason();
        if matches!(error, KafkaError::PartitionEOF(_)) {
            return;
        }
        let problem = explain(&self.brokers, "being a member of the group", error, reason.as_deref());
        tell(&self.news, OwnershipEvent::Problem(problem));
    }
}

fn tell(news: &Sender<OwnershipEvent>, event: OwnershipEvent) {
    // The owner may be gone already: then nobody needs the news.
    news.send(event).unwrap_or_default();
}

/// The client's callbacks.
struct Member {
    shared: Arc<Shared>,
    news: Sender<OwnershipEvent>,
    context: Context,
}

impl Member {
    fn acquire(&self, partition: i32) {
        self.shared.lock().owned.insert(partition);
        tell(&self.news, OwnershipEvent::Acquired(partition));
    }

    fn lose(&self, partition: i32) {
        self.shared.lock().owned.remove(&partition);
        tell(&self.news, OwnershipEvent::Lost(partition));
    }
}

impl ClientContext for Member {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        log_line(level, facility, message);
    }

    fn stats(&self, _: Statistics) {}

    fn error(&self, error: KafkaError, reason: &str) {
        self.context.error(error, reason);
    }
}

impl ConsumerContext for Member {
    /// As the library does it, but with an explicit offset (there is none to fall back on) and paused.
    fn rebalance(
        &self,
        consumer: &BaseConsumer<Self>,
        cause: RDKafkaRespErr,
        partitions: &mut TopicPartitionList,
    ) {
        let cooperative = matches!(consumer.rebalance_protocol(), RebalanceProtocol::Cooperative);
        let assigned = matches!(cause, RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS);
        let outcome = match (assigned, cooperative) {
            (true, true) => pin(partitions).and_then(|()| consumer.incremental_assign(partitions)),
            (true, false) => pin(partitions).and_then(|()| consumer.assign(partitions)),
            (false, true) => consumer.incremental_unassign(partitions),
            (false, false) => consumer.unassign(),
        };
        let outcome = if assigned { outcome.and_then(|()| consumer.pause(partitions)) } else { outcome };
        if let Err(error) = outcome {
            let reason = error.to_string();
            let doing = "changing the group's assignment".to_owned();
            return tell(&self.news, OwnershipEvent::Problem(StreamError::Other { doing, reason }));
        }
        for element in partitions.elements() {
            if assigned { self.acquire(element.partition()) } else { self.lose(element.partition()) }
        }
    }

    fn pre_rebalance(&self, _: &BaseConsumer<Self>, _: &Rebalance<'_>) {}
}

fn pin(partitions: &mut TopicPartitionList) -> Result<(), KafkaError> {
    partitions.set_all_offsets(Offset::End)
}
