//! `weir backtest` as it is typed, over small files whose findings were worked out by hand, and over the simulator.

#[path = "support/place.rs"]
mod place;

use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use place::Place;
use serde_json::{Value as Json, json};
use weir::backtest::{Part, Pass, Range, Side, Thin, Who};
use weir::config::standard;
use weir::engine::Engine;
use weir::engine::event::Event;
use weir::engine::key::HashSeed;
use weir::engine::policy::load::load;
use weir::engine::time::{Span, Timestamp};
use weir::replay::{Options, Panel, Record, Turn};
use weir::sim::{Traffic, scenario};
use weir::stream::{Embedded, Feed, Topic, TopicNames};
use weir::wire::interaction::{DecodeLimits, decode};

/// A limit that rejects what is more than `max` a minute.
fn limit(max: u32) -> String {
    format!(
        "  - {{ id: pace, key: [user, action], window: 1m, max: {max}, verdict: reject, code: PACE, text: t, source: s, \
         owner: o }}\n"
    )
}

fn rule(id: &str, when: &str, does: &str) -> String {
    let code = id.to_uppercase();
    format!(
        "  - {{ id: {id}, family: content, when: \"{when}\", {does}, code: {code}, text: t, source: s, owner: o }}\n"
    )
}

/// The policy of now: two a minute.
fn now() -> String {
    format!(
        "version: 1\nlimits:\n{}rules:\n{}",
        limit(2),
        rule("bad", "event.action == 'bad'", "verdict: demote")
    )
}

/// The candidate: three a minute, and comments wait for a person.
fn then() -> String {
    format!(
        "version: 1\nlimits:\n{}rules:\n{}{}{}",
        limit(3),
        rule("bad", "event.action == 'bad'", "verdict: demote"),
        rule("talk", "event.action == 'comment'", "verdict: hold"),
        rule("shy", "event.action == 'like'", "verdict: hold, mode: shadow")
    )
}

const T0: i64 = 1_750_000_000_000;

fn event(id: &str, second: i64, user: &str, action: &str, ip: &str) -> String {
    let at = T0 + second * 1000;
    format!(
        r#"{{"event_id":"{id}","occurred_at":{at},"action":"{action}","user_id":"{user}","target_id":"t","ip":"{ip}"}}"#
    )
}

/// Five likes of one account within a minute, a comment, something bad; one line is damaged.
///
/// |        | now (2 a minute)       | then (3 a minute)     |
/// |--------|------------------------|-----------------------|
/// | like 1, 2 | allow               | allow                 |
/// | like 3 | reject                 | allow                 |
/// | like 4, 5 | reject              | reject                |
/// | comment | allow                 | hold                  |
/// | bad    | demote                 | demote                |
fn small(place: &Place) {
    place.file("now/p.yaml", now());
    place.file("then/p.yaml", then());
    let lines = [
        event("1", 0, "ann", "like", "198.51.100.7"),
        event("2", 10, "ann", "like", "198.51.100.7"),
        event("3", 20, "ann", "like", "198.51.100.7"),
        "{\"damaged".to_owned(),
        event("4", 30, "ann", "like", "198.51.100.7"),
        event("5", 40, "ann", "like", "198.51.100.7"),
        event("6", 50, "bob", "comment", "203.0.113.9"),
        event("7", 51, "eve", "bad", "203.0.113.9"),
    ];
    place.file("events.jsonl", lines.join("\n"));
}

const SMALL: [&str; 6] = ["--input", "events.jsonl", "--policy", "then", "--against", "now"];

#[test]
fn the_matrix_is_the_one_worked_out_by_hand() {
    let place = Place::of(&["backtest"]);
    small(&place);
    let (found, ran) = place.found(&SMALL);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let matrix = &found["contrasts"][0]["matrix"];
    let cell = |now: &str, then: &str| matrix[now][then].as_u64().expect("a count");
    assert_eq!([cell("allow", "allow"), cell("reject", "allow"), cell("reject", "reject")], [2, 1, 2]);
    assert_eq!([cell("allow", "hold"), cell("demote", "demote")], [1, 1]);
    let figure = |name: &str| (found["figures"][name]["value"].clone(), found["figures"][name]["of"].clone());
    assert_eq!(figure("flips"), (json!(2.0), json!(7.0)));
    assert_eq!(figure("new_holds"), (json!(1.0), json!(7.0)));
    assert_eq!(figure("newly_allowed"), (json!(1.0), json!(7.0)));
    assert_eq!(figure("newly_touched_accounts"), (json!(1.0), json!(3.0)));
    assert_eq!(figure("undecided"), (json!(1.0), json!(8.0)));
    let affected = found["contrasts"][0]["accounts"].as_array().expect("a list");
    let told: Vec<_> = affected.iter().map(|of| (&of["account"], &of["now"], &of["then"])).collect();
    assert_eq!(
        told,
        [
            (&json!("ann"), &json!("reject"), &json!("allow")),
            (&json!("bob"), &json!("allow"), &json!("hold"))
        ]
    );
    assert_eq!(affected[0]["lost"], json!({"pace": 1}));
    assert_eq!(affected[1]["gained"], json!({"talk": 1}));
}

#[test]
fn each_rule_is_counted_with_its_accounts_and_whom_it_speaks_with() {
    let place = Place::of(&["backtest"]);
    small(&place);
    let (found, _) = place.found(&SMALL);
    let rules = found["policies"][0]["rules"].as_array().expect("a list");
    let rule = |id: &str| rules.iter().find(|rule| rule["id"] == id).unwrap_or_else(|| panic!("{id}"));
    assert_eq!((&rule("pace")["hits"], &rule("pace")["accounts"]["accounts"]), (&json!(2), &json!(1)));
    assert_eq!((&rule("talk")["hits"], &rule("talk")["held_accounts"]), (&json!(1), &json!(1)));
    // Where the limit rejects, rules are asked no more.
    assert_eq!((&rule("shy")["hits"], &rule("shy")["shadow"]), (&json!(0), &json!(3)));
    assert_eq!(rule("shy")["overlaps"], json!({}));
    assert_eq!((&rule("bad")["alone"], &rule("bad")["mode"]), (&json!(1), &json!("live")));
    let outcomes = &found["policies"][0]["outcomes"];
    assert_eq!(outcomes, &json!({"decided": 7, "dead_lettered": 1}));
}

#[test]
fn the_gate_has_an_exit_code_of_its_own() {
    let place = Place::of(&["backtest"]);
    small(&place);
    let run = |gate: &str| place.run(&[&SMALL[..], &["--fail-on", gate]].concat());
    let shut = run("new_holds > 0.1%");
    assert_eq!(shut.code, 3, "{}", shut.err);
    assert!(shut.err.contains("new_holds = 14.2857 %"), "{}", shut.err);
    assert_eq!(run("new_holds > 1 or flips > 50%").code, 0);
    let unknown = run("new_hold > 1");
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("did you mean `new_holds`?") && unknown.err.contains("reviews_per_day"));
    let unknowable = run("recall < 90%");
    assert_eq!((unknowable.code, unknowable.err.contains("--labels")), (2, true), "{}", unknowable.err);
    assert!(
        place
            .run(&["--input", "events.jsonl", "--policy", "then", "--fail-on", "flips >"])
            .err
            .contains("column")
    );
}

#[test]
fn several_policies_go_through_one_pass() {
    let place = Place::of(&["backtest"]);
    small(&place);
    place.file("lax/p.yaml", format!("version: 1\nlimits:\n{}", limit(100)));
    let (found, ran) = place.found(&[&SMALL[..], &["--against", "lax", "--against", "then"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("held against itself"), "{}", ran.err);
    let flips: Vec<_> = found["contrasts"].as_array().expect("a list").iter().collect();
    assert_eq!(flips.len(), 2);
    assert_eq!(flips[0]["figures"]["flips"]["value"], 2.0);
    // Against 100 a minute and no rules: likes 4 and 5, the comment, and what is bad.
    assert_eq!(flips[1]["figures"]["stronger"]["value"], 4.0);
    let alone = place.found(&["--input", "events.jsonl", "--policy", "now", "--against", "now"]).0;
    assert_eq!((alone["contrasts"].as_array().map(Vec::len), alone["figures"].get("flips")), (Some(0), None));
    // Alone, the accounts that are acted on are told: three likes of ann, one act of eve.
    let acted: Vec<_> = alone["acted_on"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|of| (&of["account"], &of["changes"]))
        .collect();
    assert_eq!(acted, [(&json!("ann"), &json!(3)), (&json!("eve"), &json!(1))]);
    assert_eq!(alone["acted_on"][0]["gained"], json!({"pace": 3}));
}

#[test]
fn what_cannot_be_read_is_told_with_its_place_and_the_rest_is_done() {
    let place = Place::of(&["backtest"]);
    small(&place);
    let (found, ran) = place.found(&SMALL);
    assert!(ran.err.contains("events.jsonl:4:9: malformed_json"), "{}", ran.err);
    assert_eq!(found["not_read"]["counts"], json!({"malformed_json": 1}));

    // A file that is cut off: what was whole is decided.
    let text: String = (0..20_000).fold(String::new(), |mut text, n| {
        let user = n * 7919 % 104_729;
        writeln!(text, "{}", event(&n.to_string(), n, &format!("u{user}"), "like", "198.51.100.7"))
            .expect("memory");
        text
    });
    let mut packed = zstd::encode_all(text.as_bytes(), 3).expect("it packs");
    place.file("whole.jsonl.zst", &packed);
    packed.truncate(packed.len() / 2);
    place.file("cut.jsonl.zst", &packed);
    let policy = ["--policy", "then", "--against", "now"];
    let (whole, ran) = place.found(&[&["--input", "whole.jsonl.zst"], &policy[..]].concat());
    assert_eq!((ran.code, &whole["records"]["inside"]), (0, &json!(20_000)), "{}", ran.err);
    let (cut, ran) = place.found(&[&["--input", "cut.jsonl.zst"], &policy[..]].concat());
    let inside = cut["records"]["inside"].as_u64().expect("a count");
    assert!(inside > 1000 && inside < 20_000, "{inside}: {}", ran.err);
    assert!(ran.code == 1 && ran.err.contains("error: the input broke off"), "{}", ran.err);
    let place_told = format!(
        "cut.jsonl.zst:{}: file broken off: breaks off",
        cut["records"]["read"].as_u64().unwrap() + 1
    );
    assert!(ran.err.contains(&place_told), "{place_told}: {}", ran.err);
    assert_eq!(cut["not_read"]["counts"]["file broken off"], 1);

    // A column that is not there.
    place.file("log.csv", "who,when\nann,1750000000\n");
    let missing = place.run(
        &[&["--input", "log.csv", "--map", "user=account,time=when", "--action", "like"], &policy[..]]
            .concat(),
    );
    assert_eq!(missing.code, 1);
    assert!(
        missing.err.contains("no column `account`") && missing.err.contains("who, when"),
        "{}",
        missing.err
    );

    // Nothing can be decided: all of it lies in the future.
    let future = place.run(&[&SMALL[..], &["--as-of", "2020-01-01T00:00:00Z"]].concat());
    assert!(
        future.code == 65 && future.err.contains("error: none of 7 events was decided"),
        "{}",
        future.err
    );

    // A range that holds nothing.
    let empty = place.run(&[&SMALL[..], &["--since", "2031-01-01T00:00:00Z"]].concat());
    assert_eq!(empty.code, 65);
    assert!(empty.err.contains("of 8 records 7 lie before the warm-up"), "{}", empty.err);
}

/// Figures of nothing, or of half a file, open no gate, in whatever form they are asked for.
#[test]
fn what_was_not_read_opens_no_gate() {
    let place = Place::of(&["backtest"]);
    small(&place);
    let run = |more: &[&str]| {
        let ran = place.run(&[&SMALL[..], &["--markdown", "pr.md"], more].concat());
        (ran.code, place.read("pr.md").contains("**Gate shut**"), ran.err)
    };
    let gate = ["--fail-on", "new_holds > 9"];
    assert_eq!(run(&gate).0, 0);
    let (code, is_shut, err) = run(&[&gate[..], &["--since", "2031-01-01T00:00:00Z"]].concat());
    assert!(code == 3 && is_shut && err.contains("error: no event counts"), "{code} {err}");
    let mut packed = zstd::encode_all(place.read("events.jsonl").as_bytes(), 3).expect("it packs");
    packed.truncate(packed.len() - 4);
    place.file("cut.jsonl.zst", &packed);
    let cut = ["--input", "cut.jsonl.zst", "--policy", "then", "--against", "now"];
    assert_eq!(place.run(&cut).code, 1);
    assert_eq!(place.run(&[&cut[..], &gate].concat()).code, 3);
}

#[test]
fn no_output_overwrites_the_input() {
    let place = Place::of(&["backtest"]);
    small(&place);
    let before = place.read("events.jsonl");
    for output in ["--report", "--json", "--markdown"] {
        let ran = place.run(&[&SMALL[..], &[output, "./events.jsonl"]].concat());
        assert!(ran.code == 2 && ran.err.contains("is the input itself"), "{output}: {}", ran.err);
        assert_eq!(place.read("events.jsonl"), before);
    }
    let labels = "event_id,user_id,label\n,bob,attack\n";
    place.file("labels.csv", labels);
    for output in ["--report", "--json", "--markdown"] {
        let ran = place.run(&[&SMALL[..], &["--labels", "labels.csv", output, "./labels.csv"]].concat());
        assert!(ran.code == 2 && ran.err.contains("is the file of labels"), "{output}: {}", ran.err);
        assert_eq!(place.read("labels.csv"), labels);
    }
}

#[test]
fn a_table_without_a_readable_first_line_is_told_as_such() {
    let place = Place::of(&["backtest"]);
    small(&place);
    let told = |name: &str, bytes: &[u8]| {
        place.file(name, bytes);
        let ran = place.run(&[
            "--input",
            name,
            "--map",
            "user=who,time=when",
            "--action",
            "lke",
            "--policy",
            "then",
        ]);
        assert_eq!(ran.code, 1, "{}", ran.err);
        ran.err
    };
    let quoted = told("quoted.csv", b"who,\"when\nann,1750000000\n");
    assert!(quoted.contains("no line of column names"), "{quoted}");
    assert!(quoted.contains("names the action `lke` (did you mean `like`?)"), "{quoted}");
    let packed = zstd::encode_all(&b"who,when\nann,1750000000\n"[..], 3).expect("it packs");
    let cut = told("cut.csv.zst", &packed[..packed.len() / 2]);
    assert!(cut.contains("breaks off"), "{cut}");
    let long = told("long.csv", format!("{},when\n", "w".repeat(100_000)).as_bytes());
    assert!(long.len() < 1000 && long.contains("www..."), "{long}");
}

#[test]
fn a_strangers_table_is_read_by_its_mapping() {
    let place = Place::of(&["backtest"]);
    small(&place);
    place.file(
        "log.csv",
        "who,when,what\nann,1750000000,like\nann,1750000010,like\nann,1750000020,like\nbob,yesterday,like\nbob,1750000030,comment\n",
    );
    let map = [
        "--input",
        "log.csv",
        "--map",
        "user=who,time=when,action=what",
        "--policy",
        "then",
        "--against",
        "now",
    ];
    let (found, ran) = place.found(&map);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("log.csv:5:5: row: `yesterday` is no time"), "{}", ran.err);
    assert_eq!(found["contrasts"][0]["matrix"]["reject"]["allow"], 1);
    assert_eq!(found["contrasts"][0]["matrix"]["allow"]["hold"], 1);
}

/// Three rows, one of them damaged, one twice: as the same lines of JSON would be.
#[test]
fn damaged_rows_count_as_damaged_lines_do() {
    let place = Place::of(&["backtest"]);
    small(&place);
    place.file(
        "log.csv",
        "time,user,action,event_id\n1750000000,ann,like,a\n1750000000,ann,like,a\nnever,ann,like,b\n",
    );
    let args = [
        "--input",
        "log.csv",
        "--format",
        "csv",
        "--label",
        "honest",
        "--policy",
        "then",
        "--against",
        "now",
    ];
    let (found, ran) = place.found(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // Whoever types it again gets the same.
    let command = found["facts"]["command"].as_str().expect("text");
    assert!(command.contains("--format csv") && command.contains("--label honest"), "{command}");
    assert_eq!((&found["records"]["read"], &found["records"]["inside"]), (&json!(3), &json!(2)));
    assert_eq!(found["figures"]["undecided"], json!({"value": 1.0, "of": 3.0}));
    assert_eq!(found["policies"][0]["outcomes"], json!({"decided": 1, "duplicate": 1, "dead_lettered": 1}));
    assert_eq!(found["not_read"]["counts"], json!({"row": 1}));
    assert!(ran.out.contains("events that count  2: 1 decided, 1 duplicate"), "{}", ran.out);
}

/// Newest first, as many a log is: of three events two come after a later one; one names no address.
#[test]
fn an_input_that_is_not_as_meant_is_told() {
    let place = Place::of(&["backtest"]);
    small(&place);
    let rows = [
        "1750000400,ann,like,198.51.100.7",
        "1750000200,bob,like,unknown",
        "1750000000,eve,like,2001:db8::1",
    ];
    let table = |rows: &[&str]| format!("time,user,action,ip\n{}\n", rows.join("\n"));
    place.file("log.csv", table(&rows));
    let args = ["--input", "log.csv", "--policy", "then", "--against", "now", "--markdown", "pr.md"];
    let (found, ran) = place.found(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let odd: Vec<_> = found["odd"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|odd| (&odd["kind"], &odd["count"], &odd["first"]))
        .collect();
    assert_eq!(
        odd,
        [
            (&json!("out_of_order"), &json!(2), &json!("log.csv:3")),
            (&json!("unreadable_address"), &json!(1), &json!("log.csv:3"))
        ]
    );
    assert!(
        ran.err.contains("out_of_order: 2 events, first at log.csv:3") && ran.err.contains("sort it by time"),
        "{}",
        ran.err
    );
    assert!(ran.out.contains("What is odd in the input"), "{}", ran.out);
    assert!(
        place.read("pr.md").contains("**out\\_of\\_order**: 2 decisions, first `log.csv:3`"),
        "{}",
        place.read("pr.md")
    );
    let sorted: Vec<&str> = rows.iter().rev().copied().filter(|row| !row.contains("unknown")).collect();
    place.file("log.csv", table(&sorted));
    let (found, ran) = place.found(&args);
    assert_eq!(found["odd"], json!([]), "{}", ran.err);
    assert!(!ran.out.contains("What is odd"), "{}", ran.out);
}

/// Of seven rows two tell a date alone, one microseconds, one a year ahead of all, one a day that may be a month; 1,750,000,000 s
/// is 2025-06-15T15:06:40Z.
#[test]
fn times_and_actions_of_a_table_that_mislead_are_told() {
    let place = Place::of(&["backtest"]);
    small(&place);
    let rows = [
        "2025/06/15,ann,Like",
        "2025.06.15,ann,Like",
        "2025/06/15 15:06:40,bob,like",
        "2026-06-20 15:00:00,eve,like",
        "1750000001000000,bob,like",
        "1750000002,bob,share",
        "15/06/2025 15:06:42,bob,like",
    ];
    place.file("log.csv", format!("\u{feff}time,user,action\n{}\n", rows.join("\n")));
    let args = [
        "--input",
        "log.csv",
        "--policy",
        "then",
        "--against",
        "now",
        "--markdown",
        "pr.md",
        "--as-of",
        "2026-12-01T00:00:00Z",
    ];
    let (found, ran) = place.found(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let odd = found["odd"].as_array().expect("a list").iter();
    let odd: Vec<_> = odd.map(|odd| [&odd["kind"], &odd["count"], &odd["first"]]).collect();
    let told = |kind: &str, count: u64, first: &str| [json!(kind), json!(count), json!(first)];
    let expected = [
        told("date_only", 2, "log.csv:2"),
        told("out_of_order", 2, "log.csv:6"),
        told("time_ahead", 2, "log.csv:6"),
        told("unknown_action", 2, "log.csv:2"),
        told("unknown_action", 1, "log.csv:7"),
    ];
    assert_eq!(odd, expected.each_ref().map(<[Json; 3]>::each_ref), "{}", ran.err);
    for words in [
        "stand behind log.csv:5, whose time 2026-06-20T15:00:00.000Z is far ahead",
        "the action `Like` (it names `like`: upper and lower case differ)",
        "log.csv:8:1: row: `15/06/2025 15:06:42` is no time: which of day and month comes first",
    ] {
        assert!(ran.err.contains(words), "{words} in:\n{}", ran.err);
    }
    assert!(
        place.read("pr.md").contains("**time\\_ahead**: 2 decisions, first `log.csv:6`"),
        "{}",
        place.read("pr.md")
    );
    assert!(ran.out.contains("unknown action"), "{}", ran.out);
}

/// All acts are on one target: against `now` one is let through and one held; alone four of the seven are acted on.
#[test]
fn targets_are_told_beside_accounts_and_one_policy_in_one_column() {
    let place = Place::of(&["backtest"]);
    small(&place);
    let counts = |list: &Json| {
        assert_eq!(list.as_array().expect("a list").len(), 1, "{list}");
        ["changes", "stronger", "weaker"].map(|name| list[0][name].as_u64().expect("a count"))
    };
    let (both, _) = place.found(&[&SMALL[..], &["--report", "both.html"]].concat());
    assert_eq!(counts(&both["contrasts"][0]["targets"]), [2, 1, 1]);
    let alone =
        ["--input", "events.jsonl", "--policy", "then", "--against", "then", "--report", "alone.html"];
    let (alone, ran) = place.found(&alone);
    assert_eq!((&alone["contrasts"], &alone["targets_acted_on"][0]["target"]), (&json!([]), &json!("t")));
    assert_eq!(counts(&alone["targets_acted_on"]), [4, 4, 0]);
    let pages = [place.read("both.html"), place.read("alone.html") + &ran.out];
    for words in ["speaks then, not now", "earlier or later than now", "Targets most affected, against now"] {
        assert_eq!(pages.each_ref().map(|page| page.contains(words)), [true, false], "{words}");
    }
    for words in ["Accounts most acted on", "Targets most acted on", "last verdict"] {
        assert_eq!(pages.each_ref().map(|page| page.contains(words)), [false, true], "{words}");
    }
}

/// Some editors begin a file of UTF-8 with a mark; the first event is there all the same.
#[test]
fn a_byte_order_mark_costs_no_event() {
    let place = Place::of(&["backtest"]);
    small(&place);
    place.file("marked.jsonl", format!("\u{feff}{}", place.read("events.jsonl")));
    let found = |input| place.found(&["--input", input, "--policy", "then"]).0;
    let (plain, marked) = (found("events.jsonl"), found("marked.jsonl"));
    assert_eq!(marked["policies"], plain["policies"]);
    assert_eq!(marked["not_read"]["counts"], plain["not_read"]["counts"]);
}

/// Of several policies the smallest grace counts: to one of them the event is late.
#[test]
fn late_is_what_is_later_than_the_smallest_grace() {
    let place = Place::of(&["backtest"]);
    let graced =
        |grace: &str| now().replace("version: 1\n", &format!("version: 1\ntime: {{ grace: {grace} }}\n"));
    place.file("wide/p.yaml", graced("1h"));
    place.file("narrow/p.yaml", graced("5s"));
    let lines = [event("1", 20, "ann", "like", "::1"), event("2", 10, "bob", "like", "::1")];
    place.file("events.jsonl", lines.join("\n"));
    for (policy, against, expected) in [("wide", "wide", 0), ("wide", "narrow", 1), ("narrow", "wide", 1)] {
        let (found, ran) =
            place.found(&["--input", "events.jsonl", "--policy", policy, "--against", against]);
        let odd = found["odd"].as_array().expect("a list").iter();
        let late = odd.filter(|odd| odd["kind"] == "out_of_order").count();
        assert_eq!(late, expected, "{policy} {against}: {}", ran.err);
        assert_eq!(ran.err.contains("the policy's grace of 5s"), expected > 0, "{}", ran.err);
    }
}

/// Whoever typed an option expects something of it.
#[test]
fn what_would_have_no_effect_is_refused() {
    let place = Place::of(&[]);
    small(&place);
    place.file("t.csv", "time,user,action\n1750000000,ann,like\n");
    for (line, words) in [
        ("backtest --input events.jsonl --warm-up 1h", "--warm-up has no effect"),
        ("backtest --input events.jsonl --checkpoints dir", "--checkpoints"),
        ("backtest --input events.jsonl --follow-journal", "--follow-journal"),
        ("backtest --input events.jsonl --topic-labels", "--topic-labels"),
        ("backtest --from t --follow-journal --warm-up 1h", "--warm-up"),
        ("backtest --from t --format csv", "--format"),
        ("backtest --from t --map user=a", "--map has no effect"),
        ("backtest --input events.jsonl --action like", "--action has no effect"),
        ("backtest --input events.jsonl --unmask", "--unmask has no effect"),
        ("backtest --input events.jsonl --fixture 1 --unmask", "--unmask"),
        ("backtest --input events.jsonl --fixture 1 --warm-up 1h", "--warm-up"),
        ("backtest --input events.jsonl --json - --markdown -", "--json - and --markdown -"),
        ("backtest --input events.jsonl --markdown - --print json", "mixed on stdout"),
        ("backtest --input events.jsonl --labels -", "is no file here"),
        ("backtest --input t.csv --counts like=time --map time=time", "says nothing beside counts"),
        ("sweep --input events.jsonl --set a.max=1 --warm-up 1h", "--warm-up has no effect"),
        ("sweep --input events.jsonl --set a.max=1 --report -", "is no file here"),
        ("explain --input events.jsonl --event-id 1 --label honest", "--label has no effect"),
        ("explain --input events.jsonl --event-id 1 --all --format json", "--all has no effect"),
        ("explain --from t --event-id 1 --events-format csv", "--events-format"),
        ("suggest --input events.jsonl --patch -", "is no file here"),
        ("suggest --input events.jsonl --label attack", "--label has no effect"),
        ("lint --events-format csv", "--input"),
        ("lint --map user=a", "--map has no effect"),
        ("lint --input t.csv --label-column x", "--label-column has no effect"),
        ("export --from t --to x.parquet --decisions d", "--decisions"),
        ("export --from t --to x.parquet --format csv", "--format"),
        ("export --input events.jsonl --to -", "is no file here"),
        ("backtest --input events.jsonl --brokers k:9092", "--brokers has no effect"),
        ("backtest --input events.jsonl --fixture 1 --brokers k:9092", "--brokers has no effect"),
        ("explain --input events.jsonl --event-id 1 --brokers k:9092", "--brokers has no effect"),
        ("suggest --input events.jsonl --brokers k:9092", "--brokers has no effect"),
        (
            "policy promote --policy now --candidate then --reason r --input events.jsonl --brokers k:9092",
            "--brokers has no effect",
        ),
        (
            "policy promote --policy now --candidate then --reason r --from-shadow --warm-up 1h",
            "--warm-up has no effect",
        ),
        (
            "policy promote --policy now --candidate then --reason r --from-shadow --since 2026-01-01T00:00:00Z",
            "--since has no effect",
        ),
        (
            "policy promote --policy now --candidate then --reason r --from-shadow --until 2026-01-01T00:00:00Z",
            "--until has no effect",
        ),
        (
            "policy promote --policy now --candidate then --reason r --from-shadow --as-of 2026-01-01T00:00:00Z",
            "--as-of has no effect",
        ),
        (
            "policy promote --policy now --candidate then --reason r --from-shadow --format csv",
            "--format has no effect",
        ),
        (
            "policy promote --policy now --candidate then --reason r --from-shadow --report r.html",
            "--report has no effect",
        ),
        (
            "policy promote --policy now --candidate then --reason r --from-shadow --print json",
            "--print has no effect",
        ),
        (
            "policy promote --policy now --candidate then --reason r --from-shadow --map user=a",
            "--map has no effect",
        ),
        (
            "policy promote --policy now --candidate then --reason r --from-shadow --label attack",
            "--label has no effect",
        ),
        (
            "policy promote --policy now --candidate then --reason r --from t --format csv",
            "--format has no effect",
        ),
        (
            "policy promote --policy now --candidate then --reason r --input events.jsonl --warm-up 1h",
            "--warm-up has no effect",
        ),
        ("policy rollback 9f86d081 --policy now --reason r --print json", "--print has no effect"),
        ("replay --input t.csv --output -", "a table is no lines of JSON"),
        ("replay --input events.jsonl --output - --revisions -", "the same"),
    ] {
        let ran = place.run(&line.split(' ').collect::<Vec<_>>());
        let expected = if line.contains("--counts") { 1 } else { 2 };
        assert_eq!(ran.code, expected, "{line}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(words), "{line}: {}", ran.err);
    }
    let summary = place.run(&["backtest", "--input", "events.jsonl", "--policy", "then", "--markdown", "-"]);
    assert!(summary.code == 0 && summary.out.starts_with("### weir backtest: `then`\n"), "{}", summary.out);
    assert!(!summary.out.contains("In short") && !place.path("-").exists(), "{}", summary.out);
}

/// The variable stands for all commands of a shell, those that need no broker too.
#[test]
fn brokers_of_the_environment_are_no_mistake_beside_a_file() {
    let place = Place::of(&[]);
    small(&place);
    for line in [
        "backtest --input events.jsonl --policy then --against now",
        "backtest --input events.jsonl --policy then --fixture 7",
        "explain --input events.jsonl --event-id 1 --policy now",
        "suggest --input events.jsonl --policy now",
        "policy promote --policy now --candidate then --reason r --input events.jsonl --force r",
    ] {
        let mut command = place.command(&line.split(' ').collect::<Vec<_>>());
        let ran = place::ran(command.env("WEIR_BROKERS", "k:9092").output().expect("it runs"));
        assert_eq!(ran.code, 0, "{line}: {}{}", ran.out, ran.err);
        let typed = command.args(["--brokers", "k:9092"]).output();
        let ran = place::ran(typed.expect("it runs"));
        assert_eq!((ran.code, ran.err.contains("--brokers has no effect")), (2, true), "{line}: {}", ran.err);
    }
}

/// The policy of the file that was named: it is the candidate, or the one that it is held against.
#[test]
fn the_policy_is_that_of_the_configuration_that_was_named() {
    let place = Place::of(&[]);
    small(&place);
    place.file("weir.toml", "[policy]\ndir = \"now\"\n");
    let config = ["--config", "weir.toml"];
    let backtest = ["backtest", "--input", "events.jsonl"];
    let (found, ran) = place.found(&[&backtest[..], &config].concat());
    assert_eq!((ran.code, &found["policies"][0]["verdicts"]["reject"]), (0, &json!(3)), "{}", ran.err);
    let (found, ran) = place.found(&[&backtest[..], &["--policy", "then"], &config].concat());
    assert_eq!((ran.code, &found["contrasts"][0]["against"]), (0, &json!("now")), "{}", ran.err);
    let fixture = place.run(&[&backtest[..], &["--fixture", "7"], &config].concat());
    assert!(fixture.code == 0 && fixture.out.contains("beside bad"), "{}{}", fixture.out, fixture.err);
    let events = ["--input", "events.jsonl"];
    let told = place.json(&[&["explain", "--event-id", "7"], &events[..], &config].concat());
    assert_eq!(told["verdict"], "demote", "{told:#}");
    let told = place.json(&[&["suggest"], &events[..], &config].concat());
    assert_eq!(told["signals"], json!([]), "the policy has no signals");
}

/// At least a stronger verdict than allow: of two attackers one is held, of two honest accounts one is demoted.
#[test]
fn labels_give_rates_and_their_change() {
    let place = Place::of(&["backtest"]);
    small(&place);
    place.file("labels.csv", "event_id,user_id,label\n,bob,attack\n,ann,honest\n,eve,honest\n");
    let labelled = [&SMALL[..], &["--labels", "labels.csv"]].concat();
    let (found, ran) = place.found(&labelled);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let figure = |name: &str| found["figures"][name]["value"].as_f64().expect("a number");
    // Both policies reject some likes of ann and demote eve; only the candidate holds bob.
    assert_eq!((figure("recall"), figure("recall_change")), (1.0, 1.0));
    assert_eq!((figure("false_positive_rate"), figure("false_positive_rate_change")), (1.0, 0.0));
    assert!((figure("precision") - 1.0 / 3.0).abs() < 1e-9);
    assert_eq!(place.run(&[&labelled[..], &["--fail-on", "recall_change >= 50%"]].concat()).code, 3);
    // Labels that meet nobody: what is not known opens no gate.
    place.file("others.csv", "event_id,user_id,label\n,zoe,attack\n");
    let others = [&SMALL[..], &["--labels", "others.csv", "--fail-on", "recall < 90%", "--markdown", "m.md"]];
    let unknown = place.run(&others.concat());
    assert!(unknown.code == 3 && unknown.err.contains("recall is not known here"), "{}", unknown.err);
    assert!(place.read("m.md").contains("**Gate shut**"), "{}", place.read("m.md"));
    assert!(ran.out.contains("Labels") && ran.out.contains("false-positive rate"), "{}", ran.out);
}

/// Eight hours of a stream, and a policy whose windows are an hour at most. The stream is made by a fixed recurrence. No key
/// is so busy that its count is kept in sub-windows: those remember that it was, until it is silent for a window.
fn hours() -> (Vec<String>, String) {
    let mut state = 7_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let line = |n: i64| {
        let (user, target, action) = (next(1000), next(800), ["like", "bad", "comment"][next(3) as usize]);
        let at = T0 + n * 1440 + next(1000) as i64;
        format!(
            r#"{{"event_id":"e{n}","occurred_at":{at},"action":"{action}","user_id":"u{user}","target_id":"t{target}","ip":"198.51.{}.{}"}}"#,
            user / 250,
            user % 250
        )
    };
    let policy = format!(
        "version: 1\nsignals:\n  - {{ name: target_users, key: [target], window: 1h, distinct: user, doc: d }}\n  \
         - {{ name: user_acts, key: [user], window: 30m, count: {{}}, doc: d }}\nlimits:\n{}rules:\n{}{}",
        limit(1),
        rule("crowd", "target_users >= 7", "verdict: challenge"),
        rule("busy", "user_acts >= 4", "verdict: hold")
    );
    ((0..20_000).map(line).collect(), policy)
}

/// A range of the hours that begins when half of them have passed.
fn later() -> Timestamp {
    Timestamp::from_millis(T0).after(Span::from_secs(4 * 3600))
}

/// What is decided of each event of the range, once from the start and once after the warm-up alone.
#[test]
fn a_range_with_warm_up_decides_as_from_the_start() {
    let (lines, text) = hours();
    let policy = load(&[("p.yaml".to_owned(), text)]).expect("it loads").policy;
    let side = Side { name: "p".to_owned(), policy: Arc::clone(&policy) };
    let warm_up = Pass::warm_up(&[side]);
    assert!(warm_up >= Span::from_secs(3600) && warm_up < Span::from_secs(2 * 3600), "{warm_up}");
    let decisions = |warm_up: Span| {
        let range = Range { since: Some(later()), until: None, warm_up };
        let (mut begun, mut told) = (false, Vec::new());
        let engine = Engine::new(Arc::clone(&policy), HashSeed(1, 2));
        let as_of = Timestamp::from_millis(T0).after(Span::from_secs(86_400));
        let options = Options { name: "t".to_owned(), as_of, limits: DecodeLimits::default() };
        let mut panel = Panel::new(vec![engine], options);
        let mut numbers = 0..;
        let mut records =
            lines.iter().map(|line| Record::line(line.as_bytes(), numbers.next().expect("endless")));
        let mut turn = |_: &Event<'_>, at| match range.part(at) {
            Part::Before | Part::After => Turn::Skip,
            _ if !begun && warm_up < Span::from_secs(4 * 3600) => {
                begun = true;
                Turn::ApplyFrom(range.begins().expect("it has one"))
            }
            _ => Turn::Apply,
        };
        while panel.together(&mut records, &mut turn, |heard| {
            let heard = heard.heard(0);
            let (_, arrival) = heard.event.expect("each line is an event");
            if range.part(arrival.append_time) == Part::Inside {
                told.push(format!("{} {:?}", heard.line, heard.outputs.judgement.as_ref().expect("decided")));
            }
        }) > 0
        {}
        told
    };
    let whole = decisions(Span::from_secs(100 * 3600));
    let warm = decisions(warm_up);
    assert!(whole.len() > 9000 && whole.iter().any(|told| told.contains("verdict: Hold")));
    assert_eq!(whole.len(), warm.len());
    assert_eq!(whole.iter().zip(&warm).find(|(whole, warm)| whole != warm), None);
    assert_ne!(decisions(Span::ZERO), whole, "without a warm-up windows begin empty");
}

/// The same of what is found, as the command tells it.
#[test]
fn findings_of_a_range_are_those_of_the_whole_input() {
    let place = Place::of(&["backtest"]);
    let (lines, policy) = hours();
    place.file("events.jsonl", lines.join("\n"));
    place.file("now/p.yaml", now());
    place.file("then/p.yaml", policy);
    let until = later().after(Span::from_secs(3600)).to_string();
    let since = later().to_string();
    let found = |more: &[&str]| {
        let range = ["--since", &since, "--until", &until];
        let (found, ran) = place.found(&[&SMALL[..], &range, more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        found
    };
    let (warm, whole, cold) = (found(&[]), found(&["--warm-up", "100h"]), found(&["--warm-up", "0s"]));
    for part in ["policies", "contrasts", "figures"] {
        assert_eq!(warm[part], whole[part], "{part}");
    }
    assert_ne!(cold["policies"][0], whole["policies"][0]);
    let records = &warm["records"];
    let count = |name: &str| records[name].as_u64().expect("a count");
    assert!(count("before") > 5000 && count("warm_up") > 2400 && count("after") > 5000, "{records}");
    assert_eq!(count("before") + count("warm_up") + count("inside") + count("after"), 20_000);
    assert_eq!(whole["records"]["before"], 0);
}

#[test]
fn the_report_is_one_file_that_names_can_do_nothing_to() {
    let place = Place::of(&["backtest"]);
    small(&place);
    let hostile = "<img src=x onerror=alert(1)>\\\"</script><script>\u{202e}";
    let lines =
        [event("1", 0, hostile, "comment", "198.51.100.7"), event("</script>", 1, "bob", "comment", "")];
    place.file("events.jsonl", lines.join("\n").replace(r#","ip":"""#, ""));
    let (_, ran) = place.found(&[&SMALL[..], &["--report", "out.html", "--markdown", "out.md"]].concat());
    for told in [ran.out.clone(), place.read("out.html"), place.read("out.md")] {
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(told.matches("the candidate (--policy)").count(), 1, "{told}");
    }
    assert_eq!(ran.code, 0, "{}", ran.err);
    let page = place.read("out.html");
    for bad in
        ["<img", "onerror=alert(1)>\"", "</script><script>\u{202e}", "http:", "https:", " src=\"", "@import"]
    {
        assert!(!page.contains(bad), "{bad}");
    }
    // The page's own script and the data of the slider, each closed once.
    assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (2, 2));
    for part in [
        "Verdicts now and then",
        "Accounts most affected",
        "Rules and limits",
        "Timeline",
        "What was approximate",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("weir backtest --input events.jsonl --policy then --against now"));
    let summary = place.read("out.md");
    assert!(summary.contains("| decisions | then hold |\n|---|---:|\n| now allow | 2 |\n\n"), "{summary}");
}

/// Intervals are those of Clopper and Pearson: of 0 in 1 at most 1 - 0.025, of 1 in 1 at least 0.025, of 2 in 2 at least the
/// root of that, of 1 in 3 from 0.84 to 90.6 percent.
#[test]
fn a_reviewer_sees_what_changes_first() {
    let place = Place::of(&["backtest"]);
    small(&place);
    place.file("labels.csv", "event_id,user_id,label\n,bob,attack\n,ann,honest\n,eve,honest\n");
    let more = ["--labels", "labels.csv", "--fail-on", "new_holds > 9", "--markdown", "pr.md"];
    let ran = place.run(&[&SMALL[..], &more].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let summary = place.read("pr.md");
    let (found, _) = place.found(&SMALL);
    let hash = |seat: usize| found["policies"][seat]["hash"].as_str().expect("text").to_owned();
    for line in [
        "**Gate open** (it shuts on `new_holds > 9`): new\\_holds = 1",
        &format!("Policies: `then` is `{}`, `now` is `{}`.", hash(0), hash(1)),
        "| decisions above allow | 4 (57.1 %) | 4 (57.1 %) | 0 |",
        "| - hold | 0 | 1 | +1 |",
        "| - reject | 3 | 2 | -1 |",
        "| accounts touched | 2 of 3 | 3 of 3 | +1 |",
        "| precision | 0.0 % [0.0, 84.2] | 33.3 % [0.8404, 90.6] | +33.3 points |",
        "| recall | 0.0 % [0.0, 97.5] | 100.0 % [2.5000, 100.0] | +100.0 points |",
        "| false-positive rate | 100.0 % [15.8, 100.0] | 100.0 % [15.8, 100.0] | 0.0 |",
        "- **accounts newly touched: 1** (0.0 % settled, 0.0 % paying); newly let through: 0",
        "| decisions | then allow | then demote | then hold | then reject |",
        "| now allow | 2 | 0 | 1 | 0 |",
        "| `shy` | new: hold in shadow | 0 | 0 | 0 | 0 \u{2192} 3 | 0 | 1 | 0.0 % | 0.0 % |",
        "| `pace` | reject | 3 | 2 | -1 | 0 | 1 | 1 | 0.0 % | 0.0 % |",
        "| `talk` | new: hold | 0 | 1 | +1 | 0 | 0 | 1 | 0.0 % | 0.0 % |",
        "Left out: 1 that speak as now, 0 that speak of nothing here.",
        "1 records or labels could not be read (malformed\\_json 1); 0 decisions say that they are less exact than usual.",
        "weir backtest --input events.jsonl --policy then --against now --labels labels.csv --fail-on 'new_holds > 9'",
    ] {
        assert!(summary.lines().any(|told| told == line), "{line}\nis not in\n{summary}");
    }
    let place_of = |text: &str| summary.find(text).expect("it is there");
    assert!(place_of("| `shy`") < place_of("| `pace`") && !summary.contains("| `bad`"), "{summary}");
}

#[test]
fn addresses_and_devices_are_masked_unless_asked_for() {
    let place = Place::of(&["backtest"]);
    small(&place);
    let device = event("1", 0, "ann", "comment", "198.51.100.7")
        .replace("\"ip\"", "\"device\":{\"id\":\"serial-4711\"},\"ip\"");
    let nobody = r#"{"event_id":"2","occurred_at":1750000001000,"action":"comment","ip":"203.0.113.77"}"#;
    place.file("events.jsonl", format!("{device}\n{nobody}\n"));
    let files = ["--report", "out.html", "--json", "out.json", "--markdown", "out.md"];
    let told = |more: &[&str]| {
        let ran = place.run(&[&SMALL[..], &files, more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        [place.read("out.html"), place.read("out.json"), place.read("out.md"), ran.out].concat()
    };
    let masked = told(&[]);
    for secret in ["198.51.100.7", "203.0.113.77", "serial-4711"] {
        assert!(!masked.contains(secret), "{secret}");
        assert!(told(&["--unmask"]).contains(secret), "{secret}");
    }
    assert!(masked.contains("203.0.*.*") && masked.contains("device-"));
}

/// The demo's standard policy over simulated traffic: nothing differs from itself, and all is accounted for.
#[test]
fn simulated_traffic_is_accounted_for() {
    let entry = scenario::find("echo").expect("there is one");
    let mut traffic = Traffic::new(entry, 7, 0.02);
    let mut text = Vec::new();
    let mut events = 0;
    while let Some(told) = traffic.next_event() {
        text.extend_from_slice(told.json);
        if !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        events += 1;
    }
    let place = Place::of(&["backtest"]);
    place.file("events.jsonl", text);
    for (name, text) in standard::files() {
        place.file(&format!("candidate/{name}"), text.replace("max: 60\n", "max: 61\n"));
    }
    let (found, ran) = place.found(&["--input", "events.jsonl", "--policy", "candidate"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(found["records"]["inside"], json!(events));
    let sum = |of: &Json| of.as_object().expect("counts").values().filter_map(Json::as_u64).sum::<u64>();
    for policy in found["policies"].as_array().expect("a list") {
        assert_eq!(sum(&policy["outcomes"]), events);
        assert_eq!(sum(&policy["verdicts"]), policy["outcomes"]["decided"].as_u64().expect("a count"));
        assert_eq!(sum(&policy["scores"]), sum(&policy["verdicts"]));
    }
    let matrix = found["contrasts"][0]["matrix"].as_object().expect("rows");
    assert_eq!(matrix.values().map(sum).sum::<u64>(), sum(&found["policies"][0]["verdicts"]));
}

/// What is refused comes out of the fixture as of the file, under other names; a limit needs what came before.
#[test]
fn an_event_becomes_a_masked_test_that_passes() {
    let place = Place::of(&["backtest"]);
    small(&place);
    let ran = place.run(&["--input", "events.jsonl", "--policy", "now", "--fixture", "4"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    for secret in ["ann", "198.51.100", "bob"] {
        assert!(!ran.out.contains(secret), "{secret}: {}", ran.out);
    }
    let events = ran.out.lines().filter(|line| line.trim_start().starts_with("- { at:")).count();
    assert_eq!(events, 4, "{}", ran.out);
    assert!(ran.out.contains("# beside pace") && ran.out.contains("expect: { verdict: reject, by: pace }"));
    assert!(
        ran.out.contains("{ at: 30s, action: like, user_id: u1, target_id: t1, ip: \"198.18.0.1\" }"),
        "{}",
        ran.out
    );

    // Laid beside the limit it is a test like any other.
    let tests: String =
        ran.out.lines().filter(|line| !line.contains('#')).map(|line| format!("{line}\n")).collect();
    let text = format!(
        "version: 1\nlimits:\n  - id: pace\n    key: [user, action]\n    window: 1m\n    max: 2\n    verdict: reject\n    code: PACE\n    \
         text: t\n    source: s\n    owner: o\n    tests:\n{tests}"
    );
    place.file("laid/p.yaml", text);
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    let tested =
        command.args(["test", "--policy", "laid"]).current_dir(place.dir()).output().expect("it runs");
    let told = String::from_utf8(tested.stdout).expect("UTF-8");
    assert!(told.contains("1 passed, 0 failed"), "{told}{}", String::from_utf8_lossy(&tested.stderr));

    let missing = place.run(&["--input", "events.jsonl", "--policy", "now", "--fixture", "99"]);
    assert_eq!((missing.code, missing.err.contains("no event `99`")), (1, true), "{}", missing.err);
}

/// The same events on a topic of three partitions and in a file: what is found is the same, and nothing is committed.
#[test]
fn a_topic_gives_what_a_file_gives() {
    let patience = Duration::from_secs(10);
    let names = TopicNames::with_prefix("");
    let broker = Embedded::start(&names, &[(Topic::Interactions, 3)]).expect("an embedded broker");
    let place = Place::of(&["backtest"]);
    let (lines, policy) = hours();
    let lines = &lines[..3000];
    place.file("now/p.yaml", now());
    place.file("then/p.yaml", policy);
    let feed = Feed::open(&broker.settings(), &names).expect("a producer");
    let mut file = String::new();
    for line in lines {
        let event: Json = serde_json::from_str(line).expect("JSON");
        let (user, at) = (event["user_id"].as_str().expect("a user"), event["occurred_at"].as_i64());
        feed.send(Topic::Interactions, Some(user.as_bytes()), line.as_bytes(), at, patience)
            .expect("it is taken");
        writeln!(file, "{line}").expect("memory");
    }
    feed.send(Topic::Interactions, Some(b"x"), b"{damaged", Some(T0), patience).expect("it is taken");
    feed.finish(patience).expect("all is written");
    place.file("events.jsonl", file + "{damaged\n");

    let (from_file, _) = place.found(&SMALL);
    let topic = names.get(Topic::Interactions).to_owned();
    let args =
        ["--from", &topic, "--brokers", broker.bootstrap_servers(), "--policy", "then", "--against", "now"];
    let (from_topic, ran) = place.found(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(from_topic["records"]["read"], 3001);
    for part in ["policies", "contrasts", "figures", "first", "last"] {
        assert_eq!(from_topic[part], from_file[part], "{part}");
    }
    assert!(ran.err.contains("malformed_json") && ran.err.contains(&format!("{topic}/")), "{}", ran.err);
    assert!(from_topic["facts"]["order"].as_str().expect("text").starts_with("partitions merged"));

    let other = place.run(&["--from", "other", "--brokers", broker.bootstrap_servers(), "--policy", "then"]);
    assert_eq!(other.code, 2);
    assert!(other.err.contains(&topic), "{}", other.err);
}

/// Accounts with a decision of the candidate.
fn members(found: &Json) -> u64 {
    found["policies"][0]["accounts"]["accounts"].as_u64().expect("a number")
}

/// Twenty accounts like in turn, five behind each address, two on each target. What counts by address or target counts what
/// all did there; so what is decided of the sample is what is decided of the same accounts among all.
#[test]
fn a_sample_is_decided_as_among_all() {
    let place = Place::of(&["backtest"]);
    let policy = format!(
        "version: 1\nlimits:\n{}  - {{ id: exit, key: [ip], window: 1h, max: 60, verdict: challenge, count_refused: true, code: EXIT, text: t, source: s, \
         owner: o }}\nsignals:\n  - {{ name: fans, key: [target], window: 1h, distinct: user }}\nrules:\n{}",
        limit(2),
        rule("pair", "fans >= 2", "verdict: demote")
    );
    place.file("p/p.yaml", policy);
    let mut lines = Vec::new();
    for number in 0..2_000_i64 {
        let (user, second) = (number * 7 % 20, number * 11 % 3600);
        let at = T0 + second * 1000;
        lines.push((at, format!(
            r#"{{"event_id":"{number}","occurred_at":{at},"action":"like","user_id":"u{user}","target_id":"t{}","ip":"198.51.100.{}"}}"#,
            number % 50, user / 5
        )));
    }
    lines.sort();
    let lines: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
    place.file("e.jsonl", lines.join("\n"));
    let (all, _) = place.found(&["--input", "e.jsonl", "--policy", "p"]);
    let (part, ran) = place.found(&["--input", "e.jsonl", "--policy", "p", "--sample", "30%"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let count = |found: &Json, what: &str| found["records"][what].as_u64().expect("a number");
    let (inside, near, far) = (count(&part, "inside"), count(&part, "neighbours"), count(&part, "strangers"));
    assert!(inside > 0 && near > 0 && inside + near + far == 2_000, "{inside} {near} {far}");
    let sampled = members(&part);
    assert!((1..20).contains(&sampled) && inside == 100 * sampled, "{sampled} accounts, {inside} events");
    assert!(
        part["facts"]["a sample cannot answer"].as_str().is_some_and(|told| told.contains("not scaled up"))
    );
    assert!(part["facts"]["sample"] == "30 % of the actors" && all["facts"].get("sample").is_none());

    // The same accounts among all: their lines alone are looked at.
    let ran = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["replay", "--input", "e.jsonl", "--output", "d.jsonl", "--policy", "p", "--stats", "json"])
        .current_dir(place.dir())
        .output()
        .expect("it runs");
    assert!(ran.status.success(), "{ran:?}");
    let loaded =
        load(&[("p.yaml".to_owned(), place.read("p/p.yaml"))]).unwrap_or_else(|p| panic!("{}", p[0]));
    let thin = Thin::new(3_000, [&*loaded.policy]);
    let mut wanted = std::collections::BTreeMap::<&str, u64>::new();
    let decisions = place.read("d.jsonl");
    let told: Vec<Json> = decisions.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for (line, told) in lines.iter().zip(&told) {
        let event = decode(Some(line.as_bytes()), &[], &DecodeLimits::default()).expect("valid").event;
        if thin.who(&event) == Who::Member {
            *wanted.entry(told["verdict"].as_str().expect("text")).or_default() += 1;
        }
    }
    for verdict in ["allow", "demote", "challenge", "reject"] {
        let count = wanted.get(verdict).copied().unwrap_or(0);
        assert_eq!(part["policies"][0]["verdicts"][verdict], count, "{verdict} of {wanted:?}");
    }
    assert!(wanted.len() >= 3, "{wanted:?}");
    let standard = place.run(&["--input", "e.jsonl", "--sample", "0%"]);
    assert_eq!(standard.code, 2, "{}", standard.err);
}
