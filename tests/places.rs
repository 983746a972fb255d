//! Where addresses are: fields, keys and travel by a table that is one of the policy's files.

use std::sync::Arc;

use weir::engine::decision::Judgement;
use weir::engine::event::{Account, Arrival, Attempt, Event};
use weir::engine::key::HashSeed;
use weir::engine::policy::Policy;
use weir::engine::policy::load::{Loaded, load};
use weir::engine::policy::problem::Problem;
use weir::engine::time::Timestamp;
use weir::engine::verdict::Verdict::{self, Allow, Demote, Hold, Reject};
use weir::engine::{Engine, Input, Outcome, Outputs};
use weir::verify::model::{Hint, Model, Told};

const T: i64 = 1_750_000_000_000;
const TABLE: &str = "# version: 1
cidr,country,city,latitude,longitude,network_class
192.0.2.0/24,XA,Northport,0,0,residential
192.0.2.128/25,XA,Northport,0,0,mobile
203.0.113.0/24,XB,Southport,0,90,residential
198.51.100.0/24,XB,,,,
";
const POLICY: &str = "version: 1
addresses: { table: places.csv, trusted: [203.0.113.200/32] }
signals:
  - { name: of_country, key: [ip.country, action], window: 1h, count: {}, doc: d }
  - { name: countries, key: [user], window: 1h, distinct: ip.country, doc: d }
  - { name: speed, key: [user], when: \"event.action == 'login' && event.outcome == 'success'\", window: 24h, travel: {}, doc: d }
rules:
  - { id: abroad, family: content, when: \"ip.country == 'XB' && ip.city == 'Southport'\", verdict: demote, code: A, text: t, source: s, owner: o }
  - { id: busy, family: content, when: of_country >= 3, verdict: reject, code: B, text: t, source: s, owner: o }
  - { id: many, family: content, when: countries >= 2, points: 3, code: M, text: t, source: s, owner: o }
  - { id: fast, family: network, when: speed > 1000.0, verdict: hold, value: speed, code: F, text: t, source: s, owner: o }
";

fn at(secs: i64) -> Timestamp {
    Timestamp::from_millis(T + secs * 1000)
}

fn read(policy: &str, table: &str) -> Result<Loaded, Vec<Problem>> {
    load(&[("p.yaml".to_owned(), policy.to_owned()), ("places.csv".to_owned(), table.to_owned())])
}

fn policy(text: &str) -> Arc<Policy> {
    read(text, TABLE).unwrap_or_else(|problems| panic!("{}", problems[0])).policy
}

struct Bench {
    engine: Engine,
    model: Model,
    next: i64,
}

impl Bench {
    fn new(text: &str) -> Self {
        Self { engine: Engine::new(policy(text), HashSeed(1, 2)), model: Model::new(policy(text)), next: 0 }
    }

    /// Applies an event to the engine and holds the decision against the model's.
    fn act(&mut self, secs: i64, (user, action): (&str, &str), ip: &str) -> Judgement {
        let event = Event {
            id: format!("e{}", self.next).into(),
            occurred_at: at(secs),
            action: action.to_owned().into(),
            user: Some(user.into()),
            ip: Some(ip.into()),
            outcome: (action == "login").then_some(Attempt::Success),
            account: Account { created_at: Some(at(-400 * 86_400)), ..Account::default() },
            ..Event::default()
        };
        let arrival = Arrival { topic: "t", partition: 0, offset: self.next, append_time: at(secs) };
        self.next += 1;
        let mut out = Outputs::default();
        assert_eq!(self.engine.apply(Input::Event(&event, arrival), &mut out), Outcome::Decided);
        let judgement = out.judgement.expect("decided");
        let told = Told::by_engine(&judgement, &out.shadow);
        let answer = self.model.event(&event, arrival, Hint { told: Some(&told), bans: None });
        let faults = answer.expected.expect("decided").faults(&told);
        assert!(faults.is_empty(), "{faults:?} at {secs} s of {user} from {ip}");
        judgement
    }

    fn logins(&mut self, logins: &[(i64, &str)]) -> Vec<Verdict> {
        logins.iter().map(|(secs, ip)| self.act(*secs, ("u", "login"), ip).verdict).collect()
    }
}

#[test]
fn fields_and_keys_go_by_the_table() {
    let mut bench = Bench::new(POLICY);
    let acts = [("192.0.2.1", Allow), ("203.0.113.1", Demote), ("198.51.100.1", Allow), ("8.8.8.8", Allow)];
    for (number, (ip, verdict)) in (0..).zip(acts) {
        assert_eq!(bench.act(number, (&format!("u{number}"), "like"), ip).verdict, verdict, "{ip}");
    }
    // Two networks of one country are one key: the third of the country is one too many.
    assert_eq!(bench.act(10, ("u9", "like"), "198.51.100.9").verdict, Reject);
    assert_eq!(
        bench.act(11, ("u9", "like"), "8.8.4.4").verdict,
        Allow,
        "where nothing is known nothing is counted"
    );
    let both = bench.act(12, ("u0", "view"), "198.51.100.1");
    assert!(both.reasons.iter().any(|reason| reason.source.id == "many" && reason.points == 3));
}

const A: &str = "192.0.2.1";
const B: &str = "203.0.113.1";
const HOUR: i64 = 3_600;

#[test]
fn nobody_travels_a_quarter_of_the_globe_in_an_hour() {
    let verdicts = Bench::new(POLICY).logins(&[(0, A), (HOUR, B), (2 * HOUR, B)]);
    assert_eq!(verdicts, [Allow, Hold, Demote]);
    // 10,008 km in eleven hours are a flight.
    assert_eq!(Bench::new(POLICY).logins(&[(0, A), (11 * HOUR, B)]), [Allow, Demote]);
    let judgement = {
        let mut bench = Bench::new(POLICY);
        bench.logins(&[(0, A)]);
        bench.act(HOUR, ("u", "login"), B)
    };
    let fast = judgement.reasons.iter().find(|reason| reason.source.id == "fast").expect("it fires");
    assert!((fast.value.expect("told") - 10_007.5).abs() < 1.0, "{:?}", fast.value);
}

#[test]
fn carriers_unknown_places_and_trusted_networks_are_held_against_nobody_and_not_remembered() {
    for between in ["192.0.2.200", "198.51.100.1", "8.8.8.8", "203.0.113.200"] {
        let verdicts = Bench::new(POLICY).logins(&[(0, A), (HOUR, between), (2 * HOUR, A)]);
        assert!(!verdicts.contains(&Hold), "{between}: {verdicts:?}");
        // The home of before is still known.
        assert_eq!(Bench::new(POLICY).logins(&[(0, A), (60, between), (HOUR, B)])[2], Hold, "{between}");
    }
}

#[test]
fn only_what_the_signal_counts_is_travel() {
    let mut bench = Bench::new(POLICY);
    bench.logins(&[(0, A)]);
    assert_eq!(bench.act(60, ("u", "like"), B).verdict, Demote, "a like from elsewhere");
    assert_eq!(bench.act(120, ("v", "login"), B).verdict, Demote, "somebody else");
    assert_eq!(bench.logins(&[(180, A)]), [Allow]);
}

#[test]
fn an_exit_that_many_settled_accounts_share_is_nobodys_place() {
    let guard =
        "guards: { shared_address: { settled_accounts: 3, cap: hold, families: [], code: E, text: e } }\n";
    let mut bench = Bench::new(
        &format!("{POLICY}{guard}")
            .replace("settled_accounts: 3", "settled_accounts: 3")
            .replace("signals:", "accounts: { settled: { age: 30d, active_days: 1 } }\nsignals:"),
    );
    (0..5).for_each(|n| drop(bench.act(n, (&format!("student{n}"), "view"), B)));
    let verdicts = bench.logins(&[(60, A), (HOUR, B)]);
    assert_ne!(verdicts[1], Hold, "{verdicts:?}");
}

#[test]
fn the_table_is_part_of_the_policys_hash() {
    let one = policy(POLICY);
    let other = read(POLICY, &TABLE.replace("Northport", "Northpost")).expect("valid").policy;
    assert_ne!(one.hash, other.hash);
    assert_eq!(
        one.places.as_ref().map(|places| (places.version.clone(), places.len())),
        Some(("1".to_owned(), 4))
    );
}

#[track_caller]
fn told(problems: &[Problem], place: (&str, usize, usize), words: &str) {
    let is = |problem: &&Problem| {
        let suggestion = problem.suggestion.as_deref().unwrap_or_default();
        (problem.file.as_str(), problem.line, problem.column) == place
            && (problem.message.contains(words) || suggestion.contains(words))
    };
    let all: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
    assert!(problems.iter().any(|problem| is(&problem)), "{place:?} {words}\n{all}");
}

#[test]
fn what_is_wrong_with_table_or_signal_is_told_with_its_place() {
    let problems = read(POLICY, &TABLE.replace("192.0.2.128/25", "192.0.2.129/25")).expect_err("wrong");
    told(&problems, ("places.csv", 4, 1), "192.0.2.128/25");
    let problems = read(&POLICY.replace("table: places.csv", "table: place.csv"), TABLE).expect_err("wrong");
    told(&problems, ("p.yaml", 2, 21), "did you mean `places.csv`");
    let problems =
        read(&POLICY.replace("travel: {}", "travel: { exits: [mobil] }"), TABLE).expect_err("wrong");
    told(&problems, ("p.yaml", 6, 127), "did you mean `mobile`");
    let problems = read(&POLICY.replace("travel: {}", "travel: { least_km: -1 }"), TABLE).expect_err("wrong");
    told(&problems, ("p.yaml", 6, 129), "from 0 to 20000");
    let problems = read(&POLICY.replace("key: [ip.country,", "key: [ip.contry,"), TABLE).expect_err("wrong");
    told(&problems, ("p.yaml", 4, 31), "did you mean `ip.country`");
    let warnings = read(&POLICY.replace("table: places.csv, ", ""), TABLE).expect("usable").warnings;
    told(&warnings, ("places.csv", 1, 1), "nothing reads `places.csv`");
    told(&warnings, ("p.yaml", 6, 13), "no table says where addresses are");
    told(&warnings, ("p.yaml", 8, 42), "`ip.country` is never known: the policy names no table");
}
