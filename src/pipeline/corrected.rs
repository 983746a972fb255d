//! Corrections as the topic of decisions tells them: what campaigns changed before state began anew.
//!
//! The topic is read twice: for the revisions that hold, then for the first decisions on the same events. A correction on a
//! target without a case belongs to the case whose target most of its accounts were corrected on, too: a campaign is one
//! matter, whatever else it pushed.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::time::Timestamp;
use crate::wire::decision::{CorrectionRecord, DecisionRecord};

/// The family of reasons that answers and labels give: who has spoken of a decision since is not overruled.
const ANSWERED: &str = "feedback";
/// The most decisions whose revisions are followed.
const REVISED_MAX: usize = 500_000;
/// The most targets that are named in one line of the log.
const NAMED_MAX: usize = 10;

/// An event by its partition and offset.
type Place = (i32, i64);

/// The decisions that were revised, and how they stand.
#[derive(Debug)]
pub(super) struct Corrected<'r> {
    /// The rule of campaigns.
    rule: &'r str,
    now: Timestamp,
    revised: BTreeMap<Place, Stand>,
    /// First decisions on what stands as a campaign corrected it.
    first: BTreeMap<Place, CorrectionRecord>,
    /// Decisions that there was no room for.
    beyond: usize,
}

#[derive(Debug)]
struct Stand {
    revision: u32,
    is_corrected: bool,
    target: String,
    user: Option<String>,
}

/// The accounts that were corrected on each target.
type Accounts<'c> = BTreeMap<&'c str, BTreeSet<&'c str>>;

impl<'r> Corrected<'r> {
    pub(super) fn new(rule: &'r str, now: Timestamp) -> Self {
        Self { rule, now, revised: BTreeMap::new(), first: BTreeMap::new(), beyond: 0 }
    }

    /// Takes note of a decision of the topic, in its order: of the revision that holds.
    pub(super) fn note(&mut self, told: &DecisionRecord) {
        let Some(target) = told.target_id.as_ref().filter(|_| told.revision > 0) else { return };
        let place = place(told);
        let known = self.revised.get(&place);
        if known.is_some_and(|known| known.revision >= told.revision) {
            return;
        }
        if known.is_none() && self.revised.len() >= REVISED_MAX {
            self.beyond += 1;
            return;
        }
        let is_corrected = is_corrected(told, self.rule, self.now);
        let (target, user) = (target.clone(), told.user_id.clone());
        self.revised.insert(place, Stand { revision: told.revision, is_corrected, target, user });
    }

    /// Whether anything stands as a campaign corrected it.
    pub(super) fn is_any(&self) -> bool {
        self.revised.values().any(|stand| stand.is_corrected)
    }

    /// Takes note of a decision of the topic, when it is read again: of the first one on what stands corrected.
    pub(super) fn note_first(&mut self, told: DecisionRecord) {
        let place = place(&told);
        let stand = self.revised.get(&place).filter(|stand| stand.is_corrected && told.revision == 0);
        if let Some(stand) = stand {
            self.first.insert(place, CorrectionRecord::of(told, stand.revision));
        }
    }

    /// Those that belong to a case, by its target and whether its campaign is known: those of campaigns that are not known
    /// come first, for only from here can they be taken back.
    pub(super) fn corrections(mut self, cases: &BTreeMap<String, bool>) -> Vec<CorrectionRecord> {
        let whole = self.wholes(cases);
        let (mut corrections, mut strays) = (Vec::new(), BTreeSet::new());
        let mut unknown = 0;
        for (place, stand) in self.revised.iter().filter(|(_, stand)| stand.is_corrected) {
            let Some((of, is_known)) = whole.get(&*stand.target).and_then(|of| cases.get_key_value(of))
            else {
                strays.insert(&*stand.target);
                continue;
            };
            match self.first.remove(place) {
                Some(first) => {
                    let part_of = (*of != stand.target).then(|| of.clone());
                    corrections.push((*is_known, CorrectionRecord { part_of, ..first }));
                }
                None => unknown += 1,
            }
        }
        tell(unknown, self.beyond, &strays);
        corrections.sort_by_key(|(is_known, _)| *is_known);
        corrections.into_iter().map(|(_, correction)| correction).collect()
    }

    /// The target whose case each target belongs to: its own; else the one on which at least half of its accounts were
    /// corrected, and more than on any other.
    fn wholes(&self, cases: &BTreeMap<String, bool>) -> BTreeMap<String, String> {
        let mut accounts = Accounts::new();
        for stand in self.revised.values().filter(|stand| stand.is_corrected) {
            accounts.entry(&stand.target).or_default().extend(stand.user.as_deref());
        }
        let whole = |(target, of): (&&str, &BTreeSet<&str>)| {
            if cases.contains_key(*target) {
                return Some(((*target).to_owned(), (*target).to_owned()));
            }
            let shared = |other: &&str| accounts.get(other).map_or(0, |known| of.intersection(known).count());
            let most =
                cases.keys().map(|case| (shared(&case.as_str()), case)).max_by_key(|(shared, _)| *shared);
            let (_, case) = most.filter(|(shared, _)| *shared > 0 && shared * 2 >= of.len())?;
            Some(((*target).to_owned(), case.clone()))
        };
        accounts.iter().filter_map(whole).collect()
    }
}

/// What cannot be taken back, and why.
fn tell(unknown: usize, beyond: usize, strays: &BTreeSet<&str>) {
    if unknown > 0 {
        tracing::warn!(
            decisions = unknown,
            "a campaign changed decisions of which the topic does not hold the first verdict any more: they cannot be \
             taken back"
        );
    }
    if beyond > 0 {
        tracing::warn!(
            decisions = beyond,
            "more decisions were revised than are looked through: they cannot be taken back"
        );
    }
    if !strays.is_empty() {
        let named: Vec<&&str> = strays.iter().take(NAMED_MAX).collect();
        tracing::warn!(
            targets = strays.len(),
            first = ?named,
            "campaigns changed decisions on targets that belong to no case that can be decided: they stay as they are"
        );
    }
}

fn place(told: &DecisionRecord) -> Place {
    (told.source.partition, told.source.offset)
}

fn is_corrected(newest: &DecisionRecord, rule: &str, now: Timestamp) -> bool {
    let by_campaign = newest.reasons.iter().any(|reason| reason.detail.id == rule);
    let answered = newest.reasons.iter().any(|reason| reason.family == ANSWERED);
    by_campaign && !answered && now < newest.revisable_until.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::verdict::Verdict;
    use crate::wire::decision::{ReasonDetail, ReasonRecord, SourceRecord};

    const NOW: i64 = 1_750_000_000_000;

    fn told(offset: i64, revision: u32, verdict: Verdict, reason: (&str, &str)) -> DecisionRecord {
        let (id, family) = reason;
        let reason = ReasonRecord {
            code: "C".into(),
            family: family.into(),
            text: "t".into(),
            points: 0,
            detail: ReasonDetail {
                id: id.into(),
                value: None,
                threshold: None,
                baseline: None,
                support: None,
                window_ms: None,
                verdict: None,
            },
        };
        let at = Timestamp::from_millis(NOW);
        DecisionRecord {
            decision_id: format!("0-{offset}-00000000000000aa-{revision}"),
            revision,
            supersedes: None,
            event_id: format!("e{offset}"),
            action: "like".into(),
            user_id: Some("u".into()),
            target_id: Some("t".into()),
            target_owner_id: None,
            ip: Some("2001:db8:1:2::/64".into()),
            device_id: Some("d".into()),
            verdict: verdict.into(),
            weaker_verdict: None,
            score: -40,
            risk: 6,
            reasons: vec![reason],
            without: Vec::new(),
            retry_after_ms: None,
            hold: None,
            policy: "p".into(),
            engine: "e".into(),
            quality: Vec::new(),
            revisable_until: Timestamp::from_millis(NOW + 1000).into(),
            source: SourceRecord { topic: "t".into(), partition: 0, offset },
            occurred_at: at.into(),
            effective_at: at.into(),
            append_time: at.into(),
            decided_at: at.into(),
        }
    }

    /// Reads a topic twice; the cases by their target and whether their campaign is known.
    fn read(all: &[DecisionRecord], now: i64, cases: &[(&str, bool)]) -> Vec<CorrectionRecord> {
        let mut found = Corrected::new("campaign", Timestamp::from_millis(now));
        all.iter().for_each(|told| found.note(told));
        all.iter().for_each(|told| found.note_first(told.clone()));
        found.corrections(&cases.iter().map(|(target, known)| ((*target).to_owned(), *known)).collect())
    }

    #[test]
    fn what_stands_as_the_campaign_made_it_is_taken_over() {
        let (plain, campaign) = (("prior", "prior"), ("campaign", "group"));
        let (back, answer) = (("campaign-cleared", "group"), ("confirmed-abuse", "feedback"));
        let all: Vec<DecisionRecord> = [
            (1, 0, Verdict::Allow, plain),
            (1, 3, Verdict::Hold, campaign),
            (2, 0, Verdict::Allow, plain),
            (2, 1, Verdict::Hold, campaign),
            (2, 2, Verdict::Allow, back),
            (3, 0, Verdict::Demote, campaign),
            (4, 1, Verdict::Hold, campaign),
            (5, 0, Verdict::Allow, plain),
            (5, 1, Verdict::Reject, answer),
        ]
        .map(|(offset, revision, verdict, reason)| told(offset, revision, verdict, reason))
        .into();
        let taken = read(&all, NOW, &[("t", false)]);
        let stands: Vec<_> = taken.iter().map(|one| (one.source.offset, one.revision)).collect();
        assert_eq!(stands, [(1, 3)], "taken back, first, without a first one, answered: not these");
        let correction = taken[0].read().expect("an id");
        assert_eq!(correction.first.judgement.verdict, Verdict::Allow);
        assert_eq!(correction.first.event.ip.as_deref(), Some("2001:db8:1:2::"));
    }

    #[test]
    fn what_is_final_is_not_taken_over() {
        let all = both(1, "t", "u");
        assert!(read(&all, NOW + 1000, &[("t", false)]).is_empty());
        assert_eq!(read(&all, NOW + 999, &[("t", false)]).len(), 1);
    }

    /// A decision that a campaign corrected.
    fn both(offset: i64, target: &str, user: &str) -> [DecisionRecord; 2] {
        [(0, Verdict::Allow, ("prior", "prior")), (1, Verdict::Hold, ("campaign", "group"))].map(
            |(revision, verdict, reason)| DecisionRecord {
                target_id: Some(target.into()),
                user_id: Some(user.into()),
                ..told(offset, revision, verdict, reason)
            },
        )
    }

    /// "side" was pushed by three of the four who pushed "known", and by one who pushed "lost" too; of the three who pushed
    /// "stray" one is known.
    #[test]
    fn what_the_same_accounts_pushed_besides_belongs_to_the_case() {
        let pushed = [
            ("known", ["a", "b", "c", "d"].as_slice()),
            ("lost", &["e", "f"]),
            ("side", &["a", "b", "c", "e", "x"]),
            ("stray", &["a", "y", "z"]),
        ];
        let mut all = Vec::new();
        for (target, users) in pushed {
            for user in users {
                all.extend(both(all.len() as i64, target, user));
            }
        }
        let taken = read(&all, NOW, &[("known", true), ("lost", false), ("other", false)]);
        let told: Vec<_> = taken
            .iter()
            .map(|one| (one.target_id.as_deref().unwrap_or_default(), one.part_of.as_deref()))
            .collect();
        let expected = [vec![("lost", None); 2], vec![("known", None); 4], vec![("side", Some("known")); 5]];
        assert_eq!(told, expected.concat(), "first what only this can take back; of no case: not taken over");
    }
}
