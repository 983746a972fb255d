//! A rehearsal: a scenario of the simulator through a new engine, without files.
//!
//! The simulator writes the same bytes as for a file, and the engine reads them as from one; only the labels come
//! beside them. The same scenario, seed, scale and policy give the same figures.

use std::sync::Arc;

use super::figures::Figures;
use super::label::{Groups, Kind, Label};
use super::read::Ear;
use super::trial::Trial;
use crate::engine::Ahead;
use crate::engine::Engine;
use crate::engine::key::HashSeed;
use crate::engine::policy::Policy;
use crate::engine::time::Timestamp;
use crate::replay::Options;
use crate::sim::scenario::Entry;
use crate::sim::{Traffic, Truth};
use crate::wire::interaction::DecodeLimits;

/// What is rehearsed.
#[derive(Clone, Copy, Debug)]
pub struct Rehearsal {
    /// The scenario.
    pub scenario: &'static Entry,
    /// Its seed.
    pub seed: u64,
    /// Its size: 1 is full size.
    pub scale: f64,
}

impl Rehearsal {
    /// Runs it under a policy.
    pub fn run(&self, policy: &Arc<Policy>, keys: HashSeed) -> Figures {
        let options = Options {
            name: "rehearsal".to_owned(),
            as_of: Timestamp::from_millis(i64::MAX),
            limits: DecodeLimits::default(),
        };
        let mut engine = Engine::new(Arc::clone(policy), keys);
        let mut trial = Trial::new(&mut engine, &options);
        let mut traffic = Traffic::new(self.scenario, self.seed, self.scale);
        let mut groups = Groups::default();
        let mut lines = Together::default();
        lines.know(self.scenario.name, &traffic, &mut groups);
        while lines.fill(&mut traffic) {
            lines.hear(&mut trial);
        }
        Figures::of(&trial.end(), &groups)
    }
}

/// Events that are decoded together, with their labels.
#[derive(Debug, Default)]
struct Together {
    honest: Option<Label>,
    campaigns: Vec<Label>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    labels: Vec<Option<Label>>,
}

impl Together {
    /// Numbers the groups: the honest and each campaign.
    fn know(&mut self, scenario: &str, traffic: &Traffic, groups: &mut Groups) {
        self.honest = Some(Label::plain(Kind::Honest, groups.number(scenario, "")));
        for campaign in traffic.campaigns() {
            let group = groups.number(scenario, &campaign.name);
            campaign.target_ids.iter().for_each(|target| groups.aim(group, target));
            self.campaigns.push(Label::plain(Kind::Attack, group));
        }
    }

    /// The next events; false when there are none.
    fn fill(&mut self, traffic: &mut Traffic) -> bool {
        self.bytes.clear();
        self.ends.clear();
        self.labels.clear();
        while self.ends.len() < Ahead::EVENTS {
            let Some(told) = traffic.next_event() else { break };
            self.bytes.extend_from_slice(told.json);
            self.ends.push(self.bytes.len());
            let label = match told.truth {
                Truth::Honest => self.honest,
                Truth::Attacker { campaign } => self.campaigns.get(campaign as usize).copied(),
            };
            // Whose name was used did nothing.
            let account = |label: Label| if told.forged { Kind::Honest } else { label.account };
            self.labels.push(label.map(|label| Label { account: account(label), ..label }));
        }
        !self.ends.is_empty()
    }

    fn hear(&self, trial: &mut Trial<'_>) {
        let mut from = 0;
        let lines = self.ends.iter().map(|end| &self.bytes[std::mem::replace(&mut from, *end)..*end]);
        let mut labels = self.labels.iter().copied();
        trial.together(lines, |_| labels.next().flatten());
    }
}
