//! `weir simulate` as it is typed: two files, the truth on one side, and words when something is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;
use tempfile::TempDir;

fn weir(dir: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(words).current_dir(dir).stdin(Stdio::null());
    command.output().expect("it starts")
}

fn place() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

#[test]
fn events_and_labels_are_files_that_fit_together() {
    let dir = place();
    let words = ["simulate", "--scenario", "framing", "--seed", "3", "--scale", "0.05", "--stats", "json"];
    let files = ["--output", "events.jsonl", "--labels", "labels.csv"];
    let ran = weir(dir.path(), &[&words[..], &files[..]].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    let stats: Json = serde_json::from_slice(&ran.stderr).expect("one line of JSON");
    let events = fs::read_to_string(dir.path().join("events.jsonl")).expect("written");
    let labels = fs::read_to_string(dir.path().join("labels.csv")).expect("written");
    assert_eq!(stats["events"].as_u64(), Some(events.lines().count() as u64));
    let mut rows = labels.lines();
    assert_eq!(rows.next(), Some("event_id,user_id,scenario,label,group,target_id,from"));
    let (mut of_events, mut of_accounts) = (BTreeMap::new(), BTreeMap::new());
    for row in rows {
        let cells: Vec<&str> = row.split(',').collect();
        if cells[0].is_empty() {
            of_accounts.insert(cells[1], cells[3])
        } else {
            of_events.insert(cells[0], cells[3])
        };
    }
    let mut forged = BTreeSet::new();
    for line in events.lines() {
        let event: Json = serde_json::from_str(line).expect("JSON");
        let id = event["event_id"].as_str().expect("an id");
        let user = event["user_id"].as_str();
        let label = of_events.get(id).or_else(|| user.and_then(|user| of_accounts.get(user)));
        if *label.expect("every event has a label") == "attack" {
            forged.insert(user.map(str::to_owned));
        }
    }
    assert_eq!(forged.len(), 2, "the names of two people are used");
    assert!(of_accounts.values().all(|label| *label == "honest"));
    assert!(stats["campaigns"][0]["first_at"].as_i64() > stats["first_at"].as_i64().map(|at| at + 3_600_000));
}

#[test]
fn events_can_be_piped_and_are_the_same_bytes() {
    let dir = place();
    let words = ["simulate", "--scenario", "campus", "--seed", "9", "--scale", "0.02", "--labels"];
    let piped = weir(dir.path(), &[&words[..], &["a.csv", "--output", "-"]].concat());
    let again = weir(dir.path(), &[&words[..], &["b.csv", "--output", "events.jsonl"]].concat());
    assert!(piped.status.success() && again.status.success());
    assert!(!piped.stdout.is_empty());
    assert!(piped.stdout == fs::read(dir.path().join("events.jsonl")).expect("written"));
    let labels = |name| fs::read(dir.path().join(name)).expect("written");
    assert_eq!(labels("a.csv"), labels("b.csv"));
}

#[test]
fn the_list_names_every_scenario() {
    let dir = place();
    let text = String::from_utf8(weir(dir.path(), &["simulate", "--list"]).stdout).expect("text");
    assert_eq!(text.lines().count(), 22);
    let json: Json =
        serde_json::from_slice(&weir(dir.path(), &["simulate", "--list", "--stats", "json"]).stdout)
            .expect("JSON");
    for one in json.as_array().expect("a list") {
        assert!(text.contains(one["name"].as_str().expect("a name")));
    }
}

#[test]
fn what_cannot_be_done_is_told() {
    let dir = place();
    for (words, code, says) in [
        (&["--scenario", "nonesuch", "--output", "e", "--labels", "l"][..], 2, "--list"),
        (&["--scenario", "echo", "--output", "e"], 2, "--labels"),
        (&["--scenario", "echo", "--output", "e", "--labels", "e"], 2, "two files"),
        (&["--scenario", "echo", "--output", "e", "--labels", "l", "--scale", "0"], 2, "0.001"),
        (&["--scenario", "echo", "--output", "no/such/place", "--labels", "l"], 1, "no/such/place"),
    ] {
        let ran = weir(dir.path(), &[&["simulate"], words].concat());
        let text = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(code), "{words:?}: {text}");
        assert!(text.contains(says), "{words:?}: {text}");
    }
}
