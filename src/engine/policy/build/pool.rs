//! Observation pools and standing exemptions.

use super::blast::Holds;
use super::condition::Reads;
use super::quantity::{number_or, positive_span, window, within};
use super::{About, Workshop};
use crate::engine::entity::{Entity, EntityKind};
use crate::engine::expr::Condition;
use crate::engine::policy::nearest::did_you_mean;
use crate::engine::policy::raw::{Cel, RawExemption, RawObservation};
use crate::engine::policy::reader::At;
use crate::engine::policy::{Exemption, Mode, Observation};
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;

impl Workshop<'_> {
    pub(super) fn pools(&mut self, raw: &[RawObservation]) -> Vec<Observation> {
        raw.iter().filter_map(|pool| self.pool(pool)).collect()
    }

    fn pool(&mut self, raw: &RawObservation) -> Option<Observation> {
        let family_name = raw.family.clone().unwrap_or(At { at: raw.id.at, value: "account".to_owned() });
        let family = self.family(&family_name);
        let entity = self.watched(&raw.entity);
        let conditions = self.conditions(&raw.conditions);
        let times = within("times", &raw.times, 1..=1000, self.report);
        let watch = window(&raw.watch, self.report);
        let span = window(&raw.within, self.report);
        let ban = positive_span("the ban", &raw.ban, self.report);
        let entities_max =
            number_or("entities_max", raw.entities_max.as_ref(), 1..=10_000_000, 100_000, self.report);
        let about = About {
            id: &raw.id,
            code: &raw.code,
            text: &raw.text,
            source: raw.source.as_deref(),
            owner: raw.owner.as_deref(),
            tests: &raw.tests,
            mode: Mode::Live,
            window: watch,
        };
        let info = self.about(&about, &family_name.value);
        family?;
        let holds = Holds {
            id: &raw.id,
            mode: Mode::Live,
            family: &family_name.value,
            strongest: Some(Verdict::Block),
            by_default: true,
        };
        let budget = self.budget(raw.blast_radius.as_ref(), &holds);
        Some(Observation {
            info,
            entity: entity?,
            conditions: conditions?,
            watch: watch?,
            times: u32::try_from(times?).ok()?,
            within: span?,
            ban: ban?,
            entities_max,
            budget,
        })
    }

    fn watched(&self, word: &At<String>) -> Option<EntityKind> {
        let kind = self.entity_kind(word)?;
        if !matches!(kind, EntityKind::User | EntityKind::Device) {
            self.report.error(
                word.at,
                format!("a pool bans users or devices; a {kind} is never banned automatically"),
            );
            return None;
        }
        Some(kind)
    }

    fn conditions(&mut self, raw: &At<Vec<At<Cel>>>) -> Option<[Condition; 3]> {
        if raw.value.len() != 3 {
            self.report.error(raw.at, format!("a pool has three conditions, not {}", raw.value.len()));
        }
        for (index, condition) in raw.value.iter().enumerate() {
            if raw.value[..index].iter().any(|before| before.value == condition.value) {
                self.report.warn(condition.at, "this condition is in the pool twice", None);
            }
        }
        let compiled: Vec<Option<Condition>> =
            raw.value.iter().map(|condition| self.condition(condition, Reads::All)).collect();
        <[Condition; 3]>::try_from(compiled.into_iter().collect::<Option<Vec<_>>>()?).ok()
    }

    pub(super) fn exemptions(&mut self, raw: &[RawExemption]) -> Vec<Exemption> {
        raw.iter().filter_map(|exemption| self.exemption(exemption)).collect()
    }

    fn exemption(&self, raw: &RawExemption) -> Option<Exemption> {
        let entity = raw
            .entity
            .value
            .parse::<Entity>()
            .map_err(|error| self.report.error(raw.entity.at, error.to_string()));
        for rule in &raw.rules {
            if !self.ids.contains_key(&rule.value) {
                let known: Vec<&str> = self.ids.keys().map(String::as_str).collect();
                let message = format!("there is no limit, rule or pool `{}`", rule.value);
                self.report.error_with(rule.at, message, did_you_mean(&rule.value, &known));
            }
        }
        let until = raw.until.value.parse::<jiff::Timestamp>().map_err(|_| {
            let message = format!("`{}` is no time; write 2027-01-01T00:00:00Z", raw.until.value);
            self.report.error(raw.until.at, message);
        });
        if raw.reason.trim().is_empty() {
            self.report.error(raw.entity.at, "an exemption says why");
        }
        Some(Exemption {
            entity: entity.ok()?,
            rules: raw.rules.iter().map(|rule| rule.value.clone()).collect(),
            until: Timestamp::from_millis(until.ok()?.as_millisecond()),
            reason: raw.reason.clone(),
        })
    }
}
