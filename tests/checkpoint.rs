//! `weir checkpoint` beside a process that owns the folder: what it is asked, and what a copy of its state is worth.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/place.rs"]
mod place;
mod support;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use place::Place;
use serde_json::Value as Json;
use support::{get, request};
use weir::clock::Stopwatch;
use weir::config::{self, Overrides};
use weir::desk::{Desk, OwnCheckpoints, ReaderTime, Readiness, Serving};
use weir::engine::cut::{CutProgress, Page};
use weir::engine::event::Arrival;
use weir::engine::key::HashSeed;
use weir::engine::policy::load::load;
use weir::engine::time::Timestamp;
use weir::engine::verdict::Verdict;
use weir::engine::{Engine, Input, Outputs};
use weir::metrics;
use weir::pipeline::revive;
use weir::state::{Archive, Checkpoints, Meta, Steps};
use weir::wire::interaction::{DecodeLimits, decode};

const TOKEN: &str = "0123456789abcdef0123";
const SEED: HashSeed = HashSeed(3, 5);
/// 2025-06-15T15:06:40Z.
const START: i64 = 1_750_000_000_000;

const POLICY: &str = "version: 1
limits:
  - { id: twice, key: [user], window: 1m, max: 2, verdict: reject, code: R, text: t, source: s, owner: o }
";

fn sources() -> Vec<(String, String)> {
    vec![("policy.yaml".to_owned(), POLICY.to_owned())]
}

fn like(engine: &mut Engine, number: i64, user: &str) -> Verdict {
    let at = START + number * 1000;
    let line = format!(r#"{{"event_id":"e{number}","occurred_at":{at},"action":"like","user_id":"{user}"}}"#);
    let append_time = Timestamp::from_millis(at);
    let arrival = Arrival { topic: "t", partition: 0, offset: number, append_time };
    let decoded = decode(Some(line.as_bytes()), &[], &DecodeLimits::default()).unwrap();
    let mut out = Outputs::default();
    engine.apply(Input::Event(&decoded.event, arrival), &mut out);
    out.judgement.unwrap().verdict
}

fn meta(seq: u64) -> Meta {
    Meta {
        semantics: "1".into(),
        basis: "b".into(),
        policy: load(&sources()).unwrap_or_else(|_| panic!("a policy")).policy.hash.to_string(),
        policy_sources: sources(),
        lineage: "line".into(),
        seq,
        chain: "c".repeat(64),
        journal_from: 0,
        positions: Vec::new(),
        created_at: START,
    }
}

/// The state of an engine that two likes of `u` were told.
fn state() -> Vec<Page> {
    let mut engine = Engine::new(load(&sources()).unwrap_or_else(|_| panic!("a policy")).policy, SEED);
    assert_eq!([1, 2].map(|number| like(&mut engine, number, "u")), [Verdict::Allow; 2]);
    let mut pages = Vec::new();
    engine.begin_cut();
    while engine.copy_pages(1 << 20, &mut pages) == CutProgress::More {}
    pages
}

/// So much that no buffer of a connection holds it.
fn large() -> Vec<Page> {
    let rows = 1 << 17;
    let page = |number: u32| Page::new([2, 1, 0, number * rows, 64 * rows, 2], vec![number; 2 << 17]);
    (0..64).map(|number| page(number).unwrap()).collect()
}

fn publish(checkpoints: &Mutex<Checkpoints>, seq: u64, pages: Vec<Page>) {
    let mut checkpoints = checkpoints.lock().unwrap();
    let mut writer = checkpoints.begin(meta(seq)).unwrap();
    for page in pages {
        writer.write(page).unwrap();
    }
    let written = writer.finish().unwrap();
    checkpoints.publish(written).unwrap();
}

/// A process that owns the folder `state` of a place, as far as the command can tell: this one.
struct Owner {
    desk: Desk,
    checkpoints: Arc<Mutex<Checkpoints>>,
    dir: PathBuf,
}

impl Owner {
    fn start(place: &Place, http: &str) -> Self {
        let http = config::parse(Path::new(""), &format!("[http]\n{http}"), &Overrides::default());
        let http = http.unwrap().config.http;
        let (serving, readiness) = (Serving::new(1 << 20, ReaderTime::Wall), Readiness::new());
        let own = OwnCheckpoints::default();
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let desk =
            Desk::start(any_port, &http, Arc::new(serving), Arc::new(readiness), metrics::install(), &own)
                .unwrap();
        let dir = place.path("state");
        let mut checkpoints = Checkpoints::open(&dir, "weir run", Steps::default()).unwrap();
        checkpoints.answers_at(&format!("http://{}", desk.address())).unwrap();
        let checkpoints = Arc::new(Mutex::new(checkpoints));
        own.show(Arc::clone(&checkpoints));
        Self { desk, checkpoints, dir }
    }

    fn used(&self) -> String {
        format!("state is in use by process {} (weir run)", std::process::id())
    }
}

fn run(place: &Place, words: &[&str]) -> place::Ran {
    place.run(&[&["checkpoint"], words, &["--state-dir", "state"]].concat())
}

#[test]
fn its_owner_lists_verifies_and_hands_over_a_state_that_goes_on() {
    let place = Place::new();
    let owner = Owner::start(&place, "");
    let none = run(&place, &["list"]);
    assert_eq!((none.code, none.out.contains("there are no checkpoints in ")), (0, true), "{none:?}");
    publish(&owner.checkpoints, 41, state());

    let listed = run(&place, &["list"]);
    assert_eq!(listed.err, format!("{}, which answers\n", owner.used()));
    assert!(listed.out.contains("line/41") && listed.out.contains("  yes\n"), "{}", listed.out);
    let listed: Json = serde_json::from_str(&run(&place, &["list", "--format", "json"]).out).unwrap();
    let first = &listed["checkpoints"][0];
    assert_eq!((&first["seq"], &first["confirmed"]), (&Json::from(41), &Json::Bool(true)));
    assert_eq!(
        (&listed["unusable"], &listed["writing"]),
        (&Json::from(Vec::<Json>::new()), &Json::Bool(false))
    );

    let verified = run(&place, &["verify"]);
    assert_eq!((verified.code, verified.out.contains("checkpoint 1 is sound: ")), (0, true), "{verified:?}");
    publish(&owner.checkpoints, 42, state());
    let both = run(&place, &["verify"]);
    assert_eq!((both.code, both.out.matches(" is sound: ").count()), (0, 2), "one after the other: {both:?}");
    // Of one that is only asked, no folder is known.
    let url = format!("http://{}", owner.desk.address());
    let exported = place.run(&["checkpoint", "export", "--output", "out.ckp", "--url", &url]);
    assert_eq!((exported.code, exported.err.as_str()), (0, ""), "{exported:?}");
    assert!(!place.path("out.ckp.partial").exists());

    let taken = place.run(&["checkpoint", "import", "out.ckp", "--state-dir", "other"]);
    assert!(taken.out.starts_with("out.ckp is now checkpoint 1 "), "{taken:?}");
    let pages = Archive::at(place.path("other")).load(1).unwrap();
    let meta = pages.meta().clone();
    let mut restored =
        revive(&meta, pages.map(|page| page.map_err(|error| error.to_string())), SEED).unwrap();
    assert_eq!(
        like(&mut restored, 3, "u"),
        Verdict::Reject,
        "the third within a minute, of which two are allowed"
    );
    assert_eq!(like(&mut restored, 4, "other"), Verdict::Allow);
}

/// One that an earlier process wrote is not yet known to be in the journal.
#[test]
fn only_what_the_journal_is_known_to_hold_is_confirmed() {
    let place = Place::new();
    drop({
        let owner = Owner::start(&place, "");
        publish(&owner.checkpoints, 41, state());
        owner.checkpoints
    });
    let owner = Owner::start(&place, "");
    assert!(run(&place, &["list"]).out.contains("  not looked up\n"));
    owner.checkpoints.lock().unwrap().confirm(1);
    assert!(run(&place, &["list"]).out.contains("  yes\n"));
    let mut held = owner.checkpoints.lock().unwrap();
    let _under_way = held.begin(meta(42)).unwrap();
    drop(held);
    let listed: Json = serde_json::from_str(&run(&place, &["list", "--format", "json"]).out).unwrap();
    assert_eq!(listed["writing"], true);
}

#[test]
fn damage_is_told_by_the_owner_with_its_place_and_nothing_is_exported() {
    let place = Place::new();
    let owner = Owner::start(&place, "");
    publish(&owner.checkpoints, 41, large());
    let file = owner.dir.join("generation-000000000001/segment-0000");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).unwrap();

    let verified = run(&place, &["verify", "1"]);
    assert_eq!(verified.code, 1);
    assert!(verified.out.contains("segment-0000 is damaged at byte "), "{verified:?}");
    let exported = run(&place, &["export", "1", "--output", "out.ckp"]);
    assert_eq!(exported.code, 1);
    assert!(exported.err.contains("segment-0000 is damaged at byte "), "{exported:?}");
    assert!(!place.path("out.ckp").exists() && !place.path("out.ckp.partial").exists());
    let missing = run(&place, &["verify", "9"]);
    assert_eq!(
        (missing.code, missing.out.contains("there is no checkpoint 9 in ")),
        (1, true),
        "{missing:?}"
    );
    // A foot that is gone is seen without reading the rest.
    fs::write(&file, b"weir-ckp").unwrap();
    let listed = run(&place, &["list"]);
    assert!(listed.out.contains("checkpoint 1 cannot be used: "), "{listed:?}");
    assert_eq!(run(&place, &["verify"]).code, 1);
}

#[test]
fn a_folder_that_is_owned_takes_nothing_over() {
    let place = Place::new();
    let owner = Owner::start(&place, "");
    publish(&owner.checkpoints, 41, state());
    assert_eq!(run(&place, &["export", "--output", "out.ckp"]).code, 0);
    let refused = run(&place, &["import", "out.ckp"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.starts_with(&format!("error: {}", owner.used())), "{refused:?}");
    assert!(refused.err.contains("stop it, or import into another folder"), "{refused:?}");
    assert_eq!(owner.checkpoints.lock().unwrap().published().unwrap().len(), 1);
}

#[test]
fn who_has_no_token_reads_files_with_a_word_or_is_refused() {
    let place = Place::new();
    let owner = Owner::start(&place, &format!("token = \"{TOKEN}\"\n"));
    publish(&owner.checkpoints, 41, state());
    let (address, url) = (owner.desk.address(), format!("http://{}", owner.desk.address()));
    for path in ["/v1/checkpoints", "/v1/checkpoints/1/verify", "/v1/checkpoints/1/export"] {
        assert_eq!(get(address, path).status, 401, "{path}");
        let shown = format!("Authorization: Bearer {TOKEN}\r\n");
        assert_eq!(request(address, "POST", path, &shown).status, 405, "{path}");
    }
    let listed = run(&place, &["list"]);
    let why =
        format!("{}; this is what stands on the disk now, for {url} does not answer: send ", owner.used());
    assert!(listed.code == 0 && listed.err.starts_with(&why), "{listed:?}");
    assert!(listed.out.contains("line/41") && !listed.out.contains("in the journal"), "{listed:?}");
    let refused = run(&place, &["list", "--url", &url]);
    assert_eq!((refused.code, refused.out.as_str()), (1, ""), "{refused:?}");

    place.file("weir.toml", format!("[http]\ntoken = \"{TOKEN}\"\n"));
    let listed = run(&place, &["list", "--config", "weir.toml"]);
    assert_eq!((listed.code, listed.err), (0, format!("{}, which answers\n", owner.used())));
    let typed = run(&place, &["list", "--url", "https://127.0.0.1"]);
    assert_eq!((typed.code, typed.err.contains("http://HOST:PORT")), (2, true), "{typed:?}");
    drop(owner);
    assert!(run(&place, &["list", "--url", &url]).err.contains("does not answer"));
    assert_eq!(run(&place, &["list"]).err, "", "nobody owns it any more");
}

/// What is being handed over is read to its end although it is pruned meanwhile; and who takes nothing does not keep
/// others from theirs for longer than a request may take.
#[test]
fn one_at_a_time_is_read_and_to_its_end() {
    let place = Place::new();
    let owner = Owner::start(&place, "request_timeout = \"1s\"\n");
    publish(&owner.checkpoints, 1, large());
    let address = owner.desk.address();
    let mut slow = ask(address, "/v1/checkpoints/1/export");
    let mut begun = [0; 4096];
    slow.read_exact(&mut begun).unwrap();
    assert!(begun.starts_with(b"HTTP/1.1 200 "));
    let other = get(address, "/v1/checkpoints/1/verify");
    assert_eq!((other.status, other.body.contains("one at a time")), (503, true), "{other:?}");
    publish(&owner.checkpoints, 2, state());
    publish(&owner.checkpoints, 3, state());
    assert!(!owner.dir.join("generation-000000000001").exists());
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).unwrap();
    assert!(rest.len() > 64 << 20 && rest.ends_with(b"\r\n0\r\n\r\n"), "{} bytes", rest.len());

    publish(&owner.checkpoints, 4, large());
    let idle = ask(address, "/v1/checkpoints/4/export");
    let since = Stopwatch::start();
    while get(address, "/v1/checkpoints/3/verify").status == 503 {
        assert!(since.elapsed() < Duration::from_secs(20), "it waits for who takes nothing");
        std::thread::park_timeout(Duration::from_millis(50));
    }
    drop(idle);
}

fn ask(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    stream
}
