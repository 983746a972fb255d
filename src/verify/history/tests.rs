//! A right history, made by the engine itself; and every mistake that must be found in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::{Committed, History, LogRecord, Options, Verdict, check};
use crate::engine::ban::{Ban, BanChange};
use crate::engine::decision::Decision;
use crate::engine::entity::Entity;
use crate::engine::event::Arrival;
use crate::engine::key::HashSeed;
use crate::engine::policy::Policy;
use crate::engine::policy::load::load;
use crate::engine::time::Timestamp;
use crate::engine::{Engine, Input, Outcome, Outputs, SEMANTICS};
use crate::wire::dead_letter::{self, Content, Origin};
use crate::wire::error::DecodeError;
use crate::wire::headers::TraceContext;
use crate::wire::interaction::{DecodeLimits, Decoded, decode};
use crate::wire::{ban, case, command, decision, policy};

const T: i64 = 1_750_000_000_000;
const INTERACTIONS: &str = "engagement.interactions.v1";
const COMMANDS: &str = "risk.commands.v1";

const POLICY: &str = r#"
version: 1
time: { grace: 5s, skew: 2s, max_skew: 1m }
penalties:
  half_life: 1h
  steps: [{ points: 3, verdict: block, for: 40s, code: DAY, text: d }]
signals:
  - { name: done, key: [user], window: 1h, count: {} }
  - { name: people, key: [target], window: 1h, distinct: user }
limits:
  - { id: often, key: [user, action], window: 10s, max: 2, verdict: challenge, code: OFTEN, text: t, source: s, owner: o }
  - { id: first, key: [target], window: 2s, max: 1, verdict: reject, code: FIRST, text: t, source: s, owner: o }
rules:
  - { id: much, family: volume, when: done >= 8, points: 5, value: done, code: MUCH, text: t, source: s, owner: o }
  - { id: crowd, family: group, when: people >= 3, points: 5, value: people, case: { entity: target, proposal: look }, code: CROWD, text: t, source: s, owner: o }
"#;

fn small() -> Arc<Policy> {
    load(&[("p.yaml".to_owned(), POLICY.to_owned())]).expect("valid").policy
}

/// What goes wrong while a history is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// Inputs of a batch are applied as they came.
    ByArrival,
    /// In the middle of the stream all counters are lost, as by a careless reload.
    CountersLost,
    /// State is lost and begun anew, rightly.
    Reset,
    /// The same, and who was banned goes free.
    ResetFrees,
}

/// Makes a history as a shard would.
struct Recorder {
    engine: Engine,
    history: History,
    mistake: Mistake,
    positions: BTreeMap<(String, i32), i64>,
    lineage: u64,
    seq: u64,
    records: u64,
}

fn record(topic: &str, partition: i32, offset: i64, at: i64, key: &str, value: Option<Vec<u8>>) -> LogRecord {
    LogRecord {
        topic: topic.to_owned(),
        partition,
        offset,
        timestamp: Some(Timestamp::from_millis(at)),
        key: Some(key.as_bytes().to_vec()),
        headers: Vec::new(),
        unreadable: false,
        value,
    }
}

impl Recorder {
    fn new(mistake: Mistake) -> Self {
        let mut history = History::default();
        let policy = small();
        let text = policy::encode(&policy.hash, &policy.sources);
        history.policies.push(record("risk.policies.v1", 0, 0, T, &policy.hash, Some(text)));
        let engine = Engine::new(policy, HashSeed(1, 2));
        Self { engine, history, mistake, positions: BTreeMap::new(), lineage: 0, seq: 0, records: 0 }
    }

    /// Puts inputs into their topics. Returns their ranges.
    fn arrive(&mut self, inputs: &[(i32, i64, String)]) -> Vec<LogRecord> {
        let mut arrived = Vec::new();
        for (partition, at, value) in inputs {
            let topic = if value.contains("command_id") { COMMANDS } else { INTERACTIONS };
            let all =
                if topic == COMMANDS { &mut self.history.commands } else { &mut self.history.interactions };
            let offset = all.iter().filter(|record| record.partition == *partition).count() as i64;
            let input = record(topic, *partition, offset, *at, "k", Some(value.clone().into_bytes()));
            all.push(input.clone());
            arrived.push(input);
        }
        arrived
    }

    fn batch(&mut self, inputs: &[(i32, i64, String)], ticks: &[i64]) {
        let arrived = self.arrive(inputs);
        for tick in ticks {
            let mut out = Outputs::default();
            self.engine.apply(Input::Tick(Timestamp::from_millis(*tick)), &mut out);
            self.tell(&out);
        }
        let (commands, interactions): (Vec<_>, Vec<_>) =
            arrived.iter().partition(|input| input.topic == COMMANDS);
        commands.into_iter().for_each(|input| self.command(input));
        for input in self.order(interactions) {
            self.interaction(&input);
        }
        let mut ranges = BTreeMap::<(String, i32), (i64, i64)>::new();
        for input in &arrived {
            let lane = (input.topic.clone(), input.partition);
            let range = ranges.entry(lane).or_insert((input.offset, input.offset));
            range.1 = input.offset + 1;
        }
        for (lane, (_, to)) in &ranges {
            self.positions.insert(lane.clone(), *to);
        }
        let ranges = ranges.iter().map(|((topic, partition), (from, to))| {
            json!({ "topic": topic, "partition": partition, "from": from, "to": to })
        });
        self.journal("batch", &ranges.collect(), ticks);
    }

    fn order(&self, inputs: Vec<&LogRecord>) -> Vec<LogRecord> {
        let mut left: Vec<LogRecord> = inputs.into_iter().cloned().collect();
        if self.mistake == Mistake::ByArrival {
            return left;
        }
        let mut ordered = Vec::new();
        while !left.is_empty() {
            let is_head =
                |index: usize| left[..index].iter().all(|other| other.partition != left[index].partition);
            let heads = (0..left.len()).filter(|index| is_head(*index));
            let next = heads.min_by_key(|index| (self.effective(&left[*index]), left[*index].partition));
            ordered.push(left.remove(next.expect("one is left")));
        }
        ordered
    }

    fn effective(&self, input: &LogRecord) -> Timestamp {
        let append = input.timestamp.expect("given");
        let settings = &self.engine.policy().settings;
        let decoded = decode(input.value.as_deref(), &[], &DecodeLimits::default());
        let at = decoded.map(|decoded| settings.effective_time(decoded.event.occurred_at, append));
        at.ok().and_then(Result::ok).map_or(append, |(at, _)| at)
    }

    fn interaction(&mut self, input: &LogRecord) {
        let append_time = input.timestamp.expect("given");
        let decoded = match decode(input.value.as_deref(), &[], &DecodeLimits::default()) {
            Ok(decoded) => decoded,
            Err(error) => return self.dead_letter(input, &error),
        };
        let arrival =
            Arrival { topic: INTERACTIONS, partition: input.partition, offset: input.offset, append_time };
        let mut out = Outputs::default();
        if let Outcome::DeadLettered(reason) =
            self.engine.apply(Input::Event(&decoded.event, arrival), &mut out)
        {
            self.dead_letter(input, &DecodeError::new(reason, "occurred_at", "too far ahead"));
        }
        self.decision(&decoded, arrival, &out);
        self.tell(&out);
    }

    fn decision(&mut self, decoded: &Decoded<'_>, arrival: Arrival<'_>, out: &Outputs) {
        let Some(judgement) = &out.judgement else { return };
        let decision = Decision { event: &decoded.event, arrival, judgement };
        let mut value = Vec::new();
        decision::encode(&decision, Timestamp::from_millis(T), SEMANTICS, &mut value);
        let offset = self.history.decisions.len() as i64;
        let key = decision::key(&decision).into_owned();
        let mut told = record("risk.decisions.v1", 0, offset, T, &key, Some(value));
        let id = judgement.id.to_string();
        let trace = TraceContext::default();
        let headers = decision::headers(&id, &trace);
        told.headers = headers.map(|(name, value)| (name.to_owned(), Some(value.to_vec()))).collect();
        self.history.decisions.push(told);
    }

    fn dead_letter(&mut self, input: &LogRecord, error: &DecodeError) {
        let origin = Origin {
            topic: &input.topic,
            partition: input.partition,
            offset: input.offset,
            timestamp: input.timestamp,
        };
        let offset = self.history.dead_letters.len() as i64;
        let mut letter = record("risk.dead-letters.v1", 0, offset, T, "k", input.value.clone());
        let headers = dead_letter::headers(&origin, error, Content::Original, "0");
        letter.headers = headers.into_iter().map(|(name, value)| (name, Some(value.into_bytes()))).collect();
        self.history.dead_letters.push(letter);
    }

    fn command(&mut self, input: &LogRecord) {
        let command = command::decode(input.value.as_deref(), &[]).expect("written here");
        let append_time = input.timestamp.expect("given");
        let arrival =
            Arrival { topic: COMMANDS, partition: input.partition, offset: input.offset, append_time };
        let mut out = Outputs::default();
        self.engine.apply(Input::Command(&command, arrival), &mut out);
        self.tell(&out);
    }

    fn tell(&mut self, out: &Outputs) {
        for change in &out.bans {
            self.tell_ban(change);
        }
        for told in &out.cases {
            let offset = self.history.cases.len() as i64;
            self.history.cases.push(record(
                "risk.cases.v1",
                0,
                offset,
                T,
                &told.id,
                Some(case::encode(told)),
            ));
        }
    }

    fn tell_ban(&mut self, change: &BanChange) {
        let offset = self.history.bans.len() as i64;
        self.history.bans.push(record("risk.bans.v1", 0, offset, T, &ban::key(change), ban::encode(change)));
    }

    fn journal(&mut self, kind: &str, ranges: &Vec<serde_json::Value>, ticks: &[i64]) {
        let positions: Vec<_> = self.positions.iter().map(|((topic, partition), offset)| {
            json!({ "topic": topic, "partition": partition, "offset": offset })
        }).collect();
        let value = json!({
            "kind": kind,
            "lineage": format!("line-{}", self.lineage),
            "seq": self.seq,
            "chain": format!("{:064x}", self.records + 1),
            "policy": &*self.engine.policy().hash,
            "basis": "b",
            "ticks": ticks,
            "ranges": ranges,
            "skipped": [],
            "positions": positions,
        });
        let offset = self.records as i64;
        self.history.journal.push(record(
            "risk.journal.v1",
            0,
            offset,
            T,
            "0",
            Some(value.to_string().into_bytes()),
        ));
        self.seq += 1;
        self.records += 1;
    }

    /// What goes wrong, or must not, in the middle.
    fn middle(&mut self) {
        let fresh = || Engine::new(small(), HashSeed(1, 2));
        let bans: Vec<Ban> = in_force(&self.history);
        match self.mistake {
            Mistake::None | Mistake::ByArrival => return,
            Mistake::CountersLost => {
                self.engine = fresh();
                self.engine.restore_bans(bans);
                return;
            }
            Mistake::Reset => {
                self.engine = fresh();
                self.engine.restore_bans(bans);
            }
            Mistake::ResetFrees => {
                self.engine = fresh();
                for ban in bans {
                    self.tell_ban(&BanChange::Gone(ban.entity));
                }
            }
        }
        (self.lineage, self.seq) = (self.lineage + 1, 0);
        self.journal("reset", &Vec::new(), &[]);
    }
}

/// The bans that the topic tells.
fn in_force(history: &History) -> Vec<Ban> {
    let mut newest = BTreeMap::<Entity, Vec<Ban>>::new();
    for told in &history.bans {
        match ban::decode(told.key.as_deref(), told.value.as_deref()).expect("written here") {
            BanChange::InForce(bans) => newest.insert(bans[0].entity.clone(), bans),
            BanChange::Lifted { entity, .. } | BanChange::Gone(entity) => newest.remove(&entity),
        };
    }
    newest.into_values().flatten().collect()
}

fn act(id: &str, user: &str, target: &str, at: i64) -> String {
    json!({ "event_id": id, "occurred_at": at, "action": "like", "user_id": user, "target_id": target, "ip": "198.51.100.7" })
        .to_string()
}

fn ban_command(id: &str, entity: &str, at: i64) -> String {
    json!({ "command_id": id, "actor": "ann", "at": at, "reason": "r", "action": "ban", "entity": entity })
        .to_string()
}

/// Ninety seconds of a few users in two partitions, in batches of about ten. A robot is banned and its ban ends; two
/// are banned by hand and stay so; one record is no JSON, one is from the future, one comes twice.
fn history(mistake: Mistake) -> History {
    let mut recorder = Recorder::new(mistake);
    for batch in 0..9_i64 {
        let mut inputs = Vec::new();
        let begin = T + batch * 10_000;
        if batch == 2 {
            inputs.push((0, begin, ban_command("c1", "user:u3", begin)));
            inputs.push((0, begin, ban_command("c2", "user:away", begin)));
        }
        for second in 0..10_i64 {
            let at = begin + second * 1000;
            let number = batch * 10 + second;
            let user = ["u1", "u2", "u3", "u4"][(number % 4) as usize];
            inputs.push((
                (number % 2) as i32,
                at + 500,
                act(&format!("e{number}"), user, &format!("t{}", number % 7), at),
            ));
            if batch < 2 {
                inputs.push((
                    0,
                    at + 600,
                    act(&format!("r{number}"), "robot", &format!("x{number}"), at + 100),
                ));
            }
            if second == 4 {
                // Partition 1 tells first what happened later.
                inputs.push((1, at + 700, act(&format!("a{number}"), "u5", "same", at + 650)));
                inputs.push((0, at + 800, act(&format!("b{number}"), "u6", "same", at + 150)));
            }
        }
        match batch {
            1 => inputs.push((1, begin + 9_900, "{ no json".to_owned())),
            3 => inputs.push((1, begin + 9_900, act("f", "u1", "t", begin + 200_000))),
            4 => inputs.push((0, begin + 9_900, act("e40", "u1", "t5", begin))),
            5 => recorder.middle(),
            _ => {}
        }
        recorder.batch(&inputs, &[]);
    }
    recorder.batch(&[], &[T + 95_000, T + 100_000]);
    recorder.history
}

fn checked(history: &History) -> Verdict {
    check(history, &Options { model: true, ..Options::default() })
}

/// The kinds of violations and a text among them.
fn kinds(verdict: &Verdict) -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = verdict.violations.iter().map(|violation| violation.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn text(value: &Option<Vec<u8>>) -> String {
    String::from_utf8(value.clone().expect("a value")).expect("text")
}

#[track_caller]
fn finds(verdict: &Verdict, kind: &str, place: &str) {
    let found = verdict
        .violations
        .iter()
        .any(|violation| violation.kind == kind && violation.to_string().contains(place));
    assert!(found, "no {kind} at {place} in\n{verdict}");
}

#[test]
fn a_right_history_has_nothing_wrong() {
    for mistake in [Mistake::None, Mistake::Reset] {
        let history = history(mistake);
        let verdict = checked(&history);
        assert!(verdict.is_clean(), "{mistake:?}\n{verdict}");
        assert!(verdict.checked["decisions compared"] > 100, "{verdict}");
        assert_eq!(verdict.checked["duplicates"], 1, "{verdict}");
        assert_eq!(verdict.checked["dead letters compared"], 2, "{verdict}");
        assert!(verdict.checked["cases compared"] >= 1, "{verdict}");
        assert!(verdict.checked["banned entities compared"] >= 2, "{verdict}");
        assert!(verdict.to_string().ends_with("nothing is wrong\n"), "{verdict}");
    }
}

#[test]
fn the_robot_is_banned_and_its_ban_ends() {
    let history = history(Mistake::None);
    let robot: Vec<bool> = history
        .bans
        .iter()
        .filter(|told| told.key.as_deref() == Some(b"user:robot"))
        .map(|told| told.value.is_some())
        .collect();
    assert_eq!(robot, [true, false]);
}

#[test]
fn a_lost_output_is_found_at_its_input() {
    let mut history = history(Mistake::None);
    let lost = history.decisions.remove(7);
    let lost = decision::decode(lost.value.as_deref()).expect("written here").source;
    let verdict = checked(&history);
    finds(&verdict, "lost output", &format!("{}-{}@{}", lost.topic, lost.partition, lost.offset));
    let verdict = check(&history, &Options::default());
    finds(&verdict, "lost output", &format!("{}-{}@{}", lost.topic, lost.partition, lost.offset));
}

#[test]
fn a_doubled_output_is_found_where_it_stands() {
    let mut history = history(Mistake::None);
    let mut double = history.decisions[7].clone();
    double.offset = history.decisions.len() as i64;
    let place = double.place().to_string();
    history.decisions.push(double);
    finds(&checked(&history), "two outcomes", &place);
}

#[test]
fn a_changed_decision_is_found_where_it_stands() {
    let mut history = history(Mistake::None);
    let changed =
        history.decisions.iter_mut().find(|told| text(&told.value).contains(r#""verdict":"reject""#));
    let changed = changed.expect("somebody is refused");
    changed.value = Some(text(&changed.value).replacen("reject", "allow", 1).into_bytes());
    let place = changed.place().to_string();
    finds(&checked(&history), "decision differs", &place);
}

#[test]
fn a_decision_of_nothing_and_one_with_another_id_are_found() {
    let mut history = history(Mistake::None);
    history.interactions.remove(20);
    let verdict = check(&history, &Options::default());
    assert_eq!(kinds(&verdict), ["outcome without input"], "{verdict}");
    let mut history = self::history(Mistake::None);
    let told = &mut history.decisions[3];
    told.value = Some(text(&told.value).replacen(r#""event_id":""#, r#""event_id":"z"#, 1).into_bytes());
    let place = told.place().to_string();
    finds(&checked(&history), "decision id", &place);
}

#[test]
fn a_gap_in_the_journal_is_found() {
    let mut history = history(Mistake::None);
    history.journal.remove(4);
    let verdict = checked(&history);
    finds(&verdict, "journal gap", "risk.journal.v1-0@5");
    finds(&verdict, "range gap", "risk.journal.v1-0@5");
    finds(&verdict, "outcome without journal", "risk.decisions.v1");
}

#[test]
fn an_overlapping_range_is_found() {
    let mut history = history(Mistake::None);
    let mut value: serde_json::Value = serde_json::from_str(&text(&history.journal[4].value)).expect("JSON");
    let from = value["ranges"][0]["from"].as_i64().expect("a number");
    value["ranges"][0]["from"] = json!(from - 1);
    history.journal[4].value = Some(value.to_string().into_bytes());
    finds(&checked(&history), "range overlap", "risk.journal.v1-0@4");
}

#[test]
fn offsets_committed_before_or_behind_the_journal_are_found() {
    let mut history = history(Mistake::None);
    let count = |inputs: &[LogRecord], partition| {
        inputs.iter().filter(|input| input.partition == partition).count() as i64
    };
    let mut others = Vec::new();
    let all = [(INTERACTIONS, &history.interactions), ("risk.commands.v1", &history.commands)];
    for (topic, inputs) in all {
        let end = count(inputs, 0);
        others.push(Committed { topic: topic.to_owned(), partition: 0, next: end });
    }
    let end = count(&history.interactions, 1);
    let mut check = |next: Option<i64>| {
        let committed = next.map(|next| Committed { topic: INTERACTIONS.to_owned(), partition: 1, next });
        history.committed = others.iter().cloned().chain(committed).collect();
        checked(&history)
    };
    let right = check(Some(end));
    assert!(right.is_clean(), "{right}");
    finds(&check(Some(end + 1)), "committed early", &format!("{INTERACTIONS}-1@{}", end + 1));
    finds(&check(Some(end - 1)), "committed late", &format!("{INTERACTIONS}-1@{}", end - 1));
    finds(&check(None), "committed late", &format!("{INTERACTIONS}-1@{end}"));
}

#[test]
fn a_missed_expiry_is_found() {
    let mut history = history(Mistake::None);
    history.bans.retain(|told| told.value.is_some() || told.key.as_deref() != Some(b"user:robot"));
    let verdict = check(&history, &Options::default());
    finds(&verdict, "ban expiry missed", "user:robot");
    assert_eq!(kinds(&verdict), ["ban expiry missed"]);
}

#[test]
fn a_ban_lost_at_a_reset_is_found() {
    let history = history(Mistake::ResetFrees);
    let verdict = checked(&history);
    finds(&verdict, "ban lost", "user:away");
    finds(&verdict, "decision differs", "verdict is allow, not block");
}

#[test]
fn a_merge_by_arrival_is_found() {
    let history = history(Mistake::ByArrival);
    let verdict = checked(&history);
    assert_eq!(kinds(&verdict), ["decision differs"], "{verdict}");
    finds(&verdict, "decision differs", "first");
}

#[test]
fn counters_lost_by_a_reload_are_found() {
    let history = history(Mistake::CountersLost);
    let verdict = checked(&history);
    finds(&verdict, "decision differs", "much");
    assert!(check(&history, &Options::default()).is_clean(), "only the model can know");
}

#[test]
fn a_wrong_chain_is_told_by_whoever_can_compute_it() {
    let history = history(Mistake::None);
    let chain = |_: Option<&_>, record: &crate::wire::journal::JournalRecord| match record.seq {
        3 => Err("the chain is another".to_owned()),
        _ => Ok(()),
    };
    let verdict = check(&history, &Options { chain: Some(&chain), ..Options::default() });
    assert_eq!(kinds(&verdict), ["journal chain"]);
    finds(&verdict, "journal chain", "risk.journal.v1-0@3");
}
