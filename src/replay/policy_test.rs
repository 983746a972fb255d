//! The tests beside limits and rules, run through the engine as it runs live.
//!
//! Each test has an engine of its own. Its events become interaction records and are read like any other; they happen
//! in the order of their times, and are numbered from 1 in that order.

use std::net::IpAddr;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::coverage::Coverage;
use crate::engine::decision::Judgement;
use crate::engine::event::Arrival;
use crate::engine::key::HashSeed;
use crate::engine::policy::Policy;
use crate::engine::policy::duration::parse_duration;
use crate::engine::policy::raw::Value;
use crate::engine::policy::tests::{Expectation, RuleTest, START, TestEvent};
use crate::engine::time::Timestamp;
use crate::engine::{Engine, Input, Outputs};
use crate::wire::interaction::{DecodeLimits, decode};

/// Any seed gives the same verdicts; tests use this one.
const SEED: HashSeed = HashSeed(0x7465, 0x7374);

/// Runs one test; returns what did not hold, in words. Empty is passed.
pub fn run_test(policy: &Arc<Policy>, test: &RuleTest) -> Vec<String> {
    run(policy, test, &mut None)
}

/// The same, and notes what it reached.
pub fn run_covered(policy: &Arc<Policy>, test: &RuleTest, coverage: &mut Coverage) -> Vec<String> {
    run(policy, test, &mut Some(coverage))
}

fn run(policy: &Arc<Policy>, test: &RuleTest, coverage: &mut Option<&mut Coverage>) -> Vec<String> {
    let events = match records(test) {
        Ok(events) => events,
        Err(problem) => return vec![problem],
    };
    match judge(policy, &events, coverage) {
        Ok(judgements) => test.expect.iter().flat_map(|expect| unmet(expect, test, &judgements)).collect(),
        Err(problem) => vec![problem],
    }
}

/// The events of a test as interaction records, in the order of their times.
fn records(test: &RuleTest) -> Result<Vec<Vec<u8>>, String> {
    let mut events = Vec::new();
    for line in &test.events {
        for number in 0..line.repeat {
            let at = START.after(line.at).after(line.every.times(i64::from(number)));
            events.push((at, record(line, number, at)?));
        }
    }
    events.sort_by_key(|(at, _)| *at);
    let numbered = events.into_iter().enumerate().map(|(number, (_, mut event))| {
        event.entry("event_id").or_insert_with(|| Json::from(format!("test-{}", number + 1)));
        Json::Object(event).to_string().into_bytes()
    });
    Ok(numbered.collect())
}

fn record(line: &TestEvent, number: u32, at: Timestamp) -> Result<Map<String, Json>, String> {
    let mut event: Map<String, Json> = line.fields.iter().map(|(name, v)| (name.clone(), json(v))).collect();
    event.entry("occurred_at").or_insert_with(|| Json::from(at.millis()));
    if let Some(account) = event.get_mut("account").and_then(Json::as_object_mut) {
        registered(account, at)?;
    }
    if line.repeat > 1 {
        for field in &line.vary {
            vary(&mut event, field, number)?;
        }
    }
    Ok(event)
}

/// `age` of an account is short for its registration time.
fn registered(account: &mut Map<String, Json>, at: Timestamp) -> Result<(), String> {
    let Some(age) = account.remove("age") else { return Ok(()) };
    let text = age.as_str().ok_or("account.age is a duration such as 40d")?;
    let age = parse_duration(text).map_err(|error| format!("account.age: {error}"))?;
    account.insert("created_at".to_owned(), Json::from(at.before(age).millis()));
    Ok(())
}

/// Makes a field differ between repetitions. `device` means its id; dots name fields inside.
fn vary(event: &mut Map<String, Json>, field: &str, number: u32) -> Result<(), String> {
    let path = if field == "device" { "device.id" } else { field };
    let (outer, last) = path.rsplit_once('.').unwrap_or(("", path));
    let mut place = &mut *event;
    for part in outer.split('.').filter(|part| !part.is_empty()) {
        let inner = place.entry(part).or_insert_with(|| Json::Object(Map::new()));
        place = inner.as_object_mut().ok_or_else(|| format!("vary: {part} is no object"))?;
    }
    let value = place.entry(last).or_insert_with(|| Json::from(last));
    *value = match value.as_str() {
        Some(text) if last == "ip" => Json::from(next_address(text, number)?),
        Some(text) => Json::from(format!("{text}-{}", number + 1)),
        None => return Err(format!("vary: {field} is no text")),
    };
    Ok(())
}

fn next_address(text: &str, number: u32) -> Result<String, String> {
    match text.parse() {
        Ok(IpAddr::V4(v4)) => Ok(IpAddr::from((v4.to_bits().wrapping_add(number)).to_be_bytes()).to_string()),
        // The next /64: addresses within one count as one.
        Ok(IpAddr::V6(v6)) => {
            let bits = v6.to_bits().wrapping_add(u128::from(number) << 64);
            Ok(IpAddr::from(bits.to_be_bytes()).to_string())
        }
        Err(error) => Err(format!("vary: ip: {error}")),
    }
}

fn json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(b) => Json::from(*b),
        Value::Int(i) => Json::from(*i),
        Value::Double(d) => Json::from(*d),
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(entries) => entries.iter().map(|(name, value)| (name.clone(), json(value))).collect(),
    }
}

/// A decision, and the rules and limits in shadow that would have spoken.
type Answer = (Judgement, Vec<String>);

/// What was decided on each event; `None` for a duplicate.
fn judge(
    policy: &Arc<Policy>,
    events: &[Vec<u8>],
    coverage: &mut Option<&mut Coverage>,
) -> Result<Vec<Option<Answer>>, String> {
    let mut engine = Engine::new(Arc::clone(policy), SEED);
    let mut outputs = Outputs::default();
    let mut judgements = Vec::with_capacity(events.len());
    for (number, bytes) in events.iter().enumerate() {
        let decoded = decode(Some(bytes), &[], &DecodeLimits::default())
            .map_err(|error| format!("event {}: {error}", number + 1))?;
        let append_time = decoded.append_time.unwrap_or(decoded.event.occurred_at);
        let arrival = Arrival { topic: "test", partition: 0, offset: number as i64, append_time };
        outputs.clear();
        if coverage.is_some() {
            engine.trace_next_plainly();
        }
        engine.apply(Input::Event(&decoded.event, arrival), &mut outputs);
        if let (Some(coverage), Some(trace)) = (coverage.as_deref_mut(), engine.take_trace()) {
            coverage.note(&trace);
        }
        let shadow: Vec<String> = outputs.shadow.iter().map(|reason| reason.source.id.clone()).collect();
        judgements.push(outputs.judgement.take().map(|judgement| (judgement, shadow)));
    }
    Ok(judgements)
}

/// What of an expectation does not hold.
fn unmet(expect: &Expectation, test: &RuleTest, judgements: &[Option<Answer>]) -> Vec<String> {
    let number = expect.event.unwrap_or(judgements.len());
    let Some(Some((judgement, shadow))) = number.checked_sub(1).and_then(|index| judgements.get(index))
    else {
        return vec![format!("event {number}: there is no decision on it")];
    };
    let mut unmet = Vec::new();
    let mut hold = |holds: bool, what: String| {
        if !holds {
            unmet.push(format!("event {number}: {what}; {}", told(judgement)));
        }
    };
    let names = |id: &str| judgement.reasons.iter().any(|reason| reason.source.id == id);
    if let Some(verdict) = expect.verdict {
        hold(judgement.verdict == verdict, format!("expected {verdict}, got {}", judgement.verdict));
    }
    if let Some(by) = &expect.by {
        hold(names(by), format!("expected `{by}` among its reasons"));
    }
    if let Some(wait) = expect.retry_after {
        let got = judgement.retry_after.map_or("none".to_owned(), |got| got.to_string());
        hold(judgement.retry_after == Some(wait), format!("expected a wait of {wait}, got {got}"));
    }
    if let Some(fires) = expect.fires {
        let words = if fires { "to be" } else { "not to be" };
        let fired = names(&test.about) || shadow.contains(&test.about);
        hold(fired == fires, format!("expected `{}` {words} among its reasons", test.about));
    }
    unmet
}

/// The reasons of a decision in one line.
fn told(judgement: &Judgement) -> String {
    let reason = |reason: &crate::engine::decision::Reason| {
        let asks = reason.verdict.map(|verdict| format!(" {verdict}")).unwrap_or_default();
        format!("{}{asks} {:+}", reason.source.id, reason.points)
    };
    let reasons: Vec<String> = judgement.reasons.iter().map(reason).collect();
    format!("score {} by {}", judgement.score, reasons.join(", "))
}
