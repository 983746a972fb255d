//! `risk.decisions.v1`: one decision per event, and revisions of it.
//!
//! The writer assembles the JSON itself, since it runs for every event; a test holds it equal to what serde
//! makes of [`DecisionRecord`], which is the contract. Times are milliseconds since the Unix epoch.
//! `decided_at` is the last field and the only one that may differ when the same log is read again.

use std::borrow::Cow;
use std::io::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::DecodeError;
use super::headers::TraceContext;
use super::json::{double, field, optional, optional_text, raw, text, word};
use super::outgoing::{self, Subject};
use super::quantity::{EpochMillis, Millis};
use super::record;
use super::words::VerdictWord;
use crate::engine::address::Address;
use crate::engine::decision::{Decision, DecisionId, Hold, Quality, Reason, risk_percent};
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;

/// One decision on one interaction. Complete in itself: a later revision of it repeats all that a subscriber
/// needs. Writers send the fields of this schema only; readers skip fields they do not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Decision", deny_unknown_fields)]
pub struct DecisionRecord {
    /// Identity: a function of the source coordinates, the event id and the revision, never random. Begins with
    /// the partition of the event.
    #[schemars(example = &"3-9-00c0ffee00c0ffee-0", regex(pattern = "^-?[0-9]+-[0-9]+-[0-9a-f]{16}-[0-9]+$"))]
    pub decision_id: String,
    /// Which revision of the decision on this event: 0 is the first; a higher one replaces all lower ones.
    #[schemars(example = 0)]
    pub revision: u32,
    /// The `decision_id` that this one replaces; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"3-9-00c0ffee00c0ffee-0")]
    pub supersedes: Option<String>,
    /// The event's own id.
    #[schemars(example = &"01J0Z4T5R0A1B2C3D4E5F6G7H8")]
    pub event_id: String,
    /// What was done.
    #[schemars(example = &"like")]
    pub action: String,
    /// Who acted, where it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"u-1")]
    pub user_id: Option<String>,
    /// What it was done to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"post-9")]
    pub target_id: Option<String>,
    /// Whom the target belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"u-7")]
    pub target_owner_id: Option<String>,
    /// The acting address, normalised: IPv4, or the prefix of an IPv6 address; absent where none could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"198.51.100.7", example = &"2001:db8:1:2::/64")]
    pub ip: Option<String>,
    /// The acting device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"d-7f3a")]
    pub device_id: Option<String>,
    /// What to do with the event. `allow`: count it. `demote`: keep it, do not count it until confirmed.
    /// `challenge`: ask for proof. `hold`: a person decides. `reject`: refuse it. `block`: the entity is banned.
    /// A reader that meets a word it does not know takes `weaker_verdict`, and without one `allow`.
    pub verdict: VerdictWord,
    /// For a verdict newer than the first release of this version: the nearest weaker one that it had. Never
    /// written beside the six verdicts above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weaker_verdict: Option<VerdictWord>,
    /// Evidence in points of log-odds: 10 points double the odds. The sum of the points of all reasons.
    #[schemars(example = -100, example = 17, extend("x-unit" = "points: 10 double the odds"))]
    pub score: i32,
    /// The score as a probability, rounded, for people.
    #[schemars(range(min = 0, max = 100), example = 76, extend("x-unit" = "percent"))]
    pub risk: u8,
    /// Why, strongest first. Their points add up to the score.
    #[schemars(example = serde_json::json!([{
        "code": "REPEAT", "family": "volume", "text": "Same action on the same target again and again", "points": 0,
        "detail": { "id": "repeat-target", "value": 4.0, "threshold": 3.0, "window_ms": 60_000, "verdict": "reject" }
    }]))]
    pub reasons: Vec<ReasonRecord>,
    /// For a refusal that time heals: how long to wait, from `effective_at`. Never 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 8000)]
    pub retry_after_ms: Option<Millis>,
    /// For the verdict `hold`: until when a person may decide, and what holds if nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = serde_json::json!({ "until": 1_750_003_600_000_u64, "default": "demote" }))]
    pub hold: Option<HoldRecord>,
    /// Content hash of the policy that judged.
    #[schemars(example = &"9f86d081884c7d65")]
    pub policy: String,
    /// Version of the engine that judged.
    #[schemars(example = &"0.1.0")]
    pub engine: String,
    /// What was not as exact or complete as usual; empty when all was.
    #[schemars(example = serde_json::json!([{ "code": "warming_up", "counter": "repeat-target" }]))]
    pub quality: Vec<QualityRecord>,
    /// Until then this decision may be revised; a reward is safe to pay after it.
    pub revisable_until: EpochMillis,
    /// Where the event's record stood.
    #[schemars(example = serde_json::json!({ "topic": "engagement.interactions.v1", "partition": 3, "offset": 9 }))]
    pub source: SourceRecord,
    /// When the event happened, by its producer's clock.
    pub occurred_at: EpochMillis,
    /// When the event counted: `occurred_at` held near the append time.
    pub effective_at: EpochMillis,
    /// When the log took the event.
    pub append_time: EpochMillis,
    /// When the decision was made. The only field that may differ when the same log is read again.
    pub decided_at: EpochMillis,
}

/// How long a held event waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HoldRecord {
    /// Until then (exclusive) a person may decide.
    pub until: EpochMillis,
    /// What holds from then on if nobody did.
    pub default: VerdictWord,
}

/// One reason of a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReasonRecord {
    /// Public code, upper case.
    #[schemars(example = &"REPEAT")]
    pub code: String,
    /// Evidence family.
    #[schemars(example = &"volume")]
    pub family: String,
    /// Public text: says what, not the threshold.
    #[schemars(example = &"Same action on the same target again and again")]
    pub text: String,
    /// Points it adds to the score; 0 for a limit, ban, floor or cap.
    #[schemars(example = 12, extend("x-unit" = "points: 10 double the odds"))]
    pub points: i32,
    /// Internal: not to be shown to the one who acted.
    #[schemars(example = serde_json::json!({ "id": "repeat-target", "value": 4.0, "threshold": 3.0 }))]
    pub detail: ReasonDetail,
}

/// The internal side of a reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReasonDetail {
    /// Id of the rule, limit, ban or guard.
    #[schemars(example = &"repeat-target")]
    pub id: String,
    /// Measured value, in the unit of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 4.0)]
    pub value: Option<f64>,
    /// What it was held against, in the unit of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = 3.0)]
    pub threshold: Option<f64>,
    /// Window it was measured over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<Millis>,
    /// The verdict it asks for by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictWord>,
}

/// One way in which a decision was less exact than usual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct QualityRecord {
    /// Which: `late`, `early` (held near the append time), `backlog` (too old for the counter), `approximate` (a
    /// sketch), `evicted` (state was pushed out), `warming_up` (the window is not full yet), `id_conflict` (the
    /// same event id with other content). Readers meet others as unknown shortcomings.
    #[schemars(example = &"warming_up")]
    pub code: String,
    /// The limit or signal concerned; absent when it is the event itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"repeat-target")]
    pub counter: Option<String>,
}

/// Where a record stood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SourceRecord {
    /// Topic, or name of the file.
    #[schemars(example = &"engagement.interactions.v1")]
    pub topic: String,
    /// Partition; 0 for a file.
    #[schemars(example = 3)]
    pub partition: i32,
    /// Offset; for a file the line, from 0.
    #[schemars(example = 9)]
    pub offset: i64,
}

impl DecisionRecord {
    /// The record that [`encode`] writes, as a value.
    pub fn of(decision: &Decision<'_>, decided_at: Timestamp, engine_version: &str) -> Self {
        let event = decision.event;
        let text = |text: &Option<crate::engine::event::Text<'_>>| text.as_deref().map(str::to_owned);
        let arrival = decision.arrival;
        Self {
            decision_id: decision.judgement.id.to_string(),
            revision: decision.judgement.id.revision,
            supersedes: decision.judgement.supersedes.map(|id| id.to_string()),
            event_id: event.id.clone().into_owned(),
            action: event.action.clone().into_owned(),
            user_id: text(&event.user),
            target_id: text(&event.target),
            target_owner_id: text(&event.target_owner),
            ip: decision.judgement.address.map(|address| address.to_string()),
            device_id: text(&event.device.id),
            verdict: decision.judgement.verdict.into(),
            weaker_verdict: None,
            score: decision.judgement.score,
            risk: risk_percent(decision.judgement.score),
            reasons: decision.judgement.reasons.iter().map(ReasonRecord::from).collect(),
            retry_after_ms: decision.judgement.retry_after.map(Millis::from),
            hold: decision.judgement.hold.map(HoldRecord::from),
            policy: decision.judgement.policy.to_string(),
            engine: engine_version.to_owned(),
            quality: decision.judgement.quality.iter().map(QualityRecord::from).collect(),
            revisable_until: decision.judgement.revisable_until.into(),
            source: SourceRecord {
                topic: arrival.topic.to_owned(),
                partition: arrival.partition,
                offset: arrival.offset,
            },
            occurred_at: event.occurred_at.into(),
            effective_at: decision.judgement.effective_at.into(),
            append_time: arrival.append_time.into(),
            decided_at: decided_at.into(),
        }
    }

    /// The verdict to act on; a word of a later minor version is read as the weaker one told beside it.
    pub fn verdict(&self) -> Verdict {
        self.verdict.or_weaker(self.weaker_verdict.as_ref())
    }
}

impl From<Hold> for HoldRecord {
    fn from(hold: Hold) -> Self {
        Self { until: hold.until.into(), default: hold.default.into() }
    }
}

impl From<&Reason> for ReasonRecord {
    fn from(reason: &Reason) -> Self {
        let source = &reason.source;
        Self {
            code: source.code.clone(),
            family: source.family.clone(),
            text: source.text.clone(),
            points: reason.points,
            detail: ReasonDetail {
                id: source.id.clone(),
                value: finite(reason.value),
                threshold: finite(reason.threshold),
                window_ms: source.window.map(Millis::from),
                verdict: reason.verdict.map(VerdictWord::from),
            },
        }
    }
}

impl From<&Quality> for QualityRecord {
    fn from(quality: &Quality) -> Self {
        Self { code: quality.code.name().to_owned(), counter: quality.counter.as_deref().map(str::to_owned) }
    }
}

/// JSON has no word for what is not finite: it is left out.
fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

/// Reads a decision; a verdict not known here is kept as the word it is.
///
/// # Errors
/// Whatever the JSON has wrong, with its place.
pub fn decode(value: Option<&[u8]>) -> Result<DecisionRecord, DecodeError> {
    record::read(value)
}

/// The record key: whatever order matters for, the target, else the user, else the address.
pub fn key<'d>(decision: &Decision<'d>) -> Cow<'d, str> {
    let event = decision.event;
    match (event.target.as_deref().or(event.user.as_deref()), decision.judgement.address) {
        (Some(id), _) => Cow::Borrowed(id),
        (None, Some(address)) => Cow::Owned(address.to_string()),
        (None, None) => Cow::Borrowed(event.ip.as_deref().unwrap_or_default()),
    }
}

/// The record headers: CloudEvents in binary mode, with the trace of the event. `id` is the decision's, as text.
pub fn headers<'h>(id: &'h str, trace: &TraceContext<'h>) -> impl Iterator<Item = outgoing::Header<'h>> {
    outgoing::headers(Subject::Decision, id, trace)
}

/// Appends the decision as JSON.
pub fn encode(decision: &Decision<'_>, decided_at: Timestamp, engine_version: &str, out: &mut Vec<u8>) {
    identity(decision, out);
    judgement(decision, out);
    text(out, r#","policy":"#, &decision.judgement.policy);
    text(out, r#","engine":"#, engine_version);
    list(out, r#","quality":["#, &decision.judgement.quality, quality);
    times(decision, decided_at, out);
}

fn identity(decision: &Decision<'_>, out: &mut Vec<u8>) {
    let event = decision.event;
    id(out, r#"{"decision_id":""#, decision.judgement.id);
    field(out, r#","revision":"#, &decision.judgement.id.revision);
    if let Some(replaced) = decision.judgement.supersedes {
        id(out, r#","supersedes":""#, replaced);
    }
    text(out, r#","event_id":"#, &event.id);
    text(out, r#","action":"#, &event.action);
    optional_text(out, r#","user_id":"#, event.user.as_deref());
    optional_text(out, r#","target_id":"#, event.target.as_deref());
    optional_text(out, r#","target_owner_id":"#, event.target_owner.as_deref());
    if let Some(address) = decision.judgement.address {
        ip(out, address);
    }
    optional_text(out, r#","device_id":"#, event.device.id.as_deref());
}

fn judgement(decision: &Decision<'_>, out: &mut Vec<u8>) {
    word(out, r#","verdict":"#, decision.judgement.verdict.name());
    field(out, r#","score":"#, &decision.judgement.score);
    field(out, r#","risk":"#, &risk_percent(decision.judgement.score));
    list(out, r#","reasons":["#, &decision.judgement.reasons, reason);
    optional(out, r#","retry_after_ms":"#, decision.judgement.retry_after.map(Millis::from));
    if let Some(hold) = decision.judgement.hold {
        field(out, r#","hold":{"until":"#, &hold.until.millis());
        word(out, r#","default":"#, hold.default.name());
        raw(out, "}");
    }
}

fn times(decision: &Decision<'_>, decided_at: Timestamp, out: &mut Vec<u8>) {
    let arrival = decision.arrival;
    field(out, r#","revisable_until":"#, &decision.judgement.revisable_until.millis());
    text(out, r#","source":{"topic":"#, arrival.topic);
    field(out, r#","partition":"#, &arrival.partition);
    field(out, r#","offset":"#, &arrival.offset);
    field(out, r#"},"occurred_at":"#, &decision.event.occurred_at.millis());
    field(out, r#","effective_at":"#, &decision.judgement.effective_at.millis());
    field(out, r#","append_time":"#, &arrival.append_time.millis());
    field(out, r#","decided_at":"#, &decided_at.millis());
    raw(out, "}");
}

/// An id needs no escapes.
fn id(out: &mut Vec<u8>, key: &str, id: DecisionId) {
    raw(out, key);
    out.extend_from_slice(id.text().as_bytes());
    raw(out, "\"");
}

fn ip(out: &mut Vec<u8>, address: Address) {
    raw(out, r#","ip":""#);
    match address.ipv4() {
        Some([a, b, c, d]) => {
            field(out, "", &a);
            [b, c, d].iter().for_each(|byte| field(out, ".", byte));
        }
        None => write!(out, "{address}").expect("memory takes all"),
    }
    raw(out, "\"");
}

fn list<T>(out: &mut Vec<u8>, key: &str, items: &[T], item: impl Fn(&T, &mut Vec<u8>)) {
    raw(out, key);
    for (index, each) in items.iter().enumerate() {
        if index > 0 {
            raw(out, ",");
        }
        item(each, out);
    }
    raw(out, "]");
}

fn reason(reason: &Reason, out: &mut Vec<u8>) {
    let source = &*reason.source;
    text(out, r#"{"code":"#, &source.code);
    text(out, r#","family":"#, &source.family);
    text(out, r#","text":"#, &source.text);
    field(out, r#","points":"#, &reason.points);
    text(out, r#","detail":{"id":"#, &source.id);
    for (key, value) in [(r#","value":"#, reason.value), (r#","threshold":"#, reason.threshold)] {
        if let Some(value) = finite(value) {
            double(out, key, value);
        }
    }
    optional(out, r#","window_ms":"#, source.window.map(Millis::from));
    if let Some(verdict) = reason.verdict {
        word(out, r#","verdict":"#, verdict.name());
    }
    raw(out, "}}");
}

fn quality(quality: &Quality, out: &mut Vec<u8>) {
    word(out, r#"{"code":"#, quality.code.name());
    optional_text(out, r#","counter":"#, quality.counter.as_deref());
    raw(out, "}");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::decision::{Judgement, QualityCode, ReasonSource};
    use crate::engine::event::{Arrival, Event};
    use crate::engine::time::Span;

    fn source(window: Option<Span>) -> Arc<ReasonSource> {
        let text = |text: &str| text.to_owned();
        Arc::new(ReasonSource {
            id: text("repeat-target"),
            code: text("REPEAT"),
            family: text("volume"),
            text: text("again \"and\" again\n"),
            window,
        })
    }

    fn event() -> Event<'static> {
        Event {
            id: "e-\u{1f}1".into(),
            occurred_at: Timestamp::from_millis(1_750_000_000_000),
            action: "like".into(),
            user: Some("ü\"1".into()),
            target: Some("t1".into()),
            ..Event::default()
        }
    }

    const ARRIVAL: Arrival<'static> = Arrival {
        topic: "engagement.interactions.v1",
        partition: 3,
        offset: 9,
        append_time: Timestamp::from_millis(1_750_000_000_007),
    };

    fn decision<'a>(event: &'a Event<'a>, judgement: &'a Judgement) -> Decision<'a> {
        Decision { event, arrival: ARRIVAL, judgement }
    }

    fn judgement(rich: bool) -> Judgement {
        let reason = |points, value, window| Reason {
            source: source(window),
            points,
            verdict: Some(Verdict::Reject),
            value,
            threshold: Some(3.0),
        };
        let quality = |code, counter: Option<&str>| Quality { code, counter: counter.map(Arc::from) };
        let id = DecisionId::first(&ARRIVAL, "e-\u{1f}1");
        Judgement {
            id: DecisionId { revision: u32::from(rich), ..id },
            supersedes: rich.then_some(id),
            address: rich.then(|| Address::parse("2001:db8::1", 64).expect("valid")),
            effective_at: Timestamp::from_millis(1_750_000_000_001),
            verdict: if rich { Verdict::Reject } else { Verdict::Allow },
            score: if rich { 17 } else { -100 },
            reasons: if rich {
                vec![reason(0, Some(4.0), Some(Span::from_secs(60))), reason(17, Some(f64::NAN), None)]
            } else {
                Vec::new()
            },
            retry_after: rich.then(|| Span::from_secs(8)),
            hold: rich.then_some(Hold {
                until: Timestamp::from_millis(1_750_003_600_000),
                default: Verdict::Demote,
            }),
            policy: Arc::from("9f86d081884c7d65"),
            quality: if rich {
                vec![quality(QualityCode::Late, None), quality(QualityCode::Evicted, Some("repeat-target"))]
            } else {
                Vec::new()
            },
            revisable_until: Timestamp::from_millis(1_750_086_400_001),
        }
    }

    fn bytes(decision: &Decision<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        encode(decision, Timestamp::from_millis(1_750_000_000_055), "0.1.0", &mut out);
        out
    }

    #[test]
    fn the_writer_and_serde_agree_and_read_back() {
        let event = event();
        for rich in [false, true] {
            let judgement = judgement(rich);
            let decision = decision(&event, &judgement);
            let record = DecisionRecord::of(&decision, Timestamp::from_millis(1_750_000_000_055), "0.1.0");
            let written = bytes(&decision);
            assert_eq!(String::from_utf8_lossy(&written), serde_json::to_string(&record).expect("record"));
            assert_eq!(serde_json::from_slice::<DecisionRecord>(&written).expect("reads"), record);
            assert_eq!(record.verdict(), decision.judgement.verdict);
            assert_eq!(record.decision_id.parse(), Ok(decision.judgement.id));
        }
    }

    /// Field by field, from the contract: what a subscriber of another language would see.
    #[test]
    fn a_plain_decision_is_this_text() {
        let event = event();
        let plain = judgement(false);
        let id = plain.id;
        let expected = format!(
            concat!(
                r#"{{"decision_id":"{}","revision":0,"event_id":"e-\u001f1","action":"like","user_id":"ü\"1","#,
                r#""target_id":"t1","verdict":"allow","score":-100,"risk":0,"reasons":[],"#,
                r#""policy":"9f86d081884c7d65","engine":"0.1.0","quality":[],"revisable_until":1750086400001,"#,
                r#""source":{{"topic":"engagement.interactions.v1","partition":3,"offset":9}},"#,
                r#""occurred_at":1750000000000,"effective_at":1750000000001,"append_time":1750000000007,"#,
                r#""decided_at":1750000000055}}"#
            ),
            id
        );
        assert_eq!(String::from_utf8_lossy(&bytes(&decision(&event, &plain))), expected);
    }

    #[test]
    fn the_key_is_target_then_user_then_address() {
        let (mut event, plain, rich) = (event(), judgement(false), judgement(true));
        assert_eq!(key(&decision(&event, &rich)), "t1");
        event.target = None;
        assert_eq!(key(&decision(&event, &rich)), "ü\"1");
        event.user = None;
        event.ip = Some("garbage".into());
        assert_eq!(key(&decision(&event, &rich)), "2001:db8::/64");
        assert_eq!(key(&decision(&event, &plain)), "garbage");
    }

    #[test]
    fn a_verdict_not_known_here_is_read_as_the_weaker_one_told_beside_it() {
        let read = |verdict: &str, weaker: &str| {
            let event = event();
            let mut record =
                DecisionRecord::of(&decision(&event, &judgement(false)), Timestamp::default(), "9.9.9");
            record.verdict = serde_json::from_value(verdict.into()).expect("any word is read");
            record.weaker_verdict = (!weaker.is_empty())
                .then(|| serde_json::from_value(weaker.into()).expect("any word is read"));
            record.verdict()
        };
        assert_eq!(read("quarantine", "hold"), Verdict::Hold);
        assert_eq!(read("quarantine", "isolate"), Verdict::Allow);
        assert_eq!(read("quarantine", ""), Verdict::Allow);
        assert_eq!(read("block", ""), Verdict::Block);
    }

    #[test]
    fn headers_are_cloud_events_with_the_trace() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let trace = TraceContext { traceparent: Some(parent), tracestate: Some("a=b") };
        let told: Vec<_> = headers("3-9-00c0ffee00c0ffee-0", &trace).collect();
        for expected in [
            ("content-type", "application/json"),
            ("ce_specversion", "1.0"),
            ("ce_type", "risk.decision.v1"),
            ("ce_id", "3-9-00c0ffee00c0ffee-0"),
            ("traceparent", parent),
            ("tracestate", "a=b"),
        ] {
            assert!(told.contains(&(expected.0, expected.1.as_bytes())), "{expected:?}");
        }
        assert_eq!(
            headers("x", &TraceContext::default()).filter(|(name, _)| name.starts_with("trace")).count(),
            0
        );
    }
}
