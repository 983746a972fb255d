//! Rules, limits and pools that may act on any number of accounts.

use super::{Finding, Kind};
use crate::engine::policy::{Budget, Effect, Mode, Policy};
use crate::engine::verdict::Verdict;

/// Those that act by themselves, have no budget or one that stops nothing, and are not said to need none.
pub(super) fn unbounded(policy: &Policy) -> Vec<Finding> {
    let limits = policy.limits.iter().filter(|limit| limit.mode == Mode::Live && limit.budget.is_none());
    let limits = limits.filter(|limit| limit.verdict >= Verdict::Challenge).map(|limit| &limit.info.id);
    let rules = policy.rules.iter().filter(|rule| rule.mode == Mode::Live && rule.budget.is_none());
    let rules = rules.filter(|rule| matches!(rule.effect, Effect::Floor(_))).map(|rule| &rule.info.id);
    let pools = policy.observations.iter().filter(|pool| pool.budget.is_none()).map(|pool| &pool.info.id);
    let all = limits.chain(rules).chain(pools).filter(|id| !policy.blast.unlimited.contains(id));
    let finding = |id: &String| Finding {
        kind: Kind::Unbounded,
        about: id.clone(),
        message:
            "should it go wrong, it acts on any number of accounts: state `guards.blast_radius`, or its own"
                .to_owned(),
    };
    let idle = |budget: &Budget| {
        let message = format!("its budget will hardly ever stop it: {}", budget.idle()?);
        Some(Finding { kind: Kind::Unbounded, about: budget.rule.to_string(), message })
    };
    all.map(finding).chain(policy.blast.budgets.iter().filter_map(idle)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::policy::load::load;

    fn found(guards: &str, stated: &str) -> Vec<String> {
        let about = "code: C, text: t, source: s, owner: o";
        let text = format!(
            "version: 1\n{guards}limits:\n  - {{ id: hard, key: [user], window: 1m, max: 9, verdict: reject, {about} }}\n  \
             - {{ id: soft, key: [user], window: 1m, max: 3, verdict: demote, {about} }}\nrules:\n  \
             - {{ id: floor, family: content, when: account.new, verdict: hold, {stated}{about} }}\n  \
             - {{ id: points, family: content, when: account.new, points: 5, {about} }}\n"
        );
        let loaded = load(&[("p.yaml".to_owned(), text)]);
        let policy = loaded.unwrap_or_else(|problems| panic!("{problems:#?}")).policy;
        unbounded(&policy).into_iter().map(|finding| finding.about).collect()
    }

    #[test]
    fn what_acts_by_itself_has_a_budget_or_says_why_not() {
        let guards = "guards: { blast_radius: { accounts: 100, within: 1h } }\n";
        let own = "blast_radius: { accounts: 9, within: 1h }, ";
        assert_eq!(found("", ""), ["hard", "floor"]);
        assert_eq!(found("", own), ["hard"]);
        assert_eq!(found("", "blast_radius: { unlimited: because }, "), ["hard"]);
        assert!(found(guards, "").is_empty());
        let pool = "observation:\n  - { id: pool, entity: user, conditions: [account.new, account.settled, account.paying], watch: 1h, times: 1, within: 1h, ban: 1h, code: C, text: t, source: s, owner: o }\n";
        let idle = "blast_radius: { accounts: 9, share: 100, within: 1h }, ";
        assert_eq!(found(guards, idle), ["floor"]);
        assert_eq!(found(guards, "blast_radius: { accounts: 9, within: 1s }, "), ["floor"]);
        assert_eq!(found(pool, own), ["hard", "pool"]);
        assert!(found(&format!("{guards}{pool}"), "").is_empty());
    }
}
