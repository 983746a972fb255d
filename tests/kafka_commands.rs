//! `weir topics` and `weir ban`, as they are typed, against a real Apache Kafka.

#[path = "support/broker.rs"]
mod broker;

use std::process::{Command, Stdio};

use weir::stream::Topic;

/// What a run printed on stdout, after it ended as expected.
#[track_caller]
fn weir(prefix: &str, code: i32, args: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(args).args(["--brokers", broker::shared()]).current_dir(folder.path()).stdin(Stdio::null());
    command.env("WEIR_KAFKA_TOPIC_PREFIX", prefix);
    let output = command.output().expect("it runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?}: {out}{err}");
    out.into_owned()
}

#[test]
fn topics_are_made_once_and_compared() {
    let prefix = broker::unique("topics");
    let missing = weir(&prefix, 1, &["topics", "check"]);
    let absent = |text: &str| text.matches("topic should be there, is missing").count();
    assert_eq!(absent(&missing), Topic::ALL.len(), "{missing}");

    let made = weir(&prefix, 0, &["topics", "create"]);
    for topic in Topic::ALL {
        assert!(made.contains(&format!("made    {prefix}{topic}\n")), "{made}");
    }
    assert!(made.contains("10 topics made, 0 there before"), "{made}");
    let again = weir(&prefix, 0, &["topics", "create"]);
    assert!(again.contains("0 topics made, 10 there before") && !again.contains("made    "), "{again}");
    assert_eq!(weir(&prefix, 0, &["topics", "check"]), "10 topics as needed\n");
}

#[test]
fn what_differs_is_told_and_a_choice_is_called_so() {
    let prefix = broker::unique("differs");
    weir(&prefix, 0, &["topics", "create"]);
    // The same topics, held against another plan.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("weir.toml");
    std::fs::write(&file, "[topics]\npartitions = 12\nshards = 2\n").expect("writable");
    let told = weir(&prefix, 1, &["topics", "check", "--config", file.to_str().expect("UTF-8")]);
    let line = |topic: Topic, rest: &str| format!("differs {prefix}{topic}: partitions should be {rest}\n");
    assert!(told.contains(&line(Topic::Interactions, "12, is 6 (fine if it was chosen)")), "{told}");
    assert!(told.contains(&line(Topic::Journal, "2, is 1")), "{told}");
    assert!(told.ends_with("4 differences\n"), "{told}");
}

#[test]
fn a_command_is_kept_and_a_topic_that_is_missing_is_named() {
    let prefix = broker::unique("ban");
    weir(&prefix, 1, &["ban", "list"]);
    weir(&prefix, 1, &["ban", "add", "user:1", "--reason", "x"]);
    weir(&prefix, 0, &["topics", "create"]);
    let id = weir(&prefix, 0, &["ban", "add", "user:1", "--reason", "x"]);
    assert!(id.starts_with("cmd-") && id.ends_with('\n'), "{id}");
    // Nobody has applied it yet.
    assert_eq!(weir(&prefix, 0, &["ban", "list"]), "no bans are in force\n");
}
