//! An event of a file as a policy test: it and what it may hang on, with other names.
//!
//! What an event may hang on is what its user, target, device and address did within the longest window before it, the last
//! [`EVENTS_MAX`] of that. Names, devices, contents and texts become `u1`, `t1`, `d1` and the like, the same for the same;
//! addresses become documentation ones that share what they shared; times count from the first event, registration becomes
//! an age. Actions, plans, outcomes and numbers stay: rules are about them. Two readings of the input are needed: one to
//! find the event and its decision, one to gather.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write;
use std::net::IpAddr;

use crate::engine::Engine;
use crate::engine::event::{Attempt, Event, Value};
use crate::engine::policy::Policy;
use crate::engine::policy::raw::Value as Raw;
use crate::engine::policy::tests::{Expectation, RuleTest, TestEvent};
use crate::engine::time::{Span, Timestamp};
use crate::engine::verdict::Verdict;
use crate::evaluate::Label;
use crate::evaluate::read::Ear;
use crate::replay::{Heard, Options, Panel, Record, Turn};

/// The most events of a fixture.
pub const EVENTS_MAX: usize = 500;

/// What was found of the event.
#[derive(Clone, Debug)]
pub struct Found {
    number: u64,
    at: Timestamp,
    keys: [Option<String>; 4],
    verdict: Verdict,
    /// The limit or rule that it is about.
    by: Option<String>,
}

/// First reading: finds the event, and how it was decided.
#[derive(Debug)]
pub struct Finder {
    panel: Panel,
    id: String,
    read: i64,
    found: Option<Found>,
}

impl Finder {
    /// Looks for the event of this id.
    pub fn new(engine: Engine, options: Options, id: &str) -> Self {
        Self { panel: Panel::new(vec![engine], options), id: id.to_owned(), read: 0, found: None }
    }

    /// What was found.
    pub fn end(self) -> Option<Found> {
        self.found
    }
}

impl Ear for Finder {
    fn together<'l>(
        &mut self,
        lines: impl Iterator<Item = &'l [u8]>,
        mut truth: impl FnMut(&Heard<'_>) -> Option<Label>,
    ) -> usize {
        let Self { panel, id, read, found } = self;
        let records = lines.zip(*read..).map(|(bytes, number)| Record::line(bytes, number));
        let count = panel.together(
            records,
            |_, _| Turn::Apply,
            |told| {
                let heard = told.heard(0);
                truth(&heard);
                if let (Some((event, _)), Some(judgement)) = (heard.event, &heard.outputs.judgement)
                    && event.id == id.as_str()
                    && found.is_none()
                {
                    let known = |id: &str| id != "prior" && !id.starts_with("cap-");
                    let asking =
                        judgement.reasons.iter().find(|reason| reason.verdict == Some(judgement.verdict));
                    let strongest = judgement.reasons.iter().filter(|reason| known(&reason.source.id));
                    let strongest = strongest.max_by_key(|reason| reason.points);
                    *found = Some(Found {
                        number: told.number,
                        at: event.occurred_at,
                        keys: keys(event),
                        verdict: judgement.verdict,
                        by: asking.or(strongest).map(|reason| reason.source.id.clone()),
                    });
                }
            },
        );
        *read += count as i64;
        count
    }

    fn has_enough(&self) -> bool {
        self.found.is_some()
    }
}

/// Second reading: gathers what the event may hang on.
#[derive(Debug)]
pub struct Gatherer {
    panel: Panel,
    found: Found,
    from: Timestamp,
    read: i64,
    lines: Lines,
    /// There was more than a fixture holds.
    cut: bool,
}

/// Events with other names, and when each was.
type Lines = VecDeque<(Timestamp, Vec<(String, Raw)>)>;

impl Gatherer {
    /// Gathers for what was found.
    pub fn new(found: Found, policy: &Policy, options: Options) -> Self {
        let from = found.at.before(Engine::longest_window_of(policy));
        Self { panel: Panel::new(Vec::new(), options), found, from, read: 0, lines: Lines::new(), cut: false }
    }

    /// The fixture as a test of the policy.
    pub fn end(self) -> Fixture {
        let start = self.lines.front().map_or(self.found.at, |(at, _)| *at);
        let mut masks = Masks::default();
        // The actor is u1, his target t1: names are given from the last event backwards.
        let mut lines: Vec<(Timestamp, Vec<(String, Raw)>)> = self.lines.into();
        lines.iter_mut().rev().for_each(|(_, fields)| masks.fields(fields));
        let event = |(at, fields): (Timestamp, Vec<(String, Raw)>)| TestEvent {
            at: at.since(start),
            repeat: 1,
            every: Span::ZERO,
            vary: Vec::new(),
            fields,
        };
        let expect = Expectation {
            verdict: Some(self.found.verdict),
            by: self.found.by.clone(),
            ..Expectation::default()
        };
        let about = self.found.by.unwrap_or_default();
        let events = lines.into_iter().map(event).collect();
        let (file, line, name) =
            (String::new(), 0, format!("an event that was met, masked ({})", self.found.verdict));
        Fixture { test: RuleTest { about, name, file, line, events, expect: vec![expect] }, cut: self.cut }
    }
}

impl Ear for Gatherer {
    fn together<'l>(
        &mut self,
        lines: impl Iterator<Item = &'l [u8]>,
        _: impl FnMut(&Heard<'_>) -> Option<Label>,
    ) -> usize {
        let Self { panel, found, from, read, lines: kept, cut } = self;
        let records = lines.zip(*read..).map(|(bytes, number)| Record::line(bytes, number));
        let count = panel.together(
            records,
            |_, _| Turn::Apply,
            |told| {
                let Some((event, _)) = told.event.filter(|_| told.number <= found.number) else { return };
                let own = keys(event);
                let is_related = own.iter().zip(&found.keys).any(|(own, key)| own.is_some() && own == key);
                if told.number == found.number || (is_related && event.occurred_at >= *from) {
                    kept.push_back((event.occurred_at, fields(event)));
                }
                if kept.len() > EVENTS_MAX {
                    kept.pop_front();
                    *cut = true;
                }
            },
        );
        *read += count as i64;
        count
    }

    fn has_enough(&self) -> bool {
        self.read.unsigned_abs() >= self.found.number
    }
}

/// A fixture.
#[derive(Clone, Debug, PartialEq)]
pub struct Fixture {
    /// As a test, which can be run.
    pub test: RuleTest,
    /// What lay further back was left out.
    pub cut: bool,
}

impl Fixture {
    /// As it is written beside a limit or rule.
    pub fn yaml(&self) -> String {
        let mut text = format!("      - name: {}\n        events:\n", quoted(&self.test.name));
        for event in &self.test.events {
            let mut entries = vec![format!("at: {}", event.at)];
            entries.extend(event.fields.iter().map(|(name, value)| format!("{name}: {}", flow(value))));
            writeln!(text, "          - {{ {} }}", entries.join(", ")).expect("memory takes all");
        }
        let expect = &self.test.expect[0];
        let mut wanted: Vec<String> =
            expect.verdict.iter().map(|verdict| format!("verdict: {verdict}")).collect();
        wanted.extend(expect.by.iter().map(|by| format!("by: {by}")));
        text + &format!("        expect: {{ {} }}\n", wanted.join(", "))
    }
}

/// What relates events: user, target, device, address.
fn keys(event: &Event<'_>) -> [Option<String>; 4] {
    let text = |text: Option<&str>| text.map(str::to_owned);
    [
        text(event.user.as_deref()),
        text(event.target.as_deref()),
        text(event.device.id.as_deref()),
        text(event.ip.as_deref()),
    ]
}

/// The fields of an event as a test has them, not masked yet.
fn fields(event: &Event<'_>) -> Vec<(String, Raw)> {
    let mut fields = vec![("action".to_owned(), Raw::Text(event.action.to_string()))];
    let mut text = |name: &str, value: Option<&str>| {
        fields.extend(value.map(|value| (name.to_owned(), Raw::Text(value.to_owned()))));
    };
    text("user_id", event.user.as_deref());
    text("target_id", event.target.as_deref());
    text("target_owner_id", event.target_owner.as_deref());
    text("ip", event.ip.as_deref());
    text("user_agent", event.user_agent.as_deref());
    text("session_id", event.session.as_deref());
    text("content_hash", event.content_hash.as_deref());
    text(
        "outcome",
        event.outcome.map(|outcome| match outcome {
            Attempt::Success => "success",
            Attempt::Failure => "failure",
        }),
    );
    let mut device = attributes(&event.device.attributes);
    if let Some(id) = &event.device.id {
        device.insert(0, ("id".to_owned(), Raw::Text(id.to_string())));
    }
    let mut account = attributes(&event.account.attributes);
    if let Some(created) = event.account.created_at.filter(|created| *created <= event.occurred_at) {
        account.push(("age".to_owned(), Raw::Text(event.occurred_at.since(created).to_string())));
    }
    account.extend(event.account.plan.iter().map(|plan| ("plan".to_owned(), Raw::Text(plan.to_string()))));
    let maps = [("device", device), ("account", account), ("attributes", attributes(&event.attributes))];
    let maps = maps.into_iter().filter(|(_, entries)| !entries.is_empty());
    fields.extend(maps.map(|(name, entries)| (name.to_owned(), Raw::Map(entries))));
    fields
}

fn attributes(attributes: &[(crate::engine::event::Text<'_>, Value<'_>)]) -> Vec<(String, Raw)> {
    let raw = |value: &Value<'_>| match value {
        Value::Bool(value) => Raw::Bool(*value),
        Value::Int(value) => Raw::Int(*value),
        Value::Double(value) => Raw::Double(*value),
        Value::Text(value) => Raw::Text(value.to_string()),
    };
    attributes.iter().map(|(name, value)| (name.to_string(), raw(value))).collect()
}

/// Other names, the same for the same.
#[derive(Debug, Default)]
struct Masks {
    names: HashMap<(&'static str, String), String>,
    counts: HashMap<&'static str, usize>,
}

impl Masks {
    fn fields(&mut self, fields: &mut [(String, Raw)]) {
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("user_id" | "target_owner_id", Raw::Text(text)) => *text = self.name("u", text),
                ("target_id", Raw::Text(text)) => *text = self.name("t", text),
                ("session_id", Raw::Text(text)) => *text = self.name("s", text),
                ("content_hash", Raw::Text(text)) => *text = self.name("c", text),
                ("user_agent", Raw::Text(text)) => *text = self.name("agent", text),
                ("ip", Raw::Text(text)) => *text = self.address(text),
                ("device", Raw::Map(entries)) => self.texts(entries, "d"),
                ("account" | "attributes", Raw::Map(entries)) => self.texts(entries, "a"),
                _ => {}
            }
        }
    }

    /// Texts within a map; what rules know by its word, and what is a length of time, stays.
    fn texts(&mut self, entries: &mut [(String, Raw)], kind: &'static str) {
        for (name, value) in entries {
            if let Raw::Text(text) = value
                && !matches!(name.as_str(), "age" | "plan")
            {
                *text = self.name(kind, text);
            }
        }
    }

    fn name(&mut self, kind: &'static str, of: &str) -> String {
        let count = self.counts.entry(kind).or_default();
        let known = self.names.entry((kind, of.to_owned()));
        known
            .or_insert_with(|| {
                *count += 1;
                format!("{kind}{count}")
            })
            .clone()
    }

    /// An address of those for benchmarks or documentation, in the same network as what was in the same network.
    fn address(&mut self, text: &str) -> String {
        match text.parse::<IpAddr>().map(|address| address.to_canonical()) {
            Ok(IpAddr::V4(v4)) => {
                let [a, b, c, _] = v4.octets();
                let network = self.number("network", &format!("{a}.{b}.{c}"));
                let host = self.number("host", &v4.to_string());
                format!("198.{}.{}.{}", 18 + network / 256 % 2, network % 256, 1 + host % 254)
            }
            Ok(IpAddr::V6(v6)) => {
                let [a, b, c, d, ..] = v6.segments();
                let network = self.number("prefix", &format!("{a:x}:{b:x}:{c:x}:{d:x}"));
                let host = self.number("host", &v6.to_string());
                format!("2001:db8:0:{:x}::{:x}", network % 65_536, 1 + host % 65_535)
            }
            Err(_) => self.name("address-", text),
        }
    }

    /// How many of a kind came before it.
    fn number(&mut self, kind: &'static str, of: &str) -> usize {
        let name = self.name(kind, of);
        name[kind.len()..].parse::<usize>().map_or(0, |number| number.saturating_sub(1))
    }
}

/// A value in YAML's flow form.
fn flow(value: &Raw) -> String {
    match value {
        Raw::Null => "null".to_owned(),
        Raw::Bool(value) => value.to_string(),
        Raw::Int(value) => value.to_string(),
        Raw::Double(value) => format!("{value:?}"),
        Raw::Text(text) => quoted(text),
        Raw::List(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Raw::Map(entries) => {
            let entries = entries.iter().map(|(name, value)| format!("{}: {}", quoted(name), flow(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A text as YAML reads it back: bare where it can be nothing else, else in double quotes.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let bare = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(plain)
        && !matches!(text, "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n");
    if bare { text.to_owned() } else { serde_json::to_string(text).expect("text can be written") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_gets_the_same_name_and_networks_stay_networks() {
        let mut masks = Masks::default();
        assert_eq!(
            [masks.name("u", "ann"), masks.name("u", "bob"), masks.name("u", "ann")],
            ["u1", "u2", "u1"]
        );
        let told = ["203.0.113.9", "203.0.113.10", "198.51.100.9", "203.0.113.9"].map(|ip| masks.address(ip));
        assert_eq!(told, ["198.18.0.1", "198.18.0.2", "198.18.1.3", "198.18.0.1"]);
        assert_eq!(masks.address("2001:db8:aa::7"), "2001:db8:0:0::4");
    }

    #[test]
    fn texts_come_back_as_they_were() {
        for (text, yaml) in
            [("u1", "u1"), ("198.18.0.1", "\"198.18.0.1\""), ("no", "\"no\""), ("a: b", "\"a: b\"")]
        {
            assert_eq!(quoted(text), yaml);
        }
    }
}
