//! The engine over JSON lines: one decision line for each interaction line, in the order of the input.

use std::io::{self, Read, Write};

use super::lines::Lines;
use crate::engine::decision::Decision;
use crate::engine::event::Arrival;
use crate::engine::time::Timestamp;
use crate::engine::{Ahead, DeadLetterReason, Engine, Outcome, Outputs, SEMANTICS};
use crate::pipeline::Tally;
use crate::wire::decision::Writer;
use crate::wire::error::DecodeError;
use crate::wire::interaction::{DecodeLimits, Decoded, Spare, decode_with};

/// Bytes of decisions gathered before they are written.
const WRITE_AT: usize = 256 << 10;

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

/// What a replay did.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// What became of the lines.
    pub tally: Tally,
    /// Changes of bans that would have been told.
    pub ban_changes: u64,
    /// Case records that would have been told.
    pub case_records: u64,
    /// The first lines that could not be decided: number from 1, and why.
    pub faults: Vec<(u64, DecodeError)>,
}

/// Faults that are kept for people.
const FAULTS_MAX: usize = 10;

/// Is called with the lines and the bytes of each block after it was decided.
pub type Watch<'w> = dyn FnMut(&mut dyn Iterator<Item = &[u8]>, usize) + 'w;

/// Runs the engine over the lines of `from`; decisions go to `to`.
///
/// # Errors
/// What reading or writing fails with. Lines that are no interactions are dead letters, not errors.
pub fn replay(
    from: impl Read,
    to: impl Write,
    engine: &mut Engine,
    options: &Options,
    watch: &mut Watch<'_>,
) -> io::Result<Summary> {
    let mut lines = Lines::new(from);
    let mut desk = Desk {
        engine,
        options,
        to,
        bytes: Vec::new(),
        writer: Writer::default(),
        ahead: Ahead::default(),
        outputs: Outputs::default(),
        spare: Spare::default(),
        line: 0,
        summary: Summary::default(),
    };
    while lines.advance()? {
        desk.block(&lines)?;
        watch(&mut lines.lines(), lines.bytes());
    }
    desk.flush()?;
    Ok(desk.summary)
}

/// Where the lines go through.
struct Desk<'a, W> {
    engine: &'a mut Engine,
    options: &'a Options,
    to: W,
    bytes: Vec<u8>,
    writer: Writer,
    /// The lines that are decoded together.
    ahead: Ahead,
    outputs: Outputs,
    spare: Spare,
    line: i64,
    summary: Summary,
}

impl<W: Write> Desk<'_, W> {
    fn block<R: Read>(&mut self, lines: &Lines<R>) -> io::Result<()> {
        let mut together = Vec::with_capacity(Ahead::EVENTS);
        let mut lines = lines.lines().peekable();
        while lines.peek().is_some() {
            let some = lines.by_ref().take(Ahead::EVENTS);
            together
                .extend(some.map(|line| decode_with(&mut self.spare, Some(line), &[], &self.options.limits)));
            let events = together.iter().map(|decoded| decoded.as_ref().ok().map(|decoded| &decoded.event));
            self.ahead.look(self.engine, events);
            for (index, decoded) in together.iter().enumerate() {
                self.line(decoded, index);
            }
            for decoded in together.drain(..).flatten() {
                self.spare.keep(decoded.event);
            }
            if self.bytes.len() >= WRITE_AT {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Decides one line, the `index`-th of those that were prepared together.
    fn line(&mut self, decoded: &Result<Decoded<'_>, DecodeError>, index: usize) {
        let outcome = match decoded {
            Ok(decoded) => self.event(decoded, index),
            Err(error) => Err(error.clone()),
        };
        self.line += 1;
        let outcome = outcome.unwrap_or_else(|error| {
            let outcome = Outcome::DeadLettered(error.reason);
            if self.summary.faults.len() < FAULTS_MAX {
                self.summary.faults.push((self.line.cast_unsigned(), error));
            }
            outcome
        });
        self.summary.tally.count(outcome);
    }

    fn event(&mut self, decoded: &Decoded<'_>, index: usize) -> Result<Outcome, DecodeError> {
        let event = &decoded.event;
        let append_time = decoded.append_time.unwrap_or(event.occurred_at).min(self.options.as_of);
        let arrival = Arrival { topic: &self.options.name, partition: 0, offset: self.line, append_time };
        self.outputs.clear();
        let prepared = self.ahead.turn(self.engine, index);
        let outcome = self.engine.apply_prepared(event, arrival, prepared, &mut self.outputs);
        self.summary.ban_changes += self.outputs.bans.len() as u64;
        self.summary.case_records += self.outputs.cases.len() as u64;
        if let Some(judgement) = &self.outputs.judgement {
            self.summary.tally.decide(judgement.verdict);
            let decision = Decision { event, arrival, judgement };
            self.writer.encode(&decision, judgement.effective_at, SEMANTICS, &mut self.bytes);
            self.bytes.push(b'\n');
        }
        match outcome {
            Outcome::DeadLettered(reason) => Err(refused(reason, event.occurred_at, append_time)),
            outcome => Ok(outcome),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}

fn refused(reason: DeadLetterReason, occurred: Timestamp, append: Timestamp) -> DecodeError {
    DecodeError::new(
        reason,
        "occurred_at",
        format!("{occurred} is too far ahead of its append time {append}"),
    )
}
