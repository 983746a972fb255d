//! What is known of the actor beside counts: age, plan, how long seen here, penalty.
//!
//! What cannot be known yet is unknown, not zero: right after a start nobody is *newly seen*, and nobody is *unsettled*
//! for want of days on which nothing was watched.

use super::Engine;
use super::event::{Attempt, Event, Value};
use super::expr::Slot;
use super::input::Standing;
use super::key::attribute;
use super::look::Look;
use super::plan::{ADDRESS, DEVICE};
use super::policy::Fact;
use super::profile;
use super::table::Table;
use super::time::{Span, Timestamp};

const DAY: Span = Span::from_secs(86_400);

/// What is known of the actor of one event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Facts {
    pub(super) account_age: Option<Span>,
    account_new: Option<bool>,
    account_settled: Option<bool>,
    account_paying: Option<bool>,
    user_known_for: Option<Span>,
    user_active_days: Option<u32>,
    user_penalty: Option<f32>,
    device_known_for: Option<Span>,
    device_penalty: Option<f32>,
    address_known_for: Option<Span>,
    pub(crate) trusted: Option<bool>,
    /// Old enough to be settled and not known to be otherwise: what the shared-address guard counts.
    maybe_settled: bool,
}

impl Facts {
    /// Whether nothing says that the account cannot belong to a bought crowd.
    pub(super) fn can_join(&self) -> bool {
        ![self.account_paying, self.trusted].contains(&Some(true))
    }

    /// What is told of the account beside a decision.
    pub(super) fn standing(&self) -> Standing {
        Standing { new: self.account_new, settled: self.account_settled, paying: self.account_paying }
    }

    /// Notes in the profiles that their owners were seen.
    pub(crate) fn note(engine: &mut Engine, event: &Event<'_>, look: &mut Look<'_>) {
        if let Some(slot) = look.profiles.user {
            let words = engine.users.cells_mut(slot);
            profile::see(words, look.at);
            profile::see_day(words, look.at);
            look.familiar = profile::see_device(words, look.hashes[DEVICE].map(|hash| hash as u32), look.at);
            if let Some(created) = event.account.created_at {
                profile::set_created_at(words, created);
            }
        }
        if let Some(slot) = look.profiles.device {
            profile::see(engine.devices.cells_mut(slot), look.at);
        }
        if let Some(slot) = look.profiles.address {
            profile::see(engine.addresses.cells_mut(slot), look.at);
        }
    }

    /// Fills the slots that the policy reads.
    pub(crate) fn fill(&self, facts: &[(usize, Fact)], slots: &mut [Slot<'_>]) {
        for (slot, fact) in facts {
            slots[*slot] = self.slot(*fact);
        }
    }

    fn slot<'e>(&self, fact: Fact) -> Slot<'e> {
        let seconds = |span: Option<Span>| span.map_or(Slot::Unknown, |span| Slot::Int(span.millis() / 1000));
        let bool = |value: Option<bool>| value.map_or(Slot::Unknown, Slot::Bool);
        let points = |value: Option<f32>| value.map_or(Slot::Unknown, |value| Slot::Double(f64::from(value)));
        match fact {
            Fact::AccountAge => seconds(self.account_age),
            Fact::AccountNew => bool(self.account_new),
            Fact::AccountSettled => bool(self.account_settled),
            Fact::AccountPaying => bool(self.account_paying),
            Fact::UserKnownFor => seconds(self.user_known_for),
            Fact::UserActiveDays => {
                self.user_active_days.map_or(Slot::Unknown, |days| Slot::Int(days.into()))
            }
            Fact::UserPenalty => points(self.user_penalty),
            Fact::DeviceKnownFor => seconds(self.device_known_for),
            Fact::DevicePenalty => points(self.device_penalty),
            Fact::AddressKnownFor => seconds(self.address_known_for),
            Fact::AddressTrusted => bool(self.trusted),
        }
    }
}

impl Engine {
    pub(super) fn facts(&self, event: &Event<'_>, look: &Look<'_>) -> Facts {
        let mut facts = Facts {
            trusted: look.address.map(|address| address.within(&self.policy.settings.trusted_networks)),
            account_paying: event.account.plan.as_ref().map(|plan| self.policy.settings.is_paying(plan)),
            ..Facts::default()
        };
        let history = look.at.since(self.started_at);
        let known = |table: &Table, slot| {
            // Whoever was there before his profile was made is not newly seen.
            let first = profile::first_seen(table.cells(slot));
            let first = first.filter(|_| history >= DAY && !table.is_estimated(slot));
            first.map(|first| look.at.since(first))
        };
        let half_life = self.policy.settings.penalties.half_life;
        if let Some(slot) = look.profiles.device {
            let words = self.devices.cells(slot);
            facts.device_known_for = known(&self.devices, slot);
            facts.device_penalty = Some(profile::penalty(words, look.at, half_life));
        }
        if let Some(slot) = look.profiles.address {
            facts.address_known_for = known(&self.addresses, slot);
        }
        if let Some(slot) = look.profiles.user {
            let words = self.users.cells(slot);
            facts.user_known_for = known(&self.users, slot);
            facts.user_penalty = Some(profile::penalty(words, look.at, half_life));
            let history = if self.users.is_estimated(slot) { Span::ZERO } else { history };
            self.account_facts(event, words, look.at, history, &mut facts);
        }
        facts
    }

    fn account_facts(
        &self,
        event: &Event<'_>,
        words: &[u32],
        at: Timestamp,
        history: Span,
        facts: &mut Facts,
    ) {
        let settings = &self.policy.settings;
        let told = told_active_days(event);
        let days = profile::active_days(words).max(told.unwrap_or(0));
        let watched = told.is_some() || history >= DAY.times(i64::from(settings.settled_days));
        facts.user_active_days = (watched || days >= settings.settled_days).then_some(days);
        let Some(created) = event.account.created_at.or_else(|| profile::created_at(words)) else { return };
        let age = at.since(created);
        let old = age >= settings.settled_age;
        facts.account_age = Some(age);
        facts.account_new = Some(age < settings.new_for);
        facts.account_settled = match (old, days >= settings.settled_days) {
            (false, _) => Some(false),
            (true, true) => Some(true),
            (true, false) => watched.then_some(false),
        };
        // Who tries in vain to log in as somebody does not stand behind the address in his place.
        let in_vain = event.outcome == Some(Attempt::Failure);
        facts.maybe_settled = old && !in_vain && facts.account_settled != Some(false);
    }

    /// Counts the settled accounts behind the address; true when they are so many that it is an exit.
    pub(super) fn note_shared_address(&mut self, facts: &Facts, look: &Look<'_>) -> bool {
        let (Some(guard), Some(slot)) = (&self.policy.settings.shared_address, look.profiles.address) else {
            return false;
        };
        let (record, spill) = self.addresses.cells_and_spill(slot);
        let cell = &mut record[profile::ADDRESS_WORDS..];
        if let Some(user) = look.hashes[super::plan::USER].filter(|_| facts.maybe_settled) {
            // Too old to count is no matter: the guard only ever errs by fewer.
            let _backlog = self.settled_accounts.record(cell, spill, user, look.at);
        }
        debug_assert!(look.hashes[ADDRESS].is_some());
        self.settled_accounts.read(cell, spill, look.at).count >= guard.settled_accounts
    }
}

/// Days of activity as the producer tells them, from before this engine watched.
fn told_active_days(event: &Event<'_>) -> Option<u32> {
    match attribute(&event.account.attributes, "active_days") {
        Some(Value::Int(days)) => u32::try_from(*days).ok(),
        _ => None,
    }
}
