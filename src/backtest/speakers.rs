//! Who can speak in a decision: rules, limits, penalty steps and observation pools, each with what is kept of it.

use std::collections::HashMap;

use super::actor::Actor;
use super::sample::Sample;
use crate::engine::Standing;
use crate::engine::decision::{Judgement, Reason};
use crate::engine::policy::{Effect, Mode, Policy};
use crate::engine::rollout::Rollout;
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;

/// What kind of speaker it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Limit,
    Rule,
    Step,
    Pool,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Kind::Limit => "limit",
            Kind::Rule => "rule",
            Kind::Step => "penalty step",
            Kind::Pool => "observation pool",
        }
    }
}

/// One speaker, and what it said.
#[derive(Clone, Debug)]
pub(super) struct Speaker {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) mode: Mode,
    /// What it does, in a word or two.
    pub(super) effect: String,
    /// Decisions it is a reason of.
    pub(super) hits: u64,
    /// Decisions it would have been a reason of, in shadow.
    pub(super) shadow: u64,
    /// Decisions above allow of which no other speaker is a reason.
    pub(super) alone: u64,
    /// The accounts of both.
    pub(super) accounts: Sample,
    /// Those with a held event that it is a reason of.
    pub(super) held: Sample,
    /// Cases opened in its name.
    pub(super) cases: u64,
    /// Bans made in its name.
    pub(super) bans: u64,
}

/// All speakers of a policy.
#[derive(Clone, Debug, Default)]
pub(super) struct Speakers {
    pub(super) list: Vec<Speaker>,
    numbers: HashMap<String, usize>,
    /// How often two spoke of one decision, by the smaller and the larger number.
    together: Vec<u64>,
    /// Those who speak of the decision at hand, and whether in shadow.
    now: Vec<(usize, bool)>,
}

/// For whom it acts, when not for all.
fn share(rollout: Option<Rollout>) -> String {
    rollout.map(|rollout| format!(", for {rollout}")).unwrap_or_default()
}

impl Speakers {
    pub(super) fn of(policy: &Policy) -> Self {
        let mut speakers = Self::default();
        for limit in &policy.limits {
            speakers.add(
                &limit.info.id,
                Kind::Limit,
                limit.mode,
                limit.verdict.to_string() + &share(limit.rollout),
            );
        }
        for rule in &policy.rules {
            let effect = match rule.effect {
                Effect::Points(points) => format!("{points:+} points"),
                Effect::Floor(verdict) => verdict.to_string(),
                Effect::Evidence { kind, .. } => kind.name().to_owned(),
            };
            speakers.add(&rule.info.id, Kind::Rule, rule.mode, effect + &share(rule.rollout));
        }
        for step in &policy.settings.penalties.steps {
            speakers.add(&step.info.id, Kind::Step, Mode::Live, step.verdict.to_string());
        }
        for pool in &policy.observations {
            speakers.add(&pool.info.id, Kind::Pool, Mode::Live, Verdict::Block.to_string());
        }
        speakers.together = vec![0; speakers.list.len() * speakers.list.len()];
        speakers
    }

    fn add(&mut self, id: &str, kind: Kind, mode: Mode, effect: String) {
        self.numbers.insert(id.to_owned(), self.list.len());
        let (accounts, held) = (Sample::default(), Sample::default());
        let (hits, shadow, alone, cases, bans) = (0, 0, 0, 0, 0);
        let id = id.to_owned();
        self.list.push(Speaker { id, kind, mode, effect, hits, shadow, alone, accounts, held, cases, bans });
    }

    /// The speaker of this id; a ban speaks for what made it: its id begins with that, before a slash.
    fn number(&self, id: &str) -> Option<usize> {
        let known = |id: &str| self.numbers.get(id).copied();
        known(id).or_else(|| known(id.split_once('/')?.0))
    }

    /// One decision.
    pub(super) fn hear(
        &mut self,
        judgement: &Judgement,
        shadow: &[Reason],
        actor: &Actor<'_>,
        standing: Standing,
    ) {
        let mut now = std::mem::take(&mut self.now);
        now.clear();
        let live = judgement.reasons.iter().map(|reason| (reason, false));
        for (reason, shadow) in live.chain(shadow.iter().map(|reason| (reason, true))) {
            if let Some(number) = self.number(&reason.source.id)
                && !now.iter().any(|(known, _)| *known == number)
            {
                now.push((number, shadow));
            }
        }
        let alone = now.iter().filter(|(_, shadow)| !shadow).count() == 1;
        for (place, (number, shadow)) in now.iter().enumerate() {
            let at = judgement.effective_at;
            self.list[*number].spoke(judgement, (*shadow, alone), actor, (at, standing));
            for (other, _) in &now[place + 1..] {
                let cell = self.cell(*number, *other);
                self.together[cell] += 1;
            }
        }
        self.now = now;
    }

    /// A case was opened, or a ban made, in the name of this id.
    pub(super) fn opened(&mut self, id: &str) {
        if let Some(number) = self.number(id) {
            self.list[number].cases += 1;
        }
    }

    /// A ban was made in the name of this id.
    pub(super) fn banned(&mut self, id: &str) {
        if let Some(number) = self.number(id) {
            self.list[number].bans += 1;
        }
    }

    /// Of the decisions that one speaks of, how many another one speaks of too: the others that do, most first.
    pub(super) fn overlaps(&self, number: usize) -> Vec<(usize, u64)> {
        let others = (0..self.list.len()).filter(|other| *other != number);
        let mut overlaps: Vec<(usize, u64)> =
            others.map(|other| (other, self.together[self.cell(number, other)])).collect();
        overlaps.retain(|(_, count)| *count > 0);
        overlaps.sort_by_key(|(other, count)| (std::cmp::Reverse(*count), *other));
        overlaps
    }

    /// A speaker by its id.
    pub(super) fn named(&self, id: &str) -> Option<&Speaker> {
        self.numbers.get(id).map(|number| &self.list[*number])
    }

    fn cell(&self, one: usize, other: usize) -> usize {
        one.min(other) * self.list.len() + one.max(other)
    }
}

impl Speaker {
    fn spoke(
        &mut self,
        judgement: &Judgement,
        (shadow, alone): (bool, bool),
        actor: &Actor<'_>,
        (at, standing): (Timestamp, Standing),
    ) {
        self.accounts.note(actor.hash, at, standing);
        if shadow {
            self.shadow += 1;
            return;
        }
        self.hits += 1;
        self.alone += u64::from(alone && judgement.verdict > Verdict::Allow);
        if judgement.verdict == Verdict::Hold {
            self.held.note(actor.hash, at, standing);
        }
    }

    /// Decisions it spoke of, live or in shadow.
    pub(super) fn all(&self) -> u64 {
        self.hits + self.shadow
    }

    /// Whether it said nothing.
    pub(super) fn is_silent(&self) -> bool {
        self.all() == 0 && self.bans == 0
    }

    /// Matters for people that come of it: cases opened in its name, and accounts with a held event it is a reason of.
    pub(super) fn reviews(&self) -> u64 {
        self.cases + self.held.accounts()
    }
}
