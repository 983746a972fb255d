//! The line of a shard's state: lineage, number, chain and positions. What the journal says, as a small state machine.
//!
//! Live, [`Line::seal`] makes the journal's record of a batch and moves on. A follower first asks [`Line::expect`]
//! whether a record is the next one, applies its inputs, and then has [`Chain::check`] compare what came out. Anything
//! that does not fit is an error with both sides named; state that met one is dropped, never mended.

use std::collections::BTreeMap;
use std::fmt;

use crate::engine::time::Timestamp;
use crate::stream::{Coordinates, InputOffset, Topic, TopicNames};
use crate::wire::ban::BanRecord;
use crate::wire::case::CaseRecord;
use crate::wire::decision::{CorrectionRecord, SourceRecord};
use crate::wire::journal::{JournalKind, JournalRecord, OffsetRange, SkippedRecord};

use super::chain::Chain;

/// The next offset of each input partition.
pub type Positions = BTreeMap<(Topic, i32), i64>;

/// What was read of one partition, half open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Topic.
    pub topic: Topic,
    /// Partition.
    pub partition: i32,
    /// First offset.
    pub from: i64,
    /// One past the last.
    pub to: i64,
}

/// What a reset takes over from the topics of bans and cases: a part of it.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// Bans in force.
    pub bans: Vec<BanRecord>,
    /// Cases that are open or remembered, in the order of their last change.
    pub cases: Vec<CaseRecord>,
    /// Corrections of campaigns that are not found again.
    pub corrections: Vec<CorrectionRecord>,
}

impl Taken {
    /// Nothing: what all batches but those of a reset take over.
    pub const NOTHING: &'static Taken =
        &Taken { bans: Vec::new(), cases: Vec::new(), corrections: Vec::new() };
}

/// What one record of the journal covers, beside the policy that holds.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What it says.
    pub kind: JournalKind,
    /// Hash of the policy that holds from its first input on.
    pub policy: String,
    /// Times told before its records.
    pub ticks: Vec<Timestamp>,
    /// What was read, or is lost.
    pub ranges: Vec<Range>,
    /// What was passed over within.
    pub skipped: Vec<Coordinates>,
}

impl Entry {
    /// The ranges that are to be read.
    pub fn read(&self) -> &[Range] {
        if self.kind == JournalKind::Lost { &[] } else { &self.ranges }
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Which line of state.
    pub lineage: String,
    /// The number of the next record.
    pub next: u64,
    /// The link of the last one.
    pub chain: Chain,
    /// Where each input partition goes on.
    pub positions: Positions,
    /// What else outputs depend on; see [`super::chain::basis`].
    pub basis: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.lineage, self.next)
    }
}

/// A record of the journal that does not follow from the state at hand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Not the next one.
    #[error("the journal has {found_lineage}/{found} where {lineage}/{expected} should follow")]
    Gap {
        /// Lineage of the state.
        lineage: String,
        /// Number that should follow.
        expected: u64,
        /// Lineage of the record.
        found_lineage: String,
        /// Its number.
        found: u64,
    },
    /// Other settings or another version of the engine.
    #[error(
        "record {seq} of the journal was made by another version, seed or record limits of weir (basis {theirs}, here {ours})"
    )]
    Basis {
        /// Its number.
        seq: u64,
        /// The record's.
        theirs: String,
        /// This process's.
        ours: String,
    },
    /// A range that does not begin where the one before ended.
    #[error("record {seq} of the journal reads {topic}/{partition} from {from}; the state is at {at}")]
    Range {
        /// The record's number.
        seq: u64,
        /// Topic.
        topic: String,
        /// Partition.
        partition: i32,
        /// Where the range begins.
        from: i64,
        /// Where the state is.
        at: i64,
    },
    /// A topic that is none of this installation's inputs.
    #[error("record {seq} of the journal names the topic {topic}, which is no input here")]
    Topic {
        /// The record's number.
        seq: u64,
        /// The name.
        topic: String,
    },
    /// The same inputs gave other outputs.
    #[error("applying record {seq} of {lineage} again gives other outputs: chain {ours}, journal {theirs}")]
    Diverged {
        /// Lineage.
        lineage: String,
        /// The record's number.
        seq: u64,
        /// What came out here.
        ours: String,
        /// What the journal says.
        theirs: String,
    },
}

impl Line {
    /// A new line of state.
    pub fn begin(lineage: String, positions: Positions, basis: String) -> Self {
        Self { lineage, next: 0, chain: Chain::default(), positions, basis }
    }

    /// The line that a reset of the journal begins, before the reset itself is followed.
    ///
    /// # Errors
    /// A topic that is no input here, or another basis.
    pub fn of_reset(record: &JournalRecord, names: &TopicNames, basis: &str) -> Result<Self, Broken> {
        check_basis(record, basis)?;
        let mut positions = Positions::new();
        for at in &record.positions {
            positions.insert((input(record, &at.topic, names)?, at.partition), at.offset);
        }
        Ok(Self::begin(record.lineage.clone(), positions, basis.to_owned()))
    }

    /// Takes a batch in: moves on and gives the journal's record of it. What is told of it beside the entry: what was taken
    /// over, and the highest number of a revision.
    pub fn seal(
        &mut self,
        entry: &Entry,
        told: (Taken, u32),
        digest: u128,
        names: &TopicNames,
    ) -> JournalRecord {
        let (taken, revised_to) = told;
        if entry.kind.moves() {
            self.positions
                .extend(entry.ranges.iter().map(|range| ((range.topic, range.partition), range.to)));
        }
        let source =
            |topic, partition, offset| SourceRecord { topic: names.get(topic).to_owned(), partition, offset };
        let mut record = JournalRecord {
            kind: entry.kind,
            lineage: self.lineage.clone(),
            seq: self.next,
            chain: String::new(),
            policy: entry.policy.clone(),
            basis: self.basis.clone(),
            ticks: entry.ticks.iter().map(|at| (*at).into()).collect(),
            ranges: entry.ranges.iter().map(|range| read(range, names)).collect(),
            skipped: entry
                .skipped
                .iter()
                .map(|at| skipped(source(at.topic, at.partition, at.offset)))
                .collect(),
            bans: taken.bans,
            cases: taken.cases,
            corrections: taken.corrections,
            revised_to,
            positions: self
                .positions
                .iter()
                .map(|((topic, partition), next)| source(*topic, *partition, *next))
                .collect(),
        };
        self.chain = self.chain.next(&record, digest);
        self.next += 1;
        record.chain = self.chain.to_string();
        record
    }

    /// What a record covers, if it is the next one of this line.
    ///
    /// # Errors
    /// See [`Broken`].
    pub fn expect(&self, record: &JournalRecord, names: &TopicNames) -> Result<Entry, Broken> {
        if record.lineage != self.lineage || record.seq != self.next {
            return Err(Broken::Gap {
                lineage: self.lineage.clone(),
                expected: self.next,
                found_lineage: record.lineage.clone(),
                found: record.seq,
            });
        }
        check_basis(record, &self.basis)?;
        let mut ranges = Vec::with_capacity(record.ranges.len());
        for range in &record.ranges {
            ranges.push(self.range(record, range, names)?);
        }
        let mut skipped = Vec::new();
        for SkippedRecord { source, .. } in &record.skipped {
            let topic = input(record, &source.topic, names)?;
            skipped.push(Coordinates { topic, partition: source.partition, offset: source.offset });
        }
        let ticks = record.ticks.iter().map(|at| Timestamp::from(*at)).collect();
        Ok(Entry { kind: record.kind, policy: record.policy.clone(), ticks, ranges, skipped })
    }

    fn range(
        &self,
        record: &JournalRecord,
        range: &OffsetRange,
        names: &TopicNames,
    ) -> Result<Range, Broken> {
        let topic = input(record, &range.topic, names)?;
        // A partition that is new to the shard begins at 0.
        let at = self.positions.get(&(topic, range.partition)).copied().unwrap_or(0);
        if record.kind.moves() && range.from != at {
            let (topic, partition, from) = (range.topic.clone(), range.partition, range.from);
            return Err(Broken::Range { seq: record.seq, topic, partition, from, at });
        }
        Ok(Range { topic, partition: range.partition, from: range.from, to: range.to })
    }

    /// Moves on behind a record that was expected. Its chain is taken at its word: see [`Chain::check`].
    pub fn go_on(&mut self, record: &JournalRecord, entry: &Entry) {
        if entry.kind.moves() {
            self.positions
                .extend(entry.ranges.iter().map(|range| ((range.topic, range.partition), range.to)));
        }
        self.chain = Chain::parse(&record.chain).unwrap_or_default();
        self.next += 1;
    }

    /// Positions as a transaction commits them.
    pub fn offsets(&self) -> Vec<InputOffset> {
        let each = self.positions.iter();
        each.map(|((topic, partition), next)| InputOffset {
            topic: *topic,
            partition: *partition,
            next: *next,
        })
        .collect()
    }
}

fn check_basis(record: &JournalRecord, basis: &str) -> Result<(), Broken> {
    if record.basis == basis {
        return Ok(());
    }
    Err(Broken::Basis { seq: record.seq, theirs: record.basis.clone(), ours: basis.to_owned() })
}

fn input(record: &JournalRecord, name: &str, names: &TopicNames) -> Result<Topic, Broken> {
    let known = Topic::INPUTS.into_iter().find(|topic| names.get(*topic) == name);
    known.ok_or_else(|| Broken::Topic { seq: record.seq, topic: name.to_owned() })
}

fn read(range: &Range, names: &TopicNames) -> OffsetRange {
    let topic = names.get(range.topic).to_owned();
    OffsetRange { topic, partition: range.partition, from: range.from, to: range.to }
}

fn skipped(source: SourceRecord) -> SkippedRecord {
    let reason = crate::engine::DeadLetterReason::EngineFault.name().to_owned();
    SkippedRecord { source, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> TopicNames {
        TopicNames::with_prefix("")
    }

    fn line() -> Line {
        Line::begin("l".into(), Positions::from([((Topic::Interactions, 0), 5)]), "b".into())
    }

    fn entry(from: i64, to: i64) -> Entry {
        Entry {
            kind: JournalKind::Batch,
            policy: "p".into(),
            ticks: vec![Timestamp::from_millis(9)],
            ranges: vec![Range { topic: Topic::Interactions, partition: 0, from, to }],
            skipped: vec![Coordinates { topic: Topic::Interactions, partition: 0, offset: 6 }],
        }
    }

    #[test]
    fn a_follower_comes_to_the_same_line() {
        let (mut live, mut follower) = (line(), line());
        for (from, to) in [(5, 8), (8, 20)] {
            let record = live.seal(&entry(from, to), (Taken::default(), 0), 7, &names());
            let read = follower.expect(&record, &names()).expect("the next one");
            assert_eq!((read.ranges[0].from, read.ranges[0].to, read.skipped.len()), (from, to, 1));
            assert_eq!(follower.chain.check(&record, 7), Ok(live.chain));
            follower.go_on(&record, &read);
            assert_eq!(follower, live);
        }
        assert_eq!(live, follower);
        assert_eq!(live.positions[&(Topic::Interactions, 0)], 20);
    }

    #[test]
    fn what_does_not_follow_is_refused_in_words() {
        let mut live = line();
        let first = live.seal(&entry(5, 8), (Taken::default(), 0), 7, &names());
        let second = live.seal(&entry(8, 9), (Taken::default(), 0), 7, &names());
        let follower = line();
        assert!(matches!(follower.expect(&second, &names()), Err(Broken::Gap { expected: 0, found: 1, .. })));
        let other = JournalRecord { basis: "x".into(), ..first.clone() };
        assert!(matches!(follower.expect(&other, &names()), Err(Broken::Basis { .. })));
        let mut later = first.clone();
        later.ranges[0].from = 6;
        assert!(matches!(follower.expect(&later, &names()), Err(Broken::Range { from: 6, at: 5, .. })));
        let mut foreign = first.clone();
        foreign.ranges[0].topic = "other".into();
        assert!(matches!(follower.expect(&foreign, &names()), Err(Broken::Topic { .. })));
        let error = follower.chain.check(&first, 8).expect_err("another digest");
        assert!(error.to_string().contains("gives other outputs"), "{error}");
        assert!(
            matches!(error, Broken::Diverged { ours, theirs, .. } if theirs == first.chain && ours != theirs)
        );
    }

    #[test]
    fn a_reset_begins_a_line_at_its_positions() {
        let mut live = line();
        let reset = Entry { kind: JournalKind::Reset, ranges: vec![], ..entry(0, 0) };
        let record = live.seal(&reset, (Taken::default(), 0), 0, &names());
        let follower = Line::of_reset(&record, &names(), "b").expect("its own");
        assert_eq!((follower.next, follower.positions), (0, live.positions));
        assert!(Line::of_reset(&record, &names(), "other").is_err());
    }
}
