//! What people and services do to the engine: commands, feedback, and the bans topic that anyone can rebuild.
//!
//! Each test states a policy of a few lines and works the expected outcome out by hand.

use std::collections::BTreeMap;

use proptest::prelude::*;
use weir::engine::ban::{Ban, BanChange, Origin};
use weir::engine::case::{Case, CaseOutcome, CaseStatus};
use weir::engine::command::{Command, CommandAction};
use weir::engine::decision::{DecisionId, Hold as Waiting, Judgement};
use weir::engine::entity::{Entity, EntityKind};
use weir::engine::event::{Arrival, Device, Event};
use weir::engine::feedback::{Feedback, FeedbackResult};
use weir::engine::key::HashSeed;
use weir::engine::policy::load::load;
use weir::engine::time::{Span, Timestamp};
use weir::engine::verdict::Verdict::{self, Allow, Block, Challenge, Demote, Hold, Reject};
use weir::engine::{Engine, Input, Outcome, Outputs};
use weir::wire::{ban, decision};

/// 2025-06-15T15:06:40Z.
const T: i64 = 1_750_000_000_000;

/// One like a minute is allowed to a user; each further one within it is challenged. Eight such refusals ban for a day.
const POLICY: &str = "
version: 1
penalties:
  half_life: 1h
  steps:
    - { points: 8, verdict: block, for: 24h, case: true, code: DAY, text: d }
hold: { timeout: 2h, default: demote }
retroactive: { window: 24h }
limits:
  - { id: one, code: ONE, text: t, source: s, owner: o, key: [user, action], window: 1m, max: 1, verdict: challenge }
";

fn at(secs: i64) -> Timestamp {
    Timestamp::from_millis(T + secs * 1000)
}

fn user(value: &str) -> Entity {
    Entity::new(EntityKind::User, value)
}

struct Bench {
    engine: Engine,
    out: Outputs,
    next: i64,
}

impl Bench {
    fn new() -> Self {
        let loaded = load(&[("p.yaml".to_owned(), POLICY.to_owned())]);
        let loaded = loaded.unwrap_or_else(|problems| panic!("{}", problems[0]));
        let engine = Engine::new(loaded.policy, HashSeed(1, 2));
        Self { engine, out: Outputs::default(), next: 0 }
    }

    fn apply(&mut self, input: Input<'_>) -> Outcome {
        self.out.clear();
        self.engine.apply(input, &mut self.out)
    }

    /// A like by `u` of `t`.
    fn like(&mut self, secs: i64) -> Judgement {
        let event = Event {
            id: format!("e{}", self.next).into(),
            occurred_at: at(secs),
            action: "like".into(),
            user: Some("u".into()),
            target: Some("t".into()),
            ip: Some("198.51.100.7".into()),
            device: Device { id: Some("d".into()), ..Device::default() },
            ..Event::default()
        };
        let arrival = Arrival { topic: "in", partition: 3, offset: self.next, append_time: at(secs) };
        self.next += 1;
        assert_eq!(self.apply(Input::Event(&event, arrival)), Outcome::Decided);
        self.out.judgement.clone().expect("decided")
    }

    fn likes(&mut self, secs: impl IntoIterator<Item = i64>) -> Vec<Verdict> {
        secs.into_iter().map(|secs| self.like(secs).verdict).collect()
    }

    fn command(&mut self, id: &str, secs: i64, action: CommandAction) -> Outcome {
        let command =
            Command { id: id.into(), actor: "ann".into(), at: at(secs), reason: "r".into(), action };
        let arrival = Arrival { topic: "c", partition: 0, offset: 0, append_time: at(secs) };
        self.apply(Input::Command(&command, arrival))
    }

    fn feedback(&mut self, id: &str, secs: i64, decision: DecisionId, result: FeedbackResult) -> Outcome {
        let actor = "gateway".into();
        let feedback = Feedback { id: id.into(), decision, result, actor, at: at(secs), reason: None };
        let arrival = Arrival { topic: "f", partition: 0, offset: 0, append_time: at(secs) };
        self.apply(Input::Feedback(&feedback, arrival))
    }

    fn tick(&mut self, millis: i64) {
        assert_eq!(self.apply(Input::Tick(Timestamp::from_millis(T + millis))), Outcome::Ticked);
    }

    /// Nine likes within nine seconds: one allowed, seven challenged, and the eighth refusal bans. Returns the case.
    fn ban_for_a_day(&mut self) -> Case {
        let verdicts = self.likes(0..9);
        assert_eq!(verdicts, [vec![Allow], vec![Challenge; 8]].concat());
        assert!(matches!(self.out.bans.as_slice(), [BanChange::InForce(_)]));
        self.out.cases[0].clone()
    }
}

fn exempt(rules: &[&str], secs: i64) -> CommandAction {
    let rules = rules.iter().map(|&rule| rule.to_owned()).collect();
    CommandAction::Exempt { entity: user("u"), rules, length: Span::from_secs(secs) }
}

fn snooze(rule: &str, secs: i64) -> CommandAction {
    CommandAction::Snooze { entity: user("u"), rule: rule.into(), length: Span::from_secs(secs) }
}

#[test]
fn an_exemption_holds_until_its_end_and_no_longer() {
    let mut bench = Bench::new();
    assert_eq!(bench.likes([0, 1]), [Allow, Challenge]);
    assert_eq!(bench.command("c1", 2, exempt(&["one"], 10)), Outcome::CommandApplied);
    assert_eq!(bench.command("c1", 2, exempt(&["one"], 10)), Outcome::CommandRepeated);
    // What was exempt counts like any event that happened: at 12 s the likes of 3 s and 11 s are in the minute.
    assert_eq!(bench.likes([3, 11, 12]), [Allow, Allow, Challenge]);
    assert!(bench.out.shadow.is_empty());
}

#[test]
fn an_exemption_of_all_can_be_taken_back_once() {
    let mut bench = Bench::new();
    assert_eq!(bench.command("c1", 0, exempt(&[], 3600)), Outcome::CommandApplied);
    assert_eq!(bench.likes([1, 2, 3]), [Allow; 3]);
    assert_eq!(bench.command("c2", 4, exempt(&[], 0)), Outcome::CommandApplied);
    assert_eq!(bench.command("c3", 4, exempt(&[], 0)), Outcome::CommandRefused);
    assert_eq!(bench.likes([5]), [Challenge]);
    assert_eq!(bench.command("c4", 6, exempt(&["no-such-rule"], 9)), Outcome::CommandRefused);
    assert_eq!(bench.command("c5", 6, snooze("no-such-rule", 9)), Outcome::CommandRefused);
}

#[test]
fn a_snoozed_limit_counts_but_does_not_act_and_is_told_as_shadow() {
    let mut bench = Bench::new();
    assert_eq!(bench.command("c1", 0, snooze("one", 30)), Outcome::CommandApplied);
    assert_eq!(bench.likes([1]), [Allow]);
    assert!(bench.out.shadow.is_empty());
    for secs in 2..30 {
        assert_eq!(bench.likes([secs]), [Allow]);
        assert_eq!(bench.out.shadow.iter().map(|r| r.source.id.as_str()).collect::<Vec<_>>(), ["one"]);
    }
    // 28 refusals that did not act cost nothing: the next one is the first point of eight.
    assert_eq!(bench.likes([30]), [Challenge]);
    assert!(bench.out.bans.is_empty() && bench.out.shadow.is_empty());
}

#[test]
fn who_is_exempt_from_a_penalty_step_is_not_banned_by_it() {
    let mut bench = Bench::new();
    bench.command("c1", 0, exempt(&["penalty-8"], 3600));
    assert_eq!(bench.likes(0..20), [vec![Allow], vec![Challenge; 19]].concat());
    assert_eq!(bench.engine.bans_in_force(), 0);
    assert!(bench.out.cases.is_empty());
}

#[test]
fn clearing_a_case_lifts_what_its_rule_did() {
    let mut bench = Bench::new();
    let case = bench.ban_for_a_day();
    assert_eq!((case.rule.as_str(), case.status), ("penalty-8", CaseStatus::Opened));
    assert_eq!(bench.likes([10]), [Block]);
    let resolve = |case: &str, outcome| CommandAction::Resolve { case: case.into(), outcome };
    let cleared = |case: &str| resolve(case, CaseOutcome::Cleared);
    assert_eq!(bench.command("c1", 11, cleared("penalty-8/user:u/0")), Outcome::CommandRefused);
    assert_eq!(bench.command("c2", 11, cleared(&case.id)), Outcome::CommandApplied);
    assert!(matches!(bench.out.bans.as_slice(), [BanChange::Lifted { .. }, BanChange::Gone(_)]));
    let told = &bench.out.cases[0];
    let resolution = told.resolution.as_ref().expect("resolved");
    assert_eq!((told.status, resolution.outcome), (CaseStatus::Resolved, CaseOutcome::Cleared));
    assert_eq!((resolution.actor.as_str(), resolution.at), ("ann", at(11)));
    assert_eq!(bench.command("c3", 12, cleared(&case.id)), Outcome::CommandRefused);
    // The penalty is forgotten: it takes eight new refusals to ban again. The case had one event, so the same matter
    // again has doubled it.
    assert_eq!(bench.likes(12..20), [Challenge; 8]);
    assert!(matches!(bench.out.bans.as_slice(), [BanChange::InForce(_)]));
    assert_eq!(bench.out.cases.len(), 1);
}

#[test]
fn confirming_a_case_leaves_its_ban() {
    let mut bench = Bench::new();
    let case = bench.ban_for_a_day();
    let resolve = CommandAction::Resolve { case: case.id, outcome: CaseOutcome::Confirmed };
    assert_eq!(bench.command("c1", 11, resolve), Outcome::CommandApplied);
    assert!(bench.out.bans.is_empty());
    assert_eq!(bench.likes([12]), [Block]);
}

#[test]
fn clearing_a_case_leaves_what_a_person_banned() {
    let mut bench = Bench::new();
    let case = bench.ban_for_a_day();
    let by_hand = CommandAction::Ban { entity: user("u"), verdict: Block, length: None };
    bench.command("hand", 10, by_hand);
    let resolve = CommandAction::Resolve { case: case.id, outcome: CaseOutcome::Cleared };
    bench.command("c1", 11, resolve);
    let [BanChange::InForce(left)] = bench.out.bans.as_slice() else { panic!("{:?}", bench.out.bans) };
    assert_eq!(left.iter().map(|ban| ban.id.as_str()).collect::<Vec<_>>(), ["hand"]);
    assert_eq!(bench.likes([12]), [Block]);
}

#[test]
fn an_appeal_is_granted_or_denied() {
    let mut bench = Bench::new();
    let appeal = |granted| CommandAction::Appeal { entity: user("u"), ban: None, granted };
    assert_eq!(bench.command("c0", 0, appeal(false)), Outcome::CommandRefused);
    bench.ban_for_a_day();
    assert_eq!(bench.command("c1", 10, appeal(false)), Outcome::CommandApplied);
    assert!(bench.out.bans.is_empty());
    assert_eq!(bench.likes([11]), [Block]);
    assert_eq!(bench.command("c2", 12, appeal(true)), Outcome::CommandApplied);
    assert_eq!(bench.likes([13]), [Challenge]);
    assert_eq!(bench.command("c3", 14, appeal(true)), Outcome::CommandRefused);
}

#[test]
fn events_before_an_unban_ban_nobody_when_they_come_again() {
    let mut bench = Bench::new();
    bench.ban_for_a_day();
    let unban = CommandAction::Unban { entity: user("u"), ban: None };
    assert_eq!(bench.command("c1", 10, unban), Outcome::CommandApplied);
    // The same seconds again, under new ids: 24 refusals, none of which costs anything.
    for _ in 0..3 {
        bench.likes(1..9);
    }
    assert_eq!(bench.engine.bans_in_force(), 0);
    // From 11 s on they cost again: the eighth bans.
    assert_eq!(bench.likes(11..18), [Challenge; 7]);
    assert_eq!(bench.engine.bans_in_force(), 0);
    bench.likes([18]);
    assert_eq!(bench.engine.bans_in_force(), 1);
}

fn revision(bench: &Bench) -> &Judgement {
    let [revision] = bench.out.revisions.as_slice() else { panic!("{:?}", bench.out.revisions) };
    &revision.judgement
}

#[test]
fn a_passed_challenge_is_allowed_in_a_revision_that_tells_all() {
    let mut bench = Bench::new();
    bench.like(0);
    let first = bench.like(1);
    assert_eq!(first.verdict, Challenge);
    assert_eq!(bench.feedback("f1", 20, first.id, FeedbackResult::ChallengePassed), Outcome::FeedbackApplied);
    let told = bench.out.revisions[0].clone();
    let revised = &told.judgement;
    assert_eq!((revised.verdict, revised.id.revision, revised.supersedes), (Allow, 1, Some(first.id)));
    assert_eq!(DecisionId { revision: 0, ..revised.id }, first.id);
    assert_eq!((revised.score, revised.effective_at), (first.score, first.effective_at));
    assert_eq!((revised.revisable_until, &revised.policy), (first.revisable_until, &first.policy));
    assert_eq!((revised.retry_after, revised.hold), (None, None));
    let codes: Vec<_> = revised.reasons.iter().map(|reason| reason.source.code.as_str()).collect();
    assert_eq!(codes, ["CHALLENGE_PASSED", "ONE", "PRIOR"]);
    assert_eq!(revised.reasons.iter().map(|reason| reason.points).sum::<i32>(), revised.score);
    // What a subscriber reads.
    let mut bytes = Vec::new();
    decision::encode(&told.decision(), at(21), "2", &mut bytes);
    let read = decision::decode(Some(&bytes)).expect("a decision");
    assert_eq!((read.event_id.as_str(), read.action.as_str(), read.revision), ("e1", "like", 1));
    assert_eq!((read.user_id.as_deref(), read.target_id.as_deref()), (Some("u"), Some("t")));
    assert_eq!((read.ip.as_deref(), read.device_id.as_deref()), (Some("198.51.100.7"), Some("d")));
    assert_eq!((read.source.topic.as_str(), read.source.partition, read.source.offset), ("in", 3, 1));
    assert_eq!((read.append_time.0, read.occurred_at.0), (T + 1000, T + 1000));
    assert_eq!(decision::key(&told.decision()), "t");
    // A pass answers for one event; the next one is over the limit all the same.
    assert_eq!(bench.like(30).verdict, Challenge);
    assert!(bench.out.revisions.is_empty());
}

#[test]
fn a_failed_challenge_waits_for_a_person_and_a_label_settles_it() {
    use FeedbackResult::{ChallengeFailed, ChallengePassed, ConfirmedAbuse, ConfirmedHonest};
    let mut bench = Bench::new();
    bench.like(0);
    let first = bench.like(1).id;
    assert_eq!(bench.feedback("f1", 20, first, ChallengeFailed), Outcome::FeedbackApplied);
    let held = revision(&bench).clone();
    let waiting = Waiting { until: at(20 + 7200), default: Demote };
    assert_eq!((held.verdict, held.hold), (Hold, Some(waiting)));
    // It is answered: the challenge is no more, whichever revision is named.
    assert_eq!(bench.feedback("f2", 21, first, ChallengePassed), Outcome::FeedbackRefused);
    assert_eq!(bench.feedback("f3", 21, held.id, ChallengePassed), Outcome::FeedbackRefused);
    assert_eq!(bench.feedback("f4", 21, first, ChallengeFailed), Outcome::FeedbackRepeated);
    assert!(bench.out.revisions.is_empty());
    assert_eq!(bench.feedback("f5", 30, first, ConfirmedAbuse), Outcome::FeedbackApplied);
    let abuse = revision(&bench).clone();
    assert_eq!((abuse.verdict, abuse.id.revision, abuse.supersedes), (Reject, 2, Some(held.id)));
    assert_eq!(abuse.hold, None);
    assert_eq!(bench.feedback("f6", 31, abuse.id, ConfirmedAbuse), Outcome::FeedbackRepeated);
    assert_eq!(bench.feedback("f7", 32, abuse.id, ConfirmedHonest), Outcome::FeedbackApplied);
    let honest = revision(&bench);
    assert_eq!((honest.verdict, honest.id.revision), (Allow, 3));
    assert_eq!(honest.reasons.len(), 3, "the newest answer stands for those before it");
}

#[test]
fn an_expired_challenge_stays_until_an_answer_comes_after_all() {
    use FeedbackResult::{ChallengeExpired, ChallengePassed};
    let mut bench = Bench::new();
    bench.like(0);
    let id = bench.like(1).id;
    assert_eq!(bench.feedback("f1", 20, id, ChallengeExpired), Outcome::FeedbackApplied);
    assert!(bench.out.revisions.is_empty());
    assert_eq!(bench.feedback("f1", 20, id, ChallengeExpired), Outcome::FeedbackRepeated);
    assert_eq!(bench.feedback("f2", 21, id, ChallengeExpired), Outcome::FeedbackRepeated);
    assert_eq!(bench.feedback("f3", 22, id, ChallengePassed), Outcome::FeedbackApplied);
    assert_eq!((revision(&bench).verdict, revision(&bench).id.revision), (Allow, 1));
}

#[test]
fn feedback_on_what_is_not_remembered_is_refused() {
    use FeedbackResult::{ChallengePassed, ConfirmedAbuse};
    let mut bench = Bench::new();
    let allowed = bench.like(0).id;
    let challenged = bench.like(1).id;
    let unknown = DecisionId { offset: 99, digest: 7, ..challenged };
    let not_made = DecisionId { revision: 1, ..challenged };
    for (n, id) in [allowed, unknown, not_made].into_iter().enumerate() {
        let n = n as i64;
        assert_eq!(bench.feedback(&format!("a{n}"), 2, id, ChallengePassed), Outcome::FeedbackRefused);
        assert_eq!(bench.feedback(&format!("b{n}"), 2, id, ConfirmedAbuse), Outcome::FeedbackRefused);
    }
    // The decision is final a day after its event.
    assert_eq!(bench.feedback("c", 86_401, challenged, ChallengePassed), Outcome::FeedbackRefused);
}

#[test]
fn a_ban_ends_at_its_instant_on_an_idle_stream() {
    let mut bench = Bench::new();
    let ban = |length| CommandAction::Ban { entity: user("u"), verdict: Block, length };
    bench.command("short", 0, ban(Some(Span::from_millis(10_001))));
    bench.command("long", 1, ban(Some(Span::from_secs(60))));
    bench.tick(10_000);
    assert!(bench.out.bans.is_empty());
    bench.tick(10_001);
    let [BanChange::InForce(left)] = bench.out.bans.as_slice() else { panic!("{:?}", bench.out.bans) };
    assert_eq!(left.iter().map(|ban| ban.id.as_str()).collect::<Vec<_>>(), ["long"]);
    bench.tick(60_999);
    assert!(bench.out.bans.is_empty());
    bench.tick(61_000);
    assert_eq!(bench.out.bans, [BanChange::Gone(user("u"))]);
    bench.tick(61_001);
    assert!(bench.out.bans.is_empty());
    assert_eq!(bench.likes([62]), [Allow]);
}

/// A step of the property below.
#[derive(Clone, Debug)]
enum Step {
    Ban { who: u8, verdict: Verdict, secs: Option<i64> },
    Unban { who: u8, which: Option<usize> },
    Tick,
}

fn step() -> impl Strategy<Value = Step> {
    let verdict = prop::sample::select(vec![Demote, Challenge, Hold, Reject, Block]);
    let length = prop::option::of(1i64..120);
    prop_oneof![
        4 => (0u8..4, verdict, length).prop_map(|(who, verdict, secs)| Step::Ban { who, verdict, secs }),
        2 => (0u8..4, prop::option::of(0usize..12)).prop_map(|(who, which)| Step::Unban { who, which }),
        2 => Just(Step::Tick),
    ]
}

fn entity(who: u8) -> Entity {
    match who {
        0 => user("a"),
        1 => Entity::new(EntityKind::Device, "a"),
        2 => Entity::new(EntityKind::Ip, "2001:db8::/64"),
        _ => user("b:c"),
    }
}

/// What a reader of the topic holds after reading it to the end at `now`: the newest record of each key, less lifted
/// ones and those whose time has passed.
fn rebuild(topic: &BTreeMap<String, Option<Vec<u8>>>, now: Timestamp) -> Vec<Ban> {
    let mut bans = Vec::new();
    for (key, value) in topic {
        if let BanChange::InForce(set) =
            ban::decode(Some(key.as_bytes()), value.as_deref()).expect("written here")
        {
            bans.extend(set.into_iter().filter(|ban| ban.expires_at.is_none_or(|end| now < end)));
        }
    }
    bans.sort_by(|a, b| a.id.cmp(&b.id));
    bans
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The topic, compacted at any moment and read to its end, gives exactly the bans in force.
    #[test]
    fn the_bans_topic_rebuilds_the_bans_in_force(
        steps in prop::collection::vec((step(), 0i64..40), 1..60),
    ) {
        let mut bench = Bench::new();
        let mut model: Vec<Ban> = Vec::new();
        let mut topic = BTreeMap::new();
        let mut now = 0;
        for (number, (step, more)) in steps.into_iter().enumerate() {
            now += more;
            let id = format!("c{number:03}");
            model.retain(|ban| ban.expires_at.is_none_or(|end| at(now) < end));
            match step {
                Step::Ban { who, verdict, secs } => {
                    let length = secs.map(Span::from_secs);
                    let action = CommandAction::Ban { entity: entity(who), verdict, length };
                    prop_assert_eq!(bench.command(&id, now, action), Outcome::CommandApplied);
                    model.push(Ban {
                        id,
                        entity: entity(who),
                        verdict,
                        origin: Origin::Actor("ann".into()),
                        code: "OPERATOR".into(),
                        reason: "r".into(),
                        issued_at: at(now),
                        expires_at: length.map(|length| at(now).after(length)),
                    });
                }
                Step::Unban { who, which } => {
                    let ban = which.map(|which| format!("c{which:03}"));
                    let action = CommandAction::Unban { entity: entity(who), ban: ban.clone() };
                    let before = model.len();
                    model.retain(|known| {
                        known.entity != entity(who) || ban.as_ref().is_some_and(|id| *id != known.id)
                    });
                    let done = if model.len() < before { Outcome::CommandApplied } else { Outcome::CommandRefused };
                    prop_assert_eq!(bench.command(&id, now, action), done);
                }
                Step::Tick => bench.tick(now * 1000),
            }
            for change in bench.out.bans.drain(..) {
                topic.insert(ban::key(&change), ban::encode(&change));
            }
            model.sort_by(|a, b| a.id.cmp(&b.id));
            prop_assert_eq!(&rebuild(&topic, at(now)), &model);
            prop_assert_eq!(bench.engine.bans_in_force(), model.len());
        }
    }
}

/// Without an event in between, all that came of an exception, a decided case or an answer ends by itself.
#[test]
fn what_has_ended_leaves_nothing_behind() {
    let mut bench = Bench::new();
    let case = bench.ban_for_a_day();
    bench.command("c1", 10, CommandAction::Resolve { case: case.id, outcome: CaseOutcome::Confirmed });
    bench.command("c2", 10, exempt(&["one"], 60));
    bench.command("c3", 10, snooze("one", 60));
    bench.tick(8 * 86_400_000);
    assert_eq!(bench.command("c4", 8 * 86_400, exempt(&["one"], 0)), Outcome::CommandRefused);
    assert_eq!(bench.command("c5", 8 * 86_400, snooze("one", 0)), Outcome::CommandRefused);
    assert_eq!(bench.engine.bans_in_force(), 0);
}

/// Two engines that are given the same hold the same.
#[test]
fn the_same_inputs_give_the_same_revisions() {
    let run = || {
        let mut bench = Bench::new();
        let ids: Vec<_> = (0..8).map(|secs| bench.like(secs).id).collect();
        let mut told = Vec::new();
        for (n, id) in ids.iter().enumerate() {
            let result = FeedbackResult::ALL[n % FeedbackResult::ALL.len()];
            bench.feedback(&format!("f{n}"), 20 + n as i64, *id, result);
            told.append(&mut bench.out.revisions);
        }
        told
    };
    let (first, again) = (run(), run());
    assert!(first.len() >= 4, "{}", first.len());
    assert_eq!(first, again);
}
