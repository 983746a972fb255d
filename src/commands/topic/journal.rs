//! All that went in, in the order in which it was applied, by the journal.

use std::sync::Arc;
use std::time::Duration;

use super::hearing::Hearing;
use crate::commands::{Failure, setup};
use crate::config::Config;
use crate::engine::Input;
use crate::engine::case::Case;
use crate::engine::policy::Policy;
use crate::pipeline::{self, KafkaLogs, Line, Logs, Positions, ShardSettings};
use crate::stream::{Topic, TopicNames};
use crate::wire::interaction::DecodeLimits;
use crate::wire::journal::{JournalKind, JournalRecord};

/// How long the journal is listened to at a time.
const PATIENCE: Duration = Duration::from_millis(100);

/// See the module.
pub(super) struct Journal {
    logs: KafkaLogs,
    settings: Arc<ShardSettings>,
    limits: DecodeLimits,
    policy: Arc<Policy>,
}

impl Journal {
    pub(super) fn open(
        config: &Config,
        names: TopicNames,
        policy: Arc<Policy>,
        limits: DecodeLimits,
    ) -> Result<Self, Failure> {
        let settings = Arc::new(setup::shard(config, names));
        let logs = KafkaLogs::new(Arc::clone(&settings), Arc::clone(&policy))?;
        Ok(Self { logs, settings, limits, policy })
    }

    pub(super) fn settings(&self) -> &Arc<ShardSettings> {
        &self.settings
    }

    /// Bounds of records and fields.
    pub(super) fn limits(&self) -> DecodeLimits {
        self.limits
    }

    /// The logs.
    pub(super) fn logs(&mut self) -> &mut KafkaLogs {
        &mut self.logs
    }

    /// Leads all that the journal covers to whoever listens: from its beginning on, or from an offset at which a line of
    /// state stands.
    pub(super) fn follow(
        &mut self,
        hearing: &mut Hearing,
        start: Option<(i64, Line)>,
    ) -> Result<(), Failure> {
        let (low, end) = self.logs.journal_held()?;
        let (mut next, mut line) = start.map_or((low, None), |(next, line)| (next, Some(line)));
        let mut taken = false;
        while next < end {
            let page = self.logs.journal(next, PATIENCE)?;
            for (offset, record) in page.records.iter().take_while(|(offset, _)| *offset < end) {
                self.record(record, &mut line, &mut taken, hearing)?;
                next = offset + 1;
            }
            next = next.max(page.next);
        }
        Ok(())
    }

    fn record(
        &mut self,
        record: &JournalRecord,
        line: &mut Option<Line>,
        taken: &mut bool,
        hearing: &mut Hearing,
    ) -> Result<(), Failure> {
        let names = self.settings.names.clone();
        if record.kind == JournalKind::Reset {
            hearing.pass.begin_anew(record.revised_to);
            *line = Some(Line::of_reset(record, &names, &record.basis).map_err(pipeline::FollowError::from)?);
            *taken = false;
        }
        let line = line.get_or_insert_with(|| {
            let text =
                "the journal does not hold the beginning of its line of state: what was before is not known";
            hearing.notes.push(text.to_owned());
            middle(record, &names)
        });
        let entry = line.expect(record, &names).map_err(pipeline::FollowError::from)?;
        let batch = self.logs.batch(entry.read(), &line.positions)?;
        let policy = self.logs.policy(&entry.policy).unwrap_or_else(|_| Arc::clone(&self.policy));
        match entry.kind {
            JournalKind::Reset => {}
            JournalKind::Lost => {
                let lost: i64 = entry.ranges.iter().map(|range| range.to - range.from).sum();
                let text = format!(
                    "{lost} offsets of the inputs were lost before they were read, as an operator accepted"
                );
                hearing.notes.push(text);
            }
            JournalKind::Bans => {
                let bans: Vec<_> = record.bans.iter().map(|record| record.clone().into_bans()).collect();
                let cases: Vec<Case> = record.cases.iter().cloned().map(Case::from).collect();
                hearing.pass.take_over(!std::mem::replace(taken, true), &bans, &cases);
            }
            JournalKind::Ready => hearing.pass.taken_over(),
            JournalKind::Batch | JournalKind::Warm => {
                hearing.pass.mute(entry.kind == JournalKind::Warm);
                entry.ticks.iter().for_each(|now| hearing.pass.input(&Input::Tick(*now)));
                hearing.people(&batch, &names);
                hearing.events(&batch, &policy.settings, &self.limits, &entry.skipped);
                hearing.pass.mute(false);
            }
        }
        if entry.kind.moves() {
            let moved = entry.ranges.iter().map(|range| ((range.topic, range.partition), range.to));
            line.positions.extend(moved);
        }
        line.next += 1;
        Ok(())
    }
}

/// The line of a journal whose beginning is gone, before this record.
fn middle(record: &JournalRecord, names: &TopicNames) -> Line {
    let topic = |name: &str| Topic::INPUTS.into_iter().find(|topic| names.get(*topic) == name);
    let mut positions = Positions::new();
    for at in &record.positions {
        positions.extend(topic(&at.topic).map(|topic| ((topic, at.partition), at.offset)));
    }
    for range in &record.ranges {
        positions.extend(topic(&range.topic).map(|topic| ((topic, range.partition), range.from)));
    }
    let line = Line::begin(record.lineage.clone(), positions, record.basis.clone());
    Line { next: record.seq, ..line }
}
