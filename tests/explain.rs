//! `weir explain` as it is typed, over events whose decisions were worked out by hand.

#[path = "support/place.rs"]
mod place;

use place::{Place, Ran};
use serde_json::{Value as Json, json};

/// Three a minute; a hold for what is loud; evidence for and against; one rule in shadow.
const POLICY: &str = "version: 1
lists: { loud: [shout, yell] }
signals:
  - { name: acts, key: [user], window: 1h, count: {}, doc: d }
limits:
  - { id: pace, key: [user, action], window: 1m, max: 3, verdict: reject, code: PACE, text: t, source: s, owner: o }
  - { id: loud-only, key: [user], when: event.action in lists.loud, window: 1m, max: 9, verdict: reject, code: L, text: t, source: s, owner: o }
  - { id: by-device, key: [device], window: 1m, max: 9, verdict: reject, code: D, text: t, source: s, owner: o }
rules:
  - { id: busy, family: timing, when: 'acts >= 2', points: 30, code: BUSY, text: t, source: s, owner: o }
  - { id: calm, family: account, when: 'account.age >= days(300)', points: -10, code: CALM, text: t, source: s, owner: o }
  - { id: loud, family: content, when: 'event.action in lists.loud && (acts >= 2 || account.new)', verdict: hold, code: LOUD, text: t, source: s, owner: o }
  - { id: shy, family: content, when: 'acts >= 1', verdict: hold, mode: shadow, code: SHY, text: t, source: s, owner: o }
";

const T0: i64 = 1_750_000_000_000;
const YEAR: i64 = 365 * 86_400_000;

fn event(id: &str, second: i64, user: &str, action: &str) -> String {
    let (at, born) = (T0 + second * 1000, T0 - YEAR);
    format!(
        r#"{{"event_id":"{id}","occurred_at":{at},"action":"{action}","user_id":"{user}","ip":"198.51.100.7","account":{{"created_at":{born}}}}}"#
    )
}

fn explain(args: &[&str]) -> Ran {
    let place = Place::of(&["explain", "--input", "e.jsonl", "--policy", "p"]);
    place.file("p/p.yaml", POLICY);
    let lines = [
        event("1", 0, "ann", "like"),
        event("1", 1, "bob", "shout"),
        event("2", 10, "ann", "shout"),
        event("3", 20, "ann", "like"),
        event("4", 30, "ann", "like"),
        event("5", 40, "ann", "like"),
        event("5", 40, "ann", "like"),
        event("6", 50, "ann", "like"),
    ];
    place.file("e.jsonl", lines.join("\n"));
    place.run(args)
}

fn found(args: &[&str]) -> Json {
    let ran = explain(&[args, &["--format", "json"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).expect("JSON")
}

fn named<'j>(list: &'j Json, key: &str, name: &str) -> &'j Json {
    let list = list.as_array().expect("a list");
    list.iter().find(|entry| entry[key] == name).unwrap_or_else(|| panic!("{name} in {list:?}"))
}

/// Ann's second event shouts: acts is 2, so `loud` asks for hold. The score alone would be allowed: the family `timing` is
/// capped at 22 points, and -100 + 30 - 8 - 10 = -88.
#[test]
fn a_held_event_is_explained_down_to_its_parts() {
    let told = found(&["--event-id", "2"]);
    assert_eq!((&told["verdict"], &told["score"]), (&json!("hold"), &json!(-88)));
    let sums: Vec<_> = told["arithmetic"].as_array().expect("a list").iter().map(|p| &p["points"]).collect();
    assert_eq!(sums.iter().filter_map(|points| points.as_i64()).sum::<i64>(), -88);
    assert_eq!(named(&told["values"], "name", "acts")["value"], 2);

    let loud = named(&told["rules"], "id", "loud");
    assert_eq!((&loud["fires"], &loud["condition"]["outcome"]), (&json!(true), &json!("true")));
    let parts = &loud["condition"]["parts"];
    assert_eq!(parts[0]["text"], "event.action in ['shout', 'yell']");
    assert_eq!(parts[0]["reads"], json!([["event.action", "\"shout\""]]));
    let either = &parts[1]["parts"];
    assert_eq!((&either[0]["outcome"], &either[1]["outcome"]), (&json!("true"), &json!("false")));
    assert_eq!(either[0]["reads"], json!([["acts", "2"]]));

    let without = |what: &str| named(&told["counterfactuals"], "what", what)["verdict"].clone();
    assert_eq!(without("without loud"), "allow");
    assert_eq!(without("without busy"), "hold");
    assert_eq!(without("without all evidence of the family content"), "allow");
    assert_eq!(named(&told["shadow"], "id", "shy")["verdict"], "hold");
}

/// Ann likes at 0, 20, 30, 40 s: the fourth within a minute is refused until the first has left, 20 s later.
#[test]
fn a_refused_event_shows_each_limit() {
    let told = found(&["--event-id", "5"]);
    assert_eq!((&told["verdict"], &told["retry_after"]), (&json!("reject"), &json!("20s")));
    let limit = |id: &str| named(&told["limits"], "id", id);
    let span = &limit("pace")["spans"][0];
    assert_eq!((&span["used"], &span["max"], &span["refuses"]), (&json!(3), &json!(3), &json!(true)));
    assert_eq!(limit("pace")["asks_for"], "reject");
    assert_eq!(limit("loud-only")["why_not"], "its filter does not let the event pass");
    assert_eq!(limit("by-device")["why_not"], "the event does not have its key");
    assert!(told["rules"].as_array().expect("a list").iter().all(|rule| rule["asked"] == false));
    // Without the limit the rules would have been asked: allowed, with the points of `busy` and `calm`.
    let without = named(&told["counterfactuals"], "what", "without pace");
    assert_eq!((&without["verdict"], &without["score"]), (&json!("allow"), &json!(-88)));
}

/// What is refused is not counted: an event that passes shows what counted before it.
#[test]
fn the_state_is_that_before_the_event() {
    let first = found(&["--event-id", "1"]);
    assert_eq!(first["before"][0], json!({"entity": "user:ann", "known": false, "bans": []}));
    let fourth = found(&["--event-id", "4"]);
    let ann = named(&fourth["before"], "entity", "user:ann");
    assert_eq!((&ann["known"], &ann["active_days"]), (&json!(true), &json!(1)));
    let span = &named(&fourth["limits"], "id", "pace")["spans"][0];
    assert_eq!((&span["used"], &span["refuses"]), (&json!(2), &json!(false)));
    // After a refusal a penalty point is there.
    let sixth = found(&["--event-id", "6"]);
    let penalty = named(&sixth["before"], "entity", "user:ann")["penalty"].as_f64().expect("a number");
    assert!((penalty - 1.0).abs() < 0.01, "{penalty}");
}

#[test]
fn the_text_says_what_the_data_does() {
    let ran = explain(&["--event-id", "2"]);
    for words in [
        "verdict hold; score -88",
        "pace by user+action: passes, 0 and 1 more of 3 in 1m",
        "loud: FIRES, at least hold",
        "true    acts >= 2   [acts = 2]",
        "false   account.new   [account.new = false]",
        "+30  busy (timing)",
        "-8  cap-timing (timing)",
        "-88  together",
        "demote from here: 82 points away",
        "without loud: allow",
        "in shadow: shy",
    ] {
        assert!(ran.out.contains(words), "{words} is not in\n{}", ran.out);
    }
}

#[test]
fn an_event_is_named_by_its_id_and_user() {
    assert_eq!(found(&["--event-id", "1"])["event"]["user"], "ann");
    assert_eq!(found(&["--event-id", "1", "--user", "bob"])["event"]["line"], 2);
    let nobody = explain(&["--event-id", "9"]);
    assert_eq!(nobody.code, 1);
    assert!(nobody.err.contains("there is no event `9`"), "{}", nobody.err);
}

/// A quoted field spans lines 3 and 4; what is damaged is a row, too.
#[test]
fn an_event_of_a_table_is_named_by_the_line_of_its_file() {
    let place = Place::of(&["explain"]);
    place.file("p/p.yaml", POLICY);
    place.file("t.csv", "time,user,action,attributes.note\n1750000000,ann,like,a\n1750000010,ann,like,\"two\nlines\"\nnever,ann,like,b\n1750000020,ann,shout,c\n");
    let args = ["--input", "t.csv", "--policy", "p", "--event-id", "row-4"];
    let told = place.json(&args);
    assert_eq!((&told["event"]["line"], &told["event"]["at"]), (&json!(6), &json!("t.csv:6")));
    let ran = place.run(&args);
    assert!(ran.out.starts_with("event row-4 (t.csv:6): shout"), "{}", ran.out);
    assert!(ran.err.contains("t.csv:5:1: row: `never` is no time"), "{}", ran.err);
    let second = place.json(&["--input", "t.csv", "--policy", "p", "--event-id", "row-2"]);
    assert_eq!(second["event"]["line"], 3);
}

/// Ann's first like: nothing of `loud` holds, and nobody who asks briefly wants to read its parts.
#[test]
fn rules_that_are_silent_are_named_and_shown_when_asked_for() {
    let brief = explain(&["--event-id", "1"]).out;
    assert!(brief.contains("false: busy, loud") && !brief.contains("event.action in ['shout'"), "{brief}");
    let whole = explain(&["--event-id", "1", "--all"]).out;
    assert!(
        whole.contains("loud: silent, at least hold") && whole.contains("false   event.action in ['shout'"),
        "{whole}"
    );
}

/// Ann likes at 0, 10, 20 s; what comes at 30 and 31 s is refused, and costs a point each: at 31 s she has more than 1.5 and is
/// paused for a minute, to 91 s, which is 15:08:11.
#[test]
fn a_penalty_that_acts_is_named_with_its_end() {
    let place = Place::of(&["explain", "--input", "e.jsonl", "--policy", "p"]);
    let penalties = "penalties: { half_life: 1h, steps: [{ points: 1.5, verdict: reject, for: 60s, code: PAUSE, text: Paused }] }\n";
    place.file("p/p.yaml", POLICY.to_owned() + penalties);
    let events = [0, 10, 20, 30, 31, 32].map(|second| event(&second.to_string(), second, "ann", "like"));
    place.file("e.jsonl", events.join("\n"));
    let bound = "penalty-1.5 (reject until 2025-06-15T15:08:11.000Z, 59s more): Paused";
    let found = place.json(&["--event-id", "32"]);
    assert_eq!((&found["verdict"], &found["bound_by"]), (&json!("reject"), &json!(bound)));
    let told = place.run(&["--event-id", "32"]).out;
    assert!(told.contains(&format!("acts while it lasts, whatever limits and rules say: {bound}")), "{told}");
    assert!(!told.contains("nothing acted"), "{told}");
}
