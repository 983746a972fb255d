//! The engine over JSON lines: one decision line for each interaction line, in the order of the input.

use std::io::{self, Read, Write};

use super::drive::{Drive, Heard, Options};
use super::lines::Lines;
use super::odd::Odd;
use super::settle::Settling;
use crate::engine::decision::Decision;
use crate::engine::feedback::Revision;
use crate::engine::time::Timestamp;
use crate::engine::{Engine, SEMANTICS};
use crate::pipeline::Tally;
use crate::wire::decision::Writer;
use crate::wire::error::DecodeError;

/// Bytes of decisions gathered before they are written.
const WRITE_AT: usize = 256 << 10;

/// What a replay did.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// What became of the lines.
    pub tally: Tally,
    /// Changes of bans that would have been told.
    pub ban_changes: u64,
    /// Case records that would have been told.
    pub case_records: u64,
    /// Corrections of decisions that were made before.
    pub revisions: u64,
    /// The first lines of each kind that could not be decided: number from 1, and why.
    pub faults: Vec<(u64, DecodeError)>,
    /// What was decided and is odd; places are numbers of lines.
    pub odd: Odd,
}

/// Faults of one kind that are kept for people.
const FAULTS_MAX: usize = 5;

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
    replay_revised(from, (to, io::sink()), engine, options, watch)
}

/// The same; corrections of decisions go to the second writer, in the order in which they are made.
///
/// # Errors
/// As [`replay`].
pub fn replay_revised(
    from: impl Read,
    (mut to, mut revised): (impl Write, impl Write),
    engine: &mut Engine,
    options: &Options,
    watch: &mut Watch<'_>,
) -> io::Result<Summary> {
    let mut lines = Lines::new(from);
    let mut told = Told::default();
    told.summary.odd.heed(engine.policy());
    let mut drive = Drive::new(engine, options);
    while lines.advance()? {
        let mut block = lines.lines();
        while drive.together(&mut block, |heard| told.hear(heard)) > 0 {
            if told.bytes.len() >= WRITE_AT {
                told.write(&mut to)?;
            }
            told.write_revised(&mut revised)?;
        }
        watch(&mut lines.lines(), lines.bytes());
    }
    told.write(&mut to)?;
    let mut settling = Settling::default();
    while let Some(after) = settling.next(drive.engine().remembered().waiting > 0) {
        let outputs = drive.tick(told.now.after(after));
        settling.told(!outputs.revisions.is_empty());
        outputs.revisions.iter().for_each(|revision| told.revised(revision));
        told.write_revised(&mut revised)?;
    }
    to.flush()?;
    revised.flush()?;
    Ok(told.summary)
}

/// What was decided, not written yet, and the account of all of it.
#[derive(Default)]
struct Told {
    bytes: Vec<u8>,
    revised: Vec<u8>,
    writer: Writer,
    /// The latest append time.
    now: Timestamp,
    summary: Summary,
}

impl Told {
    fn hear(&mut self, heard: &Heard<'_>) {
        let summary = &mut self.summary;
        summary.tally.count(heard.outcome);
        summary.ban_changes += heard.outputs.bans.len() as u64;
        summary.case_records += heard.outputs.cases.len() as u64;
        summary.odd.line(heard, || heard.line.to_string());
        if let Some(fault) = heard.fault
            && summary.faults.iter().filter(|(_, known)| known.reason == fault.reason).count() < FAULTS_MAX
        {
            summary.faults.push((heard.line, fault.clone()));
        }
        if let (Some(judgement), Some((event, arrival))) = (&heard.outputs.judgement, heard.event) {
            summary.tally.decide(judgement.verdict);
            let decision = Decision { event, arrival, judgement };
            self.writer.encode(&decision, judgement.effective_at, SEMANTICS, &mut self.bytes);
            self.bytes.push(b'\n');
            self.now = self.now.max(arrival.append_time);
        }
        heard.outputs.revisions.iter().for_each(|revision| self.revised(revision));
    }

    fn revised(&mut self, revision: &Revision) {
        self.summary.revisions += 1;
        let decision = revision.decision();
        self.writer.encode(&decision, revision.judgement.effective_at, SEMANTICS, &mut self.revised);
        self.revised.push(b'\n');
    }

    fn write_revised(&mut self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.revised)?;
        self.revised.clear();
        Ok(())
    }

    fn write(&mut self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}
