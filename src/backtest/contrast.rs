//! Two policies on the same events: which verdicts differ, for whom, and by what.

use xxhash_rust::xxh3::xxh3_64;

use super::actor::{Actor, Name};
use super::sample::Sample;
use super::top::{Change, Example, Top};
use crate::engine::decision::Judgement;
use crate::engine::event::Event;
use crate::engine::verdict::Verdict;
use crate::replay::Heard;

const VERDICTS: usize = Verdict::ALL.len();

/// See the module. `now` is the policy that is held against, `then` the candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Contrast {
    /// Decisions by the verdict now (first) and then.
    pub(super) matrix: [[u64; VERDICTS]; VERDICTS],
    /// Events that only one of the two decided: another took it for a duplicate or a dead letter.
    pub(super) decided_by_one: u64,
    /// Accounts that would be touched then and are not now; once the pass has ended.
    pub(super) newly_touched: Sample,
    /// Accounts that are touched now and would not be then.
    pub(super) newly_freed: Sample,
    /// The accounts with the most changes.
    pub(super) top: Top,
    /// The targets with the most changes.
    pub(super) targets: Top,
}

impl Contrast {
    /// One event that counts, as both heard it.
    pub(super) fn hear(&mut self, now: &Heard<'_>, then: &Heard<'_>) {
        let (Some((event, _)), Some(a), Some(b)) =
            (now.event, &now.outputs.judgement, &then.outputs.judgement)
        else {
            let decided = [now, then].map(|heard| heard.outputs.judgement.is_some());
            self.decided_by_one += u64::from(decided[0] != decided[1]);
            return;
        };
        self.matrix[a.verdict as usize][b.verdict as usize] += 1;
        if a.verdict != b.verdict {
            self.flip(event, (a, b), then);
        }
    }

    /// One event that counts, where there is no other policy: what is not allowed is told as a change from that.
    pub(super) fn hear_alone(&mut self, then: &Heard<'_>) {
        if let (Some((event, _)), Some(judgement)) = (then.event, &then.outputs.judgement)
            && judgement.verdict > Verdict::Allow
        {
            let gained =
                judgement.reasons.iter().map(|reason| speaker(&reason.source.id)).filter(|id| *id != PRIOR);
            self.note(event, (Verdict::Allow, judgement), then, (gained.collect(), Vec::new()));
        }
    }

    fn flip(&mut self, event: &Event<'_>, (now, then): (&Judgement, &Judgement), heard: &Heard<'_>) {
        let reasons = (only_in(then, now).collect(), only_in(now, then).collect());
        self.note(event, (now.verdict, then), heard, reasons);
    }

    fn note(
        &mut self,
        event: &Event<'_>,
        (now, then): (Verdict, &Judgement),
        heard: &Heard<'_>,
        (gained, lost): (Vec<&str>, Vec<&str>),
    ) {
        let (actor, standing) = (Actor::of(event, then.address), heard.outputs.standing);
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let example = Example {
            event: event.id.to_string(),
            action: event.action.to_string(),
            target: text(event.target.as_deref()),
            address: then.address.map(|address| address.to_string()).unwrap_or_default(),
            device: text(event.device.id.as_deref()),
            now,
            then: then.verdict,
        };
        let change = Change { standing, gained, lost, example };
        self.top.note(actor.hash, || actor.name(), &change);
        if let Some(target) = event.target.as_deref() {
            self.targets.note(xxh3_64(target.as_bytes()), || Name::Target(target.to_owned()), &change);
        }
    }

    /// The pass has ended with these accounts touched now and then.
    pub(super) fn close(&mut self, now: &Sample, then: &Sample) {
        self.newly_touched = then.without(now);
        self.newly_freed = now.without(then);
    }

    /// Decisions that both made.
    pub(super) fn decisions(&self) -> u64 {
        self.matrix.iter().flatten().sum()
    }

    /// Decisions for which this holds of the verdicts now and then.
    pub(super) fn count(&self, of: impl Fn(Verdict, Verdict) -> bool) -> u64 {
        let cells = Verdict::ALL.into_iter().flat_map(|now| Verdict::ALL.map(|then| (now, then)));
        cells.filter(|(now, then)| of(*now, *then)).map(|(now, then)| self.cell(now, then)).sum()
    }

    /// One cell of the matrix.
    pub(super) fn cell(&self, now: Verdict, then: Verdict) -> u64 {
        self.matrix[now as usize][then as usize]
    }
}

/// The reason that every decision has.
const PRIOR: &str = "prior";

/// Who speaks in a reason: of a ban what made it.
fn speaker(id: &str) -> &str {
    id.split_once('/').map_or(id, |(made_by, _)| made_by)
}

/// Who speaks in one decision and not in the other.
fn only_in<'j>(one: &'j Judgement, other: &'j Judgement) -> impl Iterator<Item = &'j str> {
    let others = move |wanted: &str| other.reasons.iter().any(|reason| speaker(&reason.source.id) == wanted);
    one.reasons.iter().map(|reason| speaker(&reason.source.id)).filter(move |id| !others(id))
}
