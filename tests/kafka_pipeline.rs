//! The whole live path on a real Apache Kafka: the binary as it is run, its topics, its commands, its answers.
//!
//! One long story, for each part stands on the one before: a stream with poison in it, a policy that changes in the
//! middle, a broken policy, single events, silence, an end and a new start, a ban that outlives it. What is checked is
//! what a second consumer reads back from the topics.
#![allow(clippy::print_stdout, reason = "measured figures")]
#![allow(clippy::disallowed_methods, reason = "a child process is awaited and measured by the clock")]

#[path = "support/broker.rs"]
mod broker;
#[path = "support/instance.rs"]
mod instance;
#[path = "support/raw_produce.rs"]
mod raw_produce;
#[path = "support/readback.rs"]
mod readback;
mod support;
#[path = "support/traffic.rs"]
mod traffic;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

use instance::{Instance, Metrics, PATIENCE};
use jsonschema::Validator;
use raw_produce::RawRecord;
use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use readback::Readback;
use serde_json::Value;
use traffic::{Poison, Sender};
use weir::stream::{InputEvent, RecordRef, Topic};
use weir::wire::contract::Contract;
use weir::wire::dead_letter;

const EVENTS: u64 = 200_000;
const PARTITIONS: u64 = 6;
/// How fast a process that has nothing to do may use CPU.
const IDLE_CPU: f64 = 0.05;

/// What was sent, by its place.
#[derive(Default)]
struct Sent {
    poison: HashMap<(i32, i64), Poison>,
    /// Records beside the poison, by what must become of them.
    ordinary: u64,
    twice: u64,
}

impl Sent {
    fn all(&self) -> u64 {
        self.ordinary + self.twice + self.poison.len() as u64
    }
}

/// What a second consumer found on the topic of decisions.
#[derive(Default)]
struct Found {
    /// Policy hash by place of the event.
    decided: BTreeMap<(i32, i64), String>,
    ids: HashSet<String>,
    /// Hashes in the order of writing, by partition of the decisions.
    order: BTreeMap<i32, Vec<String>>,
    verdicts: BTreeMap<String, u64>,
    /// Verdict and whether a counter was warming up, by event id, of events that were sent by themselves.
    single: HashMap<String, (String, bool)>,
}

#[test]
fn the_live_path_holds_on_a_real_broker() {
    let story = Instant::now();
    let brokers = broker::shared();
    let mut weir = Instance::new(brokers, &broker::unique("live"));
    weir.command(&["topics", "create"]);
    let reader = Readback::new(&weir.kafka, &weir.names);
    weir.start();
    println!(
        "ready {:.2?} after the start; broker and topics {:.1?}",
        weir.wait_until_ready(),
        story.elapsed()
    );

    let first = policy_of(&weir.metrics());
    let (sent, second) = stream_with_poison(&mut weir, brokers);
    let found = read_decisions(&reader);
    check_decisions(&sent, &found, &weir.metrics());
    check_dead_letters(&reader, &sent);
    check_split(&found, &first, &second, &sent);
    check_policies(&reader, &[&first, &second]);
    check_positions(&mut weir, &reader);
    println!("everything accounted for at {:.1?}", story.elapsed());

    a_broken_policy_changes_nothing(&mut weir, &second);
    single_events_are_decided_soon(&weir, &reader, brokers);
    silence_costs_nothing(&weir);
    a_ban_outlives_a_restart(&mut weir, &reader, brokers, &found);
    println!("the whole story took {:.1?}", story.elapsed());
}

/// Sends everything; in the middle the policy changes. Returns the hash of the second policy.
fn stream_with_poison(weir: &mut Instance, brokers: &str) -> (Sent, String) {
    let topic = weir.names.get(Topic::Interactions).to_owned();
    let sender = Sender::new(brokers, &topic, 5);
    let (mut sent, mut poison) = (Sent::default(), traffic::all_poison().into_iter());
    let before = policy_of(&weir.metrics());
    let (start, mut text, mut changed) = (Instant::now(), String::new(), None);
    for number in 0..EVENTS {
        send_event(&sender, number, &mut text, &mut sent);
        if number % 2_500 == 0 {
            send_poison(brokers, &topic, poison.next(), number, &mut sent);
        }
        if number == EVENTS / 3 {
            let under_way = EVENTS as f64 / 5.0;
            weir.wait("under way", |weir| weir.metrics().sum("weir_events_total", "outcome") >= under_way);
            weir.swap_policy("second", raised);
        }
        // The stream flows on, slower, until the new policy holds: so it changes in its middle.
        if number > EVENTS / 3 && number % 500 == 0 && changed.is_none() {
            assert!(number < EVENTS - 20_000, "the policy did not change in time\n{}", weir.log_end());
            let now = policy_of(&weir.metrics());
            changed = (now != before).then_some(now);
        }
    }
    sender.finish();
    let (produced, total) = (start.elapsed(), sent.all());
    weir.wait("all consumed", |weir| weir.metrics().sum("weir_events_total", "outcome") >= total as f64);
    let took = start.elapsed().as_secs_f64();
    assert!(poison.next().is_none(), "all poison was sent");
    let metrics = weir.metrics();
    tell_speed(&metrics, total, took, produced);
    (sent, changed.expect("the policy changed"))
}

fn tell_speed(metrics: &Metrics, total: u64, took: f64, produced: Duration) {
    let nothing = Metrics(String::new());
    let quantile = |part| metrics.quantile("weir_commit_seconds", part, &nothing) * 1000.0;
    let cpu = metrics.value("weir_process_cpu_seconds");
    println!(
        "{total} records in {took:.2} s: {:.0} events/s, paced by a sender that took {produced:.2?} ({:.1} us CPU an \
         event, {:.0} MB resident); {} commits, p50 <= {:.0} ms, p99 <= {:.0} ms",
        total as f64 / took,
        cpu * 1e6 / total as f64,
        metrics.value("weir_process_resident_bytes") / 1e6,
        commits(metrics),
        quantile(0.5),
        quantile(0.99),
    );
}

fn send_event(sender: &Sender, number: u64, text: &mut String, sent: &mut Sent) {
    traffic::event(number, text);
    let user = traffic::user(number);
    let (partition, key) = ((user % PARTITIONS) as i32, format!("u{user}"));
    sender.send(partition, &key, text);
    sent.ordinary += 1;
    if traffic::comes_twice(number) {
        sender.send(partition, &key, text);
        sent.twice += 1;
    }
}

fn send_poison(brokers: &str, topic: &str, poison: Option<Poison>, number: u64, sent: &mut Sent) {
    let Some(poison) = poison else { return };
    let partition = (number / 2_500 % PARTITIONS) as i32;
    let record = RawRecord {
        key: poison.key.as_deref(),
        value: poison.value.as_deref(),
        headers: poison.headers.iter().map(|(name, value)| (name.as_slice(), value.as_deref())).collect(),
    };
    let created = i64::try_from(traffic::now_ms()).expect("a time");
    let offset = raw_produce::produce(brokers, topic, partition, created, &[record]);
    sent.poison.insert((partition, offset), poison);
}

/// A limit of the standard policy gets another threshold.
fn raised(file: &str, text: String) -> String {
    match file {
        "limits.yaml" => text.replacen("\n    max: 3\n", "\n    max: 4\n", 1),
        _ => text,
    }
}

fn broken(file: &str, text: String) -> String {
    match file {
        "limits.yaml" => text.replacen("\n    max: 3\n", "\n    max: many\n", 1),
        _ => text,
    }
}

fn policy_of(metrics: &Metrics) -> String {
    metrics.by("weir_policy_info", "hash").pop().expect("a policy holds").0
}

fn read_decisions(reader: &Readback) -> Found {
    let (start, schema) = (Instant::now(), validator("decision"));
    let mut found = Found::default();
    reader.read_all(Topic::Decisions, |record| note_decision(&record, &schema, &mut found));
    println!("{} decisions read and validated in {:.1?}", found.decided.len(), start.elapsed());
    found
}

fn note_decision(record: &RecordRef<'_>, schema: &Validator, found: &mut Found) {
    let value: Value = serde_json::from_slice(record.value.expect("a value")).expect("JSON");
    if let Err(error) = schema.validate(&value) {
        panic!("{error} at {}: {value}", error.instance_path());
    }
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let source = &value["source"];
    let offset = source["offset"].as_i64().expect("an offset");
    let partition = i32::try_from(source["partition"].as_i64().expect("a partition")).expect("small");
    let earlier = found.decided.insert((partition, offset), text(&value["policy"]));
    assert_eq!(earlier, None, "decided twice: {value}");
    assert!(found.ids.insert(text(&value["decision_id"])), "an id again: {value}");
    let order = found.order.entry(record.at.partition).or_default();
    let policy = text(&value["policy"]);
    if order.last() != Some(&policy) {
        order.push(policy);
    }
    let verdict = text(&value["verdict"]);
    *found.verdicts.entry(verdict.clone()).or_default() += 1;
    let id = text(&value["event_id"]);
    if id.starts_with("single-") {
        let quality = value["quality"].as_array().expect("a list");
        let warm = quality.iter().any(|quality| quality["code"] == "warming_up");
        found.single.insert(id, (verdict, warm));
    }
}

fn validator(subject: &str) -> Validator {
    let contract = Contract::ALL.into_iter().find(|contract| contract.subject == subject).expect("known");
    let schema = Value::from(contract.schema());
    jsonschema::draft202012::options().should_validate_formats(true).build(&schema).expect("a valid schema")
}

/// Each record ended in one outcome: decided, dead-lettered, or a duplicate.
fn check_decisions(sent: &Sent, found: &Found, metrics: &Metrics) {
    let outcome = |name: &str| metrics.value(&format!("weir_events_total{{outcome=\"{name}\"}}")) as u64;
    let outcomes = metrics.by("weir_events_total", "outcome");
    println!("outcomes {outcomes:?}, verdicts {:?}", found.verdicts);
    assert_eq!(outcome("decided"), sent.ordinary);
    assert_eq!(outcome("duplicate"), sent.twice);
    assert_eq!(outcome("dead_lettered"), sent.poison.len() as u64);
    assert_eq!(metrics.sum("weir_events_total", "outcome") as u64, sent.all(), "consumed = sum of outcomes");
    assert_eq!(found.decided.len() as u64, sent.ordinary);
    let decided_poison = sent.poison.keys().find(|place| found.decided.contains_key(place));
    assert_eq!(decided_poison, None, "poison is not decided");
    for (verdict, count) in &found.verdicts {
        let told = metrics.value(&format!("weir_decisions_total{{verdict=\"{verdict}\"}}"));
        assert_eq!(told as u64, *count, "{verdict}");
    }
    assert!(found.verdicts.get("reject").is_some_and(|count| *count > 0), "somebody presses again and again");
    let hits = metrics.value("weir_rule_hits_total{rule=\"repeat-target\",mode=\"live\"}");
    assert!(hits > 0.0, "the limit that refused is told");
    let decided = metrics.value("weir_event_to_decision_seconds_count") as u64;
    assert!(decided >= sent.ordinary, "{decided} delays of {} events", sent.ordinary);
}

fn check_dead_letters(reader: &Readback, sent: &Sent) {
    let schema = validator("dead-letter");
    let mut seen = HashSet::new();
    reader.read_all(Topic::DeadLetters, |record| {
        let headers: Vec<_> = record.headers.iter().collect();
        let (own, rest) = dead_letter::read(&headers).expect("our headers");
        let told = serde_json::to_value(&own).expect("JSON");
        assert!(schema.is_valid(&told), "{told}");
        let place = (own.partition.parse().expect("a number"), own.offset.parse().expect("a number"));
        let poison = sent.poison.get(&place).unwrap_or_else(|| panic!("nobody sent this: {told}"));
        assert_eq!(own.reason, poison.reason, "{}: {told}", poison.name);
        let digest = poison.value.as_ref().is_some_and(|value| value.len() > 999_500);
        assert_eq!(own.content == "digest", digest, "{}", poison.name);
        if !digest {
            assert_eq!(record.key, poison.key.as_deref(), "{}", poison.name);
            assert!(record.value == poison.value.as_deref(), "{}: not its bytes", poison.name);
            let readable = poison.headers.iter().filter(|(name, _)| std::str::from_utf8(name).is_ok());
            let wanted: Vec<_> = readable.map(|(name, value)| (name.as_slice(), value.as_deref())).collect();
            let kept: Vec<_> = rest.iter().map(|(name, value)| (name.as_bytes(), *value)).collect();
            assert_eq!(kept, wanted, "{}", poison.name);
        }
        assert!(seen.insert(place), "told twice: {told}");
    });
    assert_eq!(seen.len(), sent.poison.len());
    println!("{} kinds of poison, each a dead letter", seen.len());
}

/// By place of the event and by order of writing, a hash once left does not come back, and both judged many.
fn check_split(found: &Found, first: &str, second: &str, sent: &Sent) {
    let wanted = [first.to_owned(), second.to_owned()];
    for (partition, order) in &found.order {
        assert!(wanted.starts_with(order) || wanted[1..] == *order, "decisions/{partition}: {order:?}");
    }
    let mut newest = HashMap::new();
    for ((partition, offset), policy) in &found.decided {
        let earlier = newest.insert(*partition, policy);
        let back = earlier.is_some_and(|earlier| earlier == second && policy == first);
        assert!(!back, "{partition}/{offset}: the first policy after the second");
    }
    let count = |hash: &str| found.decided.values().filter(|policy| *policy == hash).count() as u64;
    let (before, after) = (count(first), count(second));
    println!("{before} decisions under {first:.12}, then {after} under {second:.12}");
    assert_eq!(before + after, sent.ordinary);
    assert!(before > EVENTS / 10 && after > EVENTS / 10, "in the middle of the stream");
}

fn check_policies(reader: &Readback, hashes: &[&String]) {
    let mut texts = BTreeMap::new();
    reader.read_all(Topic::Policies, |record| {
        let (hash, files) = weir::wire::policy::decode(record.value).expect("a policy");
        assert_eq!(record.key, Some(hash.as_bytes()));
        texts.insert(hash, files);
    });
    assert_eq!(texts.keys().collect::<BTreeSet<_>>(), hashes.iter().copied().collect());
    let limits = |hash: &String| {
        let (_, text) = texts[hash].iter().find(|(name, _)| name == "limits.yaml").expect("a file");
        text.clone()
    };
    assert_eq!(raised("limits.yaml", limits(hashes[0])), limits(hashes[1]));
}

/// What was committed is the end of each partition.
fn check_positions(weir: &mut Instance, reader: &Readback) {
    let ends: Vec<Option<i64>> = reader.ends(Topic::Interactions).into_iter().map(Some).collect();
    let kafka = weir.kafka.clone();
    weir.wait("committed to the ends", |_| reader.committed(&kafka, Topic::Interactions) == ends);
    weir.wait("without lag", |weir| {
        let lag = weir.metrics().by("weir_consumer_lag_records", "partition");
        lag.len() >= PARTITIONS as usize && lag.iter().all(|(_, records)| *records == 0.0)
    });
}

fn a_broken_policy_changes_nothing(weir: &mut Instance, holds: &str) {
    assert_eq!(weir.metrics().value("weir_policy_reload_success"), 1.0);
    weir.swap_policy("broken", broken);
    weir.wait("refused", |weir| weir.metrics().value("weir_policy_reload_success") == 0.0);
    let answer = weir.get("/readyz");
    let note = answer.json()["notes"][0].as_str().unwrap_or_default().to_owned();
    assert!(answer.status == 200 && note.contains("limits.yaml:"), "{answer:?}");
    assert_eq!(policy_of(&weir.metrics()), holds);
    assert!(weir.log().contains("the one before still holds"));

    weir.swap_policy("mended", raised);
    weir.wait("accepted", |weir| weir.metrics().value("weir_policy_reload_success") == 1.0);
    weir.wait("without notes", |weir| weir.get("/readyz").json()["notes"] == serde_json::json!([]));
    assert_eq!(policy_of(&weir.metrics()), holds);
}

/// One event alone: from handing it to the client to its decision in a consumer's hands.
fn single_events_are_decided_soon(weir: &Instance, reader: &Readback, brokers: &str) {
    let sender = Sender::new(brokers, weir.names.get(Topic::Interactions), 0);
    let decisions = reader.follow(Topic::Decisions, &reader.ends(Topic::Decisions));
    let before = weir.metrics();
    let mut took = Vec::new();
    for number in 0..100u64 {
        let (id, user) = (format!("single-{number}"), format!("lone{number}"));
        let start = Instant::now();
        sender.send((number % PARTITIONS) as i32, &user, &traffic::event_of(&id, &user));
        wait_for_decision(&decisions, &id);
        took.push(start.elapsed());
        // Events come at any point of the interval.
        thread::sleep(Duration::from_millis(number * 7 % 61));
    }
    took.sort();
    let after = weir.metrics();
    let told = |part| after.quantile("weir_event_to_decision_seconds", part, &before) * 1000.0;
    println!(
        "one event alone: p50 {:.1?}, p99 {:.1?} at a consumer; weir says p50 <= {:.0} ms, p99 <= {:.0} ms",
        took[50],
        took[98],
        told(0.5),
        told(0.99)
    );
    assert!(took[50] < Duration::from_secs(2), "{took:?}");
    let commits = commits(&after) - commits(&before);
    assert!((100.0..=105.0).contains(&commits), "{commits} transactions for 100 events, each by itself");
}

fn wait_for_decision(decisions: &weir::stream::Input, id: &str) {
    let deadline = Instant::now() + PATIENCE;
    let wanted = format!("\"event_id\":\"{id}\"");
    while Instant::now() < deadline {
        if let InputEvent::Records(records) = decisions.next(Duration::from_millis(500)) {
            let is_it = |record: RecordRef<'_>| {
                String::from_utf8_lossy(record.value.unwrap_or_default()).contains(&wanted)
            };
            if records.iter().any(is_it) {
                return;
            }
        }
    }
    panic!("no decision on {id}");
}

fn commits(metrics: &Metrics) -> f64 {
    metrics.value("weir_commits_total{result=\"committed\"}")
}

/// With nothing to do, no transaction and next to no CPU.
fn silence_costs_nothing(weir: &Instance) {
    let (before, start) = (weir.metrics(), Instant::now());
    thread::sleep(Duration::from_secs(4));
    let after = weir.metrics();
    let cpu = after.value("weir_process_cpu_seconds") - before.value("weir_process_cpu_seconds");
    let share = cpu / start.elapsed().as_secs_f64();
    println!("idle: {:.1} % of a core", share * 100.0);
    assert_eq!(commits(&before), commits(&after), "no transaction while nothing happens");
    assert!(share < IDLE_CPU, "{share}");
}

fn a_ban_outlives_a_restart(weir: &mut Instance, reader: &Readback, brokers: &str, before: &Found) {
    weir.command(&[
        "ban",
        "add",
        "user:villain",
        "--for",
        "1h",
        "--reason",
        "bought likes",
        "--actor",
        "ann",
    ]);
    let applied = "weir_events_total{outcome=\"command_applied\"}";
    weir.wait("banned", |weir| weir.metrics().value(applied) == 1.0);
    assert!(listed(weir).contains("user:villain"), "{}", listed(weir));
    let sender = Sender::new(brokers, weir.names.get(Topic::Interactions), 0);
    send_single(weir, &sender, "single-banned", "villain");

    let (status, took) = weir.terminate();
    println!("SIGTERM: {status}, {took:.2?}");
    assert!(status.success() && took < Duration::from_secs(10), "{status} {took:?}\n{}", weir.log_end());

    // While nobody is there: it is decided later, and nothing before it again.
    sender.send(1, "villain", &traffic::event_of("single-meanwhile", "villain"));
    sender.send(2, "bystander", &traffic::event_of("single-bystander", "bystander"));
    sender.finish();
    weir.start();
    println!("ready {:.2?} after a restart", weir.wait_until_ready());
    weir.wait("caught up", |weir| weir.metrics().sum("weir_events_total", "outcome") == 2.0);
    let subject = weir.get("/v1/subjects/user/villain").json();
    assert_eq!(subject["bans"][0]["reason"], "bought likes", "{subject}");
    assert_eq!(weir.metrics().value("weir_bans_active{kind=\"user\"}"), 1.0);
    assert!(listed(weir).contains("user:villain"), "{}", listed(weir));

    weir.command(&["ban", "lift", "user:villain", "--reason", "a mix-up", "--actor", "ann"]);
    weir.wait("lifted", |weir| weir.metrics().value(applied) == 1.0);
    assert!(!listed(weir).contains("user:villain"), "{}", listed(weir));
    send_single(weir, &sender, "single-freed", "villain");
    check_singles(&read_decisions(reader), before);
    let (status, took) = weir.terminate();
    assert!(status.success() && took < Duration::from_secs(10), "{status} {took:?}\n{}", weir.log_end());
}

fn send_single(weir: &mut Instance, sender: &Sender, id: &str, user: &str) {
    let consumed = weir.metrics().sum("weir_events_total", "outcome");
    sender.send(0, user, &traffic::event_of(id, user));
    sender.finish();
    weir.wait("decided", |weir| weir.metrics().sum("weir_events_total", "outcome") > consumed);
}

fn listed(weir: &Instance) -> String {
    String::from_utf8(weir.command(&["ban", "list"]).stdout).expect("text")
}

/// Reading everything again has checked that no event was decided twice.
fn check_singles(found: &Found, before: &Found) {
    let single = |id: &str| found.single.get(id).cloned().unwrap_or_else(|| panic!("{id}: no decision"));
    let blocked = ["single-banned", "single-meanwhile"].map(|id| single(id).0);
    assert_eq!(blocked, ["block", "block"]);
    assert_ne!(single("single-freed").0, "block");
    assert!(
        single("single-bystander").1,
        "nobody has watched for the longest window yet, and decisions say so"
    );
    assert_eq!(found.decided.len(), before.decided.len() + 100 + 4);
}

#[test]
fn a_broker_that_is_not_there_ends_the_start_with_words() {
    let nowhere = instance::free_address().to_string();
    let mut weir = Instance::new(&nowhere, "none.");
    weir.start();
    let (status, took) = weir.wait_for_end();
    println!("no broker: {status} after {took:.1?}");
    assert_eq!(status.code(), Some(69), "{}", weir.log_end());
    assert!(weir.log().contains(&format!("no answer from Kafka at {nowhere}")), "{}", weir.log_end());
    assert!(took < Duration::from_secs(45), "{took:?}");
}

#[test]
fn topics_that_are_missing_end_the_start_with_words() {
    let mut weir = Instance::new(broker::shared(), &broker::unique("absent"));
    weir.start();
    let (status, _) = weir.wait_for_end();
    assert_eq!(status.code(), Some(1), "{}", weir.log_end());
    let log = weir.log();
    assert!(log.contains("risk.journal.v1: topic should be there, is missing"), "{log}");
    assert!(log.contains("weir topics create"), "{log}");
}

/// A backlog of ten minutes, one partition of which comes slower than the others. How far leaders run ahead is bounded
/// by the span and by what was fetched before they were paused, which is much of so small a backlog.
#[test]
fn in_catch_up_leaders_are_paused_and_all_come_to_their_ends() {
    const EACH: i64 = 10_000;
    const LONG: i64 = 600_000;
    let brokers = broker::shared();
    let mut weir = Instance::new(brokers, &broker::unique("catchup"));
    weir.command(&["topics", "create"]);
    alter_topic(&weir, Topic::Interactions, "message.timestamp.type", "CreateTime");
    let sender = Sender::new(brokers, weir.names.get(Topic::Interactions), 5);
    let begin = i64::try_from(traffic::now_ms()).expect("a time") - LONG - 60_000;
    for number in 0..EACH {
        for partition in 0..PARTITIONS as i32 {
            let at = begin + number * LONG / EACH;
            let (id, user) = (format!("{partition}-{number}"), format!("u{partition}-{}", number % 100));
            // Larger records take longer to come: without anybody waiting, this partition would be far behind.
            let agent = "x".repeat(if partition == 0 { 2_000 } else { 20 });
            let event = traffic::event_at(&id, &user, at)
                .replace("t7\",", &format!("t7\",\"user_agent\":\"{agent}\","));
            sender.send_at(partition, &user, &event, at);
        }
    }
    sender.finish();
    let start = Instant::now();
    weir.start_with(&[("RUST_LOG", "info,weir::pipeline=debug")]);
    let total = EACH as f64 * PARTITIONS as f64;
    weir.wait("ready", |weir| weir.log().contains("scoring"));
    weir.wait("all decided", |weir| weir.metrics().value("weir_events_total{outcome=\"decided\"}") == total);
    let log = weir.log();
    let count = |word: &str| log.lines().filter(|line| line.contains(word)).count();
    let (paused, resumed) = (count("paused: ahead"), count("resumed"));
    let worst = largest_step_back(&Readback::new(&weir.kafka, &weir.names));
    println!(
        "{total} old events in {:.1?}, start included: paused {paused} times, resumed {resumed} times; at most {worst} \
         ms behind what an earlier batch had",
        start.elapsed()
    );
    assert!(paused > 0 && resumed > 0, "leaders were paused, and all came to their ends");
    let (status, _) = weir.terminate();
    assert!(status.success(), "{status}");
}

/// How far, in ms of append time, an event was behind one of an earlier batch, at most. Batches are told apart by the
/// time at which they were decided.
fn largest_step_back(reader: &Readback) -> i64 {
    let mut batches = BTreeMap::<i64, (i64, i64)>::new();
    reader.read_all(Topic::Decisions, |record| {
        let value: Value = serde_json::from_slice(record.value.expect("a value")).expect("JSON");
        let time = |name: &str| value[name].as_i64().expect("a time");
        let (decided, append) = (time("decided_at"), time("append_time"));
        let (first, last) = batches.entry(decided).or_insert((append, append));
        (*first, *last) = ((*first).min(append), (*last).max(append));
    });
    let mut newest = i64::MIN;
    let mut worst = 0;
    for (first, last) in batches.into_values() {
        worst = worst.max(newest.saturating_sub(first));
        newest = newest.max(last);
    }
    worst
}

fn alter_topic(weir: &Instance, topic: Topic, setting: &str, value: &str) {
    let admin: AdminClient<DefaultClientContext> = rdkafka::ClientConfig::new()
        .set("bootstrap.servers", &weir.kafka.brokers)
        .create()
        .expect("an admin client");
    let change = AlterConfig::new(ResourceSpecifier::Topic(weir.names.get(topic))).set(setting, value);
    let options = AdminOptions::new().request_timeout(Some(PATIENCE));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let results = runtime.block_on(admin.alter_configs([&change], &options)).expect("an answer");
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

/// A broker that goes away is told and waited for; with it back, the work goes on. An end without a broker is an end.
#[test]
fn an_outage_is_waited_out() {
    let mut broker = broker::Broker::start(&[]);
    let mut weir = Instance::new(broker.bootstrap(), "");
    weir.command(&["topics", "create"]);
    weir.start();
    weir.wait_until_ready();
    let topic = weir.names.get(Topic::Interactions).to_owned();
    send_single(&mut weir, &Sender::new(broker.bootstrap(), &topic, 0), "single-before", "u");

    broker.kill();
    let start = Instant::now();
    weir.wait("told that the broker is gone", |weir| {
        let answer = weir.get("/readyz");
        answer.status == 503 && answer.body.contains("no answer from Kafka")
    });
    println!("an outage is told after {:.1?}: {}", start.elapsed(), weir.get("/readyz").json()["missing"]);
    assert_eq!(weir.get("/healthz").status, 200, "a restart of this process would not help");
    broker.launch();
    println!("ready again {:.1?} after the broker", weir.wait_until_ready());
    send_single(&mut weir, &Sender::new(broker.bootstrap(), &topic, 0), "single-after", "u");

    broker.kill();
    let (status, took) = weir.terminate();
    println!("SIGTERM without a broker: {status}, {took:.1?}");
    assert!(status.success() && took < Duration::from_secs(15), "{status} {took:?}\n{}", weir.log_end());
}
