//! What each part is worth: a policy without it, and what changes.

use std::collections::BTreeSet;

use serde::Serialize;

use super::bounds::Metric;
use super::suite::Held;
use crate::engine::policy::{Effect, Mode, Policy};

/// A part of a policy that can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All rules and limits of a family (index).
    Family(usize),
    /// Those rules of a family (index) that take evidence of crowds.
    Crowd(usize),
    /// Crowds altogether: gates, evidence, campaigns and corrections.
    Crowds,
}

/// A figure that another policy changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// The part that is off: the name of a family, `crowd NAME` for its evidence of crowds, or `crowds`.
    pub family: String,
    /// The scenario.
    pub scenario: String,
    /// What is measured.
    pub metric: Metric,
    /// The worst of the seeds with all parts.
    pub with: Option<f64>,
    /// The worst of the seeds without this one.
    pub without: Option<f64>,
}

/// All parts of a policy: its families, then the families of crowd evidence, then crowds altogether.
pub fn parts(policy: &Policy) -> Vec<Part> {
    let crowd = policy.rules.iter().filter(|rule| takes_crowd_evidence(&rule.effect));
    let crowd: BTreeSet<usize> = crowd.map(|rule| rule.family).collect();
    let families = (0..policy.families.len()).map(Part::Family);
    let crowds = policy.crowds.iter().map(|_| Part::Crowds);
    families.chain(crowd.into_iter().map(Part::Crowd)).chain(crowds).collect()
}

/// What a part is called.
pub fn name(policy: &Policy, part: Part) -> String {
    let family = |family: usize| policy.families.get(family).map_or("?", |family| &family.name);
    match part {
        Part::Family(of) => family(of).to_owned(),
        Part::Crowd(of) => format!("crowd {}", family(of)),
        Part::Crowds => "crowds".to_owned(),
    }
}

/// Turns a part off; its rules and limits are not even evaluated. The policy gets a hash of its own.
pub fn switch_off(policy: &mut Policy, part: Part) {
    let name = name(policy, part);
    for rule in &mut policy.rules {
        let is_off = match part {
            Part::Family(family) => rule.family == family,
            Part::Crowd(family) => rule.family == family && takes_crowd_evidence(&rule.effect),
            Part::Crowds => takes_crowd_evidence(&rule.effect),
        };
        if is_off {
            rule.mode = Mode::Off;
        }
    }
    match part {
        Part::Family(family) => {
            let of = policy.limits.iter_mut().filter(|limit| limit.family == family);
            of.for_each(|limit| limit.mode = Mode::Off);
        }
        Part::Crowd(_) => {}
        Part::Crowds => policy.crowds = None,
    }
    policy.hash = format!("{}-without-{}", policy.hash, name.replace(' ', "-")).into();
}

fn takes_crowd_evidence(effect: &Effect) -> bool {
    matches!(effect, Effect::Evidence { .. })
}

/// What changes from `with` to `without`, in the order of the table; what stays is left out.
pub fn losses(part: &str, with: &[Held], without: &[Held]) -> Vec<Loss> {
    let same = |a: &Held, b: &Held| (&a.scenario, a.bound.metric) == (&b.scenario, b.bound.metric);
    let pairs = with.iter().filter_map(|a| without.iter().find(|b| same(a, b)).map(|b| (a, b)));
    let changed = pairs.filter(|(a, b)| a.worst != b.worst).map(|(a, b)| Loss {
        family: part.to_owned(),
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
    use crate::engine::Engine;
    use crate::engine::key::HashSeed;
    use crate::engine::policy::load::load;

    fn policy() -> Arc<Policy> {
        load(&standard::files()).expect("the standard policy loads").policy
    }

    #[test]
    fn a_family_that_is_off_has_no_rule_left() {
        let mut policy = policy();
        let hash = policy.hash.clone();
        let policy = Arc::get_mut(&mut policy).expect("nobody else has it");
        let family = policy.families.iter().position(|family| family.name == "device").expect("it has one");
        assert!(policy.rules.iter().any(|rule| rule.family == family && rule.mode == Mode::Live));
        switch_off(policy, Part::Family(family));
        assert!(policy.rules.iter().all(|rule| (rule.family == family) == (rule.mode == Mode::Off)));
        assert_ne!(policy.hash, hash);
    }

    #[test]
    fn crowd_evidence_is_switched_off_family_by_family_and_altogether() {
        let known = policy();
        let all = parts(&known);
        let names: Vec<String> = all.iter().map(|part| name(&known, *part)).collect();
        for wanted in ["device", "crowd account", "crowd device", "crowd network", "crowd group", "crowds"] {
            assert!(names.iter().any(|name| name == wanted), "{wanted} in {names:?}");
        }
        for part in all.into_iter().filter(|part| !matches!(part, Part::Family(_))) {
            let mut policy = policy();
            let changed = Arc::get_mut(&mut policy).expect("nobody else has it");
            switch_off(changed, part);
            let off = |rule: &&crate::engine::policy::Rule| rule.mode == Mode::Off;
            assert!(changed.rules.iter().any(|rule| off(&rule)));
            assert!(changed.rules.iter().filter(off).all(|rule| takes_crowd_evidence(&rule.effect)));
            assert_eq!(changed.crowds.is_none(), part == Part::Crowds);
            // An engine can be made of it.
            drop(Engine::new(policy, HashSeed(1, 2)));
        }
    }
}
