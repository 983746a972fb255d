//! What the compiled rules of the standard policy cost an event, and 20 plain rules over a dozen names.
//!
//! `cargo bench --bench rules`. One iteration is one event: all rules once. The budget is 1 us.

use std::collections::BTreeMap;
use std::hint::black_box;

use divan::Bencher;
use weir::config::standard;
use weir::engine::expr::catalogue::{Catalogue, name};
use weir::engine::expr::check::{Scope, check};
use weir::engine::expr::interpret::Interpreted;
use weir::engine::expr::parse::parse;
use weir::engine::expr::tree::Typed;
use weir::engine::expr::{Condition, Slot, Type, compile};
use weir::engine::policy::load::load;
use weir::engine::policy::{Name, Origin};

fn main() {
    divan::main();
}

/// Twenty rules as they are written: two to four comparisons each.
const RULES: [&str; 20] = [
    "account.new && crowd_new >= 200",
    "event.action == 'like' && likes_1m > 30",
    "event.action == 'like' && likes_1h > 400 && !account.paying",
    "account.age < days(1) && likes_1m > 10",
    "account.age < hours(1) && event.action in ['follow', 'like', 'comment']",
    "crowd >= 50 && crowd_new * 10 >= crowd * 8",
    "device_users > 3 && user.known_for < days(2)",
    "device_users > 20",
    "address_users > 40 && account.new",
    "address_users == 1 && account.new && crowd >= 100",
    "user.penalty >= 3.0",
    "user.penalty >= 1.0 && likes_1m > 20",
    "event.outcome == 'failure' && failures_1h >= 5",
    "failures_1h >= 20 || (failures_1h >= 10 && account.new)",
    "user.active_days == 1 && likes_1h > 60",
    "user.active_days >= 30 && device_users <= 2",
    "has(event.user_agent) && event.user_agent.contains('bot')",
    "!has(event.device_id) && account.new",
    "likes_1h - likes_1m < 3 && likes_1m > 15",
    "address.known_for > days(30) && !account.new",
];

struct World {
    catalogue: Catalogue,
    rules: Vec<Condition>,
}

fn world() -> World {
    let mut catalogue = Catalogue::standard();
    let signals =
        ["likes_1m", "likes_1h", "crowd", "crowd_new", "device_users", "address_users", "failures_1h"];
    for (index, signal) in signals.into_iter().enumerate() {
        assert!(catalogue.add(name(signal, Type::Int, "", "", Origin::Signal(index))));
    }
    let rules = RULES.iter().map(|text| compiled(text, &catalogue)).collect();
    World { catalogue, rules }
}

fn compiled(text: &str, catalogue: &Catalogue) -> Condition {
    let (lists, networks) = (BTreeMap::new(), BTreeMap::new());
    let scope = Scope { catalogue, lists: &lists, networks: &networks, signals: true };
    let checked = parse(text).and_then(|parsed| check(&parsed, scope)).expect("a good rule");
    let Typed::Bool(tree) = checked.tree else { panic!("a condition") };
    Condition::new(text.to_owned(), compile::condition(&tree))
}

/// 64 events, from quiet to loud, some of them with fields missing.
fn events(names: &[Name]) -> Vec<Vec<Slot<'static>>> {
    (0..64u32)
        .map(|number| names.iter().enumerate().map(|(slot, name)| value(name, number, slot)).collect())
        .collect()
}

fn value(name: &Name, number: u32, slot: usize) -> Slot<'static> {
    let mixed = (number as usize).wrapping_mul(2_654_435_761).wrapping_add(slot.wrapping_mul(40_503)) >> 7;
    match name.ty {
        _ if mixed.is_multiple_of(16) => Slot::Unknown,
        Type::Bool => Slot::Bool(mixed.is_multiple_of(5)),
        Type::Int => Slot::Int(i64::try_from(mixed % 300).unwrap_or(0)),
        Type::Double => Slot::Double(f64::from(number) / 32.0),
        Type::Text => Slot::Text(["like", "comment", "login", "Mozilla/5.0 (Linux; Android 14)"][mixed % 4]),
    }
}

fn fired(rules: &[Condition], slots: &[Slot<'_>]) -> usize {
    rules.iter().filter(|rule| rule.eval(slots) == Some(true)).count()
}

/// Twenty rules over a dozen names.
#[divan::bench(sample_count = 50, sample_size = 6400)]
fn twenty_rules(bencher: Bencher<'_, '_>) {
    let world = world();
    let events = events(world.catalogue.names());
    let mut next = 0;
    bencher.bench_local(|| {
        next = (next + 1) % events.len();
        fired(black_box(&world.rules), black_box(&events[next]))
    });
}

/// All rules of the standard policy.
#[divan::bench(sample_count = 50, sample_size = 6400)]
fn standard_policy(bencher: Bencher<'_, '_>) {
    let loaded = load(&standard::files()).expect("the standard policy");
    let events = events(&loaded.policy.catalogue);
    let mut next = 0;
    bencher.bench_local(|| {
        next = (next + 1) % events.len();
        let slots = black_box(&events[next]);
        loaded.policy.rules.iter().filter(|rule| rule.when.eval(slots) == Some(true)).count()
    });
}

/// The same twenty rules in CEL's interpreter as the tests use it: with names and functions made anew for each rule.
#[divan::bench(sample_count = 20)]
fn twenty_rules_interpreted(bencher: Bencher<'_, '_>) {
    let world = world();
    let events = events(world.catalogue.names());
    let (lists, networks) = (BTreeMap::new(), BTreeMap::new());
    let scope = Scope { catalogue: &world.catalogue, lists: &lists, networks: &networks, signals: true };
    let rules: Vec<Interpreted> = RULES.iter().filter_map(|text| Interpreted::new(text)).collect();
    let mut next = 0;
    bencher.bench_local(|| {
        next = (next + 1) % events.len();
        rules.iter().map(|rule| rule.eval(black_box(&events[next]), scope)).collect::<Vec<_>>()
    });
}
