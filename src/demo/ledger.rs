//! What came of each account and campaign, counted from the decisions that a reader gets.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::engine::time::{Span, Timestamp};
use crate::engine::verdict::Verdict;
use crate::sim::{Simulation, Truth};
use crate::wire::decision::DecisionRecord;

/// The book of one demo.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Newest revision seen of each event, by source coordinates: a record read twice counts once.
    seen: HashMap<(i32, i64), u32>,
    verdicts: [u64; Verdict::ALL.len()],
    /// Strongest verdict on each account.
    accounts: HashMap<String, Verdict>,
    /// Likes on the pushed article by the campaign's accounts: all, and those that count.
    likes: u64,
    likes_counted: u64,
    /// Event time of the first verdict above allow on one of those likes.
    first_action: Option<Timestamp>,
}

/// What the truth is known to be.
pub(super) struct Known<'s> {
    pub(super) simulation: &'s Simulation,
}

impl Known<'_> {
    fn is_attack(&self, user: &str) -> bool {
        matches!(self.simulation.truth(user), Some(Truth::Attacker { .. }))
    }

    fn is_pushed(&self, record: &DecisionRecord) -> bool {
        let target = record.target_id.as_deref();
        record.action == "like"
            && self.simulation.campaigns().iter().any(|campaign| Some(campaign.target_id.as_str()) == target)
    }
}

/// The incident, as it came out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct IncidentFigures {
    pub(super) accounts: u64,
    pub(super) accounts_actioned: u64,
    pub(super) likes: u64,
    pub(super) likes_counted: u64,
    pub(super) seconds_to_first_action: Option<f64>,
}

/// Honest accounts, by what happened to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HonestFigures {
    pub(super) accounts: u64,
    pub(super) demoted: u64,
    pub(super) challenged: u64,
    pub(super) held: u64,
    pub(super) rejected: u64,
    pub(super) blocked: u64,
}

impl Ledger {
    /// Enters one decision.
    pub(super) fn enter(&mut self, record: &DecisionRecord, known: &Known<'_>) {
        match self.seen.entry((record.source.partition, record.source.offset)) {
            Entry::Occupied(_) => return,
            Entry::Vacant(place) => place.insert(record.revision),
        };
        let verdict = record.verdict();
        self.verdicts[verdict as usize] += 1;
        let Some(user) = record.user_id.as_deref() else { return };
        if known.is_attack(user) && known.is_pushed(record) {
            self.like(verdict, Timestamp::from_millis(record.effective_at.0));
        }
        let strongest = self.accounts.entry(user.to_owned()).or_default();
        *strongest = (*strongest).max(verdict);
    }

    fn like(&mut self, verdict: Verdict, at: Timestamp) {
        self.likes += 1;
        if verdict == Verdict::Allow {
            self.likes_counted += 1;
        } else {
            self.first_action = Some(self.first_action.map_or(at, |first| first.min(at)));
        }
    }

    /// Decisions read.
    pub(super) fn decisions(&self) -> u64 {
        self.seen.len() as u64
    }

    /// Decisions by verdict.
    pub(super) fn verdicts(&self) -> [(Verdict, u64); Verdict::ALL.len()] {
        Verdict::ALL.map(|verdict| (verdict, self.verdicts[verdict as usize]))
    }

    /// How the incident came out.
    pub(super) fn incident(&self, known: &Known<'_>) -> IncidentFigures {
        let campaigns = known.simulation.campaigns();
        let attackers = self.accounts.iter().filter(|(user, _)| known.is_attack(user));
        let first_like = campaigns.iter().map(|campaign| campaign.first_like_at).min();
        let seconds = |span: Span| span.millis() as f64 / 1000.0;
        IncidentFigures {
            accounts: campaigns.iter().map(|campaign| u64::from(campaign.accounts)).sum(),
            accounts_actioned: attackers.filter(|(_, verdict)| **verdict > Verdict::Allow).count() as u64,
            likes: self.likes,
            likes_counted: self.likes_counted,
            seconds_to_first_action: self.first_action.zip(first_like).map(|(a, b)| seconds(a.since(b))),
        }
    }

    /// What honest accounts met: each by the strongest verdict on it.
    pub(super) fn honest(&self, known: &Known<'_>) -> HonestFigures {
        let mut figures = HonestFigures::default();
        for (_, verdict) in self.accounts.iter().filter(|(user, _)| !known.is_attack(user)) {
            figures.accounts += 1;
            match verdict {
                Verdict::Allow => {}
                Verdict::Demote => figures.demoted += 1,
                Verdict::Challenge => figures.challenged += 1,
                Verdict::Hold => figures.held += 1,
                Verdict::Reject => figures.rejected += 1,
                Verdict::Block => figures.blocked += 1,
            }
        }
        figures
    }
}
