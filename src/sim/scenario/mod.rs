//! The scenarios: one file each, all over honest traffic that begins an hour or more before.
//!
//! A scenario plans on a `Setting`: who there is, who is recruited, what the recruited do when. Sizes are those of
//! scale 1. Attackers and the honest crowds that look like them are made by the same calls.

mod background;
mod crowd;
mod disguised;
mod pace;
mod recruit;
mod setting;

mod aged_accounts;
mod campus;
mod carrier_nat;
mod company_fleet;
mod coupon_script;
mod credential_stuffing;
mod echo;
mod echo_idempotent;
mod framing;
mod honest;
mod like_unlike;
mod marketing_day;
mod probing;
mod ring;
mod school_lab;
mod single_script;
mod slow_drip;
mod spoofed_devices;
mod stadium;
mod stolen_accounts;
#[cfg(test)]
mod tests;
mod throwaway;
mod viral_newcomers;

pub(in crate::sim) use setting::{Gang, Setting};

/// A scenario that can be told.
#[derive(Debug)]
pub struct Entry {
    /// Its name on the command line and in labels.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Whether somebody in it means ill.
    pub attack: bool,
    pub(in crate::sim) plan: fn(&mut Setting),
}

const fn attack(name: &'static str, about: &'static str, plan: fn(&mut Setting)) -> Entry {
    Entry { name, about, attack: true, plan }
}

const fn stress(name: &'static str, about: &'static str, plan: fn(&mut Setting)) -> Entry {
    Entry { name, about, attack: false, plan }
}

/// All there are, attacks first.
pub const ALL: [Entry; 22] = [
    attack("echo", echo::ABOUT, echo::plan),
    attack("echo-idempotent", echo_idempotent::ABOUT, echo_idempotent::plan),
    attack("aged-accounts", aged_accounts::ABOUT, aged_accounts::plan),
    attack("spoofed-devices", spoofed_devices::ABOUT, spoofed_devices::plan),
    attack("slow-drip", slow_drip::ABOUT, slow_drip::plan),
    attack("throwaway", throwaway::ABOUT, throwaway::plan),
    attack("ring", ring::ABOUT, ring::plan),
    attack("stolen-accounts", stolen_accounts::ABOUT, stolen_accounts::plan),
    attack("single-script", single_script::ABOUT, single_script::plan),
    attack("like-unlike", like_unlike::ABOUT, like_unlike::plan),
    attack("coupon-script", coupon_script::ABOUT, coupon_script::plan),
    attack("credential-stuffing", credential_stuffing::ABOUT, credential_stuffing::plan),
    attack("probing", probing::ABOUT, probing::plan),
    attack("framing", framing::ABOUT, framing::plan),
    stress("viral-newcomers", viral_newcomers::ABOUT, viral_newcomers::plan),
    stress("campus", campus::ABOUT, campus::plan),
    stress("carrier-nat", carrier_nat::ABOUT, carrier_nat::plan),
    stress("school-lab", school_lab::ABOUT, school_lab::plan),
    stress("company-fleet", company_fleet::ABOUT, company_fleet::plan),
    stress("marketing-day", marketing_day::ABOUT, marketing_day::plan),
    stress("stadium", stadium::ABOUT, stadium::plan),
    stress("honest", honest::ABOUT, honest::plan),
];

/// The scenario of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}
