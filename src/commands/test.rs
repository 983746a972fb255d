//! `weir test`: the tests that stand beside limits, rules and pools, through the engine that runs live.

use super::policy::{self, counted};
use super::{Failure, finish, print, tell};
use crate::cli::{PolicyArgs, exit};
use crate::engine::policy::tests::RuleTest;
use crate::replay::run_test;

/// Runs it.
pub fn run(args: &PolicyArgs) -> u8 {
    finish(test(args))
}

fn test(args: &PolicyArgs) -> Result<u8, Failure> {
    let found = policy::of_args(args)?;
    let loaded = found.load_or_fail()?;
    for warning in &loaded.warnings {
        tell(&format!("{warning}\n"));
    }
    print(&format!("{}: {}\n", found.name(), counted(loaded.tests.len(), "test")))?;
    let mut failed = 0_usize;
    for test in &loaded.tests {
        let unmet = run_test(&loaded.policy, test);
        failed += usize::from(!unmet.is_empty());
        let folder = found.dir.as_ref().map(|dir| dir.join(&test.file).display().to_string());
        print(&report(test, folder.as_deref().unwrap_or(&test.file), &unmet))?;
    }
    print(&format!("{} passed, {failed} failed\n", loaded.tests.len() - failed))?;
    Ok(if failed == 0 { exit::OK } else { exit::FAILURE })
}

/// `ok` and the name, or `FAILED` with the place and what did not hold.
fn report(test: &RuleTest, file: &str, unmet: &[String]) -> String {
    let RuleTest { about, name, line, .. } = test;
    if unmet.is_empty() {
        return format!("ok      {about}: {name}\n");
    }
    let reasons: String = unmet.iter().map(|reason| format!("        {reason}\n")).collect();
    format!("FAILED  {about}: {name} ({file}:{line})\n{reasons}")
}
