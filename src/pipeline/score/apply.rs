//! Apply: the inputs of a batch go into the engine, and what comes of them is handed on to be told.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::parse::{Group, Item, Said, with_headers};
use super::tell::{Part, arrival};
use super::{Groups, Inputs, Probe, Report, Tell};
use crate::engine::decision::{Decision, Judgement, Reason};
use crate::engine::policy::{Mode, Policy};
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;
use crate::engine::{Ahead, DeadLetterReason, Engine, Input, Outcome, Outputs, Prepared};
use crate::pipeline::hits::Hits;
use crate::pipeline::touched::touch;
use crate::stream::{Coordinates, RecordRef, Topic, TopicNames};
use crate::wire::error::DecodeError;
use crate::wire::{command, feedback};

/// The engine, and what is done around each input.
pub(in crate::pipeline) struct Applier {
    pub(in crate::pipeline) engine: Engine,
    pub(super) names: TopicNames,
    ahead: Ahead,
    pub(super) probe: Option<Probe>,
    /// What is being scored.
    pub(super) at: Option<Coordinates>,
}

impl Applier {
    pub(super) fn new(engine: Engine, names: TopicNames) -> Self {
        Self { engine, names, ahead: Ahead::default(), probe: None, at: None }
    }

    /// Applies one batch; `groups` are its interactions in merged order, and `tell` takes what is to be told, in order.
    /// Returns the records that were passed over.
    pub(in crate::pipeline) fn apply<'b>(
        &mut self,
        inputs: &Inputs<'b>,
        groups: &mut Groups<'_, 'b>,
        tell: &mut Tell<'_, 'b>,
        report: &mut Report,
    ) -> Vec<Coordinates> {
        tell(Part::Time(inputs.decided_at));
        if let Some(policy) = &inputs.policy {
            self.activate(policy, tell);
        }
        for now in inputs.ticks {
            let mut outputs = Box::new(Outputs::default());
            self.engine.apply(Input::Tick(*now), &mut outputs);
            hand_on(outputs, tell, report);
            report.as_of = report.as_of.max(*now);
        }
        for index in inputs.batch.lanes(Topic::Commands).flatten() {
            self.command(inputs.batch.get(*index), tell, report);
        }
        for index in inputs.batch.lanes(Topic::Feedback).flatten() {
            self.feedback(inputs.batch.get(*index), tell, report);
        }
        let mut skipped = Vec::new();
        for mut group in groups {
            pass_over(&mut group.items, inputs.skip, &mut skipped);
            self.group(&mut group, report);
            tell(Part::Group(group));
        }
        self.at = None;
        for (entity, touched) in &mut report.touched {
            touched.profile = self.engine.profile(entity);
        }
        report.hits.keep_declared(self.engine.policy());
        skipped
    }

    /// A policy takes effect: its text is told in the same transaction as the first decision under it.
    fn activate<'b>(&mut self, policy: &Arc<Policy>, tell: &mut Tell<'_, 'b>) {
        tell(Part::Policy(Arc::clone(policy)));
        self.engine.apply(Input::Policy(Arc::clone(policy)), &mut Outputs::default());
    }

    /// Decides interactions; the state of some that follow each other is fetched together.
    fn group(&mut self, group: &mut Group<'_>, report: &mut Report) {
        let Group { items, said } = group;
        if said.len() < items.len() {
            said.resize_with(items.len(), Said::default);
        }
        let mut ahead = std::mem::take(&mut self.ahead);
        for (items, said) in items.chunks(Ahead::EVENTS).zip(said.chunks_mut(Ahead::EVENTS)) {
            let events = items.iter().map(|(_, decoded)| decoded.as_ref().ok().map(|decoded| &decoded.event));
            ahead.look(&self.engine, events);
            for (index, (item, said)) in items.iter().zip(said).enumerate() {
                let prepared = ahead.turn(&self.engine, index);
                self.interaction(item, prepared, said, report);
            }
        }
        self.ahead = ahead;
    }

    fn interaction(
        &mut self,
        (record, decoded): &Item<'_>,
        prepared: &Prepared,
        said: &mut Said,
        report: &mut Report,
    ) {
        let Said { outputs, refused } = said;
        outputs.clear();
        *refused = None;
        let decoded = match decoded {
            Ok(decoded) => decoded,
            Err(error) => return report.tally.count(Outcome::DeadLettered(error.reason)),
        };
        self.at = Some(record.at);
        if let Some(probe) = &self.probe {
            probe(record.at);
        }
        let event = &decoded.event;
        let arrival = arrival(&self.names, record, event.occurred_at);
        let outcome = self.engine.apply_prepared(event, arrival, prepared, outputs);
        report.append_times.push(arrival.append_time);
        report.tally.count(outcome);
        if let Outcome::DeadLettered(reason) = outcome {
            *refused = Some(too_early(reason, event.occurred_at, arrival.append_time));
            return;
        }
        if let Some(judgement) = &outputs.judgement {
            report.tally.decide(judgement.verdict);
            report.fell_back.append(&mut outputs.fell_back);
            count(judgement, &outputs.shadow, &mut report.hits);
            if judgement.verdict > Verdict::Allow {
                touch(&Decision { event, arrival, judgement }, report);
            }
        }
        report.bans.extend(outputs.bans.iter().cloned());
    }

    fn command<'b>(&mut self, record: RecordRef<'b>, tell: &mut Tell<'_, 'b>, report: &mut Report) {
        let command = match with_headers(&record, |headers| command::decode(record.value, headers)) {
            Ok(command) => command,
            Err(error) => return dead(record, error, tell, report),
        };
        let arrival = arrival(&self.names, &record, command.at);
        let mut outputs = Box::new(Outputs::default());
        let outcome = self.engine.apply(Input::Command(&command, arrival), &mut outputs);
        report.tally.count(outcome);
        hand_on(outputs, tell, report);
    }

    fn feedback<'b>(&mut self, record: RecordRef<'b>, tell: &mut Tell<'_, 'b>, report: &mut Report) {
        let feedback = match feedback::decode(record.value) {
            Ok(feedback) => feedback,
            Err(error) => return dead(record, error, tell, report),
        };
        let arrival = arrival(&self.names, &record, feedback.at);
        let mut outputs = Box::new(Outputs::default());
        let outcome = self.engine.apply(Input::Feedback(&feedback, arrival), &mut outputs);
        report.tally.count(outcome);
        hand_on(outputs, tell, report);
    }
}

fn hand_on<'b>(outputs: Box<Outputs>, tell: &mut Tell<'_, 'b>, report: &mut Report) {
    report.bans.extend(outputs.bans.iter().cloned());
    let resolved =
        outputs.cases.iter().filter_map(|case| Some((case, case.resolution.as_ref()?.undone.as_ref()?)));
    resolved.for_each(|(case, undone)| tracing::warn!(case = case.id, undone, "a case was cleared"));
    tell(Part::Outputs(outputs));
}

fn dead<'b>(record: RecordRef<'b>, error: DecodeError, tell: &mut Tell<'_, 'b>, report: &mut Report) {
    report.tally.count(Outcome::DeadLettered(error.reason));
    tell(Part::Dead(record, error));
}

/// Takes records whose scoring failed before for what they are.
fn pass_over(items: &mut [Item<'_>], skip: &BTreeSet<Coordinates>, skipped: &mut Vec<Coordinates>) {
    if skip.is_empty() {
        return;
    }
    for (record, decoded) in items.iter_mut().filter(|(record, _)| skip.contains(&record.at)) {
        skipped.push(record.at);
        let words = "scoring this record failed twice: the log of weir has the reason";
        *decoded = Err(DecodeError::new(DeadLetterReason::EngineFault, "", words));
    }
}

fn too_early(reason: DeadLetterReason, occurred: Timestamp, append: Timestamp) -> DecodeError {
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
