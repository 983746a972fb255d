//! Corrections as the topic of decisions tells them: what a campaign changed that a new state does not find again.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::time::Timestamp;
use crate::wire::decision::{CorrectionRecord, DecisionRecord};

/// The family of reasons that answers and labels give: who has spoken of a decision since is not overruled.
const ANSWERED: &str = "feedback";

/// The decisions on some targets, as they were made at first and as they stand.
#[derive(Debug, Default)]
pub(super) struct Corrected {
    /// By partition and offset of the event.
    decisions: BTreeMap<(i32, i64), Stand>,
}

#[derive(Debug, Default)]
struct Stand {
    first: Option<DecisionRecord>,
    newest: Option<DecisionRecord>,
}

impl Corrected {
    /// Takes note of a decision of the topic, in its order.
    pub(super) fn note(&mut self, told: DecisionRecord, targets: &BTreeSet<String>) {
        if !told.target_id.as_ref().is_some_and(|target| targets.contains(target)) {
            return;
        }
        let stand = self.decisions.entry((told.source.partition, told.source.offset)).or_default();
        if told.revision == 0 {
            stand.first = Some(told);
        } else if stand.newest.as_ref().is_none_or(|newest| newest.revision < told.revision) {
            stand.newest = Some(told);
        }
    }

    /// Those that stand as the campaign of this rule corrected them and that are not final.
    pub(super) fn corrections(self, rule: &str, now: Timestamp) -> Vec<CorrectionRecord> {
        let (mut corrections, mut unknown) = (Vec::new(), 0);
        for Stand { first, newest } in self.decisions.into_values() {
            let Some(newest) = newest.filter(|newest| is_corrected(newest, rule, now)) else { continue };
            match first {
                Some(first) => corrections.push(CorrectionRecord::of(first, newest.revision)),
                None => unknown += 1,
            }
        }
        if unknown > 0 {
            tracing::warn!(
                decisions = unknown,
                "a campaign changed decisions of which the topic does not hold the first verdict any more: they cannot \
                 be taken back"
            );
        }
        corrections
    }
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

    #[test]
    fn what_stands_as_the_campaign_made_it_is_taken_over() {
        let (plain, campaign) = (("prior", "prior"), ("campaign", "group"));
        let (back, answer) = (("campaign-cleared", "group"), ("confirmed-abuse", "feedback"));
        let mut found = Corrected::default();
        let targets = BTreeSet::from(["t".to_owned()]);
        for (offset, revision, verdict, reason) in [
            (1, 0, Verdict::Allow, plain),
            (1, 3, Verdict::Hold, campaign),
            (2, 0, Verdict::Allow, plain),
            (2, 1, Verdict::Hold, campaign),
            (2, 2, Verdict::Allow, back),
            (3, 0, Verdict::Demote, campaign),
            (4, 1, Verdict::Hold, campaign),
            (5, 0, Verdict::Allow, plain),
            (5, 1, Verdict::Reject, answer),
        ] {
            let told = told(offset, revision, verdict, reason);
            found.note(DecisionRecord { target_id: Some("other".into()), ..told.clone() }, &targets);
            found.note(told, &targets);
        }
        let now = Timestamp::from_millis(NOW);
        let taken = found.corrections("campaign", now);
        let stands: Vec<_> = taken.iter().map(|one| (one.source.offset, one.revision)).collect();
        assert_eq!(stands, [(1, 3)], "taken back, first, without a first one, answered: not these");
        let correction = taken[0].read().expect("an id");
        assert_eq!(correction.first.judgement.verdict, Verdict::Allow);
        assert_eq!(correction.first.event.ip.as_deref(), Some("2001:db8:1:2::"));
    }

    #[test]
    fn what_is_final_is_not_taken_over() {
        let mut found = Corrected::default();
        let targets = BTreeSet::from(["t".to_owned()]);
        found.note(told(1, 0, Verdict::Allow, ("prior", "prior")), &targets);
        found.note(told(1, 1, Verdict::Hold, ("campaign", "group")), &targets);
        assert!(found.corrections("campaign", Timestamp::from_millis(NOW + 1000)).is_empty());
    }
}
