//! What is known of the actor of one event. What cannot be known yet is unknown, not zero.

use super::Model;
use super::condition::Known;
use super::fields;
use super::look::Look;
use super::series::Entry;
use crate::engine::entity::EntityKind;
use crate::engine::event::{Event, Value};
use crate::engine::policy::{Fact, Origin};
use crate::engine::time::{Span, Timestamp};

const DAY: Span = Span::from_secs(86_400);
/// Settled accounts behind an address are counted over a day, by hours once they are many.
const SHARED_WINDOW: i64 = 86_400_000;
const SHARED_SLOT: i64 = 3_600_000;
const SHARED_EXACT: usize = 64;

/// What is known of an account.
#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    age: Option<Span>,
    new: Option<bool>,
    settled: Option<bool>,
    active_days: Option<u32>,
    /// Old enough to be settled, and not known to be otherwise.
    maybe_settled: bool,
}

impl Model {
    /// Notes that the actors of an event were seen; whether the user acts from a device that he is known by.
    pub(super) fn sight(&mut self, event: &Event<'_>, look: &Look) -> bool {
        let mut familiar = true;
        let idle = self.policy.settings.profile_idle;
        for (kind, value) in actors(event, look) {
            let person = self.people.entry((kind, value)).or_default();
            person.see(look.at, idle);
            if kind == EntityKind::User {
                person.see_day(look.at);
                familiar = person.see_device(event.device.id.as_deref(), look.at);
                person.created_at = event.account.created_at.or(person.created_at);
            }
        }
        familiar
    }

    /// Every name of the policy with its value, signals still without one.
    pub(super) fn names(&self, event: &Event<'_>, look: &Look) -> Vec<(String, Option<Known>)> {
        let standing = self.standing(event, look.at);
        let value = |name: &crate::engine::policy::Name| match &name.origin {
            Origin::Field(field) => fields::field(*field, event, look.address),
            Origin::Fact(fact) => self.fact(*fact, event, look, &standing),
            Origin::Attribute(attribute) => {
                fields::find(&event.attributes, attribute).and_then(|value| fields::declared(name.ty, value))
            }
            Origin::DeviceAttribute(attribute) => fields::find(&event.device.attributes, attribute)
                .and_then(|value| fields::declared(name.ty, value)),
            Origin::Place(of) => {
                fields::place(*of, look.address, self.policy.places.as_deref()).map(Known::Text)
            }
            Origin::Signal(_) | Origin::Crowd(_) => None,
        };
        self.policy.catalogue.iter().map(|name| (name.path.clone(), value(name))).collect()
    }

    fn fact(&self, fact: Fact, event: &Event<'_>, look: &Look, standing: &Standing) -> Option<Known> {
        let seconds = |span: Span| Known::whole(span.millis() / 1000);
        let settings = &self.policy.settings;
        match fact {
            Fact::AccountAge => standing.age.map(seconds),
            Fact::AccountNew => standing.new.map(Known::Bool),
            Fact::AccountSettled => standing.settled.map(Known::Bool),
            Fact::AccountPaying => {
                let plan = event.account.plan.as_deref()?;
                Some(Known::Bool(settings.paying_plans.iter().any(|paying| paying == plan)))
            }
            Fact::UserKnownFor => self.known_for(EntityKind::User, event, look).map(seconds),
            Fact::DeviceKnownFor => self.known_for(EntityKind::Device, event, look).map(seconds),
            Fact::AddressKnownFor => self.known_for(EntityKind::Ip, event, look).map(seconds),
            Fact::UserActiveDays => standing.active_days.map(|days| Known::whole(days.into())),
            Fact::UserPenalty => self.penalty(EntityKind::User, event, look),
            Fact::DevicePenalty => self.penalty(EntityKind::Device, event, look),
            Fact::AddressTrusted => look.address.map(|_| Known::Bool(look.trusted)),
        }
    }

    fn known_for(&self, kind: EntityKind, event: &Event<'_>, look: &Look) -> Option<Span> {
        let watched = self.watched(look.at);
        let person = self.person(kind, event, look).filter(|_| watched >= DAY)?;
        person.first_seen.map(|first| look.at.since(first))
    }

    fn penalty(&self, kind: EntityKind, event: &Event<'_>, look: &Look) -> Option<Known> {
        let person = self.person(kind, event, look)?;
        Some(Known::Doubles(person.penalty(look.at, self.policy.settings.penalties.half_life)))
    }

    pub(super) fn person(&self, kind: EntityKind, event: &Event<'_>, look: &Look) -> Option<&super::Person> {
        let (kind, value) = actors(event, look).into_iter().find(|(actor, _)| *actor == kind)?;
        self.people.get(&(kind, value))
    }

    fn watched(&self, at: Timestamp) -> Span {
        self.started_at.map_or(Span::ZERO, |started| at.since(started))
    }

    fn standing(&self, event: &Event<'_>, at: Timestamp) -> Standing {
        let settings = &self.policy.settings;
        let Some(person) =
            event.user.as_deref().and_then(|user| self.people.get(&(EntityKind::User, user.to_owned())))
        else {
            return Standing::default();
        };
        let told = match fields::find(&event.account.attributes, "active_days") {
            Some(Value::Int(days)) => u32::try_from(*days).ok(),
            _ => None,
        };
        let days = person.active_days().max(told.unwrap_or(0));
        let enough = days >= settings.settled_days;
        let watched = told.is_some() || self.watched(at) >= DAY.times(i64::from(settings.settled_days));
        let active_days = (watched || enough).then_some(days);
        let Some(created) = event.account.created_at.or(person.created_at) else {
            return Standing { active_days, ..Standing::default() };
        };
        let age = at.since(created);
        let settled = match age >= settings.settled_age {
            false => Some(false),
            true if enough => Some(true),
            true => watched.then_some(false),
        };
        let in_vain = event.outcome == Some(crate::engine::event::Attempt::Failure);
        let maybe_settled = age >= settings.settled_age && !in_vain && settled != Some(false);
        Standing { age: Some(age), new: Some(age < settings.new_for), settled, active_days, maybe_settled }
    }

    /// Whether so many settled accounts share the address that it is an exit and no culprit.
    pub(super) fn share(&mut self, event: &Event<'_>, look: &Look) -> Option<bool> {
        let at = look.at.millis();
        let (Some(guard), Some(address)) = (self.policy.settings.shared_address.clone(), look.address) else {
            return Some(false);
        };
        let counted = self.standing(event, look.at).maybe_settled;
        let of = event.user.as_deref().filter(|_| counted).map(|user| self.value_number(user));
        let series = self.settled.entry(address.to_string()).or_default();
        let newest = series.newest().unwrap_or(at).max(at);
        if let Some(of) = of {
            series.add(Entry { at, n: 1, of, sure: newest - at < SHARED_WINDOW });
        }
        if newest - at > SHARED_WINDOW + 3 * SHARED_SLOT || series.newest().is_none() {
            series.coarse = false;
        }
        let (sure, _) = series.distinct(at - SHARED_WINDOW, at);
        let (_, all) = series.distinct(at - SHARED_WINDOW, newest);
        series.coarse |= all > SHARED_EXACT;
        let (lo, hi) = match (series.coarse, newest > at) {
            (false, false) => (sure as f64, sure as f64),
            // A late event may see less than its window, and people who came after it.
            (false, true) => (0.0, all as f64),
            (true, _) => {
                let wide = series.distinct(at - SHARED_WINDOW - 2 * SHARED_SLOT, newest).1;
                (sure as f64 * 0.85 - 4.0, wide as f64 * 1.15 + 4.0)
            }
        };
        let enough = |count: f64| count >= guard.settled_accounts as f64;
        super::range::agreed(enough(lo), enough(hi))
    }

    pub(super) fn value_number(&mut self, value: &str) -> u32 {
        let next = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        *self.values.entry(value.to_owned()).or_insert(next)
    }
}

/// User, device and address of an event.
pub(super) fn actors(event: &Event<'_>, look: &Look) -> Vec<(EntityKind, String)> {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let all = [
        (EntityKind::User, owned(event.user.as_deref())),
        (EntityKind::Device, owned(event.device.id.as_deref())),
        (EntityKind::Ip, look.address.map(|address| address.to_string())),
    ];
    all.into_iter().filter_map(|(kind, value)| Some((kind, value?))).collect()
}
