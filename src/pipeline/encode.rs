//! From what the engine tells to the records of a batch: topic, key, headers, value.

use crate::engine::SEMANTICS;
use crate::engine::ban::BanChange;
use crate::engine::case::Case;
use crate::engine::decision::{Decision, Reason};
use crate::engine::policy::Policy;
use crate::engine::time::Timestamp;
use crate::stream::{self, OutBatch, OutRecord, RecordRef, Topic, TopicNames};
use crate::wire::dead_letter::{self, Content, Origin};
use crate::wire::error::DecodeError;
use crate::wire::headers::TraceContext;
use crate::wire::journal::{self, JournalRecord};
use crate::wire::outgoing::{self, Header, Subject};
use crate::wire::shadow::ShadowRecord;
use crate::wire::shadow_tally::ShadowTallyRecord;
use crate::wire::{ban, case, decision, policy, shadow, shadow_tally};

/// The most bytes of one outgoing record: what a broker accepts unless told otherwise.
const RECORD_MAX: usize = 1_000_000;

/// No trace goes with what no single event caused.
const NO_TRACE: TraceContext<'static> = TraceContext { traceparent: None, tracestate: None };

/// Writes outgoing records.
#[derive(Debug)]
pub(crate) struct Encoder {
    names: TopicNames,
    decisions: decision::Writer,
}

impl Encoder {
    pub(crate) fn new(names: TopicNames) -> Self {
        Self { names, decisions: decision::Writer::default() }
    }

    /// A decision, keyed by what order matters for.
    pub(crate) fn decision(
        &mut self,
        decision: &Decision<'_>,
        decided_at: Timestamp,
        trace: &TraceContext<'_>,
        out: &mut OutBatch,
    ) {
        let (id, writer) = (decision.judgement.id.text(), &mut self.decisions);
        let record = out
            .record(Topic::Decisions)
            .key_bytes(Some(decision::key(decision).as_bytes()))
            .value(|value| writer.encode(decision, decided_at, SEMANTICS, value));
        with_headers(record, decision::headers(id.as_str(), trace)).finish();
    }

    /// What shadow would have said of an event.
    pub(crate) fn shadow(&mut self, decision: &Decision<'_>, shadow: &[Reason], out: &mut OutBatch) {
        let id = decision.judgement.id.to_string();
        let record = out
            .record(Topic::Shadow)
            .key_bytes(Some(decision::key(decision).as_bytes()))
            .value_bytes(Some(&shadow::encode(decision, shadow)));
        with_headers(record, outgoing::headers(Subject::Shadow, &id, &NO_TRACE)).finish();
    }

    /// What a candidate made of an event; `key` is that of the decision.
    pub(crate) fn candidate(&mut self, told: &ShadowRecord, key: Option<&[u8]>, out: &mut OutBatch) {
        let id = format!("{}/candidate", told.decision_id);
        let record =
            out.record(Topic::Shadow).key_bytes(key).value_bytes(Some(&shadow::encode_candidate(told)));
        with_headers(record, outgoing::headers(Subject::Shadow, &id, &NO_TRACE)).finish();
    }

    /// How a candidate compares in all. The chain behind the batch tells one of them from all others.
    pub(crate) fn tally(&mut self, told: &ShadowTallyRecord, chain: &str, out: &mut OutBatch) {
        let (key, id) = (told.key(), format!("{chain}/tally"));
        let record = out.record(Topic::Shadow).key_bytes(Some(key.as_bytes()));
        let record = record.value_bytes(Some(&shadow_tally::encode(told)));
        with_headers(record, outgoing::headers(Subject::ShadowTally, &id, &NO_TRACE)).finish();
    }

    /// A change of an entity's bans; a tombstone when there are none any more.
    pub(crate) fn ban(&mut self, change: &BanChange, out: &mut OutBatch) {
        let key = ban::key(change);
        let value = ban::encode(change);
        let record = out.record(Topic::Bans).key_bytes(Some(key.as_bytes())).value_bytes(value.as_deref());
        with_headers(record, outgoing::headers(Subject::Ban, &key, &NO_TRACE)).finish();
    }

    /// The state of a case.
    pub(crate) fn case(&mut self, told: &Case, out: &mut OutBatch) {
        let value = case::encode(told);
        let record = out.record(Topic::Cases).key_bytes(Some(told.id.as_bytes())).value_bytes(Some(&value));
        with_headers(record, outgoing::headers(Subject::Case, &told.id, &NO_TRACE)).finish();
    }

    /// The text of a policy that takes effect.
    pub(crate) fn policy(&mut self, told: &Policy, out: &mut OutBatch) {
        let value = policy::encode(&told.hash, &told.sources);
        let record =
            out.record(Topic::Policies).key_bytes(Some(told.hash.as_bytes())).value_bytes(Some(&value));
        with_headers(record, outgoing::headers(Subject::Policy, &told.hash, &NO_TRACE)).finish();
    }

    /// The journal's record of a batch.
    pub(crate) fn journal(&mut self, told: &JournalRecord, shard: u32, out: &mut OutBatch) {
        let (key, value) = (shard.to_string(), journal::encode(told));
        let record = out.record(Topic::Journal).partition(shard.cast_signed());
        record.key_bytes(Some(key.as_bytes())).value_bytes(Some(&value)).finish();
    }

    /// A record that could not be decided: byte for byte, or its coordinates and digest when that would be too large
    /// for the broker.
    pub(crate) fn dead_letter(&mut self, record: &RecordRef<'_>, error: &DecodeError, out: &mut OutBatch) {
        let origin = Origin {
            topic: self.names.get(record.at.topic),
            partition: record.at.partition,
            offset: record.at.offset,
            timestamp: timestamp(record),
        };
        let mut letter = out.record(Topic::DeadLetters).key_bytes(record.key).value_bytes(record.value);
        for (name, value) in record.headers.iter() {
            letter = letter.header(name, value);
        }
        let fits = own(letter, &origin, error, Content::Original).finish_within(RECORD_MAX);
        if fits.is_err() {
            let digest = dead_letter::digest(&origin, record.key, record.value, record.headers.len());
            let letter = out.record(Topic::DeadLetters).value_bytes(Some(&digest));
            own(letter, &origin, error, Content::Digest).finish();
        }
    }
}

fn own<'o>(
    mut letter: OutRecord<'o>,
    origin: &Origin<'_>,
    error: &DecodeError,
    content: Content,
) -> OutRecord<'o> {
    for (name, value) in dead_letter::headers(origin, error, content, env!("CARGO_PKG_VERSION")) {
        letter = letter.header(&name, Some(value.as_bytes()));
    }
    letter
}

fn with_headers<'o, 'h>(record: OutRecord<'o>, headers: impl Iterator<Item = Header<'h>>) -> OutRecord<'o> {
    headers.fold(record, |record, (name, value)| record.header(name, Some(value)))
}

fn timestamp(record: &RecordRef<'_>) -> Option<Timestamp> {
    match record.timestamp {
        stream::Timestamp::Append(millis) | stream::Timestamp::Create(millis) => {
            Some(Timestamp::from_millis(millis))
        }
        stream::Timestamp::None => None,
    }
}
