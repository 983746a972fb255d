//! `weir suggest` and `weir sweep` as they are typed, over events whose figures were worked out by hand.

#[path = "support/place.rs"]
mod place;

use place::Place;
use serde_json::{Value as Json, json};

/// 2025-06-15T15:06:40Z, a Sunday.
const T0: i64 = 1_750_000_000_000;

fn event(number: usize, at: i64, user: &str, action: &str) -> String {
    let at = T0 + at;
    format!(
        r#"{{"event_id":"{number}","occurred_at":{at},"action":"{action}","user_id":"{user}","target_id":"t{number}"}}"#
    )
}

const POLICY: &str = "version: 1
signals:
  - { name: acts, key: [user], window: 10m, count: {}, doc: d }
  - { name: everybody, key: [action], window: 10m, distinct: user, doc: d }
limits:
  - { id: pace, key: [user, action], window: 1m, max: 2, verdict: reject, code: PACE, text: t, source: s, owner: o }
rules:
  - { id: bad, family: content, when: \"event.action == 'bad'\", verdict: demote, code: BAD, text: t, source: s, owner: o }
  - { id: busy, family: volume, when: \"acts >= 50 && everybody >= 1\", verdict: hold, code: BUSY, text: t, source: s, owner: o }
";

/// 750 people act 4 times each, one acts 30 times, each time otherwise: of 3,030 values 751 are 1, 751 are 2, 751 are 3, 751
/// are 4, and 26 are more. So P50 is 3, P95 and P99 are 4; one and a half times that is 6, twice is 8.
fn usual(place: &Place) {
    place.file("p/p.yaml", POLICY);
    let mut lines = Vec::new();
    for round in 0..4 {
        for user in 0..750 {
            lines.push((user, format!("u{user}"), format!("a{round}")));
        }
    }
    lines.extend((0..30).map(|n| (n, "heavy".to_owned(), format!("b{n}"))));
    let text: Vec<String> = lines
        .iter()
        .enumerate()
        .map(|(number, (_, user, action))| event(number, number as i64 * 100, user, action))
        .collect();
    place.file("e.jsonl", text.join("\n"));
}

#[test]
fn thresholds_come_from_what_is_usual() {
    let place = Place::new();
    usual(&place);
    let found = place.json(&["suggest", "--input", "e.jsonl", "--policy", "p"]);
    let signals = found["signals"].as_array().expect("a list");
    let acts = signals.iter().find(|signal| signal["signal"] == "acts").expect("it is there");
    assert_eq!(
        (&acts["events"], &acts["p50"], &acts["p95"], &acts["p99"]),
        (&json!(3030), &json!(3.0), &json!(4.0), &json!(4.0))
    );
    assert_eq!(acts["busiest"], json!(["Sun 15h", 4.0]));
    assert_eq!((&acts["soft"], &acts["hard"]), (&json!(6), &json!(8)));
    // The one who acts 30 times is above both: 25 and 23 of his events.
    assert_eq!(
        (&acts["soft_touches"]["accounts"], &acts["soft_touches"]["decisions"]),
        (&json!(1), &json!(25))
    );
    assert_eq!(
        (&acts["hard_touches"]["accounts"], &acts["hard_touches"]["decisions"]),
        (&json!(1), &json!(23))
    );
    // A count of a crowd is about nobody: it is told, and no rule is made of it.
    let patch = found["patch"].as_str().expect("text");
    assert!(patch.contains("when: acts >= 6") && !patch.contains("everybody >="), "{patch}");
}

#[test]
fn the_patch_is_a_policy_in_shadow() {
    let place = Place::new();
    usual(&place);
    let ran = place.run(&["suggest", "--input", "e.jsonl", "--policy", "p", "--patch", "p/suggested.yaml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("6: 1 accounts, 25 events (0.0 % settled, 0.0 % paying)"), "{}", ran.out);
    let checked = place.run(&["check", "--policy", "p"]);
    assert_eq!(checked.code, 0, "{}", checked.err);
    assert_eq!(place.read("p/suggested.yaml").matches("mode: shadow").count(), 2);
    let tried =
        place.run(&["backtest", "--input", "e.jsonl", "--policy", "p", "--json", "b.json", "--against", "p"]);
    assert_eq!(tried.code, 0, "{}", tried.err);
    let found: Json = serde_json::from_str(&place.read("b.json")).expect("JSON");
    let rules = found["policies"][0]["rules"].as_array().expect("a list");
    let rule = rules.iter().find(|rule| rule["id"] == "suggested-acts").expect("it is there");
    assert_eq!((&rule["hits"], &rule["shadow"], &rule["mode"]), (&json!(0), &json!(25), &json!("shadow")));

    let piped = place.run_with(&["suggest", "--input", "-", "--policy", "p"], "");
    assert!(piped.code == 2 && piped.err.contains("read twice: it must be a file"), "{}", piped.err);
}

/// Five likes of ann within a minute: of these 4, 3, 2 and none are above 1, 2, 3 and 10 a minute; eve is demoted anyway.
fn likes(place: &Place) {
    place.file("p/p.yaml", POLICY);
    let mut lines: Vec<String> = (0..5).map(|n| event(n, n as i64 * 10_000, "ann", "like")).collect();
    lines.push(event(5, 50_000, "eve", "bad"));
    place.file("e.jsonl", lines.join("\n"));
}

#[test]
fn each_value_is_told_with_what_it_costs() {
    let place = Place::new();
    likes(&place);
    let sweep = [
        "sweep",
        "--input",
        "e.jsonl",
        "--policy",
        "p",
        "--set",
        "pace.max=1,2,3,10",
        "--set",
        "busy.acts=3",
    ];
    let found = place.json(&sweep);
    assert_eq!(found["now"]["acted_on"], 4);
    let row = |place: usize| {
        let row = &found["variants"][place];
        ["acted_on", "stronger", "weaker", "newly_freed"].map(|name| row[name].as_u64().expect("a count"))
    };
    assert_eq!(row(0), [5, 1, 0, 0]);
    assert_eq!(row(1), [4, 0, 0, 0]);
    // With one like less refused ann is still touched; with none she is let through.
    assert_eq!(row(2), [3, 0, 1, 0]);
    assert_eq!(row(3), [1, 0, 3, 1]);
    // From the third on the limit rejects before the rule is asked.
    assert_eq!(row(4), [4, 0, 0, 0]);
    assert_eq!(
        (&found["variants"][0]["parameter"], &found["variants"][0]["now"]),
        (&json!("pace.max"), &json!("2"))
    );
    assert_eq!(found["variants"][4]["now"], "50");

    let ran = place.run(&[&sweep[..], &["--report", "s.html"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("pace.max, now 2") && ran.out.contains("2 (now)"), "{}", ran.out);
    let page = place.read("s.html");
    assert!(page.contains("<svg") && page.contains("Decisions above allow over pace.max"));
}

#[test]
fn what_cannot_be_swept_is_told() {
    let place = Place::new();
    likes(&place);
    let run = |set: &str| place.run(&["sweep", "--input", "e.jsonl", "--policy", "p", "--set", set]);
    let unknown = run("pase.max=1");
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("did you mean `pace`?"), "{}", unknown.err);
    assert!(run("pace.max").err.contains("write NAME=VALUE"));
    let wrong = run("pace.window=0s");
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("pace.window=0s: p.yaml:6:"), "{}", wrong.err);
    let many: Vec<String> = (1..40).map(|n| n.to_string()).collect();
    assert!(run(&format!("pace.max={}", many.join(","))).err.contains("32 are the most"));
}

#[test]
fn no_output_overwrites_what_is_read() {
    let place = Place::new();
    likes(&place);
    place.file("l.csv", "event_id,user_id,label\n,eve,attack\n");
    let sweep = ["sweep", "--input", "e.jsonl", "--set", "pace.max=3", "--labels", "l.csv", "--report"];
    for (command, input, words) in [
        (&sweep[..], "e.jsonl", "is the input itself"),
        (&sweep, "l.csv", "is the file of labels"),
        (&["suggest", "--input", "e.jsonl", "--patch"], "e.jsonl", "is the input itself"),
    ] {
        let before = place.read(input);
        let ran = place.run(&[command, &[&format!("./{input}"), "--policy", "p"]].concat());
        assert!(ran.code == 2 && ran.err.contains(words), "{input}: {}", ran.err);
        assert_eq!(place.read(input), before);
    }
}

/// A limit with two spans has no single `max`.
#[test]
fn a_span_of_a_limit_is_named_by_its_window() {
    let place = Place::new();
    likes(&place);
    let spans =
        POLICY.replace("window: 1m, max: 2", "spans: [{ window: 1m, max: 2 }, { window: 1h, max: 9 }]");
    place.file("p/p.yaml", spans);
    let set = |name: &str| ["sweep", "--input", "e.jsonl", "--policy", "p", "--set", name].map(str::to_owned);
    let run = |name: &str| place.run(&set(name).each_ref().map(String::as_str));
    let told = run("pace.max=3");
    assert!(told.code == 2 && told.err.contains("as in pace.1m.max, pace.1h.max"), "{}", told.err);
    let found = place.json(&set("pace.1m.max=3").each_ref().map(String::as_str));
    assert_eq!((&found["variants"][0]["now"], &found["variants"][0]["acted_on"]), (&json!("2"), &json!(3)));
}

/// Figures of a part are told, and are no success; labels of a column count as those of a file.
#[test]
fn inputs_that_break_off_fail_and_labels_may_be_a_column() {
    let place = Place::new();
    usual(&place);
    let packed = zstd::encode_all(place.read("e.jsonl").as_bytes(), 1).expect("memory takes all");
    place.file("cut.jsonl.zst", &packed[..packed.len() / 2]);
    for command in [&["suggest"][..], &["sweep", "--set", "pace.max=3"]] {
        let ran = place.run(&[command, &["--input", "cut.jsonl.zst", "--policy", "p"]].concat());
        assert!(ran.code == 1 && ran.err.contains("error: the input broke off"), "{}", ran.err);
        assert!(!ran.out.is_empty() && ran.err.contains("cut.jsonl.zst:"), "{}", ran.err);
    }
    // Of two attackers one is demoted.
    place.file(
        "t.csv",
        "time,user,action,is\n1750000000,ann,bad,1\n1750000001,bob,like,1\n1750000002,eve,like,0\n",
    );
    let found = place.json(&[
        "sweep",
        "--input",
        "t.csv",
        "--policy",
        "p",
        "--map",
        "label=is",
        "--set",
        "pace.max=3",
    ]);
    assert_eq!(found["now"]["recall"], 0.5);
}
