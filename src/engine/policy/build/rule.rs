//! Rules: a condition, and points or a verdict at least.

use super::blast::Holds;
use super::condition::Reads;
use super::quantity::within;
use super::{About, Workshop};
use crate::engine::crowd::Kind;
use crate::engine::entity::EntityKind;
use crate::engine::expr::Condition;
use crate::engine::policy::nearest::did_you_mean;
use crate::engine::policy::raw::{RawCase, RawRule};
use crate::engine::policy::reader::At;
use crate::engine::policy::{CaseRule, Effect, Mode, Rule};
use crate::engine::verdict::Verdict;

/// Weight of evidence unless stated.
const WEIGHT: f64 = 0.7;

impl Workshop<'_> {
    pub(super) fn rules(&mut self, raw: &[RawRule]) -> Vec<Rule> {
        raw.iter().filter_map(|rule| self.rule(rule)).collect()
    }

    fn rule(&mut self, raw: &RawRule) -> Option<Rule> {
        let mode = raw.mode.as_ref().map(|mode| mode.value.meaning()).unwrap_or_default();
        let family = self.family(&raw.family);
        let when = self.when(raw);
        let effect = self.effect(raw);
        let value = raw.value.as_ref().map(|value| self.number(value, Reads::All));
        let case = raw.case.as_ref().map(|case| self.case(case));
        let rollout = self.rollout(raw.rollout.as_ref(), mode, &raw.id.value);
        if let (Some(written), Some(_)) = (&raw.rollout, &raw.evidence) {
            let message = "evidence of a crowd is weighed over all of it: there is no share of it to act on";
            self.report.error(written.at, message);
        }
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
        let budget = effect.and_then(|effect| self.rule_budget(raw, mode, effect));
        Some(Rule {
            info,
            family: family?,
            when: when?,
            effect: effect?,
            value: value.map_or(Some(None), |value| value.map(Some))?,
            threshold: raw.threshold,
            case: case.map_or(Some(None), |case| case.map(Some))?,
            mode,
            rollout: rollout?,
            budget,
        })
    }

    /// A rule with evidence speaks whenever there is any; all others have a condition.
    fn when(&mut self, raw: &RawRule) -> Option<Condition> {
        match (&raw.when, &raw.evidence) {
            (Some(when), None) => self.condition(when, Reads::All),
            (None, Some(_)) => Some(Condition::new("true".to_owned(), Box::new(|_| Some(true)))),
            (Some(when), Some(_)) => {
                self.report.error(when.at, "a rule with `evidence` has no condition");
                None
            }
            (None, None) => {
                self.report.error(raw.id.at, format!("`{}` needs `when`", raw.id.value));
                None
            }
        }
    }

    /// Points act together with others only, so that only a rule with a verdict of its own has the budget of the guards.
    fn rule_budget(&mut self, raw: &RawRule, mode: Mode, effect: Effect) -> Option<usize> {
        let refused = match effect {
            Effect::Evidence { .. } => {
                Some("evidence of a crowd is confirmed by two families, and is one case")
            }
            Effect::Points(..=0) => Some("what speaks for the actor holds nobody up"),
            _ => None,
        };
        if let (Some(written), Some(why)) = (&raw.blast_radius, refused) {
            self.report.error(written.at, format!("no budget of `{}`: {why}", raw.id.value));
        }
        if refused.is_some() {
            return None;
        }
        let strongest = if let Effect::Floor(floor) = effect { Some(floor) } else { None };
        let (id, family, by_default) = (&raw.id, raw.family.value.as_str(), strongest.is_some());
        self.budget(raw.blast_radius.as_ref(), &Holds { id, mode, family, strongest, by_default })
    }

    fn evidence(&self, raw: &RawRule, name: &At<String>) -> Option<Effect> {
        if raw.points.is_some() || raw.verdict.is_some() || raw.value.is_some() || raw.case.is_some() {
            self.report
                .error(name.at, "a rule with `evidence` has no points, verdict, value or case of its own");
        }
        if !self.watches_crowds {
            let message = format!("`{}`: no crowd is watched", name.value);
            self.report.error_with(name.at, message, Some("add the section `crowds`".into()));
        }
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name.value);
        if kind.is_none() {
            let suggestion = did_you_mean(&name.value, &Kind::ALL.map(Kind::name));
            self.report.error_with(name.at, format!("unknown evidence `{}`", name.value), suggestion);
        }
        let weight = raw.weight.as_ref().map_or(WEIGHT, |weight| weight.value);
        if let Some(written) = raw.weight.as_ref().filter(|_| !(weight > 0.0 && weight <= 1.0)) {
            self.report.error(written.at, "a weight is above 0 and at most 1");
        }
        Some(Effect::Evidence { kind: kind?, weight })
    }

    fn effect(&self, raw: &RawRule) -> Option<Effect> {
        if let Some(name) = &raw.evidence {
            return self.evidence(raw, name);
        }
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
