//! Simulated traffic: honest people and, among them, a bought crowd, with the truth about every account.
//!
//! A simulation is a function of its scenario and its seed: the same pair gives the same bytes on every machine. The
//! whole plan is made at the start (about 80 bytes an event) and told in order. It knows nothing of policies: what is
//! caught is found out by sending it through the engine. Shares that were measured somewhere say where in their
//! module; the others are choices and say so. Nothing here can fail.

mod act;
mod address;
mod content;
mod device;
mod dice;
mod event;
mod honest;
mod incident;
pub mod labels;
mod market;
mod plan;
mod population;
mod record;
pub mod scenario;
#[cfg(test)]
mod tests;
mod traffic;
mod world;

use std::collections::HashMap;

use serde_json::value::RawValue;

pub use device::{ATTRIBUTES, Device};
pub use event::{Action, SimEvent, Truth};
pub use incident::Incident;
pub use population::Account;
pub use traffic::{CampaignTruth, Told, Traffic};

use crate::engine::time::{Span, Timestamp};
use content::{Catalogue, PUSHED, Target};
use dice::{Dice, Stream};
use honest::Crowd;
use plan::{Plan, Planned};
use population::Population;

/// What is simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// When it begins.
    pub start: Timestamp,
    /// How long it lasts, in event time.
    pub length: Span,
    /// Honest accounts, every one of which does something.
    pub honest_accounts: u32,
    /// Articles there are; no fewer than 1,401.
    pub articles: u32,
    /// The incidents in it.
    pub incidents: Vec<Incident>,
}

impl Scenario {
    /// The demo: 15 minutes of 26,000 honest accounts, and from minute 3 the incident at full size.
    pub fn demo() -> Self {
        Self {
            name: "demo",
            start: Timestamp::from_millis(1_749_988_800_000),
            length: Span::from_secs(15 * 60),
            honest_accounts: 26_000,
            articles: 8_000,
            incidents: vec![Incident::FULL],
        }
    }
}

/// One campaign of a simulation, as it truly is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Campaign {
    /// Id of the article it pushes.
    pub target_id: String,
    /// Accounts that take part.
    pub accounts: u32,
    /// Likes it puts on the article.
    pub likes: u32,
    /// When its first like on the article is sent; the epoch when there is none.
    pub first_like_at: Timestamp,
}

/// A planned simulation.
pub struct Simulation {
    accounts: Vec<Account>,
    devices: Vec<Device>,
    /// The devices as JSON, written once: they are half of an event's bytes.
    device_json: Vec<Box<RawValue>>,
    targets: Vec<Target>,
    plan: Vec<Planned>,
    campaigns: Vec<Campaign>,
    by_id: HashMap<String, u32>,
}

impl Simulation {
    /// Plans a scenario. `seed` may be any number.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let start = scenario.start.millis();
        let time = (start, scenario.length.millis());
        let mut population =
            Population::honest(scenario.honest_accounts, time, &mut Dice::new(seed, Stream::Population));
        let content = Catalogue::new(scenario.articles, &population, &mut Dice::new(seed, Stream::Content));
        let mut plan = Plan::default();
        crowd(scenario, &population, &content).plan(&mut plan, &mut Dice::new(seed, Stream::Honest));
        let mut dice = Dice::new(seed, Stream::Incident);
        for (campaign, incident) in scenario.incidents.iter().enumerate() {
            let first = incident.recruit(&mut population, start, campaign as u32, &mut dice);
            incident.plan(&mut plan, &population, &content, (start, first), &mut dice);
        }
        let plan = plan.into_order(start.saturating_add(scenario.length.millis()));
        Self::assemble(scenario, population, content, plan)
    }

    fn assemble(scenario: &Scenario, people: Population, content: Catalogue, plan: Vec<Planned>) -> Self {
        let Population { accounts, devices, .. } = people;
        let by_id = accounts.iter().zip(0..).map(|(a, n)| (a.id.clone(), n)).collect();
        let targets = content.targets;
        let device_json = devices.iter().map(json).collect();
        let mut all = Self { accounts, devices, device_json, targets, plan, campaigns: Vec::new(), by_id };
        all.campaigns = (0..)
            .zip(&scenario.incidents)
            .map(|(campaign, incident)| all.campaign(campaign, incident))
            .collect();
        all
    }

    fn campaign(&self, campaign: u32, incident: &Incident) -> Campaign {
        let target_id = self.targets[PUSHED as usize].id.clone();
        let mut likes = self
            .events()
            .filter(|e| e.truth() == Truth::Attacker { campaign } && e.target_id == Some(&target_id));
        let first = likes.next().map(|e| Timestamp::from_millis(e.at_ms));
        let likes = u32::from(first.is_some()) + likes.count() as u32;
        Campaign { accounts: incident.accounts, likes, first_like_at: first.unwrap_or_default(), target_id }
    }

    /// All events in the order of sending. Can be called again: the events are the same.
    pub fn events(&self) -> impl ExactSizeIterator<Item = SimEvent<'_>> {
        self.plan.iter().map(|planned| self.tell(planned))
    }

    /// All accounts, honest ones and others.
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// The campaigns; [`Truth::Attacker`] holds an index into this.
    pub fn campaigns(&self) -> &[Campaign] {
        &self.campaigns
    }

    /// What an account is in truth; `None` when nobody has this id.
    pub fn truth(&self, user_id: &str) -> Option<Truth> {
        self.by_id.get(user_id).map(|n| self.accounts[*n as usize].truth)
    }

    fn tell(&self, planned: &Planned) -> SimEvent<'_> {
        let target = planned.target.map(|n| &self.targets[n as usize]);
        let owner = target.map(|t| self.accounts[t.owner as usize].id.as_str());
        let person = matches!(planned.action, Action::Follow | Action::Message);
        SimEvent {
            at_ms: planned.sent,
            occurred_at_ms: planned.occurred,
            number: planned.number,
            action: planned.action,
            account: &self.accounts[planned.account as usize],
            target_id: if person { owner } else { target.map(|t| t.id.as_str()) },
            target_owner_id: owner,
            ip: planned.ip,
            device: &self.devices[planned.device as usize],
            device_json: &self.device_json[planned.device as usize],
            session: planned.session,
            text: planned.text,
            success: planned.success,
        }
    }
}

fn json(device: &Device) -> Box<RawValue> {
    serde_json::value::to_raw_value(device).expect("its keys are text and its values are text")
}

/// The honest crowd of a scenario. People see the pushed article a minute after its push began.
fn crowd<'a>(scenario: &Scenario, population: &'a Population, content: &'a Catalogue) -> Crowd<'a> {
    let start = scenario.start.millis();
    let length = scenario.length.millis();
    let visible = scenario.incidents.iter().map(|i| i.from_ms + 60_000).min().unwrap_or(length);
    Crowd { population, content, start, length, pushed_from: start + visible }
}
