//! The desk over real sockets: who may ask, what is answered, and what a client cannot do.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde_json::json;
use support::{exchange, get, request};
use weir::config::{self, Http, Overrides};
use weir::desk::{
    AccountSeen, Check, Desk, DeviceSeen, OwnCheckpoints, Penalty, ReaderTime, Readiness, Serving,
    ServingUpdate, SubjectUpdate, VerdictSeen,
};
use weir::engine::ban::{Ban, BanChange, Origin};
use weir::engine::decision::DecisionId;
use weir::engine::entity::{Entity, EntityKind};
use weir::engine::time::{Span, Timestamp};
use weir::engine::verdict::Verdict;
use weir::metrics;

const TOKEN: &str = "0123456789abcdef0123";
/// 2025-06-15T12:00:00Z.
const NOON: i64 = 1_749_988_800_000;

struct Server {
    desk: Desk,
    serving: Arc<Serving>,
    readiness: Arc<Readiness>,
}

fn http(text: &str) -> Http {
    config::parse(Path::new(""), &format!("[http]\n{text}"), &Overrides::default()).unwrap().config.http
}

fn start(http: &Http) -> Server {
    let serving = Arc::new(Serving::new(http.subjects_memory, ReaderTime::Stream));
    let readiness = Arc::new(Readiness::new());
    let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
    let own = OwnCheckpoints::default();
    let metrics = metrics::install();
    let desk =
        Desk::start(any_port, http, Arc::clone(&serving), Arc::clone(&readiness), metrics, &own).unwrap();
    Server { desk, serving, readiness }
}

fn open() -> Server {
    start(&http(""))
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(NOON + 1000 * seconds)
}

fn ban(entity: Entity) -> Ban {
    Ban {
        id: "case-12".into(),
        entity,
        verdict: Verdict::Block,
        origin: Origin::Actor("ann".into()),
        code: "MANUAL".into(),
        reason: "bought likes".into(),
        issued_at: at(0),
        expires_at: Some(at(86_400)),
    }
}

fn verdict(offset: i64) -> VerdictSeen {
    VerdictSeen {
        decision: DecisionId { partition: 3, offset, digest: 255, revision: 0 },
        at: at(offset),
        action: "like".into(),
        verdict: Verdict::Challenge,
        score: 9,
        codes: vec!["REPEAT".into()],
    }
}

#[test]
fn who_may_ask() {
    let with_token = start(&http(&format!("token = \"{TOKEN}\"\n")));
    let without = open();
    let guarded = ["/metrics", "/v1/subjects/user/u", "/nothing"];
    let healthy = ["/healthz", "/readyz"];
    let wrong = format!("Authorization: Bearer {TOKEN}x\r\n");
    let right = format!("Authorization: bearer {TOKEN}\r\n");
    let basic = format!("Authorization: Basic {TOKEN}\r\n");
    let evil = "Host: evil.example.com\r\n".to_owned();
    for path in guarded {
        let answered = if path == "/nothing" { 404 } else { 200 };
        for (server, headers, status) in [
            (&with_token, "", 401),
            (&with_token, wrong.as_str(), 401),
            (&with_token, basic.as_str(), 401),
            (&with_token, right.as_str(), answered),
            (&with_token, &format!("{evil}{right}"), answered),
            (&without, "", answered),
            (&without, evil.as_str(), 421),
            (&without, "Host: evil.example.com\r\nX-Forwarded-For: 127.0.0.1\r\n", 421),
            (&without, "Host: localhost\r\n", answered),
        ] {
            let answer = request(server.desk.address(), "GET", path, headers);
            assert_eq!(answer.status, status, "{path} {headers:?}");
            if status >= 400 {
                assert_eq!(answer.header("content-type"), Some("application/problem+json"));
                assert_eq!(answer.json()["status"], status);
            }
            assert_eq!(answer.header("www-authenticate").is_some(), status == 401);
        }
    }
    for path in healthy {
        assert_ne!(request(with_token.desk.address(), "GET", path, &evil).status, 401, "{path}");
    }
}

#[test]
fn without_a_token_only_this_machine_is_listened_to() {
    let (serving, readiness) = (Serving::new(1 << 20, ReaderTime::Wall), Readiness::new());
    let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let started = Desk::start(
        everywhere,
        &http(""),
        Arc::new(serving),
        Arc::new(readiness),
        metrics::install(),
        &OwnCheckpoints::default(),
    );
    assert!(started.is_err_and(|error| error.to_string().contains("no token")));
}

#[test]
fn readiness_says_what_is_missing() {
    let server = open();
    let address = server.desk.address();
    let answer = get(address, "/readyz");
    assert_eq!(answer.status, 503);
    assert_eq!(answer.json()["missing"].as_array().unwrap().len(), Check::ALL.len());
    for check in Check::ALL {
        server.readiness.pass(check);
    }
    server.readiness.fail(Check::Brokers, "no broker of 127.0.0.1:9092 answers");
    server.readiness.set_notes(vec!["the changed policy was refused: rules.yaml:3:5".into()]);
    let body = get(address, "/readyz").json();
    assert_eq!(body["missing"], json!(["no broker of 127.0.0.1:9092 answers"]));
    assert_eq!(body["checks"][1]["check"], "brokers");
    assert_eq!(body["checks"][1]["ok"], false);
    assert_eq!(body["checks"][0], json!({ "check": "policy", "ok": true, "missing": null }));
    assert_eq!(body["notes"][0], "the changed policy was refused: rules.yaml:3:5");
    server.readiness.pass(Check::Brokers);
    let answer = get(address, "/readyz");
    assert_eq!((answer.status, answer.json()["ready"].as_bool()), (200, Some(true)));
    server.readiness.stop();
    let answer = get(address, "/readyz");
    assert_eq!(
        (answer.status, &answer.json()["missing"][0]),
        (503, &json!("this instance is shutting down"))
    );
    assert_eq!(get(address, "/healthz").status, 200, "stopping is not sick");
}

#[test]
fn health_is_that_the_pipeline_moves() {
    let patient = open();
    patient.readiness.beat();
    assert_eq!(get(patient.desk.address(), "/healthz").status, 200);
    let mut strict = http("");
    strict.stall_timeout = Span::ZERO;
    let strict = start(&strict);
    assert_eq!(get(strict.desk.address(), "/healthz").status, 200, "it has not started yet");
    strict.readiness.beat();
    let answer = get(strict.desk.address(), "/healthz");
    assert_eq!(answer.status, 503);
    assert!(answer.json()["detail"].as_str().unwrap().contains("has not moved"));
}

#[test]
fn a_subject_as_last_seen() {
    let server = open();
    let user = Entity::new(EntityKind::User, "u1");
    let account =
        AccountSeen { created_at: Some(at(-3600)), plan: Some("pro".into()), ..AccountSeen::default() };
    let device = DeviceSeen { id: "d1".into(), accounts: Some(4), ..DeviceSeen::default() };
    let seen = |offset| SubjectUpdate {
        penalty: Some(Penalty { points: 2.5, at: at(offset) }),
        account: Some(account.clone()),
        device: Some(device.clone()),
        signals: vec![("likes_by_user_1m".into(), 7.0)],
        verdict: Some(verdict(offset)),
        ..SubjectUpdate::seen(user.clone(), at(offset))
    };
    server.serving.publish(ServingUpdate {
        as_of: at(30),
        bans: vec![BanChange::InForce(vec![ban(user.clone())])],
        subjects: (0..20).map(seen).collect(),
    });
    let answer = get(server.desk.address(), "/v1/subjects/user/u1");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let mut body = answer.json();
    let verdicts = body["verdicts"].take();
    let age = body["account"]["age_seconds"].take();
    assert!((3630..3700).contains(&age.as_i64().unwrap()), "{age}");
    let expected = json!({
        "kind": "user", "value": "u1", "known": true, "as_of": "2025-06-15T12:00:30.000Z",
        "bans": [{
            "id": "case-12", "verdict": "block", "issuer": { "kind": "actor", "name": "ann" },
            "code": "MANUAL", "reason": "bought likes",
            "issued_at": "2025-06-15T12:00:00.000Z", "expires_at": "2025-06-16T12:00:00.000Z",
        }],
        "first_seen": null, "seen_at": "2025-06-15T12:00:19.000Z", "settled_accounts": null,
        "penalty": { "points": 2.5, "at": "2025-06-15T12:00:19.000Z" },
        "account": {
            "created_at": "2025-06-15T11:00:00.000Z", "age_seconds": null, "plan": "pro",
            "active_days": null,
        },
        "device": { "id": "d1", "first_seen": null, "accounts": 4, "addresses": null, "penalty": null },
        "signals": { "likes_by_user_1m": 7.0 },
        "verdicts": null,
    });
    assert_eq!(body, expected);
    assert_eq!(verdicts.as_array().unwrap().len(), 8);
    let newest = json!({
        "decision_id": "3-19-00000000000000ff-0", "at": "2025-06-15T12:00:19.000Z", "action": "like",
        "verdict": "challenge", "score": 9, "risk_percent": 65, "codes": ["REPEAT"],
    });
    assert_eq!(verdicts[0], newest);
}

#[test]
fn values_may_hold_anything() {
    let server = open();
    let address = server.desk.address();
    let odd = [
        ("a%2Fb", "a/b"),
        ("a/b/c", "a/b/c"),
        ("2001:db8::%2F64", "2001:db8::/64"),
        ("%C3%BCber%20%E2%80%8F", "über \u{200f}"),
        ("%3Cscript%3E%22%27", "<script>\"'"),
        ("%00%1b%5B31m", "\0\u{1b}[31m"),
        ("..%2F..%2Fetc", "../../etc"),
        ("a+b?q=1", "a+b"),
    ];
    for (path, value) in odd {
        let who = Entity::new(EntityKind::Ip, value);
        let bans = vec![BanChange::InForce(vec![ban(who.clone())])];
        server.serving.publish(ServingUpdate { as_of: at(1), bans, subjects: Vec::new() });
        let body = get(address, &format!("/v1/subjects/ip/{path}")).json();
        assert_eq!((body["value"].as_str(), body["known"].as_bool()), (Some(value), Some(false)), "{path}");
        assert_eq!(
            body["bans"].as_array().unwrap().len(),
            1,
            "not known is not the same as not banned: {path}"
        );
        assert!(server.serving.take_wanted().contains(&who));
    }
    let long = "x".repeat(4097);
    for (path, status) in [
        ("/v1/subjects/user/%20", 400),
        ("/v1/subjects/user/%FF", 400),
        ("/v1/subjects/user/", 404),
        ("/v1/subjects/user", 404),
        ("/v1/subjects/planet/mars", 404),
        (&format!("/v1/subjects/user/{long}"), 414),
        (&format!("/v1/subjects/user/{}", &long[1..]), 200),
    ] {
        let answer = get(address, path);
        assert_eq!(answer.status, status, "{path}");
        if status >= 400 {
            assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{path}");
        }
    }
}

#[test]
fn every_answer_has_the_headers_of_safety() {
    let server = open();
    for path in ["/metrics", "/healthz", "/readyz", "/v1/subjects/user/u", "/nothing"] {
        let answer = get(server.desk.address(), path);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert!(answer.header("content-security-policy").unwrap().contains("frame-ancestors 'none'"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    }
    for (method, path) in [("POST", "/metrics"), ("DELETE", "/v1/subjects/user/u"), ("PUT", "/healthz")] {
        let answer = request(server.desk.address(), method, path, "");
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET,HEAD")), "{method} {path}");
    }
}

/// The names and labels of a text exposition.
fn series(text: &str) -> BTreeSet<String> {
    let mut series = BTreeSet::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        assert!(value.parse::<f64>().is_ok(), "{line}");
        assert!(series.insert(name.to_owned()), "twice: {line}");
    }
    series
}

#[test]
fn metrics_do_not_grow_with_keys() {
    let server = open();
    let address = server.desk.address();
    let publish = |n: usize| {
        let who = Entity::new(EntityKind::User, format!("random-{n}"));
        let bans = vec![BanChange::InForce(vec![ban(who.clone())])];
        server.serving.publish(ServingUpdate {
            as_of: at(1),
            bans,
            subjects: vec![SubjectUpdate::seen(who, at(1))],
        });
        assert_eq!(get(address, &format!("/v1/subjects/user/random-{n}")).status, 200);
        assert_eq!(get(address, &format!("/random-{n}")).status, 404);
    };
    let ours = |text: &str| -> BTreeSet<String> {
        // Other tests of this process record too; the routes asked here are their own labels.
        series(text).into_iter().filter(|name| !name.contains("status=")).collect()
    };
    publish(0);
    let _first = get(address, "/metrics");
    let before = get(address, "/metrics").body;
    for n in 1..1000 {
        publish(n);
    }
    let answer = get(address, "/metrics");
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(!answer.body.contains("random-"));
    let (before, after) = (ours(&before), ours(&answer.body));
    let routes: BTreeSet<&String> =
        after.difference(&before).filter(|name| !name.contains("route=")).collect();
    assert!(routes.is_empty(), "{routes:?}");
    assert!(after.iter().all(|name| name.starts_with("weir_")), "{after:?}");
    assert!(after.contains("weir_bans_active{kind=\"user\"}"));
}

#[test]
fn a_slow_or_endless_head_is_cut_off() {
    let server = start(&http("request_timeout = \"200ms\"\n"));
    let address = server.desk.address();
    let mut slow = TcpStream::connect(address).unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nHost: loc").unwrap();
    let mut rest = Vec::new();
    let _closed = slow.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
    let endless = format!("GET /healthz HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(200_000));
    let answer = exchange(address, endless.as_bytes());
    assert!(!answer.contains("200 OK"), "{answer}");
    assert_eq!(get(address, "/healthz").status, 200, "others are served");
}

#[test]
fn connections_are_bounded_and_the_next_waits() {
    let server = start(&http("connections_max = 2\nrequest_timeout = \"20s\"\n"));
    let address = server.desk.address();
    let held: Vec<TcpStream> = (0..2).map(|_| TcpStream::connect(address).unwrap()).collect();
    let (told, hears) = mpsc::channel();
    let waiting = std::thread::spawn(move || told.send(get(address, "/healthz").status));
    assert!(hears.recv_timeout(Duration::from_millis(300)).is_err(), "both places are taken");
    drop(held);
    assert_eq!(hears.recv_timeout(Duration::from_secs(20)), Ok(200));
    waiting.join().unwrap().unwrap();
}

#[test]
fn stopping_ends_idle_connections_and_frees_the_port() {
    let server = open();
    let address = server.desk.address();
    let mut idle = TcpStream::connect(address).unwrap();
    idle.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    idle.write_all(format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
    let mut first = [0; 15];
    idle.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    drop(server);
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).unwrap();
    assert!(TcpStream::connect(address).is_err());
}
