//! The configuration as meant: every value there, in its own type, within its bounds.
//!
//! Read section by section; each `read_*` names its knobs with default and bounds on one line each, and the checks
//! between knobs follow. What each knob does is told in `config/weir.toml`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};

use super::problem::{Place, Problem};
use super::raw::{Reader, Section};
use super::secret;
use crate::engine::time::Span;
use crate::log::{LogFormat, check_filter};

/// A whole configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// How to reach Kafka.
    pub kafka: Kafka,
    /// How the topics are set up.
    pub topics: Topics,
    /// When a batch is closed.
    pub batch: Batch,
    /// The HTTP desk.
    pub http: Http,
    /// Where the policy is.
    pub policy: PolicyFiles,
    /// Where state is kept.
    pub state: State,
    /// How keys are hashed.
    pub keys: Keys,
    /// How the log is written.
    pub log: Log,
}

/// How to reach Kafka.
#[derive(Clone, Debug)]
pub struct Kafka {
    /// `host:port`, comma separated.
    pub brokers: String,
    /// What the names of all topics begin with; may be empty.
    pub topic_prefix: String,
    /// The consumer group that owns the shards; transactional ids begin with it.
    pub group: String,
    /// What brokers see in their logs and quotas.
    pub client_id: String,
    /// An owner that is silent for this long is taken to be dead.
    pub session_timeout: Span,
    /// A broker aborts a transaction that was left open for this long.
    pub transaction_timeout: Span,
    /// Records larger than this become dead letters, in bytes.
    pub record_bytes_max: u64,
    /// Permits TLS without a check of the other side's certificate.
    pub allow_unverified_tls: bool,
    /// librdkafka properties by name.
    pub properties: BTreeMap<String, Property>,
}

/// One librdkafka property.
#[derive(Clone, Debug)]
pub struct Property {
    /// Its value; any may be a secret.
    pub value: SecretString,
    /// Where it was set.
    pub place: Place,
}

impl Property {
    /// The problem that this property's `name` or value is refused.
    pub fn problem(&self, reason: impl Into<String>) -> Problem {
        Problem::error(self.place.clone(), reason)
    }
}

/// How the topics are set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topics {
    /// Partitions of interactions, decisions and shadow decisions.
    pub partitions: i32,
    /// Partitions of the journal.
    pub shards: i32,
    /// Replicas of each partition; -1 leaves it to the broker.
    pub replication: i32,
    /// How long interactions and decisions are kept.
    pub retention: Span,
}

/// When a batch is closed, and how partitions are kept together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// A batch is closed this long after its first record.
    pub interval: Span,
    /// A batch is closed at this many records.
    pub records_max: usize,
    /// A batch waits at most this long for partitions that are known to have more.
    pub merge_wait: Span,
    /// In catch-up, partitions ahead of the slowest by more event time than this are paused.
    pub lead_span: Span,
}

/// The HTTP desk.
#[derive(Clone, Debug)]
pub struct Http {
    /// Where to listen; `None` is nowhere.
    pub listen: Option<SocketAddr>,
    /// What callers must show; `None` only on loopback.
    pub token: Option<SecretString>,
    /// Connections open at once.
    pub connections_max: usize,
    /// A request must have arrived, and be answered, within this time.
    pub request_timeout: Span,
    /// `/healthz` fails when the pipeline has not moved for this long.
    pub stall_timeout: Span,
    /// Memory for subject profiles, in bytes.
    pub subjects_memory: u64,
}

/// Where the policy is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFiles {
    /// Folder of a candidate that runs beside it.
    pub candidate: Option<PathBuf>,
    /// Folder of the policy's YAML files.
    pub dir: PathBuf,
    /// How often the folder is looked at for changes.
    pub reload_interval: Span,
}

/// Where state is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Folder, made when missing; locked by one process.
    pub dir: PathBuf,
    /// From the begin of one checkpoint to the begin of the next.
    pub checkpoint_interval: Span,
}

/// How keys are hashed.
#[derive(Clone)]
pub struct Keys {
    /// Names the seed in the journal without telling it.
    pub seed_id: String,
    /// The seed.
    pub seed: [u8; 16],
}

/// The id only.
impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").field("seed_id", &self.seed_id).finish_non_exhaustive()
    }
}

/// How the log is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Text, JSON, or whichever fits stderr.
    pub format: LogFormat,
    /// What is logged, as in `RUST_LOG`.
    pub filter: String,
}

/// The id of the seed that is used when none is configured.
pub const BUILT_IN_SEED: &str = "built-in";

pub(super) fn read(reader: &mut Reader<'_>) -> Config {
    Config {
        kafka: reader.section("kafka", read_kafka),
        topics: reader.section("topics", read_topics),
        batch: reader.section("batch", read_batch),
        http: reader.section("http", read_http),
        policy: reader.section("policy", read_policy),
        state: reader.section("state", read_state),
        keys: reader.section("keys", read_keys),
        log: reader.section("log", read_log),
    }
}

fn read_kafka(section: &mut Section<'_>) -> Kafka {
    Kafka {
        brokers: section.parsed("brokers", "127.0.0.1:9092".to_owned(), brokers),
        topic_prefix: section.parsed("topic_prefix", String::new(), topic_prefix),
        group: section.parsed("group", "weir".to_owned(), name),
        client_id: section.parsed("client_id", "weir".to_owned(), name),
        session_timeout: section.span("session_timeout", "6s", ["1s", "5m"]),
        transaction_timeout: section.span("transaction_timeout", "1m", ["10s", "15m"]),
        record_bytes_max: section.size("record_bytes_max", "1MB", ["1KB", "100MB"]),
        allow_unverified_tls: section.boolean("allow_unverified_tls", false),
        properties: properties(section),
    }
}

fn properties(section: &mut Section<'_>) -> BTreeMap<String, Property> {
    let mut properties = BTreeMap::new();
    for (name, value, place) in section.entries("properties") {
        match secret::property(section, value.get_ref()) {
            Ok(value) => {
                properties.insert(name, Property { value, place: place.without_source() });
            }
            Err(reason) => section.error(&place.without_source(), format!("`{name}`: {reason}")),
        }
    }
    properties
}

fn read_topics(section: &mut Section<'_>) -> Topics {
    let mut small = |key, default, bounds| {
        let number = section.integer(key, default, bounds);
        i32::try_from(number).expect("the bounds fit")
    };
    Topics {
        partitions: small("partitions", 6, 1..=10_000),
        shards: small("shards", 1, 1..=1000),
        replication: small("replication", -1, -1..=15),
        retention: section.span("retention", "7d", ["1h", "3650d"]),
    }
}

fn read_batch(section: &mut Section<'_>) -> Batch {
    let records_max = section.integer("records_max", 20_000, 1..=200_000);
    Batch {
        interval: section.span("interval", "50ms", ["1ms", "5s"]),
        records_max: usize::try_from(records_max).expect("the bounds fit"),
        merge_wait: section.span("merge_wait", "20ms", ["0s", "5s"]),
        lead_span: section.span("lead_span", "30s", ["1s", "1h"]),
    }
}

fn read_http(section: &mut Section<'_>) -> Http {
    let loopback = SocketAddr::from(([127, 0, 0, 1], 8088));
    let given = section.optional("listen", listen);
    let token = secret::token(section);
    let connections_max = section.integer("connections_max", 64, 1..=10_000);
    let http = Http {
        listen: given.as_ref().map_or(Some(loopback), |(listen, _)| *listen),
        token,
        connections_max: usize::try_from(connections_max).expect("the bounds fit"),
        request_timeout: section.span("request_timeout", "10s", ["100ms", "5m"]),
        stall_timeout: section.span("stall_timeout", "2m", ["1s", "1h"]),
        subjects_memory: section.size("subjects_memory", "64MB", ["1MB", "64GB"]),
    };
    let open = http.listen.is_some_and(|address| !address.ip().is_loopback());
    if let (Some((_, place)), true, None) = (given, open, &http.token) {
        let problem =
            Problem::error(place, "`listen` can be reached from other machines, and there is no token");
        section.note(problem.with_help(
            "set `token_file` in [http] (or WEIR_HTTP_TOKEN_FILE), or listen on 127.0.0.1 or [::1]",
        ));
    }
    http
}

fn read_policy(section: &mut Section<'_>) -> PolicyFiles {
    PolicyFiles {
        dir: section.path("dir").map_or_else(|| PathBuf::from("config/policy"), |(dir, _)| dir),
        candidate: section.path("candidate").map(|(dir, _)| dir),
        reload_interval: section.span("reload_interval", "1s", ["100ms", "1h"]),
    }
}

fn read_state(section: &mut Section<'_>) -> State {
    State {
        dir: section.path("dir").map_or_else(|| PathBuf::from("weir-state"), |(dir, _)| dir),
        checkpoint_interval: section.span("checkpoint_interval", "60s", ["1s", "24h"]),
    }
}

fn read_keys(section: &mut Section<'_>) -> Keys {
    let seed = secret::seed(section);
    let id = section.optional("seed_id", name);
    match (seed, id) {
        (Some((seed, _)), Some((seed_id, _))) => Keys { seed_id, seed },
        (Some((seed, place)), None) => {
            let problem =
                Problem::error(place, "a seed needs a name, for the journal tells which one was used");
            section.note(problem.with_help("set `seed_id` in [keys], for instance to \"2026-1\""));
            Keys { seed_id: BUILT_IN_SEED.to_owned(), seed }
        }
        (None, Some((id, place))) if id != BUILT_IN_SEED => {
            let problem = Problem::error(place, format!("there is no seed for the name `{id}`"));
            section.note(problem.with_help("set `seed_file` in [keys] (or WEIR_KEYS_SEED_FILE)"));
            built_in()
        }
        _ => built_in(),
    }
}

/// Public, so keys of a default installation can be made to collide on purpose; the sample file says so.
fn built_in() -> Keys {
    Keys { seed_id: BUILT_IN_SEED.to_owned(), seed: *b"weir key seed v1" }
}

fn read_log(section: &mut Section<'_>) -> Log {
    let format = |text: &str| match text {
        "auto" => Ok(LogFormat::Auto),
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        other => Err(format!("`{other}` is none of `auto`, `text`, `json`")),
    };
    let filter = |text: &str| check_filter(text).map(|()| text.to_owned());
    Log {
        format: section.parsed("format", LogFormat::Auto, format),
        filter: section.parsed("filter", "info".to_owned(), filter),
    }
}

fn brokers(text: &str) -> Result<String, String> {
    let brokers: Vec<&str> = text.split(',').map(str::trim).collect();
    for broker in &brokers {
        let (host, port) = broker.rsplit_once(':').unwrap_or_default();
        if host.is_empty() || host.contains(char::is_whitespace) || !port.parse::<u16>().is_ok_and(|p| p > 0)
        {
            return Err(format!("`{broker}` is no broker: write `host:port`, several with commas between"));
        }
    }
    Ok(brokers.join(","))
}

fn topic_prefix(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if text.len() > 200 || !text.chars().all(plain) {
        return Err("at most 200 of the letters a-z, A-Z, 0-9, `.`, `_`, `-` make a prefix".to_owned());
    }
    Ok(text.to_owned())
}

fn name(text: &str) -> Result<String, String> {
    let plain = |c: char| !c.is_control() && !c.is_whitespace();
    if text.is_empty() || text.len() > 200 || !text.chars().all(plain) {
        return Err("a name of 1 to 200 characters without spaces is expected".to_owned());
    }
    Ok(text.to_owned())
}

fn listen(text: &str) -> Result<Option<SocketAddr>, String> {
    if text == "off" {
        return Ok(None);
    }
    let told =
        || format!("`{text}` is no address: write `127.0.0.1:8088`, `[::1]:8088`, `0.0.0.0:8088` or `off`");
    text.parse().map(Some).map_err(|_| told())
}

impl Config {
    /// The librdkafka properties with their values in the clear: for the client, never for a log.
    pub fn exposed_properties(&self) -> BTreeMap<String, String> {
        let exposed = |property: &Property| property.value.expose_secret().to_owned();
        self.kafka.properties.iter().map(|(name, property)| (name.clone(), exposed(property))).collect()
    }
}
