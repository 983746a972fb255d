//! What one policy did with the events that count.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::actor::Actor;
use super::scores::Scores;
use super::speakers::Speakers;
use super::timeline::{Timeline, Verdicts};
use crate::engine::Outputs;
use crate::engine::ban::{BanChange, Origin};
use crate::engine::case::CaseStatus;
use crate::engine::decision::QualityCode;
use crate::engine::policy::Policy;
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;
use crate::evaluate::Kind;
use crate::pipeline::Tally;
use crate::replay::Heard;

use super::sample::Sample;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    pub(super) policy: Arc<Policy>,
    pub(super) tally: Tally,
    pub(super) speakers: Speakers,
    pub(super) scores: Scores,
    pub(super) timeline: Timeline,
    /// Accounts with a decision.
    pub(super) accounts: Sample,
    /// Accounts with a decision above allow.
    pub(super) touched: Sample,
    /// Accounts with a held event.
    pub(super) held: Sample,
    /// What was not as exact as usual, by the counter concerned.
    pub(super) quality: BTreeMap<(QualityCode, Option<Arc<str>>), u64>,
    /// Decisions with any shortcoming but warming up.
    pub(super) inexact: u64,
    /// Revisions by the verdict that holds since.
    pub(super) revisions: Verdicts,
    pub(super) cases: u64,
    pub(super) bans: u64,
    /// The latest effective time.
    pub(super) now: Timestamp,
}

impl Ledger {
    pub(super) fn new(policy: &Arc<Policy>) -> Self {
        Self {
            policy: Arc::clone(policy),
            tally: Tally::default(),
            speakers: Speakers::of(policy),
            scores: Scores::default(),
            timeline: Timeline::default(),
            accounts: Sample::default(),
            touched: Sample::default(),
            held: Sample::default(),
            quality: BTreeMap::new(),
            inexact: 0,
            revisions: Verdicts::default(),
            cases: 0,
            bans: 0,
            now: Timestamp::default(),
        }
    }

    /// One record that counts.
    pub(super) fn hear(&mut self, heard: &Heard<'_>, label: Option<Kind>) {
        self.tally.count(heard.outcome);
        if let (Some(judgement), Some((event, _))) = (&heard.outputs.judgement, heard.event) {
            let (verdict, at) = (judgement.verdict, judgement.effective_at);
            let (actor, standing) = (Actor::of(event, judgement.address), heard.outputs.standing);
            self.now = self.now.max(at);
            self.tally.decide(verdict);
            self.timeline.count(at, verdict);
            self.accounts.note(actor.hash, at, standing);
            if verdict > Verdict::Allow {
                self.touched.note(actor.hash, at, standing);
            }
            if verdict == Verdict::Hold {
                self.held.note(actor.hash, at, standing);
            }
            self.scores.count((judgement.score, verdict), &actor, &event.action, standing, label);
            self.speakers.hear(judgement, &heard.outputs.shadow, &actor, standing);
            self.banned(heard.outputs, at);
            let short = judgement.quality.iter().filter(|short| short.code != QualityCode::WarmingUp);
            self.inexact += u64::from(short.count() > 0);
            for short in &judgement.quality {
                *self.quality.entry((short.code, short.counter.clone())).or_default() += 1;
            }
        }
        self.told(heard.outputs);
    }

    /// What is told beside a decision, or when time moves.
    pub(super) fn told(&mut self, outputs: &Outputs) {
        for revision in &outputs.revisions {
            self.revisions[revision.judgement.verdict as usize] += 1;
        }
        for case in outputs.cases.iter().filter(|case| case.status == CaseStatus::Opened) {
            self.cases += 1;
            self.speakers.opened(&case.rule);
        }
    }

    /// Bans that were made with a decision at `at`. What is in force on an entity is told whole at each change: a ban is
    /// new when it was issued right then.
    fn banned(&mut self, outputs: &Outputs, at: Timestamp) {
        for change in &outputs.bans {
            let BanChange::InForce(bans) = change else { continue };
            for ban in bans.iter().filter(|ban| ban.issued_at == at) {
                self.bans += 1;
                if let Origin::Policy(id) = &ban.origin {
                    self.speakers.banned(id);
                }
            }
        }
    }

    /// Decisions.
    pub(super) fn decisions(&self) -> u64 {
        self.tally.verdicts().iter().map(|(_, count)| count).sum()
    }

    /// Decisions of at least this verdict.
    pub(super) fn at_least(&self, least: Verdict) -> u64 {
        self.tally.verdicts().iter().filter(|(verdict, _)| *verdict >= least).map(|(_, count)| count).sum()
    }
}
