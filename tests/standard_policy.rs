//! The tests that stand beside the limits and rules of the standard policy.

use weir::config::standard;
use weir::engine::policy::Measure;
use weir::engine::policy::load::load;
use weir::replay::run_test;

/// The rule that the README shows loads by itself, and its tests pass.
#[test]
fn the_rule_of_the_readme_is_in_order() {
    let readme = include_str!("../README.md");
    let yaml = readme.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a rule");
    let loaded = load(&[("readme.yaml".to_owned(), yaml.to_owned())]);
    let loaded = loaded.unwrap_or_else(|problems| panic!("{}", problems[0]));
    assert!(loaded.warnings.is_empty(), "{}", loaded.warnings[0]);
    assert_eq!(loaded.tests.len(), 2);
    for test in &loaded.tests {
        assert_eq!(run_test(&loaded.policy, test), Vec::<String>::new(), "{}", test.name);
    }
}

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
