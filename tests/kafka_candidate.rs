//! A candidate policy beside the live one on a real Apache Kafka: its disagreements, and nothing else of it, are on the topic
//! of shadow; the topics verify. Then: an earlier policy comes back from the topic of policies, and a topic whose begin has
//! expired is said to be one.

#[path = "support/broker.rs"]
mod broker;
#[path = "support/instance.rs"]
mod instance;
#[path = "support/readback.rs"]
mod readback;
mod support;
#[path = "support/traffic.rs"]
mod traffic;

use std::collections::HashMap;
use std::time::Duration;

use instance::{Instance, PATIENCE};
use rdkafka::TopicPartitionList;
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use rdkafka::topic_partition_list::Offset;
use readback::Readback;
use serde_json::Value;
use traffic::Sender;
use weir::engine::feedback::{Feedback, FeedbackResult};
use weir::engine::time::Timestamp;
use weir::stream::Topic;
use weir::wire::contract::Contract;
use weir::wire::feedback;
use weir::wire::shadow_tally::{self, DisagreedRecord, ShadowTallyRecord};

const USERS: i64 = 50;
/// So often each user likes one thing: three are allowed a minute, by the candidate four.
const LIKES: i64 = 5;
const PARTITIONS: i32 = 6;

/// The limit of the same on the same gets another threshold, and the two tests that say the old one go.
fn raised(file: &str, text: String) -> String {
    match file {
        "limits.yaml" => without(
            &text.replacen("\n    max: 3\n", "\n    max: 4\n", 1),
            "a script is told to wait until the oldest like has left the minute",
        ),
        "rules-evidence.yaml" => without(&text, "three slips are remembered"),
        _ => text,
    }
}

/// A file of a policy without one of its tests.
fn without(text: &str, test: &str) -> String {
    let (head, rest) = text.split_once(&format!("      - name: {test}\n")).expect("the test");
    let ends = ["\n      - name:", "\n\n"].map(|next| rest.find(next).unwrap_or(rest.len() - 1));
    let end = ends[0].min(ends[1]) + 1;
    head.to_owned() + &rest[end..]
}

#[test]
fn a_candidate_is_told_of_where_it_disagrees_and_nowhere_else() {
    let brokers = broker::shared();
    let mut weir = Instance::new(brokers, &broker::unique("candidate"));
    // The candidate's folder is the one that the link shows now; then the live one is put there.
    weir.swap_policy("raised", raised);
    weir.swap_policy("first", |_, text| text);
    weir.command(&["topics", "create"]);
    weir.start_with(&[("WEIR_CANDIDATE", "raised")]);
    weir.wait_until_ready();
    send(brokers, &weir);
    let all = (USERS * LIKES) as f64;
    weir.wait("all compared", |weir| weir.metrics().sum("weir_candidate_decisions_total", "live") >= all);
    check_metrics(&weir);
    check_shadow(&weir);
    judge_by_shadow(&weir);
    label(brokers, &mut weir);
    roll_back(&mut weir);
    let (status, _) = weir.terminate();
    assert!(status.success(), "{status}");
    weir.command(&["verify"]);
    promote_by_shadow(&weir);
    learn(&weir);
    #[cfg(feature = "parquet")]
    export(&weir);
    expire(brokers, &weir);
}

fn send(brokers: &str, weir: &Instance) {
    let sender = Sender::new(brokers, weir.names.get(Topic::Interactions), 5);
    for number in 0..USERS * LIKES {
        // One after the other with eight seconds between: that is no burst.
        let (user, now) = (number % USERS, i64::try_from(traffic::now_ms()).expect("a time"));
        let at = now - (LIKES - 1 - number / USERS) * 8_000;
        let text = format!(
            "{{\"event_id\":\"e{number}\",\"occurred_at\":{at},\"action\":\"like\",\"user_id\":\"u{user}\",\"target_id\":\"t{user}\",\
             \"ip\":\"198.18.0.{user}\",\"account\":{{\"created_at\":1600000000000}}}}"
        );
        sender.send((user % i64::from(PARTITIONS)) as i32, &format!("u{user}"), &text);
    }
    sender.finish();
}

/// Of five likes three are allowed by both, the fourth by the candidate alone, the fifth by none.
fn check_metrics(weir: &Instance) {
    let metrics = weir.metrics();
    assert_eq!(metrics.value("weir_candidate_running"), 1.0);
    assert!(metrics.value("weir_candidate_state_bytes") >= 0.0);
    let of = |live: &str, candidate: &str| {
        metrics.value(&format!("weir_candidate_decisions_total{{live=\"{live}\",candidate=\"{candidate}\"}}"))
            as i64
    };
    let pairs = [of("allow", "allow"), of("reject", "allow"), of("reject", "reject"), of("allow", "reject")];
    assert_eq!(pairs, [3 * USERS, USERS, USERS, 0]);
}

fn check_shadow(weir: &Instance) {
    let reader = Readback::new(&weir.kafka, &weir.names);
    let mut verdicts = HashMap::new();
    reader.read_all(Topic::Decisions, |record| {
        let told: Value = serde_json::from_slice(record.value.expect("a value")).expect("JSON");
        verdicts.insert(told["decision_id"].as_str().expect("an id").to_owned(), told["verdict"].clone());
    });
    let contract = Contract::ALL.into_iter().find(|contract| contract.subject == "shadow").expect("known");
    let schema = Value::from(contract.schema());
    let schema = jsonschema::draft202012::new(&schema).expect("a valid schema");
    let (mut told, mut tallies) = (0, Vec::new());
    reader.read_all(Topic::Shadow, |record| {
        let shadow: Value = serde_json::from_slice(record.value.expect("a value")).expect("JSON");
        let kind = record.headers.iter().find(|(name, _)| *name == "ce_type").and_then(|(_, value)| value);
        if kind == Some(&b"risk.shadow-tally.v1"[..]) {
            let tally = shadow_tally::decode(record.value).expect("a tally");
            assert_eq!(record.key, Some(tally.key().as_bytes()));
            tallies.push(tally);
            return;
        }
        assert!(schema.is_valid(&shadow), "{shadow}");
        assert_eq!(kind, Some(&b"risk.shadow.v1"[..]));
        let Some(candidate) = shadow.get("candidate") else { return };
        assert_eq!(
            (&candidate["would_be"], &shadow["actual_verdict"]),
            (&Value::from("allow"), &Value::from("reject"))
        );
        assert_eq!(
            verdicts.get(shadow["decision_id"].as_str().expect("an id")),
            Some(&shadow["actual_verdict"])
        );
        assert_ne!(candidate["policy"], shadow["policy"]);
        told += 1;
    });
    assert_eq!((told, verdicts.len() as i64), (USERS, USERS * LIKES));
    check_tallies(&tallies);
}

/// The last of them has all that was decided, without waiting for any more.
fn check_tallies(tallies: &[ShadowTallyRecord]) {
    let grows =
        tallies.windows(2).all(|pair| pair[0].key() == pair[1].key() && pair[0].events() < pair[1].events());
    assert!(grows, "of one key, in order: {tallies:?}");
    let last = tallies.last().expect("a tally");
    let (all, disagreed) = (last.decisions as i64, last.disagreed.as_slice());
    assert_eq!((all, last.only_live, last.only_candidate), (USERS * LIKES, 0, 0));
    let DisagreedRecord { actual_verdict, would_be, decisions } = &disagreed[0];
    assert_eq!((disagreed.len(), *decisions as i64), (1, USERS));
    assert_eq!((actual_verdict.as_str(), would_be.as_str()), ("reject", "allow"));
    assert!(last.first_event < last.last_event, "{last:?}");
}

const FROM_SHADOW: [&str; 5] = ["policy", "promote", "--from-shadow", "--reason", "a test"];

/// Of 250 decisions the candidate would have let 50 more through: refused where that is too many, or cannot be known.
fn judge_by_shadow(weir: &Instance) {
    let attempt = |more: &[&str]| {
        let ran = weir.attempt(&[&FROM_SHADOW[..], more].concat());
        (ran.status.code(), String::from_utf8_lossy(&ran.stderr).into_owned())
    };
    let (code, told) = attempt(&["--candidate", "raised", "--budget", "newly_allowed > 10%"]);
    assert!(code == Some(3) && told.contains("newly_allowed = 20 %"), "{code:?} {told}");
    let (code, told) = attempt(&["--candidate", "raised", "--budget", "newly_touched_paying > 0"]);
    assert!(code == Some(2) && told.contains("tells verdicts only"), "{code:?} {told}");
    std::fs::create_dir(weir.path("silent")).expect("writable");
    let text = "version: 1\nlimits:\n  - { id: x, key: [user], window: 1m, max: 9, verdict: hold, code: X, text: t, source: s, \
                owner: o }\n";
    std::fs::write(weir.path("silent/p.yaml"), text).expect("writable");
    let (code, told) = attempt(&["--candidate", "silent"]);
    assert!(code == Some(1) && told.contains("neither a tally nor a disagreement"), "{code:?} {told}");
}

/// Nothing is held or blocked that was not: it is put in place.
fn promote_by_shadow(weir: &Instance) {
    let ran = weir.command(&[&FROM_SHADOW[..], &["--candidate", "raised"]].concat());
    let told = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(told.contains("within its budget") && told.contains("new_holds = 0 %"), "{told}");
    let list = weir.command(&["policy", "list", "--print", "json"]);
    let list: Value = serde_json::from_slice(&list.stdout).expect("JSON");
    let shadow = list["log"].as_array().and_then(|log| log.last()).map(|entry| &entry["shadow"]);
    let shadow = shadow.expect("an entry");
    let input = shadow["input"].as_str().expect("text");
    let tally = format!("a tally of {} decisions, {USERS} of them otherwise", USERS * LIKES);
    assert!(input.contains(&tally), "{input}");
    assert_eq!(
        (shadow["decisions"].as_i64(), &shadow["over_budget"]),
        (Some(USERS * LIKES), &Value::Bool(false))
    );
}

/// Somebody says of one rejected event that it was abuse, and of one allowed that it was honest.
fn label(brokers: &str, weir: &mut Instance) {
    let mut ids = HashMap::new();
    Readback::new(&weir.kafka, &weir.names).read_all(Topic::Decisions, |record| {
        let told: Value = serde_json::from_slice(record.value.expect("a value")).expect("JSON");
        let text = |name: &str| told[name].as_str().expect("text").to_owned();
        ids.insert(text("verdict"), text("decision_id"));
    });
    let sender = Sender::new(brokers, weir.names.get(Topic::Feedback), 5);
    for (verdict, result) in
        [("reject", FeedbackResult::ConfirmedAbuse), ("allow", FeedbackResult::ConfirmedHonest)]
    {
        let feedback = Feedback {
            id: format!("late-{verdict}"),
            decision: ids[verdict].parse().expect("a decision's id"),
            result,
            actor: "a test".into(),
            at: Timestamp::from_millis(i64::try_from(traffic::now_ms()).expect("a time")),
            reason: None,
        };
        sender.send(0, &ids[verdict], &String::from_utf8(feedback::encode(&feedback)).expect("JSON"));
    }
    sender.finish();
    // Of what was allowed the engine remembers nothing to revise: the label is on the topic all the same.
    let taken = |weir: &Instance| {
        let outcomes = weir.metrics().by("weir_events_total", "outcome");
        outcomes.iter().filter(|(name, _)| name.starts_with("feedback_")).map(|(_, count)| count).sum::<f64>()
    };
    weir.wait("both labels taken", |weir| taken(weir) >= 2.0);
}

/// A backtest takes these labels, and says for how many events each of them stands.
fn learn(weir: &Instance) {
    let topic = weir.names.get(Topic::Interactions).to_owned();
    // Who had a chance to get one hangs on the policy that was live then, not on the one that is in place by now.
    let policies = ["--policy", "first", "--against", "first"];
    let ran = weir.command(&[&["backtest", "--from", &topic, "--topic-labels"], &policies[..]].concat());
    let told = String::from_utf8(ran.stdout).expect("UTF-8");
    for (stratum, all) in [("allowed", 3 * USERS), ("acted on", 2 * USERS)] {
        let row =
            told.lines().find(|line| line.trim_start().starts_with(stratum) && line.contains("have a label"));
        assert!(row.is_some_and(|row| row.contains(&format!("1 of {all} "))), "{stratum} {all}: {told}");
    }
}

fn holds(weir: &Instance) -> String {
    weir.metrics().by("weir_policy_info", "hash").pop().expect("a policy holds").0
}

/// Nobody kept the first policy beside the folder: its text is on the topic.
fn roll_back(weir: &mut Instance) {
    let first = holds(weir);
    weir.swap_policy("raised", raised);
    weir.wait("under the second policy", |weir| holds(weir) != first);
    // It is told with the first batch under it.
    let ran = weir.command(&["policy", "rollback", &first[..12], "--reason", "a test"]);
    let told = String::from_utf8(ran.stdout).expect("UTF-8");
    assert!(told.contains("risk.policies.v1") && told.contains("link replaced"), "{told}");
    weir.wait("back under the first policy", |weir| holds(weir) == first);
}

/// Every interaction is a row, with what holds of it; a backtest of the file decides all of them.
#[cfg(feature = "parquet")]
fn export(weir: &Instance) {
    use weir_parquet::verdicts;
    let topic = weir.names.get(Topic::Interactions).to_owned();
    weir.command(&["export", "--from", &topic, "--to", "day.parquet"]);
    let told = verdicts(&weir.path("day.parquet"));
    assert_eq!(told, HashMap::from([("allow".to_owned(), 3 * USERS), ("reject".to_owned(), 2 * USERS)]));
    let ran = weir.command(&["backtest", "--input", "day.parquet", "--policy", "first", "--print", "json"]);
    let found: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!(found["records"]["inside"].as_i64(), Some(USERS * LIKES), "{found:#}");
}

#[cfg(feature = "parquet")]
mod weir_parquet {
    use std::collections::HashMap;
    use std::fs::File;
    use std::path::Path;

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    /// Rows by verdict.
    pub(super) fn verdicts(path: &Path) -> HashMap<String, i64> {
        let reader = SerializedFileReader::new(File::open(path).expect("there")).expect("Parquet");
        let schema = reader.metadata().file_metadata().schema_descr();
        let verdict =
            (0..schema.num_columns()).find(|c| schema.column(*c).name() == "verdict").expect("there");
        let mut counts = HashMap::new();
        for row in reader.get_row_iter(None).expect("rows") {
            let verdict = row.expect("a row").get_string(verdict).cloned().unwrap_or_default();
            *counts.entry(verdict).or_default() += 1;
        }
        counts
    }
}

/// The first records of a partition are gone: said with their place, and the rest is done.
fn expire(brokers: &str, weir: &Instance) {
    let topic = weir.names.get(Topic::Interactions).to_owned();
    let admin: AdminClient<DefaultClientContext> =
        rdkafka::ClientConfig::new().set("bootstrap.servers", brokers).create().expect("a client");
    let mut before = TopicPartitionList::new();
    before.add_partition_offset(&topic, 0, Offset::Offset(7)).expect("a place");
    let options =
        AdminOptions::new().request_timeout(Some(PATIENCE)).operation_timeout(Some(Duration::from_secs(10)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(admin.delete_records(&before, &options)).expect("deleted");
    let ran = weir.command(&["backtest", "--from", &topic, "--policy", "first", "--print", "json"]);
    let told = String::from_utf8(ran.stderr).expect("UTF-8");
    assert!(told.contains(&format!("{topic}/0@7")) && told.contains("history begins here"), "{told}");
    let found: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!(found["records"]["inside"].as_i64(), Some(USERS * LIKES - 7), "{found:#}");
}
