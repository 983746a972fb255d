//! The decisions that can still be answered or revised, each as one run of bytes with all that a revision tells.
//!
//! Kept until their `revisable_until`, within a budget. Over it the ones made first are forgotten, which is counted;
//! feedback on them is refused. What is kept is flat (see `record.rs` below this): it does not refer to a policy, so a
//! reload changes none of it. Revisions wait here until they are told, a bounded number with each input.

mod record;
mod saved;

use std::collections::{BTreeMap, VecDeque};

use super::decision::{Decision, DecisionId, Judgement};
use super::feedback::{FeedbackResult, Revision};
use super::time::Timestamp;

/// What a kept decision costs beside its bytes: its places in the two maps.
const OVERHEAD: u64 = 112;

/// The decisions that are remembered.
#[derive(Clone, Debug, Default)]
pub struct Recall {
    /// In the order in which they were made.
    kept: BTreeMap<u64, Kept>,
    /// By the digest in their id, which all revisions share: number in `kept`. Digests are not keyed, so this is no
    /// hash map.
    by_digest: BTreeMap<u64, u64>,
    next: u64,
    bytes: u64,
    forgotten: u64,
    /// Revisions that are not told yet.
    waiting: VecDeque<Box<[u8]>>,
    /// When state that began anew was warm. Revisions of what was decided up to then may have been told that this state
    /// does not know of.
    warmed_at: Timestamp,
    /// State that began anew is not warm yet.
    warming: bool,
    /// The highest number that a revision has, here or in a state that was lost before.
    highest: u32,
    /// The same when state began anew.
    told_before: u32,
}

/// One decision as it stands.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The first revision's id.
    id: DecisionId,
    until: Timestamp,
    /// What it was answered with last, if at all.
    answer: Option<FeedbackResult>,
    record: Box<[u8]>,
}

/// The account of what is remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecallStats {
    /// Decisions kept, some of which may be past their time.
    pub entries: u64,
    /// Bytes they take.
    pub bytes: u64,
    /// Decisions forgotten before their time.
    pub forgotten: u64,
    /// Revisions that are not told yet.
    pub waiting: u64,
}

/// A decision as bytes, with all that a revision of it tells.
pub(crate) fn bytes_of(decision: &Decision<'_>) -> Box<[u8]> {
    record::write(decision)
}

/// The decision that [`bytes_of`] wrote.
pub(crate) fn revision_of(bytes: &[u8]) -> Option<Revision> {
    record::read(bytes)
}

impl Recall {
    /// Remembers a decision within `budget_bytes`; what is past its time at `now`, or too much, is forgotten.
    pub fn remember(&mut self, decision: &Decision<'_>, now: Timestamp, budget_bytes: u64) {
        let judgement = decision.judgement;
        let (id, until) = (judgement.id, judgement.revisable_until);
        let kept = Kept { id, until, answer: None, record: record::write(decision) };
        self.bytes += kept.bytes();
        self.next += 1;
        self.kept.insert(self.next, kept);
        if let Some(before) = self.by_digest.insert(id.digest, self.next) {
            self.drop_number(before);
        }
        while let Some((&number, oldest)) = self.kept.first_key_value() {
            let (is_over, digest) = (oldest.until <= now, oldest.id.digest);
            if !is_over && self.bytes <= budget_bytes {
                break;
            }
            self.forgotten += u64::from(!is_over);
            self.by_digest.remove(&digest);
            self.drop_number(number);
        }
    }

    /// The decision of this id, whichever revision it names; `None` when it is not remembered or final at `now`.
    pub fn find(&self, id: &DecisionId, now: Timestamp) -> Option<&Kept> {
        let kept = self.kept.get(self.by_digest.get(&id.digest)?)?;
        let same = (kept.id.partition, kept.id.offset) == (id.partition, id.offset);
        (same && now < kept.until).then_some(kept)
    }

    /// Notes an answer to a decision that was found, and what it makes of the decision, which is then to be told.
    pub fn answer(&mut self, id: &DecisionId, result: FeedbackResult, revised: Option<Judgement>) {
        let number = self.by_digest.get(&id.digest);
        let Some(kept) = number.and_then(|number| self.kept.get_mut(number)) else { return };
        kept.answer = Some(result);
        let Some(judgement) = revised else { return };
        let Some(revision) = kept.revision().map(|known| Revision { judgement, ..known }) else { return };
        self.bytes -= kept.bytes();
        kept.record = record::write(&revision.decision());
        self.bytes += kept.bytes();
        self.highest = self.highest.max(revision.judgement.id.revision);
        self.waiting.push_back(kept.record.clone());
    }

    /// Replaces a decision that is remembered by a revision of it, which is then to be told. It is not answered yet.
    pub fn revise(&mut self, decision: &Decision<'_>) {
        let number = self.by_digest.get(&decision.judgement.id.digest);
        if let Some(kept) = number.and_then(|number| self.kept.get_mut(number)) {
            self.bytes -= kept.bytes();
            kept.answer = None;
            kept.record = record::write(decision);
            self.bytes += kept.bytes();
        }
        self.tell_later(decision);
    }

    /// State begins anew. Revisions were told before, with numbers up to this one.
    pub fn begin_anew(&mut self, told_before: u32) {
        (self.warming, self.highest, self.told_before) = (true, told_before, told_before);
    }

    /// State that began anew is warm at `now`.
    pub fn warm(&mut self, now: Timestamp) {
        (self.warming, self.warmed_at) = (false, now);
    }

    /// Whether state that began anew is not warm yet.
    pub fn is_warming(&self) -> bool {
        self.warming
    }

    /// When state that began anew was warm; the beginning of time otherwise.
    pub fn warmed_at(&self) -> Timestamp {
        self.warmed_at
    }

    /// The highest number that a revision has, here or in a state that was lost before.
    pub fn highest(&self) -> u32 {
        self.highest
    }

    /// The number of the next revision, made `now`, of a decision on an event of a time that stands at a revision. What
    /// was decided before state began anew may stand at another one than is known here: its revisions get numbers above all
    /// that were told before, and where that is not known, numbers by the seconds that have passed since the event.
    pub fn next_revision(&self, known: u32, event_at: Timestamp, now: Timestamp) -> u32 {
        let next = known.saturating_add(1);
        if event_at > self.warmed_at {
            return next;
        }
        let seconds = now.since(event_at).millis().max(0) / 1000 + 1;
        next.max(u32::try_from(seconds).unwrap_or(u32::MAX)).max(self.told_before.saturating_add(1))
    }

    /// Has a revision wait until it is told.
    pub fn tell_later(&mut self, decision: &Decision<'_>) {
        self.highest = self.highest.max(decision.judgement.id.revision);
        self.waiting.push_back(record::write(decision));
    }

    /// Tells at most `most` of the revisions that wait, in order.
    pub fn tell(&mut self, most: usize, out: &mut Vec<Revision>) {
        let now = most.min(self.waiting.len());
        out.extend(self.waiting.drain(..now).filter_map(|record| record::read(&record)));
    }

    /// The account.
    pub fn stats(&self) -> RecallStats {
        RecallStats {
            entries: self.kept.len() as u64,
            bytes: self.bytes,
            forgotten: self.forgotten,
            waiting: self.waiting.len() as u64,
        }
    }

    fn drop_number(&mut self, number: u64) {
        if let Some(kept) = self.kept.remove(&number) {
            self.bytes -= kept.bytes();
        }
    }
}

impl Kept {
    /// What holds now.
    ///
    /// # Panics
    /// Never: its bytes were written here.
    pub fn judgement(&self) -> Judgement {
        self.revision().expect("what was written here can be read here").judgement
    }

    /// Whether this is what it was answered with last.
    pub fn was_answered_with(&self, result: FeedbackResult) -> bool {
        self.answer == Some(result)
    }

    fn revision(&self) -> Option<Revision> {
        record::read(&self.record)
    }

    fn bytes(&self) -> u64 {
        (self.record.len() + size_of::<Self>()) as u64 + OVERHEAD
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{Arrival, Event};
    use super::super::time::Span;
    use super::super::verdict::Verdict;
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(1_750_000_000_000 + secs * 1000)
    }

    fn remember(recall: &mut Recall, offset: i64, secs: i64, budget: u64) -> DecisionId {
        let arrival = Arrival { topic: "t", partition: 2, offset, append_time: at(secs) };
        let event = Event { id: format!("e{offset}").into(), action: "like".into(), ..Event::default() };
        let id = DecisionId::first(&arrival, &event.id);
        let judgement = Judgement {
            id,
            supersedes: None,
            address: None,
            effective_at: at(secs),
            verdict: Verdict::Challenge,
            score: 9,
            reasons: Vec::new(),
            without: Vec::new(),
            retry_after: None,
            hold: None,
            policy: "p".into(),
            quality: Vec::new(),
            revisable_until: at(secs).after(Span::from_secs(100)),
        };
        recall.remember(&Decision { event: &event, arrival, judgement: &judgement }, at(secs), budget);
        id
    }

    #[test]
    fn a_decision_is_remembered_until_its_time() {
        let mut recall = Recall::default();
        let id = remember(&mut recall, 1, 0, 1 << 20);
        assert!(recall.find(&id, at(99)).is_some() && recall.find(&id, at(100)).is_none());
        assert!(recall.find(&DecisionId { offset: 2, ..id }, at(0)).is_none(), "another record's");
        remember(&mut recall, 2, 100, 1 << 20);
        assert_eq!((recall.stats().entries, recall.stats().forgotten), (1, 0));
    }

    #[test]
    fn over_the_budget_the_first_are_forgotten_and_counted() {
        let mut recall = Recall::default();
        let ids: Vec<_> = (0..100).map(|n| remember(&mut recall, n, 0, 10_000)).collect();
        let stats = recall.stats();
        assert!(stats.bytes <= 10_000 && stats.entries + stats.forgotten == 100, "{stats:?}");
        let held = stats.entries as usize;
        assert!((20..80).contains(&held), "{held}");
        let found = ids.iter().map(|id| recall.find(id, at(1)).is_some());
        assert_eq!(found.collect::<Vec<_>>(), [vec![false; 100 - held], vec![true; held]].concat());
        remember(&mut recall, 1000, 200, 10_000);
        assert_eq!(recall.stats().forgotten, stats.forgotten, "what is past its time is not missed");
    }

    #[test]
    fn what_was_decided_before_state_began_anew_gets_numbers_that_were_not_told() {
        let mut recall = Recall::default();
        assert_eq!(recall.next_revision(0, at(0), at(50)), 1);
        recall.warm(at(10));
        assert_eq!(recall.next_revision(0, at(10), at(50)), 41, "seconds since the event");
        assert_eq!(recall.next_revision(41, at(10), at(50)), 42, "each number once");
        assert_eq!(recall.next_revision(41, at(10), at(90)), 81);
        assert_eq!(recall.next_revision(0, at(11), at(50)), 1, "decided since");
    }

    /// Two states in one second: the second one knows nothing of the revision that the first one made.
    #[test]
    fn two_states_in_one_second_give_no_number_twice() {
        let number = |told_before: u32| {
            let mut recall = Recall::default();
            recall.begin_anew(told_before);
            let id = remember(&mut recall, 1, 0, 1 << 20);
            recall.warm(at(10));
            let now = recall.find(&id, at(50)).expect("kept").judgement();
            let revision = recall.next_revision(now.id.revision, now.effective_at, at(50));
            let revised = Judgement { id: now.id.revised(revision), verdict: Verdict::Allow, ..now };
            recall.answer(&id, FeedbackResult::ChallengePassed, Some(revised));
            assert_eq!(recall.highest(), revision);
            revision
        };
        let first = number(0);
        let second = number(first);
        assert_eq!((first, second, number(second)), (51, 52, 53));
    }

    #[test]
    fn revisions_wait_their_turn() {
        let mut recall = Recall::default();
        let ids: Vec<_> = (0..5).map(|n| remember(&mut recall, n, 0, 1 << 20)).collect();
        for id in &ids {
            let now = recall.find(id, at(1)).expect("kept").judgement();
            let revised = Judgement { verdict: Verdict::Allow, supersedes: Some(now.id), ..now };
            recall.answer(id, FeedbackResult::ChallengePassed, Some(revised));
        }
        let mut told = Vec::new();
        recall.tell(3, &mut told);
        assert_eq!((told.len(), recall.stats().waiting), (3, 2));
        recall.tell(3, &mut told);
        let events: Vec<_> = told.iter().map(|revision| revision.event.id.as_ref()).collect();
        assert_eq!(events, ["e0", "e1", "e2", "e3", "e4"]);
        assert_eq!(recall.find(&ids[0], at(1)).expect("kept").judgement().verdict, Verdict::Allow);
    }
}
