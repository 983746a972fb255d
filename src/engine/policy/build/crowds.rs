//! Crowds: which signals say what is watched, and the numbers.

use super::draft::Draft;
use super::quantity::{budget_or, number_or, within};
use super::settings::reason;
use super::{Workshop, check_code};
use crate::engine::crowd::{ATTRIBUTES_MAX, PERSONA_FIRST, WINDOWS_MAX};
use crate::engine::policy::nearest::did_you_mean;
use crate::engine::policy::raw::{RawCrowds, RawGate, RawPeople, RawPersona};
use crate::engine::policy::reader::At;
use crate::engine::policy::{
    Campaigns, Crowds, Gate, KeyField, Measure, OpenAttribute, People, Persona, Signal,
};

const MB: u64 = 1 << 20;

impl Workshop<'_> {
    pub(super) fn crowds(&mut self, draft: &Draft, signals: &[Signal]) -> Option<Crowds> {
        let raw = draft.crowds.as_ref()?;
        let people = self.windows(&raw.people, signals);
        let address = |field: &KeyField| matches!(field, KeyField::Ip(_));
        let behind = raw.address_users.as_ref().map(|name| self.people(name, signals, address, "ip"));
        let (most, beside) = match &raw.persona {
            Some(_) => (PERSONA_FIRST, " beside nicknames and avatars"),
            None => (ATTRIBUTES_MAX, ""),
        };
        if let Some(name) = raw.device.get(most) {
            self.report.error(name.at, format!("{most} attributes are compared at most{beside}"));
        }
        let campaign = self.campaigns(raw);
        check_code(&raw.code, self.report);
        Some(Crowds {
            people: people?,
            address_users: behind.map_or(Some(None), |behind| behind.map(Some))?,
            device: raw.device.iter().map(|name| name.value.clone()).collect(),
            persona: raw.persona.as_ref().map(|persona| self.persona(persona)),
            gate: self.gate(raw.gate.as_ref()),
            budget: budget_or(raw.budget.as_ref(), 64 * MB, self.report),
            campaign,
            prior: reason("crowd-prior", &raw.code.value, "prior", &raw.text),
            before: reason(
                "before-campaign",
                "EARLIER_EVIDENCE",
                "before",
                "What was known when it was first decided, within the caps of its families",
            ),
        })
    }

    fn windows(&mut self, raw: &At<Vec<At<RawPeople>>>, signals: &[Signal]) -> Option<Vec<People>> {
        if !(1..=WINDOWS_MAX).contains(&raw.value.len()) {
            self.report.error(raw.at, format!("people are counted in 1 to {WINDOWS_MAX} windows"));
            return None;
        }
        let each = raw.value.iter().map(|people| {
            let is_target = |field: &KeyField| *field == KeyField::Target;
            let signal = self.people(&people.value.signal, signals, is_target, "target")?;
            let least = within("least", &people.value.least, 3..=1_000_000, self.report)?;
            Some(People { signal, window: signals[signal].window, least: least.unsigned_abs() })
        });
        let all: Vec<Option<People>> = each.collect();
        let all = all.into_iter().collect::<Option<Vec<People>>>()?;
        let filter =
            |people: &People| signals[people.signal].filter.as_ref().map(|filter| filter.text.clone());
        for (pair, raw) in all.windows(2).zip(&raw.value[1..]) {
            let (one, other) = (&pair[0], &pair[1]);
            if signals[one.signal].dimension != signals[other.signal].dimension
                || filter(one) != filter(other)
            {
                self.report.error(raw.at, "all of them have one key and one filter");
            }
            if one.window >= other.window {
                self.report.error(raw.at, "their windows ascend");
            }
        }
        Some(all)
    }

    /// A signal that counts distinct users by a key with a field.
    fn people(
        &mut self,
        name: &At<String>,
        signals: &[Signal],
        has: impl Fn(&KeyField) -> bool,
        field: &str,
    ) -> Option<usize> {
        let Some(index) = signals.iter().position(|signal| *signal.name == name.value) else {
            let known: Vec<&str> = signals.iter().map(|signal| &*signal.name).collect();
            let suggestion = did_you_mean(&name.value, &known);
            self.report.error_with(name.at, format!("unknown signal `{}`", name.value), suggestion);
            return None;
        };
        let signal = &signals[index];
        let counts = matches!(&signal.measure, Measure::Distinct { of: KeyField::User, .. });
        if !counts || !self.dimensions.fields(signal.dimension).iter().any(has) {
            let message = format!("`{}` does not count distinct users by a key with `{field}`", name.value);
            self.report.error(name.at, message);
            return None;
        }
        if let Some(slot) = self.catalogue.slot(&name.value) {
            self.catalogue.mark_used(slot);
        }
        Some(index)
    }

    fn persona(&self, persona: &At<RawPersona>) -> Persona {
        let raw = &persona.value;
        if raw.nickname.is_none() && raw.avatar.is_none() {
            let suggestion = "name `nickname` or `avatar`, or leave `persona` out";
            self.report.warn(persona.at, "compares nothing", Some(suggestion.into()));
        }
        let of = |written: &At<String>| {
            let named = written.value.split_once('.').filter(|(_, name)| !name.is_empty());
            match named {
                Some(("account", name)) => Some(OpenAttribute::OfAccount(name.to_owned())),
                Some(("attributes", name)) => Some(OpenAttribute::OfEvent(name.to_owned())),
                _ => {
                    let message = format!("`{}` is no attribute of an account or event", written.value);
                    let suggestion = "write `account.NAME` or `attributes.NAME`";
                    self.report.error_with(written.at, message, Some(suggestion.into()));
                    None
                }
            }
        };
        Persona { nickname: raw.nickname.as_ref().and_then(of), avatar: raw.avatar.as_ref().and_then(of) }
    }

    fn gate(&self, raw: Option<&RawGate>) -> Gate {
        let times = raw.and_then(|gate| gate.times.as_ref());
        if let Some(times) = times.filter(|times| !(1.0..=100.0).contains(&times.value)) {
            self.report.error(times.at, "`times` is from 1 to 100");
        }
        let quantile = raw.and_then(|gate| gate.quantile.as_ref());
        if let Some(quantile) = quantile.filter(|quantile| !(0.5..=0.9999).contains(&quantile.value)) {
            self.report.error(quantile.at, "`quantile` is from 0.5 to 0.9999");
        }
        Gate {
            times: times.map_or(1.5, |times| times.value),
            quantile: quantile.map_or(0.99, |quantile| quantile.value),
        }
    }

    fn campaigns(&mut self, raw: &RawCrowds) -> Campaigns {
        let campaign = &raw.campaign.value;
        self.check_id(&campaign.id);
        check_code(&campaign.code, self.report);
        Campaigns {
            members: number_or("members", campaign.members.as_ref(), 3..=100_000, 20, self.report),
            info: reason(&campaign.id.value, &campaign.code.value, "group", &campaign.text),
            proposal: campaign.proposal.clone(),
        }
    }
}
