//! The `weir` binary as it is typed: what it prints, where, and what it ends with.

#[path = "support/place.rs"]
mod place;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use place::{Place, ran};
use serde_json::Value as Json;
use weir::engine::ban::{Ban, BanChange, Origin};
use weir::engine::command::CommandAction;
use weir::engine::cut::Page;
use weir::engine::entity::{Entity, EntityKind};
use weir::engine::time::{Span, Timestamp};
use weir::engine::verdict::Verdict;
use weir::state::{Checkpoints, Meta, Steps};
use weir::stream::{Embedded, Input, InputEvent, InputLimits, OutBatch, Topic, TopicNames, TopicStart, post};
use weir::wire::{ban, command};

fn event(id: &str, at: i64) -> String {
    format!(
        r#"{{"event_id":"{id}","occurred_at":{},"action":"like","user_id":"u","target_id":"t","ip":"198.51.100.7"}}"#,
        1_750_000_000_000 + at
    )
}

fn json_lines(text: &str) -> Vec<Json> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

const LIMIT: &str = "version: 1
limits:
  - id: twice
    key: [user]
    window: 1m
    max: 2
    verdict: reject
    code: R
    text: t
    source: s
    owner: o
    tests:
      - name: two pass
        events:
          - { at: 0s, repeat: 2, every: 1s, action: like, user_id: u }
        expect: { verdict: allow, fires: false }
      - name: a third is refused
        events:
          - { at: 0s, repeat: 3, every: 1s, action: like, user_id: u }
        expect: { verdict: reject, by: twice }
";

const FAILING: &str = "      - name: a third passes
        events:
          - { at: 0s, repeat: 3, every: 1s, action: like, user_id: u }
        expect: { verdict: allow }
";

#[test]
fn the_help_teaches() {
    let place = Place::new();
    let ran = place.run(&["--help"]);
    assert_eq!(ran.code, 0);
    for word in ["replay", "check", "test", "ban", "topics", "signals", "Start here", "Exit codes"] {
        assert!(ran.out.contains(word), "{word} in:\n{}", ran.out);
    }
    for verb in ["run", "demo", "replay", "check", "test", "ban", "topics", "signals", "completions"] {
        let ran = place.run(&[verb, "--help"]);
        assert_eq!(ran.code, 0, "{verb}");
        assert!(ran.out.contains("Examples:") && ran.out.contains("Usage: weir"), "{verb}:\n{}", ran.out);
    }
}

#[test]
fn wrong_use_ends_with_2_and_says_what_is_known() {
    let place = Place::new();
    let events = place.file("events.jsonl", "");
    let events = events.to_str().expect("UTF-8");
    for args in [
        &["repaly"][..],
        &["replay", "--input", "-"],
        &["demo", "--seconds", "0"],
        &["ban", "add", "host:1", "--reason", "x"],
        &["ban", "add", "ip:campus", "--reason", "x"],
        &["replay", "--input", events, "--output", events],
    ] {
        let ran = place.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains("error: "), "{args:?}: {}", ran.err);
    }
    assert!(place.run(&["repaly"]).err.contains("replay"), "the nearest name is told");
}

#[test]
fn nothing_is_coloured_where_nobody_looks_or_wants_it() {
    let place = Place::new();
    place.file("policy/p.yaml", "version: 1\nlimit: []\n");
    let args = ["check", "--policy", "policy"];
    let plain = place.run(&args);
    let told = ran(place.command(&args).env("NO_COLOR", "1").output().expect("it runs"));
    let forced = place.command(&["--help"]).env("NO_COLOR", "1").env("CLICOLOR_FORCE", "1").output();
    for text in [plain.err, told.err, ran(forced.expect("it runs")).out] {
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}

#[test]
fn replay_accounts_for_each_line_in_order() {
    let lines = [
        event("1", 0),
        "not json".to_owned(),
        event("2", 1000),
        event("2", 1000),
        String::new(),
        event("3", 2000).replace("\"action\":\"like\",", ""),
        event("4", 3000),
    ];
    let input = lines.join("\n");
    let args =
        ["replay", "--input", "-", "--output", "-", "--as-of", "2026-01-01T00:00:00Z", "--stats", "json"];
    let place = Place::new();
    let ran = place.run_with(&args, &input);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let decisions = json_lines(&ran.out);
    let told: Vec<_> =
        decisions.iter().map(|d| (d["event_id"].as_str(), d["source"]["offset"].as_i64())).collect();
    assert_eq!(told, [(Some("1"), Some(0)), (Some("2"), Some(2)), (Some("4"), Some(6))]);
    assert!(decisions.iter().all(|d| d["verdict"] == "allow" && d["revision"] == 0));

    let stats = json_lines(&ran.err);
    let [stats] = &stats[..] else { panic!("one line on stderr: {}", ran.err) };
    assert_eq!(stats["consumed"], 7);
    assert_eq!(stats["outcomes"], serde_json::json!({"decided": 3, "duplicate": 1, "dead_lettered": 3}));
    assert_eq!(stats["dead_letters"], serde_json::json!({"malformed_json": 2, "missing_field": 1}));
    assert_eq!(stats["verdicts"]["allow"], 3);
    assert_eq!(stats["as_of"], "2026-01-01T00:00:00.000Z");
    let figures = ["cpu_seconds", "events_per_cpu_second", "parse_floor_ratio", "peak_rss_bytes"];
    for figure in figures {
        assert!(stats[figure].as_f64().is_some_and(|value| value > 0.0), "{figure}: {stats}");
    }
    assert_eq!((&stats["ban_changes"], &stats["case_records"]), (&Json::from(0), &Json::from(0)));
    let faults: Vec<_> =
        stats["faults"].as_array().expect("faults").iter().map(|f| f["at"].as_str()).collect();
    assert_eq!(faults, [Some("stdin:2:2"), Some("stdin:5:1"), Some("stdin:6")]);

    // For people: the faults are named with file and line, and so are the figures.
    place.file("day.jsonl", &input);
    let ran = place.run(&["replay", "--input", "day.jsonl", "--output", "out.jsonl"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("day.jsonl:2:2: malformed_json: "), "{}", ran.err);
    assert!(ran.err.contains("day.jsonl:6: missing_field: ") && ran.err.contains("action"), "{}", ran.err);
    assert!(ran.err.contains("7 lines") && ran.err.contains("duplicate 1"), "{}", ran.err);
    assert_eq!(json_lines(&place.read("out.jsonl")).len(), 3);
}

#[test]
fn replay_gives_the_same_bytes_again_from_a_file_or_a_pipe() {
    let place = Place::new();
    place.file("policy/p.yaml", LIMIT);
    let lines: Vec<String> = (0..2000).map(|n| event(&n.to_string(), n * 250)).collect();
    let input = lines.join("\n");
    place.file("a.jsonl", &input);
    place.file("b.jsonl", &input);
    let fixed = ["--policy", "policy", "--as-of", "2026-01-01T00:00:00Z"];
    for (from, to) in [("a.jsonl", "1.out"), ("a.jsonl", "2.out"), ("b.jsonl", "3.out")] {
        let ran = place.run(&[&["replay", "--input", from, "--output", to][..], &fixed].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let piped = place.run_with(&[&["replay", "--input", "-", "--output", "-"][..], &fixed].concat(), &input);
    let first = place.read("1.out");
    assert_eq!(json_lines(&first).len(), 2000);
    assert!(first.contains(r#""verdict":"reject""#), "the policy that was named judges");
    assert!(first == place.read("2.out") && first == place.read("3.out") && first == piped.out);
}

/// The command begins once more for large pages, where the kernel gives them: with the same arguments, input and output.
#[test]
fn large_pages_change_nothing_but_the_pages() {
    let place = Place::new();
    place.file("policy/p.yaml", LIMIT);
    let input: Vec<String> = (0..50).map(|n| event(&n.to_string(), n * 250)).collect();
    let input = input.join("\n");
    let args =
        ["replay", "--input", "-", "--output", "-", "--policy", "policy", "--as-of", "2026-01-01T00:00:00Z"];
    let ran = |command: &mut std::process::Command| {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("it reads");
        child.wait_with_output().expect("it ends")
    };
    let large = ran(&mut place.command(&args));
    let small = ran(place.command(&args).env("WEIR_LARGE_PAGES", "no"));
    assert_eq!((large.status.code(), small.status.code()), (Some(0), Some(0)));
    assert_eq!(json_lines(&String::from_utf8_lossy(&large.stdout)).len(), 50);
    assert!(large.stdout == small.stdout);
}

#[test]
fn replay_says_what_it_cannot_read_or_write() {
    let place = Place::new();
    place.file("events.jsonl", event("1", 0));
    for (from, to, word) in [
        ("none.jsonl", "-", "input none.jsonl: "),
        (".", "-", "input .: "),
        ("events.jsonl", "no/such/folder/out", "output no/such/folder/out: "),
        ("events.jsonl", "/dev/full", "output /dev/full: "),
    ] {
        let ran = place.run(&["replay", "--input", from, "--output", to]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);
        assert!(ran.err.starts_with(&format!("error: {word}")), "{}", ran.err);
    }
}

/// Plain or packed, the decisions are the same; a file that breaks off is decided as far as it goes, and is a failure.
#[test]
fn replay_unpacks_what_is_packed() {
    let place = Place::new();
    let lines: Vec<String> = (0..2000).map(|n| event(&n.to_string(), n * 250)).collect();
    let text = lines.join("\n");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text.as_bytes()).expect("memory takes all");
    let gzip = gzip.finish().expect("memory takes all");
    place.file("day.jsonl", &text);
    place.file("day.jsonl.gz", &gzip);
    place.file("day.jsonl.zst", zstd::encode_all(text.as_bytes(), 1).expect("memory takes all"));
    place.file("half.jsonl.gz", &gzip[..gzip.len() / 2]);
    let run = |from: &str, to: &str| {
        place.run(&["replay", "--input", from, "--output", to, "--as-of", "2026-01-01T00:00:00Z"])
    };
    for (from, to) in [("day.jsonl", "1"), ("day.jsonl.gz", "2"), ("day.jsonl.zst", "3")] {
        let ran = run(from, to);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    assert_eq!(json_lines(&place.read("1")).len(), 2000);
    assert!(place.read("1") == place.read("2") && place.read("1") == place.read("3"));
    let half = run("half.jsonl.gz", "4");
    assert!(half.code == 1 && half.err.contains("error: input half.jsonl.gz: breaks off"), "{}", half.err);
    let decided = json_lines(&place.read("4")).len();
    assert!((1..2000).contains(&decided), "{decided}");
}

/// The first five of each kind are told with their places, the others counted; with nothing decided it ends with 65.
#[test]
fn replay_tells_what_it_cannot_decide_and_counts_the_rest() {
    let place = Place::new();
    let bad = event("x", 0).replace("\"u\"", "\"u\\u0007\"");
    let column = bad.find("\\u0007").expect("it is there") + 1;
    let mut lines = vec!["{".to_owned(); 12];
    lines.push(bad);
    place.file("bad.jsonl", lines.join("\n"));
    let ran = place.run(&["replay", "--input", "bad.jsonl", "--output", "-"]);
    assert_eq!(ran.code, 65, "{}", ran.err);
    let told = |text: &str| assert!(ran.err.contains(text), "{text} in:\n{}", ran.err);
    told("bad.jsonl:5:1: malformed_json: ");
    told(&format!(
        "bad.jsonl:13:{column}: invalid_field: control characters are not allowed in an id (user_id)"
    ));
    told("and 7 more of the same kind: malformed_json");
    told("error: nothing in the input could be decided");
    assert!(!ran.err.contains("bad.jsonl:6:"), "{}", ran.err);
    assert!(!ran.err.contains("line 1 column"), "{}", ran.err);
    let silent = place.run(&["replay", "--input", "bad.jsonl", "--output", "-", "--stats", "json"]);
    assert_eq!((silent.code, json_lines(&silent.err).len()), (65, 1));
    place.file("empty.jsonl", "");
    assert_eq!(place.run(&["replay", "--input", "empty.jsonl", "--output", "-"]).code, 65);
    let help = place.run(&["--help"]).out;
    assert!(help.contains("65  nothing in the input could be decided, or it was empty"), "{help}");
}

/// An input of which nothing can be decided ends all that reads one alike, be it empty, damaged or without a row.
#[test]
fn an_input_without_an_event_ends_with_65() {
    let place = Place::new();
    for (name, text) in
        [("empty.jsonl", ""), ("bad.jsonl", "{\n"), ("empty.csv", ""), ("head.csv", "time,user\n")]
    {
        place.file(name, text);
        for command in [
            "replay --output - --input",
            "backtest --input",
            "sweep --set user-minute.max=30 --input",
            "suggest --input",
            "lint --input",
            "evaluate --label honest --events",
        ] {
            if command.starts_with("replay") && name.ends_with("csv") {
                continue;
            }
            let ran = place.run(&command.split(' ').chain([name]).collect::<Vec<_>>());
            assert_eq!(ran.code, 65, "{command} {name}: {}", ran.err);
            assert!(ran.err.contains("error: "), "{command} {name}: {}", ran.err);
        }
    }
}

/// A campaign is found by its later likes: the first ones are corrected, one correction a line beside the decisions.
#[test]
fn replay_counts_corrections_and_writes_them_where_asked() {
    let place = Place::new();
    let made = [
        "simulate",
        "--scenario",
        "echo",
        "--seed",
        "7",
        "--scale",
        "0.2",
        "--output",
        "e.jsonl",
        "--labels",
        "l.csv",
    ];
    assert_eq!(place.run(&made).code, 0);
    let run = |more: &[&str]| {
        let ran = place
            .run(&[&["replay", "--input", "e.jsonl", "--as-of", "2030-01-01T00:00:00Z"][..], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran
    };
    let plain = run(&["--output", "d.jsonl"]);
    let stats = json_lines(&run(&["--output", "d2.jsonl", "--revisions", "r.jsonl", "--stats", "json"]).err);
    let count = stats[0]["revisions"].as_u64().expect("a count");
    assert!(count > 0, "{}", stats[0]);
    let told = format!(
        "corrections  {count} of decisions made before, in no line of the output: --revisions FILE writes them"
    );
    assert!(plain.err.contains(&told), "{}", plain.err);
    assert!(place.read("d.jsonl") == place.read("d2.jsonl"), "the output is the same with and without");
    let (decisions, revisions) = (json_lines(&place.read("d.jsonl")), json_lines(&place.read("r.jsonl")));
    assert_eq!(revisions.len() as u64, count);
    assert!(decisions.iter().all(|decision| decision["revision"] == 0));
    // Each names the decision that it replaces, and says otherwise.
    let by_id: std::collections::HashMap<&str, &Json> = decisions
        .iter()
        .chain(&revisions)
        .map(|one| (one["decision_id"].as_str().expect("text"), one))
        .collect();
    for revision in &revisions {
        let replaced = by_id[revision["supersedes"].as_str().expect("text")];
        assert_eq!(revision["event_id"], replaced["event_id"]);
        assert_ne!(revision["verdict"], replaced["verdict"]);
    }
    let found = place.run(&["backtest", "--input", "e.jsonl", "--as-of", "2030-01-01T00:00:00Z"]);
    assert!(found.out.contains(&format!(", {count}\n")), "a backtest counts as many: {count}\n{}", found.out);
}

/// A year ahead of all others is the third line of five.
#[test]
fn replay_names_the_line_that_makes_others_late() {
    let place = Place::new();
    let events = [0, 1000, 366 * 86_400_000, 2000, 3000].map(|at| event(&at.to_string(), at));
    place.file("e.jsonl", events.join("\n"));
    let ran = place.run(&["replay", "--input", "e.jsonl", "--output", "-"]);
    let told = "time_ahead: 2 times, first at e.jsonl:4: stand behind e.jsonl:3, whose time ";
    assert!(ran.err.contains(told), "{}", ran.err);
}

#[test]
fn replay_tells_addresses_that_are_none() {
    let place = Place::new();
    let lines = [event("1", 0), event("2", 1000).replace("198.51.100.7", "198.51.100")];
    place.file("e.jsonl", lines.join("\n"));
    let ran = place.run(&["replay", "--input", "e.jsonl", "--output", "-"]);
    assert!(ran.err.contains("unreadable_address: 1 times, first at e.jsonl:2: "), "{}", ran.err);
    let stats =
        json_lines(&place.run(&["replay", "--input", "e.jsonl", "--output", "d", "--stats", "json"]).err);
    assert_eq!(stats[0]["odd"][0]["first"], "e.jsonl:2");
}

/// What stands in a record cannot steer the terminal of whoever reads the faults.
#[test]
fn faults_are_told_without_control_characters() {
    let place = Place::new();
    let name = "\\u001b[2J".repeat(2);
    let long = "x".repeat(5000);
    let bad =
        event("1", 0).replace("\"user_id\"", &format!(r#""attributes":{{"{name}":"{long}"}},"user_id""#));
    place.file("events.jsonl", bad);
    let ran = place.run(&["replay", "--input", "events.jsonl", "--output", "-"]);
    assert!(ran.err.starts_with("events.jsonl:1: invalid_field: "), "{}", ran.err);
    assert!(ran.err.contains("(attributes.\\u{1b}[2J") && !ran.err.contains('\u{1b}'), "{}", ran.err);
}

/// Far more than a pipe holds, to a reader that takes one line.
#[test]
fn a_reader_that_goes_away_ends_it_silently() {
    let place = Place::new();
    place.file("policy/p.yaml", LIMIT);
    let lines: Vec<String> = (0..5000).map(|n| event(&n.to_string(), n)).collect();
    place.file("events.jsonl", lines.join("\n"));
    let args = ["replay", "--input", "events.jsonl", "--output", "-", "--policy", "policy"];
    let mut child =
        place.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    drop(child.stdout.take());
    let ran = ran(child.wait_with_output().expect("it ends"));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[test]
fn check_is_content_without_any_file_and_with_ours() {
    let ran = Place::new().run(&["check"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("defaults hold") && ran.out.contains("standard policy"), "{}", ran.out);
    let place = Place::new();
    place.file("config/weir.toml", "[kafka]\nbrokers = \"k:9092\"\n");
    place.file("config/policy/p.yaml", LIMIT);
    let ran = place.run(&["check"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("config/weir.toml") && ran.out.contains("k:9092"), "{}", ran.out);
    assert!(ran.out.contains("1 limit,") && ran.out.contains("2 tests;"), "{}", ran.out);
}

#[test]
fn check_tells_all_problems_of_both_at_once() {
    let place = Place::new();
    place.file("config/weir.toml", "[kafka]\nbroker = \"k:9092\"\n[batch]\ninterval = 50\n");
    let policy = LIMIT.replace("key: [user]", "key: [usr]").replace("window: 1m", "window: 60");
    place.file("config/policy/p.yaml", policy);
    let ran = place.run(&["check"]);
    assert_eq!((ran.code, ran.out.as_str()), (78, ""));
    for place in [
        "config/weir.toml:2:1: error: ",
        "config/weir.toml:4:12: error: ",
        "config/policy/p.yaml:4:11: error: ",
        "config/policy/p.yaml:5:13: error: ",
    ] {
        assert!(ran.err.contains(place), "{place} in:\n{}", ran.err);
    }
    assert!(ran.err.contains("brokers") && ran.err.contains("user"), "suggestions in:\n{}", ran.err);
    assert!(ran.err.contains('^') && ran.err.contains("4 errors"), "{}", ran.err);
}

#[test]
fn check_tells_warnings_and_properties_that_kafka_would_refuse() {
    let place = Place::new();
    place.file(
        "policy/p.yaml",
        LIMIT.replace("max: 2", "max: 0").split("    tests:").next().unwrap_or_default(),
    );
    let ran = place.run(&["check", "--policy", "policy"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("policy/p.yaml:6:10: warning: "), "{}", ran.err);
    assert!(ran.out.contains("1 limit"), "{}", ran.out);
    place.file("config/weir.toml", "[kafka.properties]\n\"enable.idempotence\" = false\n");
    let ran = place.run(&["check"]);
    assert_eq!(ran.code, 78);
    assert!(ran.err.contains("config/weir.toml:2:") && ran.err.contains("enable.idempotence"), "{}", ran.err);
}

#[test]
fn a_policy_that_was_named_and_is_not_there_is_an_error() {
    let place = Place::new();
    place.file("events.jsonl", event("1", 0));
    for args in [
        &["check", "--policy", "none"][..],
        &["test", "--policy", "none"],
        &["signals", "--policy", "none"],
        &["replay", "--input", "events.jsonl", "--output", "-", "--policy", "none"],
    ] {
        let ran = place.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (78, ""), "{args:?}");
        assert!(ran.err.contains("none"), "{args:?}: {}", ran.err);
    }
}

#[test]
fn the_configured_policy_judges_where_none_is_named() {
    let place = Place::new();
    place.file("etc/weir.toml", "[policy]\ndir = \"rules\"\n");
    place.file("etc/rules/p.yaml", LIMIT);
    let mut command = place.command(&["test"]);
    let told = ran(command.env("WEIR_CONFIG", "etc/weir.toml").output().expect("it runs"));
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    assert!(told.out.starts_with("etc/rules: 2 tests\n"), "{}", told.out);
}

#[test]
fn tests_beside_the_rules_pass_or_fail_with_a_reason() {
    let place = Place::new();
    place.file("policy/p.yaml", LIMIT);
    let ran = place.run(&["test", "--policy", "policy"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("ok      twice: two pass\n"), "{}", ran.out);
    assert!(ran.out.ends_with("2 passed, 0 failed\n"), "{}", ran.out);
    place.file("policy/p.yaml", format!("{LIMIT}{FAILING}"));
    let ran = place.run(&["test", "--policy", "policy"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("FAILED  twice: a third passes (policy/p.yaml:21)\n"), "{}", ran.out);
    assert!(ran.out.contains("expected allow, got reject"), "{}", ran.out);
    assert!(ran.out.ends_with("2 passed, 1 failed\n"), "{}", ran.out);
}

#[test]
fn signals_are_a_table_or_data_and_the_schema_is_json() {
    let place = Place::new();
    let ran = place.run(&["signals"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let heads = ran.out.lines().next().unwrap_or_default();
    assert!(heads.starts_with("NAME") && heads.ends_with("MEANING"), "{heads}");
    let names = |text: &str| -> Vec<String> {
        text.lines().skip(1).map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
    };
    let data: Json = serde_json::from_str(&place.run(&["signals", "--format", "json"]).out).expect("JSON");
    let listed: Vec<&str> =
        data.as_array().expect("a list").iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names(&ran.out), listed);
    assert!(listed.contains(&"event.action") && listed.contains(&"account.new"), "{listed:?}");
    let schema: Json = serde_json::from_str(&place.run(&["signals", "--schema"]).out).expect("JSON");
    assert!(jsonschema::validator_for(&schema).is_ok() && schema["properties"]["limits"].is_object());
}

#[test]
fn completions_are_for_the_shell_that_was_named() {
    let ran = Place::new().run(&["completions", "bash"]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("complete -F _weir"), "{}", ran.out);
}

#[test]
fn kafka_that_does_not_answer_is_69() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let brokers = free.local_addr().expect("bound").to_string();
    drop(free);
    let place = Place::new();
    let commands: [&[&str]; 2] = [&["topics", "check"], &["ban", "list"]];
    let running = commands.map(|args| {
        let all = [args, &["--brokers", &brokers]].concat();
        place.command(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
    });
    for child in running {
        let ran = ran(child.wait_with_output().expect("it ends"));
        assert_eq!((ran.code, ran.out.as_str()), (69, ""));
        assert!(ran.err.contains(&brokers), "{}", ran.err);
    }
}

const PATIENCE: Duration = Duration::from_secs(10);

/// A broker with the topics of commands and bans.
fn broker() -> (Embedded, TopicNames) {
    let names = TopicNames::with_prefix("");
    let topics = [(Topic::Commands, 1), (Topic::Bans, 2)];
    (Embedded::start(&names, &topics).expect("an embedded broker"), names)
}

#[test]
fn bans_are_ordered_as_commands() {
    let (broker, names) = broker();
    let place = Place::new();
    let ban = |args: &[&str]| {
        let ran = place.run(&[&["ban"], args, &["--brokers", broker.bootstrap_servers()]].concat());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        ran.out.trim().to_owned()
    };
    let first = ban(&["add", "user:4711", "--for", "24h", "--reason", "ring", "--actor", "ann"]);
    let second = ban(&["lift", "user:4711", "--ban", &first, "--reason", "appeal", "--actor", "bob"]);
    assert_ne!(first, second);

    let start = TopicStart { topic: Topic::Commands, positions: vec![(0, 0)] };
    let input = Input::open(&broker.settings(), &names, &[start], InputLimits::default(), PATIENCE);
    let input = input.expect("an input");
    let mut read = Vec::new();
    while read.len() < 2 {
        let InputEvent::Records(batch) = input.next(PATIENCE) else { panic!("no records") };
        for record in batch.iter() {
            assert_eq!(record.key, Some(&b"user:4711"[..]));
            assert_eq!(record.headers.last("ce_type"), Some(&b"risk.command.v1"[..]));
            read.push(command::decode(record.value, &[]).expect("a command"));
        }
    }
    let entity = Entity::new(EntityKind::User, "4711");
    let length = Some(Span::from_secs(24 * 3600));
    assert_eq!((&read[0].id, read[0].actor.as_str(), read[0].reason.as_str()), (&first, "ann", "ring"));
    assert_eq!(
        read[0].action,
        CommandAction::Ban { entity: entity.clone(), verdict: Verdict::Block, length }
    );
    assert_eq!((&read[1].id, read[1].actor.as_str()), (&second, "bob"));
    assert_eq!(read[1].action, CommandAction::Unban { entity, ban: Some(first) });
    assert!(input.close(PATIENCE));
}

fn record(kind: EntityKind, value: &str, expires_at: Option<i64>) -> Ban {
    Ban {
        id: format!("b-{value}"),
        entity: Entity::new(kind, value),
        verdict: Verdict::Block,
        origin: Origin::Policy("penalty-100".into()),
        code: "PENALTY".into(),
        reason: "Too many refusals".into(),
        issued_at: Timestamp::from_millis(1_750_000_000_000),
        expires_at: expires_at.map(Timestamp::from_millis),
    }
}

#[test]
fn bans_in_force_are_listed() {
    let (broker, names) = broker();
    let place = Place::new();
    let list = |more: &[&str]| {
        let ran = place.run(&[&["ban", "list", "--brokers", broker.bootstrap_servers()], more].concat());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        ran.out
    };
    assert_eq!(list(&[]), "no bans are in force\n");
    for change in [
        BanChange::InForce(vec![record(EntityKind::User, "lifted", None)]),
        BanChange::InForce(vec![record(EntityKind::User, "over", Some(1_750_000_060_000))]),
        BanChange::InForce(vec![record(EntityKind::User, "held", None)]),
        BanChange::InForce(vec![record(EntityKind::Device, "d1", Some(4_000_000_000_000))]),
        BanChange::Gone(Entity::new(EntityKind::User, "lifted")),
    ] {
        let mut batch = OutBatch::default();
        let value = ban::encode(&change);
        let start = batch.record(Topic::Bans).key_bytes(Some(ban::key(&change).as_bytes()));
        start.value_bytes(value.as_deref()).finish();
        post(&broker.settings(), &names, &batch.get(0), PATIENCE).expect("it is written");
    }
    let text = list(&[]);
    assert!(text.contains("user:held") && text.contains("device:d1") && text.contains("2 bans"), "{text}");
    assert!(!text.contains("over") && !text.contains("user:lifted"), "{text}");
    assert!(text.contains("policy penalty-100") && text.contains("2096-10-02T07:06:40.000Z"), "{text}");
    let data: Json = serde_json::from_str(&list(&["--kind", "device", "--format", "json"])).expect("JSON");
    assert_eq!(data.as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&data[0]["entity"], &data[0]["expires_at"]),
        (&Json::from("device:d1"), &Json::from(4_000_000_000_000_i64))
    );
}

/// The files that come with the repository are in order, and so are their tests.
#[test]
fn what_is_shipped_is_in_order() {
    let place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ran = ran(place.command(&["check"]).current_dir(root).output().expect("it runs"));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.contains("config/weir.toml") && ran.out.contains("config/policy"), "{}", ran.out);
}

/// A folder with one checkpoint in it.
fn checkpointed(place: &Place) -> PathBuf {
    let dir = place.path("state");
    let mut checkpoints = Checkpoints::open(&dir, "weir run", Steps::default()).expect("its own folder");
    let meta = Meta {
        semantics: "1".into(),
        basis: "b".into(),
        policy: "0123456789abcdef".into(),
        policy_sources: Vec::new(),
        lineage: "line".into(),
        seq: 41,
        chain: "c".into(),
        journal_from: 0,
        positions: Vec::new(),
        created_at: 1_750_000_000_000,
    };
    let mut writer = checkpoints.begin(meta).expect("writable");
    let page = Page::new([2, 0, 0, 0, 500, 2], vec![7; 1000]).expect("a page");
    writer.write(page).expect("writable");
    let written = writer.finish().expect("writable");
    checkpoints.publish(written).expect("writable");
    dir
}

#[test]
fn checkpoints_are_listed_verified_and_carried_elsewhere() {
    let place = Place::new();
    let empty = place.run(&["checkpoint", "list"]);
    assert_eq!((empty.code, empty.out.as_str()), (0, "there are no checkpoints in weir-state\n"));
    let none = place.run(&["checkpoint", "export", "--output", "out.ckp"]);
    assert_eq!((none.code, none.err.as_str()), (1, "error: there are no checkpoints in weir-state\n"));
    checkpointed(&place);
    let listed = place.run(&["checkpoint", "list", "--state-dir", "state"]);
    assert!(listed.out.contains("2025-06-15T15:06:40.000Z  line/41"), "{}", listed.out);
    let listed = place.run(&["checkpoint", "list", "--state-dir", "state", "--format", "json"]);
    let json: Json = serde_json::from_str(&listed.out).expect("JSON");
    assert_eq!(json["checkpoints"][0]["seq"], 41);
    assert_eq!(json["unusable"], serde_json::json!([]));
    let out = place.run(&["checkpoint", "export", "--output", "out.ckp", "--state-dir", "state"]);
    assert_eq!(out.code, 0, "{}", out.err);
    let taken = place.run(&["checkpoint", "import", "out.ckp", "--state-dir", "other"]);
    assert!(taken.out.starts_with("out.ckp is now checkpoint 1 "), "{} {}", taken.out, taken.err);
    let sound = place.run(&["checkpoint", "verify", "--state-dir", "other"]);
    assert_eq!((sound.code, sound.out.as_str()), (0, "checkpoint 1 is sound: 0.1 MB of state\n"));
}

#[test]
fn a_damaged_checkpoint_is_told_with_its_file_and_ends_with_1() {
    let place = Place::new();
    let file = checkpointed(&place).join("generation-000000000001/segment-0000");
    let mut bytes = fs::read(&file).expect("it was written");
    bytes[2000] ^= 1;
    fs::write(&file, bytes).expect("writable");
    let verified = place.run(&["checkpoint", "verify", "1", "--state-dir", "state"]);
    assert_eq!(verified.code, 1);
    assert!(verified.out.contains("segment-0000 is damaged at byte "), "{}", verified.out);
    let verified = place.run(&["checkpoint", "verify", "--state-dir", "state", "--format", "json"]);
    let json: Json = serde_json::from_str(&verified.out).expect("JSON");
    assert_eq!((verified.code, &json["checkpoints"][0]["sound"]), (1, &Json::Bool(false)));
    let missing = place.run(&["checkpoint", "verify", "9", "--state-dir", "state"]);
    assert!(missing.out.contains("there is no checkpoint 9 in state"), "{}", missing.out);
}

#[test]
fn a_folder_in_use_is_read_with_a_word_and_not_changed() {
    let place = Place::new();
    let dir = checkpointed(&place);
    let _used = Checkpoints::open(&dir, "weir run", Steps::default()).expect("nobody uses it");
    let user = format!("state is in use by process {} (weir run)", std::process::id());
    let listed = place.run(&["checkpoint", "list", "--state-dir", "state"]);
    assert_eq!(listed.code, 0);
    assert!(listed.err.starts_with(&user), "{}", listed.err);
    let verified = place.run(&["checkpoint", "verify", "--state-dir", "state"]);
    assert_eq!((verified.code, verified.out.as_str()), (0, "checkpoint 1 is sound: 0.1 MB of state\n"));
    let out = place.run(&["checkpoint", "export", "--output", "used.ckp", "--state-dir", "state"]);
    assert!(out.code == 0 && out.err.starts_with(&user), "{} {}", out.out, out.err);
    let refused = place.run(&["checkpoint", "import", "none.ckp", "--state-dir", "state"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.starts_with(&format!("error: {user}")), "{}", refused.err);
}
