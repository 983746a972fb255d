//! `weir evaluate` as it is typed, over small files whose figures were worked out by hand, and over the simulator.

#[path = "support/place.rs"]
mod place;

use std::fs;
use std::io::{Cursor, Write as _};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use place::Place;
use serde_json::Value as Json;
use weir::config::standard;
use weir::engine::Engine;
use weir::engine::key::HashSeed;
use weir::engine::policy::load::load;
use weir::engine::time::Timestamp;
use weir::evaluate::read::{Faults, Format, Input, Labels, Mapping, Session};
use weir::evaluate::{Figures, Groups, Rehearsal, Trial};
use weir::replay::Options;
use weir::sim::{Traffic, labels, scenario};
use weir::wire::interaction::DecodeLimits;

/// A limit that rejects a user's third event of a kind within a minute, a rule that demotes, and one that holds and
/// keeps a case about the target.
const POLICY: &str = "version: 1
limits:
  - id: twice
    key: [user, action]
    window: 1m
    max: 2
    verdict: reject
    code: TWICE
    text: t
    source: s
    owner: o
    tests:
      - name: two pass
        events: [{ at: 0s, repeat: 2, every: 1s, action: like, user_id: u }]
        expect: { verdict: allow, fires: false }
      - name: a third is refused
        events: [{ at: 0s, repeat: 3, every: 1s, action: like, user_id: u }]
        expect: { verdict: reject, by: twice }
rules:
  - id: bad
    family: content
    when: event.action == 'bad'
    verdict: demote
    code: BAD
    text: t
    source: s
    owner: o
    tests:
      - name: it fires
        events: [{ at: 0s, action: bad, user_id: u }]
        expect: { verdict: demote, fires: true }
      - name: it does not
        events: [{ at: 0s, action: like, user_id: u }]
        expect: { verdict: allow, fires: false }
  - id: push
    family: content
    when: event.action == 'push'
    verdict: hold
    case: { entity: target, proposal: look }
    code: PUSH
    text: t
    source: s
    owner: o
    tests:
      - name: it fires
        events: [{ at: 0s, action: push, user_id: u, target_id: t }]
        expect: { verdict: hold, fires: true }
      - name: it does not
        events: [{ at: 0s, action: like, user_id: u, target_id: t }]
        expect: { verdict: allow, fires: false }
";

const T0: i64 = 1_750_000_000_000;

fn event(id: &str, second: i64, user: &str, action: &str, target: &str, ip: &str) -> String {
    let ip = if ip.is_empty() { String::new() } else { format!(r#","ip":"{ip}""#) };
    let at = T0 + second * 1000;
    format!(
        r#"{{"event_id":"{id}","occurred_at":{at},"action":"{action}","user_id":"{user}","target_id":"{target}"{ip}}}"#
    )
}

/// Four honest accounts, two attackers and one that nobody labelled; one line is damaged.
fn small(place: &Place) {
    place.file("policy/p.yaml", POLICY);
    let lines = [
        event("1", 0, "h1", "like", "t9", "198.51.100.1"),
        event("2", 1, "h1", "like", "t9", "198.51.100.1"),
        event("3", 2, "h1", "like", "t9", "198.51.100.1"),
        event("4", 3, "h1", "like", "t9", "198.51.100.1"),
        event("5", 4, "h2", "bad", "t9", "198.51.100.1"),
        "{\"damaged\"".to_owned(),
        event("6", 10, "a1", "like", "t1", "198.51.100.1"),
        event("7", 20, "a2", "like", "t1", "198.51.100.3"),
        event("8", 30, "h3", "like", "t1", "198.51.100.2"),
        event("9", 35, "h4", "like", "t1", ""),
        event("10", 40, "a1", "push", "t1", "198.51.100.1"),
        event("11", 41, "x", "bad", "t1", "198.51.100.2"),
    ];
    place.file("events.jsonl", lines.join("\n"));
    place.file(
        "labels.csv",
        "event_id,user_id,label,group,scenario,target_id\n\
         ,h1,honest,,s,\n,h2,honest,,s,\n,h3,honest,,s,\n,h4,honest,,s,\n\
         ,a1,attack,g,s,t1\n,a2,attack,g,s,t1\n,z,honest,,s,\n,y,perhaps,,s,\n",
    );
}

const SMALL: [&str; 6] = ["--events", "events.jsonl", "--labels", "labels.csv", "--policy", "policy"];

/// At demote: a1 caught, a2 not; h1 (by the limit) and h2 (by the rule) hurt, h3 and h4 not.
#[test]
fn confusion_counts_are_those_worked_out_by_hand() {
    let place = Place::of(&["evaluate"]);
    small(&place);
    let (figures, ran) = place.found(&SMALL);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let counts = |of: &Json| {
        ["true_positives", "false_positives", "false_negatives", "true_negatives"]
            .map(|name| of[name].as_u64().expect("a count"))
    };
    let level = |unit: &str, place: usize| counts(&figures[unit][place]);
    assert_eq!(figures["accounts"][0]["verdict"], "demote");
    assert_eq!(level("accounts", 0), [1, 2, 1, 2]);
    assert_eq!(level("accounts", 2), [1, 1, 1, 3], "at hold: a1 and h1");
    assert_eq!(level("accounts", 3), [0, 1, 2, 3], "at reject: h1");
    assert_eq!(level("events", 0), [1, 3, 2, 4]);
    let close = |of: &Json, expected: f64| {
        let got = of.as_f64().expect("a number");
        assert!((got - expected).abs() < 5e-5, "{got}, not {expected}");
    };
    // Clopper-Pearson: 1 of 3, 1 of 2 and 2 of 4.
    let demote = &figures["accounts"][0];
    for (rate, value, low, high) in [
        ("precision", 1.0 / 3.0, 0.0084, 0.9057),
        ("recall", 0.5, 0.0126, 0.9874),
        ("false_positive_rate", 0.5, 0.0676, 0.9324),
    ] {
        close(&demote[rate]["value"], value);
        close(&demote[rate]["clopper_pearson"]["low"], low);
        close(&demote[rate]["clopper_pearson"]["high"], high);
    }
    // h1 and h2 behind one address, h3 behind one, h4 behind none: three clusters.
    assert_eq!(demote["false_positive_rate"]["by_address"]["clusters"], 3);
    assert_eq!(figures["events"][0]["false_positive_rate"]["by_account"]["clusters"], 4);
}

#[test]
fn harm_is_told_by_verdict_cause_and_exit() {
    let place = Place::of(&["evaluate"]);
    small(&place);
    let (figures, _) = place.found(&SMALL);
    let harm = &figures["harm"];
    assert_eq!(harm["accounts"], 4);
    let met: Vec<_> =
        harm["met"].as_array().expect("a list").iter().filter(|met| met["accounts"] != 0).collect();
    let told: Vec<_> = met.iter().map(|met| (met["verdict"].as_str(), met["cause"].as_str())).collect();
    assert_eq!(told, [(Some("demote"), Some("suspicion")), (Some("reject"), Some("limit"))]);
    let exits: Vec<_> = harm["exits"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|exit| {
            (exit["from"].as_u64(), exit["acted_on"]["hits"].as_u64(), exit["acted_on"]["of"].as_u64())
        })
        .collect();
    // h4 has no address; h3 is alone behind one (x has no label); h1 and h2 share one with a1.
    assert_eq!(
        exits,
        [(Some(0), Some(0), Some(1)), (Some(1), Some(0), Some(1)), (Some(2), Some(2), Some(2))]
    );
}

#[test]
fn a_group_is_timed_from_its_first_event() {
    let place = Place::of(&["evaluate"]);
    small(&place);
    let (figures, _) = place.found(&SMALL);
    let group = &figures["groups"][0];
    assert_eq!((&group["scenario"], &group["group"]), (&Json::from("s"), &Json::from("g")));
    assert_eq!((&group["accounts"], &group["acted_on"]["hits"]), (&Json::from(2), &Json::from(1)));
    assert_eq!(group["acted_after"], 30.0);
    assert_eq!(group["member_case_after"], 30.0);
    let counts = |of: &Json| ["all", "counted_at_first", "counted_at_last"].map(|name| of[name].as_u64());
    assert_eq!(counts(&group["events"]), [Some(3), Some(2), Some(2)]);
    let pushed = &group["pushed"];
    assert_eq!((&pushed["action"], &pushed["targets"][0]), (&Json::from("like"), &Json::from("t1")));
    assert_eq!(counts(&pushed["events"]), [Some(2), Some(2), Some(2)]);
    assert_eq!(pushed["found_after"], 30.0);
}

#[test]
fn what_is_damaged_or_not_labelled_is_told_and_the_rest_is_done() {
    let place = Place::of(&["evaluate"]);
    small(&place);
    let (figures, ran) = place.found(&SMALL);
    assert_eq!(figures["read"]["consumed"], 12);
    assert_eq!(figures["read"]["unlabelled"], 1);
    assert_eq!(figures["read"]["outcomes"], serde_json::json!({"decided": 11, "dead_lettered": 1}));
    for told in [
        "events.jsonl:6:10: malformed_json",
        "labels.csv:8: label of no account",
        "labels.csv:9:4: label: `perhaps`",
    ] {
        assert!(ran.err.contains(told), "{told} in:\n{}", ran.err);
    }
    assert!(ran.out.contains("1 decisions, in no figure below"), "{}", ran.out);
}

#[test]
fn the_report_is_one_page_that_asks_nobody() {
    let place = Place::of(&["evaluate"]);
    small(&place);
    let ran = place.run(&[&SMALL[..], &["--report", "report.html"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let page = fs::read_to_string(place.path("report.html")).expect("it was written");
    for part in
        ["<!DOCTYPE html>", "<svg", "Attack groups", "Honest accounts by the size of their exit", "</html>"]
    {
        assert!(page.contains(part), "{part}");
    }
    for asks in ["http:", "https:", "src=", "href=", "<script"] {
        assert!(!page.contains(asks), "{asks}");
    }
    let again = place.run(&[&SMALL[..], &["--report", "again.html"]].concat());
    assert_eq!(again.out, ran.out);
    assert_eq!(fs::read_to_string(place.path("again.html")).expect("it was written"), page);
}

/// An event's own row beats its account's, and a stolen account is honest until it is stolen.
#[test]
fn labels_of_events_and_of_stolen_accounts() {
    let place = Place::of(&["evaluate"]);
    small(&place);
    place.file(
        "labels.csv",
        format!(
            "event_id,user_id,label,group,scenario,from\n,h1,attack,g,s,{}\n5,h2,attack,g,s,\n,h2,honest,,s,\n",
            T0 + 3000
        ),
    );
    let (figures, _) = place.found(&SMALL);
    // Events of h1: three honest (one of them rejected), one attack (rejected). Of h2: one attack, forged in its name.
    let events = &figures["events"][0];
    let counts = ["true_positives", "false_positives", "false_negatives", "true_negatives"];
    assert_eq!(counts.map(|name| events[name].as_u64()), [Some(2), Some(1), Some(0), Some(2)]);
    // h1 is an attacker and caught; h2 is honest, and what was done in its name is not held against weir.
    let accounts = &figures["accounts"][0];
    assert_eq!(counts.map(|name| accounts[name].as_u64()), [Some(1), Some(0), Some(0), Some(1)]);
}

#[test]
fn a_strangers_table_is_read_by_a_mapping() {
    let place = Place::of(&["evaluate"]);
    place.file("policy/p.yaml", POLICY);
    let table = "when,who,what,suspect\n\
        1750000000,ann,x1,0\n1750000001,ann,x2,0\n1750000002,ann,\"x,3\",0\n\
        yesterday,ann,x4,0\n1750000003,bob,x1\n1750000004,bob,x1,1\n";
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(table.as_bytes()).expect("memory takes all");
    place.file("log.csv.gz", packed.finish().expect("memory takes all"));
    let args = [
        "--events",
        "log.csv.gz",
        "--policy",
        "policy",
        "--map",
        "user=who,target=what,time=when",
        "--action",
        "like",
        "--label-column",
        "suspect",
    ];
    let (figures, ran) = place.found(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let accounts = &figures["accounts"][0];
    assert_eq!(
        (&accounts["false_positives"], &accounts["false_negatives"]),
        (&Json::from(1), &Json::from(1))
    );
    // Damaged rows count as damaged lines do.
    assert_eq!(figures["read"]["consumed"], 6);
    assert_eq!(figures["read"]["outcomes"], serde_json::json!({"decided": 4, "dead_lettered": 2}));
    for told in
        ["log.csv.gz:5:1: row: `yesterday` is no time", "log.csv.gz:6:16: row: 3 fields where there are 4"]
    {
        assert!(ran.err.contains(told), "{told} in:\n{}", ran.err);
    }
    let missing = place.run(&["--events", "log.csv.gz", "--map", "time=ts", "--label", "honest"]);
    assert_eq!(missing.code, 1);
    assert!(missing.err.contains("when, who, what, suspect"), "{}", missing.err);
}

#[test]
fn a_file_that_breaks_off_is_done_as_far_as_it_goes() {
    let place = Place::of(&["evaluate"]);
    small(&place);
    let lines: Vec<String> = (0..5000)
        .map(|n| event(&format!("{n}x{}", n * 7919 % 1009), n / 10, &format!("u{n}"), "view", "t", ""))
        .collect();
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(lines.join("\n").as_bytes()).expect("memory takes all");
    let mut bytes = packed.finish().expect("memory takes all");
    bytes.truncate(bytes.len() / 2);
    place.file("events.jsonl.gz", bytes);
    let args = ["--events", "events.jsonl.gz", "--policy", "policy", "--label", "honest"];
    let (figures, ran) = place.found(&args);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let decided = figures["read"]["outcomes"]["decided"].as_u64().expect("a count");
    assert!((1000..4900).contains(&decided), "{decided}");
    assert!(ran.err.contains("file broken off"), "{}", ran.err);
}

#[test]
fn no_output_overwrites_what_is_read() {
    let place = Place::of(&["evaluate"]);
    small(&place);
    for (input, words) in [("events.jsonl", "is the input itself"), ("labels.csv", "is the file of labels")] {
        let before = place.read(input);
        for output in ["--report", "--json"] {
            let ran = place.run(&[&SMALL[..], &[output, &format!("./{input}")]].concat());
            assert!(ran.code == 2 && ran.err.contains(words), "{output} {input}: {}", ran.err);
            assert_eq!(place.read(input), before);
        }
    }
}

#[test]
fn wrong_use_is_told() {
    let place = Place::of(&["evaluate"]);
    small(&place);
    for (args, code) in [
        (&["--labels", "labels.csv"][..], 2),
        (&["--all", "--events", "events.jsonl"], 2),
        (&["--all", "--seeds", "5..1"], 2),
        (&["--all", "--scale", "0"], 2),
        (&["--scenario", "no-such"], 2),
        (&["--events", "events.jsonl", "--map", "person=who", "--label", "honest"], 2),
        (&["--events", "events.jsonl"], 2),
        (&["--events", "no-such.jsonl", "--label", "honest"], 1),
        (&["--events", "events.jsonl", "--labels", "events.jsonl"], 1),
    ] {
        let ran = place.run(args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        assert!(ran.err.contains("error: "), "{args:?}: {}", ran.err);
    }
}

#[test]
fn scenarios_are_held_against_bounds() {
    let place = Place::of(&["evaluate"]);
    let args = ["--scenario", "echo,honest", "--seeds", "1,2", "--scale", "0.01", "--jobs", "2"];
    let (figures, ran) = place.found(&args);
    let runs: Vec<_> = figures["runs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|run| (run["scenario"].as_str().expect("a name"), run["seed"].as_u64().expect("a seed")))
        .collect();
    assert_eq!(runs, [("echo", 1), ("echo", 2), ("honest", 1), ("honest", 2)]);
    let holds = |held: &Json| held["holds"].as_bool().expect("a truth");
    let all = figures["bounds"].as_array().expect("a list").iter().all(holds);
    assert_eq!(figures["holds"], all);
    assert_eq!(ran.code, i32::from(!all), "{}", ran.out);
    let one = place.run(&["--scenario", "echo,honest", "--seeds", "1,2", "--scale", "0.01"]);
    assert_eq!(one.out, ran.out, "how many run at once changes nothing");
}

/// At full size: the incident, the same with jittered fingerprints (which in time become what is usual), and an honest crowd
/// behind one exit with one device image. What must hold of each stands in its bounds.
#[test]
fn the_incident_its_disguise_and_a_school_hold_at_full_size() {
    let place = Place::of(&["evaluate"]);
    let args = ["--scenario", "echo,spoofed-devices,school-lab", "--seeds", "301..301", "--scale", "1"];
    let (figures, ran) = place.found(&args);
    let worst = |scenario: &str, metric: &str| {
        let all = figures["bounds"].as_array().expect("a list");
        let of = all.iter().find(|held| held["scenario"] == scenario && held["metric"] == metric);
        of.and_then(|held| held["worst"].as_f64()).unwrap_or_else(|| panic!("no {metric} of {scenario}"))
    };
    assert!(
        worst("echo", "accounts_acted_on") >= 0.95 && worst("spoofed-devices", "accounts_acted_on") >= 0.9
    );
    assert_eq!((figures["holds"].as_bool(), ran.code), (Some(true), 0), "{}", ran.out);
}

/// The road over files and the road without them give the same figures.
#[test]
fn a_rehearsal_is_what_its_files_would_give() {
    let policy = load(&standard::files()).expect("the standard policy loads").policy;
    let keys = HashSeed(1, 2);
    for name in ["echo", "framing", "stolen-accounts"] {
        let entry = scenario::find(name).expect("it is there");
        let direct = Rehearsal { scenario: entry, seed: 7, scale: 0.01 }.run(&policy, keys);

        let mut traffic = Traffic::new(entry, 7, 0.01);
        let (mut events, mut rows) = (Vec::new(), format!("{}\n", labels::HEADER));
        while let Some(told) = traffic.next_event() {
            events.extend_from_slice(told.json);
            events.push(b'\n');
            rows.extend(told.label.map(|row| format!("{row}\n")));
        }
        while let Some(row) = traffic.account_label() {
            rows.push_str(&format!("{row}\n"));
        }
        let (mut groups, mut faults) = (Groups::default(), Faults::default());
        let read = Labels::read("labels", rows.as_bytes(), &mut groups, &mut faults).expect("labels");
        let mut session = Session::new(Mapping::default(), read, groups, faults);
        let as_of = Timestamp::from_millis(i64::MAX);
        let options = Options { name: "files".to_owned(), as_of, limits: DecodeLimits::default() };
        let mut engine = Engine::new(Arc::clone(&policy), keys);
        let mut trial = Trial::new(&mut engine, &options);
        let from = Box::new(Cursor::new(events));
        session
            .hear(&mut trial, Input { name: "events".to_owned(), from, format: Format::JsonLines })
            .expect("memory reads");
        let filed = Figures::of(&trial.end(), &session.groups);
        assert_eq!(session.faults, Faults::default(), "{name}");
        assert_eq!(filed.read, direct.read, "{name}");
        assert_eq!(filed.accounts, direct.accounts, "{name}");
        assert_eq!(filed.events, direct.events, "{name}");
        assert_eq!(filed.harm, direct.harm, "{name}");
        assert_eq!(filed.account_curve, direct.account_curve, "{name}");
        assert_eq!(filed.event_curve, direct.event_curve, "{name}");
    }
}
