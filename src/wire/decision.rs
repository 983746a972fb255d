//! `risk.decisions.v1`: one decision per event, and revisions of it.
//!
//! The writer assembles the JSON itself, since it runs for every event; a test holds it equal to what serde
//! makes of [`DecisionRecord`], which is the contract. Times are milliseconds since the Unix epoch.
//! `decided_at` is the last field and the only one that may differ when the same log is read again.

mod correction;
mod fragments;
mod record;

use std::borrow::Cow;
use std::io::Write;

pub use self::correction::CorrectionRecord;
pub use self::record::{
    DecisionRecord, HoldRecord, QualityRecord, ReasonDetail, ReasonRecord, SourceRecord, WithoutRecord,
};

use self::fragments::Fragments;
use self::record::finite;
use super::error::DecodeError;
use super::headers::TraceContext;
use super::json::{double, field, optional, optional_text, raw, text, word};
use super::outgoing::{self, Subject};
use super::quantity::Millis;
use crate::engine::address::Address;
use crate::engine::decision::{Decision, DecisionId, Quality, Reason, Without, risk_percent};
use crate::engine::time::Timestamp;

/// Reads a decision; a verdict not known here is kept as the word it is.
///
/// # Errors
/// Whatever the JSON has wrong, with its place.
pub fn decode(value: Option<&[u8]>) -> Result<DecisionRecord, DecodeError> {
    super::record::read(value)
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

/// The value without its last field, `decided_at`: what is the same whenever and wherever the decision is made.
pub fn timeless(value: &[u8]) -> &[u8] {
    let from = value.len().saturating_sub(DECIDED_AT.len() + 24);
    let last = value[from..].windows(DECIDED_AT.len()).rposition(|part| part == DECIDED_AT.as_bytes());
    last.map_or(value, |at| &value[..from + at])
}

/// The key of the last field.
const DECIDED_AT: &str = r#","decided_at":"#;

/// The record headers: CloudEvents in binary mode, with the trace of the event. `id` is the decision's, as text.
pub fn headers<'h>(id: &'h str, trace: &TraceContext<'h>) -> impl Iterator<Item = outgoing::Header<'h>> {
    outgoing::headers(Subject::Decision, id, trace)
}

/// Appends one decision as JSON.
pub fn encode(decision: &Decision<'_>, decided_at: Timestamp, engine_version: &str, out: &mut Vec<u8>) {
    Writer::default().encode(decision, decided_at, engine_version, out);
}

/// Writes many decisions: what they have in common is made once.
#[derive(Debug, Default)]
pub struct Writer {
    reasons: Fragments,
}

impl Writer {
    /// Appends a decision as JSON: the same bytes as [`encode`].
    pub fn encode(
        &mut self,
        decision: &Decision<'_>,
        decided_at: Timestamp,
        engine_version: &str,
        out: &mut Vec<u8>,
    ) {
        out.reserve(USUAL_BYTES);
        identity(decision, out);
        judgement(decision, &mut self.reasons, out);
        text(out, r#","policy":"#, &decision.judgement.policy);
        text(out, r#","engine":"#, engine_version);
        list(out, r#","quality":["#, &decision.judgement.quality, quality);
        times(decision, decided_at, out);
    }
}

/// Room that is enough for most decisions.
const USUAL_BYTES: usize = 1024;

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

fn judgement(decision: &Decision<'_>, fragments: &mut Fragments, out: &mut Vec<u8>) {
    word(out, r#","verdict":"#, decision.judgement.verdict.name());
    field(out, r#","score":"#, &decision.judgement.score);
    field(out, r#","risk":"#, &risk_percent(decision.judgement.score));
    list(out, r#","reasons":["#, &decision.judgement.reasons, |each, out| reason(each, fragments, out));
    if !decision.judgement.without.is_empty() {
        list(out, r#","without":["#, &decision.judgement.without, without);
    }
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
    field(out, DECIDED_AT, &decided_at.millis());
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

fn list<T>(out: &mut Vec<u8>, key: &str, items: &[T], mut item: impl FnMut(&T, &mut Vec<u8>)) {
    raw(out, key);
    for (index, each) in items.iter().enumerate() {
        if index > 0 {
            raw(out, ",");
        }
        item(each, out);
    }
    raw(out, "]");
}

fn reason(reason: &Reason, fragments: &mut Fragments, out: &mut Vec<u8>) {
    let fragment = fragments.of(&reason.source);
    out.extend_from_slice(fragment.before_points());
    field(out, "", &reason.points);
    out.extend_from_slice(fragment.before_measured());
    let measured = [
        (r#","value":"#, reason.value),
        (r#","threshold":"#, reason.threshold),
        (r#","baseline":"#, reason.baseline),
    ];
    for (key, value) in measured {
        if let Some(value) = finite(value) {
            double(out, key, value);
        }
    }
    optional(out, r#","support":"#, reason.support);
    out.extend_from_slice(fragment.after_measured());
    if let Some(verdict) = reason.verdict {
        word(out, r#","verdict":"#, verdict.name());
    }
    raw(out, "}}");
}

fn without(without: &Without, out: &mut Vec<u8>) {
    text(out, r#"{"family":"#, &without.family);
    word(out, r#","verdict":"#, without.verdict.name());
    raw(out, "}");
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
    use crate::engine::decision::{Hold, Judgement, QualityCode, ReasonSource};
    use crate::engine::event::{Arrival, Event};
    use crate::engine::time::Span;
    use crate::engine::verdict::Verdict;

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
            baseline: value.map(|value| value / 8.0),
            support: value.map(|_| 2_913),
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
            without: vec![Without { family: "dev\"ice".into(), verdict: Verdict::Demote }; usize::from(rich)],
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
    fn an_id_is_written_as_it_is_shown() {
        for digest in [0, 1, 0xc0ffee, u64::MAX] {
            for (partition, offset, revision) in [(0, 0, 0), (i32::MIN, i64::MIN, u32::MAX), (7, i64::MAX, 1)]
            {
                let id = DecisionId { partition, offset, digest, revision };
                let mut out = Vec::new();
                out.extend_from_slice(id.text().as_bytes());
                assert_eq!(String::from_utf8_lossy(&out), id.to_string());
            }
        }
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

    /// More sources than there are places, each again and again, some of them new ones at an old address.
    #[test]
    fn a_writer_of_many_decisions_writes_each_as_if_alone() {
        let (event, mut writer) = (event(), Writer::default());
        let sources: Vec<_> = (0..100).map(|n| source(Some(Span::from_secs(n)))).collect();
        for round in 0..200 {
            let reason = |source: &Arc<ReasonSource>| Reason { ..Reason::of(source, round) };
            let (known, new) = (&sources[round as usize % 100], source(Some(Span::from_secs(round.into()))));
            let judgement = Judgement { reasons: vec![reason(known), reason(&new)], ..judgement(true) };
            let decision = decision(&event, &judgement);
            let mut out = Vec::new();
            writer.encode(&decision, Timestamp::from_millis(1_750_000_000_055), "0.1.0", &mut out);
            assert_eq!(out, bytes(&decision));
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
