//! Scoring a batch: decode, merge, apply, encode. Knows no broker and no clock; the same for live and for a follower.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::ban::BanChange;
use crate::engine::blast::FellBack;
use crate::engine::command::Command;
use crate::engine::decision::{Decision, Judgement, Reason};
use crate::engine::entity::Entity;
use crate::engine::event::Arrival;
use crate::engine::policy::{Mode, Policy, Settings};
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;
use crate::engine::{Ahead, DeadLetterReason, Engine, Input, Outcome, Outputs, Prepared};
use crate::stream::{self, Coordinates, OutBatch, RecordRef, Topic, TopicNames};
use crate::wire::command;
use crate::wire::error::DecodeError;
use crate::wire::feedback;
use crate::wire::headers::{Header, TraceContext};
use crate::wire::interaction::{DecodeLimits, Decoded, Spare, decode_with};
use crate::wire::journal::JournalRecord;
use crate::wire::shadow::ShadowRecord;

use super::batch::{Batch, Index};
use super::candidate::Compared;
use super::encode::Encoder;
use super::hits::Hits;
use super::merge::Merge;
use super::tally::Tally;
use super::touched::{Touched, touch};

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
    /// Rules that fell back because they held up too many accounts.
    pub fell_back: Vec<FellBack>,
    /// Append times of its interactions: how old they were is known at the commit.
    pub append_times: Vec<Timestamp>,
    /// Time the engine has come to.
    pub as_of: Timestamp,
    /// CPU seconds of scoring it.
    pub seconds: f64,
    /// Its decisions, for who compares them; left out unless asked for.
    pub decided: Option<Vec<Decided>>,
    /// How those of a candidate compare.
    pub compared: Compared,
}

/// A decision on an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Where the event's record stands.
    pub at: Coordinates,
    /// The verdict.
    pub verdict: Verdict,
    /// Which of the outgoing records it is.
    pub record: usize,
}

/// What goes into the engine as one batch, in this order.
#[derive(Debug)]
pub struct Inputs<'b> {
    /// A policy that takes effect.
    pub policy: Option<Arc<Policy>>,
    /// Times to come to, ascending.
    pub ticks: &'b [Timestamp],
    /// The records.
    pub batch: &'b Batch,
    /// Records that are not applied: scoring them failed. They become dead letters.
    pub skip: &'b BTreeSet<Coordinates>,
    /// The time that decisions tell.
    pub decided_at: Timestamp,
}

/// Is told each record before it is scored: how a test makes scoring fail.
pub type Probe = Arc<dyn Fn(Coordinates) + Send + Sync>;

/// Scores batches, one after the other.
pub struct Scorer {
    engine: Engine,
    encoder: Encoder,
    limits: DecodeLimits,
    names: TopicNames,
    outputs: Outputs,
    ahead: Ahead,
    spare: Spare,
    probe: Option<Probe>,
    /// What is being scored.
    at: Option<Coordinates>,
    /// What decisions and revisions tell as the time they were made.
    decided_at: Timestamp,
}

/// A record of the merge: what it is and what it says.
pub(super) type Item<'b> = (RecordRef<'b>, Result<Decoded<'b>, DecodeError>);

impl Scorer {
    /// A scorer around an engine.
    pub fn new(engine: Engine, names: TopicNames, limits: DecodeLimits) -> Self {
        let encoder = Encoder::new(names.clone());
        Self {
            engine,
            encoder,
            limits,
            names,
            outputs: Outputs::default(),
            ahead: Ahead::default(),
            spare: Spare::default(),
            probe: None,
            at: None,
            decided_at: Timestamp::default(),
        }
    }

    /// The same, told each record before it is scored.
    #[must_use]
    pub fn probed(self, probe: Option<Probe>) -> Self {
        Self { probe, ..self }
    }

    /// The record that was being scored last: after a panic, the one that caused it.
    pub fn at(&self) -> Option<Coordinates> {
        self.at
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The engine.
    pub fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// Tells the text of the policy that holds.
    pub fn tell_policy(&mut self, out: &mut OutBatch) {
        self.encoder.policy(self.engine.policy(), out);
    }

    /// Tells changes of bans that no input caused.
    pub(super) fn tell_bans(&mut self, changes: &[BanChange], out: &mut OutBatch) {
        changes.iter().for_each(|change| self.encoder.ban(change, out));
    }

    /// Tells what a candidate made of an event that was decided otherwise; the record key is that of the decision.
    pub(super) fn tell_candidate(&mut self, record: &ShadowRecord, key: Option<&[u8]>, out: &mut OutBatch) {
        self.encoder.candidate(record, key, out);
    }

    /// Tells the journal's record of a batch.
    pub(super) fn tell_journal(&mut self, record: &JournalRecord, shard: u32, out: &mut OutBatch) {
        self.encoder.journal(record, shard, out);
    }

    /// Applies one batch. Returns the records that were passed over.
    pub fn apply(
        &mut self,
        inputs: &Inputs<'_>,
        out: &mut OutBatch,
        report: &mut Report,
    ) -> Vec<Coordinates> {
        self.decided_at = inputs.decided_at;
        if let Some(policy) = &inputs.policy {
            self.activate(Arc::clone(policy), out);
        }
        for now in inputs.ticks {
            self.tick(*now, out, report);
        }
        for index in inputs.batch.lanes(Topic::Commands).into_values().flatten() {
            self.command(inputs.batch.get(index), out, report);
        }
        for index in inputs.batch.lanes(Topic::Feedback).into_values().flatten() {
            self.feedback(inputs.batch.get(index), out, report);
        }
        let skipped = self.score(inputs, out, report);
        self.at = None;
        self.profile_touched(report);
        report.hits.keep_declared(self.engine.policy());
        skipped
    }

    /// A policy takes effect: its text is told in the same transaction as the first decision under it.
    fn activate(&mut self, policy: Arc<Policy>, out: &mut OutBatch) {
        self.encoder.policy(&policy, out);
        self.engine.apply(Input::Policy(policy), &mut self.outputs);
        self.outputs.clear();
    }

    /// Time has come to `now` although nothing happened.
    fn tick(&mut self, now: Timestamp, out: &mut OutBatch, report: &mut Report) {
        self.outputs.clear();
        self.engine.apply(Input::Tick(now), &mut self.outputs);
        self.tell_bans_and_cases(out, report);
        report.as_of = report.as_of.max(now);
    }

    /// Interactions in merged order.
    fn score(&mut self, inputs: &Inputs<'_>, out: &mut OutBatch, report: &mut Report) -> Vec<Coordinates> {
        let batch = inputs.batch;
        let policy = Arc::clone(self.engine.policy());
        let limits = self.limits;
        // All lanes decode with it, one at a time.
        let spare = RefCell::new(std::mem::take(&mut self.spare));
        let read = |index| head(batch, index, &policy.settings, &limits, &mut spare.borrow_mut());
        let lanes = batch.lanes(Topic::Interactions).into_values();
        let lanes = lanes.map(|lane| lane.into_iter().map(read));
        let mut merged = Merge::new(lanes);
        let mut skipped = Vec::new();
        let mut together = Vec::with_capacity(Ahead::EVENTS);
        loop {
            together.extend(merged.by_ref().take(Ahead::EVENTS));
            if together.is_empty() {
                break;
            }
            pass_over(&mut together, inputs.skip, &mut skipped);
            self.interactions(&together, inputs.decided_at, out, report);
            for (_, decoded) in together.drain(..) {
                if let Ok(decoded) = decoded {
                    spare.borrow_mut().keep(decoded.event);
                }
            }
        }
        drop(merged);
        self.spare = spare.into_inner();
        skipped
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
        together: &[Item<'_>],
        decided_at: Timestamp,
        out: &mut OutBatch,
        report: &mut Report,
    ) {
        let mut ahead = std::mem::take(&mut self.ahead);
        let events = together.iter().map(|(_, decoded)| decoded.as_ref().ok().map(|decoded| &decoded.event));
        ahead.look(&self.engine, events);
        for (index, (record, decoded)) in together.iter().enumerate() {
            let prepared = ahead.turn(&self.engine, index);
            self.interaction(*record, decoded, prepared, decided_at, out, report);
        }
        self.ahead = ahead;
    }

    fn interaction(
        &mut self,
        record: RecordRef<'_>,
        decoded: &Result<Decoded<'_>, DecodeError>,
        prepared: &Prepared,
        decided_at: Timestamp,
        out: &mut OutBatch,
        report: &mut Report,
    ) {
        let decoded = match decoded {
            Ok(decoded) => decoded,
            Err(error) => return self.dead_letter(record, error, out, report),
        };
        self.at = Some(record.at);
        if let Some(probe) = &self.probe {
            probe(record.at);
        }
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
            if let Some(decided) = &mut report.decided {
                decided.push(Decided { at: record.at, verdict: judgement.verdict, record: out.len() });
            }
            self.encoder.decision(&decision, decided_at, &decoded.trace, out);
            if !self.outputs.shadow.is_empty() {
                self.encoder.shadow(&decision, &self.outputs.shadow, out);
            }
            report.tally.decide(judgement.verdict);
            report.fell_back.append(&mut self.outputs.fell_back);
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
pub(super) fn head<'b>(
    batch: &'b Batch,
    index: Index,
    settings: &Settings,
    limits: &DecodeLimits,
    spare: &mut Spare,
) -> (Timestamp, Item<'b>) {
    let record = batch.get(index);
    let decoded = if record.headers.unreadable() > 0 {
        Err(DecodeError::header_name())
    } else {
        with_headers(&record, |headers| decode_with(spare, record.value, headers, limits))
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

/// Takes records whose scoring failed before for what they are.
fn pass_over(together: &mut [Item<'_>], skip: &BTreeSet<Coordinates>, skipped: &mut Vec<Coordinates>) {
    if skip.is_empty() {
        return;
    }
    for (record, decoded) in together.iter_mut().filter(|(record, _)| skip.contains(&record.at)) {
        skipped.push(record.at);
        let words = "scoring this record failed twice: the log of weir has the reason";
        *decoded = Err(DecodeError::new(DeadLetterReason::EngineFault, "", words));
    }
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
