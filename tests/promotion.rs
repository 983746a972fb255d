//! `weir policy promote|rollback|list` as it is typed, over a handful of events.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tempfile::TempDir;
use weir::config::policy_dir::read_dir;
use weir::engine::policy::load::content_hash;
use weir::engine::verdict::Verdict;
use weir::stream::{Embedded, OutBatch, Topic, TopicNames, post};
use weir::wire::quantity::EpochMillis;
use weir::wire::shadow_tally::{self, DisagreedRecord, ShadowTallyRecord};

const T0: i64 = 1_750_000_000_000;

/// A rule that does something to comments.
fn talk(does: &str) -> String {
    format!(
        "version: 1\nrules:\n  - {{ id: talk, family: content, when: \"event.action == 'comment'\", {does}, code: TALK, \
         text: t, source: s, owner: o }}\n"
    )
}

struct Place(TempDir);

struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Place {
    /// Three likes and a comment; now a comment is demoted, the candidate holds it.
    fn new() -> Place {
        let place = Place(tempfile::tempdir().expect("a temporary folder"));
        place.file("now/p.yaml", &talk("verdict: demote"));
        place.file("now/README.md", "why we do so");
        place.file("then/rules.yaml", &talk("verdict: hold"));
        let event = |id: usize, action: &str| {
            let at = T0 + 1000 * id as i64;
            format!(
                r#"{{"event_id":"{id}","occurred_at":{at},"action":"{action}","user_id":"u","target_id":"t"}}"#
            )
        };
        let lines =
            ["like", "like", "comment", "like"].iter().enumerate().map(|(id, action)| event(id, action));
        place.file("e.jsonl", &lines.collect::<Vec<_>>().join("\n"));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        fs::write(&path, text).expect("writable");
    }

    fn hash(&self, dir: &str) -> String {
        content_hash(&read_dir(&self.path(dir)).expect("readable"))
    }

    fn run(&self, words: &str, more: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("WEIR_")) {
            command.env_remove(name);
        }
        let args = ["policy"]
            .into_iter()
            .chain(words.split(' '))
            .chain(["--policy", "now"])
            .chain(more.iter().copied());
        let ran =
            command.args(args).current_dir(self.0.path()).stdin(Stdio::null()).output().expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("all that is said is UTF-8");
        Ran { code: ran.status.code().expect("it ended"), out: text(ran.stdout), err: text(ran.stderr) }
    }

    fn list(&self) -> Json {
        let ran = self.run("list --print json", &[]);
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.err))
    }
}

const PROMOTE: &str = "promote --candidate then --input e.jsonl --actor ann --reason rings";

/// One of four decisions is a new hold: 25 percent.
#[test]
fn over_its_budget_a_candidate_is_refused_unless_forced_and_can_be_taken_back() {
    let place = Place::new();
    let (now, then) = (place.hash("now"), place.hash("then"));
    let ran = place.run(PROMOTE, &[]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("refused, over the budget"), "{}", ran.err);
    assert_eq!((place.hash("now"), place.path("now.versions").exists()), (now.clone(), false));

    let ran = place.run(PROMOTE, &["--force", "the desk knows"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("FORCED over its budget") && ran.out.contains("new_holds"), "{}", ran.out);
    assert_eq!(place.hash("now"), then);
    assert!(place.path("now/README.md").is_file() && !place.path("now/p.yaml").exists());
    let listed = place.list();
    assert_eq!(listed["in_place"], json!(then));
    let mut kept = [now.clone(), then.clone()];
    kept.sort();
    assert_eq!(listed["kept"], json!(kept));
    let entry = &listed["log"][0];
    assert_eq!(
        (&entry["what"], &entry["from"], &entry["to"]),
        (&json!("promote"), &json!(now), &json!(then))
    );
    assert_eq!((&entry["actor"], &entry["reason"]), (&json!("ann"), &json!("rings")));
    let judged = &entry["judged"];
    assert_eq!((&judged["forced"], &judged["decisions"]), (&json!("the desk knows"), &json!(4)));

    let ran = place.run("rollback", &[&now[..12], "--reason", "too many held"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(place.hash("now"), now);
    let listed = place.list();
    assert_eq!(
        (&listed["log"][1]["what"], listed["log"].as_array().map(Vec::len)),
        (&json!("rollback"), Some(2))
    );
    let ran = place.run("list", &[]);
    assert!(ran.out.contains("rings (forced: the desk knows)"), "{}", ran.out);
}

#[test]
fn within_its_budget_it_is_put_in_place_and_nothing_is_forced() {
    let place = Place::new();
    let ran = place.run(PROMOTE, &["--budget", "new_holds > 25%", "--force", "not needed"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("within its budget"), "{}", ran.out);
    let judged = &place.list()["log"][0]["judged"];
    assert_eq!((&judged["over_budget"], &judged["forced"]), (&json!(false), &Json::Null));
    let ran = place.run(PROMOTE, &[]);
    assert_eq!((ran.code, ran.err.contains("is in place already")), (0, true), "{}", ran.err);
}

/// Half of an archive is not what the candidate was to be judged by, whatever its budget and whoever forces it.
#[test]
fn nothing_is_put_in_place_for_a_file_that_breaks_off() {
    let place = Place::new();
    let event = |id: i64| {
        let (at, user) = (T0 + id, id * 7919 % 104_729);
        format!(r#"{{"event_id":"{id}","occurred_at":{at},"action":"like","user_id":"u{user}"}}"#)
    };
    let text = (0..20_000).map(event).collect::<Vec<_>>().join("\n");
    let packed = zstd::encode_all(text.as_bytes(), 3).expect("it packs");
    fs::write(place.path("e.jsonl"), &packed[..packed.len() / 2]).expect("writable");
    let ran = place.run(PROMOTE, &["--force", "r"]);
    assert_eq!((ran.code, ran.err.contains("error: the input broke off")), (1, true), "{}", ran.err);
    assert_ne!(place.hash("now"), place.hash("then"));
    fs::write(place.path("e.jsonl"), packed).expect("writable");
    assert_eq!(place.run(PROMOTE, &[]).code, 0);
    assert_eq!(place.hash("now"), place.hash("then"));
}

#[test]
fn what_cannot_be_put_in_place_is_told() {
    let place = Place::new();
    let ran = place.run("rollback", &["9f86", "--reason", "r"]);
    assert_eq!((ran.code, ran.err.contains("first 8 digits")), (2, true), "{}", ran.err);
    place.file("then/rules.yaml", "version: 1\nrules: [{ id: x }]\n");
    assert_eq!(place.run(PROMOTE, &[]).code, 78);
    place.file("then/rules.yaml", &talk("verdict: hold"));
    place.file("e.jsonl", "{\"damaged");
    let ran = place.run(PROMOTE, &["--force", "r"]);
    assert_eq!((ran.code, ran.err.contains("nothing to judge")), (1, true), "{}", ran.err);
    let failing =
        "tests: [{ name: n, events: [{ at: 0s, action: comment, user_id: u }], expect: { verdict: allow } }]";
    place.file("then/rules.yaml", &talk(&format!("verdict: hold, {failing}")));
    let ran = place.run(PROMOTE, &["--force", "r"]);
    assert_eq!((ran.code, ran.err.contains("1 of its own tests fail")), (1, true), "{}", ran.err);
}

/// A tally as `weir run --candidate` tells it, of so many decisions, of which so many were demoted and would be held.
fn tally(place: &Place, decisions: u64, held: u64) -> ShadowTallyRecord {
    let disagreed = DisagreedRecord {
        actual_verdict: Verdict::Demote.into(),
        would_be: Verdict::Hold.into(),
        decisions: held,
    };
    ShadowTallyRecord {
        policy: place.hash("now"),
        candidate: place.hash("then"),
        decisions,
        disagreed: [disagreed].into_iter().filter(|pair| pair.decisions > 0).collect(),
        ..ShadowTallyRecord::default()
    }
}

/// Nothing on the topic is no evidence; a tally without a disagreement is.
#[test]
fn a_candidate_that_never_disagreed_is_told_from_one_that_did_not_run() {
    let (names, patience) = (TopicNames::with_prefix(""), Duration::from_secs(10));
    let topics = [(Topic::Shadow, 2), (Topic::Decisions, 1)];
    let broker = Embedded::start(&names, &topics).expect("an embedded broker");
    let place = Place::new();
    let tell = |tally: &ShadowTallyRecord| {
        let mut out = OutBatch::default();
        let record = out.record(Topic::Shadow).key_bytes(Some(tally.key().as_bytes()));
        let record = record.value_bytes(Some(&shadow_tally::encode(tally)));
        record.header("ce_type", Some(b"risk.shadow-tally.v1")).finish();
        post(&broker.settings(), &names, &out.get(0), patience).expect("it is taken");
    };
    let promote = || {
        let shadow = "promote --candidate then --from-shadow --reason rings";
        place.run(shadow, &["--brokers", broker.bootstrap_servers()])
    };
    let ran = promote();
    assert_eq!((ran.code, ran.err.contains("neither a tally nor a disagreement")), (1, true), "{}", ran.err);
    tell(&ShadowTallyRecord { candidate: "0".repeat(64), ..tally(&place, 9, 0) });
    assert_eq!(promote().code, 1, "another candidate ran");
    tell(&ShadowTallyRecord { since: Some(EpochMillis(T0)), ..tally(&place, 1_000, 500) });
    let ran = promote();
    assert!(ran.code == 3 && ran.err.contains("new_holds = 50 %"), "{}", ran.err);
    tell(&ShadowTallyRecord { since: Some(EpochMillis(T0 + 1)), ..tally(&place, 7, 0) });
    let ran = promote();
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("a tally of 7 decisions, 0 of them otherwise"), "{}", ran.err);
    assert_eq!(place.list()["log"][0]["shadow"]["decisions"], json!(7));
}
