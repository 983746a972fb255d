//! For which share of all entities a limit or rule acts.

use super::Workshop;
use crate::engine::entity::EntityKind;
use crate::engine::policy::Mode;
use crate::engine::policy::raw::RawRollout;
use crate::engine::policy::reader::At;
use crate::engine::rollout::Rollout;

impl Workshop<'_> {
    /// The share as it is meant; `None` (and an error) when it is none.
    pub(super) fn rollout(
        &self,
        raw: Option<&At<RawRollout>>,
        mode: Mode,
        id: &str,
    ) -> Option<Option<Rollout>> {
        let Some(raw) = raw else { return Some(None) };
        if mode != Mode::Live {
            let message = format!("`{id}` does not act: a share of nobody");
            self.report.warn(raw.at, message, Some("leave `mode` or `rollout` out".into()));
        }
        let by = match &raw.value.by {
            Some(by) => self.entity_kind(by),
            None => Some(EntityKind::User),
        };
        Some(Some(Rollout { share: self.share(&raw.value.percent)?, by: by? }))
    }

    /// Percent in hundredths.
    fn share(&self, percent: &At<f64>) -> Option<u32> {
        let hundredths = percent.value * 100.0;
        let whole = libm::round(hundredths);
        if !(hundredths > 0.0 && hundredths <= f64::from(Rollout::ALL)) {
            let message = format!("{} percent: a share is above 0 and at most 100", percent.value);
            let suggestion = "a rule that acts for nobody is `mode: shadow`";
            self.report.error_with(percent.at, message, Some(suggestion.into()));
            return None;
        }
        if libm::fabs(hundredths - whole) > 1e-6 {
            let message = format!("{} percent: a share has two decimals at most", percent.value);
            self.report.error(percent.at, message);
            return None;
        }
        Some(whole as u32)
    }
}
