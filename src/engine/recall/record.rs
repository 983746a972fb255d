//! A decision as bytes, with everything that decisions tell, and back as a revision that owns its parts.

use std::borrow::Cow;
use std::sync::Arc;

use crate::engine::address::Address;
use crate::engine::decision::{
    Decision, DecisionId, Hold, Judgement, Quality, QualityCode, Reason, ReasonSource, Without,
};
use crate::engine::event::{Device, Event, Text};
use crate::engine::feedback::Revision;
use crate::engine::flat::{Reader, Writer};
use crate::engine::time::{Span, Timestamp};
use crate::engine::verdict::Verdict;

/// The bytes of a decision.
pub(super) fn write(decision: &Decision<'_>) -> Box<[u8]> {
    let mut to = Writer::default();
    to.text(decision.arrival.topic);
    to.i64(decision.arrival.append_time.millis());
    write_event(decision.event, &mut to);
    write_judgement(decision.judgement, &mut to);
    to.finish()
}

/// The decision that [`write()`] wrote.
pub(super) fn read(bytes: &[u8]) -> Option<Revision> {
    let mut from = Reader::new(bytes);
    Some(Revision {
        topic: from.text()?,
        append_time: time(&mut from)?,
        event: read_event(&mut from)?,
        judgement: read_judgement(&mut from)?,
    })
}

fn write_event(event: &Event<'_>, to: &mut Writer) {
    to.text(&event.id);
    to.i64(event.occurred_at.millis());
    to.text(&event.action);
    for field in [&event.user, &event.target, &event.target_owner, &event.ip, &event.device.id] {
        to.option(field.as_deref(), Writer::text);
    }
}

fn read_event(from: &mut Reader<'_>) -> Option<Event<'static>> {
    let (id, occurred_at, action) = (from.text()?, time(from)?, from.text()?);
    let mut field = || -> Option<Option<Text<'static>>> { Some(from.option(Reader::text)?.map(Cow::Owned)) };
    Some(Event {
        id: id.into(),
        occurred_at,
        action: action.into(),
        user: field()?,
        target: field()?,
        target_owner: field()?,
        ip: field()?,
        device: Device { id: field()?, ..Device::default() },
        ..Event::default()
    })
}

fn write_judgement(judgement: &Judgement, to: &mut Writer) {
    write_id(judgement.id, to);
    to.option(judgement.supersedes, |to, id| write_id(id, to));
    to.option(judgement.address, |to, address| to.text(&address.to_string()));
    to.i64(judgement.effective_at.millis());
    to.byte(judgement.verdict as u8);
    to.u32(judgement.score.cast_unsigned());
    to.u32(judgement.reasons.len() as u32);
    judgement.reasons.iter().for_each(|reason| write_reason(reason, to));
    to.u32(judgement.without.len() as u32);
    for without in &judgement.without {
        to.text(&without.family);
        to.byte(without.verdict as u8);
    }
    to.option(judgement.retry_after, |to, span| to.i64(span.millis()));
    to.option(judgement.hold, |to, hold| {
        to.i64(hold.until.millis());
        to.byte(hold.default as u8);
    });
    to.text(&judgement.policy);
    to.u32(judgement.quality.len() as u32);
    for quality in &judgement.quality {
        to.byte(quality.code as u8);
        to.option(quality.counter.as_deref(), Writer::text);
    }
    to.i64(judgement.revisable_until.millis());
}

fn read_judgement(from: &mut Reader<'_>) -> Option<Judgement> {
    Some(Judgement {
        id: read_id(from)?,
        supersedes: from.option(read_id)?,
        address: from.option(read_address)?,
        effective_at: time(from)?,
        verdict: verdict(from)?,
        score: from.u32()?.cast_signed(),
        reasons: from.list(read_reason)?,
        without: from.list(|from| Some(Without { family: from.text()?.into(), verdict: verdict(from)? }))?,
        retry_after: from.option(span)?,
        hold: from.option(|from| Some(Hold { until: time(from)?, default: verdict(from)? }))?,
        policy: from.text()?.into(),
        quality: from.list(|from| {
            let code = *QualityCode::ALL.get(usize::from(from.byte()?))?;
            Some(Quality { code, counter: from.option(Reader::text)?.map(Arc::from) })
        })?,
        revisable_until: time(from)?,
    })
}

fn write_id(id: DecisionId, to: &mut Writer) {
    to.u32(id.partition.cast_unsigned());
    to.i64(id.offset);
    to.u64(id.digest);
    to.u32(id.revision);
}

fn read_id(from: &mut Reader<'_>) -> Option<DecisionId> {
    Some(DecisionId {
        partition: from.u32()?.cast_signed(),
        offset: from.i64()?,
        digest: from.u64()?,
        revision: from.u32()?,
    })
}

/// An address in its normal form: an IPv6 one has its prefix length behind it.
fn read_address(from: &mut Reader<'_>) -> Option<Address> {
    let text = from.text()?;
    match text.split_once('/') {
        Some((bare, prefix)) => Address::parse(bare, prefix.parse().ok()?),
        None => Address::parse(&text, 128),
    }
}

fn write_reason(reason: &Reason, to: &mut Writer) {
    let source = &*reason.source;
    for text in [&source.id, &source.code, &source.family, &source.text] {
        to.text(text);
    }
    to.option(source.window, |to, span| to.i64(span.millis()));
    to.u32(reason.points.cast_unsigned());
    to.option(reason.verdict, |to, verdict| to.byte(verdict as u8));
    for number in [reason.value, reason.threshold, reason.baseline] {
        to.option(number, |to, number| to.u64(number.to_bits()));
    }
    to.option(reason.support, Writer::u32);
}

fn read_reason(from: &mut Reader<'_>) -> Option<Reason> {
    let source = ReasonSource {
        id: from.text()?,
        code: from.text()?,
        family: from.text()?,
        text: from.text()?,
        window: from.option(span)?,
    };
    let number = |from: &mut Reader<'_>| from.u64().map(f64::from_bits);
    Some(Reason {
        source: Arc::new(source),
        points: from.u32()?.cast_signed(),
        verdict: from.option(verdict)?,
        value: from.option(number)?,
        threshold: from.option(number)?,
        baseline: from.option(number)?,
        support: from.option(Reader::u32)?,
    })
}

fn time(from: &mut Reader<'_>) -> Option<Timestamp> {
    from.i64().map(Timestamp::from_millis)
}

fn span(from: &mut Reader<'_>) -> Option<Span> {
    from.i64().map(Span::from_millis)
}

fn verdict(from: &mut Reader<'_>) -> Option<Verdict> {
    Verdict::ALL.get(usize::from(from.byte()?)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::Arrival;

    fn judgement(id: DecisionId, full: bool) -> Judgement {
        let source = ReasonSource {
            id: "r".into(),
            code: "R".into(),
            family: "volume".into(),
            text: "t\u{0}ü".into(),
            window: full.then(|| Span::from_secs(60)),
        };
        let reason = Reason {
            source: Arc::new(source),
            points: -3,
            verdict: full.then_some(Verdict::Hold),
            value: full.then_some(0.1 + 0.2),
            threshold: full.then_some(1e300),
            baseline: full.then_some(-0.0),
            support: full.then_some(u32::MAX),
        };
        Judgement {
            id,
            supersedes: full.then_some(id),
            address: Address::parse(if full { "2001:db8::1" } else { "198.51.100.7" }, 64),
            effective_at: Timestamp::from_millis(1_750_000_000_001),
            verdict: Verdict::Hold,
            score: i32::MIN,
            reasons: vec![reason; 2],
            without: vec![Without { family: "device".into(), verdict: Verdict::Demote }; usize::from(full)],
            retry_after: full.then(|| Span::from_millis(1)),
            hold: full.then_some(Hold { until: Timestamp::from_millis(7), default: Verdict::Demote }),
            policy: "p".into(),
            quality: QualityCode::ALL
                .map(|code| Quality { code, counter: full.then(|| Arc::from("c")) })
                .into(),
            revisable_until: Timestamp::from_millis(1_750_086_400_000),
        }
    }

    #[test]
    fn all_that_a_decision_tells_is_kept() {
        let arrival = Arrival { topic: "t", partition: -1, offset: i64::MAX, append_time: Timestamp::MIN };
        for full in [false, true] {
            let text = |text: &str| full.then(|| Text::from(text.to_owned()));
            let event = Event {
                id: "e\"1".into(),
                occurred_at: Timestamp::from_millis(1_750_000_000_000),
                action: "like".into(),
                user: text("u"),
                target: text("t"),
                target_owner: text("o"),
                ip: text("[2001:db8::1]:443"),
                device: Device { id: text("d"), ..Device::default() },
                ..Event::default()
            };
            let judgement = judgement(DecisionId::first(&arrival, &event.id), full);
            let bytes = write(&Decision { event: &event, arrival, judgement: &judgement });
            let told = read(&bytes).expect("written here");
            assert_eq!((&told.event, told.decision().arrival), (&event, arrival));
            assert_eq!(
                told.judgement.address.map(|a| a.to_string()),
                judgement.address.map(|a| a.to_string())
            );
            assert_eq!(Judgement { address: judgement.address, ..told.judgement.clone() }, judgement);
            assert_eq!(write(&told.decision()), bytes);
            assert!(read(&bytes[..bytes.len() - 1]).is_none());
        }
    }
}
