//! Ordinary interactions in any number, and records that cannot be decided, each with the reason that it must get.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

const USERS: u64 = 20_011;
/// One in so many events is sent twice.
const TWICE: u64 = 997;

/// Milliseconds since 1970.
#[allow(clippy::disallowed_methods, reason = "events of now need the time of now")]
pub fn now_ms() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis()
}

/// The user of an event.
pub fn user(number: u64) -> u64 {
    (number * 7919) % USERS
}

/// Whether an event is sent a second time right away.
pub fn comes_twice(number: u64) -> bool {
    number % TWICE == TWICE - 1
}

/// Whether an event does something, more than looking.
pub fn is_written(number: u64) -> bool {
    user(number) < 20 || number.is_multiple_of(5) || number.is_multiple_of(17)
}

/// An ordinary event of now.
pub fn event(number: u64, to: &mut String) {
    let user = user(number);
    // A few press the same button again and again.
    let (action, target) = match user {
        0..20 => ("like", 1),
        _ if number.is_multiple_of(5) => ("like", number * 31 % 4_001),
        _ if number.is_multiple_of(17) => ("comment", number * 31 % 4_001),
        _ => ("view", number * 31 % 4_001),
    };
    to.clear();
    write!(
        to,
        "{{\"event_id\":\"e{number}\",\"occurred_at\":{now},\"action\":\"{action}\",\"user_id\":\"u{user}\",\
         \"target_id\":\"t{target}\",\"target_owner_id\":\"o{target}\",\"ip\":\"198.18.{a}.{b}\",\
         \"device\":{{\"id\":\"d{user}\",\"canvas\":\"c{user}\"}},\
         \"account\":{{\"created_at\":{created},\"plan\":\"free\"}},\"session_id\":\"s{user}\"}}",
        now = now_ms(),
        a = user / 250 % 250,
        b = user % 250,
        created = 1_600_000_000_000 + user * 1_000_000,
    )
    .expect("text takes all");
}

/// An ordinary event of one user, now.
pub fn event_of(id: &str, user: &str) -> String {
    event_at(id, user, i64::try_from(now_ms()).expect("a time"))
}

/// An ordinary event of one user at a time, in milliseconds since 1970.
pub fn event_at(id: &str, user: &str, at: i64) -> String {
    format!(
        "{{\"event_id\":\"{id}\",\"occurred_at\":{at},\"action\":\"view\",\"user_id\":\"{user}\",\
         \"target_id\":\"t7\",\"ip\":\"198.18.255.7\"}}"
    )
}

/// A record that cannot be decided.
pub struct Poison {
    pub name: String,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// The reason its dead letter must tell.
    pub reason: String,
}

fn poison(name: &str, reason: &str, value: impl Into<Vec<u8>>) -> Poison {
    let (name, reason) = (name.to_owned(), reason.to_owned());
    Poison { name, key: Some(b"k".to_vec()), value: Some(value.into()), headers: Vec::new(), reason }
}

fn header(name: &[u8], value: &[u8]) -> (Vec<u8>, Option<Vec<u8>>) {
    (name.to_vec(), Some(value.to_vec()))
}

/// Every kind: the invalid examples of the contract, and what no JSON file can show.
pub fn all_poison() -> Vec<Poison> {
    let mut all = examples();
    let usual = event_of("p", "u-poison");
    let with = |name: &str, reason: &str, headers| Poison { headers, ..poison(name, reason, usual.clone()) };
    all.extend([
        Poison { value: None, ..poison("null", "null_value", "") },
        Poison { value: None, key: None, ..poison("null with null key", "null_value", "") },
        poison("empty", "malformed_json", ""),
        poison("blank", "malformed_json", " \n\t "),
        poison(
            "no UTF-8 in a text",
            "invalid_utf8",
            b"{\"event_id\":\"a\xff\",\"action\":\"like\"}".to_vec(),
        ),
        poison("no UTF-8 at all", "invalid_utf8", vec![0xfe; 64]),
        poison("two objects", "malformed_json", format!("{usual}{usual}")),
        poison("10,000 levels", "malformed_json", format!("{{\"later\":{}", "[".repeat(10_000))),
        poison("900 KB of nothing", "malformed_json", vec![b'x'; 900_000]),
        poison("900 KB of nesting", "malformed_json", "{\"a\":".repeat(180_000)),
        poison("as large as a dead letter can be", "malformed_json", vec![b'z'; 999_000]),
        poison("too large to be told again", "malformed_json", vec![b'y'; 1_010_000]),
        poison("too large", "too_large", vec![b'{'; 1_040_000]),
        poison("ten minutes ahead", "future_timestamp", ahead(&usual)),
        with(
            "a header name that is no UTF-8",
            "invalid_headers",
            vec![header(b"\xff\xfe", b"v"), header(b"fine", b"1")],
        ),
        with(
            "a version of CloudEvents to come",
            "unsupported_version",
            vec![header(b"ce_specversion", b"7.0")],
        ),
        with(
            "another content type",
            "unsupported_version",
            vec![header(b"content-type", b"application/avro")],
        ),
    ]);
    all
}

fn ahead(usual: &str) -> String {
    let (start, rest) = usual.split_once("\"occurred_at\":").expect("a time");
    let (_, rest) = rest.split_once(',').expect("more");
    format!("{start}\"occurred_at\":{},{rest}", now_ms() + 600_000)
}

/// `invalid-<reason>-<what>.json`
fn examples() -> Vec<Poison> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/interaction/examples");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("examples") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
        if let Some((reason, _)) = name.strip_prefix("invalid-").and_then(|rest| rest.split_once('-')) {
            all.push(poison(&name, reason, std::fs::read(&path).expect("readable")));
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// A plain producer that chooses partitions itself.
pub struct Sender {
    producer: BaseProducer,
    topic: String,
}

impl Sender {
    pub fn new(brokers: &str, topic: &str, linger_ms: u32) -> Sender {
        let producer = ClientConfig::new()
            .set("bootstrap.servers", brokers)
            .set("linger.ms", linger_ms.to_string())
            .set("acks", "all")
            .set("enable.idempotence", "true")
            .set("queue.buffering.max.messages", "100000")
            .create()
            .expect("a producer");
        Sender { producer, topic: topic.to_owned() }
    }

    /// Sends a record of now.
    pub fn send(&self, partition: i32, key: &str, value: &str) {
        self.hand_over(BaseRecord::to(&self.topic).partition(partition).key(key).payload(value));
    }

    /// Sends a record with its own create time, in milliseconds since 1970.
    pub fn send_at(&self, partition: i32, key: &str, value: &str, at: i64) {
        let record = BaseRecord::to(&self.topic).partition(partition).key(key).payload(value);
        self.hand_over(record.timestamp(at));
    }

    fn hand_over(&self, mut record: BaseRecord<'_, str, str>) {
        loop {
            match self.producer.send(record) {
                Ok(()) => break,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => record = back,
                Err((error, _)) => panic!("{error}"),
            }
            self.producer.poll(Duration::from_millis(1));
        }
        self.producer.poll(Duration::ZERO);
    }

    /// Waits until the broker has all.
    pub fn finish(&self) {
        while self.producer.in_flight_count() > 0 {
            self.producer.poll(Duration::from_millis(1));
        }
    }
}
