//! The tests that stand beside the limits and rules of the standard policy.

use weir::config::standard;
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
