//! Creating weir's topics on a broker, and comparing what is there with what is needed.
//!
//! [`create`] makes what is missing and leaves alone what exists, however it is set up; [`check`] tells each
//! difference as data and changes nothing. Both block for at most the patience given.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use rdkafka::admin::{
    AdminClient, AdminOptions, ConfigResource, NewTopic, ResourceSpecifier, TopicReplication,
};
use rdkafka::client::DefaultClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::metadata::MetadataTopic;

use super::client::{KafkaSettings, Role, open_error};
use super::deadline::Deadline;
use super::error::{StreamError, explain};
use super::topics::{Topic, TopicPlan, TopicSpec};

/// Pause before a new topic is looked for again.
const SETTLE: Duration = Duration::from_millis(20);

/// What [`create`] did about one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation {
    /// Which topic.
    pub topic: Topic,
    /// Its full name.
    pub name: String,
    /// True when it was made now, false when it existed.
    pub made: bool,
}

/// One way in which a topic is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which topic.
    pub topic: Topic,
    /// Its full name.
    pub name: String,
    /// `topic`, `partitions`, or a topic setting as the broker names it.
    pub what: &'static str,
    /// What is needed.
    pub wanted: String,
    /// What was found.
    pub found: String,
    /// True when weir's promises do not hold with it; false when it may be a choice.
    pub binding: bool,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { name, what, wanted, found, .. } = self;
        write!(f, "{name}: {what} should be {wanted}, is {found}")
    }
}

/// Makes the topics that do not exist yet, and waits until the brokers know them. Safe to repeat, and for two to do
/// at once.
///
/// # Errors
/// No broker answers, access is denied, or the broker refuses a topic (more replicas than brokers, say).
pub fn create(
    settings: &KafkaSettings,
    plan: &TopicPlan,
    patience: Duration,
) -> Result<Vec<Creation>, StreamError> {
    let admin = client(settings)?;
    let deadline = Deadline::after(patience);
    let specs = plan.specs();
    let details: Vec<Vec<(&str, String)>> = specs.iter().map(TopicSpec::settings).collect();
    let topics: Vec<NewTopic<'_>> = specs
        .iter()
        .zip(&details)
        .map(|(spec, details)| new_topic(spec, details, plan.replication))
        .collect();
    let doing = "creating topics";
    let options = options(patience).operation_timeout(Some(patience));
    let results = wait(admin.create_topics(&topics, &options), deadline)
        .ok_or_else(|| silent(settings, doing))?
        .map_err(|error| explain(&settings.brokers, doing, &error, None))?;
    let creations = results
        .into_iter()
        .map(|result| made(result).map_err(|(name, code)| refused(settings, &name, code)))
        .zip(&specs)
        .map(|(made, spec)| made.map(|made| Creation { topic: spec.topic, name: spec.name.clone(), made }))
        .collect::<Result<_, _>>()?;
    settle(settings, &admin, &specs, deadline)?;
    Ok(creations)
}

/// A topic just made is not known to all parts of a cluster at once: waits until each has its leaders.
fn settle(
    settings: &KafkaSettings,
    admin: &AdminClient<DefaultClientContext>,
    specs: &[TopicSpec],
    deadline: Deadline,
) -> Result<(), StreamError> {
    loop {
        let counts = partition_counts(settings, admin, deadline.left(), serves)?;
        if specs.iter().all(|spec| count_of(&counts, &spec.name).is_some()) {
            return Ok(());
        }
        if deadline.passed() {
            return Err(silent(settings, "waiting for new topics"));
        }
        // The broker tells nobody when it is done: it has to be asked again.
        thread::park_timeout(deadline.step(SETTLE));
    }
}

fn new_topic<'a>(spec: &'a TopicSpec, details: &'a [(&'a str, String)], replication: i32) -> NewTopic<'a> {
    let topic = NewTopic::new(&spec.name, spec.partitions, TopicReplication::Fixed(replication));
    details.iter().fold(topic, |topic, (name, value)| topic.set(name, value))
}

fn made(result: Result<String, (String, RDKafkaErrorCode)>) -> Result<bool, (String, RDKafkaErrorCode)> {
    match result {
        Ok(_) => Ok(true),
        Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => Ok(false),
        Err(refused) => Err(refused),
    }
}

fn refused(settings: &KafkaSettings, name: &str, code: RDKafkaErrorCode) -> StreamError {
    explain(&settings.brokers, &format!("creating topic {name}"), &KafkaError::Global(code), None)
}

/// All differences between what is on the broker and the plan, in the order of the topics.
///
/// # Errors
/// No broker answers, or access is denied.
pub fn check(
    settings: &KafkaSettings,
    plan: &TopicPlan,
    patience: Duration,
) -> Result<Vec<Difference>, StreamError> {
    let admin = client(settings)?;
    let specs = plan.specs();
    let counts = partition_counts(settings, &admin, patience, |_| true)?;
    let present: Vec<(&TopicSpec, i32)> =
        specs.iter().filter_map(|spec| Some((spec, count_of(&counts, &spec.name)?))).collect();
    let configs = describe(settings, &admin, &present, patience)?;
    let mut differences: Vec<Difference> =
        specs.iter().filter(|spec| count_of(&counts, &spec.name).is_none()).map(missing).collect();
    for ((spec, count), config) in present.iter().zip(&configs) {
        differences.extend(partitions_differ(spec, *count));
        differences
            .extend(spec.settings().iter().filter_map(|(what, wanted)| differs(spec, what, wanted, config)));
    }
    differences.extend(journal_too_short(&present, &configs));
    differences.sort_by_key(|difference| difference.topic);
    Ok(differences)
}

/// Partitions of each topic that `counts` accepts.
fn partition_counts(
    settings: &KafkaSettings,
    admin: &AdminClient<DefaultClientContext>,
    patience: Duration,
    counts: fn(&MetadataTopic) -> bool,
) -> Result<Vec<(String, i32)>, StreamError> {
    let metadata = admin
        .inner()
        .fetch_metadata(None, patience)
        .map_err(|error| explain(&settings.brokers, "asking for the topics", &error, None))?;
    let count = |topic: &MetadataTopic| {
        (topic.name().to_owned(), i32::try_from(topic.partitions().len()).unwrap_or(i32::MAX))
    };
    let topics = metadata.topics().iter().filter(|topic| counts(topic));
    Ok(topics.map(count).filter(|(_, count)| *count > 0).collect())
}

/// True when each partition has a leader.
fn serves(topic: &MetadataTopic) -> bool {
    topic.partitions().iter().all(|partition| partition.leader() >= 0)
}

fn count_of(counts: &[(String, i32)], name: &str) -> Option<i32> {
    counts.iter().find(|(known, _)| known == name).map(|(_, count)| *count)
}

fn describe(
    settings: &KafkaSettings,
    admin: &AdminClient<DefaultClientContext>,
    present: &[(&TopicSpec, i32)],
    patience: Duration,
) -> Result<Vec<ConfigResource>, StreamError> {
    let doing = "asking for the settings of topics";
    if present.is_empty() {
        return Ok(Vec::new());
    }
    let resources: Vec<ResourceSpecifier<'_>> =
        present.iter().map(|(spec, _)| ResourceSpecifier::Topic(&spec.name)).collect();
    let options = options(patience);
    let answers = wait(admin.describe_configs(&resources, &options), Deadline::after(patience))
        .ok_or_else(|| silent(settings, doing))?
        .map_err(|error| explain(&settings.brokers, doing, &error, None))?;
    let failed = |code| explain(&settings.brokers, doing, &KafkaError::Global(code), None);
    answers.into_iter().map(|answer| answer.map_err(failed)).collect()
}

fn missing(spec: &TopicSpec) -> Difference {
    difference(spec, "topic", "there".to_owned(), "missing".to_owned(), true)
}

fn partitions_differ(spec: &TopicSpec, found: i32) -> Option<Difference> {
    let same = found == spec.partitions;
    (!same).then(|| {
        let (wanted, found) = (spec.partitions.to_string(), found.to_string());
        difference(spec, "partitions", wanted, found, spec.partitions_bind)
    })
}

fn differs(
    spec: &TopicSpec,
    what: &'static str,
    wanted: &str,
    config: &ConfigResource,
) -> Option<Difference> {
    let found = config.get(what).and_then(|entry| entry.value.as_deref()).unwrap_or("unknown");
    let fine = if what == "retention.ms" { keeps(found, wanted) } else { found == wanted };
    (!fine).then(|| difference(spec, what, wanted.to_owned(), found.to_owned(), what != "retention.ms"))
}

/// A journal that forgets before its inputs do cannot be replayed from.
fn journal_too_short(present: &[(&TopicSpec, i32)], configs: &[ConfigResource]) -> Option<Difference> {
    let retention = |topic: Topic| {
        let position = present.iter().position(|(spec, _)| spec.topic == topic)?;
        let value = configs.get(position)?.get("retention.ms")?.value.clone()?;
        Some((present[position].0, value))
    };
    let (spec, journal) = retention(Topic::Journal)?;
    let (_, inputs) = retention(Topic::Interactions)?;
    (!keeps(&journal, &inputs)).then(|| {
        let wanted = format!("at least {inputs}, as for the interactions");
        difference(spec, "retention.ms", wanted, journal, true)
    })
}

/// True when records kept for `found` ms are kept at least `wanted` ms; negative is for ever.
fn keeps(found: &str, wanted: &str) -> bool {
    match (found.parse::<i64>(), wanted.parse::<i64>()) {
        (Ok(found), _) if found < 0 => true,
        (Ok(found), Ok(wanted)) => wanted >= 0 && found >= wanted,
        _ => false,
    }
}

fn difference(
    spec: &TopicSpec,
    what: &'static str,
    wanted: String,
    found: String,
    binding: bool,
) -> Difference {
    Difference { topic: spec.topic, name: spec.name.clone(), what, wanted, found, binding }
}

fn client(settings: &KafkaSettings) -> Result<AdminClient<DefaultClientContext>, StreamError> {
    settings.config(Role::Admin)?.create().map_err(|error| open_error("opening an admin client", &error))
}

fn options(patience: Duration) -> AdminOptions {
    AdminOptions::new().request_timeout(Some(patience))
}

fn silent(settings: &KafkaSettings, doing: &str) -> StreamError {
    StreamError::Unreachable {
        brokers: settings.brokers.clone(),
        doing: doing.to_owned(),
        reason: "no answer in time".to_owned(),
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits on this thread for a future of the admin client; `None` when the deadline passes first.
fn wait<F: Future>(future: F, deadline: Deadline) -> Option<F::Output> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut task = TaskContext::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut task) {
            Poll::Ready(output) => return Some(output),
            Poll::Pending if deadline.passed() => return None,
            Poll::Pending => thread::park_timeout(deadline.left()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_and_endless_retention_is_fine() {
        assert!(keeps("200", "100") && keeps("-1", "100") && keeps("100", "100") && keeps("-1", "-1"));
        assert!(!keeps("99", "100") && !keeps("100", "-1") && !keeps("unknown", "100"));
    }

    #[test]
    fn waiting_ends_with_the_deadline() {
        assert_eq!(wait(std::future::ready(5), Deadline::after(Duration::ZERO)), Some(5));
        let never = std::future::pending::<u8>();
        assert_eq!(wait(never, Deadline::after(Duration::from_millis(5))), None);
    }
}
