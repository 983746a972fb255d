//! The tests that stand beside the limits and rules of the standard policy.

use weir::config::standard;
use weir::engine::policy::Measure;
use weir::engine::policy::load::load;
use weir::replay::run_test;

#[test]
fn every_test_beside_the_standard_policy_holds() {
    let loaded = load(&standard::files()).unwrap_or_else(|problems| panic!("{}", problems[0]));
    let mut failures = Vec::new();
    for test in &loaded.tests {
        for unmet in run_test(&loaded.policy, test) {
            failures.push(format!("{}:{}: {} / {}: {unmet}", test.file, test.line, test.about, test.name));
        }
    }
    assert!(!loaded.tests.is_empty());
    assert!(
        failures.is_empty(),
        "{} of {} tests:\n{}",
        failures.len(),
        loaded.tests.len(),
        failures.join("\n")
    );
}

/// What "standard" means in every benchmark, and that nothing in it stands without its tests.
#[test]
fn it_is_as_large_as_promised_and_everything_in_it_has_two_tests() {
    let loaded = load(&standard::files()).unwrap_or_else(|problems| panic!("{}", problems[0]));
    let policy = &loaded.policy;
    let distinct = policy.signals.iter().filter(|s| matches!(s.measure, Measure::Distinct { .. })).count();
    let windows = policy.signals.len() - distinct + policy.limits.len();
    assert!(windows >= 8, "{windows} windows that count");
    assert!(distinct >= 3 && policy.rules.len() >= 20);
    let ids = policy.limits.iter().map(|limit| &limit.info.id);
    let ids = ids.chain(policy.rules.iter().map(|rule| &rule.info.id));
    for id in ids.chain(policy.observations.iter().map(|pool| &pool.info.id)) {
        let tests = loaded.tests.iter().filter(|test| test.about == *id).count();
        assert!(tests >= 2, "{id} has {tests} tests");
    }
}
