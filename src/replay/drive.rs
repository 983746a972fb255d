//! Lines driven through the engine: decoded some at a time, applied one by one, each told to whoever listens.
//!
//! The one road of events that do not come from Kafka. It keeps nothing of what it tells. A line that is no
//! interaction is told as a dead letter with its fault; nothing here fails.

use crate::engine::event::{Arrival, Event};
use crate::engine::time::{Span, Timestamp};
use crate::engine::trace::Trace;
use crate::engine::{Ahead, DeadLetterReason, Engine, Input, Outcome, Outputs};
use crate::wire::error::DecodeError;
use crate::wire::interaction::{DecodeLimits, Decoded, Spare, decode_with};

/// What is fixed for a whole replay.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the input, as decisions tell it.
    pub name: String,
    /// No event counts later than this.
    pub as_of: Timestamp,
    /// Bounds of records and fields.
    pub limits: DecodeLimits,
}

/// One line after the engine had it.
#[derive(Debug)]
pub struct Heard<'h> {
    /// Number of the line, from 1.
    pub line: u64,
    /// What became of it.
    pub outcome: Outcome,
    /// The event and where it stood; `None` when the line is none.
    pub event: Option<(&'h Event<'h>, Arrival<'h>)>,
    /// Why it is a dead letter; `None` when it is none.
    pub fault: Option<&'h DecodeError>,
    /// All that the engine tells with it.
    pub outputs: &'h Outputs,
    /// How late an event may be and still be counted as live: the smallest of the policies that decided it.
    pub grace: Span,
}

/// An engine and the room to feed it.
#[derive(Debug)]
pub struct Drive<'e> {
    engine: &'e mut Engine,
    options: &'e Options,
    ahead: Ahead,
    outputs: Outputs,
    spare: Spare,
    line: i64,
}

impl<'e> Drive<'e> {
    /// Lines are numbered from here on.
    pub fn new(engine: &'e mut Engine, options: &'e Options) -> Self {
        let (ahead, outputs, spare) = (Ahead::default(), Outputs::default(), Spare::default());
        Self { engine, options, ahead, outputs, spare, line: 0 }
    }

    /// Applies the next lines, [`Ahead::EVENTS`] of them or as many as there are; each is told to `hear`.
    pub fn together<'l>(
        &mut self,
        lines: impl Iterator<Item = &'l [u8]>,
        mut hear: impl FnMut(&Heard<'_>),
    ) -> usize {
        let some = lines.take(Ahead::EVENTS);
        let limits = &self.options.limits;
        // At its full length at once: what is decoded is too large to be moved about.
        let mut together = Vec::with_capacity(Ahead::EVENTS);
        together.extend(some.map(|line| decode_with(&mut self.spare, Some(line), &[], limits)));
        let events = together.iter().map(|decoded| decoded.as_ref().ok().map(|decoded| &decoded.event));
        self.ahead.look(self.engine, events);
        for (index, decoded) in together.iter().enumerate() {
            self.line(decoded, index, &mut hear);
        }
        let count = together.len();
        for decoded in together.into_iter().flatten() {
            self.spare.keep(decoded.event);
        }
        count
    }

    /// Applies one line; `before` sees the engine and the event before it does.
    pub fn one(
        &mut self,
        line: &[u8],
        before: impl FnOnce(&mut Engine, &Event<'_>),
        mut hear: impl FnMut(&Heard<'_>),
    ) {
        let decoded = decode_with(&mut self.spare, Some(line), &[], &self.options.limits);
        if let Ok(decoded) = &decoded {
            before(self.engine, &decoded.event);
        }
        let event = decoded.as_ref().ok().map(|decoded| &decoded.event);
        self.ahead.look(self.engine, std::iter::once(event));
        self.line(&decoded, 0, &mut hear);
        if let Ok(decoded) = decoded {
            self.spare.keep(decoded.event);
        }
    }

    /// Takes what the engine left of the last decision, when it was asked to.
    pub fn take_trace(&mut self) -> Option<Trace> {
        self.engine.take_trace()
    }

    /// Lets time come to `now` although nothing happens; what is told then is given back.
    pub fn tick(&mut self, now: Timestamp) -> &Outputs {
        self.outputs.clear();
        self.engine.apply(Input::Tick(now), &mut self.outputs);
        &self.outputs
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        self.engine
    }

    /// Decides one line, the `index`-th of those that were prepared together.
    fn line(
        &mut self,
        decoded: &Result<Decoded<'_>, DecodeError>,
        index: usize,
        hear: &mut impl FnMut(&Heard<'_>),
    ) {
        self.outputs.clear();
        let (outcome, event, refused) = match decoded {
            Ok(decoded) => self.event(decoded, index),
            Err(error) => (Outcome::DeadLettered(error.reason), None, None),
        };
        self.line += 1;
        let fault = decoded.as_ref().err().or(refused.as_ref());
        let line = self.line.cast_unsigned();
        let grace = self.engine.policy().settings.grace;
        hear(&Heard { line, outcome, event, fault, outputs: &self.outputs, grace });
    }

    fn event<'d>(&mut self, decoded: &'d Decoded<'d>, index: usize) -> Applied<'d>
    where
        'e: 'd,
    {
        let event = &decoded.event;
        let append_time = decoded.append_time.unwrap_or(event.occurred_at).min(self.options.as_of);
        let options: &'e Options = self.options;
        let arrival = Arrival { topic: &options.name, partition: 0, offset: self.line, append_time };
        let prepared = self.ahead.turn(self.engine, index);
        let outcome = self.engine.apply_prepared(event, arrival, prepared, &mut self.outputs);
        let refused = match outcome {
            Outcome::DeadLettered(reason) => Some(refused(reason, event.occurred_at, append_time)),
            _ => None,
        };
        (outcome, Some((event, arrival)), refused)
    }
}

/// What became of an event, the event itself, and why the engine would not have it.
type Applied<'d> = (Outcome, Option<(&'d Event<'d>, Arrival<'d>)>, Option<DecodeError>);

/// Why the engine would not have an event.
pub(super) fn refused(reason: DeadLetterReason, occurred: Timestamp, append: Timestamp) -> DecodeError {
    DecodeError::new(
        reason,
        "occurred_at",
        format!("{occurred} is too far ahead of its append time {append}"),
    )
}
