//! The demo as a newcomer runs it: the incident is caught, honest people are left alone, nothing is lost.

use std::process::{Command, Stdio};

use serde_json::Value;

fn demo(words: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_weir"))
        .arg("demo")
        .args(words)
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    let text = String::from_utf8(output.stdout).expect("text");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}\n{errors}", output.status);
    let last = text.lines().last().expect("a line");
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {last}"))
}

#[test]
#[allow(clippy::print_stdout, reason = "measured figures")]
fn the_incident_is_caught_and_honest_people_are_left_alone() {
    let told = demo(&["--headless", "--seconds", "10", "--format", "json"]);
    println!("{told}");
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value} in {told}"));
    let sum = |counts: &Value| counts.as_object().expect("counts").values().map(number).sum::<u64>();

    let consumed = number(&told["consumed"]);
    assert_eq!(consumed, sum(&told["outcomes"]), "every event ends in one outcome");
    assert_eq!(number(&told["outcomes"]["decided"]), sum(&told["verdicts"]), "every decision has a verdict");
    assert!(consumed >= 20_000, "{consumed}");
    assert_eq!(told["complete"], true);

    let incident = &told["incident"];
    assert_eq!((number(&incident["accounts"]), number(&incident["likes"])), (3_000, 40_000));
    let (actioned, counted) = (number(&incident["accounts_actioned"]), number(&incident["likes_counted"]));
    assert!((2_850..=3_000).contains(&actioned), "95 % of the accounts: {actioned}");
    assert!(counted < 40_000, "{counted}");
    assert!(incident["seconds_to_first_action"].as_f64().is_some_and(|seconds| seconds >= 0.0));

    let honest = &told["honest"];
    assert!(number(&honest["accounts"]) >= 20_000, "{honest}");
    assert_eq!((number(&honest["rejected"]), number(&honest["blocked"])), (0, 0), "{honest}");
    assert!(number(&honest["held"]) <= number(&honest["accounts"]), "{honest}");
    assert!(told["seconds_to_first_decision"].as_f64().is_some_and(|seconds| seconds > 0.0));
}
