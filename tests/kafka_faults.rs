//! What can be wrong with Kafka when weir starts, and what is said of it: in words, and without a loss that is not told.
#![allow(clippy::disallowed_methods, reason = "a child process is awaited by the clock")]

#[path = "support/broker.rs"]
mod broker;
#[path = "support/instance.rs"]
mod instance;
#[path = "support/readback.rs"]
mod readback;
mod support;
#[path = "support/traffic.rs"]
mod traffic;

use std::future::Future;

use instance::{Instance, PATIENCE};
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use rdkafka::{Offset, TopicPartitionList};
use readback::Readback;
use traffic::{Sender, event_of};
use weir::stream::Topic;
use weir::wire::journal;

/// An instance that has decided a few hundred events and has ended.
fn used(prefix: &str) -> Instance {
    let mut weir = Instance::new(broker::shared(), &broker::unique(prefix));
    weir.command(&["topics", "create"]);
    weir.start();
    weir.wait_until_ready();
    send(&weir, 300);
    let ends: Vec<Option<i64>> = reader(&weir).ends(Topic::Interactions).into_iter().map(Some).collect();
    weir.wait("all decided", |weir| reader(weir).committed(&weir.kafka, Topic::Interactions) == ends);
    let (status, _) = weir.terminate();
    assert!(status.success(), "{}", weir.log_end());
    weir
}

fn send(weir: &Instance, events: u64) {
    let sender = Sender::new(&weir.kafka.brokers, weir.names.get(Topic::Interactions), 0);
    for number in 0..events {
        sender.send((number % 6) as i32, "k", &event_of(&format!("e{number}"), "u"));
    }
    sender.finish();
}

fn reader(weir: &Instance) -> Readback {
    Readback::new(&weir.kafka, &weir.names)
}

fn administer<T, F: Future<Output = T>>(
    weir: &Instance,
    ask: impl FnOnce(AdminClient<DefaultClientContext>) -> F,
) -> T {
    let admin = rdkafka::ClientConfig::new().set("bootstrap.servers", &weir.kafka.brokers).create();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(ask(admin.expect("an admin client")))
}

fn options() -> AdminOptions {
    AdminOptions::new().operation_timeout(Some(PATIENCE)).request_timeout(Some(PATIENCE))
}

/// It ends by itself, and its log says this.
fn ends_with(weir: &mut Instance, words: &[&str]) {
    weir.start();
    let (status, _) = weir.wait_for_end();
    assert!(!status.success(), "{}", weir.log_end());
    let log = weir.log();
    assert!(words.iter().all(|words| log.contains(words)), "{words:?} in\n{}", weir.log_end());
}

#[test]
fn records_that_expired_before_they_were_read_end_it_with_their_number() {
    let mut weir = used("expired");
    send(&weir, 600);
    let topic = weir.names.get(Topic::Interactions).to_owned();
    administer(&weir, |admin| async move {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(&topic, 2, Offset::Offset(120)).expect("an offset");
        let done = admin.delete_records(&list, &options()).await.expect("an answer");
        assert!(done.elements().iter().all(|element| element.error().is_ok()), "{done:?}");
    });
    let place = format!(
        "offset 50 of {}/2 is not in the log, which holds 120 to 150",
        weir.names.get(Topic::Interactions)
    );
    ends_with(&mut weir, &[&place, "70 offsets that nobody decided are lost", "--accept-lost-inputs"]);

    // Told to, it goes over them, and says so; all that is held is decided.
    weir.start_as(&["run", "--accept-lost-inputs"], &[]);
    weir.wait_until_ready();
    let ends: Vec<Option<i64>> = reader(&weir).ends(Topic::Interactions).into_iter().map(Some).collect();
    weir.wait("all decided", |weir| reader(weir).committed(&weir.kafka, Topic::Interactions) == ends);
    assert_eq!(weir.metrics().sum("weir_lost_inputs_total", "topic") as u64, 70);
    let log = weir.log();
    assert!(log.contains("inputs are lost, and it was asked to go on without them"), "{log}");
    assert!(weir.terminate().0.success(), "{}", weir.log_end());
    let (mut lost, mut decisions) = (Vec::new(), 0);
    reader(&weir).read_all(Topic::Journal, |record| {
        let record = journal::decode(record.value).expect("a record of the journal");
        if record.kind == journal::JournalKind::Lost {
            lost.extend(record.ranges.into_iter().map(|range| (range.partition, range.from, range.to)));
        }
    });
    reader(&weir).read_all(Topic::Decisions, |_| decisions += 1);
    assert_eq!((lost, decisions), (vec![(2, 50, 120)], 300 + 600 - 70));
    let verified = weir.attempt(&["verify"]);
    assert!(verified.status.success(), "{verified:?}");
}

/// State that has to begin anew does not end it, and neither does a topic that was made anew where that is accepted.
#[test]
fn an_input_that_was_made_anew_is_begun_anew_where_that_is_accepted() {
    let mut weir = used("accepted");
    let topic = weir.names.get(Topic::Interactions).to_owned();
    administer(&weir, |admin| async move {
        let done = admin.delete_topics(&[&topic], &options()).await.expect("an answer");
        assert!(done.iter().all(Result::is_ok), "{done:?}");
    });
    weir.command(&["topics", "create"]);
    send(&weir, 60);
    weir.start_as(&["run", "--accept-lost-inputs"], &[]);
    weir.wait_until_ready();
    let ends = vec![Some(10); 6];
    weir.wait("all decided", |weir| reader(weir).committed(&weir.kafka, Topic::Interactions) == ends);
    assert!(weir.log().contains("the topic was made anew, or is another one"), "{}", weir.log());
    assert!(weir.terminate().0.success(), "{}", weir.log_end());
}

/// Most of what comes cannot be decided: each has its dead letter, what is good among it is decided, and it is told.
#[test]
fn a_stream_of_poison_raises_an_alarm_until_it_is_over() {
    let mut weir = used("poison");
    weir.start();
    weir.wait_until_ready();
    let alarm =
        |weir: &Instance| {
            let told = weir.get("/readyz").json();
            told["notes"].as_array().expect("notes").iter().any(|note| {
                note.as_str().expect("a text").contains("could not be decided and are dead letters")
            })
        };
    assert!(!alarm(&weir));
    let sender = Sender::new(&weir.kafka.brokers, weir.names.get(Topic::Interactions), 0);
    (0..600).for_each(|number| sender.send(number % 6, "k", "{"));
    sender.finish();
    weir.wait("an alarm", alarm);
    assert_eq!(weir.metrics().value("weir_poisoned_input") as u64, 1);
    assert_eq!(weir.get("/readyz").status, 200, "an alarm does not hinder");
    let mut sent = 0;
    weir.wait("the end of the alarm", |weir| {
        let numbers = sent..sent + 300;
        numbers.for_each(|number| {
            sender.send(number % 6, "k", &event_of(&format!("good-{number}"), "u"));
        });
        sender.finish();
        sent += 300;
        !alarm(weir)
    });
    assert_eq!(weir.metrics().value("weir_poisoned_input") as u64, 0);
    let mut letters = 0;
    reader(&weir).read_all(Topic::DeadLetters, |_| letters += 1);
    assert_eq!(letters, 600);
    assert!(weir.terminate().0.success(), "{}", weir.log_end());
}

#[test]
fn an_input_that_was_made_anew_ends_it_with_words() {
    let mut weir = used("anew");
    let topic = weir.names.get(Topic::Interactions).to_owned();
    administer(&weir, |admin| async move {
        let done = admin.delete_topics(&[&topic], &options()).await.expect("an answer");
        assert!(done.iter().all(Result::is_ok), "{done:?}");
    });
    weir.command(&["topics", "create"]);
    let place = format!("of {}/", weir.names.get(Topic::Interactions));
    ends_with(&mut weir, &[&place, "is not in the log, which holds 0 to 0"]);
}

/// The journal is what counts: whoever sets the group's offsets back brings no event a second decision.
#[test]
fn offsets_that_were_set_back_are_not_gone_back_to() {
    let mut weir = used("back");
    let mut offsets = TopicPartitionList::new();
    for partition in 0..6 {
        let topic = weir.names.get(Topic::Interactions);
        offsets.add_partition_offset(topic, partition, Offset::Offset(0)).expect("an offset");
    }
    let mut client = rdkafka::ClientConfig::new();
    client.set("bootstrap.servers", &weir.kafka.brokers).set("group.id", &weir.kafka.group);
    let client: BaseConsumer = client.create().expect("a client");
    client.commit(&offsets, CommitMode::Sync).expect("nobody is in the group");
    weir.start();
    weir.wait_until_ready();
    let sender = Sender::new(&weir.kafka.brokers, weir.names.get(Topic::Interactions), 0);
    (0..6).for_each(|partition| sender.send(partition, "k", &event_of(&format!("new-{partition}"), "u")));
    sender.finish();
    let ends: Vec<Option<i64>> = reader(&weir).ends(Topic::Interactions).into_iter().map(Some).collect();
    weir.wait("all decided", |weir| reader(weir).committed(&weir.kafka, Topic::Interactions) == ends);
    let mut decisions = 0;
    reader(&weir).read_all(Topic::Decisions, |_| decisions += 1);
    assert_eq!(decisions, 306);
    assert!(weir.terminate().0.success(), "{}", weir.log_end());
}

/// A producer with transactions of its own leaves markers in the log, and records that were never written: what counts is
/// where the log ends, not which offsets were seen.
#[test]
fn an_input_written_in_transactions_is_read_to_its_end_without_what_was_aborted() {
    let mut weir = used("gaps");
    weir.start();
    weir.wait_until_ready();
    let topic = weir.names.get(Topic::Interactions).to_owned();
    let mut client = rdkafka::ClientConfig::new();
    client.set("bootstrap.servers", &weir.kafka.brokers).set("transactional.id", format!("{topic}-writer"));
    let producer: BaseProducer = client.create().expect("a producer");
    producer.init_transactions(PATIENCE).expect("an answer");
    // The last thing in each partition is the marker of an abort.
    for (round, is_kept) in [true, false, true, false].into_iter().enumerate() {
        producer.begin_transaction().expect("none is open");
        for number in 0..60 {
            let event = event_of(&format!("{}-{round}-{number}", if is_kept { "kept" } else { "gone" }), "u");
            let record = BaseRecord::to(&topic).partition(number % 6).key("k").payload(&event);
            producer.send(record).map_err(|(error, _)| error).expect("room in the queue");
        }
        producer.flush(PATIENCE).expect("all are written");
        let end = if is_kept {
            producer.commit_transaction(PATIENCE)
        } else {
            producer.abort_transaction(PATIENCE)
        };
        end.expect("an answer");
    }
    let outcomes = |weir: &Instance| weir.metrics().sum("weir_events_total", "outcome") as u64;
    weir.wait("all decided", |weir| outcomes(weir) >= 120);
    weir.wait("without lag", |weir| {
        let lag = weir.metrics().by("weir_consumer_lag_records", "partition");
        lag.len() >= 6 && lag.iter().all(|(_, records)| *records == 0.0)
    });
    assert!(weir.terminate().0.success(), "{}", weir.log_end());
    assert_eq!(gone_and_all(&weir), (0, 300 + 120));

    // Begun again, nothing is read twice and nothing is missing behind the markers.
    weir.start();
    weir.wait_until_ready();
    send(&weir, 6);
    weir.wait("all decided", |weir| outcomes(weir) >= 6);
    assert!(weir.terminate().0.success(), "{}", weir.log_end());
    assert_eq!(gone_and_all(&weir), (0, 300 + 120 + 6));
    let verified = weir.attempt(&["verify"]);
    assert!(verified.status.success(), "{verified:?}");
    let read = weir.command(&["backtest", "--policy", "policy", "--from", &topic, "--print", "json"]);
    let read: serde_json::Value = serde_json::from_slice(&read.stdout).expect("JSON");
    assert_eq!(read["records"]["read"], 300 + 120 + 6, "{:#}", read["records"]);
}

/// Decisions of events that were never written, and decisions.
fn gone_and_all(weir: &Instance) -> (usize, usize) {
    let (mut gone, mut all) = (0, 0);
    reader(weir).read_all(Topic::Decisions, |record| {
        let text = String::from_utf8_lossy(record.value.expect("a value")).into_owned();
        all += 1;
        gone += usize::from(text.contains("\"event_id\":\"gone-"));
    });
    (gone, all)
}

/// A record that cannot be decided waits, and all behind it, until its dead letter can be written.
#[test]
fn without_the_topic_of_dead_letters_nothing_is_skipped() {
    let mut weir = used("dead");
    weir.start();
    weir.wait_until_ready();
    let topic = weir.names.get(Topic::DeadLetters).to_owned();
    administer(&weir, |admin| async move {
        let done = admin.delete_topics(&[&topic], &options()).await.expect("an answer");
        assert!(done.iter().all(Result::is_ok), "{done:?}");
    });
    let sender = Sender::new(&weir.kafka.brokers, weir.names.get(Topic::Interactions), 0);
    sender.send(3, "k", "{ no json");
    sender.send(3, "k", &event_of("behind", "u"));
    sender.finish();
    weir.wait("told", |weir| weir.log().contains("the shard was given up"));
    weir.command(&["topics", "create"]);
    let ends: Vec<Option<i64>> = reader(&weir).ends(Topic::Interactions).into_iter().map(Some).collect();
    weir.wait("all decided", |weir| reader(weir).committed(&weir.kafka, Topic::Interactions) == ends);
    let mut letters = Vec::new();
    reader(&weir).read_all(Topic::DeadLetters, |record| letters.push(record.value.map(<[u8]>::to_vec)));
    assert_eq!(letters, [Some(b"{ no json".to_vec())]);
    assert!(weir.terminate().0.success(), "{}", weir.log_end());
}

/// Whatever the journal says held last: what is configured at the start takes effect with the first batch.
#[test]
fn a_policy_that_changed_while_nothing_ran_takes_effect_at_the_start() {
    let mut weir = used("meanwhile");
    weir.swap_policy("second", |_, text| format!("{text}\n# another one\n"));
    weir.start();
    weir.wait_until_ready();
    let policies = |weir: &Instance| {
        let mut told = Vec::new();
        reader(weir).read_all(Topic::Journal, |record| {
            told.push(journal::decode(record.value).expect("a record of the journal").policy);
        });
        told
    };
    let first = policies(&weir)[0].clone();
    weir.wait("under the other policy", |weir| policies(weir).last() != Some(&first));
    assert!(weir.terminate().0.success(), "{}", weir.log_end());
}

#[test]
fn retention_shorter_than_the_longest_window_is_told_with_both() {
    let mut weir = Instance::new(broker::shared(), &broker::unique("short"));
    weir.command(&["topics", "create"]);
    weir.start_with(&[("WEIR_TOPICS_RETENTION", "2h")]);
    weir.wait_until_ready();
    let log = weir.log();
    let told = log.lines().find(|line| line.contains("held for less than the longest window"));
    let told = told.unwrap_or_else(|| panic!("not told\n{log}"));
    assert!(told.contains("retention=2h") && told.contains("longest_window="), "{told}");
    weir.terminate();
}

/// Each permission that is missing ends it at once, by name; with all of them it runs.
#[test]
fn what_access_rules_deny_is_named() {
    let broker = broker::Broker::start(&[
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found=true",
        "super.users=User:CONTROLLER",
    ]);
    let mut weir = Instance::new(broker.bootstrap(), "acl.");
    weir.command(&["topics", "create"]);
    let acl = |what: &str, rule: &[&str]| {
        let arguments = [&[what], rule].concat();
        broker.tool("org.apache.kafka.tools.AclCommand", &arguments);
    };
    let (group, names) = (weir.kafka.group.clone(), weir.names.clone());
    let id = format!("{group}-shard-0");
    let (deny, allow) = (["--deny-principal", "User:ANONYMOUS"], ["--allow-principal", "User:ANONYMOUS"]);
    let read = ["--operation", "Read", "--group", &group];
    let transact = ["--operation", "Write", "--transactional-id", &id];
    // Where a topic has a rule at all, nothing is allowed but what rules allow: it can be seen, and no more.
    let see =
        |topic| ["--operation", "Describe", "--operation", "DescribeConfigs", "--topic", names.get(topic)];
    let rules = [
        [&deny[..], &read].concat(),
        [&deny[..], &transact].concat(),
        [&allow[..], &see(Topic::Interactions)].concat(),
        [&allow[..], &see(Topic::Decisions)].concat(),
    ];
    for rule in &rules {
        // Some are only met once there is something to write.
        send(&weir, 6);
        acl("--add", rule);
        let before = weir.log().len();
        weir.start();
        let (status, took) = weir.wait_for_end();
        let log = weir.log()[before..].to_owned();
        assert!(!status.success() && log.contains("Kafka denies access"), "{rule:?} {took:?}\n{log}");
        acl("--remove", &[&["--force"], &rule[..]].concat());
    }
    weir.start();
    weir.wait_until_ready();
    assert!(weir.terminate().0.success(), "{}", weir.log_end());
}
