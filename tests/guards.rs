//! Blast radius: a rule that holds up more accounts than it may falls back by itself, says so once, and comes back.

#[path = "support/policy.rs"]
mod policy;

use std::fs;
use std::process::{Command as Process, Stdio};
use std::sync::Arc;

use policy::policy;
use tempfile::TempDir;
use weir::engine::blast::FellBack;
use weir::engine::case::Case;
use weir::engine::cut::{CutProgress, Page};
use weir::engine::decision::{Judgement, Reason};
use weir::engine::event::{Account, Arrival, Event};
use weir::engine::key::HashSeed;
use weir::engine::policy::FallBack;
use weir::engine::policy::load::load;
use weir::engine::time::{Span, Timestamp};
use weir::engine::verdict::Verdict::{self, Allow, Block, Challenge, Demote, Hold, Reject};
use weir::engine::{Engine, Input, Outcome, Outputs};

const T: i64 = 1_750_000_000_000;
const SEED: HashSeed = HashSeed(1, 2);
const ABOUT: &str = "code: C, text: t, source: s, owner: o";
/// Holds up everybody who is not new; ten an hour are allowed.
const MAD: &str = "rules:
  - { id: mad, family: content, when: account.age >= days(300), verdict: hold, blast_radius: { accounts: 10, within: 1h }, code: MAD, text: t, source: s, owner: o }
";

fn at(secs: i64) -> Timestamp {
    Timestamp::from_millis(T + secs * 1000)
}

struct Bench {
    engine: Engine,
    out: Outputs,
    next: i64,
    fell: Vec<FellBack>,
    cases: Vec<Case>,
}

impl Bench {
    fn new(text: &str) -> Self {
        Self::of(Engine::new(policy(text), SEED))
    }

    fn of(engine: Engine) -> Self {
        Self { engine, out: Outputs::default(), next: 0, fell: Vec::new(), cases: Vec::new() }
    }

    fn act(&mut self, secs: i64, user: &str) -> Judgement {
        let event = Event {
            id: format!("e{}", self.next).into(),
            occurred_at: at(secs),
            action: "like".into(),
            user: Some(user.into()),
            account: Account { created_at: Some(at(secs - 400 * 86_400)), ..Account::default() },
            ..Event::default()
        };
        let arrival = Arrival { topic: "t", partition: 0, offset: self.next, append_time: at(secs) };
        self.next += 1;
        self.out.clear();
        assert_eq!(self.engine.apply(Input::Event(&event, arrival), &mut self.out), Outcome::Decided);
        self.fell.append(&mut self.out.fell_back);
        self.cases.append(&mut self.out.cases);
        self.out.judgement.clone().expect("decided")
    }

    /// One event a second by each of so many users.
    fn crowd(&mut self, from: i64, users: std::ops::Range<i64>) -> Vec<Verdict> {
        let act = |(second, user): (i64, i64)| self.act(from + second, &format!("u{user}")).verdict;
        (0..).zip(users).map(act).collect()
    }

    fn shadow(&self) -> Vec<&str> {
        self.out.shadow.iter().map(|reason| reason.source.id.as_str()).collect()
    }
}

fn guard(judgement: &Judgement) -> Option<&Reason> {
    judgement.reasons.iter().find(|reason| reason.source.code == "BLAST_RADIUS")
}

#[test]
fn a_rule_gone_mad_on_honest_people_is_stopped_at_its_budget_and_comes_back_an_hour_later() {
    let mut bench = Bench::new(MAD);
    let verdicts = bench.crowd(0, 0..40);
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == Hold).count(), 10);
    assert!(verdicts[..10].iter().all(|verdict| *verdict == Hold));
    // Not even those it held up before: the rule is in shadow, and the decision says why.
    let known = bench.act(60, "u0");
    assert_eq!((known.verdict, bench.shadow()), (Allow, vec!["mad"]));
    let reason = guard(&known).expect("it is told");
    assert_eq!(
        (reason.value, reason.threshold, reason.source.id.as_str()),
        (Some(10.0), Some(10.0), "blast-radius.mad")
    );
    // Once: one notice, one case, whatever the number of events.
    let told = FellBack { rule: "mad".into(), then: FallBack::Shadow, accounts: 10, until: at(3_600) };
    assert_eq!(bench.fell, [told]);
    let [case] = bench.cases.as_slice() else { panic!("one case: {:#?}", bench.cases) };
    assert_eq!((case.rule.as_str(), case.entity.to_string().as_str()), ("blast-radius.mad", "user:u10"));
    assert!(
        case.proposal.contains("mad acted on 10 accounts within 1h and is in shadow until"),
        "{}",
        case.proposal
    );
    // Its hour began with the first account.
    assert_eq!(bench.act(3_599, "late").verdict, Allow);
    let back = bench.act(3_600, "later");
    assert_eq!((back.verdict, guard(&back)), (Hold, None));
    assert_eq!(bench.crowd(3_601, 100..111).iter().filter(|verdict| **verdict == Hold).count(), 9);
    assert_eq!((bench.fell.len(), bench.cases.len()), (2, 2));
}

#[test]
fn the_same_few_accounts_spend_no_budget_however_often_they_come() {
    let mut bench = Bench::new(MAD);
    for round in 0..30 {
        assert!(bench.crowd(round * 10, 0..10).iter().all(|verdict| *verdict == Hold));
    }
    assert!(bench.fell.is_empty());
}

#[test]
fn what_would_reject_can_fall_back_to_hold() {
    let text =
        MAD.replace("verdict: hold", "verdict: reject").replace("within: 1h", "within: 1h, then: hold");
    let mut bench = Bench::new(&text);
    let verdicts = bench.crowd(0, 0..12);
    assert_eq!((&verdicts[8..], bench.shadow().len()), (&[Reject, Reject, Hold, Hold][..], 0));
    assert_eq!(bench.fell[0].then, FallBack::Hold);
}

/// Each asks for 40 points: together with the prior of -30 they demote alone, and reject together.
#[test]
fn points_count_against_the_budget_only_where_they_led_to_a_verdict() {
    let rule = |id: &str, family: &str, more: &str| {
        format!(
            "  - {{ id: {id}, family: {family}, when: account.age >= days(300), points: 40, {more}{ABOUT} }}\n"
        )
    };
    let families = "  families: { content: 100, timing: 100 }\n";
    let head = |prior: i32| format!("score:\n  prior: {prior}\n{families}rules:\n");
    let budget = "blast_radius: { accounts: 5, within: 1h }, ";
    let both = rule("one", "content", budget) + &rule("two", "timing", "");
    let mut bench = Bench::new(&(head(-30) + &both));
    let verdicts = bench.crowd(0, 0..7);
    assert_eq!(verdicts, [Reject, Reject, Reject, Reject, Reject, Challenge, Challenge]);
    assert_eq!(bench.shadow(), ["one"]);
    let mut bench = Bench::new(&(head(-100) + &both));
    assert!(bench.crowd(0, 0..20).iter().all(|verdict| *verdict == Allow));
    assert!(bench.fell.is_empty(), "nobody was held up");
    let held = both.replace("within: 1h }", "within: 1h, then: hold }");
    let mut bench = Bench::new(&(head(-30) + &held));
    assert_eq!(bench.crowd(0, 0..6)[4..], [Reject, Hold]);
}

#[test]
fn a_limit_that_fell_back_refuses_nobody_and_costs_nobody_a_penalty() {
    let text = format!(
        "guards: {{ blast_radius: {{ accounts: 2, within: 1h }} }}
penalties: {{ steps: [{{ points: 2, verdict: reject, for: 5m, code: P, text: p }}] }}
limits:
  - {{ id: pace, key: [user], window: 1m, max: 1, verdict: challenge, {ABOUT} }}
  - {{ id: soft, key: [user], window: 1m, max: 3, verdict: demote, {ABOUT} }}
"
    );
    let mut bench = Bench::new(&text);
    let mut thrice = |user: &str| [0, 1, 2].map(|second| bench.act(second, user).verdict);
    assert_eq!(thrice("a"), [Allow, Challenge, Challenge]);
    assert_eq!(thrice("b"), [Allow, Challenge, Challenge]);
    assert_eq!(thrice("c"), [Allow, Allow, Allow]);
    assert_eq!(bench.shadow(), ["pace"]);
    assert_eq!(
        [3, 4].map(|second| bench.act(second, "c").verdict),
        [Demote, Demote],
        "the limit without challenge stays"
    );
    assert_eq!(bench.act(5, "a").verdict, Reject, "what it cost before stands");
}

#[test]
fn a_larger_budget_lets_the_rule_act_again_at_once_and_the_same_one_does_not() {
    let mut bench = Bench::new(MAD);
    bench.crowd(0, 0..12);
    let same = MAD.replace("code: MAD", "code: MADDER");
    bench.engine.apply(Input::Policy(policy(&same)), &mut bench.out);
    assert_eq!((bench.act(20, "u20").verdict, bench.fell.len()), (Allow, 1), "told once");
    bench.engine.apply(Input::Policy(policy(&MAD.replace("accounts: 10", "accounts: 12"))), &mut bench.out);
    assert_eq!(bench.crowd(30, 30..33), [Hold, Hold, Allow], "the ten of before count");
    assert_eq!(bench.fell.len(), 2);
}

/// Five percent of the accounts that are active, and three at least.
#[test]
fn a_share_of_those_who_are_active_is_allowed_where_it_is_more() {
    let text = MAD
        .replace("accounts: 10", "accounts: 3, share: 5")
        .replace("days(300)", "days(300) && event.user_id.startsWith('m')");
    let mut bench = Bench::new(&text);
    bench.crowd(0, 0..1_000);
    let verdicts: Vec<Verdict> = (0..100).map(|n| bench.act(1_000 + n, &format!("m{n}")).verdict).collect();
    let held = verdicts.iter().filter(|verdict| **verdict == Hold).count();
    assert!((45..=60).contains(&held), "{held} of about 1,050 active ones");
}

/// Each of its three conditions holds at each event: the second one of a user is its third sign.
fn pool(budget: &str) -> String {
    format!(
        "observation:
  - id: watch
    entity: user
    conditions: [account.age >= days(300), event.action == 'like', event.user_id.startsWith('u')]
    watch: 24h
    times: 1
    within: 1h
    ban: 24h
    {budget}
    {}
",
        ABOUT.replace(", ", "\n    ")
    )
}

/// The verdicts of the third event of so many users; the second one bans.
fn thirds(bench: &mut Bench, from: i64, users: std::ops::Range<i64>) -> Vec<Verdict> {
    let mut third = |user: String| [0, 1, 2].map(|second| bench.act(from + second, &user).verdict)[2];
    users.map(|user| third(format!("u{user}"))).collect()
}

#[test]
fn a_pool_bans_as_many_as_its_budget_allows_and_only_tells_of_the_others() {
    let guards = "guards: { blast_radius: { accounts: 3, within: 1h } }\n";
    let mut bench = Bench::new(&(guards.to_owned() + &pool("")));
    assert_eq!(thirds(&mut bench, 0, 0..2), [Block, Block]);
    let mut other = Bench::of(restored(&mut bench.engine));
    other.next = bench.next;
    for bench in [&mut bench, &mut other] {
        assert_eq!(thirds(bench, 10, 2..6), [Block, Allow, Allow, Allow]);
        let told = FellBack { rule: "watch".into(), then: FallBack::Shadow, accounts: 3, until: at(3_601) };
        assert_eq!(bench.fell, [told], "once, and an hour after the first ban");
        let [case] = bench.cases.as_slice() else { panic!("one case: {:#?}", bench.cases) };
        assert_eq!((case.rule.as_str(), case.entity.to_string().as_str()), ("blast-radius.watch", "user:u3"));
        // The third sign comes again: whom it would ban stands in shadow, and the decision says why not.
        let would = bench.act(20, "u4");
        assert_eq!((would.verdict, bench.shadow()), (Allow, vec!["watch"]));
        assert_eq!(bench.out.shadow[0].verdict, Some(Block));
        let reason = guard(&would).expect("it is told");
        assert_eq!((reason.value, reason.threshold), (Some(3.0), Some(3.0)));
        let points: i32 = would.reasons.iter().map(|reason| reason.points).sum();
        assert_eq!(
            (points, would.reasons.last().map(|r| r.source.id.as_str())),
            (would.score, Some("prior"))
        );
        assert_eq!(bench.act(22, "u0").verdict, Block, "a ban that was made stands");
        assert_eq!(thirds(bench, 3_601, 10..14), [Block, Block, Block, Allow]);
        assert_eq!(bench.fell.len(), 2);
    }
}

#[test]
fn a_pool_can_fall_back_to_holding_or_be_said_to_need_no_budget() {
    let guards = "guards: { blast_radius: { accounts: 2, within: 1h } }\n";
    let held = pool("blast_radius: { accounts: 1, then: hold }");
    let mut bench = Bench::new(&(guards.to_owned() + &held));
    assert_eq!(thirds(&mut bench, 0, 0..3), [Block, Hold, Hold]);
    let bans = bench.out.bans.len();
    assert_eq!((0..6).map(|n| bench.act(10 + n, "u1").verdict).collect::<Vec<_>>(), [Hold; 6]);
    assert_eq!((bans, bench.out.bans.len()), (0, 0), "who is held is not held anew");
    let unlimited = pool("blast_radius: { unlimited: two people look at each }");
    let mut bench = Bench::new(&(guards.to_owned() + &unlimited));
    assert_eq!(thirds(&mut bench, 0, 0..5), [Block; 5]);
    assert_eq!(thirds(&mut Bench::new(&pool("")), 0, 0..5), [Block; 5], "no budget is the default");
}

#[test]
fn a_limit_that_fell_back_to_hold_costs_no_penalty() {
    let text = format!(
        "penalties: {{ steps: [{{ points: 2, verdict: block, for: 24h, code: P, text: p }}] }}
limits:
  - {{ id: pace, key: [user], window: 1m, max: 1, verdict: reject, blast_radius: {{ accounts: 1, within: 1h, then: hold }}, {ABOUT} }}
"
    );
    let mut bench = Bench::new(&text);
    let mut thrice = |user: &str| [0, 1, 2].map(|second| bench.act(second, user).verdict);
    assert_eq!((thrice("a"), thrice("b")), ([Allow, Reject, Reject], [Allow, Hold, Hold]));
    assert_eq!([bench.act(70, "a").verdict, bench.act(70, "b").verdict], [Block, Allow]);
}

/// Windows follow each other: that much a policy's author reads at the key, and no more than that can happen.
#[test]
fn across_the_end_of_a_window_twice_the_budget_is_the_most() {
    let mut bench = Bench::new(MAD);
    bench.crowd(0, 0..1);
    let across = [bench.crowd(3_590, 1..10), bench.crowd(3_600, 10..40)].concat();
    assert_eq!(across.iter().filter(|verdict| **verdict == Hold).count(), 9 + 10);
}

fn restored(engine: &mut Engine) -> Engine {
    engine.begin_cut();
    let (mut pages, policy) = (Vec::new(), Arc::clone(engine.policy()));
    while engine.copy_pages(usize::MAX, &mut pages) != CutProgress::Complete {}
    pages.iter_mut().for_each(Page::finish);
    Engine::restore(policy, SEED, pages).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_checkpoint_in_the_middle_keeps_what_was_spent_and_what_fell_back() {
    for cut in [6, 15] {
        let mut bench = Bench::new(MAD);
        bench.crowd(0, 0..cut);
        let mut other = Bench::of(restored(&mut bench.engine));
        let (one, two) = (bench.crowd(50, cut..20), other.crowd(50, cut..20));
        assert_eq!(one, two);
        assert_eq!(one.iter().filter(|verdict| **verdict == Hold).count() as i64, (10 - cut).max(0));
        assert_eq!((bench.act(3_600, "x").verdict, other.act(3_600, "x").verdict), (Hold, Hold));
    }
}

#[test]
fn explain_shows_that_a_rule_has_fallen_back() {
    let place = TempDir::new().expect("a temporary folder");
    fs::create_dir(place.path().join("p")).expect("writable");
    fs::write(place.path().join("p/p.yaml"), format!("version: 1\n{MAD}")).expect("writable");
    let line = |n: i64| {
        let (at, born) = (T + n * 1000, T - 400 * 86_400_000);
        format!(
            r#"{{"event_id":"e{n}","occurred_at":{at},"action":"like","user_id":"u{n}","account":{{"created_at":{born}}}}}"#
        )
    };
    let lines: Vec<String> = (0..12).map(line).collect();
    fs::write(place.path().join("e.jsonl"), lines.join("\n")).expect("writable");
    let mut command = Process::new(env!("CARGO_BIN_EXE_weir"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("WEIR_")) {
        command.env_remove(name);
    }
    command
        .args(["explain", "--input", "e.jsonl", "--policy", "p", "--event-id", "e11"])
        .current_dir(place.path());
    let ran = command.stdin(Stdio::null()).output().expect("it runs");
    let out = String::from_utf8(ran.stdout).expect("UTF-8");
    assert!(
        out.contains("mad has acted on 10 accounts within 1h, as many as it may: it is in shadow"),
        "{out}"
    );
    assert!(out.contains("mad [shadow]: FIRES"), "{out}");
}

#[track_caller]
fn refused(text: &str, line: usize, column: usize, words: &str) {
    let Err(problems) = load(&[("p.yaml".to_owned(), text.to_owned())]) else { panic!("it is accepted") };
    let told = |problem: &weir::engine::policy::problem::Problem| {
        let suggestion = problem.suggestion.as_deref().unwrap_or_default();
        (problem.line, problem.column) == (line, column)
            && (problem.message.contains(words) || suggestion.contains(words))
    };
    let all: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
    assert!(problems.iter().any(told), "{line}:{column} {words}\n{all}");
}

#[test]
fn budgets_that_make_no_sense_are_refused_with_their_place() {
    let rule = |budget: &str, does: &str| {
        format!(
            "version: 1\nrules:\n  - id: r\n    family: content\n    when: account.new\n    {does}\n    blast_radius: {budget}\n    code: R\n    text: t\n    source: s\n    owner: o\n"
        )
    };
    refused(&rule("{ accounts: 0, within: 1h }", "verdict: hold"), 7, 31, "from 1 to 100000");
    refused(&rule("{ accounts: 9, share: 0, within: 1h }", "verdict: hold"), 7, 41, "above 0");
    refused(&rule("{ accounts: 9, within: 1h, then: hold }", "verdict: hold"), 7, 52, "then: shadow");
    refused(&rule("{ accounts: 9 }", "verdict: hold"), 7, 19, "needs `accounts` and `within`");
    refused(&rule("{ acounts: 9, within: 1h }", "verdict: hold"), 7, 21, "accounts");
    refused(&rule("{ accounts: 9, within: 1h, then: wait }", "verdict: hold"), 7, 52, "unknown word");
    refused(&rule("{ unlimited: because, within: 1h }", "verdict: hold"), 7, 32, "not both");
    refused(&rule("{ accounts: 9, within: 1h }", "points: -5"), 7, 19, "speaks for the actor");
    refused("version: 1\nguards: { blast_radius: { accounts: 9 } }\n", 2, 25, "state both");
    // What a rule leaves out is as in the guards.
    let text =
        rule("{ accounts: 9 }", "verdict: hold") + "guards: { blast_radius: { accounts: 7, within: 2h } }\n";
    let budgets = load(&[("p.yaml".to_owned(), text)]).expect("valid").policy.blast.budgets.clone();
    let [budget] = budgets.as_slice() else { panic!("{budgets:?}") };
    assert_eq!((budget.accounts, budget.within, budget.then), (9, Span::from_secs(7_200), FallBack::Shadow));
}

/// What `weir check` says of a budget that stops nothing.
#[test]
fn budgets_that_will_hardly_ever_stop_anything_are_warned_about_with_their_place() {
    let warned = |guards: &str, own: &str| {
        let text = format!(
            "version: 1\nguards: {{ blast_radius: {guards} }}\nrules:\n  - {{ id: r, family: content, when: account.new, \
             verdict: hold, {own}{ABOUT} }}\n"
        );
        let warnings = load(&[("p.yaml".to_owned(), text)]).expect("valid").warnings;
        let about = |problem: &weir::engine::policy::problem::Problem| {
            problem
                .message
                .contains("will hardly ever stop anything")
                .then_some((problem.line, problem.column))
        };
        warnings.iter().filter_map(about).collect::<Vec<_>>()
    };
    let sound = "{ accounts: 5000, share: 5, within: 1h }";
    assert_eq!(warned(sound, ""), []);
    for idle in [
        "{ accounts: 9, share: 100, within: 1h }",
        "{ accounts: 9, share: 50, within: 24h }",
        "{ accounts: 9, within: 1s }",
        // 4,000 a minute are 240,000 an hour, and a budget is 100,000 at the most.
        "{ accounts: 4000, within: 1m }",
    ] {
        assert_eq!(warned(idle, ""), [(2, 25)], "{idle}");
        assert_eq!(warned(sound, &format!("blast_radius: {idle}, ")), [(4, 79)], "{idle}");
    }
    assert_eq!(warned(sound, "blast_radius: { accounts: 1000, within: 1m }, "), [], "60,000 an hour");
}
