//! The figures of the demo, counted over its events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::super::device::ATTRIBUTES;
use super::*;

const MINUTE: i64 = 60_000;
const DAY: i64 = 86_400_000;

/// The demo, planned once for all tests.
fn demo() -> &'static Simulation {
    static DEMO: OnceLock<Simulation> = OnceLock::new();
    DEMO.get_or_init(|| Simulation::new(&Scenario::demo(), 1))
}

fn bytes(simulation: &Simulation) -> Vec<u8> {
    let mut all = Vec::new();
    for event in simulation.events() {
        event.write_json(&mut all);
        all.push(b'\n');
    }
    all
}

/// The most moments within any 60 s (half open) of an ascending list.
fn most_in_a_minute(times: &[i64]) -> usize {
    (0..times.len())
        .map(|i| times[i..].iter().take_while(|t| **t < times[i] + MINUTE).count())
        .max()
        .unwrap_or(0)
}

/// The value that a share of these is at most, by rank.
fn quantile(mut values: Vec<usize>, share: f64) -> usize {
    values.sort_unstable();
    values[((values.len() - 1) as f64 * share) as usize]
}

fn attackers() -> impl Iterator<Item = SimEvent<'static>> {
    demo().events().filter(|e| matches!(e.truth(), Truth::Attacker { .. }))
}

fn honest() -> impl Iterator<Item = SimEvent<'static>> {
    demo().events().filter(|e| e.truth() == Truth::Honest)
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let small = Scenario {
        honest_accounts: 500,
        incidents: vec![Incident { accounts: 60, likes: 800, camouflage: 400, ..Incident::FULL }],
        ..Scenario::demo()
    };
    let first = bytes(&Simulation::new(&small, 7));
    assert!(first == bytes(&Simulation::new(&small, 7)), "two runs differ");
    assert!(first != bytes(&Simulation::new(&small, 8)), "the seed does nothing");
    let digest = xxhash_rust::xxh3::xxh3_64(&first);
    assert_eq!(digest, 0x7fad_39b6_d9a9_9ea5, "another machine, or a change of the traffic: {digest:#x}");
}

#[test]
fn events_are_ordered_within_the_time_and_of_the_promised_number() {
    let scenario = Scenario::demo();
    let (start, end) = (scenario.start.millis(), scenario.start.after(scenario.length).millis());
    let times: Vec<_> = demo().events().map(|e| e.at_ms).collect();
    assert!(times.is_sorted());
    assert!(times[0] >= start && times[times.len() - 1] < end);
    assert!((100_000..=150_000).contains(&times.len()), "{} events", times.len());
    assert!(demo().events().all(|e| (0..10_000).contains(&(e.at_ms - e.occurred_at_ms))));
    let acting: BTreeSet<_> = honest().map(|e| e.account.id.as_str()).collect();
    assert!(acting.len() >= 25_900, "{} honest accounts act", acting.len());
}

#[test]
fn the_incident_has_its_size() {
    let campaign = &demo().campaigns()[0];
    assert_eq!((campaign.accounts, campaign.likes), (3_000, 40_000));
    let accounts: Vec<_> =
        demo().accounts().iter().filter(|a| matches!(a.truth, Truth::Attacker { .. })).collect();
    assert_eq!(accounts.len(), 3_000);
    let start = Scenario::demo().start.millis();
    assert!(accounts.iter().all(|a| start - a.created_at < 7 * DAY - 15 * MINUTE && a.created_at < start));
    let times: Vec<_> = attackers().map(|e| e.at_ms - start).collect();
    assert!(times[0] >= 3 * MINUTE && times[times.len() - 1] < 13 * MINUTE, "ten minutes from minute 3");
    assert!(times[0] < 3 * MINUTE + 5_000);
    assert!(attackers().all(|e| e.action == Action::Like));
}

#[test]
fn no_limit_by_address_or_account_sees_the_incident() {
    let (mut lines, mut users, mut nets) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    for event in attackers() {
        lines.entry(event.ip).or_insert_with(Vec::new).push(event.at_ms);
        *users.entry(&event.account.id).or_insert(0) += 1;
        let std::net::IpAddr::V4(ip) = event.ip else { panic!("proxies have IPv4 addresses") };
        nets.insert([ip.octets()[0], ip.octets()[1], ip.octets()[2]]);
    }
    assert_eq!((lines.len(), users.len()), (3_000, 3_000), "one exit each");
    assert!(nets.len() > 2_950, "spread over {} /24s", nets.len());
    assert!(lines.values().all(|times| most_in_a_minute(times) <= 10));
    assert_eq!(users.values().sum::<u32>(), 60_000, "about 20 likes an account");
    assert!(users.values().all(|n| (10..=30).contains(n)));
    let others: BTreeSet<_> = honest().map(|e| e.ip).collect();
    assert!(lines.keys().all(|ip| !others.contains(ip)), "nobody else is behind them");
}

#[test]
fn its_devices_are_nearly_equal_and_distinct() {
    let devices: BTreeMap<_, _> = attackers().map(|e| (&e.device.id, e.device)).collect();
    assert_eq!(devices.len(), 3_000);
    let all: Vec<_> = devices.into_values().collect();
    let usual: Vec<_> = (0..ATTRIBUTES.len())
        .map(|at| {
            let mut counts = BTreeMap::new();
            all.iter().for_each(|d| *counts.entry(d.attributes[at].as_ref()).or_insert(0) += 1);
            counts.into_iter().max_by_key(|(_, n)| *n).map(|(value, _)| value).expect("there are devices")
        })
        .collect();
    for device in all {
        let differing = device.attributes.iter().zip(&usual).filter(|(a, b)| a != b).count();
        assert!((1..=2).contains(&differing), "{differing} attributes differ");
    }
}

/// Public sharing streams: P99 is 4 and P99.9 is 7 to 12 writing actions in ten minutes, the most 34 to 36.
#[test]
fn honest_activity_has_the_measured_tail() {
    let start = Scenario::demo().start.millis();
    let mut windows: BTreeMap<_, usize> = BTreeMap::new();
    for event in honest().filter(|e| !matches!(e.action, Action::View | Action::Login | Action::SignUp)) {
        *windows.entry((&event.account.id, (event.at_ms - start) / (10 * MINUTE))).or_default() += 1;
    }
    let counts: Vec<_> = windows.into_values().collect();
    assert_eq!(quantile(counts.clone(), 0.99), 4);
    assert!((7..=12).contains(&quantile(counts.clone(), 0.999)), "P99.9 {}", quantile(counts.clone(), 0.999));
    assert!((20..=40).contains(&quantile(counts.clone(), 1.0)), "most {}", quantile(counts, 1.0));
}

#[test]
fn newcomers_follow_as_much_as_they_do_elsewhere() {
    let start = Scenario::demo().start.millis();
    let follows: Vec<_> = honest().filter(|e| e.action == Action::Follow).collect();
    let new = follows.iter().filter(|e| start - e.account.created_at < 7 * DAY).count();
    let share = new as f64 / follows.len() as f64;
    assert!((0.17..0.25).contains(&share), "21 % of follows come from newcomers, not {share}");
}

#[test]
fn there_is_an_honest_crowd_that_looks_like_one() {
    let start = Scenario::demo().start.millis();
    let mut likers: BTreeMap<_, BTreeMap<_, bool>> = BTreeMap::new();
    for event in honest().filter(|e| e.action == Action::Like) {
        let new = start - event.account.created_at < 7 * DAY;
        likers.entry(event.target_id).or_default().insert(&event.account.id, new);
    }
    let new = |crowd: &BTreeMap<_, bool>| crowd.values().filter(|new| **new).count();
    let viral = &likers[&Some(demo().targets[content::VIRAL as usize].id.as_str())];
    assert!(viral.len() > 800, "{} like the viral article", viral.len());
    assert!(new(viral) * 100 > viral.len() * 25, "{} of {} are newcomers", new(viral), viral.len());
    let pushed = &likers[&Some(demo().campaigns()[0].target_id.as_str())];
    assert!(pushed.len() > 60 && new(pushed) > 10, "{} and {} honest", pushed.len(), new(pushed));
}

#[test]
fn honest_people_seldom_repeat_themselves() {
    let mut likes: BTreeMap<_, Vec<i64>> = BTreeMap::new();
    let mut numbers = BTreeSet::new();
    let mut retries = 0;
    for event in honest() {
        if !numbers.insert(event.number) {
            retries += 1;
        } else if event.action == Action::Like {
            likes.entry((&event.account.id, event.target_id)).or_default().push(event.at_ms);
        }
    }
    let raw: usize = likes.values().map(Vec::len).sum();
    let ratio = raw as f64 / likes.len() as f64;
    assert!((1.005..1.2).contains(&ratio), "raw to distinct likes: {ratio}");
    assert!(likes.values().all(|times| times.len() <= 2), "a like, and once again");
    assert!((50..400).contains(&retries), "{retries} retries");
}

#[test]
fn the_truth_is_known_for_every_account() {
    assert_eq!(demo().accounts().len(), 29_000);
    for account in demo().accounts() {
        assert_eq!(demo().truth(&account.id), Some(account.truth));
    }
    assert_eq!(demo().truth("nobody"), None);
}

#[test]
fn the_json_has_the_fields_of_the_contract() {
    let mut actions = BTreeSet::new();
    for event in demo().events() {
        let mut line = Vec::new();
        event.write_json(&mut line);
        let json: serde_json::Value = serde_json::from_slice(&line).expect("it is JSON");
        assert!(event.account.created_at <= event.occurred_at_ms, "nobody acts before registering");
        actions.insert(json["action"].as_str().expect("an action").to_owned());
        assert_eq!(json["occurred_at"].as_i64(), Some(event.occurred_at_ms));
        assert_eq!(json["user_id"].as_str(), event.user_id());
        assert_eq!(json["ip"].as_str().map(str::to_owned), Some(event.ip.to_string()));
        assert_eq!(json["device"].as_object().map(serde_json::Map::len), Some(1 + ATTRIBUTES.len()));
        assert_eq!(json["account"]["created_at"].as_i64().is_some(), event.user_id().is_some());
        assert!(!String::from_utf8_lossy(&line).contains("ttacker"), "the truth is not told");
        assert!(line.len() < 1_000);
    }
    assert_eq!(actions.len(), 10, "{actions:?}");
}

/// Prints how fast events are made; the figure that counts is the one of a release build.
#[test]
#[allow(clippy::print_stdout, reason = "the figure is what the test is for")]
fn it_is_fast_enough_to_feed_a_benchmark() {
    let started = cpu_seconds();
    let simulation = Simulation::new(&Scenario::demo(), 2);
    let length = bytes(&simulation).len();
    let seconds = cpu_seconds() - started;
    let events = simulation.events().len();
    println!("{events} events, {length} bytes, {:.0} events per CPU-second", events as f64 / seconds);
    assert!(cfg!(debug_assertions) || events as f64 / seconds > 300_000.0);
}

/// CPU time of this thread.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[test]
fn small_and_empty_scenarios_are_scenarios_too() {
    let none = Incident { accounts: 0, ..Incident::FULL };
    let dense = Incident { accounts: 1, likes: 100, camouflage: 0, for_ms: 10, ..Incident::FULL };
    for (honest_accounts, incidents) in
        [(0, vec![]), (1, vec![none]), (3, vec![dense, none]), (0, vec![dense])]
    {
        let scenario = Scenario { honest_accounts, articles: 0, incidents, ..Scenario::demo() };
        let simulation = Simulation::new(&scenario, 1);
        assert_eq!(simulation.campaigns().len(), scenario.incidents.len());
        assert!(simulation.events().len() < 400);
        bytes(&simulation);
    }
}
