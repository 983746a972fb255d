//! What the topic of shadow tells of a candidate beside the policy in place: its tallies, and its single disagreements.
//!
//! Both are of the run that began last: since the candidate's state was copied. The tally has all decisions, and disagreements
//! whose records have expired; a record of which no tally tells is counted nevertheless: of each pair of verdicts the larger
//! number holds, so that nothing that was found against a candidate is lost.

use std::collections::BTreeMap;

use crate::backtest::Beside;
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;
use crate::stream::RecordRef;
use crate::wire::shadow;
use crate::wire::shadow_tally::{self, ShadowTallyRecord};
use crate::wire::words::VerdictWord;

/// What was decided, and what the candidate would have.
type Pairs = BTreeMap<(Verdict, Verdict), u64>;

/// See the module.
#[derive(Debug)]
pub(super) struct Evidence<'e> {
    live: &'e str,
    candidate: &'e str,
    run: Option<Run>,
}

/// What a candidate said since its state was copied last.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// When that was; `None`: before the first event.
    pub(super) since: Option<Timestamp>,
    /// Records of single disagreements.
    told: Pairs,
    /// The newest tally of each shard.
    tallies: BTreeMap<u32, ShadowTallyRecord>,
}

impl<'e> Evidence<'e> {
    /// None yet.
    pub(super) fn new(live: &'e str, candidate: &'e str) -> Self {
        Self { live, candidate, run: None }
    }

    /// A record of the topic. What cannot be read, and what is of other policies, tells nothing of these.
    pub(super) fn hear(&mut self, record: &RecordRef<'_>) {
        if shadow_tally::is_tally(record.headers.iter()) {
            shadow_tally::decode(record.value).into_iter().for_each(|tally| self.tally(tally));
        } else {
            shadow::decode(record.value).into_iter().for_each(|told| self.disagreement(&told));
        }
    }

    fn tally(&mut self, tally: ShadowTallyRecord) {
        if (tally.policy.as_str(), tally.candidate.as_str()) != (self.live, self.candidate) {
            return;
        }
        let Some(run) = self.run(tally.since.map(Timestamp::from)) else { return };
        let known = run.tallies.get(&tally.shard).map(ShadowTallyRecord::events);
        if known.is_none_or(|known| known < tally.events()) {
            run.tallies.insert(tally.shard, tally);
        }
    }

    fn disagreement(&mut self, told: &shadow::ShadowRecord) {
        let Some(theirs) = &told.candidate else { return };
        if (told.policy.as_str(), theirs.policy.as_str()) != (self.live, self.candidate) {
            return;
        }
        let pair = (known(&told.actual_verdict), known(&theirs.would_be));
        if let Some(run) = self.run(theirs.since.map(Timestamp::from)) {
            *run.told.entry(pair).or_default() += 1;
        }
    }

    /// The run that began then, unless a later one is known.
    fn run(&mut self, since: Option<Timestamp>) -> Option<&mut Run> {
        if self.run.as_ref().is_none_or(|run| run.since < since) {
            self.run = Some(Run { since, ..Run::default() });
        }
        self.run.as_mut().filter(|run| run.since == since)
    }

    /// The run that began last, if any was told of.
    pub(super) fn newest(self) -> Option<Run> {
        self.run
    }
}

impl Run {
    /// How many events both decided, where a tally says so.
    pub(super) fn decisions(&self) -> Option<u64> {
        (!self.tallies.is_empty()).then(|| self.tallies.values().map(|tally| tally.decisions).sum())
    }

    /// All of it, with so many decisions.
    pub(super) fn beside(&self, decisions: u64) -> Beside {
        let mut beside = Beside::default();
        let differs = self.differs();
        differs.iter().for_each(|((now, then), count)| beside.count(*now, *then, *count));
        // Which verdict both gave makes no difference to any figure.
        beside.count(Verdict::Allow, Verdict::Allow, decisions.saturating_sub(differs.values().sum()));
        beside
    }

    /// What it rests on, in words.
    pub(super) fn told(&self) -> String {
        let records = self.told.values().sum::<u64>();
        match self.decisions() {
            Some(decisions) => {
                let otherwise = self.tallied().values().sum::<u64>();
                format!(
                    "a tally of {decisions} decisions, {otherwise} of them otherwise; records of single ones: {records}"
                )
            }
            None => format!("no tally; records of single decisions otherwise: {records}"),
        }
    }

    fn tallied(&self) -> Pairs {
        let mut pairs = Pairs::new();
        for told in self.tallies.values().flat_map(|tally| &tally.disagreed) {
            *pairs.entry((known(&told.actual_verdict), known(&told.would_be))).or_default() += told.decisions;
        }
        pairs
    }

    fn differs(&self) -> Pairs {
        let mut pairs = self.tallied();
        for (pair, count) in &self.told {
            let larger = pairs.entry(*pair).or_default();
            *larger = (*larger).max(*count);
        }
        pairs
    }
}

fn known(word: &VerdictWord) -> Verdict {
    word.or_weaker(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::verdict::Verdict::{Allow, Hold, Reject};
    use crate::wire::shadow_tally::DisagreedRecord;

    fn tally(since: i64, decisions: u64, disagreed: &[(Verdict, Verdict, u64)]) -> ShadowTallyRecord {
        let disagreed = disagreed.iter().map(|(actual, would_be, decisions)| DisagreedRecord {
            actual_verdict: (*actual).into(),
            would_be: (*would_be).into(),
            decisions: *decisions,
        });
        ShadowTallyRecord {
            policy: "live".to_owned(),
            candidate: "new".to_owned(),
            since: Some(Timestamp::from_millis(since).into()),
            decisions,
            disagreed: disagreed.collect(),
            ..ShadowTallyRecord::default()
        }
    }

    fn disagreement(since: i64, candidate: &str) -> shadow::ShadowRecord {
        let text = include_bytes!("../../../schemas/shadow/examples/valid-candidate.json");
        let mut told = shadow::decode(Some(text)).expect("an example");
        told.policy = "live".to_owned();
        let theirs = told.candidate.as_mut().expect("of a candidate");
        theirs.policy = candidate.to_owned();
        theirs.since = Some(Timestamp::from_millis(since).into());
        told
    }

    fn evidence() -> Evidence<'static> {
        Evidence::new("live", "new")
    }

    /// The example's verdicts are allow and reject.
    fn pairs(run: &Run) -> Vec<((Verdict, Verdict), u64)> {
        run.differs().into_iter().collect()
    }

    #[test]
    fn one_that_never_disagreed_is_told_from_one_that_did_not_run() {
        let mut evidence = evidence();
        evidence.disagreement(&disagreement(5, "another"));
        evidence.tally(ShadowTallyRecord { candidate: "another".to_owned(), ..tally(5, 9, &[]) });
        evidence.tally(ShadowTallyRecord { policy: "another".to_owned(), ..tally(5, 9, &[]) });
        assert!(evidence.run.is_none());
        evidence.tally(tally(5, 7, &[]));
        let run = evidence.newest().expect("it ran");
        assert_eq!((run.decisions(), run.beside(7).decisions(), pairs(&run)), (Some(7), 7, vec![]));
    }

    /// The one with most events is the newest, whatever the order in which partitions are read; another shard adds to it.
    #[test]
    fn the_newest_tally_of_each_shard_counts() {
        let mut evidence = evidence();
        evidence.tally(tally(5, 9, &[(Allow, Hold, 2)]));
        evidence.tally(tally(5, 4, &[(Allow, Hold, 1)]));
        evidence.tally(ShadowTallyRecord { shard: 1, ..tally(5, 10, &[(Allow, Hold, 1), (Hold, Allow, 3)]) });
        let run = evidence.newest().expect("it ran");
        assert_eq!(run.decisions(), Some(19));
        assert_eq!(pairs(&run), [((Allow, Hold), 3), ((Hold, Allow), 3)]);
    }

    /// Two records of allow to reject: the tally has fewer of them, and others that have expired.
    #[test]
    fn of_tally_and_records_the_larger_number_holds() {
        let mut evidence = evidence();
        evidence.disagreement(&disagreement(5, "new"));
        evidence.tally(tally(5, 9, &[(Allow, Reject, 1), (Allow, Hold, 4)]));
        evidence.disagreement(&disagreement(5, "new"));
        let run = evidence.newest().expect("it ran");
        let mut found = pairs(&run);
        found.sort_unstable_by_key(|(_, count)| *count);
        assert_eq!(found, [((Allow, Reject), 2), ((Allow, Hold), 4)]);
        assert_eq!(run.beside(9).decisions(), 9);
        assert_eq!(run.told(), "a tally of 9 decisions, 5 of them otherwise; records of single ones: 2");
    }

    #[test]
    fn a_later_copy_of_the_state_begins_anew() {
        let mut evidence = evidence();
        evidence.tally(tally(5, 9, &[]));
        evidence.disagreement(&disagreement(6, "new"));
        evidence.tally(tally(5, 11, &[]));
        let run = evidence.newest().expect("it ran");
        assert_eq!((run.since, run.decisions()), (Some(Timestamp::from_millis(6)), None));
        assert_eq!(pairs(&run), [((Allow, Reject), 1)]);
        assert_eq!(run.told(), "no tally; records of single decisions otherwise: 1");
    }
}
