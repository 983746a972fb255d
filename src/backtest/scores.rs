//! Decisions by score, with a few accounts for each score: what another threshold would touch.

use std::collections::BTreeMap;

use super::actor::{Actor, Name};
use crate::engine::Standing;
use crate::engine::verdict::Verdict;
use crate::evaluate::Kind;

/// Decisions of one score.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bin {
    pub(super) events: u64,
    /// Of settled accounts.
    pub(super) settled: u64,
    /// Of paying accounts.
    pub(super) paying: u64,
    /// Labelled ones: honest, attacks.
    pub(super) labelled: [u64; 2],
    /// Accounts with a decision of this score: those of the smallest hashes.
    pub(super) examples: Vec<Example>,
}

/// One account with a decision of a score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Example {
    hash: u64,
    pub(super) name: Name,
    pub(super) action: String,
    pub(super) verdict: Verdict,
    pub(super) standing: Standing,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scores(BTreeMap<i32, Bin>);

/// Scores beyond this are counted with it.
const SCORE_MAX: i32 = 1000;
/// Accounts kept of one score.
const EXAMPLES: usize = 5;

impl Scores {
    /// One decision.
    pub(super) fn count(
        &mut self,
        (score, verdict): (i32, Verdict),
        actor: &Actor<'_>,
        action: &str,
        standing: Standing,
        label: Option<Kind>,
    ) {
        let bin = self.0.entry(score.clamp(-SCORE_MAX, SCORE_MAX)).or_default();
        bin.events += 1;
        bin.settled += u64::from(standing.settled == Some(true));
        bin.paying += u64::from(standing.paying == Some(true));
        if let Some(kind) = label {
            bin.labelled[kind as usize] += 1;
        }
        bin.keep(actor, action, verdict, standing);
    }

    /// All scores that occurred, ascending.
    pub(super) fn bins(&self) -> impl DoubleEndedIterator<Item = (i32, &Bin)> {
        self.0.iter().map(|(score, bin)| (*score, bin))
    }
}

impl Bin {
    fn keep(&mut self, actor: &Actor<'_>, action: &str, verdict: Verdict, standing: Standing) {
        let place = self.examples.partition_point(|known| known.hash < actor.hash);
        let known = self.examples.get(place).is_some_and(|known| known.hash == actor.hash);
        if known || place >= EXAMPLES {
            return;
        }
        let (hash, name, action) = (actor.hash, actor.name(), action.to_owned());
        self.examples.insert(place, Example { hash, name, action, verdict, standing });
        self.examples.truncate(EXAMPLES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::Event;

    #[test]
    fn a_score_keeps_a_few_accounts_and_counts_all() {
        let mut scores = Scores::default();
        for number in 0..100 {
            let event = Event { user: Some(format!("u{}", number % 50).into()), ..Event::default() };
            let actor = Actor::of(&event, None);
            let standing = Standing { paying: Some(number < 10), ..Standing::default() };
            let kind = if number < 3 { Kind::Attack } else { Kind::Honest };
            scores.count((number % 2 * 5000, Verdict::Allow), &actor, "like", standing, Some(kind));
        }
        let bins: Vec<_> = scores.bins().collect();
        assert_eq!(
            bins.iter().map(|(score, bin)| (*score, bin.events)).collect::<Vec<_>>(),
            [(0, 50), (1000, 50)]
        );
        assert!(bins.iter().all(|(_, bin)| bin.examples.len() == EXAMPLES));
        assert_eq!((bins[0].1.paying, bins[0].1.labelled), (5, [48, 2]));
    }
}
