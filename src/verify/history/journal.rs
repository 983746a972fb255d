//! The journal read as what it claims: one line of batches a shard, without gap or overlap.

use std::collections::{BTreeMap, BTreeSet};

use super::ChainCheck;
use super::record::{History, LogRecord};
use super::verdict::{Place, Verdict};
use crate::wire::journal::{JournalKind, JournalRecord, decode};

/// A partition of a topic.
pub(super) type Lane = (String, i32);

/// Offsets of one lane that were applied and told, half open, with the place of their journal record.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) from: i64,
    pub(super) to: i64,
}

/// What the journal says.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// By shard: its records in order, as far as they can be read.
    pub(super) shards: BTreeMap<i32, Vec<(Place, JournalRecord)>>,
    /// By lane: what was applied and told.
    pub(super) told: BTreeMap<Lane, Vec<Span>>,
    /// By lane: the newest position.
    pub(super) positions: BTreeMap<Lane, i64>,
    /// Whether state began anew after something was told.
    pub(super) began_anew: bool,
}

impl Lines {
    /// Whether an input was applied, and what came of it told.
    pub(super) fn covers(&self, record: &LogRecord) -> bool {
        let spans = self.told.get(&(record.topic.clone(), record.partition));
        spans.is_some_and(|spans| spans.iter().any(|span| (span.from..span.to).contains(&record.offset)))
    }
}

/// Reads the journal and checks each line.
pub(super) fn read(history: &History, chain: Option<&ChainCheck<'_>>, verdict: &mut Verdict) -> Lines {
    let mut lines = Lines::default();
    let mut records: Vec<&LogRecord> = history.journal.iter().collect();
    records.sort_by_key(|record| (record.partition, record.offset));
    for record in records {
        verdict.count("journal records", 1);
        match decode(record.value.as_deref()) {
            Ok(decoded) => {
                if record.key.as_deref() != Some(record.partition.to_string().as_bytes()) {
                    verdict.violate("journal key", record.place(), "the key is not the number of the shard");
                }
                lines.shards.entry(record.partition).or_default().push((record.place(), decoded));
            }
            Err(error) => verdict.violate("journal unreadable", record.place(), error.to_string()),
        }
    }
    let shards = std::mem::take(&mut lines.shards);
    for line in shards.values() {
        Line { lines: &mut lines, verdict, positions: BTreeMap::new(), before: None, chain }.walk(line);
    }
    lines.shards = shards;
    committed(history, &lines, verdict);
    lines
}

/// One shard's line while it is walked along.
struct Line<'l> {
    lines: &'l mut Lines,
    verdict: &'l mut Verdict,
    positions: BTreeMap<Lane, i64>,
    before: Option<&'l JournalRecord>,
    chain: Option<&'l ChainCheck<'l>>,
}

impl<'l> Line<'l> {
    fn walk(mut self, line: &'l [(Place, JournalRecord)]) {
        for (place, record) in line {
            self.succession(place, record);
            match record.kind {
                JournalKind::Batch => self.batch(place, record),
                JournalKind::Lost => self.lost(place, record),
                JournalKind::Reset => self.reset(place, record),
                JournalKind::Warm | JournalKind::Bans | JournalKind::Ready => {}
            }
            self.before = Some(record);
        }
        self.lines.positions.extend(self.positions);
    }

    fn violate(&mut self, kind: &'static str, place: &Place, text: String) {
        self.verdict.violate(kind, place.clone(), text);
    }

    /// Lineage, number, chain and ticks follow those of the record before.
    fn succession(&mut self, place: &Place, record: &JournalRecord) {
        let is_hex = record.chain.len() == 64 && record.chain.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_hex {
            self.violate("journal chain", place, format!("`{}` is no hash", record.chain));
        }
        if let Some(before) = self.before.filter(|before| before.revised_to > record.revised_to) {
            let text = format!("revisions go up to {}, after {}", record.revised_to, before.revised_to);
            self.violate("journal revisions", place, text);
        }
        if !record.ticks.is_sorted() {
            self.violate("journal ticks", place, "ticks go back".to_owned());
        }
        let before = self.before.filter(|before| before.lineage == record.lineage);
        match (self.before, before) {
            (_, Some(before)) if record.seq != before.seq.saturating_add(1) => {
                let text =
                    format!("number {} of lineage {} follows {}", record.seq, record.lineage, before.seq);
                self.violate("journal gap", place, text);
            }
            (_, Some(before)) if record.chain == before.chain => {
                self.violate(
                    "journal chain",
                    place,
                    format!("the chain of number {} did not move", record.seq),
                );
            }
            (Some(_), None) if record.kind != JournalKind::Reset || record.seq != 0 => {
                let text =
                    format!("lineage {} begins without a reset, at number {}", record.lineage, record.seq);
                self.violate("journal lineage", place, text);
            }
            (None, _) if record.seq != 0 => {
                self.verdict.count("journals whose beginning has left the topic", 1);
            }
            _ => {}
        }
        if let Some(Err(text)) = self.chain.map(|chain| chain(before, record)) {
            self.violate("journal chain", place, text);
        }
    }

    fn batch(&mut self, place: &Place, record: &JournalRecord) {
        let mut after = self.positions.clone();
        let mut seen = BTreeMap::<Lane, i64>::new();
        for range in &record.ranges {
            let lane = (range.topic.clone(), range.partition);
            let known = self.positions.get(&lane).copied();
            match known {
                Some(known) if range.from > known => {
                    let text = format!(
                        "{}-{} goes on at {}, after {known}: {} offsets were left out",
                        lane.0,
                        lane.1,
                        range.from,
                        range.from.saturating_sub(known)
                    );
                    self.violate("range gap", place, text);
                }
                Some(known) if range.from < known => {
                    let text = format!(
                        "{}-{} is read again from {} although {known} was reached",
                        lane.0, lane.1, range.from
                    );
                    self.violate("range overlap", place, text);
                }
                _ => {}
            }
            if seen.insert(lane.clone(), range.to).is_some() {
                self.violate("range twice", place, format!("{}-{} has two ranges", lane.0, lane.1));
            }
            after.insert(lane.clone(), range.to);
            let span = Span { from: range.from, to: range.to };
            self.lines.told.entry(lane).or_default().push(span);
        }
        for skipped in &record.skipped {
            let source = &skipped.source;
            let inside = record.ranges.iter().any(|range| {
                (&range.topic, range.partition) == (&source.topic, source.partition)
                    && (range.from..range.to).contains(&source.offset)
            });
            if !inside {
                let text = format!(
                    "{}-{}@{} is skipped outside of the ranges",
                    source.topic, source.partition, source.offset
                );
                self.violate("skipped", place, text);
            }
        }
        self.positions(place, record, after);
    }

    /// Inputs that were gone over because they are lost.
    fn lost(&mut self, place: &Place, record: &JournalRecord) {
        let mut after = self.positions.clone();
        for range in &record.ranges {
            let lane = (range.topic.clone(), range.partition);
            self.verdict.count("offsets that were lost, as was accepted", range.to.abs_diff(range.from));
            if self.positions.get(&lane).is_some_and(|known| *known != range.from) {
                let text = format!(
                    "{}-{} is lost from {} on, which is not where it stood",
                    lane.0, lane.1, range.from
                );
                self.violate("range gap", place, text);
            }
            after.insert(lane, range.to);
        }
        self.positions(place, record, after);
    }

    /// Positions are those before, moved by the ranges.
    fn positions(&mut self, place: &Place, record: &JournalRecord, after: BTreeMap<Lane, i64>) {
        let told: BTreeMap<Lane, i64> =
            record.positions.iter().map(|at| ((at.topic.clone(), at.partition), at.offset)).collect();
        for (lane, position) in &after {
            match told.get(lane) {
                Some(told) if told == position => {}
                Some(told) => {
                    let text = format!("{}-{} stands at {told} and not at {position}", lane.0, lane.1);
                    self.violate("position", place, text);
                }
                None => {
                    self.violate("position", place, format!("{}-{} has lost its position", lane.0, lane.1));
                }
            }
        }
        self.positions = after;
        for (lane, told) in told {
            self.positions.entry(lane).or_insert(told);
        }
    }

    fn reset(&mut self, place: &Place, record: &JournalRecord) {
        if self.before.is_some_and(|before| before.lineage == record.lineage) {
            self.violate("journal lineage", place, format!("a reset inside of lineage {}", record.lineage));
        }
        self.verdict.count("resets", 1);
        self.lines.began_anew |= self.before.is_some();
        let told = record.positions.iter().map(|at| ((at.topic.clone(), at.partition), at.offset));
        let told: BTreeMap<Lane, i64> = told.collect();
        for (lane, start) in &told {
            match self.positions.get(lane).copied() {
                Some(known) if *start > known => {
                    let text = format!(
                        "{}-{} begins anew at {start}, and {known} to {start} went under",
                        lane.0, lane.1
                    );
                    self.violate("reset gap", place, text);
                }
                Some(known) if *start < known => {
                    let text =
                        format!("{}-{} begins anew at {start} although {known} was reached", lane.0, lane.1);
                    self.violate("reset overlap", place, text);
                }
                _ => {}
            }
        }
        for lane in
            self.positions.keys().filter(|lane| !told.contains_key(*lane)).cloned().collect::<Vec<_>>()
        {
            self.violate("reset gap", place, format!("{}-{} has lost its position", lane.0, lane.1));
        }
        self.positions = told;
    }
}

/// Where offsets were committed, they are the journal's positions, and of each partition.
fn committed(history: &History, lines: &Lines, verdict: &mut Verdict) {
    let lanes: BTreeSet<Lane> =
        history.committed.iter().map(|committed| (committed.topic.clone(), committed.partition)).collect();
    let untold = lines.positions.iter().filter(|(lane, _)| !lanes.is_empty() && !lanes.contains(*lane));
    for (lane, position) in untold {
        let place = Place { topic: lane.0.clone(), partition: lane.1, offset: *position };
        verdict.violate("committed late", place, "nothing is committed of this partition");
    }
    for committed in &history.committed {
        verdict.count("committed offsets", 1);
        let lane = (committed.topic.clone(), committed.partition);
        let place = Place { topic: lane.0.clone(), partition: lane.1, offset: committed.next };
        match lines.positions.get(&lane) {
            Some(position) if *position == committed.next => {}
            Some(position) if *position < committed.next => {
                let text = format!(
                    "{} is committed although the journal has only come to {position}",
                    committed.next
                );
                verdict.violate("committed early", place, text);
            }
            Some(position) => {
                let text =
                    format!("{} is committed although the journal has come to {position}", committed.next);
                verdict.violate("committed late", place, text);
            }
            None => verdict.violate("committed early", place, "the journal does not know this partition"),
        }
    }
}
