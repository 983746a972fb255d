//! What is said about a simulation: the list of scenarios, and the figures of one.

use std::fmt::Write as _;

use serde_json::json;

use crate::cli::SimulateArgs;
use crate::sim::scenario::Entry;
use crate::sim::{Told, Traffic, Truth};

/// Figures of the events told.
#[derive(Debug, Default)]
pub(super) struct Summary {
    events: u64,
    attack: u64,
    first: Option<i64>,
    last: i64,
}

impl Summary {
    pub(super) fn count(&mut self, told: &Told<'_>) {
        self.events += 1;
        self.attack += u64::from(told.truth != Truth::Honest);
        self.first.get_or_insert(told.at_ms);
        self.last = told.at_ms;
    }

    pub(super) fn text(&self, name: &str, traffic: &Traffic) -> String {
        let (honest, attackers) = traffic.accounts();
        let minutes = (self.last - self.first.unwrap_or(self.last)) / 60_000;
        let mut text = format!(
            "{name}: {} events in {minutes} minutes, {} of them by attackers; {honest} honest accounts, {attackers} others",
            self.events, self.attack
        );
        for campaign in traffic.campaigns() {
            let target = match campaign.target_ids.as_slice() {
                [] => "no target".to_owned(),
                [one] => one.clone(),
                many => format!("{} targets", many.len()),
            };
            let first = campaign.first_at_ms.map(|at| at.to_string()).unwrap_or_default();
            write!(
                text,
                "\n  {}: {} accounts, {} events, on {target}, from {first}",
                campaign.name, campaign.accounts, campaign.events
            )
            .unwrap_or_default();
        }
        text
    }

    pub(super) fn json(&self, name: &str, args: &SimulateArgs, traffic: &Traffic) -> String {
        let (honest, attackers) = traffic.accounts();
        let campaigns: Vec<_> = traffic
            .campaigns()
            .into_iter()
            .map(|campaign| {
                json!({
                    "group": campaign.name,
                    "target_ids": campaign.target_ids,
                    "accounts": campaign.accounts,
                    "events": campaign.events,
                    "first_at": campaign.first_at_ms,
                })
            })
            .collect();
        json!({
            "scenario": name,
            "seed": args.seed,
            "scale": args.scale,
            "events": self.events,
            "attack_events": self.attack,
            "honest_accounts": honest,
            "attack_accounts": attackers,
            "first_at": self.first,
            "last_at": self.last,
            "campaigns": campaigns,
        })
        .to_string()
    }
}

pub(super) fn list(all: &[Entry]) -> String {
    let width = all.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    all.iter().map(|entry| format!("{:width$}  {}\n", entry.name, entry.about)).collect()
}

pub(super) fn list_json(all: &[Entry]) -> String {
    let names: Vec<_> = all.iter().map(|entry| json!({"name": entry.name, "about": entry.about})).collect();
    format!("{}\n", json!(names))
}
