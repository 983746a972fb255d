//! Scoring a batch: decode, merge, apply, encode. Knows no broker and no clock; the same for live and for a follower.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::address::Address;
use crate::engine::ban::BanChange;
use crate::engine::command::Command;
use crate::engine::decision::{Decision, Judgement, Reason};
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::event::Arrival;
use crate::engine::policy::{Mode, Policy, Settings};
use crate::engine::subject::Profile;
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;
use crate::engine::{Ahead, DeadLetterReason, Engine, Input, Outcome, Outputs, Prepared};
use crate::stream::{self, OutBatch, RecordRef, Topic, TopicNames};
use crate::wire::command;
use crate::wire::error::DecodeError;
use crate::wire::feedback;
use crate::wire::headers::{Header, TraceContext};
use crate::wire::interaction::{DecodeLimits, Decoded, decode};

use super::batch::{Batch, Index};
use super::encode::Encoder;
use super::hits::Hits;
use super::merge::Merge;
use super::tally::Tally;

/// Entities above allow of one batch that the readers of this process are told about; the rest are looked up when
/// somebody asks.
const TOUCHED_MAX: usize = 2_000;

/// What scoring a batch did, beside what it tells.
#[derive(Debug, Default)]
pub struct Report {
    /// What became of its records.
    pub tally: Tally,
    /// Rules, limits and shortcomings that its decisions named.
    pub hits: Hits,
    /// Changes of bans, in order.
    pub bans: Vec<BanChange>,
    /// The subjects of decisions above allow, with the newest of them.
    pub touched: BTreeMap<Entity, Touched>,
    /// Append times of its interactions: how old they were is known at the commit.
    pub append_times: Vec<Timestamp>,
    /// Time the engine has come to.
    pub as_of: Timestamp,
    /// CPU seconds of scoring it.
    pub seconds: f64,
}

/// What is known of an entity after a decision on it.
#[derive(Clone, Debug)]
pub struct Touched {
    /// What the engine remembers.
    pub profile: Option<Profile>,
    /// Newest decision on it in this batch, if any.
    pub verdict: Option<TouchedBy>,
}

/// A decision as readers of this process see it.
#[derive(Clone, Debug)]
pub struct TouchedBy {
    /// The decision.
    pub decision: crate::engine::decision::DecisionId,
    /// When the event counted.
    pub at: Timestamp,
    /// What was done.
    pub action: String,
    /// The answer.
    pub verdict: Verdict,
    /// Points.
    pub score: i32,
    /// Public codes of its reasons.
    pub codes: Vec<String>,
}

/// Scores batches, one after the other.
#[derive(Debug)]
pub struct Scorer {
    engine: Engine,
    encoder: Encoder,
    limits: DecodeLimits,
    names: TopicNames,
    outputs: Outputs,
    ahead: Ahead,
    /// What decisions and revisions tell as the time they were made.
    decided_at: Timestamp,
}

/// A record of the merge: what it is and what it says.
type Item<'b> = (RecordRef<'b>, Result<Decoded<'b>, DecodeError>);

impl Scorer {
    /// A scorer around an engine.
    pub fn new(engine: Engine, names: TopicNames, limits: DecodeLimits) -> Self {
        let encoder = Encoder::new(names.clone());
        let (outputs, ahead, decided_at) = (Outputs::default(), Ahead::default(), Timestamp::default());
        Self { engine, encoder, limits, names, outputs, ahead, decided_at }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Tells the text of the policy that holds.
    pub fn tell_policy(&mut self, out: &mut OutBatch) {
        self.encoder.policy(self.engine.policy(), out);
    }

    /// A policy takes effect: its text is told in the same transaction as the first decision under it.
    pub fn activate(&mut self, policy: Arc<Policy>, out: &mut OutBatch) {
        self.encoder.policy(&policy, out);
        self.engine.apply(Input::Policy(policy), &mut self.outputs);
        self.outputs.clear();
    }

    /// Time has come to `now` although nothing happened.
    pub fn tick(&mut self, now: Timestamp, out: &mut OutBatch, report: &mut Report) {
        self.decided_at = now;
        self.outputs.clear();
        self.engine.apply(Input::Tick(now), &mut self.outputs);
        self.tell_bans_and_cases(out, report);
        report.as_of = report.as_of.max(now);
    }

    /// Scores a batch: commands first, then feedback, then interactions in merged order. `decided_at` is the time that decisions tell.
    pub fn score(&mut self, batch: &Batch, decided_at: Timestamp, out: &mut OutBatch, report: &mut Report) {
        self.decided_at = decided_at;
        for index in batch.lanes(Topic::Commands).into_values().flatten() {
            self.command(batch.get(index), out, report);
        }
        for index in batch.lanes(Topic::Feedback).into_values().flatten() {
            self.feedback(batch.get(index), out, report);
        }
        let settings = self.engine.policy().settings.clone();
        let limits = self.limits;
        let lanes = batch.lanes(Topic::Interactions).into_values();
        let lanes = lanes.map(|lane| lane.into_iter().map(|index| head(batch, index, &settings, &limits)));
        let mut merged = Merge::new(lanes);
        let mut together = Vec::with_capacity(Ahead::EVENTS);
        loop {
            together.extend(merged.by_ref().take(Ahead::EVENTS));
            if together.is_empty() {
                break;
            }
            self.interactions(&mut together, decided_at, out, report);
        }
        self.profile_touched(report);
        report.hits.keep_declared(self.engine.policy());
    }

    /// What the engine knows of entities that somebody asked for.
    pub fn look_up(&self, wanted: Vec<Entity>, report: &mut Report) {
        for entity in wanted {
            let touched = Touched { profile: self.engine.profile(&entity), verdict: None };
            report.touched.entry(entity).or_insert(touched);
        }
    }

    /// Decides some interactions that follow each other; their state is fetched together.
    fn interactions(
        &mut self,
        together: &mut Vec<Item<'_>>,
        decided_at: Timestamp,
        out: &mut OutBatch,
        report: &mut Report,
    ) {
        let mut ahead = std::mem::take(&mut self.ahead);
        let events = together.iter().map(|(_, decoded)| decoded.as_ref().ok().map(|decoded| &decoded.event));
        ahead.look(&self.engine, events);
        for (index, (record, decoded)) in together.drain(..).enumerate() {
            self.interaction(record, decoded, ahead.get(index), decided_at, out, report);
        }
        self.ahead = ahead;
    }

    fn interaction(
        &mut self,
        record: RecordRef<'_>,
        decoded: Result<Decoded<'_>, DecodeError>,
        prepared: &Prepared,
        decided_at: Timestamp,
        out: &mut OutBatch,
        report: &mut Report,
    ) {
        let decoded = match decoded {
            Ok(decoded) => decoded,
            Err(error) => return self.dead_letter(record, &error, out, report),
        };
        let event = &decoded.event;
        let append_time = append_time(&record, event.occurred_at);
        let arrival = Arrival {
            topic: self.names.get(record.at.topic),
            partition: record.at.partition,
            offset: record.at.offset,
            append_time,
        };
        self.outputs.clear();
        let outcome = self.engine.apply_prepared(event, arrival, prepared, &mut self.outputs);
        report.append_times.push(append_time);
        if let Outcome::DeadLettered(reason) = outcome {
            let error = refused(reason, event.occurred_at, append_time);
            return self.dead_letter(record, &error, out, report);
        }
        report.tally.count(outcome);
        if let Some(judgement) = &self.outputs.judgement {
            let decision = Decision { event, arrival, judgement };
            self.encoder.decision(&decision, decided_at, &decoded.trace, out);
            if !self.outputs.shadow.is_empty() {
                self.encoder.shadow(&decision, &self.outputs.shadow, out);
            }
            report.tally.decide(judgement.verdict);
            count(judgement, &self.outputs.shadow, &mut report.hits);
            if judgement.verdict > Verdict::Allow {
                touch(&decision, report);
            }
        }
        self.tell_bans_and_cases(out, report);
    }

    fn command(&mut self, record: RecordRef<'_>, out: &mut OutBatch, report: &mut Report) {
        let decoded = with_headers(&record, |headers| command::decode(record.value, headers));
        match decoded {
            Ok(command) => self.operate(&command, &record, out, report),
            Err(error) => self.dead_letter(record, &error, out, report),
        }
    }

    fn operate(
        &mut self,
        command: &Command,
        record: &RecordRef<'_>,
        out: &mut OutBatch,
        report: &mut Report,
    ) {
        let arrival = Arrival {
            topic: self.names.get(record.at.topic),
            partition: record.at.partition,
            offset: record.at.offset,
            append_time: append_time(record, command.at),
        };
        self.outputs.clear();
        let outcome = self.engine.apply(Input::Command(command, arrival), &mut self.outputs);
        report.tally.count(outcome);
        self.tell_bans_and_cases(out, report);
    }

    fn feedback(&mut self, record: RecordRef<'_>, out: &mut OutBatch, report: &mut Report) {
        let feedback = match feedback::decode(record.value) {
            Ok(feedback) => feedback,
            Err(error) => return self.dead_letter(record, &error, out, report),
        };
        let arrival = Arrival {
            topic: self.names.get(record.at.topic),
            partition: record.at.partition,
            offset: record.at.offset,
            append_time: append_time(&record, feedback.at),
        };
        self.outputs.clear();
        let outcome = self.engine.apply(Input::Feedback(&feedback, arrival), &mut self.outputs);
        report.tally.count(outcome);
        self.tell_bans_and_cases(out, report);
    }

    fn dead_letter(
        &mut self,
        record: RecordRef<'_>,
        error: &DecodeError,
        out: &mut OutBatch,
        report: &mut Report,
    ) {
        self.encoder.dead_letter(&record, error, out);
        report.tally.count(Outcome::DeadLettered(error.reason));
    }

    fn tell_bans_and_cases(&mut self, out: &mut OutBatch, report: &mut Report) {
        for change in self.outputs.bans.drain(..) {
            self.encoder.ban(&change, out);
            report.bans.push(change);
        }
        for case in self.outputs.cases.drain(..) {
            self.encoder.case(&case, out);
        }
        self.tell_revisions(out);
    }

    /// Decisions that replace earlier ones go where those went; the trace of the event is not remembered.
    fn tell_revisions(&mut self, out: &mut OutBatch) {
        for revision in self.outputs.revisions.drain(..) {
            self.encoder.decision(&revision.decision(), self.decided_at, &TraceContext::default(), out);
        }
    }

    fn profile_touched(&self, report: &mut Report) {
        for (entity, touched) in &mut report.touched {
            touched.profile = self.engine.profile(entity);
        }
    }
}

/// A record as the merge sees it: what is no interaction stands at its append time.
fn head<'b>(
    batch: &'b Batch,
    index: Index,
    settings: &Settings,
    limits: &DecodeLimits,
) -> (Timestamp, Item<'b>) {
    let record = batch.get(index);
    let decoded = if record.headers.unreadable() > 0 {
        Err(DecodeError::header_name())
    } else {
        with_headers(&record, |headers| decode(record.value, headers, limits))
    };
    let at = match &decoded {
        Ok(decoded) => {
            let occurred = decoded.event.occurred_at;
            let append = append_time(&record, occurred);
            settings.effective_time(occurred, append).map_or(append, |(at, _)| at)
        }
        Err(_) => append_time(&record, Timestamp::default()),
    };
    (at, (record, decoded))
}

fn with_headers<'b, T>(record: &RecordRef<'b>, read: impl FnOnce(&[Header<'b>]) -> T) -> T {
    if record.headers.is_empty() {
        return read(&[]);
    }
    let headers: Vec<Header<'b>> = record.headers.iter().collect();
    read(&headers)
}

/// When the log took the record; without any timestamp, when the event says it happened.
pub(super) fn append_time(record: &RecordRef<'_>, occurred: Timestamp) -> Timestamp {
    match record.timestamp {
        stream::Timestamp::Append(millis) | stream::Timestamp::Create(millis) => {
            Timestamp::from_millis(millis)
        }
        stream::Timestamp::None => occurred,
    }
}

fn refused(reason: DeadLetterReason, occurred: Timestamp, append: Timestamp) -> DecodeError {
    DecodeError::new(
        reason,
        "occurred_at",
        format!("{occurred} is too far ahead of its append time {append}"),
    )
}

/// Counts what a decision names; a shortcoming once, however many counters it concerns.
fn count(judgement: &Judgement, shadow: &[Reason], hits: &mut Hits) {
    hits.name(&judgement.reasons, Mode::Live);
    hits.name(shadow, Mode::Shadow);
    for (at, quality) in judgement.quality.iter().enumerate() {
        if judgement.quality[..at].iter().all(|earlier| earlier.code != quality.code) {
            hits.fall_short(quality.code);
        }
    }
}

/// Notes the subjects of a decision above allow for the readers of this process.
fn touch(decision: &Decision<'_>, report: &mut Report) {
    let event = decision.event;
    let subjects = [
        (EntityKind::User, event.user.as_deref().map(str::to_owned)),
        (EntityKind::Device, event.device.id.as_deref().map(str::to_owned)),
        (EntityKind::Ip, decision.judgement.address.map(|address: Address| address.to_string())),
    ];
    for (kind, value) in subjects.into_iter().filter_map(|(kind, value)| Some((kind, value?))) {
        let entity = Entity::new(kind, value);
        if report.touched.len() < TOUCHED_MAX || report.touched.contains_key(&entity) {
            let verdict = Some(touched_by(decision));
            report.touched.insert(entity, Touched { profile: None, verdict });
        }
    }
}

fn touched_by(decision: &Decision<'_>) -> TouchedBy {
    let judgement = decision.judgement;
    TouchedBy {
        decision: judgement.id,
        at: judgement.effective_at,
        action: decision.event.action.clone().into_owned(),
        verdict: judgement.verdict,
        score: judgement.score,
        codes: judgement.reasons.iter().map(|reason| reason.source.code.clone()).collect(),
    }
}
