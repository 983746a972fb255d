//! `weir backtest --from TOPIC` beside a live run on a real Apache Kafka: in the order of the journal every decision comes
//! out the same to the last byte; merged by time it says how many do not; nothing is committed. A range begins from a
//! checkpoint before it as if all before had been read.
#![allow(clippy::print_stdout, reason = "measured figures")]

#[path = "support/broker.rs"]
mod broker;
#[path = "support/instance.rs"]
mod instance;
#[path = "support/readback.rs"]
mod readback;
mod support;
#[path = "support/traffic.rs"]
mod traffic;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use instance::Instance;
use readback::Readback;
use serde_json::Value;
use traffic::Sender;
use weir::stream::{Lookup, Topic};

const EVENTS: u64 = 30_000;
const PARTITIONS: u64 = 6;

#[test]
fn a_live_run_is_decided_again_to_the_last_byte() {
    let brokers = broker::shared();
    let mut weir = Instance::new(brokers, &broker::unique("backtest"));
    weir.command(&["topics", "create"]);
    weir.start();
    weir.wait_until_ready();
    let sent = live(&mut weir, brokers);
    let (status, _) = weir.terminate();
    assert!(status.success(), "{status}");
    let topic = weir.names.get(Topic::Interactions).to_owned();
    let before = committed(&weir);

    // Before the first record the journal begins a line of state: the whole of it is there.
    let followed = backtest(&weir, &["--from", &topic, "--follow-journal"]);
    assert_eq!((number(&followed, "read"), number(&followed, "inside")), (sent.all, sent.events));
    let told = fact(&followed, "live decisions");
    println!("order of the journal: {told}");
    assert_eq!(told, all_the_same(sent.decided));
    assert!(fact(&followed, "order").contains("journal") && followed["facts"].get("to be known").is_none());

    let merged = backtest(&weir, &["--from", &topic]);
    assert_eq!((number(&merged, "read"), number(&merged, "inside")), (sent.all, sent.events));
    let told = fact(&merged, "live decisions");
    println!("merged by time: {told}");
    assert!(told.starts_with(&format!("{} compared", sent.decided)) && told.contains(" %)"), "{told}");
    assert!(fact(&merged, "order").contains("merged by effective time"));

    // A part by time: what lies before warms up and is not counted.
    let middle = format!("{topic}@{}..", time(sent.middle));
    let part = backtest(&weir, &["--from", &middle]);
    let (inside, warm) = (number(&part, "inside"), number(&part, "warm_up"));
    assert!(inside > 0 && warm > 0 && inside + warm == sent.events, "{inside} and {warm} of {}", sent.events);

    sampled(&weir, &topic, &merged);
    explained_and_suggested(&weir, &topic);
    assert_eq!(committed(&weir), before, "nothing was committed");
}

/// A sample of everybody is the whole; a part of them is that part, with what shares something with it.
fn sampled(weir: &Instance, topic: &str, merged: &Value) {
    let whole = backtest(weir, &["--from", topic, "--sample", "100%"]);
    assert_eq!((&whole["policies"], &whole["records"]), (&merged["policies"], &merged["records"]));
    let part = backtest(weir, &["--from", topic, "--sample", "20%"]);
    let [all, inside, neighbours, strangers] =
        ["read", "inside", "neighbours", "strangers"].map(|name| number(&part, name));
    println!("a sample of 20%: {inside} of {all} count, {neighbours} beside them, {strangers} passed over");
    let share = inside as f64 / number(merged, "inside") as f64;
    assert!((0.15..0.25).contains(&share) && neighbours > 0 && fact(&part, "sample") == "20 % of the actors");
    assert_eq!(inside + neighbours + strangers, number(merged, "inside"));
    let (code, words) = refused(weir, &["--from", topic, "--sample", "20%", "--follow-journal"]);
    assert!(code == Some(2) && words.contains("cannot be used with"), "{words}");
}

/// One decision taken apart, and thresholds from what is usual, out of the same topic.
fn explained_and_suggested(weir: &Instance, topic: &str) {
    let number = EVENTS - 7;
    let id = format!("e{number}");
    let explained = weir.command(&[
        "explain",
        "--policy",
        "policy",
        "--from",
        topic,
        "--event-id",
        &id,
        "--format",
        "json",
    ]);
    let explained: Value = serde_json::from_slice(&explained.stdout).expect("JSON");
    let (event, user) = (&explained["event"], format!("u{}", traffic::user(number)));
    assert_eq!((&event["id"], &event["user"]), (&Value::from(&*id), &Value::from(user)), "{explained:#}");
    let at = place_of(weir, &id);
    assert_eq!(event["at"], format!("{topic}/{at}"), "{explained:#}");
    let points =
        explained["arithmetic"].as_array().expect("points").iter().filter_map(|row| row["points"].as_i64());
    assert_eq!(Some(points.sum::<i64>()), explained["score"].as_i64(), "{explained:#}");

    let suggested = weir.command(&["suggest", "--policy", "policy", "--from", topic, "--format", "json"]);
    let suggested: Value = serde_json::from_slice(&suggested.stdout).expect("JSON");
    let rows = suggested["signals"].as_array().expect("signals");
    let row =
        rows.iter().find(|row| row["signal"] == "user_action_10m").expect("a count of what everybody does");
    let written = (0..EVENTS).filter(|number| traffic::is_written(*number)).count();
    assert_eq!(row["events"].as_u64(), Some(written as u64), "{row:#}");
}

/// Partition and offset of an event.
fn place_of(weir: &Instance, id: &str) -> String {
    let (mut found, wanted) = (None, format!("\"{id}\""));
    let reader = Readback::new(&weir.kafka, &weir.names);
    reader.read_all(Topic::Interactions, |record| {
        if record.value.is_some_and(|value| String::from_utf8_lossy(value).contains(&wanted)) {
            found = Some(format!("{}@{}", record.at.partition, record.at.offset));
        }
    });
    found.expect("it was sent")
}

/// A backtest ends where the log ended when it was asked for, however much comes meanwhile.
#[test]
fn a_topic_that_is_being_written_is_read_to_the_end_it_had() {
    let brokers = broker::shared();
    let weir = Instance::new(brokers, &broker::unique("written"));
    weir.command(&["topics", "create"]);
    let topic = weir.names.get(Topic::Interactions).to_owned();
    let sender = Sender::new(brokers, &topic, 0);
    let some = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            sender.send((number % PARTITIONS) as i32, "k", &traffic::event_of(&format!("e{number}"), "u"));
        }
        sender.finish();
    };
    let (before, is_over) = (3_000, AtomicBool::new(false));
    some(0..before);
    let (output, sent) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut sent = before;
            while !is_over.load(Ordering::Acquire) {
                some(sent..sent + 10);
                sent += 10;
            }
            sent
        });
        let output = weir.attempt(&["backtest", "--policy", "policy", "--print", "json", "--from", &topic]);
        is_over.store(true, Ordering::Release);
        (output, writer.join().expect("it wrote"))
    });
    assert!(output.status.success(), "{output:?}");
    let read = number(&serde_json::from_slice(&output.stdout).expect("JSON"), "read");
    println!("{before} before it began, {read} read, {sent} when it had ended");
    assert!(before <= read && read < sent, "{before} <= {read} < {sent}");
}

#[test]
fn what_is_no_topic_of_interactions_is_told() {
    let brokers = broker::shared();
    let weir = Instance::new(brokers, &broker::unique("nothing"));
    let (code, words) = refused(&weir, &["--from", "somewhere"]);
    assert!(code == Some(2) && words.contains("see topic_prefix in the configuration"), "{words}");
    let missing = weir.names.get(Topic::Interactions).to_owned();
    let (code, words) = refused(&weir, &["--from", &missing]);
    assert!(code != Some(0) && words.contains("does not exist"), "{code:?} {words}");
}

#[test]
fn a_range_begins_from_a_checkpoint_before_it() {
    let brokers = broker::shared();
    let mut weir = Instance::new(brokers, &broker::unique("from-checkpoint"));
    weir.command(&["topics", "create"]);
    let (before_cut, between, inside) = (12_000, 3_000, 6_000);
    weir.start_with(&[("WEIR_STATE_CHECKPOINT_INTERVAL", "1s")]);
    weir.wait_until_ready();
    send(&mut weir, brokers, 0..before_cut);
    weir.command(&["ban", "add", "user:u30", "--reason", "a test"]);
    let written = weir.log().matches("checkpoint generation=").count();
    weir.wait("a checkpoint", |weir| weir.log().matches("checkpoint generation=").count() > written + 1);
    assert!(weir.terminate().0.success());
    copy(&weir.path("state"), &weir.path("kept"));

    weir.start();
    weir.wait_until_ready();
    its_checkpoints_are_asked_for(&weir);
    send(&mut weir, brokers, before_cut..before_cut + between);
    let since = i64::try_from(traffic::now_ms()).expect("a time");
    send(&mut weir, brokers, before_cut + between..before_cut + between + inside);
    assert!(weir.terminate().0.success());
    let topic = weir.names.get(Topic::Interactions).to_owned();
    let range = format!("{topic}@{}..", time(since));

    for order in [&["--follow-journal"][..], &[]] {
        let whole = backtest(&weir, &[&["--from", &range], order].concat());
        let begun = backtest(&weir, &[&["--from", &range, "--checkpoints", "kept"], order].concat());
        assert_eq!(number(&whole, "warm_up"), before_cut + between);
        assert_eq!((number(&begun, "warm_up"), number(&begun, "inside")), (between, inside), "{begun:#}");
        println!("{order:?} from the checkpoint: {}", fact(&begun, "live decisions"));
        assert!(begun["began"]["checkpoint"]["generation"].is_u64(), "{:#}", begun["began"]);
        assert_eq!(begun["began"]["began_empty"], Value::Array(Vec::new()));
        match order {
            [] => assert_eq!(begun["policies"][0]["verdicts"], whole["policies"][0]["verdicts"]),
            _ => {
                assert_eq!(begun["policies"], whole["policies"]);
                assert_eq!(fact(&begun, "live decisions"), all_the_same(between + inside));
            }
        }
    }
    passed_over(&weir, &range, &topic);
}

/// A running process is found by its folder: it knows that the journal holds what it went on from, and hands it over.
fn its_checkpoints_are_asked_for(weir: &Instance) {
    let said = |words: &[&str]| {
        let output = weir.command(words);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (out.into_owned(), err.into_owned())
    };
    let (listed, err) = said(&["checkpoint", "list"]);
    assert!(err.contains("is in use by process") && err.ends_with(", which answers\n"), "{err}");
    assert!(listed.lines().nth(1).is_some_and(|newest| newest.ends_with("  yes")), "{listed}");
    let (verified, _) = said(&["checkpoint", "verify"]);
    assert!(verified.lines().all(|line| line.contains(" is sound: ")), "{verified}");
    said(&["checkpoint", "export", "--output", "live.ckp"]);
    let (taken, _) = said(&["checkpoint", "import", "live.ckp", "--state-dir", "elsewhere"]);
    assert!(taken.starts_with("live.ckp is now checkpoint 1 "), "{taken}");
}

/// What the checkpoint does not count begins empty; one that does not fit is passed over, and nothing else changes.
fn passed_over(weir: &Instance, range: &str, topic: &str) {
    copy(&weir.path("first"), &weir.path("then"));
    let fresh = "version: 1\nlimits:\n  - { id: brand-new, key: [user], window: 1h, max: 5000, verdict: demote, code: NEW, \
                 text: t, source: s, owner: o }\n";
    fs::write(weir.path("then/fresh.yaml"), fresh).expect("writable");
    let words =
        ["backtest", "--policy", "then", "--against", "policy", "--from", range, "--checkpoints", "kept"];
    let output = weir.command(&[&words[..], &["--print", "json"]].concat());
    let then: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let empty = serde_json::json!([{ "policy": "then", "counters": ["brand-new"] }]);
    assert_eq!(then["began"]["began_empty"], empty);
    // What both count goes on alike: the limit that is new refuses nothing.
    assert_eq!(then["policies"][0]["verdicts"], then["policies"][1]["verdicts"]);
    let text = weir.command(&[&words[..], &["--report", "r.html", "--markdown", "r.md"]].concat());
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    for told in [text, read(&weir.path("r.html")), read(&weir.path("r.md"))] {
        assert!(told.contains("began from") && told.contains("began empty in then"), "{told}");
    }

    let early = format!("{topic}@2020-01-01T00:00:00Z..");
    let earlier = backtest(weir, &["--from", &early, "--checkpoints", "kept"]);
    assert!(why(&earlier).contains("and the range begins at"), "{:#}", earlier["began"]);
    let (code, words) = refused(weir, &["--from", topic, "--checkpoints", "kept"]);
    assert!(code == Some(2) && words.contains("--checkpoints begins a range"), "{words}");

    let config = read(&weir.path("weir.toml")).replace("1000KB", "999KB");
    fs::write(weir.path("weir.toml"), config).expect("writable");
    let other = backtest(weir, &["--from", range, "--checkpoints", "kept"]);
    assert!(why(&other).contains("another seed or other record limits"), "{:#}", other["began"]);
    let plain = backtest(weir, &["--from", range]);
    assert_eq!((&other["policies"], &other["records"]), (&plain["policies"], &plain["records"]));
}

fn why(findings: &Value) -> &str {
    let began = &findings["began"];
    assert!(began["checkpoint"].is_null(), "{began:#}");
    began["passed_over"][0]["why"].as_str().unwrap_or_else(|| panic!("no reason in {began:#}"))
}

/// Events of users who each stay in a partition; returns when all are decided.
fn send(weir: &mut Instance, brokers: &str, numbers: std::ops::Range<u64>) {
    let sender = Sender::new(brokers, weir.names.get(Topic::Interactions), 5);
    let (mut text, count) = (String::new(), (numbers.end - numbers.start) as f64);
    let before = consumed(weir);
    for number in numbers {
        traffic::event(number, &mut text);
        let user = traffic::user(number);
        sender.send((user % PARTITIONS) as i32, &format!("u{user}"), &text);
    }
    sender.finish();
    weir.wait("all consumed", |weir| consumed(weir) >= before + count);
}

fn all_the_same(count: u64) -> String {
    format!(
        "{count} compared with the candidate's: {count} the same to the last byte, 0 with the same verdict, 0 with another \
         one (0.000 %)"
    )
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("writable");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).expect("writable");
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("readable")
}

/// What was sent.
struct Sent {
    /// Records, and those of them that are events.
    all: u64,
    events: u64,
    /// Events that are decided.
    decided: u64,
    /// A moment in the middle, milliseconds since 1970.
    middle: i64,
}

/// Events over all partitions with poison and repeats among them, a ban and its lift; returns when all is decided.
fn live(weir: &mut Instance, brokers: &str) -> Sent {
    let sender = Sender::new(brokers, weir.names.get(Topic::Interactions), 5);
    let (mut text, mut sent) = (String::new(), Sent { all: 0, events: 0, decided: 0, middle: 0 });
    for number in 0..EVENTS {
        traffic::event(number, &mut text);
        let (partition, key) = ((number % PARTITIONS) as i32, format!("u{}", traffic::user(number)));
        sender.send(partition, &key, &text);
        (sent.all, sent.events, sent.decided) = (sent.all + 1, sent.events + 1, sent.decided + 1);
        if traffic::comes_twice(number) {
            sender.send(partition, &key, &text);
            (sent.all, sent.events) = (sent.all + 1, sent.events + 1);
        }
        if number % 5_000 == 0 {
            sender.send(partition, "k", "{no event");
            sent.all += 1;
        }
        if number == EVENTS / 3 {
            weir.command(&["ban", "add", "user:u30", "--reason", "a test"]);
        }
        if number == EVENTS / 2 {
            sender.finish();
            let under_way = sent.all as f64;
            weir.wait("half of it", |weir| consumed(weir) >= under_way);
            sent.middle = i64::try_from(traffic::now_ms()).expect("a time");
            weir.command(&["ban", "lift", "user:u30", "--reason", "a test"]);
        }
    }
    sender.finish();
    let (all, commands) = (sent.all as f64, 2.0);
    weir.wait("all consumed", |weir| consumed(weir) >= all + commands);
    sent
}

fn consumed(weir: &Instance) -> f64 {
    weir.metrics().sum("weir_events_total", "outcome")
}

fn backtest(weir: &Instance, words: &[&str]) -> Value {
    let all = [&["backtest", "--policy", "policy", "--print", "json"], words].concat();
    let output = weir.command(&all);
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn refused(weir: &Instance, words: &[&str]) -> (Option<i32>, String) {
    let output = weir.attempt(&[&["backtest", "--policy", "policy"], words].concat());
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn fact<'f>(findings: &'f Value, name: &str) -> &'f str {
    findings["facts"][name].as_str().unwrap_or_else(|| panic!("no {name} in {findings:#}"))
}

fn number(findings: &Value, name: &str) -> u64 {
    findings["records"][name].as_u64().unwrap_or_else(|| panic!("no {name} in {findings:#}"))
}

fn time(millis: i64) -> String {
    jiff::Timestamp::from_millisecond(millis).expect("a time").to_string()
}

/// What the group of the live run committed.
fn committed(weir: &Instance) -> Vec<Option<i64>> {
    let lookup = Lookup::open(&weir.kafka, &weir.names).expect("a client");
    lookup.committed(Topic::Interactions, PARTITIONS as i32, instance::PATIENCE).expect("an answer")
}
