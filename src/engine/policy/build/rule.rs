//! Rules: a condition, and points or a verdict at least.

use super::condition::Reads;
use super::quantity::within;
use super::{About, Workshop};
use crate::engine::entity::EntityKind;
use crate::engine::policy::nearest::did_you_mean;
use crate::engine::policy::raw::{RawCase, RawRule};
use crate::engine::policy::reader::At;
use crate::engine::policy::{CaseRule, Effect, Rule};
use crate::engine::verdict::Verdict;

impl Workshop<'_> {
    pub(super) fn rules(&mut self, raw: &[RawRule]) -> Vec<Rule> {
        raw.iter().filter_map(|rule| self.rule(rule)).collect()
    }

    fn rule(&mut self, raw: &RawRule) -> Option<Rule> {
        let mode = raw.mode.as_ref().map(|mode| mode.value.meaning()).unwrap_or_default();
        let family = self.family(&raw.family);
        let when = self.condition(&raw.when, Reads::All);
        let effect = self.effect(raw);
        let value = raw.value.as_ref().map(|value| self.number(value, Reads::All));
        let case = raw.case.as_ref().map(|case| self.case(case));
        let about = About {
            id: &raw.id,
            code: &raw.code,
            text: &raw.text,
            source: raw.source.as_deref(),
            owner: raw.owner.as_deref(),
            tests: &raw.tests,
            mode,
            window: None,
        };
        let info = self.about(&about, &raw.family.value);
        Some(Rule {
            info,
            family: family?,
            when: when?,
            effect: effect?,
            value: value.map_or(Some(None), |value| value.map(Some))?,
            threshold: raw.threshold,
            case: case.map_or(Some(None), |case| case.map(Some))?,
            mode,
        })
    }

    fn effect(&self, raw: &RawRule) -> Option<Effect> {
        match (&raw.points, &raw.verdict) {
            (Some(points), None) if points.value == 0 => {
                self.report.error_with(
                    points.at,
                    "0 points say nothing",
                    Some("a rule that only watches is `mode: shadow`".into()),
                );
                None
            }
            (Some(points), None) => {
                let points = within("points", points, -1000..=1000, self.report)?;
                i32::try_from(points).ok().map(Effect::Points)
            }
            (None, Some(verdict)) => {
                let floor = verdict.value.meaning();
                if floor == Verdict::Allow {
                    self.report
                        .error(verdict.at, "every verdict is at least `allow`: this rule does nothing");
                }
                Some(Effect::Floor(floor))
            }
            _ => {
                self.report
                    .error(raw.id.at, format!("`{}` needs either `points` or `verdict`", raw.id.value));
                None
            }
        }
    }

    fn case(&self, raw: &RawCase) -> Option<CaseRule> {
        Some(CaseRule { entity: self.entity_kind(&raw.entity)?, proposal: raw.proposal.clone() })
    }

    pub(super) fn entity_kind(&self, word: &At<String>) -> Option<EntityKind> {
        let kind = EntityKind::ALL.into_iter().find(|kind| kind.name() == word.value);
        if kind.is_none() {
            let suggestion = did_you_mean(&word.value, &EntityKind::ALL.map(EntityKind::name));
            self.report.error_with(word.at, format!("unknown kind of entity `{}`", word.value), suggestion);
        }
        kind
    }
}
