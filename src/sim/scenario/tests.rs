//! The scenarios, measured: what they promise, what they must have in common, and what must give nobody away.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value as Json;

use super::super::event::{Action, Truth};
use super::super::traffic::Traffic;
use super::super::world::{DAY, HOUR, MINUTE, NEW};
use super::{ALL, Entry, find};
use crate::engine::time::Timestamp;
use crate::wire::contract::Contract;
use crate::wire::interaction::{DecodeLimits, decode};

/// An event, with what the tests ask of it.
struct Seen {
    id: String,
    append: i64,
    at: i64,
    user: String,
    target: Option<String>,
    action: Action,
    truth: Truth,
    json: Vec<u8>,
    label: Option<String>,
}

impl Seen {
    fn field(&self, path: &str) -> Json {
        let json: Json = serde_json::from_slice(&self.json).expect("it is JSON");
        json.pointer(path).cloned().unwrap_or_default()
    }

    fn honest(&self) -> bool {
        self.truth == Truth::Honest
    }

    fn writes(&self) -> bool {
        !matches!(self.action, Action::View | Action::Login | Action::SignUp)
    }
}

/// A scenario told whole: its events, the label rows of its accounts, and the teller.
fn told(name: &str, seed: u64, scale: f64) -> (Vec<Seen>, Vec<String>, Traffic) {
    let mut traffic = Traffic::new(find(name).expect("it exists"), seed, scale);
    let mut events = Vec::new();
    while let Some(told) = traffic.next_event() {
        events.push(Seen {
            id: told.event_id,
            append: told.at_ms,
            at: told.occurred_at_ms,
            user: told.user_id,
            target: told.target_id,
            action: told.action,
            truth: told.truth,
            json: told.json.to_vec(),
            label: told.label,
        });
    }
    let mut accounts = Vec::new();
    while let Some(row) = traffic.account_label() {
        accounts.push(row);
    }
    (events, accounts, traffic)
}

/// The events of a scenario's attackers, retries left out.
fn attack(events: &[Seen]) -> Vec<&Seen> {
    let mut ids = BTreeSet::new();
    events.iter().filter(|event| !event.honest() && ids.insert(&event.id)).collect()
}

fn quantile(mut values: Vec<usize>, share: f64) -> usize {
    values.sort_unstable();
    values[((values.len() - 1) as f64 * share) as usize]
}

fn each(check: impl Fn(&Entry)) {
    ALL.iter().for_each(check);
}

#[test]
fn names_are_unique_and_every_scenario_says_what_it_is() {
    let names: BTreeSet<_> = ALL.iter().map(|entry| entry.name).collect();
    assert_eq!(names.len(), ALL.len());
    each(|entry| {
        assert!(
            entry.about.len() > 20 && entry.attack != entry.about.starts_with("honest: ")
                || entry.name == "honest"
        );
    });
    assert!(find("nothing").is_none());
}

#[test]
fn every_scenario_is_valid_and_in_the_order_of_the_log() {
    let contract = Contract::ALL.into_iter().find(|one| one.subject == "interaction").expect("known");
    let schema = Json::from(contract.schema());
    let valid =
        jsonschema::draft202012::options().should_validate_formats(true).build(&schema).expect("a schema");
    each(|entry| {
        let (events, _, _) = told(entry.name, 11, 0.03);
        assert!(events.len() > 500, "{}: {} events", entry.name, events.len());
        assert!(events.is_sorted_by_key(|event| event.append), "{}", entry.name);
        for event in &events {
            let decoded = decode(Some(&event.json), &[], &DecodeLimits::default()).expect(entry.name);
            assert_eq!(decoded.append_time.map(Timestamp::millis), Some(event.append));
            assert_eq!(decoded.event.occurred_at.millis(), event.at);
            assert!((0..60_000).contains(&(event.append - event.at)), "{}: within the grace", entry.name);
            assert_eq!(&*decoded.event.id, event.id.as_str());
            let born = decoded.event.account.created_at.map_or(0, Timestamp::millis);
            assert!(born <= event.at, "{}: {} acts before it registers", entry.name, event.user);
        }
        for event in events.iter().step_by(37) {
            let json: Json = serde_json::from_slice(&event.json).expect("it is JSON");
            assert!(valid.is_valid(&json), "{}: {json}", entry.name);
        }
    });
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    each(|entry| {
        let all = |seed| {
            let (events, accounts, _) = told(entry.name, seed, 0.02);
            let mut digest = xxhash_rust::xxh3::Xxh3::new();
            events.iter().for_each(|event| digest.update(&event.json));
            accounts.iter().for_each(|row| digest.update(row.as_bytes()));
            digest.digest()
        };
        let first = all(3);
        assert_eq!(first, all(3), "{}", entry.name);
        assert_ne!(first, all(4), "{}", entry.name);
    });
}

/// As an evaluation reads them: an event's own row, else its account's, before `from` honest.
#[test]
fn labels_cover_all_and_tell_the_truth() {
    each(|entry| {
        let (events, accounts, _) = told(entry.name, 5, 0.04);
        let row = |text: &str| -> Vec<String> { text.split(',').map(str::to_owned).collect() };
        let rows: HashMap<String, Vec<String>> =
            accounts.iter().map(|text| (row(text)[1].clone(), row(text))).collect();
        assert_eq!(rows.len(), accounts.len(), "{}: one row an account", entry.name);
        for event in &events {
            let own = event.label.as_deref().map(row);
            let row = own.as_ref().or_else(|| rows.get(&event.user)).expect("every event is covered");
            assert_eq!(row.len(), 7);
            assert_eq!((row[2].as_str(), row[1].as_str()), (entry.name, event.user.as_str()));
            let from = row[6].parse::<i64>().unwrap_or(i64::MIN);
            let honest = row[3] == "honest" || event.at < from;
            assert_eq!(honest, event.honest(), "{}: {row:?}", entry.name);
            assert_eq!(row[3] == "attack", !row[4].is_empty());
        }
        let bad = events.iter().any(|event| !event.honest());
        assert_eq!(bad, entry.attack, "{}", entry.name);
    });
}

/// Form tells nobody: whatever an attacker's record looks like, an honest one looks like, too.
#[test]
fn attackers_and_honest_people_have_records_of_one_form() {
    let shape = |event: &Seen| {
        let json: Json = serde_json::from_slice(&event.json).expect("it is JSON");
        let mut shape = Vec::new();
        outline(&json, "", &mut shape);
        shape
    };
    for entry in ALL.iter().filter(|entry| entry.attack) {
        let (events, _, _) = told(entry.name, 2, 0.1);
        let (honest, others): (Vec<_>, Vec<_>) = events.iter().partition(|event| event.honest());
        let known: BTreeSet<_> = honest.iter().map(|event| (event.action, shape(event))).collect();
        for event in others.iter().step_by(7) {
            // Nobody honest looks at profiles in a list; all else has been done before.
            let walks =
                event.action == Action::View && event.target.as_deref().is_some_and(|id| id.starts_with('u'));
            assert!(
                walks || known.contains(&(event.action, shape(event))),
                "{}: {:?}",
                entry.name,
                shape(event)
            );
        }
        let even = |events: &[&Seen]| {
            events.iter().filter(|event| event.at % 100 == 0).count() * 1000 / events.len().max(1)
        };
        assert!(even(&others) < 30, "{}: {} per mille on even tenths of a second", entry.name, even(&others));
    }
}

/// Names of fields in their order; of ids and hashes the first letter and the length.
fn outline(json: &Json, path: &str, to: &mut Vec<String>) {
    let Some(map) = json.as_object() else {
        let text = json.as_str().unwrap_or_default();
        let form =
            ["_id", "/id", "hash", "fonts", "canvas", "tag", "coupon"].iter().any(|end| path.ends_with(end));
        let lettered = path.ends_with("_id") || path.ends_with("/id");
        let first = if lettered { text.get(..1).unwrap_or_default() } else { "" };
        return to.push(if form { format!("{path} {first}{}", text.len()) } else { path.to_owned() });
    };
    map.iter().for_each(|(name, value)| outline(value, &format!("{path}/{name}"), to));
}

#[test]
fn every_attack_begins_an_hour_or_more_after_the_traffic() {
    for entry in ALL.iter().filter(|entry| entry.attack) {
        let (events, _, traffic) = told(entry.name, 8, 0.03);
        let campaigns = traffic.campaigns();
        assert!(!campaigns.is_empty());
        // A ring's members are there before as other people are; what they push comes later.
        let pushed: BTreeSet<&String> = campaigns.iter().flat_map(|campaign| &campaign.target_ids).collect();
        let hostile = |event: &&&Seen| {
            event.target.as_ref().is_some_and(|target| pushed.contains(target)) || entry.name != "ring"
        };
        let attack = attack(&events);
        let first = attack.iter().filter(hostile).map(|event| event.at).min().expect("there is one");
        assert!(first - events[0].at >= HOUR, "{}", entry.name);
    }
}

/// Public sharing streams: P99 is 4 and P99.9 is 7 to 12 writing actions in ten minutes, the most 34 to 36.
#[test]
fn honest_activity_has_the_measured_tail() {
    let (events, _, _) = told("honest", 1, 0.5);
    let mut windows: BTreeMap<_, usize> = BTreeMap::new();
    for event in events.iter().filter(|event| event.writes()) {
        *windows.entry((&event.user, event.at / (10 * MINUTE))).or_default() += 1;
    }
    let counts: Vec<_> = windows.into_values().collect();
    assert_eq!(quantile(counts.clone(), 0.99), 4);
    let rare = quantile(counts.clone(), 0.999);
    assert!((7..=12).contains(&rare), "P99.9 {rare}");
    let most = quantile(counts, 1.0);
    assert!((25..=40).contains(&most), "most {most}");
}

/// Public follower lists: 21 % of follows come from accounts younger than seven days; raw to distinct likes 1.0 to 1.2.
#[test]
fn newcomers_and_repeats_have_the_measured_shares() {
    let (events, _, _) = told("honest", 1, 0.2);
    let new = |event: &&Seen| event.at - event.field("/account/created_at").as_i64().expect("known") < NEW;
    for action in [Action::Follow, Action::Like] {
        let all: Vec<_> = events.iter().filter(|event| event.action == action).collect();
        let share = all.iter().copied().filter(new).count() as f64 / all.len() as f64;
        assert!((0.18..0.26).contains(&share), "{action:?}: {share}");
    }
    let mut likes: BTreeMap<_, usize> = BTreeMap::new();
    for event in events.iter().filter(|event| event.action == Action::Like) {
        *likes.entry((&event.user, &event.target)).or_default() += 1;
    }
    let ratio = likes.values().sum::<usize>() as f64 / likes.len() as f64;
    assert!((1.005..1.2).contains(&ratio), "raw to distinct: {ratio}");
    assert!(likes.values().all(|times| *times <= 8));
}

/// A published sample of browsers: the commonest coarse device is 23.4 % of traffic, two random ones are equal with
/// 5.8 %; and there is a long tail.
#[test]
fn devices_are_as_alike_as_real_ones() {
    let (events, _, _) = told("honest", 1, 0.1);
    let mut seen = BTreeSet::new();
    let (mut coarse, mut fine): (BTreeMap<_, f64>, BTreeMap<_, usize>) = Default::default();
    let mut n = 0.0;
    for event in events {
        let device = event.field("/device");
        if seen.insert(device["id"].to_string()) {
            n += 1.0;
            let part =
                |names: &[&str]| names.iter().map(|name| device[*name].to_string()).collect::<Vec<_>>();
            *coarse.entry(part(&["os", "browser", "screen", "gpu"])).or_default() += 1.0;
            *fine.entry(part(&super::super::device::ATTRIBUTES)).or_default() += 1;
        }
    }
    let top = coarse.values().copied().fold(0.0, f64::max) / n;
    let equal: f64 = coarse.values().map(|count| (count / n) * (count / n)).sum();
    assert!((0.19..0.26).contains(&top), "commonest {top}");
    assert!((0.04..0.075).contains(&equal), "equal pairs {equal}");
    let alone = fine.values().filter(|count| **count == 1).count() as f64 / n;
    assert!((0.2..0.6).contains(&alone), "{alone} of the devices are like no other");
}

/// Clicks by address (TalkingData): half of the addresses have one, 4 % ten or more, 0.07 % a hundred or more; of busy
/// ones the commonest device has 0.21 in the middle, 0.36 at P99.
#[test]
fn addresses_are_shared_as_real_ones_are() {
    let (events, _, _) = told("honest", 1, 0.5);
    let mut behind: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for event in &events {
        let ip = event.field("/ip").as_str().expect("an address").to_owned();
        let line = if ip.contains(':') { ip.split(':').take(4).collect::<Vec<_>>().join(":") } else { ip };
        let device = event.field("/device");
        behind
            .entry(line)
            .or_default()
            .insert(event.user.clone(), format!("{}{}", device["os"], device["screen"]));
    }
    let sizes: Vec<usize> = behind.values().map(BTreeMap::len).collect();
    let share = |n: usize| sizes.iter().filter(|size| **size >= n).count() as f64 / sizes.len() as f64;
    assert!((0.40..0.60).contains(&share(2)), "two or more: {}", share(2));
    assert!((0.02..0.08).contains(&share(10)), "ten or more: {}", share(10));
    assert!((0.0003..0.002).contains(&share(100)), "a hundred or more: {}", share(100));
    let mut tops: Vec<usize> = Vec::new();
    for devices in behind.values().filter(|people| people.len() >= 30) {
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        devices.values().for_each(|device| *counts.entry(device).or_default() += 1);
        tops.push(counts.into_values().max().unwrap_or(0) * 100 / devices.len());
    }
    assert!(
        (15..35).contains(&quantile(tops.clone(), 0.5)),
        "commonest device: {}",
        quantile(tops.clone(), 0.5)
    );
    assert!(quantile(tops.clone(), 1.0) <= 75, "most alike exit: {}", quantile(tops, 1.0));
}

#[test]
fn the_incident_has_its_size() {
    let (events, accounts, traffic) = told("echo", 1, 1.0);
    let campaign = traffic.campaigns().remove(0);
    assert_eq!((campaign.accounts, traffic.accounts().1), (3_000, 3_000));
    assert!(accounts.len() >= 23_000 - 50, "{} accounts act", accounts.len());
    let attack = attack(&events);
    let target = &campaign.target_ids[0];
    let likes: Vec<_> = attack
        .iter()
        .filter(|event| event.action == Action::Like && event.target.as_ref() == Some(target))
        .collect();
    assert_eq!(likes.len(), 40_000);
    let span = likes.iter().map(|event| event.at).max().unwrap_or(0)
        - likes.iter().map(|event| event.at).min().unwrap_or(0);
    assert!(span <= 10 * MINUTE, "{span} ms");
    let (mut lines, mut nets, mut users) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
    for event in attack.iter().filter(|event| event.action == Action::Like) {
        let ip = event.field("/ip").as_str().expect("an address").to_owned();
        let age = event.at - event.field("/account/created_at").as_i64().expect("known");
        assert!(age < NEW, "{age}");
        if ip.contains('.') {
            nets.insert(ip.rsplit_once('.').map(|(net, _)| net.to_owned()));
        }
        lines.entry(ip).or_insert_with(Vec::new).push(event.at);
        users.entry(&event.user).or_insert_with(BTreeSet::new).insert(event.field("/ip").to_string());
    }
    assert!(lines.values().all(|times| most_in_a_minute(times) <= 10), "ten likes a minute and address");
    assert!(lines.len() > 2_900 && nets.len() > 2_800, "{} exits in {} networks", lines.len(), nets.len());
    assert!(users.values().filter(|ips| ips.len() == 1).count() > 2_850, "one exit each");
    let others =
        events.iter().filter(|event| event.honest() && event.target.as_ref() == Some(target)).count();
    assert!(others > 20, "{others} honest acts on the article");
}

/// The most moments within any 60 s (half open).
fn most_in_a_minute(times: &[i64]) -> usize {
    let mut times = times.to_vec();
    times.sort_unstable();
    (0..times.len())
        .map(|i| times[i..].iter().take_while(|t| **t < times[i] + MINUTE).count())
        .max()
        .unwrap_or(0)
}

/// Accounts, likes on the target, and how long these take.
fn on_target(name: &str, seed: u64) -> (usize, usize, i64) {
    let (events, _, traffic) = told(name, seed, 1.0);
    let target = traffic.campaigns()[0].target_ids[0].clone();
    let attack = attack(&events);
    let users: BTreeSet<_> = attack.iter().map(|event| &event.user).collect();
    let likes: Vec<_> = attack
        .iter()
        .filter(|event| event.action == Action::Like && event.target.as_ref() == Some(&target))
        .map(|event| event.at)
        .collect();
    let span = likes.iter().max().unwrap_or(&0) - likes.iter().min().unwrap_or(&0);
    (users.len(), likes.len(), span)
}

#[test]
fn crowds_that_like_once_have_their_sizes() {
    for (name, accounts, least, most) in [
        ("echo-idempotent", 3_000, 9 * MINUTE, 10 * MINUTE),
        ("aged-accounts", 3_000, 14 * MINUTE, 15 * MINUTE),
        ("spoofed-devices", 3_000, 9 * MINUTE, 10 * MINUTE),
        ("slow-drip", 2_000, 7 * HOUR, 8 * HOUR),
        ("throwaway", 1_500, 3 * HOUR, 6 * HOUR),
    ] {
        let (users, likes, span) = on_target(name, 2);
        assert_eq!(users, accounts, "{name}");
        assert_eq!(likes, accounts, "{name}: one like an account");
        assert!((least..=most).contains(&span), "{name}: {span} ms");
    }
}

#[test]
fn aged_accounts_are_old_and_stolen_ones_were_honest() {
    let (events, accounts, _) = told("stolen-accounts", 3, 1.0);
    assert_eq!(accounts.iter().filter(|row| row.contains(",attack,")).count(), 800);
    let taken: BTreeMap<&str, i64> = accounts
        .iter()
        .filter(|row| row.contains(",attack,"))
        .map(|row| {
            (
                row.split(',').nth(1).unwrap_or_default(),
                row.rsplit(',').next().unwrap_or_default().parse().expect("from"),
            )
        })
        .collect();
    let before = events.iter().filter(|e| taken.get(e.user.as_str()).is_some_and(|from| e.at < *from));
    assert!(before.clone().all(Seen::honest) && before.count() > 300, "owners act before");
    let (events, _, _) = told("aged-accounts", 3, 0.1);
    let ages = attack(&events)
        .iter()
        .map(|event| event.at - event.field("/account/created_at").as_i64().expect("known"))
        .min();
    assert!(ages.is_some_and(|age| age >= 39 * DAY), "{ages:?}");
}

#[test]
fn a_ring_meets_again_and_again() {
    let (events, accounts, traffic) = told("ring", 1, 1.0);
    let campaign = &traffic.campaigns()[0];
    assert_eq!((campaign.accounts, campaign.target_ids.len()), (600, 30));
    let named: BTreeSet<_> = accounts
        .iter()
        .filter(|row| row.contains(",attack,"))
        .filter_map(|row| row.split(',').nth(5))
        .collect();
    assert_eq!(named.len(), 30, "all targets stand in labels");
    let mut pushes: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for event in attack(&events).into_iter().filter(|event| event.action == Action::Like) {
        if let Some(target) = event.target.as_ref().filter(|target| campaign.target_ids.contains(target)) {
            pushes.entry(target).or_default().insert(&event.user);
        }
    }
    let sizes: Vec<usize> = pushes.values().map(BTreeSet::len).collect();
    assert!(sizes.iter().all(|n| (25..=320).contains(n)), "{sizes:?}");
    let mut earlier: BTreeSet<_> = BTreeSet::new();
    let mut again = 0;
    for push in pushes.values() {
        again += usize::from(push.intersection(&earlier).count() * 10 >= push.len() * 3);
        earlier.extend(push.iter().copied());
    }
    assert!(again >= 27, "{again} pushes have a third of their accounts from an earlier one");
    assert!(events[events.len() - 1].at - events[0].at > 13 * DAY);
}

#[test]
fn other_attacks_have_their_sizes() {
    let (events, _, traffic) = told("coupon-script", 1, 0.1);
    let claims = attack(&events).iter().filter(|event| event.action == Action::CouponClaim).count();
    assert_eq!((claims, traffic.accounts().1), (40_000, 400));
    let coupon = attack(&events)[0].field("/attributes/coupon");
    let people: BTreeSet<_> = events
        .iter()
        .filter(|event| {
            event.honest()
                && event.action == Action::CouponClaim
                && event.field("/attributes/coupon") == coupon
        })
        .map(|event| &event.user)
        .collect();
    assert!((550..=600).contains(&people.len()), "{} people claim it", people.len());
    drop(events);

    let (events, _, _) = told("credential-stuffing", 1, 1.0);
    let attempts = attack(&events);
    assert!((24_500..=25_000).contains(&attempts.len()), "{}", attempts.len());
    assert!(attempts.iter().all(|event| event.action == Action::Login && event.label.is_some()));
    let works = attempts.iter().filter(|event| event.field("/outcome") == "success").count();
    assert!((110..230).contains(&works), "{works} work");

    let (events, accounts, _) = told("framing", 1, 1.0);
    let forged = attack(&events);
    let victims: BTreeSet<_> = forged.iter().map(|event| event.user.as_str()).collect();
    assert_eq!(victims.len(), 30);
    assert!(accounts.iter().all(|row| row.contains(",honest,")), "victims are honest");
    let active =
        victims.iter().filter(|victim| events.iter().any(|event| event.honest() && event.user == ***victim));
    assert_eq!(active.count(), 30, "victims are here, too");
}

/// All of a place's people come from its exits, and a crowd forms as it says.
#[test]
fn honest_crowds_are_as_hard_as_they_say() {
    let crowd = |name: &str| {
        let (events, _, _) = told(name, 4, 1.0);
        let mut crowds: BTreeMap<String, Vec<(i64, String, bool, String)>> = BTreeMap::new();
        for event in events.iter().filter(|event| event.action == Action::Like) {
            let new = event.at - event.field("/account/created_at").as_i64().expect("known") < NEW;
            let image = format!("{}{}", event.field("/device/canvas"), event.field("/device/fonts"));
            let ip = event.field("/ip").to_string();
            crowds
                .entry(event.target.clone().unwrap_or_default())
                .or_default()
                .push((event.at, ip, new, image));
        }
        crowds.into_values().max_by_key(Vec::len).expect("there are likes")
    };
    let viral = crowd("viral-newcomers");
    assert!(viral.len() > 7_500 && viral.iter().filter(|like| like.2).count() * 10 > viral.len() * 7);
    let noon = crowd("campus");
    let exits: BTreeSet<_> = noon.iter().map(|like| &like.1).collect();
    assert!(
        noon.len() >= 1_000 && exits.len() * 4 < noon.len(),
        "{} from {} addresses",
        noon.len(),
        exits.len()
    );
    let fleet = crowd("company-fleet");
    let mut images: BTreeMap<_, BTreeSet<&String>> = BTreeMap::new();
    for like in &fleet {
        images.entry(&like.3).or_default().insert(&like.1);
    }
    let exits = images.values().map(BTreeSet::len).max().unwrap_or(0);
    assert!(fleet.len() >= 850 && exits > 150, "one image behind {exits} exits");
}

#[test]
fn a_school_is_one_exit_of_equal_computers() {
    let (events, _, _) = told("school-lab", 4, 1.0);
    let mut behind: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.action == Action::SignUp) {
        behind.entry(event.field("/ip").to_string()).or_default().insert(event.user.clone());
    }
    let most = behind.values().map(BTreeSet::len).max().unwrap_or(0);
    assert!((900..1_300).contains(&most), "{most} register behind one exit");
}
