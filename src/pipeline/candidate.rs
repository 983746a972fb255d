//! A candidate policy beside the live one: the same engine a second time over the same batches, with state of its own.
//!
//! ```text
//!  batch -> live engine      -> decisions, bans, cases, journal   (told, hashed into the chain)
//!        -> candidate engine -> what it would have decided otherwise, and a tally -> risk.shadow.v1 of the same transaction
//! ```
//!
//! Its state begins as a copy of the live one, with the candidate taking effect there: counters that both policies have,
//! bans, penalties and exemptions are as they were; counters that are new say `warming_up`. It is in no checkpoint, so a
//! start of the process, or a takeover, copies anew: each record says since when. Nothing of it reaches the chain, and
//! what goes wrong in it ends it alone; it is begun again once the policy is another one. Corrections that either makes
//! later are compared, too, by their counts ([`corrections`]).
//!
//! The tally ([`tallies`]) goes out with each transaction in which something was compared, not by a timer: so the newest one is
//! exact wherever the stream stands still, for one record where the journal's goes out anyway.

mod corrections;
mod tallies;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::engine::policy::Policy;
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;
use crate::engine::{Input, Outputs};
use crate::metrics;
use crate::stream::{Coordinates, OutBatch, TopicNames};
use crate::wire::decision;
use crate::wire::interaction::DecodeLimits;
use crate::wire::shadow;

use self::corrections::{Corrections, Side};
use self::tallies::Tallies;
use super::commit::Job;
use super::replica::Work;
use super::score::{Decided, Inputs, Report, Scorer};
use super::shard::words_of;

/// The candidate that is configured now; `None` while there is none that can be used.
pub type CandidatePolicy = Arc<dyn Fn() -> Option<Arc<Policy>> + Send + Sync>;

/// How the verdicts of a batch compare: the live one's, the candidate's, how often. `None` is not decided, as where an
/// event is a duplicate to one of them. The same of corrections that one of them made or both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    decisions: Pairs,
    corrections: Pairs,
    /// When the earliest and the latest event counted that both decided.
    span: Option<(Timestamp, Timestamp)>,
}

type Pair = (Option<Verdict>, Option<Verdict>);
type Pairs = BTreeMap<Pair, u64>;

impl Compared {
    /// Each pair of first decisions that occurred.
    pub fn each(&self) -> impl Iterator<Item = (Pair, u64)> {
        self.decisions.iter().map(|(pair, count)| (*pair, *count))
    }

    /// Each pair of corrections that occurred; `None`: it was not corrected.
    pub fn corrections(&self) -> impl Iterator<Item = (Pair, u64)> {
        self.corrections.iter().map(|(pair, count)| (*pair, *count))
    }

    /// Counts the first decisions of another, too.
    fn add(&mut self, other: &Compared) {
        other.each().for_each(|(pair, count)| *self.decisions.entry(pair).or_default() += count);
        if let Some((first, last)) = other.span {
            self.reach(first);
            self.reach(last);
        }
    }

    fn reach(&mut self, at: Timestamp) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    fn both(&mut self, at: Timestamp, live: Verdict, candidate: Verdict) {
        self.reach(at);
        self.count(Some(live), Some(candidate));
    }

    fn count(&mut self, live: Option<Verdict>, candidate: Option<Verdict>) {
        *self.decisions.entry((live, candidate)).or_default() += 1;
    }

    fn correct(&mut self, live: Option<Verdict>, candidate: Option<Verdict>) {
        *self.corrections.entry((live, candidate)).or_default() += 1;
    }
}

/// See the module.
pub struct Candidate {
    policy: CandidatePolicy,
    names: TopicNames,
    shard: u32,
    limits: DecodeLimits,
    running: Option<Running>,
    /// Hash of the policy with which it failed: not tried again.
    failed: Option<Arc<str>>,
}

struct Running {
    scorer: Scorer,
    /// When its state was copied, by the stream's time; `None` where that was before the first event.
    since: Option<Timestamp>,
    /// What it would have told: never sent.
    untold: OutBatch,
    /// Corrections of one side that the other has not made yet.
    corrections: Corrections,
    shard: u32,
    tallies: Tallies,
}

impl Candidate {
    /// One that begins with the next batch.
    pub fn new(policy: CandidatePolicy, (names, shard): (TopicNames, u32), limits: DecodeLimits) -> Self {
        Self { policy, names, shard, limits, running: None, failed: None }
    }

    /// Before a batch is scored live: begins, or takes another policy on.
    pub fn prepare(&mut self, live: &mut Scorer, report: &mut Report) {
        let wanted = (self.policy)().filter(|policy| self.failed.as_ref() != Some(&policy.hash));
        let Some(wanted) = wanted else { return };
        let holds = self.running.as_ref().map(|running| Arc::clone(&running.scorer.engine().policy().hash));
        if holds.as_ref() != Some(&wanted.hash) {
            let hash = Arc::clone(&wanted.hash);
            match guarded(|| self.take_on(wanted, live)) {
                Ok(()) => {}
                Err(why) => self.fail(hash, &why),
            }
        }
        report.decided = self.running.is_some().then(Vec::new);
    }

    /// A candidate that runs goes on with its state, as after a reload; else it begins as a copy of the live one.
    fn take_on(&mut self, policy: Arc<Policy>, live: &mut Scorer) -> Result<(), String> {
        let hash = Arc::clone(&policy.hash);
        if let Some(running) = &mut self.running {
            running.scorer.engine_mut().apply(Input::Policy(policy), &mut Outputs::default());
            tracing::info!(%hash, "another candidate goes on with the state of the one before");
            return Ok(());
        }
        let mut engine = live.engine_mut().fork().map_err(|error| error.to_string())?;
        engine.apply(Input::Policy(policy), &mut Outputs::default());
        let since = Some(engine.now()).filter(|now| *now > Timestamp::default());
        let scorer = Scorer::new(engine, self.names.clone(), self.limits);
        self.running = Some(Running {
            scorer,
            since,
            untold: OutBatch::default(),
            corrections: Corrections::default(),
            shard: self.shard,
            tallies: Tallies::default(),
        });
        metrics::candidate_runs(Some(since.unwrap_or_default()));
        tracing::info!(%hash, since = since.map(|at| at.to_string()), "a candidate runs beside the live policy, on a copy of its state");
        Ok(())
    }

    /// After a batch was scored live: scores it too, and adds what it would have decided otherwise.
    pub fn score(&mut self, work: &Work<'_>, skip: &BTreeSet<Coordinates>, live: &mut Scorer, job: &mut Job) {
        let (Some(running), Some(decided)) = (&mut self.running, job.report.decided.take()) else { return };
        let inputs = Inputs {
            policy: None,
            ticks: &work.entry.ticks,
            batch: work.batch,
            skip,
            decided_at: work.decided_at,
        };
        let mark = job.out.mark();
        let hash = Arc::clone(&running.scorer.engine().policy().hash);
        let compared = guarded(|| {
            let compared = running.against(&decided, &inputs, live, &mut job.out)?;
            running.tally(&compared, live, job.end.as_ref().map_or("", |(_, chain)| chain), &mut job.out);
            Ok(compared)
        });
        match compared {
            Ok(compared) => job.report.compared = compared,
            Err(why) => {
                job.out.rewind(mark);
                self.fail(hash, &why);
            }
        }
    }

    /// It is ended; the live stream goes on.
    fn fail(&mut self, hash: Arc<str>, why: &str) {
        tracing::error!(%hash, %why, "the candidate failed and is ended; it begins anew with another policy or process");
        self.running = None;
        self.failed = Some(hash);
        metrics::candidate_runs(None);
    }

    /// Tells the memory of its state.
    pub fn account(&self) {
        if let Some(running) = &self.running {
            let tables = running.scorer.engine().accounts();
            metrics::candidate_bytes(tables.iter().map(|table| table.stats.bytes).sum());
        }
    }
}

impl Running {
    fn against(
        &mut self,
        live: &[Decided],
        inputs: &Inputs<'_>,
        teller: &mut Scorer,
        out: &mut OutBatch,
    ) -> Result<Compared, String> {
        self.untold.clear();
        let mut report = Report { decided: Some(Vec::new()), ..Report::default() };
        self.scorer.apply(inputs, &mut self.untold, &mut report);
        let theirs = report.decided.unwrap_or_default();
        let mut compared = Compared::default();
        self.correct(live, &theirs, &mut compared);
        let mut open: HashMap<Coordinates, &Decided> =
            first(live).map(|decided| (decided.at, decided)).collect();
        let hash = Arc::clone(&teller.engine().policy().hash);
        for theirs in first(&theirs) {
            let Some(live) = open.remove(&theirs.at) else {
                compared.count(None, Some(theirs.verdict));
                continue;
            };
            let actual = live.verdict;
            compared.both(live.effective_at, actual, theirs.verdict);
            if actual != theirs.verdict {
                let untold = self.untold.get(theirs.record);
                let decision = decision::decode(untold.value).map_err(|error| error.to_string())?;
                let told = shadow::of_candidate(decision, actual, &hash, self.since);
                teller.tell_candidate(&told, untold.key, out);
            }
        }
        open.values().for_each(|live| compared.count(Some(live.verdict), None));
        Ok(compared)
    }

    /// Tells how it compares in all, where a batch adds to that; `chain` is the journal's behind the batch.
    fn tally(&mut self, compared: &Compared, teller: &mut Scorer, chain: &str, out: &mut OutBatch) {
        if compared.decisions.is_empty() {
            return;
        }
        let hash = |scorer: &Scorer| Arc::clone(&scorer.engine().policy().hash);
        let policies = (hash(teller), hash(&self.scorer));
        let all = self.tallies.hear(policies.clone(), compared);
        teller.tell_tally(&tallies::record(&policies, (self.shard, self.since), all), chain, out);
    }

    /// Brings the corrections of a batch together with those that wait.
    fn correct(&mut self, live: &[Decided], theirs: &[Decided], compared: &mut Compared) {
        let now = self.scorer.engine().now();
        for (side, made) in [(Side::Live, live), (Side::Candidate, theirs)] {
            for decided in made.iter().filter(|decided| decided.revision > 0) {
                self.corrections.hear(side, (decided.at, decided.verdict), now, compared);
            }
        }
        self.corrections.settle(now, compared);
    }
}

/// Decisions that are no corrections.
fn first(decided: &[Decided]) -> impl Iterator<Item = &Decided> {
    decided.iter().filter(|decided| decided.revision == 0)
}

/// A panic is a reason in words like any other error.
fn guarded<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(words_of(&*panic)))
}

#[cfg(test)]
mod tests;
