//! What went wrong elsewhere: cases of public bug reports, as (project#number), each as a test of its whole kind.
//!
//! Every case goes through the engine event by event and through a replay of the same lines; both must say the same.
//! Times are milliseconds after T = 2025-06-15T15:06:40Z; append time is `occurred_at` unless told otherwise.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use weir::config;
use weir::engine::ban::BanChange;
use weir::engine::command::{Command, CommandAction};
use weir::engine::decision::{Judgement, QualityCode};
use weir::engine::entity::{Entity, EntityKind};
use weir::engine::event::Arrival;
use weir::engine::key::HashSeed;
use weir::engine::limit::{Algorithm, Limit, LimitSpec, Max};
use weir::engine::policy::Policy;
use weir::engine::policy::duration::parse_duration;
use weir::engine::policy::load::{Loaded, load};
use weir::engine::slab::Spill;
use weir::engine::time::{Span, Timestamp};
use weir::engine::verdict::Verdict::{self, Allow, Block, Hold, Reject};
use weir::engine::window::Recorded;
use weir::engine::{DeadLetterReason, Engine, Input, Outcome, Outputs};
use weir::replay::{Options, replay};
use weir::wire::interaction::{DecodeLimits, decode};

const T: i64 = 1_750_000_000_000;
const HOUR: i64 = 3_600_000;

fn loaded(text: &str) -> Loaded {
    load(&[("p.yaml".to_owned(), format!("version: 1\n{text}"))]).unwrap_or_else(|problems| {
        panic!("{}", problems.iter().map(|p| format!("{p}\n")).collect::<String>())
    })
}

fn policy(text: &str) -> Arc<Policy> {
    loaded(text).policy
}

/// One limit that rejects, as flow-style YAML after other sections.
fn limit(sections: &str, words: &str) -> String {
    let about = "id: r, verdict: reject, code: R, text: t, source: s, owner: o";
    format!("{sections}\nlimits:\n  - {{ {about}, {words} }}\n")
}

/// One rule that holds.
fn rule(sections: &str, when: &str) -> String {
    let about = "id: r, family: content, verdict: hold, code: R, text: t, source: s, owner: o";
    format!("{sections}\nrules:\n  - {{ {about}, when: \"{when}\" }}\n")
}

/// The `number`-th event, at T + `at`, with these fields besides or instead.
fn event(number: usize, at: i64, fields: &Json) -> String {
    let mut event = json!({"event_id": format!("e{number}"), "occurred_at": T + at, "action": "like"});
    let all = event.as_object_mut().expect("an object");
    all.extend(fields.as_object().expect("fields are an object").clone());
    event.to_string()
}

/// Events at these times, all with the same fields.
fn events(times: impl IntoIterator<Item = i64>, fields: &Json) -> Vec<String> {
    times.into_iter().enumerate().map(|(number, at)| event(number, at, fields)).collect()
}

/// The same event under another id.
fn again(line: &str) -> String {
    line.replace(r#""event_id":"e"#, r#""event_id":"f"#)
}

/// An engine that is fed line by line.
struct Live {
    engine: Engine,
    out: Outputs,
    offset: i64,
}

impl Live {
    fn new(policy: &Arc<Policy>) -> Self {
        let engine = Engine::new(Arc::clone(policy), HashSeed(1, 2));
        Self { engine, out: Outputs::default(), offset: 0 }
    }

    fn line(&mut self, line: &str) -> (Outcome, Option<Judgement>) {
        self.line_of(0, line)
    }

    fn line_of(&mut self, partition: i32, line: &str) -> (Outcome, Option<Judgement>) {
        let decoded = decode(Some(line.as_bytes()), &[], &DecodeLimits::default()).expect("a valid event");
        let append_time = decoded.append_time.unwrap_or(decoded.event.occurred_at);
        let arrival = Arrival { topic: "replay", partition, offset: self.offset, append_time };
        self.offset += 1;
        self.apply(Input::Event(&decoded.event, arrival))
    }

    fn apply(&mut self, input: Input<'_>) -> (Outcome, Option<Judgement>) {
        self.out.clear();
        let outcome = self.engine.apply(input, &mut self.out);
        (outcome, self.out.judgement.take())
    }

    fn unban(&mut self, entity: Entity, at: i64) -> Outcome {
        let at = Timestamp::from_millis(T + at);
        let action = CommandAction::Unban { entity, ban: None };
        let command =
            Command { id: format!("c{at}"), actor: "ann".into(), at, reason: "appeal".into(), action };
        let arrival = Arrival { topic: "commands", partition: 0, offset: 0, append_time: at };
        self.apply(Input::Command(&command, arrival)).0
    }
}

/// What was decided on each line, `None` where nothing was: through the engine, and the same through a replay.
#[track_caller]
fn judge(policy: &Arc<Policy>, lines: &[String]) -> Vec<Option<Judgement>> {
    let mut live = Live::new(policy);
    let judgements: Vec<_> = lines.iter().map(|line| live.line(line).1).collect();
    let replayed = replayed(policy, lines);
    for (offset, judgement) in judgements.iter().enumerate() {
        let told = judgement.as_ref().map(|j| (j.id.to_string(), j.verdict.name().to_owned(), j.score));
        assert_eq!(told, replayed.get(&(offset as u64)).cloned(), "line {offset} of the replay");
    }
    judgements
}

/// Identity, verdict and score by line.
fn replayed(policy: &Arc<Policy>, lines: &[String]) -> BTreeMap<u64, (String, String, i32)> {
    let mut engine = Engine::new(Arc::clone(policy), HashSeed(1, 2));
    let limits = DecodeLimits::default();
    let options = Options { name: "replay".into(), as_of: Timestamp::MAX, limits };
    let mut written = Vec::new();
    let input = lines.join("\n");
    let summary = replay(input.as_bytes(), &mut written, &mut engine, &options, &mut |_, _| {});
    let summary = summary.expect("memory does not fail");
    assert!(summary.tally.is_complete() && summary.tally.consumed == lines.len() as u64);
    let decisions = written.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let told = |line: &[u8]| {
        let decision: Json = serde_json::from_slice(line).expect("a decision is JSON");
        let text = |field: &str| decision[field].as_str().expect("text").to_owned();
        let score = i32::try_from(decision["score"].as_i64().expect("a score")).expect("small");
        (
            decision["source"]["offset"].as_u64().expect("an offset"),
            (text("decision_id"), text("verdict"), score),
        )
    };
    decisions.map(told).collect()
}

#[track_caller]
fn verdicts(policy: &Arc<Policy>, lines: &[String]) -> Vec<Verdict> {
    judge(policy, lines).into_iter().map(|j| j.expect("each event is decided").verdict).collect()
}

/// Which event, from 1, is the first that is not allowed.
#[track_caller]
fn fires_at(policy: &Arc<Policy>, lines: &[String]) -> Option<usize> {
    verdicts(policy, lines).iter().position(|verdict| *verdict != Allow).map(|index| index + 1)
}

fn waits(judgements: &[Option<Judgement>]) -> Vec<Option<i64>> {
    judgements.iter().map(|j| j.as_ref().and_then(|j| j.retry_after).map(Span::millis)).collect()
}

/// B01. A double burst over the edge of a fixed window passes twice the limit: block/buzz#3477, sandbase-harness#280,
/// plausible#6497, tower-resilience#433.
#[test]
fn a_burst_over_an_edge_gets_no_second_quota() {
    let policy = policy(&limit("", "key: [ip], window: 60s, max: 5"));
    let lines = events([[59_900; 5], [60_100; 5]].concat(), &json!({"ip": "198.51.100.7"}));
    assert_eq!(fires_at(&policy, &lines), Some(6));
    assert_eq!(verdicts(&policy, &lines)[5..], [Reject; 5]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// B01, the kind: whatever the arrivals, no trailing window holds more than the limit.
    #[test]
    fn no_trailing_window_holds_more_than_the_limit(steps in prop::collection::vec(0_i64..30_000, 1..60)) {
        let policy = policy(&limit("", "key: [ip], window: 60s, max: 5"));
        let times: Vec<i64> = steps.iter().scan(0, |at, step| { *at += step; Some(*at) }).collect();
        let lines = events(times.iter().copied(), &json!({"ip": "198.51.100.7"}));
        let verdicts = verdicts(&policy, &lines);
        let allowed: Vec<i64> =
            times.iter().zip(&verdicts).filter(|(_, v)| **v == Allow).map(|(at, _)| *at).collect();
        for end in &allowed {
            let within = allowed.iter().filter(|at| **at > end - 60_000 && *at <= end).count();
            prop_assert!(within <= 5, "{within} in the minute up to {end}");
        }
    }

    /// B07, the kind: whatever the gap, what is left is between nothing and all of it. gubernator#87, bucket4j#51,
    /// udoprog/leaky-bucket#30.
    #[test]
    fn what_is_left_never_leaves_its_bounds(gaps in prop::collection::vec(0_i64..3_155_760_000_000, 1..20)) {
        let window = Span::from_secs(1);
        for algorithm in [Algorithm::TokenBucket { refill: 10, per: window }, Algorithm::LeakyBucket { window }] {
            let limit = Limit::new(&LimitSpec { algorithm, max: Max::AtMost(10), grace: Span::ZERO });
            let limit = limit.expect("a valid limit");
            let (mut cell, mut spill) = (vec![0; limit.words()], Spill::new(1 << 20));
            let mut at = Timestamp::from_millis(T);
            for gap in &gaps {
                at = at.after(Span::from_millis(*gap)).min(Timestamp::MAX);
                let check = limit.check(&cell, &spill, at, 1);
                prop_assert!(check.remaining <= 10 && check.used <= 10, "{check:?}");
                if check.is_allowed() {
                    assert_eq!(limit.record(&mut cell, &mut spill, at, 1), Recorded::Yes);
                }
            }
        }
    }
}

/// B03. Storage that expires with its window forgets buckets still inside it: Southclaws/swirl#2, #3.
#[test]
fn a_bucket_inside_the_window_still_counts() {
    for words in ["max: 10", "max: 10, algorithm: { sliding_window: { slots: 60 } }"] {
        let policy = policy(&limit("", &format!("key: [ip], window: 1h, {words}")));
        let minute = 60_000;
        let times = [vec![0], vec![59 * minute; 8], vec![61 * minute; 9]].concat();
        let verdicts = verdicts(&policy, &events(times, &json!({"ip": "198.51.100.7"})));
        assert_eq!(verdicts[..11], [Allow; 11], "{words}");
        assert_eq!(verdicts[11..], [Reject; 7], "{words}");
    }
}

/// B05. After the first hit the state was dropped, so the next abusive event looked new: crowdsec#1551, #1580.
#[test]
fn a_limit_goes_on_refusing() {
    let policy = policy(&limit("", "key: [user], window: 60s, max: 3"));
    let judged = judge(&policy, &events((0..6).map(|n| n * 1000), &json!({"user_id": "u"})));
    let judged: Vec<Judgement> = judged.into_iter().flatten().collect();
    assert_eq!(
        judged.iter().map(|j| j.verdict).collect::<Vec<_>>(),
        [Allow, Allow, Allow, Reject, Reject, Reject]
    );
    let mut ids: Vec<_> = judged.iter().map(|j| j.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 6, "each refusal has an identity of its own");
}

/// B07. After a long idle time the bucket overflowed or went negative: gubernator#87, bucket4j#51.
#[test]
fn a_bucket_is_full_after_half_a_day_and_not_fuller() {
    let words = "key: [user], window: 1s, max: 10, algorithm: { token_bucket: { refill: 10 per 1s } }";
    let policy = policy(&limit("", words));
    let times = [vec![0], vec![12 * HOUR; 11]].concat();
    let verdicts = verdicts(&policy, &events(times, &json!({"user_id": "u"})));
    assert_eq!(verdicts[..11], [Allow; 11]);
    assert_eq!(verdicts[11], Reject);
}

/// B09. The bucket was filled to the brim each period, and twice the limit passed: gubernator#118.
#[test]
fn a_bucket_leaks_steadily() {
    let policy = policy(&limit("", "key: [user], window: 1s, max: 3, algorithm: leaky_bucket"));
    let verdicts = verdicts(&policy, &events((0..31).map(|n| n * 100), &json!({"user_id": "u"})));
    // Three a second leak 300 thousandths of an event in 100 ms.
    let (mut level, mut expected) = (0_i64, Vec::new());
    for number in 0..31 {
        level = (level - if number == 0 { 0 } else { 300 }).max(0);
        let fits = level + 1000 <= 3000;
        level += if fits { 1000 } else { 0 };
        expected.push(if fits { Allow } else { Reject });
    }
    assert_eq!(verdicts, expected);
    assert!(verdicts.iter().filter(|verdict| **verdict == Allow).count() <= 3 + 3 * 3);
}

/// B11. A cost above the capacity was told to wait for nothing, a cost equal to it was off by one: gcra-ruby#11,
/// redis#14826.
#[test]
fn what_never_fits_has_no_wait() {
    let words = "key: [user], window: 10s, max: 10, cost: event.attributes.weight, \
                 algorithm: { token_bucket: { refill: 10 per 10s } }";
    let policy = policy(&limit("attributes: { weight: int }", words));
    let cost = |number: usize, weight: i64| {
        event(number, 0, &json!({"user_id": "u", "attributes": {"weight": weight}}))
    };
    let judged = judge(&policy, &[cost(0, 11), cost(1, 10), cost(2, 10), cost(3, 11)]);
    let verdicts: Vec<_> = judged.iter().flatten().map(|j| j.verdict).collect();
    assert_eq!(verdicts, [Reject, Allow, Reject, Reject]);
    assert_eq!(waits(&judged), [None, None, Some(10_000), None]);
}

/// B13. The time to wait ignored what had been spent before: gubernator#110, ratelimit_meter#36.
#[test]
fn the_wait_counts_all_that_was_spent() {
    let words = "key: [user], window: 10s, max: 10, cost: event.attributes.weight, algorithm: leaky_bucket";
    let policy = policy(&limit("attributes: { weight: int }", words));
    let cost = |number: usize, at: i64, weight: i64| {
        event(number, at, &json!({"user_id": "u", "attributes": {"weight": weight}}))
    };
    // 5 spent, 0.1 leaked, 3 spent: 7.9 are gone after 7.9 s, when all 10 fit; one more fits at once.
    let judged = judge(&policy, &[cost(0, 0, 5), cost(1, 100, 3), cost(2, 100, 10), cost(3, 100, 1)]);
    let verdicts: Vec<_> = judged.iter().flatten().map(|j| j.verdict).collect();
    assert_eq!(verdicts, [Allow, Allow, Reject, Allow]);
    assert_eq!(waits(&judged)[2], Some(7_900));
}

/// B15. A lower limit held only for new state: gubernator#40, twenty#26275, redis-rate-limiter#44, supabase/auth#2358.
#[test]
fn a_lowered_limit_holds_at_once() {
    for words in ["", ", algorithm: { sliding_window: { slots: 12 } }", ", algorithm: leaky_bucket"] {
        let of = |max: i64| policy(&limit("", &format!("key: [user], window: 60s, max: {max}{words}")));
        let (wide, narrow) = (of(10), of(5));
        let lines = events((0..9).map(|n| n * 10), &json!({"user_id": "u"}));
        let mut live = Live::new(&wide);
        assert!(lines[..8].iter().all(|line| live.line(line).1.is_some_and(|j| j.verdict == Allow)));
        assert_eq!(live.apply(Input::Policy(Arc::clone(&narrow))).0, Outcome::PolicyActivated);
        let judged = live.line(&lines[8]).1.expect("decided");
        assert_eq!((judged.verdict, &judged.policy), (Reject, &narrow.hash), "{words}");
    }
}

/// B15, there and back: a maximum that is lowered and raised again within a window gives no fresh quota.
#[test]
fn a_limit_that_is_raised_again_gives_what_is_left() {
    for words in ["", ", algorithm: { sliding_window: { slots: 12 } }", ", algorithm: leaky_bucket"] {
        let of = |max: i64| policy(&limit("", &format!("key: [user], window: 60s, max: {max}{words}")));
        let (wide, narrow) = (of(10), of(5));
        let lines = events((0..12).map(|n| n * 10), &json!({"user_id": "u"}));
        let mut live = Live::new(&wide);
        assert!(lines[..8].iter().all(|line| live.line(line).1.is_some_and(|j| j.verdict == Allow)));
        live.apply(Input::Policy(narrow));
        live.apply(Input::Policy(wide));
        let verdicts: Vec<_> =
            lines[8..11].iter().filter_map(|line| live.line(line).1).map(|j| j.verdict).collect();
        assert_eq!(verdicts, [Allow, Allow, Reject], "{words}");
    }
}

/// B17. A clock that goes backwards ended the process: Irys#1445, rust-lightning#1692, komodo#315.
#[test]
fn time_may_go_backwards() {
    for (max, expected) in [(3, [Allow, Allow, Allow]), (2, [Allow, Allow, Reject])] {
        let policy = policy(&limit("", &format!("key: [user], window: 60s, max: {max}")));
        let lines = events([1000, 0, 999], &json!({"user_id": "u"}));
        assert_eq!(verdicts(&policy, &lines), expected);
        let mut live = Live::new(&policy);
        let mut verdicts = Vec::new();
        for (partition, line) in lines.iter().enumerate() {
            verdicts.extend(live.line_of(partition as i32, line).1.map(|j| j.verdict));
            let earlier = Timestamp::from_millis(T - HOUR);
            assert_eq!(live.apply(Input::Tick(earlier)).0, Outcome::Ticked);
        }
        assert_eq!(verdicts, expected, "from three partitions, with ticks an hour back");
    }
}

/// B19. A record from the future moved time on, and all others were late: apache/kafka#5369, #7274, ksql#4579,
/// flink#1839.
#[test]
fn a_record_from_the_future_moves_nothing() {
    let policy = policy(&limit("time: { grace: 10s }", "key: [user], window: 60s, max: 2"));
    let ten_years = 10 * 365 * 24 * HOUR;
    let a = |number, at| event(number, at, &json!({"user_id": "a"}));
    let z = event(9, ten_years, &json!({"user_id": "z", "append_time": T + 500}));
    let lines = [a(0, 0), z.clone(), a(1, 1000), a(2, 2000)];
    let judged = judge(&policy, &lines);
    let verdicts: Vec<_> = judged.iter().map(|j| j.as_ref().map(|j| j.verdict)).collect();
    assert_eq!(verdicts, [Some(Allow), None, Some(Allow), Some(Reject)]);
    let late = |j: &Judgement| j.quality.iter().any(|q| q.code == QualityCode::Late);
    assert!(!judged.iter().flatten().any(late), "nothing became late");
    let outcome = Live::new(&policy).line(&z).0;
    assert_eq!(outcome, Outcome::DeadLettered(DeadLetterReason::FutureTimestamp));
}

/// B21. A partition without records held the others up, or came back late: flink#1447, flink#5634, beam#40176.
#[test]
fn an_idle_partition_neither_holds_up_nor_is_late() {
    let policy = policy(&limit("", "key: [user], window: 60s, max: 5"));
    let mut live = Live::new(&policy);
    let quiet = json!({"user_id": "quiet"});
    assert!(live.line_of(1, &event(0, 0, &quiet)).1.is_some_and(|j| j.verdict == Allow));
    // Six a minute for an hour: the limit of five fires in each of them.
    let busy = events((1..360).map(|n| n * 10_000), &json!({"user_id": "busy"}));
    let judged: Vec<_> = busy.iter().filter_map(|line| live.line_of(0, line).1).collect();
    assert_eq!(judged.iter().position(|j| j.verdict == Reject), Some(5));
    let back = events([HOUR; 10], &quiet);
    let back: Vec<_> = back.iter().map(|line| again(line)).collect();
    let back: Vec<_> = back.iter().filter_map(|line| live.line_of(1, line).1).collect();
    let verdicts: Vec<_> = back.iter().map(|j| j.verdict).collect();
    assert_eq!(verdicts, [[Allow; 5], [Reject; 5]].concat());
    let amiss = [QualityCode::Late, QualityCode::Backlog, QualityCode::Early];
    let is_amiss = |j: &&Judgement| j.quality.iter().any(|q| amiss.contains(&q.code));
    assert_eq!(judged.iter().chain(&back).find(is_amiss), None);
}

/// B23. `1ms` was read as minutes, `m` as months, a bare number as anything: juration#1, timestring#3,
/// taskwarrior#3284, beats#16087, limitd#19.
#[test]
fn a_duration_means_one_thing_or_is_refused() {
    let minutes = |n: i64| Some(n * 60_000);
    for (text, millis) in [
        ("1m", minutes(1)),
        ("1ms", Some(1)),
        ("1h30m", minutes(90)),
        ("2d", minutes(2880)),
        ("1M", None),
        ("60", None),
        ("-5s", None),
        ("0.5s", None),
        ("1 minute", None),
        ("P1D", None),
        ("1e3s", None),
        ("9999999999d", None),
        ("99999999999999999999s", None),
        ("", None),
    ] {
        assert_eq!(parse_duration(text).ok().map(Span::millis), millis, "{text:?} in a policy");
        assert_eq!(config::duration(text).ok().map(Span::millis), millis, "{text:?} in the configuration");
    }
}

/// B25. The count of errors never decayed, so one more banned again: caddy-mib#6.
#[test]
fn after_a_ban_old_events_do_not_ban_again() {
    let step = "{ points: 1, verdict: block, for: 1h, code: P, text: t }";
    let penalties = format!("penalties: {{ half_life: 10m, steps: [{step}] }}");
    let policy = policy(&limit(&penalties, "key: [user], window: 10m, max: 3"));
    let times = [0, 1000, 2000, 3000, 30 * 60_000, 2 * HOUR];
    let lines = events(times, &json!({"user_id": "u"}));
    assert_eq!(verdicts(&policy, &lines), [Allow, Allow, Allow, Reject, Block, Allow]);
}

/// B27. Keys joined without their lengths met: go-chi/httprate#18.
#[test]
fn different_tuples_are_different_keys() {
    let policy = policy(&limit("", "key: [user, target], window: 60s, max: 5"));
    for pairs in [[("1", "23"), ("12", "3")], [("a|b", "c"), ("a", "b|c")], [("aa", "b"), ("a", "ab")]] {
        let lines = (0..6).map(|number| {
            let (user, target) = pairs[number % 2];
            event(number, number as i64, &json!({"user_id": user, "target_id": target}))
        });
        assert_eq!(fires_at(&policy, &lines.collect::<Vec<_>>()), None, "{pairs:?}");
    }
}

/// B29. One IPv6 subscriber has 2^64 addresses and a fresh quota at each: zulip#21544, globalping#691, #694,
/// AspNetCoreRateLimit#32, actix-governor#47.
#[test]
fn an_ipv6_prefix_is_one_address() {
    let from = |addresses: &[&str]| -> Vec<String> {
        let line = |(number, ip): (usize, &&str)| event(number, number as i64, &json!({ "ip": ip }));
        addresses.iter().enumerate().map(line).collect()
    };
    let hosts: Vec<String> = (1..=6).map(|n| format!("2001:db8:1:2::{n}")).collect();
    let hosts = from(&hosts.iter().map(String::as_str).collect::<Vec<_>>());
    let subnets: Vec<String> = (1..=6).map(|n| format!("2001:db8:1:{n}::1")).collect();
    let subnets = from(&subnets.iter().map(String::as_str).collect::<Vec<_>>());
    let by = |key: &str| policy(&limit("", &format!("key: [{key}], window: 60s, max: 5")));
    assert_eq!(fires_at(&by("ip"), &hosts), Some(6));
    assert_eq!(fires_at(&by("ip/128"), &hosts), None);
    assert_eq!(fires_at(&by("ip"), &subnets), None);
    assert_eq!(fires_at(&by("ip/56"), &subnets), Some(6));
    assert_eq!(fires_at(&by("ip/48"), &subnets), Some(6));
    let mapped = ["198.51.100.7", "::ffff:198.51.100.7"].repeat(3);
    assert_eq!(fires_at(&by("ip"), &from(&mapped)), Some(6), "one address in two spellings");
}

/// B31. The leftmost entry of a forwarded list was believed, which anyone can write: alps#18, quill-router#402,
/// pgedge-postgres-mcp#204, nebula-mesh#232, fess#3360.
#[test]
fn a_forwarded_list_is_read_from_the_right() {
    let policy = policy(&limit("addresses: { trusted_hops: 1 }", "key: [ip], window: 60s, max: 5"));
    for (list, address) in [
        ("9.9.9.9, 203.0.113.5", Some("203.0.113.5")),
        ("1.1.1.1", Some("1.1.1.1")),
        ("", None),
        ("garbage, 203.0.113.5", Some("203.0.113.5")),
        ("203.0.113.5, garbage", None),
        ("10.0.0.1:443", Some("10.0.0.1")),
        ("[2001:db8::1]:443", Some("2001:db8::/64")),
        ("unknown", None),
    ] {
        let lines = events(0..6, &json!({"user_id": "u", "xff": list}));
        let judged = judge(&policy, &lines);
        let told = judged[0].as_ref().and_then(|j| j.address).map(|address| address.to_string());
        assert_eq!(told.as_deref(), address, "{list:?}");
        let fires = address.map(|_| 6);
        assert_eq!(fires_at(&policy, &lines), fires, "{list:?}");
    }
}

/// B33. Without a key all were one, or nobody was: spring-cloud-gateway#624, #1214.
#[test]
fn an_empty_key_is_no_key() {
    let empty = [json!({}), json!({"user_id": ""}), json!({"user_id": null}), json!({"user_id": "  "})];
    let lines: Vec<String> = (0..10)
        .map(|number| {
            let mut fields = empty[number % 4].clone();
            fields["ip"] = json!("198.51.100.7");
            event(number, number as i64, &fields)
        })
        .collect();
    let skipping = policy(&limit("", "key: [user], window: 60s, max: 3"));
    assert_eq!(verdicts(&skipping, &lines), [Allow; 10]);
    let mut live = Live::new(&skipping);
    assert!(lines.iter().all(|line| live.line(line).1.is_some()));
    assert_eq!(live.engine.stats().skipped_empty, [10]);
    let refusing = policy(&limit("", "key: [user], window: 60s, max: 3, on_empty: refuse"));
    assert_eq!(verdicts(&refusing, &lines), [Reject; 10]);
}

/// B35. A flood of random keys cleared the victim's count, or the table grew without end: world-of-claudecraft#147,
/// immich-folio#56, #62, #94, governor#171, uxnan#101, openclaw#77986. The table holds some thousands of addresses.
#[test]
fn a_flood_of_random_keys_resets_nobody() {
    let memory = "memory: { dimension: 768KB, profiles: 1MB }\nduplicates: { budget: 1MB }";
    let policy = policy(&limit(memory, "key: [ip], window: 60s, max: 5"));
    let mut live = Live::new(&policy);
    let victim = json!({"ip": "198.51.100.7"});
    let mut line = |number: usize, at, fields: &Json| {
        live.line(&event(number, at, fields)).1.map(|judgement| judgement.verdict)
    };
    assert!((0..4).all(|number| line(number, number as i64, &victim) == Some(Allow)));
    for number in 0..200_000 {
        let ip = format!("10.{}.{}.{}", number >> 16, number >> 8 & 255, number & 255);
        let verdict = line(number, 10 + number as i64 / 8, &json!({ "ip": ip }));
        assert_eq!(verdict, Some(Allow), "the first event of {ip}");
    }
    let verdicts = [4, 5].map(|number| line(number, 29_000, &victim));
    assert_eq!(verdicts, [Some(Allow), Some(Reject)]);
    let accounts = live.engine.accounts();
    let held = accounts.iter().find(|account| account.name == "ip").expect("the dimension").stats;
    assert!(held.bytes <= 768 << 10 && (8_000..12_000).contains(&held.entries), "{held:?}");
}

/// B37. A negation over a field that was not there was true of everyone, or the row vanished:
/// elastic/detection-rules#6824, cdisc-rules-engine#221, hortonworks/streamline#805.
#[test]
fn the_unknown_is_neither_true_nor_its_negation() {
    let with = |attributes: Json| json!({"user_id": "u", "attributes": attributes});
    let console = [with(json!({})), with(json!({"console": "true"})), with(json!({"console": "false"}))];
    let both = [
        with(json!({})),
        with(json!({"a": "1"})),
        with(json!({"a": "1", "b": "1"})),
        with(json!({"a": "1", "b": "2"})),
    ];
    let declared = "attributes: { console: text, a: text, b: text }";
    for (when, fields, expected) in [
        ("!(event.attributes.console == 'true')", &console[..], &[Allow, Allow, Hold][..]),
        ("event.attributes.console != 'true'", &console, &[Allow, Allow, Hold]),
        ("!has(event.attributes.console)", &console, &[Hold, Allow, Allow]),
        (
            "!has(event.attributes.console) || event.attributes.console != 'true'",
            &console,
            &[Hold, Allow, Hold],
        ),
        ("event.attributes.a != event.attributes.b", &both, &[Allow, Allow, Allow, Hold]),
        ("event.attributes.a == event.attributes.b", &both, &[Allow, Allow, Hold, Allow]),
    ] {
        let policy = policy(&rule(declared, when));
        let lines: Vec<_> = fields.iter().enumerate().map(|(n, fields)| event(n, 0, fields)).collect();
        assert_eq!(verdicts(&policy, &lines), expected, "{when}");
    }
    let warned = loaded(&rule(declared, "!(event.attributes.console == 'true')")).warnings;
    assert!(!warned.is_empty(), "a negation over an optional field is warned about");
}

/// B39. Own addresses were banned: crowdsec#3655, #3656, #4099, crowdsecurity/hub#1266.
#[test]
fn own_addresses_are_never_refused_or_banned() {
    let step = "{ points: 1, verdict: block, for: 1h, code: P, text: t }";
    let sections = format!(
        "addresses: {{ trusted: [127.0.0.0/8, 10.0.0.0/8, \"::1\"] }}\npenalties: {{ half_life: 1h, steps: [{step}] }}"
    );
    for key in ["ip", "user", "device"] {
        let policy = policy(&limit(&sections, &format!("key: [{key}], window: 60s, max: 1")));
        for ip in ["127.0.0.53", "::ffff:10.1.2.3", "::1", "[::1]:443"] {
            let fields = json!({"ip": ip, "user_id": "u", "device": {"id": "d"}});
            let lines = events(0..10, &fields);
            assert_eq!(verdicts(&policy, &lines), [Allow; 10], "{key} from {ip}");
            let mut live = Live::new(&policy);
            let bans: usize = lines.iter().map(|line| (live.line(line), live.out.bans.len()).1).sum();
            assert_eq!((bans, live.engine.bans_in_force()), (0, 0), "{key} from {ip}");
        }
        let fields = json!({"ip": "11.1.2.3", "user_id": "u", "device": {"id": "d"}});
        assert_eq!(fires_at(&policy, &events(0..3, &fields)), Some(2), "{key} from elsewhere");
    }
}

/// A policy whose limit bans a device that sends more than three a minute.
fn banning() -> Arc<Policy> {
    let step = "{ points: 1, verdict: block, for: 1h, code: P, text: t }";
    let penalties = format!("penalties: {{ half_life: 1h, steps: [{step}] }}");
    policy(&limit(&penalties, "key: [device], window: 60s, max: 3"))
}

/// B41. A lifted ban came back with the next read of the same events: crowdsec#670, traefik bouncer#78,
/// cs-haproxy-spoa-bouncer#152, crowdsec-web-ui#70, #827, cs-custom-bouncer#5.
#[test]
fn a_lifted_ban_stays_lifted() {
    let policy = banning();
    let device = Entity::new(EntityKind::Device, "d1");
    let lines = events((0..10).map(|n| n * 400), &json!({"user_id": "u", "device": {"id": "d1"}}));
    let mut live = Live::new(&policy);
    let mut told = Vec::new();
    for line in &lines {
        live.line(line);
        told.extend(live.out.bans.iter().cloned());
    }
    assert_eq!(told.len(), 1, "one ban, one record");
    assert!(matches!(&told[0], BanChange::InForce(bans) if bans.len() == 1 && bans[0].entity == device));
    assert_eq!(live.unban(device.clone(), 5000), Outcome::CommandApplied);
    told.append(&mut live.out.bans);
    assert_eq!(
        told.last(),
        Some(&BanChange::Gone(device.clone())),
        "whoever reads the topic again finds no ban"
    );
    // The same records again, and the same events under other ids: older than the unban, so no new ban.
    for line in &lines {
        assert_eq!(live.line(line).0, Outcome::Duplicate);
    }
    for line in &lines {
        let judged = live.line(&again(line)).1.expect("decided");
        assert_ne!(judged.verdict, Block);
        assert!(live.out.bans.is_empty(), "{:?}", live.out.bans);
    }
    assert_eq!(live.engine.bans_in_force(), 0);
}

/// B43. A broken rule file ended the process, or emptied the rules: trafficserver#13600, apollo-mcp-server#718,
/// B41 after a loss of all state: the commands are read before the events.
#[test]
fn a_lifted_ban_stays_lifted_when_everything_is_read_again() {
    let policy = banning();
    let device = Entity::new(EntityKind::Device, "d1");
    let lines = events((0..10).map(|n| n * 400), &json!({"user_id": "u", "device": {"id": "d1"}}));
    let first = judge(&policy, &lines);
    let mut live = Live::new(&policy);
    live.unban(device, 5000);
    for (line, first) in lines.iter().zip(&first) {
        let judged = live.line(line).1.expect("decided");
        assert_eq!(Some(judged.id), first.as_ref().map(|j| j.id));
        assert_ne!(judged.verdict, Block);
        assert!(live.out.bans.is_empty(), "{:?}", live.out.bans);
    }
}

/// receptor#350, ipr-cnrs/nftables#3, trollbridge#129.
#[test]
fn a_broken_policy_is_none_and_says_where() {
    let good = limit("", "key: [user], window: 60s, max: 3");
    for (text, place) in [
        (good.replace("window: 60s", "window: 60"), "p.yaml:4:"),
        (good.replace("[user]", "[usr]"), "p.yaml:4:"),
        (good.replace("max: 3", "max: -3"), "p.yaml:4:"),
        (format!("{good}rulez: []\n"), "p.yaml:5:1:"),
        (format!("{good}  - {{ id: [\n"), "p.yaml:"),
    ] {
        let problems = load(&[("p.yaml".to_owned(), format!("version: 1\n{text}"))]).expect_err("broken");
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|problem| problem.starts_with(place)), "{place}: {told:?}");
    }
}
