//! The tests beside limits and rules, as data: events in, expectations about the decisions.
//!
//! They are checked for their shape here and run elsewhere, through the very engine that runs live.

use super::duration::parse_duration;
use super::nearest::did_you_mean;
use super::problem::Report;
use super::raw::{RawTest, Value};
use super::reader::At;
use super::source::Position;
use crate::engine::time::{Span, Timestamp};
use crate::engine::verdict::Verdict;

/// When `at: 0s` is: 2025-06-15T12:00:00Z.
pub const START: Timestamp = Timestamp::from_millis(1_749_988_800_000);

/// The most events one line of a test may stand for.
pub const MOST_REPEATS: u32 = 100_000;

/// One test.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleTest {
    /// Id of the limit, rule or pool it stands beside.
    pub about: String,
    /// What it shows.
    pub name: String,
    /// File it is in.
    pub file: String,
    /// Line it begins at.
    pub line: usize,
    /// The events, in the order of the file.
    pub events: Vec<TestEvent>,
    /// What must come out.
    pub expect: Vec<Expectation>,
}

/// One line of events.
#[derive(Clone, Debug, PartialEq)]
pub struct TestEvent {
    /// When the first happens, after `START`.
    pub at: Span,
    /// How many there are.
    pub repeat: u32,
    /// How far apart.
    pub every: Span,
    /// Fields that differ between the repetitions: `-1`, `-2`, ... is appended, addresses count up.
    pub vary: Vec<String>,
    /// Fields as in the interaction schema; `account.age` (a duration) besides.
    pub fields: Vec<(String, Value)>,
}

/// What must be true of one decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectation {
    /// Of which event, from 1; `None` is the last.
    pub event: Option<usize>,
    /// Its verdict.
    pub verdict: Option<Verdict>,
    /// A limit or rule among its reasons.
    pub by: Option<String>,
    /// How long to wait.
    pub retry_after: Option<Span>,
    /// Whether the limit or rule the test stands beside is among its reasons.
    pub fires: Option<bool>,
}

const LINE_FIELDS: [&str; 4] = ["at", "repeat", "every", "vary"];
const EVENT_FIELDS: [&str; 19] = [
    "at",
    "repeat",
    "every",
    "vary",
    "event_id",
    "occurred_at",
    "action",
    "user_id",
    "target_id",
    "target_owner_id",
    "ip",
    "forwarded_for",
    "device",
    "account",
    "user_agent",
    "session_id",
    "outcome",
    "content_hash",
    "attributes",
];
const EXPECT_FIELDS: [&str; 5] = ["event", "verdict", "by", "retry_after", "fires"];

/// Reads the tests beside one limit, rule or pool.
pub(super) fn read(about: &str, raw: &[At<RawTest>], report: &Report<'_>) -> Vec<RuleTest> {
    raw.iter().filter_map(|test| read_test(about, test, report)).collect()
}

fn read_test(about: &str, raw: &At<RawTest>, report: &Report<'_>) -> Option<RuleTest> {
    let place = report.sources().place(raw.at);
    if raw.value.events.is_empty() {
        report.error(raw.at, "a test without events shows nothing");
    }
    let events: Vec<Option<TestEvent>> =
        raw.value.events.iter().map(|event| read_event(event.at, &event.value, report)).collect();
    let expect = read_expectations(&raw.value.expect, report);
    Some(RuleTest {
        about: about.to_owned(),
        name: raw.value.name.clone(),
        file: place.file.to_owned(),
        line: place.line,
        events: events.into_iter().collect::<Option<Vec<_>>>()?,
        expect: expect?,
    })
}

fn read_event(at: Position, value: &Value, report: &Report<'_>) -> Option<TestEvent> {
    let entries = entries(at, value, &EVENT_FIELDS, report)?;
    let get = |name: &str| entries.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let fields: Vec<(String, Value)> =
        entries.iter().filter(|(key, _)| !LINE_FIELDS.contains(&key.as_str())).cloned().collect();
    if !fields.iter().any(|(key, _)| key == "action") {
        report.error(at, "an event needs an `action`");
    }
    if !fields.iter().any(|(key, _)| key == "user_id" || key == "ip") {
        report.error(at, "an event needs a `user_id` or an `ip`");
    }
    Some(TestEvent {
        at: span(at, get("at"), report)?,
        repeat: repeat(at, get("repeat"), report)?,
        every: span(at, get("every"), report)?,
        vary: words(at, get("vary"), report)?,
        fields,
    })
}

fn entries<'a>(
    at: Position,
    value: &'a Value,
    known: &[&'static str],
    report: &Report<'_>,
) -> Option<&'a Vec<(String, Value)>> {
    let Value::Map(entries) = value else {
        report.error(at, format!("expected a map of {}", known.join(", ")));
        return None;
    };
    for (key, _) in entries {
        if !known.contains(&key.as_str()) {
            report.error_with(at, format!("unknown field `{key}`"), did_you_mean(key, known));
        }
    }
    Some(entries)
}

fn span(at: Position, value: Option<&Value>, report: &Report<'_>) -> Option<Span> {
    let text = match value {
        None => return Some(Span::ZERO),
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Int(number)) => number.to_string(),
        Some(_) => String::new(),
    };
    parse_duration(&text).map_err(|error| report.error(at, error.to_string())).ok()
}

fn repeat(at: Position, value: Option<&Value>, report: &Report<'_>) -> Option<u32> {
    match value {
        None => Some(1),
        Some(Value::Int(number)) if (1..=i64::from(MOST_REPEATS)).contains(number) => {
            u32::try_from(*number).ok()
        }
        Some(_) => {
            report.error(at, format!("`repeat` is a whole number from 1 to {MOST_REPEATS}"));
            None
        }
    }
}

fn words(at: Position, value: Option<&Value>, report: &Report<'_>) -> Option<Vec<String>> {
    let items = match value {
        None => return Some(Vec::new()),
        Some(Value::List(items)) => items.iter().map(text_of).collect::<Option<Vec<String>>>(),
        Some(_) => None,
    };
    if items.is_none() {
        report.error(at, "`vary` is a list of field names");
    }
    items
}

fn text_of(value: &Value) -> Option<String> {
    if let Value::Text(text) = value { Some(text.clone()) } else { None }
}

fn read_expectations(raw: &At<Value>, report: &Report<'_>) -> Option<Vec<Expectation>> {
    let items = match &raw.value {
        Value::List(items) => items.iter().collect(),
        one => vec![one],
    };
    let read: Vec<Option<Expectation>> =
        items.into_iter().map(|item| read_expectation(raw.at, item, report)).collect();
    read.into_iter().collect()
}

fn verdict(at: Position, word: &str, report: &Report<'_>) -> Option<Verdict> {
    let verdict = word.parse().ok();
    if verdict.is_none() {
        let suggestion = did_you_mean(word, &Verdict::ALL.map(Verdict::name));
        report.error_with(at, format!("`{word}` is no verdict"), suggestion);
    }
    verdict
}

fn read_expectation(at: Position, value: &Value, report: &Report<'_>) -> Option<Expectation> {
    let mut expected = Expectation::default();
    for (key, value) in entries(at, value, &EXPECT_FIELDS, report)? {
        let understood = match (key.as_str(), value) {
            ("event", Value::Int(number)) => {
                expected.event = usize::try_from(*number).ok().filter(|number| *number > 0);
                expected.event.is_some()
            }
            ("verdict", Value::Text(word)) => {
                expected.verdict = verdict(at, word, report);
                expected.verdict?;
                true
            }
            ("by", Value::Text(id)) => {
                expected.by = Some(id.clone());
                true
            }
            ("retry_after", Value::Text(text)) => {
                expected.retry_after = parse_duration(text).ok();
                expected.retry_after.is_some()
            }
            ("fires", Value::Bool(fires)) => {
                expected.fires = Some(*fires);
                true
            }
            _ => false,
        };
        if !understood {
            report.error(at, format!("`{key}` cannot be read here"));
            return None;
        }
    }
    if expected == (Expectation { event: expected.event, ..Expectation::default() }) {
        report.error(at, "an expectation says at least one of verdict, by, retry_after, fires");
    }
    Some(expected)
}
