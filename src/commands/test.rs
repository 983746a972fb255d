//! `weir test`: the tests that stand beside limits, rules and pools, through the engine that runs live.

use std::fmt::Write;

use super::policy::{self, Found, counted};
use super::{Failure, finish, print, reading, tell};
use crate::cli::{ConfigArgs, TestArgs, exit};
use crate::engine::policy::tests::RuleTest;
use crate::replay::{Coverage, Reached, run_covered, run_test};
use crate::report::{Section, escaped, text};

/// Runs it.
pub fn run(args: &TestArgs) -> u8 {
    finish(test(args))
}

fn test(args: &TestArgs) -> Result<u8, Failure> {
    let found = policy::of_args(&args.policy, &ConfigArgs::from_environment())?;
    let loaded = found.load_or_fail()?;
    for warning in &loaded.warnings {
        tell(&format!("{warning}\n"));
    }
    print(&format!("{}: {}\n", found.name(), counted(loaded.tests.len(), "test")))?;
    let mut coverage = args.coverage.then(|| Coverage::of(&loaded.policy));
    let mut results = Vec::new();
    for test in &loaded.tests {
        let unmet = match &mut coverage {
            Some(coverage) => run_covered(&loaded.policy, test, coverage),
            None => run_test(&loaded.policy, test),
        };
        print(&report(test, &file(&found, test), &unmet))?;
        results.push(unmet);
    }
    let failed = results.iter().filter(|unmet| !unmet.is_empty()).count();
    print(&format!("{} passed, {failed} failed\n", loaded.tests.len() - failed))?;
    if let Some(coverage) = &coverage {
        print(&text(&[covered(coverage)]))?;
    }
    if let Some(path) = &args.junit {
        reading::write(path, &junit(&found, &loaded.tests, &results))?;
    }
    Ok(if failed == 0 { exit::OK } else { exit::FAILURE })
}

/// The file of a test with its folder.
fn file(found: &Found, test: &RuleTest) -> String {
    let folder = found.dir.as_ref().map(|dir| dir.join(&test.file).display().to_string());
    folder.unwrap_or_else(|| test.file.clone())
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

/// What the tests reached.
fn covered(coverage: &Coverage) -> Section {
    let row = |reached: &Reached| {
        let both = reached.branches.iter().filter(|branch| branch.is_covered()).count();
        let open = reached.branches.iter().filter(|branch| !branch.is_covered()).map(|branch| {
            let seen = if branch.held == 0 { "never true" } else { "never other than true" };
            format!("{seen}: {}", branch.text)
        });
        let branches = match reached.branches.len() {
            0 => "-".to_owned(),
            all => format!("{both} of {all}"),
        };
        let kind = if reached.is_limit { "limit" } else { "rule" };
        vec![
            reached.id.clone(),
            kind.to_owned(),
            reached.spoke.to_string(),
            reached.silent.to_string(),
            branches,
            open.collect::<Vec<_>>().join("; "),
        ]
    };
    let heads = ["limit or rule", "kind", "spoke", "silent", "branches", "not covered"];
    Section::table("What the tests reach", &heads, coverage.reached().map(row).collect())
}

/// The results as JUnit has them: one suite, one case a test.
fn junit(found: &Found, tests: &[RuleTest], results: &[Vec<String>]) -> String {
    let failed = results.iter().filter(|unmet| !unmet.is_empty()).count();
    let counts = format!("tests=\"{}\" failures=\"{failed}\" errors=\"0\"", tests.len());
    let name = escaped(&found.name());
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"{name}\" {counts}>\n"
    );
    for (test, unmet) in tests.iter().zip(results) {
        let (about, name) = (escaped(&test.about), escaped(&test.name));
        let place = format!("file=\"{}\" line=\"{}\"", escaped(&file(found, test)), test.line);
        let case = format!("    <testcase classname=\"{about}\" name=\"{name}\" {place}");
        let end = match unmet.as_slice() {
            [] => "/>\n".to_owned(),
            [first, ..] => {
                let all: Vec<String> = unmet.iter().map(|reason| escaped(reason)).collect();
                let (first, all) = (escaped(first), all.join("\n"));
                format!(">\n      <failure message=\"{first}\">{all}</failure>\n    </testcase>\n")
            }
        };
        write!(xml, "{case}{end}").expect("memory takes all");
    }
    xml + "  </testsuite>\n</testsuites>\n"
}
