//! A cut of the engine's state while scoring goes on, and the engine restored from it: from the first input after the
//! cut on it must say what the one that was never stopped says, word for word, and end in the same state.
//!
//! Simulated traffic under the standard policy with very small budgets, so that records are pushed out, counters move
//! between forms, tables grow, dead records are swept and generations of duplicates turn, all while a cut is under way.

use std::sync::{Arc, OnceLock};

use proptest::prelude::*;
use weir::config::standard;
use weir::engine::command::{Command, CommandAction};
use weir::engine::cut::{CutProgress, Page, Restore, RestoreError};
use weir::engine::entity::{Entity, EntityKind};
use weir::engine::event::Arrival;
use weir::engine::key::HashSeed;
use weir::engine::policy::Policy;
use weir::engine::policy::load::load;
use weir::engine::time::{Span, Timestamp};
use weir::engine::verdict::Verdict;
use weir::engine::{Engine, Input, Outputs};
use weir::sim::{Incident, Scenario, Simulation};
use weir::wire::interaction::{DecodeLimits, decode};

const SEED: HashSeed = HashSeed(3, 5);
/// One in so many inputs is followed by a command, one in so many by a tick.
const COMMAND_EVERY: usize = 211;
const TICK_EVERY: usize = 97;

/// The lines of a small simulation and when each is sent.
fn traffic() -> &'static [(Vec<u8>, i64)] {
    static TRAFFIC: OnceLock<Vec<(Vec<u8>, i64)>> = OnceLock::new();
    TRAFFIC.get_or_init(|| {
        let incident = Incident { accounts: 200, likes: 3_000, camouflage: 1_000, ..Incident::FULL };
        let scenario = Scenario {
            honest_accounts: 2_500,
            articles: 1_500,
            incidents: vec![incident],
            ..Scenario::demo()
        };
        let line = |event: weir::sim::SimEvent<'_>| {
            let mut line = Vec::new();
            event.write_json(&mut line);
            (line, event.at_ms)
        };
        Simulation::new(&scenario, 5).events().map(line).collect()
    })
}

/// The standard policy with `changes` to its text.
fn policy(changes: &[(&str, &str)]) -> Arc<Policy> {
    let mut files = standard::files();
    for (from, to) in changes {
        let holding = files.iter_mut().find(|(_, text)| text.contains(from));
        let (_, text) = holding.unwrap_or_else(|| panic!("nothing says {from:?}"));
        *text = text.replace(from, to);
    }
    load(&files).unwrap_or_else(|problems| panic!("{}", problems[0])).policy
}

fn tight() -> Vec<(&'static str, &'static str)> {
    vec![
        ("profiles: 256MB", "profiles: 1MB"),
        ("profile_idle: 30d", "profile_idle: 2m"),
        ("dimension: 128MB", "dimension: 1MB"),
        ("\"user+target+action\": 512MB", "\"user+target+action\": 1MB"),
        ("\"user+action\": 256MB", "\"user+action\": 1MB"),
        ("horizon: 1h, budget: 64MB", "horizon: 2m, budget: 128KB"),
        ("retroactive: { window: 24h, budget: 128MB }", "retroactive: { window: 5m, budget: 512KB }"),
        ("  budget: 64MB\n  code: CROWD_PRIOR", "  budget: 1MB\n  code: CROWD_PRIOR"),
    ]
}

fn engine() -> Engine {
    Engine::new(policy(&tight()), SEED)
}

/// Applies one line of the traffic, and what follows it, and tells in words all that came of it.
fn step(engine: &mut Engine, number: usize) -> String {
    let (line, at) = &traffic()[number];
    let append_time = Timestamp::from_millis(*at);
    let arrival = Arrival { topic: "t", partition: (number % 3) as i32, offset: number as i64, append_time };
    let decoded = decode(Some(line), &[], &DecodeLimits::default()).expect("valid");
    let mut told = tell(engine, Input::Event(&decoded.event, arrival));
    if number.is_multiple_of(COMMAND_EVERY) {
        told += &tell(engine, Input::Command(&command(number, append_time), arrival));
    }
    if number.is_multiple_of(TICK_EVERY) {
        told += &tell(engine, Input::Tick(append_time));
    }
    told
}

fn command(number: usize, at: Timestamp) -> Command {
    let entity = Entity::new(EntityKind::User, format!("u{}", number % 5));
    let action = match number % 3 {
        0 => CommandAction::Unban { entity, ban: None },
        n => CommandAction::Ban {
            entity,
            verdict: Verdict::Block,
            length: Some(Span::from_secs(30 * n as i64)),
        },
    };
    Command { id: format!("c{}", number / 2), actor: "a".into(), at, reason: "r".into(), action }
}

fn tell(engine: &mut Engine, input: Input<'_>) -> String {
    let mut out = Outputs::default();
    let outcome = engine.apply(input, &mut out);
    let Outputs { judgement, shadow, bans, cases, revisions, .. } = out;
    format!("{outcome:?} {judgement:?} {shadow:?} {bans:?} {cases:?} {revisions:?}\n")
}

/// How the pages of a cut are fetched.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Inputs between two slices.
    inputs: usize,
    /// Bytes of a slice.
    bytes: usize,
}

/// A cut before input `at`, taken at a pace while the inputs from there on are applied. Gives the pages, what was told
/// meanwhile, and the number of the next input.
fn cut(engine: &mut Engine, at: usize, pace: Pace) -> (Vec<Page>, Vec<String>, usize) {
    let (mut pages, mut told, mut next) = (Vec::new(), Vec::new(), at);
    engine.begin_cut();
    while engine.copy_pages(pace.bytes, &mut pages) == CutProgress::More {
        for _ in 0..pace.inputs.min(traffic().len() - next) {
            told.push(step(engine, next));
            next += 1;
        }
    }
    (pages, told, next)
}

/// The pages as a file would give them back.
fn reread(pages: Vec<Page>) -> Vec<Page> {
    let reread = |mut page: Page| {
        page.finish();
        Page::new(page.head(), page.words().to_vec()).expect("the head of a page")
    };
    pages.into_iter().map(reread).collect()
}

/// The whole state as words.
fn state(engine: &mut Engine) -> Vec<([u32; Page::HEAD], Vec<u32>)> {
    let mut pages = Vec::new();
    engine.begin_cut();
    assert_eq!(engine.copy_pages(usize::MAX, &mut pages), CutProgress::Complete);
    reread(pages).iter().map(|page| (page.head(), page.words().to_vec())).collect()
}

fn assert_same_state(one: &mut Engine, other: &mut Engine) {
    for (one, other) in state(one).iter().zip(&state(other)) {
        assert_eq!(one.0, other.0, "the same pages");
        assert!(one.1 == other.1, "page {:?} differs", one.0);
    }
    assert_eq!(state(one).len(), state(other).len());
}

/// Cuts, restores, and lets both go on to `end`.
fn restored_goes_on(at: usize, pace: Pace, end: usize) -> (Engine, Engine) {
    let mut engine = engine();
    (0..at).for_each(|number| drop(step(&mut engine, number)));
    let (pages, mut told, next) = cut(&mut engine, at, pace);
    let end = end.max(next);
    told.extend((next..end).map(|number| step(&mut engine, number)));
    let mut restored =
        Engine::restore(policy(&tight()), SEED, reread(pages)).unwrap_or_else(|error| panic!("{error}"));
    for (number, told) in (at..).zip(&told) {
        assert_eq!(&step(&mut restored, number), told, "input {number}");
    }
    assert_same_state(&mut engine, &mut restored);
    (engine, restored)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_restored_engine_says_what_one_that_was_never_stopped_says(
        at in 0usize..8_000,
        inputs in 1usize..40,
        bytes in prop_oneof![Just(1usize), Just(300_000), Just(2_000_000)],
    ) {
        restored_goes_on(at, Pace { inputs, bytes }, 10_000);
    }
}

/// The budgets are small enough, the cut slow enough: everything that moves state about happens while it lasts.
#[test]
fn records_are_pushed_out_swept_and_moved_while_a_cut_lasts() {
    let mut engine = engine();
    let at = 3_000;
    (0..at).for_each(|number| drop(step(&mut engine, number)));
    let before = engine.accounts();
    let (_, _, next) = cut(&mut engine, at, Pace { inputs: 2, bytes: 1 });
    let after = engine.accounts();
    let sum = |count: fn(&weir::engine::TableAccount) -> u64| {
        after.iter().map(count).sum::<u64>() - before.iter().map(count).sum::<u64>()
    };
    assert!(sum(|table| table.stats.evicted) > 0, "pushed out");
    assert!(sum(|table| table.stats.not_admitted) > 100, "not let in, and counted by estimate");
    assert!(sum(|table| table.stats.expired) > 100, "swept");
    assert!(after.iter().zip(&before).any(|(after, before)| after.stats.bytes > before.stats.bytes), "grown");
    assert!(after.iter().any(|table| table.stats.blocks > 0), "promoted");
    let minutes = (traffic()[next].1 - traffic()[at].1) / 60_000;
    assert!(minutes >= 4, "at least one generation of two minutes begins and ends");
}

#[test]
fn an_abandoned_cut_leaves_no_trace_and_the_next_one_is_whole() {
    let (mut engine, mut plain) = (engine(), engine());
    (0..2_000).for_each(|number| drop((step(&mut engine, number), step(&mut plain, number))));
    let mut pages = Vec::new();
    engine.begin_cut();
    assert_eq!(engine.copy_pages(500_000, &mut pages), CutProgress::More);
    (2_000..2_500).for_each(|number| assert_eq!(step(&mut engine, number), step(&mut plain, number)));
    engine.abandon_cut();
    assert!(!engine.is_cutting());
    assert_eq!(engine.copy_pages(1, &mut pages), CutProgress::NoCut);
    let (_, _, next) = cut(&mut engine, 2_500, Pace { inputs: 3, bytes: 200_000 });
    (2_500..next).for_each(|number| drop(step(&mut plain, number)));
    let (pages, _, end) = cut(&mut engine, next, Pace { inputs: 9, bytes: 100_000 });
    let mut restored = Engine::restore(policy(&tight()), SEED, pages).expect("whole");
    assert_same_state(&mut plain, &mut restored);
    (next..end).for_each(|number| drop(step(&mut restored, number)));
    assert_same_state(&mut engine, &mut restored);
}

/// Counters that were given room by an earlier policy, and counters that are warming up, stay so.
#[test]
fn a_policy_abandons_the_cut_and_what_it_left_behind_is_restored() {
    let lower = [
        tight(),
        vec![("name: standard", "name: lower"), ("window: 1m\n    max: 3\n", "window: 1m\n    max: 2\n")],
    ]
    .concat();
    let lower = policy(&lower);
    let mut engine = engine();
    (0..1_500).for_each(|number| drop(step(&mut engine, number)));
    engine.begin_cut();
    let mut pages = Vec::new();
    assert_eq!(engine.copy_pages(1, &mut pages), CutProgress::More);
    tell(&mut engine, Input::Policy(Arc::clone(&lower)));
    assert_eq!(engine.copy_pages(1, &mut pages), CutProgress::NoCut);
    (1_500..2_000).for_each(|number| drop(step(&mut engine, number)));
    let (pages, told, next) = cut(&mut engine, 2_000, Pace { inputs: 5, bytes: 400_000 });
    let pages = reread(pages);
    let error = Engine::restore(policy(&tight()), SEED, pages.clone()).err();
    assert!(matches!(error, Some(RestoreError::OtherPolicy { .. })), "{error:?}");
    let mut restored = Engine::restore(lower, SEED, pages).unwrap_or_else(|error| panic!("{error}"));
    for (number, told) in (2_000..next).zip(&told) {
        assert_eq!(&step(&mut restored, number), told);
    }
    let back = policy(&tight());
    for engine in [&mut engine, &mut restored] {
        tell(engine, Input::Policy(Arc::clone(&back)));
    }
    (next..next + 1_000).for_each(|n| assert_eq!(step(&mut engine, n), step(&mut restored, n)));
    assert_same_state(&mut engine, &mut restored);
}

#[test]
fn pages_that_are_not_a_whole_cut_are_told_and_nothing_panics() {
    let mut engine = engine();
    (0..1_000).for_each(|number| drop(step(&mut engine, number)));
    let mut pages = Vec::new();
    engine.begin_cut();
    assert_eq!(engine.copy_pages(usize::MAX, &mut pages), CutProgress::Complete);
    let pages = reread(pages);
    let restore = |pages: Vec<Page>| Engine::restore(policy(&tight()), SEED, pages).err();
    let same = policy(&tight());
    assert_eq!(restore(pages.clone()), None);
    assert_eq!(
        Engine::restore(Arc::clone(&same), HashSeed(9, 9), pages.clone()).err(),
        Some(RestoreError::OtherSeed)
    );
    assert!(restore(Vec::new()).is_some());
    for index in (0..pages.len()).step_by(7) {
        let without: Vec<Page> = [&pages[..index], &pages[index + 1..]].concat();
        assert!(restore(without).is_some(), "page {index} is missing");
        let twice: Vec<Page> = [&pages[..=index], &pages[index..]].concat();
        assert!(restore(twice).is_some(), "page {index} is there twice");
    }
}

/// Words turned over anywhere either make an error or an engine; never a panic, never a hang.
#[test]
fn turned_words_never_panic_while_restoring() {
    let mut engine = engine();
    (0..1_000).for_each(|number| drop(step(&mut engine, number)));
    let same = policy(&tight());
    let mut pages = Vec::new();
    engine.begin_cut();
    assert_eq!(engine.copy_pages(usize::MAX, &mut pages), CutProgress::Complete);
    let sets: Vec<usize> = (0..pages.len()).filter(|index| pages[*index].head()[0] == 1).collect();
    let mut turned = 0;
    for index in sets {
        for word in (0..pages[index].words().len()).step_by(97) {
            let mut words = pages[index].words().to_vec();
            words[word] ^= 0x8000_0001;
            let mut restore = Restore::new(Arc::clone(&same), SEED);
            for (number, page) in pages.iter().enumerate().filter(|(_, page)| page.head()[0] == 1) {
                let page = if number == index {
                    Page::new(page.head(), words.clone()).expect("the same length")
                } else {
                    page.clone()
                };
                if restore.add(page).is_err() {
                    turned += 1;
                }
            }
        }
    }
    assert!(turned > 0);
}
