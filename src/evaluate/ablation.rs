//! What each evidence family is worth: a policy without it, and what changes.

use serde::Serialize;

use super::bounds::Metric;
use super::suite::Held;
use crate::engine::policy::{Mode, Policy};

/// A figure that another policy changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// The family that is off.
    pub family: String,
    /// The scenario.
    pub scenario: String,
    /// What is measured.
    pub metric: Metric,
    /// The worst of the seeds with all families.
    pub with: Option<f64>,
    /// The worst of the seeds without this one.
    pub without: Option<f64>,
}

/// Turns all rules and limits of a family off; they are not even evaluated. The policy gets a hash of its own.
pub fn switch_off(policy: &mut Policy, family: usize) {
    policy.rules.iter_mut().filter(|rule| rule.family == family).for_each(|rule| rule.mode = Mode::Off);
    policy.limits.iter_mut().filter(|limit| limit.family == family).for_each(|limit| limit.mode = Mode::Off);
    if let Some(off) = policy.families.get(family) {
        policy.hash = format!("{}-without-{}", policy.hash, off.name).into();
    }
}

/// What changes from `with` to `without`, in the order of the table; what stays is left out.
pub fn losses(family: &str, with: &[Held], without: &[Held]) -> Vec<Loss> {
    let same = |a: &Held, b: &Held| (&a.scenario, a.bound.metric) == (&b.scenario, b.bound.metric);
    let pairs = with.iter().filter_map(|a| without.iter().find(|b| same(a, b)).map(|b| (a, b)));
    let changed = pairs.filter(|(a, b)| a.worst != b.worst).map(|(a, b)| Loss {
        family: family.to_owned(),
        scenario: a.scenario.clone(),
        metric: a.bound.metric,
        with: a.worst,
        without: b.worst,
    });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::standard;
    use crate::engine::policy::load::load;

    #[test]
    fn a_family_that_is_off_has_no_rule_left() {
        let mut policy = load(&standard::files()).expect("the standard policy loads").policy;
        let hash = policy.hash.clone();
        let policy = Arc::get_mut(&mut policy).expect("nobody else has it");
        let family = policy.families.iter().position(|family| family.name == "device").expect("it has one");
        assert!(policy.rules.iter().any(|rule| rule.family == family && rule.mode == Mode::Live));
        switch_off(policy, family);
        assert!(policy.rules.iter().all(|rule| (rule.family == family) == (rule.mode == Mode::Off)));
        assert_ne!(policy.hash, hash);
    }
}
