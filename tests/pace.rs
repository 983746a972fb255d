//! Rates against what is usual: a key that does ten times as much as others is seen below any fixed threshold, and who
//! attacks does not become what is usual.

use std::sync::Arc;

use weir::engine::cut::{CutProgress, Page};
use weir::engine::event::{Arrival, Event};
use weir::engine::key::HashSeed;
use weir::engine::policy::Policy;
use weir::engine::policy::load::load;
use weir::engine::time::Timestamp;
use weir::engine::verdict::Verdict::{self, Allow, Hold};
use weir::engine::{Engine, Input, Outcome, Outputs};
use weir::verify::model::{Hint, Model, Told};

const T: i64 = 1_750_000_000_000;
const SEED: HashSeed = HashSeed(1, 2);
/// No threshold but what is usual: twice what 95 of 100 do in a second, from 2 on.
const POLICY: &str = "version: 1
signals:
  - { name: pace, key: [user, action], window: 1s, rate: { quantile: 0.95, times: 2, least: 2, keys: 100 }, doc: d }
rules:
  - { id: jump, family: content, when: pace > 1.0, verdict: hold, value: pace, code: J, text: t, source: s, owner: o }
";

fn policy(text: &str) -> Arc<Policy> {
    match load(&[("p.yaml".to_owned(), text.to_owned())]) {
        Ok(loaded) => loaded.policy,
        Err(problems) => panic!("{}", problems.iter().map(|p| format!("{p}\n")).collect::<String>()),
    }
}

struct Bench {
    engine: Engine,
    model: Model,
    next: i64,
}

impl Bench {
    fn new(text: &str) -> Self {
        Self::of(Engine::new(policy(text), SEED), text)
    }

    fn of(engine: Engine, text: &str) -> Self {
        Self { engine, model: Model::new(policy(text)), next: 0 }
    }

    fn act(&mut self, millis: i64, user: &str, action: &str) -> (Verdict, Vec<String>) {
        let at = Timestamp::from_millis(T + millis);
        let event = Event {
            id: format!("e{}", self.next).into(),
            occurred_at: at,
            action: action.to_owned().into(),
            user: Some(user.into()),
            ..Event::default()
        };
        let arrival = Arrival { topic: "t", partition: 0, offset: self.next, append_time: at };
        self.next += 1;
        let mut out = Outputs::default();
        assert_eq!(self.engine.apply(Input::Event(&event, arrival), &mut out), Outcome::Decided);
        let judgement = out.judgement.expect("decided");
        let told = Told::by_engine(&judgement, &out.shadow);
        let answer = self.model.event(&event, arrival, Hint { told: Some(&told), bans: None });
        let faults = answer.expected.expect("decided").faults(&told);
        assert!(faults.is_empty(), "{faults:?}");
        let quality = judgement
            .quality
            .iter()
            .filter_map(|short| Some(format!("{} {}", short.code.name(), short.counter.as_ref()?)));
        (judgement.verdict, quality.collect())
    }

    /// One second in which each of these users does so much, evenly; what was said of each at last.
    fn second(&mut self, second: i64, users: &[(&str, u32)]) -> Vec<Verdict> {
        let mut acts: Vec<(i64, usize)> = Vec::new();
        for (number, (_, count)) in users.iter().enumerate() {
            acts.extend((0..*count).map(|act| (i64::from(act) * 990 / i64::from(*count), number)));
        }
        acts.sort_unstable();
        let mut last = vec![Allow; users.len()];
        for (millis, number) in acts {
            last[number] = self.act(second * 1_000 + millis, users[number].0, "like").0;
        }
        last
    }
}

/// Twenty who do five a second.
fn ordinary() -> Vec<(&'static str, u32)> {
    let names =
        ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"];
    names.iter().map(|name| (*name, 5)).collect()
}

fn with(mut users: Vec<(&'static str, u32)>, name: &str, count: u32) -> Vec<(&'static str, u32)> {
    users.iter_mut().filter(|(known, _)| *known == name).for_each(|(_, of)| *of = count);
    users
}

#[test]
fn a_jump_from_five_to_fifty_a_second_is_seen() {
    let mut bench = Bench::new(POLICY);
    for second in 0..10 {
        assert!(bench.second(second, &ordinary()).iter().all(|verdict| *verdict == Allow), "{second}");
    }
    let verdicts = bench.second(10, &with(ordinary(), "g", 50));
    let expected: Vec<Verdict> =
        ordinary().iter().map(|(name, _)| if *name == "g" { Hold } else { Allow }).collect();
    assert_eq!(verdicts, expected);
    // Twice as much is what a busy person does for once.
    assert!(bench.second(11, &with(ordinary(), "h", 10)).iter().all(|verdict| *verdict == Allow));
    assert_eq!(bench.second(12, &with(ordinary(), "h", 11))[7], Hold);
    // Of another action nothing is known yet.
    (0..60).for_each(|n| assert_eq!(bench.act(13_000 + n * 10, "h", "share").0, Allow));
}

#[test]
fn an_attack_does_not_become_what_is_usual_and_decisions_say_that_it_is_left_out() {
    let mut bench = Bench::new(POLICY);
    (0..10).for_each(|second| drop(bench.second(second, &ordinary())));
    let bots = ["x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8"].map(|name| (name, 30));
    let attacked: Vec<(&str, u32)> = ordinary().into_iter().chain(bots).collect();
    for second in 10..130 {
        let verdicts = bench.second(second, &attacked);
        assert!(verdicts[..20].iter().all(|verdict| *verdict == Allow), "{second}: {verdicts:?}");
        assert!(verdicts[20..].iter().all(|verdict| *verdict == Hold), "{second}: {verdicts:?}");
    }
    assert_eq!(bench.act(130_000, "a", "like").1, ["approximate pace"]);
    bench.second(131, &ordinary());
    assert_eq!(bench.act(132_000, "a", "like").1, Vec::<String>::new(), "over");
    assert_eq!(bench.second(133, &with(ordinary(), "g", 50))[6], Hold);
}

#[test]
fn while_too_few_were_learnt_from_nothing_is_said() {
    let mut bench = Bench::new(POLICY);
    for second in 0..5 {
        let few: Vec<(&str, u32)> = ordinary().into_iter().take(10).collect();
        assert!(bench.second(second, &with(few, "a", 90)).iter().all(|verdict| *verdict == Allow));
    }
}

/// What is usual at each moment goes into a cut, and so does what the keys have done in the present window.
#[test]
fn a_restored_engine_and_one_with_other_thresholds_know_what_is_usual() {
    let mut bench = Bench::new(POLICY);
    (0..10).for_each(|second| drop(bench.second(second, &ordinary())));
    (0..8).for_each(|n| drop(bench.act(10_000 + n, "g", "like")));
    let mut pages = Vec::new();
    bench.engine.begin_cut();
    assert_eq!(bench.engine.copy_pages(usize::MAX, &mut pages), CutProgress::Complete);
    pages.iter_mut().for_each(Page::finish);
    let restored = Engine::restore(policy(POLICY), SEED, pages).unwrap_or_else(|error| panic!("{error}"));
    let mut other = Bench { engine: restored, model: bench.model, next: bench.next };
    let verdicts = [0, 1, 2].map(|n| other.act(10_100 + n, "g", "like").0);
    assert_eq!(verdicts, [Allow, Allow, Hold], "the ninth to eleventh of ten");
    let stricter = policy(&POLICY.replace("times: 2", "times: 1"));
    other.engine.apply(Input::Policy(Arc::clone(&stricter)), &mut Outputs::default());
    other.model.activate(&stricter);
    assert_eq!(other.second(11, &with(ordinary(), "h", 6))[7], Hold, "known at once");
}

#[track_caller]
fn refused(rate: &str, column: usize, words: &str) {
    let text = POLICY.replace("{ quantile: 0.95, times: 2, least: 2, keys: 100 }", rate);
    let Err(problems) = load(&[("p.yaml".to_owned(), text)]) else { panic!("it is accepted") };
    let all: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
    let told = |problem: &weir::engine::policy::problem::Problem| {
        let help = problem.suggestion.as_deref().unwrap_or_default();
        (problem.line, problem.column) == (3, column)
            && (problem.message.contains(words) || help.contains(words))
    };
    assert!(problems.iter().any(told), "3:{column} {words}\n{all}");
}

#[test]
fn numbers_that_make_no_sense_are_refused_with_their_place() {
    refused("{ quantile: 0.2 }", 70, "from 0.5 to 0.999");
    refused("{ times: 0.5 }", 67, "from 1 to 100");
    refused("{ least: 0 }", 67, "from 1 to");
    refused("{ freeze_above: 101 }", 74, "from 0 to 100");
    refused("{ quantil: 0.9 }", 60, "quantile");
}
