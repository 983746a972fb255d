//! How often decisions named each rule or limit, and each shortcoming, in one batch.
//!
//! Only what the policy declares is told: bans and guards are reasons too, but their ids are not a closed set.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::decision::{QualityCode, Reason, ReasonSource};
use crate::engine::policy::{Mode, Policy};

/// Counts of one batch.
#[derive(Clone, Debug, Default)]
pub struct Hits {
    /// A batch meets few sources, and the same ones again and again: a list is found through quickly.
    named: Vec<(Arc<ReasonSource>, Mode, u64)>,
    quality: BTreeMap<QualityCode, u64>,
}

impl Hits {
    /// One decision named these.
    pub(super) fn name(&mut self, reasons: &[Reason], mode: Mode) {
        for reason in reasons {
            let same = |known: &&mut (Arc<ReasonSource>, Mode, u64)| {
                known.1 == mode && Arc::ptr_eq(&known.0, &reason.source)
            };
            match self.named.iter_mut().find(same) {
                Some((_, _, count)) => *count += 1,
                None => self.named.push((Arc::clone(&reason.source), mode, 1)),
            }
        }
    }

    /// One decision was less exact than usual in this way, whatever the number of counters.
    pub(super) fn fall_short(&mut self, code: QualityCode) {
        *self.quality.entry(code).or_default() += 1;
    }

    /// Keeps rules and limits of this policy only.
    pub(super) fn keep_declared(&mut self, policy: &Policy) {
        let sources = || {
            policy.rules.iter().map(|rule| &rule.info).chain(policy.limits.iter().map(|limit| &limit.info))
        };
        self.named.retain(|(source, _, _)| sources().any(|declared| Arc::ptr_eq(declared, source)));
    }

    /// Ids of rules and limits, with how often decisions named them.
    pub fn rules(&self) -> impl Iterator<Item = (&str, Mode, u64)> {
        self.named.iter().map(|(source, mode, count)| (source.id.as_str(), *mode, *count))
    }

    /// Decisions with each shortcoming.
    pub fn quality(&self) -> impl Iterator<Item = (QualityCode, u64)> {
        self.quality.iter().map(|(code, count)| (*code, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::standard;
    use crate::engine::policy::load::load;

    #[test]
    fn rules_are_counted_by_mode_and_what_is_no_rule_is_not_told() {
        let policy = load(&standard::files()).expect("valid").policy;
        let reason = |source: &Arc<ReasonSource>| Reason::of(source, 0);
        let (rule, limit) = (&policy.rules[0].info, &policy.limits[0].info);
        let ban = Arc::new(ReasonSource { id: "ban-of-somebody".into(), ..ReasonSource::clone(rule) });
        let mut hits = Hits::default();
        hits.name(&[reason(rule), reason(&ban)], Mode::Live);
        hits.name(&[reason(rule), reason(limit)], Mode::Live);
        hits.name(&[reason(rule)], Mode::Shadow);
        hits.keep_declared(&policy);
        let told: Vec<_> = hits.rules().collect();
        let (rule, limit) = (rule.id.as_str(), limit.id.as_str());
        assert_eq!(told, [(rule, Mode::Live, 2), (limit, Mode::Live, 1), (rule, Mode::Shadow, 1)]);
    }
}
