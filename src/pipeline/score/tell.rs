//! Tell: what comes of inputs, as the records that go out.

use std::sync::Arc;

use super::Decided;
use super::parse::{Group, Item, Said, append_time};
use crate::engine::Outputs;
use crate::engine::ban::BanChange;
use crate::engine::decision::{Decision, Judgement};
use crate::engine::event::Arrival;
use crate::engine::policy::Policy;
use crate::engine::time::Timestamp;
use crate::pipeline::encode::Encoder;
use crate::stream::{Coordinates, OutBatch, RecordRef, Topic, TopicNames};
use crate::wire::error::DecodeError;
use crate::wire::headers::TraceContext;

/// A part of what is to be told of a batch, in its order.
pub(in crate::pipeline) enum Part<'b> {
    /// The time that decisions tell from here on.
    Time(Timestamp),
    /// The text of the policy that holds.
    Policy(Arc<Policy>),
    /// What an input did that is no interaction.
    Outputs(Box<Outputs>),
    /// A record of another topic that cannot be read.
    Dead(RecordRef<'b>, DecodeError),
    /// Interactions, and what came of them.
    Group(Group<'b>),
    /// Changes of bans that no input caused.
    Bans(Vec<BanChange>),
}

/// Writes what is to be told.
pub(in crate::pipeline) struct Teller {
    pub(in crate::pipeline) encoder: Encoder,
    names: TopicNames,
    decided_at: Timestamp,
}

impl Teller {
    pub(in crate::pipeline) fn new(names: TopicNames) -> Self {
        Self { encoder: Encoder::new(names.clone()), names, decided_at: Timestamp::default() }
    }

    /// Tells a part. Decisions are noted in `decided`, if that is asked for. Returns the group, to be used again.
    pub(in crate::pipeline) fn tell<'b>(
        &mut self,
        part: Part<'b>,
        out: &mut OutBatch,
        decided: &mut Option<Vec<Decided>>,
    ) -> Option<Group<'b>> {
        match part {
            Part::Time(at) => self.decided_at = at,
            Part::Policy(policy) => self.encoder.policy(&policy, out),
            Part::Outputs(outputs) => self.outputs(&outputs, out, decided),
            Part::Dead(record, error) => self.encoder.dead_letter(&record, &error, out),
            Part::Bans(changes) => changes.iter().for_each(|change| self.encoder.ban(change, out)),
            Part::Group(group) => {
                for (item, said) in group.items.iter().zip(&group.said) {
                    self.interaction(item, said, out, decided);
                }
                return Some(group);
            }
        }
        None
    }

    fn interaction(
        &mut self,
        (record, decoded): &Item<'_>,
        said: &Said,
        out: &mut OutBatch,
        decided: &mut Option<Vec<Decided>>,
    ) {
        let decoded = match (decoded, &said.refused) {
            (Ok(decoded), None) => decoded,
            (Err(error), _) | (_, Some(error)) => return self.encoder.dead_letter(record, error, out),
        };
        let outputs = &said.outputs;
        if let Some(judgement) = &outputs.judgement {
            let arrival = arrival(&self.names, record, decoded.event.occurred_at);
            let decision = Decision { event: &decoded.event, arrival, judgement };
            if let Some(decided) = decided {
                decided.push(decided_of(&decision, out));
            }
            self.encoder.decision(&decision, self.decided_at, &decoded.trace, out);
            if !outputs.shadow.is_empty() {
                self.encoder.shadow(&decision, &outputs.shadow, out);
            }
        }
        self.outputs(outputs, out, decided);
    }

    /// Bans, cases and revisions. Decisions that replace earlier ones go where those went; the trace of the event is not
    /// remembered.
    fn outputs(&mut self, outputs: &Outputs, out: &mut OutBatch, decided: &mut Option<Vec<Decided>>) {
        outputs.bans.iter().for_each(|change| self.encoder.ban(change, out));
        outputs.cases.iter().for_each(|case| self.encoder.case(case, out));
        for revision in &outputs.revisions {
            if let Some(decided) = decided {
                decided.push(decided_of(&revision.decision(), out));
            }
            self.encoder.decision(&revision.decision(), self.decided_at, &TraceContext::default(), out);
        }
    }
}

/// A decision that is told next.
fn decided_of(decision: &Decision<'_>, out: &OutBatch) -> Decided {
    let (judgement, id) = (decision.judgement, decision.judgement.id);
    let at = Coordinates { topic: Topic::Interactions, partition: id.partition, offset: id.offset };
    let Judgement { verdict, effective_at, .. } = *judgement;
    Decided { at, verdict, effective_at, revision: id.revision, record: out.len() }
}

/// Where a record stands, as the engine is told.
pub(super) fn arrival<'n>(names: &'n TopicNames, record: &RecordRef<'_>, occurred: Timestamp) -> Arrival<'n> {
    Arrival {
        topic: names.get(record.at.topic),
        partition: record.at.partition,
        offset: record.at.offset,
        append_time: append_time(record, occurred),
    }
}
