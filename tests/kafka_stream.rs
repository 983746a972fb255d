//! The Kafka room against a real Apache Kafka: topics, transactions, fencing, ownership, and odd records.

#![expect(clippy::disallowed_methods, reason = "a test waits for other processes, and reads its environment")]

#[path = "support/broker.rs"]
mod broker;
#[path = "support/raw_produce.rs"]
mod raw_produce;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use raw_produce::RawRecord;
use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use weir::stream::{
    self, CommitError, GroupMetadata, Input, InputEvent, InputLimits, InputOffset, InputProblem,
    KafkaSettings, Lookup, OutBatch, Ownership, OwnershipEvent, RecordBatch, Step, StreamError, Timestamp,
    Topic, TopicNames, TopicPlan, TopicStart, Transactions,
};

const PATIENCE: Duration = Duration::from_secs(20);

/// One test's own topics, group and transactional ids.
struct Bench {
    settings: KafkaSettings,
    plan: TopicPlan,
    names: TopicNames,
}

impl Bench {
    fn new(what: &str) -> Bench {
        Bench::with(what, |_| {})
    }

    fn with(what: &str, change: impl FnOnce(&mut KafkaSettings)) -> Bench {
        let prefix = broker::unique(what);
        let mut settings = KafkaSettings {
            brokers: broker::shared().to_owned(),
            group: format!("{prefix}group"),
            transaction_timeout: PATIENCE,
            ..KafkaSettings::default()
        };
        change(&mut settings);
        let plan = TopicPlan { prefix, partitions: 2, replication: 1, ..TopicPlan::default() };
        let names = plan.names();
        stream::create(&settings, &plan, PATIENCE).expect("topics are created");
        Bench { settings, plan, names }
    }

    fn join(&self) -> Ownership {
        Ownership::join(&self.settings, &self.names).expect("a member")
    }

    fn writer(&self) -> Transactions {
        Transactions::open(&self.settings, 0, &self.names, PATIENCE).expect("a producer")
    }

    fn read(&self, topic: Topic, positions: &[(i32, i64)], limits: InputLimits) -> Input {
        let start = TopicStart { topic, positions: positions.to_vec() };
        Input::open(&self.settings, &self.names, &[start], limits, PATIENCE).expect("an input")
    }

    fn decisions(&self) -> Input {
        self.read(Topic::Decisions, &[(0, 0), (1, 0)], InputLimits::default())
    }

    fn lookup(&self) -> Lookup {
        Lookup::open(&self.settings, &self.names).expect("a client")
    }
}

fn acquire(member: &Ownership) {
    let event = member.next(PATIENCE);
    assert_eq!(event, Some(OwnershipEvent::Acquired(0)));
    assert!(member.owns(0));
}

fn batch(values: &[&str]) -> OutBatch {
    let mut batch = OutBatch::default();
    for value in values {
        batch.record(Topic::Decisions).partition(0).value_bytes(Some(value.as_bytes())).finish();
    }
    batch
}

fn no_offsets() -> Result<GroupMetadata, StreamError> {
    unreachable!("without offsets nobody asks")
}

/// Reads until each of `partitions` has come to its end, and returns all batches.
fn read_to_end(input: &Input, partitions: usize) -> Vec<RecordBatch> {
    let deadline = Instant::now() + PATIENCE;
    let (mut batches, mut ended) = (Vec::new(), BTreeSet::new());
    while ended.len() < partitions {
        assert!(Instant::now() < deadline, "the end was not reached: {ended:?}");
        match input.next(Duration::from_secs(1)) {
            InputEvent::Records(batch) => {
                ended.retain(|partition| batch.iter().all(|record| record.at.partition != *partition));
                ended.extend(batch.ends().iter().map(|end| end.partition));
                batches.push(batch);
            }
            InputEvent::Problem(problem) => panic!("{problem:?}"),
            InputEvent::Idle => {}
        }
    }
    batches
}

fn values(batches: &[RecordBatch]) -> Vec<String> {
    let text = |value: Option<&[u8]>| String::from_utf8_lossy(value.unwrap_or_default()).into_owned();
    batches.iter().flat_map(RecordBatch::iter).map(|record| text(record.value)).collect()
}

/// The values of the next batch that has records.
fn read_some(input: &Input) -> Vec<String> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        match input.next(Duration::from_secs(1)) {
            InputEvent::Records(batch) if !batch.is_empty() => return values(&[batch]),
            InputEvent::Problem(problem) if problem.stops => panic!("{problem:?}"),
            _ => {}
        }
    }
    panic!("no record came");
}

fn first_problem(input: &Input) -> InputProblem {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let InputEvent::Problem(problem) = input.next(Duration::from_secs(1)) {
            return problem;
        }
    }
    panic!("no problem was told");
}

#[test]
fn topics_are_made_once_and_a_difference_is_named() {
    let bench = Bench::new("topics");
    let again = stream::create(&bench.settings, &bench.plan, PATIENCE).expect("safe to repeat");
    assert_eq!(again.len(), Topic::ALL.len());
    assert!(again.iter().all(|creation| !creation.made));
    assert_eq!(stream::check(&bench.settings, &bench.plan, PATIENCE), Ok(Vec::new()));

    alter(&bench, Topic::Interactions, "message.timestamp.type", "CreateTime");
    let differences = stream::check(&bench.settings, &bench.plan, PATIENCE).expect("an answer");
    let told: Vec<String> = differences.iter().map(ToString::to_string).collect();
    let name = bench.names.get(Topic::Interactions);
    assert_eq!(told, [format!("{name}: message.timestamp.type should be LogAppendTime, is CreateTime")]);
    assert!(differences[0].binding);

    let other = TopicPlan { shards: 2, partitions: 3, ..bench.plan.clone() };
    let differences = stream::check(&bench.settings, &other, PATIENCE).expect("an answer");
    let partitions: Vec<(Topic, bool)> =
        differences.iter().filter(|found| found.what == "partitions").map(|f| (f.topic, f.binding)).collect();
    let wanted = [
        (Topic::Interactions, false),
        (Topic::Decisions, false),
        (Topic::Shadow, false),
        (Topic::Journal, true),
    ];
    assert_eq!(partitions, wanted);
}

#[test]
fn missing_topics_are_named() {
    let bench = Bench::new("missing");
    let plan = TopicPlan { prefix: broker::unique("absent"), ..TopicPlan::default() };
    let differences = stream::check(&bench.settings, &plan, PATIENCE).expect("an answer");
    assert_eq!(differences.len(), Topic::ALL.len());
    assert!(differences.iter().all(|difference| difference.what == "topic" && difference.binding));

    let start = TopicStart { topic: Topic::Commands, positions: vec![(0, 0)] };
    let opened = Input::open(&bench.settings, &plan.names(), &[start], InputLimits::default(), PATIENCE);
    let name = plan.names().get(Topic::Commands).to_owned();
    assert_eq!(opened.err(), Some(StreamError::TopicMissing { topic: name }));

    let start = TopicStart { topic: Topic::Commands, positions: vec![(4, 0)] };
    let opened = Input::open(&bench.settings, &bench.names, &[start], InputLimits::default(), PATIENCE);
    let wanted = StreamError::PartitionMissing {
        topic: bench.names.get(Topic::Commands).to_owned(),
        partition: 4,
        partitions: 1,
    };
    assert_eq!(opened.err(), Some(wanted));
}

#[test]
fn a_commit_shows_records_and_offsets_together() {
    let bench = Bench::new("commit");
    let member = bench.join();
    acquire(&member);
    let mut writer = bench.writer();
    let offsets =
        [(0, 7), (1, 9)].map(|(partition, next)| InputOffset { topic: Topic::Interactions, partition, next });
    let mut steps = Vec::new();
    let outcome = writer.commit(
        &[&batch(&["a", "b"]), &batch(&["c"])],
        &offsets,
        || member.group_metadata(),
        |step| steps.push(step),
    );
    assert_eq!(outcome, Ok(()));
    assert_eq!(steps, [Step::Begin, Step::Send, Step::Drain, Step::Offsets, Step::Commit, Step::Done]);

    let batches = read_to_end(&bench.decisions(), 2);
    assert_eq!(values(&batches), ["a", "b", "c"]);
    let end = batches.iter().flat_map(RecordBatch::ends).find(|end| end.partition == 0).expect("an end");
    let held = bench.lookup().held(Topic::Decisions, 0, PATIENCE).expect("an answer");
    assert_eq!((end.position, held.high), (4, 4), "the position moves past the commit marker");

    let committed = bench.lookup().committed(Topic::Interactions, 2, PATIENCE);
    assert_eq!(committed, Ok(vec![Some(7), Some(9)]));
    assert_eq!(bench.lookup().committed(Topic::Feedback, 1, PATIENCE), Ok(vec![None]));
    assert!(member.leave(PATIENCE));
}

#[test]
fn an_aborted_transaction_stays_invisible_and_its_bytes_can_be_sent_again() {
    let bench = Bench::new("abort");
    let member = bench.join();
    acquire(&member);
    let mut writer = bench.writer();
    let offsets = [InputOffset { topic: Topic::Interactions, partition: 0, next: 5 }];
    let batch = batch(&["once", "twice"]);
    let refuse = || Err(StreamError::Other { doing: "asking".to_owned(), reason: "not now".to_owned() });
    let refused = writer.commit(&[&batch], &offsets, refuse, |_| {});
    assert!(
        matches!(&refused, Err(CommitError::Aborted(cause)) if cause.step == Step::Offsets),
        "{refused:?}"
    );
    assert_eq!(bench.lookup().committed(Topic::Interactions, 1, PATIENCE), Ok(vec![None]));

    assert_eq!(writer.commit(&[&batch], &offsets, || member.group_metadata(), |_| {}), Ok(()));
    let batches = read_to_end(&bench.decisions(), 2);
    assert_eq!(values(&batches), ["once", "twice"]);
    let first = batches.iter().flat_map(RecordBatch::iter).next().expect("a record");
    assert_eq!(first.at.offset, 3, "two aborted records and their marker are in the log before it");
}

#[test]
fn a_second_producer_of_the_shard_fences_the_first() {
    let bench = Bench::new("fence");
    let mut first = bench.writer();
    assert_eq!(first.commit(&[&batch(&["first"])], &[], no_offsets, |_| {}), Ok(()));
    let mut second = bench.writer();
    let zombie = first.commit(&[&batch(&["zombie"])], &[], no_offsets, |_| {});
    assert!(matches!(zombie, Err(CommitError::Fenced(_))), "{zombie:?}");
    assert_eq!(second.commit(&[&batch(&["second"])], &[], no_offsets, |_| {}), Ok(()));
    assert_eq!(values(&read_to_end(&bench.decisions(), 2)), ["first", "second"]);
}

#[test]
fn ownership_is_kept_while_alive_and_handed_over_when_left() {
    let bench = Bench::new("owner");
    let first = bench.join();
    acquire(&first);
    let second = bench.join();
    assert_eq!(second.next(Duration::from_secs(4)), None, "a newcomer takes nothing");
    assert!(first.owns(0) && !second.owns(0));

    let stale = first.group_metadata();
    assert!(first.leave(PATIENCE));
    acquire(&second);

    let mut writer = bench.writer();
    let offsets = [InputOffset { topic: Topic::Interactions, partition: 0, next: 1 }];
    let outcome = writer.commit(&[&batch(&["x"])], &offsets, || stale, |_| {});
    assert!(matches!(&outcome, Err(CommitError::Aborted(cause)) if cause.stale_member), "{outcome:?}");
    assert_eq!(writer.commit(&[&batch(&["x"])], &offsets, || second.group_metadata(), |_| {}), Ok(()));
    assert!(second.leave(PATIENCE));
}

/// Members come and go while the owner commits: it stays the owner, at worst sends a batch again, and each batch is
/// seen once and in order.
#[test]
#[allow(clippy::print_stdout, reason = "a measured figure")]
fn members_that_come_and_go_cost_the_owner_at_most_a_resend() {
    let bench = Bench::new("churn");
    let owner = bench.join();
    acquire(&owner);
    let mut writer = bench.writer();
    let done = AtomicBool::new(false);
    let (mut sent, mut resent) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..4 {
                let guest = bench.join();
                assert_eq!(guest.next(Duration::from_millis(700)), None, "a guest takes nothing");
                assert!(guest.leave(PATIENCE));
            }
            done.store(true, Ordering::Release);
        });
        let deadline = Instant::now() + 2 * PATIENCE;
        while !done.load(Ordering::Acquire) && Instant::now() < deadline {
            let batch = batch(&[&sent.to_string()]);
            let offsets = [InputOffset { topic: Topic::Interactions, partition: 0, next: sent + 1 }];
            match writer.commit(&[&batch], &offsets, || owner.group_metadata(), |_| {}) {
                Ok(()) => sent += 1,
                Err(CommitError::Aborted(cause)) if cause.stale_member => resent += 1,
                other => panic!("{other:?}"),
            }
            assert!(owner.owns(0));
        }
    });
    assert_eq!(owner.next(Duration::ZERO), None, "nothing was lost or acquired meanwhile");
    let seen = values(&read_to_end(&bench.decisions(), 2));
    assert!(seen.iter().cloned().eq((0..sent).map(|n| n.to_string())));
    assert_eq!(bench.lookup().committed(Topic::Interactions, 1, PATIENCE), Ok(vec![Some(sent)]));
    println!("{sent} transactions while members came and went, {resent} sent again");
}

#[test]
fn odd_records_are_copied_as_they_are() {
    let bench = Bench::new("odd");
    let records = [
        RawRecord { key: Some(b"k"), value: None, headers: vec![(b"a", Some(b"1")), (b"a", None)] },
        RawRecord { key: None, value: Some(b""), headers: vec![] },
        RawRecord {
            key: Some(b""),
            value: Some(b"\xff\x00v"),
            headers: vec![(b"good", Some(b"\xfe")), (b"\xff\xfe", Some(b"lost")), (b"", Some(b""))],
        },
    ];
    let topic = bench.names.get(Topic::Interactions).to_owned();
    assert_eq!(raw_produce::produce(broker::shared(), &topic, 1, 1_000, &records), 0);
    let input = bench.read(Topic::Interactions, &[(1, 0)], InputLimits::default());
    let batches = read_to_end(&input, 1);
    let found: Vec<_> = batches.iter().flat_map(RecordBatch::iter).collect();
    assert_eq!(found.len(), 3);
    assert_eq!((found[0].key, found[0].value), (Some(&b"k"[..]), None));
    assert_eq!(found[0].headers.iter().collect::<Vec<_>>(), [("a", Some(&b"1"[..])), ("a", None)]);
    assert_eq!((found[1].key, found[1].value, found[1].headers.len()), (None, Some(&b""[..]), 0));
    assert_eq!((found[2].key, found[2].value), (Some(&b""[..]), Some(&b"\xff\x00v"[..])));
    assert_eq!(found[2].headers.unreadable(), 1);
    let readable: Vec<_> = found[2].headers.iter().collect();
    assert_eq!(readable, [("good", Some(&b"\xfe"[..])), ("", Some(&b""[..]))]);
    for (record, offset) in found.iter().zip(0..) {
        assert_eq!(
            (record.at.topic, record.at.partition, record.at.offset),
            (Topic::Interactions, 1, offset)
        );
        assert!(
            matches!(record.timestamp, Timestamp::Append(millis) if millis > 1_000_000),
            "stamped on arrival"
        );
    }
}

#[test]
fn a_record_that_cannot_be_written_fails_the_transaction_and_is_named() {
    let bench = Bench::with("unwritable", |settings| {
        settings.properties.insert("topic.metadata.propagation.max.ms".to_owned(), "500".to_owned());
    });
    let mut writer = bench.writer();
    let mut large = OutBatch::default();
    large.record(Topic::Bans).value_bytes(Some(&[b'x'; 2_000_000])).finish();
    assert_eq!(large.too_large(1_048_588).collect::<Vec<_>>(), [0]);
    let refused = writer.commit(&[&large], &[], no_offsets, |_| {});
    let Err(CommitError::Aborted(cause)) = refused else { panic!("{refused:?}") };
    assert_eq!(
        (cause.record.map(|(topic, _)| topic), cause.lasting),
        (Some(name(&bench, Topic::Bans)), true)
    );
    assert_eq!(writer.commit(&[&batch(&["fine"])], &[], no_offsets, |_| {}), Ok(()), "the producer goes on");

    let nowhere = TopicNames::with_prefix(&broker::unique("nowhere"));
    let mut writer = Transactions::open(&bench.settings, 1, &nowhere, PATIENCE).expect("a producer");
    let refused = writer.commit(&[&batch(&["lost"])], &[], no_offsets, |_| {});
    let Err(CommitError::Aborted(cause)) = refused else { panic!("{refused:?}") };
    let wanted = nowhere.get(Topic::Decisions).to_owned();
    assert_eq!((cause.record.map(|(topic, _)| topic), cause.lasting), (Some(wanted), true));
}

fn name(bench: &Bench, topic: Topic) -> String {
    bench.names.get(topic).to_owned()
}

#[test]
fn a_lost_position_is_told_with_its_place() {
    let bench = Bench::new("position");
    let input = bench.read(Topic::Interactions, &[(0, 0), (1, 1_000)], InputLimits::default());
    let problem = first_problem(&input);
    assert_eq!((problem.partition, problem.offset, problem.stops), (Some(1), Some(1_000), true));
    let topic = name(&bench, Topic::Interactions);
    let wanted = StreamError::OffsetOutOfRange { topic, partition: 1, offset: 1_000, low: 0, high: 0 };
    assert_eq!(problem.error, wanted);
    assert!(input.close(PATIENCE));
}

/// Full queues and pauses, and yet each record once and in order.
#[test]
fn a_slow_owner_loses_nothing() {
    let bench = Bench::new("slow");
    let mut writer = bench.writer();
    let mut batch = OutBatch::default();
    for number in 0..6_000u32 {
        let partition = i32::from(number % 2 == 1);
        batch
            .record(Topic::Decisions)
            .partition(partition)
            .value(|out| out.extend(number.to_be_bytes()))
            .finish();
    }
    assert_eq!(writer.commit(&[&batch], &[], no_offsets, |_| {}), Ok(()));
    let limits = InputLimits { batch_records: 100, queued_batches: 2, ..InputLimits::default() };
    let input = bench.read(Topic::Decisions, &[(0, 0), (1, 0)], limits);
    let mut seen: BTreeMap<i32, Vec<i64>> = BTreeMap::new();
    // Longer than the reader waits before it pauses everything.
    std::thread::sleep(Duration::from_millis(1_200));
    for _ in 0..5 {
        note(&mut seen, &input);
    }
    input.pause(Topic::Decisions, &[1]);
    while seen.get(&0).is_none_or(|offsets| offsets.len() < 3_000) {
        note(&mut seen, &input);
    }
    input.resume(Topic::Decisions, &[1]);
    while seen.get(&1).is_none_or(|offsets| offsets.len() < 3_000) {
        note(&mut seen, &input);
    }
    let all: Vec<i64> = (0..3_000).collect();
    assert!(seen[&0] == all && seen[&1] == all, "each once and in order");
    assert!(input.close(PATIENCE));
}

fn note(seen: &mut BTreeMap<i32, Vec<i64>>, input: &Input) {
    match input.next(PATIENCE) {
        InputEvent::Records(batch) => {
            batch
                .iter()
                .for_each(|record| seen.entry(record.at.partition).or_default().push(record.at.offset));
            input.recycle(batch);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "a measured figure")]
fn commits_are_not_slowed_by_the_client() {
    let bench = Bench::new("latency");
    let member = bench.join();
    acquire(&member);
    let mut writer = bench.writer();
    let value = [b'd'; 200];
    let mut batch = OutBatch::default();
    for _ in 0..1_000 {
        batch.record(Topic::Decisions).key_bytes(Some(b"key")).value_bytes(Some(&value)).finish();
    }
    let mut times: Vec<Duration> = (1..=40)
        .map(|round| {
            let offsets = [InputOffset { topic: Topic::Interactions, partition: 0, next: round }];
            let start = Instant::now();
            assert_eq!(writer.commit(&[&batch], &offsets, || member.group_metadata(), |_| {}), Ok(()));
            start.elapsed()
        })
        .collect();
    times.sort();
    println!(
        "transaction of 1,000 records: median {:?}, p90 {:?}, slowest {:?}",
        times[20], times[36], times[39]
    );
    assert!(times[20] < Duration::from_secs(1));
}

/// The broker goes away at the moment of the commit: the outcome is unknown, told within bounds, and a new producer
/// settles it once the broker is back. The reader says what is wrong and goes on by itself.
#[test]
fn a_broker_that_goes_away_leaves_the_outcome_open_and_a_new_producer_settles_it() {
    let mut broker = broker::Broker::start(&[]);
    let settings = KafkaSettings {
        brokers: broker.bootstrap().to_owned(),
        transaction_timeout: Duration::from_secs(3),
        ..KafkaSettings::default()
    };
    let plan = TopicPlan { partitions: 1, replication: 1, ..TopicPlan::default() };
    let names = plan.names();
    stream::create(&settings, &plan, PATIENCE).expect("topics are created");
    let start = TopicStart { topic: Topic::Decisions, positions: vec![(0, 0)] };
    let input = Input::open(&settings, &names, &[start], InputLimits::default(), PATIENCE).expect("an input");
    let mut writer = Transactions::open(&settings, 0, &names, PATIENCE).expect("a producer");
    assert_eq!(writer.commit(&[&batch(&["before"])], &[], no_offsets, |_| {}), Ok(()));
    assert_eq!(read_some(&input), ["before"]);

    let begin = Instant::now();
    let lost = batch(&["open"]);
    let outcome = writer.commit(&[&lost], &[], no_offsets, |step| {
        if step == Step::Commit {
            broker.kill();
        }
    });
    assert!(
        matches!(&outcome, Err(CommitError::Unknown(cause)) if cause.step == Step::Commit),
        "{outcome:?}"
    );
    assert!(begin.elapsed() < PATIENCE, "told within bounds: {:?}", begin.elapsed());
    let problem = first_problem(&input);
    assert!(problem.error.is_transient() && !problem.stops, "{problem:?}");

    broker.launch();
    drop(writer);
    let mut writer = Transactions::open(&settings, 0, &names, PATIENCE).expect("a producer");
    assert_eq!(writer.commit(&[&batch(&["after"])], &[], no_offsets, |_| {}), Ok(()));
    let seen = read_some(&input);
    assert_eq!(seen, ["after"], "the commit never reached the broker, so it was aborted");
}

fn alter(bench: &Bench, topic: Topic, setting: &str, value: &str) {
    let admin: AdminClient<DefaultClientContext> = rdkafka::ClientConfig::new()
        .set("bootstrap.servers", &bench.settings.brokers)
        .create()
        .expect("an admin client");
    let name = bench.names.get(topic);
    let change = AlterConfig::new(ResourceSpecifier::Topic(name)).set(setting, value);
    let options = AdminOptions::new().request_timeout(Some(PATIENCE));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let results = runtime.block_on(admin.alter_configs([&change], &options)).expect("an answer");
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}
