//! How clients of Kafka are configured and opened: settings, defaults, and one context for logs and errors.
//!
//! Every client of this room is made here, so no two differ by accident. Defaults are chosen for exactly-once: no
//! automatic commits, explicit offsets (a lost position is an error), `read_committed`, bounded queues. Properties
//! from the configuration pass through after [`KafkaSettings::problems`] found nothing to refuse. Debug output and
//! errors never show the value of a secret.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::KafkaError;
use rdkafka::statistics::Statistics;

use super::error::StreamError;
use super::properties::{self, Side};

/// How members of the group that owns the shards find together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupProtocol {
    /// The classic protocol: right for real brokers. A member that is silent for `session_timeout` is dead.
    Classic {
        /// 6 to 10 s is usual; the broker's bounds apply.
        session_timeout: Duration,
    },
    /// The newer protocol, whose timeouts are the broker's. The embedded broker answers it in 3 ms, the classic one
    /// in 3 s.
    Consumer,
}

/// How to reach Kafka.
#[derive(Clone)]
pub struct KafkaSettings {
    /// `host:port`, comma separated.
    pub brokers: String,
    /// The consumer group that owns the shards; input offsets are committed in its name.
    pub group: String,
    /// What brokers see in their logs and quotas.
    pub client_id: String,
    /// How the group's members find together.
    pub protocol: GroupProtocol,
    /// After this a broker aborts a transaction that was left open. Must be well above a batch's time.
    pub transaction_timeout: Duration,
    /// A member of the group that does not poll for so long is put out. It polls by itself, however long a batch takes.
    pub poll_interval: Duration,
    /// Permits TLS without a check of the other side's certificate.
    pub allow_unverified_tls: bool,
    /// librdkafka properties, names as in its documentation, values possibly secret. A name may begin with
    /// `consumer.` or `producer.`.
    pub properties: BTreeMap<String, String>,
}

impl Default for KafkaSettings {
    fn default() -> Self {
        KafkaSettings {
            brokers: "127.0.0.1:9092".to_owned(),
            group: "weir".to_owned(),
            client_id: "weir".to_owned(),
            protocol: GroupProtocol::Classic { session_timeout: Duration::from_secs(6) },
            transaction_timeout: Duration::from_secs(60),
            poll_interval: Duration::from_secs(300),
            allow_unverified_tls: false,
            properties: BTreeMap::new(),
        }
    }
}

impl fmt::Debug for KafkaSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: BTreeMap<&str, &str> = self
            .properties
            .iter()
            .map(|(name, value)| {
                (name.as_str(), if properties::is_secret(name) { "***" } else { value.as_str() })
            })
            .collect();
        f.debug_struct("KafkaSettings")
            .field("brokers", &self.brokers)
            .field("group", &self.group)
            .field("client_id", &self.client_id)
            .field("protocol", &self.protocol)
            .field("transaction_timeout", &self.transaction_timeout)
            .field("poll_interval", &self.poll_interval)
            .field("allow_unverified_tls", &self.allow_unverified_tls)
            .field("properties", &shown)
            .finish()
    }
}

/// What a client is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role {
    /// Reads records of assigned partitions.
    Reader,
    /// Is a member of the group that owns the shards.
    Member,
    /// Writes the transactions of this shard.
    Writer { shard: u32 },
    /// Writes records without transactions.
    Feeder,
    /// Writes single records outside any transaction.
    Poster,
    /// Creates and describes topics.
    Admin,
}

impl Role {
    fn side(self) -> Side {
        match self {
            Role::Reader | Role::Member => Side::Consumer,
            Role::Writer { .. } | Role::Feeder | Role::Poster | Role::Admin => Side::Producer,
        }
    }
}

const READER: &[(&str, &str)] = &[
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    ("auto.offset.reset", "error"),
    ("isolation.level", "read_committed"),
    ("allow.auto.create.topics", "false"),
    ("enable.partition.eof", "true"),
    ("check.crcs", "true"),
    ("fetch.wait.max.ms", "100"),
    ("queued.min.messages", "20000"),
    // Once so much is queued the client lets a partition rest for a second by default, however soon it is used up.
    ("fetch.queue.backoff.ms", "10"),
    ("queued.max.messages.kbytes", "16384"),
];

const MEMBER: &[(&str, &str)] = &[
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    ("auto.offset.reset", "error"),
    ("isolation.level", "read_committed"),
    ("allow.auto.create.topics", "false"),
    // A journal topic that is made after the start is noticed within this time.
    ("topic.metadata.refresh.interval.ms", "10000"),
];

const WRITER: &[(&str, &str)] = &[
    ("enable.idempotence", "true"),
    ("acks", "all"),
    ("partitioner", "murmur2_random"),
    ("delivery.report.only.error", "true"),
    ("linger.ms", "5"),
    ("compression.type", "lz4"),
    ("queue.buffering.max.messages", "200000"),
    ("queue.buffering.max.kbytes", "131072"),
];

const POSTER: &[(&str, &str)] =
    &[("enable.idempotence", "true"), ("acks", "all"), ("partitioner", "murmur2_random"), ("linger.ms", "0")];

impl KafkaSettings {
    /// All that is wrong with the properties: refused ones, unknown names, values that make no sense.
    pub fn problems(&self) -> Vec<StreamError> {
        let refused = properties::problems(&self.properties, self.allow_unverified_tls);
        if !refused.is_empty() {
            return refused;
        }
        let probes = self.properties.iter().filter_map(|(name, value)| {
            let mut config = ClientConfig::new();
            config.set(properties::strip_side(name).1, value);
            config.create_native_config().err().map(|error| property_error(name, &error))
        });
        probes.collect()
    }

    /// The configuration of a client.
    pub(super) fn config(&self, role: Role) -> Result<ClientConfig, StreamError> {
        if let Some(problem) = self.problems().into_iter().next() {
            return Err(problem);
        }
        let mut config = ClientConfig::new();
        self.set_defaults(&mut config, role);
        for (name, value) in &self.properties {
            let (side, name) = properties::strip_side(name);
            if side == Side::Both || side == role.side() {
                config.set(name, value);
            }
        }
        Ok(config)
    }

    fn set_defaults(&self, config: &mut ClientConfig, role: Role) {
        config.set("bootstrap.servers", &self.brokers).set("client.id", &self.client_id);
        let (defaults, group) = match role {
            Role::Reader => (READER, true),
            Role::Member => (MEMBER, true),
            Role::Writer { .. } | Role::Feeder => (WRITER, false),
            Role::Poster => (POSTER, false),
            Role::Admin => (&[][..], false),
        };
        for (name, value) in defaults {
            config.set(*name, *value);
        }
        if group {
            config.set("group.id", &self.group);
        }
        match role {
            Role::Member => {
                config.set("max.poll.interval.ms", self.poll_interval.as_millis().to_string());
                self.set_protocol(config);
            }
            Role::Writer { shard } => self.set_transactions(config, shard),
            Role::Reader | Role::Feeder | Role::Poster | Role::Admin => {}
        }
    }

    fn set_protocol(&self, config: &mut ClientConfig) {
        match self.protocol {
            GroupProtocol::Classic { session_timeout } => {
                let beat = session_timeout.as_millis() / 4;
                config
                    .set("session.timeout.ms", session_timeout.as_millis().to_string())
                    .set("heartbeat.interval.ms", beat.max(1).to_string())
                    .set("partition.assignment.strategy", "cooperative-sticky");
            }
            GroupProtocol::Consumer => {
                config.set("group.protocol", "consumer");
            }
        }
    }

    fn set_transactions(&self, config: &mut ClientConfig, shard: u32) {
        let timeout = self.transaction_timeout.as_millis().to_string();
        config
            .set("transactional.id", format!("{}-shard-{shard}", self.group))
            .set("message.timeout.ms", &timeout)
            .set("transaction.timeout.ms", timeout);
    }
}

/// The words for a property that librdkafka does not take, without the value of a secret.
fn property_error(property: &str, error: &KafkaError) -> StreamError {
    let reason = match error {
        _ if properties::is_secret(property) => "librdkafka does not take this value".to_owned(),
        KafkaError::ClientConfig(_, reason, _, _) => reason.clone(),
        other => other.to_string(),
    };
    StreamError::Property { property: property.to_owned(), reason }
}

/// The words for a client that could not be made. The library's own message could show a setting's value.
pub(super) fn open_error(doing: &str, error: &KafkaError) -> StreamError {
    match error {
        KafkaError::ClientConfig(_, _, property, _) => property_error(property, error),
        other => StreamError::Other { doing: doing.to_owned(), reason: other.to_string() },
    }
}

/// Takes the library's log lines, and remembers what it last said about an error: the errors that it returns are
/// bare codes.
#[derive(Debug, Default)]
pub(super) struct Context {
    reason: Mutex<Option<String>>,
}

impl Context {
    /// What the library said about the error it returned last, once.
    pub(super) fn take_reason(&self) -> Option<String> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        log_line(level, facility, message);
    }

    fn stats(&self, _: Statistics) {}

    fn stats_raw(&self, _: &[u8]) {}

    fn error(&self, _: KafkaError, reason: &str) {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
    }
}

impl ConsumerContext for Context {}

/// Passes a log line of librdkafka on. Warnings that a property is for the other kind of client are left out: the
/// properties of both kinds come from one list.
pub(super) fn log_line(level: RDKafkaLogLevel, facility: &str, message: &str) {
    use RDKafkaLogLevel as Level;
    if facility == "CONFWARN" {
        return;
    }
    match level {
        Level::Emerg | Level::Alert | Level::Critical | Level::Error => {
            tracing::error!(target: "librdkafka", facility, "{message}");
        }
        Level::Warning => tracing::warn!(target: "librdkafka", facility, "{message}"),
        Level::Notice | Level::Info => tracing::info!(target: "librdkafka", facility, "{message}"),
        Level::Debug => tracing::debug!(target: "librdkafka", facility, "{message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(properties: &[(&str, &str)]) -> KafkaSettings {
        let properties = properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        KafkaSettings { properties, ..KafkaSettings::default() }
    }

    #[test]
    fn debug_shows_no_secret() {
        let settings = with(&[("sasl.password", "hunter2"), ("ssl.key.pem", "PEM"), ("linger.ms", "7")]);
        let shown = format!("{settings:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("PEM"), "{shown}");
        assert!(shown.contains("linger.ms") && shown.contains('7'));
    }

    #[test]
    fn properties_pass_to_their_side() {
        let settings =
            with(&[("consumer.fetch.min.bytes", "9"), ("producer.linger.ms", "50"), ("debug", "msg")]);
        let reader = settings.config(Role::Reader).expect("valid");
        let writer = settings.config(Role::Writer { shard: 2 }).expect("valid");
        assert_eq!((reader.get("fetch.min.bytes"), reader.get("linger.ms")), (Some("9"), None));
        assert_eq!((writer.get("fetch.min.bytes"), writer.get("linger.ms")), (None, Some("50")));
        assert_eq!((reader.get("debug"), writer.get("debug")), (Some("msg"), Some("msg")));
        assert_eq!(writer.get("transactional.id"), Some("weir-shard-2"));
        assert_eq!(writer.get("partitioner"), Some("murmur2_random"));
        assert_eq!(reader.get("auto.offset.reset"), Some("error"));
    }

    #[test]
    fn unknown_names_and_values_are_told_at_once() {
        let problems = with(&[("linger.millis", "5"), ("fetch.min.bytes", "many")]).problems();
        let text: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(text.len(), 2, "{text:?}");
        assert!(text[0].contains("fetch.min.bytes") && text[1].contains("linger.millis"), "{text:?}");
    }

    #[test]
    fn a_wrong_secret_is_not_shown() {
        let error = KafkaError::ClientConfig(
            rdkafka::types::RDKafkaConfRes::RD_KAFKA_CONF_INVALID,
            "bad hunter2".to_owned(),
            "sasl.password".to_owned(),
            "hunter2".to_owned(),
        );
        assert!(!open_error("opening", &error).to_string().contains("hunter2"));
    }

    #[test]
    fn the_classic_group_is_sticky_and_the_embedded_one_is_not_classic() {
        let classic = KafkaSettings::default().config(Role::Member).expect("valid");
        assert_eq!(classic.get("partition.assignment.strategy"), Some("cooperative-sticky"));
        assert_eq!(classic.get("session.timeout.ms"), Some("6000"));
        let embedded = KafkaSettings { protocol: GroupProtocol::Consumer, ..KafkaSettings::default() };
        let embedded = embedded.config(Role::Member).expect("valid");
        assert_eq!(
            (embedded.get("group.protocol"), embedded.get("session.timeout.ms")),
            (Some("consumer"), None)
        );
    }
}
