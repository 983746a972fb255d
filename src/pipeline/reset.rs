//! Reset: state begins anew where none can be restored. What is told again is told as a new line of the journal.
//!
//! Bans and cases come from their topics and the commands from the beginning of theirs; the inputs of the longest window, and
//! those whose decisions may still be revised, are applied untold. What campaigns corrected comes from the topic of
//! decisions. All of it is journalled in one transaction, so that a follower comes to the same state. Inputs that
//! are no longer held cannot warm anything up: decisions say `warming_up` until the window has passed.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::clock;
use crate::engine::Engine;
use crate::engine::case::{Case, CaseStatus};
use crate::engine::cases::Cases;
use crate::engine::policy::Policy;
use crate::engine::time::{Span, Timestamp};
use crate::stream::Topic;
use crate::wire::ban::BanRecord;
use crate::wire::case::CaseRecord;
use crate::wire::journal::JournalKind;

use super::batch::Batch;
use super::commit::Job;
use super::corrected::Corrected;
use super::follow::Foundry;
use super::line::{Entry, Line, Range, Taken};
use super::logs::{FollowError, Logs};
use super::lost::{LostInputs, go_over};
use super::positions::beginning;
use super::replica::{Replica, Work};
use super::score::Report;

/// Bans a record of the journal holds at most: about 300 bytes each.
const BANS_A_RECORD: usize = 1_000;
/// Cases a record holds at most: about 3 KB each, with a hundred accounts.
const CASES_A_RECORD: usize = 100;
/// Corrections a record holds at most: about 1 KB each.
const CORRECTIONS_A_RECORD: usize = 300;
/// A case that fell quiet longer ago is not taken over.
const REMEMBERED: Span = Span::from_secs(30 * 86_400);
/// Offsets that are applied together at most.
const SLICE_OFFSETS: i64 = 100_000;
/// The span of append time of the first slice.
const SLICE: Span = Span::from_secs(600);

/// What state is warmed up with, in the order within a slice: what was learnt is about decisions that were made before.
const WARMING: [Topic; 2] = [Topic::Interactions, Topic::Feedback];

/// An offset of each partition of each of these topics.
type Offsets = [Vec<i64>; WARMING.len()];

/// Makes state anew, under a policy and at positions that the logs tell; what is to be told of it is put into `job`.
/// `now` is where the longest window ends. Inputs that are lost are gone over where that was `accepted`.
///
/// # Errors
/// The brokers do not answer, inputs cannot be read, or what is to be read next is not held and that was not accepted.
pub fn reset(
    foundry: &Foundry,
    logs: &mut impl Logs,
    policy: Arc<Policy>,
    now: Timestamp,
    accepted: bool,
    job: &mut Job,
) -> Result<Replica, FollowError> {
    let mut positions = beginning(logs, &foundry.names)?;
    // What was not read yet and is not held any more, or not yet: that is not for a machine to decide.
    let lost = LostInputs::find(logs, &foundry.names, &positions)?;
    if !lost.is_empty() && !accepted {
        return Err(FollowError::Lost(lost));
    }
    lost.tell();
    lost.begin_anew(&mut positions);
    let newest = logs.newest()?;
    let before = newest.as_ref().map(|newest| newest.lineage.as_str());
    let lineage = lineage(format!("{now}-{}", foundry.shard), before);
    let line = Line::begin(lineage, positions, foundry.basis.clone());
    let revised_to = newest.map_or(0, |newest| newest.revised_to);
    let replica = foundry.anew(Arc::clone(&policy), line, revised_to);
    let mut renewal = Renewal { replica, job, policy };
    renewal.add(JournalKind::Reset, &[], &Batch::default(), Taken::NOTHING);
    go_over(&lost, &mut renewal.replica, renewal.job);
    renewal.commands(logs)?;
    renewal.bans(logs)?;
    renewal.cases(logs, now)?;
    renewal.inputs(logs, now)?;
    renewal.corrections(logs, now)?;
    renewal.add(JournalKind::Ready, &[], &Batch::default(), Taken::NOTHING);
    Ok(renewal.replica)
}

/// The name of a new lineage: by its time, and always behind that of the one before, also within one millisecond or by a
/// clock that was set back.
fn lineage(by_time: String, before: Option<&str>) -> String {
    match before {
        Some(before) if by_time.as_str() <= before => format!("{before}+"),
        _ => by_time,
    }
}

/// A reset under way.
struct Renewal<'r> {
    replica: Replica,
    job: &'r mut Job,
    policy: Arc<Policy>,
}

impl Renewal<'_> {
    /// Applies one entry and journals it.
    fn add(&mut self, kind: JournalKind, ranges: &[Range], batch: &Batch, taken: &Taken) {
        let policy = self.policy.hash.to_string();
        let entry = Entry { kind, policy, ticks: Vec::new(), ranges: ranges.to_vec(), skipped: Vec::new() };
        let work = Work { entry: &entry, policy: None, batch, taken, decided_at: clock::now() };
        self.replica.lead(&work, &BTreeSet::new(), self.job);
        // Nothing was consumed: what was read is the past. What changed of bans is all there is to tell.
        let bans = std::mem::take(&mut self.job.report.bans);
        self.job.report = Report { bans, ..Report::default() };
    }

    /// Every command that is held, from the first on: exemptions and pardons are made of them.
    fn commands(&mut self, logs: &mut impl Logs) -> Result<(), FollowError> {
        let mut ranges = Vec::new();
        let commands = self.replica.line.positions.iter().filter(|((topic, _), _)| *topic == Topic::Commands);
        for (&(topic, partition), &to) in commands {
            let from = logs.held(topic, partition)?.0;
            if from < to {
                ranges.push(Range { topic, partition, from, to });
            }
        }
        self.warm(logs, &ranges)
    }

    fn bans(&mut self, logs: &mut impl Logs) -> Result<(), FollowError> {
        let bans = logs.bans()?;
        tracing::info!(entities = bans.len(), "bans in force taken over from their topic");
        let records: Vec<BanRecord> = bans.values().filter_map(|bans| BanRecord::in_force(bans)).collect();
        // Also without any: that the topic holds none is known from then on.
        let mut parts = records.chunks(BANS_A_RECORD);
        self.take(&Taken { bans: parts.next().unwrap_or_default().to_vec(), ..Taken::default() });
        parts.for_each(|part| self.take(&Taken { bans: part.to_vec(), ..Taken::default() }));
        Ok(())
    }

    /// The cases that a person may still decide, and the decisions that still settle their matter.
    fn cases(&mut self, logs: &mut impl Logs, now: Timestamp) -> Result<(), FollowError> {
        let mut cases: Vec<Case> = logs.cases()?.into_values().filter(|case| matters(case, now)).collect();
        cases.sort_by(|a, b| (a.updated_at, &a.id).cmp(&(b.updated_at, &b.id)));
        tracing::info!(cases = cases.len(), "cases taken over from their topic");
        for part in cases.chunks(CASES_A_RECORD) {
            let cases = part.iter().map(CaseRecord::from).collect();
            self.take(&Taken { cases, ..Taken::default() });
        }
        Ok(())
    }

    /// What campaigns changed: a person may still say that they were honest. Also of those that are found again, for from
    /// fewer inputs fewer corrections follow, and of what belongs to them on other targets.
    fn corrections(&mut self, logs: &mut impl Logs, now: Timestamp) -> Result<(), FollowError> {
        let cases = self.replica.scorer.engine().campaign_cases();
        let policy = Arc::clone(&self.policy);
        let Some(watched) = policy.crowds.as_ref().filter(|_| !cases.is_empty()) else { return Ok(()) };
        let mut found = Corrected::new(&watched.campaign.info.id, now);
        // A revision is told at most so long after the event, and the first decision on it before.
        let since = now.before(policy.settings.retroactive_window.plus(policy.settings.grace));
        logs.decisions(since, &mut |told| found.note(&told))?;
        if found.is_any() {
            logs.decisions(since, &mut |told| found.note_first(told))?;
        }
        let corrections = found.corrections(&cases);
        let unknown = cases.values().filter(|is_known| !**is_known).count();
        tracing::info!(
            cases = cases.len(),
            unknown,
            corrections = corrections.len(),
            "corrections of campaigns taken over"
        );
        for part in corrections.chunks(CORRECTIONS_A_RECORD) {
            self.take(&Taken { corrections: part.to_vec(), ..Taken::default() });
        }
        Ok(())
    }

    fn take(&mut self, taken: &Taken) {
        self.add(JournalKind::Bans, &[], &Batch::default(), taken);
    }

    /// What happened in the longest window, in slices of append time: interactions, then what was learnt of decisions.
    fn inputs(&mut self, logs: &mut impl Logs, now: Timestamp) -> Result<(), FollowError> {
        let mut at = now.before(reach(&self.policy));
        let mut from = self.at_time(logs, at)?;
        let end = WARMING.map(|topic| self.ends(topic));
        let (mut slice, mut read) = (SLICE, 0);
        while from != end {
            let next = at.after(slice);
            let to = if next > now { end.clone() } else { self.at_time(logs, next)? };
            let offsets = count(&from, &to);
            if offsets > SLICE_OFFSETS && slice > Span::from_millis(1) {
                slice = Span::from_millis((slice.millis() / 2).max(1));
                continue;
            }
            for (topic, (from, to)) in WARMING.into_iter().zip(from.iter().zip(&to)) {
                self.warm(logs, &ranges(topic, from, to))?;
            }
            read += offsets;
            tracing::info!(read, left = count(&to, &end), "warming up with the inputs of the longest window");
            (at, from, slice) = (next, to, SLICE.min(Span::from_millis(slice.millis().saturating_mul(2))));
        }
        Ok(())
    }

    fn warm(&mut self, logs: &mut impl Logs, ranges: &[Range]) -> Result<(), FollowError> {
        if ranges.is_empty() {
            return Ok(());
        }
        let batch = logs.batch(ranges, &self.replica.line.positions)?;
        self.add(JournalKind::Warm, ranges, &batch, Taken::NOTHING);
        Ok(())
    }

    /// Where the state stands in a topic: what warms up lies before.
    fn ends(&self, topic: Topic) -> Vec<i64> {
        let each = self.replica.line.positions.iter();
        each.filter(|((known, _), _)| *known == topic).map(|(_, next)| *next).collect()
    }

    /// The first offset of each partition at a time, within what is held and the positions.
    fn at_time(&self, logs: &mut impl Logs, at: Timestamp) -> Result<Offsets, FollowError> {
        let mut offsets = Offsets::default();
        for (topic, offsets) in WARMING.into_iter().zip(&mut offsets) {
            let ends = self.ends(topic);
            let mut lows = Vec::new();
            for (partition, end) in (0..).zip(&ends) {
                lows.push(logs.held(topic, partition)?.0.min(*end));
            }
            if lows == ends {
                *offsets = ends;
                continue;
            }
            let found = logs.at_time(topic, at)?;
            let each = lows.into_iter().zip(ends).zip(found);
            offsets.extend(each.map(|((low, end), found)| found.unwrap_or(end).clamp(low, end)));
        }
        Ok(offsets)
    }
}

/// How far back state is warmed up: over the longest window, and over all that may still be revised. Campaigns and the
/// decisions that they correct are known again only from events that are applied again.
fn reach(policy: &Policy) -> Span {
    let settings = &policy.settings;
    Engine::longest_window_of(policy).max(settings.retroactive_window).plus(settings.grace)
}

/// Whether a case is open, or can still be decided, or was decided so lately that it settles its matter.
fn matters(case: &Case, now: Timestamp) -> bool {
    match case.status {
        CaseStatus::Opened | CaseStatus::Grown => true,
        CaseStatus::Quiet => case.updated_at.after(REMEMBERED) > now,
        CaseStatus::Resolved => case.updated_at.after(Cases::SETTLED) > now,
    }
}

fn count(from: &Offsets, to: &Offsets) -> i64 {
    from.iter().flatten().zip(to.iter().flatten()).map(|(from, to)| to - from).sum()
}

fn ranges(topic: Topic, from: &[i64], to: &[i64]) -> Vec<Range> {
    let each = (0..).zip(from.iter().zip(to)).filter(|(_, (from, to))| from < to);
    each.map(|(partition, (from, to))| Range { topic, partition, from: *from, to: *to }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::policy::load::load;

    fn policy(retroactive: &str) -> Arc<Policy> {
        let text = format!(
            "version: 1\ntime: {{ grace: 5s, skew: 2s, max_skew: 1m }}\n\
             retroactive: {{ window: {retroactive}, budget: 1MB }}\n\
             signals:\n  - {{ name: day, key: [user], window: 24h, count: {{}} }}\n"
        );
        load(&[("p.yaml".to_owned(), text)]).expect("valid").policy
    }

    #[test]
    fn no_lineage_has_the_name_of_an_earlier_one() {
        let name = |time: &str, before| lineage(time.to_owned(), before);
        assert_eq!(name("2025-06-15T12:00:00.000Z-0", None), "2025-06-15T12:00:00.000Z-0");
        let same = name("2025-06-15T12:00:00.000Z-0", Some("2025-06-15T12:00:00.000Z-0"));
        assert_eq!(same, "2025-06-15T12:00:00.000Z-0+");
        assert_eq!(name("2025-06-15T12:00:00.000Z-0", Some(&same)), "2025-06-15T12:00:00.000Z-0++");
        assert_eq!(name("2025-06-15T12:00:00.001Z-0", Some(&same)), "2025-06-15T12:00:00.001Z-0");
    }

    #[test]
    fn what_may_still_be_revised_is_known_again() {
        let grace = Span::from_secs(5);
        let of_windows = Engine::longest_window_of(&policy("2h")).plus(grace);
        assert!(of_windows > Span::from_secs(24 * 3600), "{of_windows}");
        assert_eq!(reach(&policy("2h")), of_windows);
        assert_eq!(reach(&policy("24h")), of_windows);
        assert_eq!(reach(&policy("48h")), Span::from_secs(48 * 3600).plus(grace));
    }
}
