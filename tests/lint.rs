//! `weir lint` and `weir map` as they are typed.

#[path = "support/place.rs"]
mod place;

use std::fs;

use place::Place;
use serde_json::{Value as Json, json};

/// `dead` needs a count of likes of an event that is a login; `narrow` says nothing that `wide` does not; nobody reads
/// `spare`; one user may do three likes a minute and an address all it wants.
const POLICY: &str = "version: 1
guards: { blast_radius: { accounts: 1000, within: 1h } }
signals:
  - { name: likes, key: [user], when: event.action == 'like', window: 1h, count: {}, doc: d }
  - { name: spare, key: [user], window: 1h, count: {}, doc: d }
limits:
  - { id: pace, key: [user, action], when: event.action == 'like', window: 1m, max: 3, verdict: reject, code: PACE, text: t, source: s, owner: o }
rules:
  - { id: dead, family: content, when: \"event.action == 'login' && likes >= 3\", verdict: hold, code: DEAD, text: t, source: s, owner: o }
  - { id: wide, family: content, when: \"event.action == 'like' && likes >= 30\", verdict: hold, code: WIDE, text: t, source: s, owner: o }
  - { id: narrow, family: content, when: \"event.action == 'like' && likes >= 60\", verdict: hold, code: NARROW, text: t, source: s, owner: o }
";

fn findings(found: &Json) -> Vec<(String, String)> {
    let text = |value: &Json| value.as_str().expect("text").to_owned();
    let list = found["findings"].as_array().expect("a list").iter();
    list.map(|finding| (text(&finding["about"]), text(&finding["kind"]))).collect()
}

#[test]
fn a_policy_is_looked_at_by_itself() {
    let place = Place::new();
    place.file("p/p.yaml", POLICY);
    let found = place.json(&["lint", "--policy", "p"]);
    let expected = [("dead", "never_fires"), ("narrow", "overlaps"), ("spare", "unused")];
    assert_eq!(findings(&found), expected.map(|(about, kind)| (about.to_owned(), kind.to_owned())));
    let rows = found["most_in_a_day"].as_array().expect("a list");
    let most = |who: &str, action: &str| {
        let is =
            |row: &&Json| row["who"] == who && row["actions"].as_array().unwrap().contains(&json!(action));
        rows.iter().find(is).unwrap_or_else(|| panic!("{who} {action}"))["most"].clone()
    };
    // 29 an hour by `wide`, less than the 180 of three a minute.
    assert_eq!(most("settled account", "like"), json!({"times": 29 * 24}));
    assert_eq!(most("settled account", "login"), json!("unlimited"));
    assert_eq!(most("address", "like"), json!("unlimited"));

    let text = place.run(&["lint", "--policy", "p"]);
    assert_eq!(text.code, 0, "{}", text.err);
    assert!(text.out.contains("without limit") && text.out.contains("696"), "{}", text.out);
    assert_eq!(place.run(&["lint", "--policy", "p", "--strict"]).code, 1);
}

#[test]
fn with_events_it_tells_who_stayed_silent_and_who_never_spoke_alone() {
    let place = Place::new();
    place.file(
        "p/p.yaml",
        "version: 1
guards: { blast_radius: { accounts: 1000, within: 1h } }
rules:
  - { id: a, family: content, when: \"event.action == 'bad'\", verdict: demote, code: A, text: t, source: s, owner: o }
  - { id: b, family: account, when: \"event.target_id == 't'\", points: 3, code: B, text: t, source: s, owner: o }
  - { id: c, family: content, when: \"event.action == 'worse'\", verdict: hold, code: C, text: t, source: s, owner: o }
",
    );
    let event = |n: u32| {
        let action = if n.is_multiple_of(2) { "bad" } else { "like" };
        format!(
            r#"{{"event_id":"{n}","occurred_at":{},"action":"{action}","user_id":"u{n}","target_id":"t"}}"#,
            1_750_000_000_000_i64 + i64::from(n) * 1000
        )
    };
    place.file("e.jsonl", (0..50).map(event).collect::<Vec<_>>().join("\n"));
    let found = place.json(&["lint", "--policy", "p", "--input", "e.jsonl"]);
    let expected = [("c", "silent"), ("a", "overlaps")];
    assert_eq!(findings(&found), expected.map(|(about, kind)| (about.to_owned(), kind.to_owned())));
}

#[test]
fn the_standard_policy_has_nothing_that_never_fires() {
    let place = Place::new();
    let found = place.json(&["lint"]);
    let dead = findings(&found).into_iter().filter(|(_, kind)| kind == "never_fires");
    assert_eq!(dead.collect::<Vec<_>>(), []);
    let rows = found["most_in_a_day"].as_array().expect("a list");
    let new = rows.iter().find(|row| {
        row["who"] == "new account" && row["actions"].as_array().unwrap().contains(&json!("like"))
    });
    assert_eq!(new.expect("a row")["most"], json!({"times": 100}), "new-account-day");
}

#[test]
fn a_table_is_mapped_and_its_command_makes_a_report() {
    let place = Place::new();
    let mut table = "when,account,object,client_ip\n".to_owned();
    for n in 0..200 {
        table += &format!("{},user{},post{},198.51.100.{}\n", 1_750_000_000 + n * 7, n % 40, n % 9, n % 50);
    }
    place.file("likes.csv", table);
    let mapped = place.run(&["map", "likes.csv"]);
    assert_eq!(mapped.code, 0, "{}", mapped.err);
    let command = mapped.out.lines().last().expect("a command").trim().to_owned();
    assert_eq!(
        command,
        "weir backtest --input likes.csv --map time=when --map user=account --map target=object --map ip=client_ip \
         --action like --report first.html"
    );
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let ran = place.run(&words);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let page = fs::read_to_string(place.path("first.html")).expect("it was written");
    assert!(page.contains("<title>Backtest of standard policy</title>"));
    assert!(ran.out.contains("200"), "{}", ran.out);
}

/// What a file is not called must be said; tabs part the columns whatever else the names hold.
#[test]
fn a_table_by_another_name_is_mapped_with_its_form() {
    let place = Place::new();
    let table =
        "when, in UTC\twho, by name\tobject\n2026-05-04T12:00:00Z\tann\tp1\n2026-05-04T12:00:01Z\tbob\tp1\n";
    place.file("log.tsv", table);
    place.file("log.tsv.zst", zstd::encode_all(table.as_bytes(), 1).expect("memory takes all"));
    for name in ["log.tsv", "log.tsv.zst"] {
        let mapped = place.json(&["map", name]);
        let columns: Vec<_> =
            mapped["columns"].as_array().expect("a list").iter().map(|of| &of["name"]).collect();
        assert_eq!(columns, ["when, in UTC", "who, by name", "object"]);
        let words = ["backtest", "--input", name, "--map", "target=object", "--action", "like"];
        let unmapped = place.run(&words);
        assert!(unmapped.err.contains("no column is mapped to `time`"), "{}", unmapped.err);
    }
    let simple = table.replace("when, in UTC", "when").replace("who, by name", "who");
    place.file("log.tsv", &simple);
    place.file("log.txt", &simple);
    for (name, form) in [("log.tsv", ""), ("log.txt", "--format csv ")] {
        let mapped = place.run(&["map", name]);
        let command = mapped.out.lines().last().expect("a command").trim().to_owned();
        let begin = format!("weir backtest --input {name} {form}--map time=when");
        assert!(command.starts_with(&begin), "{command}{}", mapped.err);
        let ran = place.run(&command.split(' ').skip(1).collect::<Vec<_>>());
        assert!(ran.code == 0 && ran.out.contains("decided 2"), "{}{}", ran.out, ran.err);
    }
    let piped = place.run_with(&["map", "-"], &simple);
    assert!(piped.out.contains("weir backtest --input - --format csv --map time=when"), "{}", piped.out);
}

/// Nothing can be said of what stays silent where nothing was decided, or where the end is missing.
#[test]
fn events_that_cannot_be_read_fail_with_their_place() {
    let place = Place::new();
    place.file("bad.jsonl", "nonsense\n{\n");
    let ran = place.run(&["lint", "--input", "bad.jsonl"]);
    assert_eq!(ran.code, 65, "{}", ran.out);
    assert!(ran.err.contains("bad.jsonl:1:2: malformed_json"), "{}", ran.err);
    assert!(ran.err.contains("error: bad.jsonl: no event was decided"), "{}", ran.err);
    let lines: String = (0..5_000).fold(String::new(), |text, n| {
        let noise = n * 7919 % 104_729;
        text + &format!(
            "{{\"event_id\":\"{n}\",\"occurred_at\":{},\"action\":\"like\",\"user_id\":\"u{noise}\"}}\n",
            1_750_000_000_000_i64 + n
        )
    });
    let packed = zstd::encode_all(lines.as_bytes(), 1).expect("memory takes all");
    place.file("cut.jsonl.zst", &packed[..packed.len() / 2]);
    let cut = place.run(&["lint", "--input", "cut.jsonl.zst"]);
    assert!(cut.code == 1 && cut.err.contains("error: cut.jsonl.zst: broke off"), "{}", cut.err);
    // Twice the same event: one was decided.
    let event = lines.lines().next().expect("a line");
    place.file("twice.jsonl", format!("{event}\n{event}\n"));
    let told = place.run(&["lint", "--input", "twice.jsonl"]);
    assert!(
        told.code == 0 && told.out.contains("none of the 1 events that were decided"),
        "{}{}",
        told.out,
        told.err
    );
}

/// As a spreadsheet of another country writes it.
#[test]
fn a_table_with_semicolons_and_a_byte_order_mark_is_mapped_as_well() {
    let place = Place::new();
    place.file("t.csv", "\u{feff}Zeit;user;text\n2026-05-04 12:00:00;ann;a, b\n2026-05-04 12:00:01;bob;c\n");
    let ran = place.run(&["map", "t.csv"]);
    assert!(ran.out.contains("user    user"), "{}{}", ran.out, ran.err);
    let read = place.run(&["backtest", "--input", "t.csv", "--map", "time=Zeit", "--action", "like"]);
    assert_eq!(read.code, 0, "{}", read.err);
    assert!(read.out.contains("records read          2") || read.out.contains("decided 2"), "{}", read.out);
}

/// No mapping can name one of two columns of a name, and none a column without a name.
#[test]
fn a_table_without_names_of_its_columns_or_with_one_twice_is_refused_with_words() {
    let place = Place::new();
    place.file("twice.csv", "when,user,user\n1750000000,ann,a\n1750000001,bob,b\n");
    let twice = place.run(&["map", "twice.csv"]);
    assert!(
        twice.code == 1 && twice.err.contains("the column `user` is there more than once"),
        "{}",
        twice.err
    );
    assert!(twice.out.contains("once each column has a name of its own:"), "{}", twice.out);
    place.file("bare.csv", "2026-05-04 12:00:00,ann,p1\n2026-05-04 12:00:01,bob,p2\n");
    let bare = place.run(&["map", "bare.csv"]);
    assert!(bare.code == 1 && bare.err.contains("write a line of column names above it"), "{}", bare.err);
    assert!(bare.out.is_empty(), "{}", bare.out);
    place.file("unsure.csv", "created,member\n2026-05-04T12:00:01Z,ann\n2026-05-04T12:00:02Z,bob\n");
    let unsure = place.run(&["map", "unsure.csv"]).out;
    assert!(unsure.contains("time?") && unsure.contains("A field with `?` is a guess"), "{unsure}");
}

#[test]
fn a_table_without_a_time_is_refused_with_words() {
    let place = Place::new();
    place.file("t.csv", "who,what\nann,like\nbob,share\n");
    let ran = place.run(&["map", "t.csv"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("no column looks like time"), "{}", ran.err);
    assert!(ran.out.contains("who     user"), "{}", ran.out);
    place.file("empty.csv", "");
    assert!(place.run(&["map", "empty.csv"]).err.contains("empty.csv: is empty"));
}

/// Of `pace` both sides are seen; of `loud` only that it fires: its second part was never other than true.
#[test]
fn tests_of_a_policy_tell_what_they_reach_and_write_junit() {
    let place = Place::new();
    place.file(
        "p/p.yaml",
        "version: 1
limits:
  - id: pace
    key: [user]
    window: 1m
    max: 1
    verdict: demote
    code: PACE
    text: t
    source: s
    owner: o
    tests:
      - name: one passes
        events: [{ at: 0s, action: like, user_id: u }]
        expect: { verdict: allow, fires: false }
      - name: two <do> not
        events: [{ at: 0s, repeat: 2, every: 1s, action: like, user_id: u }]
        expect: { verdict: allow }
rules:
  - id: loud
    family: content
    when: event.action == 'shout' && event.user_id == 'u'
    verdict: hold
    code: LOUD
    text: t
    source: s
    owner: o
    tests:
      - name: it waits
        events: [{ at: 0s, action: shout, user_id: u }]
        expect: { verdict: hold, by: loud }
",
    );
    let ran = place.run(&["test", "--policy", "p", "--coverage", "--junit", "r.xml"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.contains("2 passed, 1 failed"), "{}", ran.out);
    let line = |id: &str| {
        let rows = ran.out.lines().skip_while(|line| !line.contains("What the tests reach"));
        let row =
            rows.map(str::trim).find(|line| line.starts_with(id)).unwrap_or_else(|| panic!("{}", ran.out));
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("pace"), "pace limit 1 3 -");
    assert_eq!(line("loud"), "loud rule 1 3 2 of 3 never other than true: event.user_id == 'u'");
    let xml = fs::read_to_string(place.path("r.xml")).expect("it was written");
    assert!(xml.contains("<testsuites tests=\"3\" failures=\"1\" errors=\"0\">"), "{xml}");
    assert!(
        xml.contains("name=\"two &lt;do&gt; not\"")
            && xml.contains("<failure message=\"event 2: expected allow, got demote"),
        "{xml}"
    );
    assert_eq!(xml.matches("<testcase").count(), 3);
}
