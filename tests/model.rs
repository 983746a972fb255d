//! The engine against the reference model: every decision, ban and case, input by input.
//!
//! The model keeps plain lists and runs conditions in CEL's own interpreter. What it knows only between bounds (counts
//! by sub-windows, sketches) it takes over from the engine, and the tests bound how often.
#![allow(clippy::print_stdout, reason = "measured figures")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use weir::config::standard;
use weir::engine::ban::{Ban, BanChange};
use weir::engine::case::{Case, CaseOutcome};
use weir::engine::command::{Command, CommandAction};
use weir::engine::decision::DecisionId;
use weir::engine::entity::{Entity, EntityKind};
use weir::engine::event::{Account, Arrival, Device, Event, Value};
use weir::engine::feedback::{Feedback, FeedbackResult};
use weir::engine::key::HashSeed;
use weir::engine::policy::Policy;
use weir::engine::policy::load::load;
use weir::engine::time::{Span, Timestamp};
use weir::engine::verdict::Verdict;
use weir::engine::{Engine, Input, Outcome, Outputs};
use weir::sim::{Incident, Scenario, Simulation};
use weir::verify::model::{Answer, Hint, Model, Told};
use weir::wire::interaction::{DecodeLimits, decode};

/// 2025-06-15T15:06:40Z.
const T: i64 = 1_750_000_000_000;

/// Both, side by side.
struct Pair {
    engine: Engine,
    model: Model,
    out: Outputs,
    decided: usize,
    followed: usize,
    verdicts: BTreeMap<Verdict, usize>,
    /// Cases that were told, and decisions that can be answered.
    cases: Vec<String>,
    asked: Vec<DecisionId>,
    revised: usize,
    /// Differences of the policy's hash are no fault.
    same_policy: bool,
    /// Bans in force, by what was told.
    in_force: BTreeMap<Entity, Vec<Ban>>,
}

impl Pair {
    fn new(policy: &Arc<Policy>) -> Self {
        Self {
            engine: Engine::new(Arc::clone(policy), HashSeed(7, 11)),
            model: Model::new(Arc::clone(policy)),
            out: Outputs::default(),
            decided: 0,
            followed: 0,
            verdicts: BTreeMap::new(),
            cases: Vec::new(),
            asked: Vec::new(),
            revised: 0,
            same_policy: true,
            in_force: BTreeMap::new(),
        }
    }

    fn event(&mut self, event: &Event<'_>, arrival: Arrival<'_>) -> Result<Outcome, String> {
        self.out.clear();
        let outcome = self.engine.apply(Input::Event(event, arrival), &mut self.out);
        let told = self.out.judgement.as_ref().map(|judgement| Told::by_engine(judgement, &self.out.shadow));
        let bans = ban_ids(&self.out.bans);
        let answer = self.model.event(event, arrival, Hint { told: told.as_ref(), bans: Some(&bans) });
        let mut faults = Vec::new();
        match (&answer.expected, &told) {
            (Some(expected), Some(told)) => {
                faults = expected.faults(told);
                self.decided += 1;
                self.followed += usize::from(expected.followed > 0);
                *self.verdicts.entry(told.verdict).or_default() += 1;
            }
            (None, None) => {}
            _ => faults.push("one of both made no decision".to_owned()),
        }
        self.compare(outcome, &answer, faults).map_err(|faults| {
            format!("{faults}\nevent {event:?}\n{arrival:?}\ntold {told:#?}\nexpected {:#?}", answer.expected)
        })
    }

    fn command(&mut self, command: &Command, append: Timestamp) -> Result<Outcome, String> {
        let arrival = Arrival { topic: "c", partition: 0, offset: 0, append_time: append };
        self.out.clear();
        let outcome = self.engine.apply(Input::Command(command, arrival), &mut self.out);
        let answer = self.model.command(command, arrival);
        self.compare(outcome, &answer, Vec::new()).map_err(|faults| format!("{faults}\n{command:?}"))
    }

    fn feedback(&mut self, feedback: &Feedback, append: Timestamp) -> Result<Outcome, String> {
        let arrival = Arrival { topic: "f", partition: 0, offset: 0, append_time: append };
        self.out.clear();
        let outcome = self.engine.apply(Input::Feedback(feedback, arrival), &mut self.out);
        let answer = self.model.feedback(feedback, arrival);
        let mut faults = Vec::new();
        match (&answer.expected, self.out.revisions.as_slice()) {
            (Some(expected), [told]) => {
                faults = expected.faults(&Told::by_engine(&told.judgement, &[]));
                self.revised += 1;
                self.asked.push(told.judgement.id);
            }
            (None, []) => {}
            (expected, told) => faults.push(format!("revisions are {told:#?}, not {expected:#?}")),
        }
        self.compare(outcome, &answer, faults).map_err(|faults| format!("{faults}\n{feedback:?}"))
    }

    fn tick(&mut self, now: Timestamp) -> Result<Outcome, String> {
        self.out.clear();
        let outcome = self.engine.apply(Input::Tick(now), &mut self.out);
        let answer = self.model.tick(now);
        self.compare(outcome, &answer, Vec::new()).map_err(|faults| format!("{faults}\ntick {now}"))
    }

    fn policy(&mut self, policy: &Arc<Policy>) {
        self.out.clear();
        self.engine.apply(Input::Policy(Arc::clone(policy)), &mut self.out);
        self.model.activate(policy);
    }

    fn note_bans(&mut self) {
        for change in &self.out.bans {
            match change {
                BanChange::InForce(bans) => self.in_force.insert(bans[0].entity.clone(), bans.clone()),
                BanChange::Lifted { entity, .. } | BanChange::Gone(entity) => self.in_force.remove(entity),
            };
        }
    }

    fn compare(
        &mut self,
        outcome: Outcome,
        answer: &Answer,
        mut faults: Vec<String>,
    ) -> Result<Outcome, String> {
        self.note_bans();
        self.cases.extend(self.out.cases.iter().map(|case| case.id.clone()));
        let asked = self
            .out
            .judgement
            .as_ref()
            .filter(|told| matches!(told.verdict, Verdict::Challenge | Verdict::Hold | Verdict::Demote));
        self.asked.extend(asked.map(|told| told.id));
        faults.retain(|fault| self.same_policy || !fault.starts_with("policy is"));
        if outcome != answer.outcome {
            faults.push(format!("outcome is {outcome:?}, not {:?}", answer.outcome));
        }
        if by_entity(&self.out.bans) != by_entity(&answer.bans) {
            faults.push(format!("bans are {:#?}, not {:#?}", self.out.bans, answer.bans));
        }
        // What a crowd is made of only the engine knows, so the model opens no case of a campaign.
        let cases: Vec<Case> =
            self.out.cases.iter().filter(|case| case.campaign.is_none()).cloned().collect();
        if by_id(&cases) != by_id(&answer.cases) {
            faults.push(format!("cases are {cases:#?}, not {:#?}", answer.cases));
        }
        if faults.is_empty() { Ok(outcome) } else { Err(faults.join("\n")) }
    }

    fn bans_agree(&self) -> Result<(), String> {
        let told: Vec<Ban> = self.in_force.values().flatten().cloned().collect();
        let model = self.model.bans();
        if told == model { Ok(()) } else { Err(format!("in force are {told:#?}, not {model:#?}")) }
    }
}

fn ban_ids(changes: &[BanChange]) -> BTreeSet<String> {
    let bans = changes.iter().filter_map(|change| match change {
        BanChange::InForce(bans) => Some(bans),
        _ => None,
    });
    bans.flatten().map(|ban| ban.id.clone()).collect()
}

/// Changes of each entity in their order; the order between entities that end together is the engine's own.
fn by_entity(changes: &[BanChange]) -> BTreeMap<Entity, Vec<BanChange>> {
    let mut by_entity = BTreeMap::<Entity, Vec<BanChange>>::new();
    for change in changes {
        let entity = match change {
            BanChange::InForce(bans) => bans[0].entity.clone(),
            BanChange::Lifted { entity, .. } | BanChange::Gone(entity) => entity.clone(),
        };
        by_entity.entry(entity).or_default().push(change.clone());
    }
    by_entity
}

fn by_id(cases: &[Case]) -> BTreeMap<String, Vec<Case>> {
    let mut by_id = BTreeMap::<String, Vec<Case>>::new();
    for case in cases {
        by_id.entry(case.id.clone()).or_default().push(case.clone());
    }
    by_id
}

fn standard_policy() -> Arc<Policy> {
    load(&standard::files()).expect("the standard policy is valid").policy
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(T + millis)
}

/// Honest traffic and a smaller incident among it, with bans by hand and a reload on the way.
#[test]
fn the_standard_policy_over_simulated_traffic() {
    let incident = Incident { accounts: 200, likes: 2_600, camouflage: 1_300, ..Incident::FULL };
    let scenario = Scenario { honest_accounts: 3_600, incidents: vec![incident], ..Scenario::demo() };
    let simulation = Simulation::new(&scenario, 5);
    let mut pair = Pair::new(&standard_policy());
    let mut json = Vec::new();
    for (offset, told) in simulation.events().enumerate() {
        json.clear();
        told.write_json(&mut json);
        let decoded = decode(Some(&json), &[], &DecodeLimits::default()).expect("valid");
        let append_time = Timestamp::from_millis(told.at_ms);
        let arrival = Arrival { topic: "t", partition: 0, offset: offset as i64, append_time };
        pair.event(&decoded.event, arrival).unwrap_or_else(|faults| panic!("event {offset}: {faults}"));
        if offset % 1_000 == 0 {
            let user = decoded.event.user.as_deref().unwrap_or("u");
            let entity = Entity::new(EntityKind::User, user);
            let action =
                CommandAction::Ban { entity, verdict: Verdict::Block, length: Some(Span::from_secs(60)) };
            let command = Command {
                id: format!("c{offset}"),
                actor: "ann".into(),
                at: append_time,
                reason: "r".into(),
                action,
            };
            pair.command(&command, append_time)
                .unwrap_or_else(|faults| panic!("command at {offset}: {faults}"));
        }
    }
    pair.bans_agree().unwrap_or_else(|faults| panic!("{faults}"));
    println!("{} decided, {} followed, {:?}", pair.decided, pair.followed, pair.verdicts);
    assert!(pair.decided > 10_000, "{}", pair.decided);
    assert!(pair.followed * 3 < pair.decided, "{} of {} were taken over", pair.followed, pair.decided);
    assert!(pair.verdicts.keys().len() >= 4, "{:?}", pair.verdicts);
    assert!(!pair.model.is_blind());
}

/// A small policy with every algorithm and every feature.
const SMALL: &str = r#"
version: 1
time: { grace: 10s, skew: 2s, max_skew: 1m }
addresses: { trusted: [10.0.0.0/8] }
score:
  prior: -30
  ladder: { demote: -6, challenge: 9, hold: 17, reject: 25 }
  independence: { reject_families: 2, strong: 14 }
  families: { volume: 40, network: 22, account: 30 }
accounts: { new_for: 7d, settled: { age: 30d, active_days: 1 }, paying_plans: [pro] }
duplicates: { horizon: 2m, budget: 8MB }
hold: { timeout: 1h, default: demote }
retroactive: { window: 1h }
penalties:
  half_life: 2m
  steps:
    - { points: 3, verdict: reject, for: 5s, code: PAUSE, text: p }
    - { points: 6, verdict: hold, for: 10s, code: WAIT, text: w }
    - { points: 9, verdict: block, for: 30s, case: true, code: DAY, text: d }
guards:
  shared_address: { settled_accounts: 2, cap: demote, families: [network], code: EXIT, text: e }
lists: { once: [like, share] }
networks: { partners: [198.51.100.0/30] }
attributes: { amount: double, coupon: text, weight: int }
device_attributes: { canvas: text }
signals:
  - { name: user_likes, key: [user, action], when: event.action in lists.once, window: 20s, count: {} }
  - { name: user_targets, key: [user], window: 40s, distinct: target }
  - { name: target_users, key: [target, action], window: 30s, distinct: user }
  - { name: image_users, key: [device.canvas], when: has(device.canvas), window: 30s, distinct: user }
  - { name: spent, key: [user], window: 24s, slots: 12, sum: event.attributes.amount }
  - { name: address_all, key: [ip], window: 1m, slots: 20, count: {} }
  - { name: failed, key: [ip/48], when: event.outcome == 'failure', window: 30s, count: {} }
limits:
LIMITS
rules:
  - { id: often, family: volume, when: user_likes >= 4, points: 12, blast_radius: { accounts: 1, within: 25s }, value: user_likes, threshold: 4, code: OFTEN, text: t, source: s, owner: o }
  - { id: oftener, family: volume, when: user_likes >= 6 && !account.paying, points: 35, value: user_likes * 2, code: OFTENER, text: t, source: s, owner: o }
  - { id: wide, family: account, when: user_targets >= 4, points: 16, value: user_targets, code: WIDE, text: t, source: s, owner: o }
  - { id: crowd, family: network, when: "target_users >= 3 && account.new", points: 25, case: { entity: target, proposal: look }, code: CROWD, text: t, source: s, owner: o }
  - { id: crowd-exit, family: network, when: address_all >= 9, verdict: challenge, case: { entity: ip, proposal: look }, code: CROWDED, text: t, source: s, owner: o }
  - { id: image, family: account, when: image_users >= 3, verdict: hold, blast_radius: { accounts: 2, within: 20s }, value: image_users, code: IMAGE, text: t, source: s, owner: o }
  - { id: rich, family: volume, when: spent > 20.0, points: 21, value: spent, threshold: 20, blast_radius: { accounts: 1, within: 30s, then: hold }, code: RICH, text: t, source: s, owner: o }
  - { id: settled, family: account, when: account.settled, points: -8, code: SETTLED, text: t, source: s, owner: o }
  - { id: partner, family: network, when: "in_network(event.ip, networks.partners)", points: -5, code: PARTNER, text: t, source: s, owner: o }
  - { id: penalised, family: account, when: user.penalty > 1.2, points: 9, value: user.penalty, code: PEN, text: t, source: s, owner: o }
  - { id: young, family: account, when: "account.age < hours(48) && event.action == 'like'", points: 7, code: YOUNG, text: t, source: s, owner: o, mode: shadow }
  - { id: half, family: account, when: user_likes >= 2, verdict: challenge, rollout: { percent: 60 }, blast_radius: { accounts: 2, within: 15s }, case: { entity: user, proposal: look }, code: HALF, text: t, source: s, owner: o }
  - { id: guess, family: network, when: failed >= 3, verdict: reject, blast_radius: { accounts: 1, within: 40s, then: hold }, code: GUESS, text: t, source: s, owner: o }
observation:
  - { id: watch, entity: user, conditions: [user_likes >= 3, user_targets >= 3, account.new], watch: 30s, times: 2, within: 10s, ban: 20s, blast_radius: { accounts: 1, within: 25s }, code: WATCH, text: t, source: s, owner: o }
  - { id: device-watch, entity: device, conditions: ["event.outcome == 'failure'", address_all >= 5, "event.action == 'login'"], watch: 30s, times: 3, within: 20s, ban: 15s, blast_radius: { accounts: 1, within: 40s, then: hold }, code: DWATCH, text: t, source: s, owner: o }
exemptions:
  - { entity: "user:u1", rules: [wide, log], until: 2025-06-15T15:30:00Z, reason: r }
"#;

const LIMITS: &str = r#"
  - { id: log, key: [user, action], window: 10s, max: 3, verdict: reject, blast_radius: { accounts: 1, within: 35s, then: hold }, code: LOG, text: t, source: s, owner: o }
  - { id: again, key: [device, action], window: 6s, max: 1, verdict: challenge, on_repeat: { within: 40s, verdict: hold }, penalty: none, code: AGAIN, text: t, source: s, owner: o }
  - { id: window, key: [device], window: 15s, max: 6, algorithm: { sliding_window: { slots: 10 } }, verdict: challenge, code: WINDOW, text: t, source: s, owner: o }
  - { id: counts-refused, key: [user], window: 12s, max: 5, verdict: demote, count_refused: true, code: COUNTS, text: t, source: s, owner: o }
  - { id: tokens, key: [ip], window: 8s, max: 4, algorithm: { token_bucket: { refill: 1 per 3s } }, verdict: challenge, blast_radius: { accounts: 2, within: 25s }, code: TOKENS, text: t, source: s, owner: o }
  - { id: leaky, key: [ip, action], window: 9s, max: 3, algorithm: leaky_bucket, cost: event.attributes.weight, verdict: demote, code: LEAKY, text: t, source: s, owner: o }
  - { id: minute, key: [target], window: 1m, max: 8, algorithm: { calendar: { zone: Europe/Berlin } }, verdict: demote, code: MINUTE, text: t, source: s, owner: o }
  - { id: spans, key: [user, target], spans: [{ window: 5s, max: 2 }, { window: 30s, max: 4 }], verdict: reject, penalty: user, code: SPANS, text: t, source: s, owner: o }
  - { id: coupon, key: [attributes.coupon], window: 1m, max: 1, verdict: reject, when: "event.action == 'claim'", on_empty: refuse, code: COUPON, text: t, source: s, owner: o }
  - { id: shadow-log, key: [user], window: 10s, max: 2, mode: shadow, verdict: reject, code: SLOG, text: t, source: s, owner: o }
  - { id: half-log, key: [user], window: 10s, max: 2, verdict: challenge, rollout: { percent: 50, by: device }, code: HLOG, text: t, source: s, owner: o }
  - { id: none, key: [session], window: 10s, max: unlimited, verdict: reject, code: NONE, text: t, source: s, owner: o }
  - { id: heavy, key: [user], window: 20s, max: 6, cost: event.attributes.weight * 2, verdict: challenge, code: HEAVY, text: t, source: s, owner: o }
  - { id: closed, key: [user], when: "event.action == 'closed'", window: 7s, max: 0, verdict: reject, code: CLOSED, text: t, source: s, owner: o }
"#;

fn small(limits: &str) -> Arc<Policy> {
    let text = SMALL.replace("LIMITS", limits);
    match load(&[("p.yaml".to_owned(), text)]) {
        Ok(loaded) => loaded.policy,
        Err(problems) => panic!("{}", problems.iter().map(|p| format!("{p}\n")).collect::<String>()),
    }
}

/// One step of a random stream.
#[derive(Clone, Debug)]
enum Step {
    /// So long after the last one something is done.
    Act {
        pause: i64,
        late: i64,
        choice: u64,
        retry: bool,
    },
    Ban {
        user: u64,
        verdict: u64,
        secs: i64,
    },
    BanDevice {
        device: u64,
        secs: Option<i64>,
    },
    BanAddress {
        address: u64,
    },
    Unban {
        user: u64,
        one: bool,
    },
    Tick {
        pause: i64,
    },
    Except {
        user: u64,
        rule: u64,
        secs: i64,
        snooze: bool,
    },
    Resolve {
        case: u64,
        outcome: u64,
    },
    Appeal {
        user: u64,
        granted: bool,
    },
    Learn {
        decision: u64,
        result: u64,
        again: bool,
    },
    /// The policy is changed: limits get other maxima, or one of them goes and comes back.
    Reload {
        which: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let pause = prop_oneof![4 => 0i64..1_500, 2 => 0i64..6_000, 1 => 0i64..70_000];
    let late = prop_oneof![5 => Just(0i64), 2 => 0i64..9_000, 1 => -3_000i64..30_000, 1 => -70_000i64..0];
    let act = (pause, late, any::<u64>(), prop::bool::weighted(0.04));
    let act = act.prop_map(|(pause, late, choice, retry)| Step::Act { pause, late, choice, retry });
    prop_oneof![
        60 => act,
        2 => (0u64..5, 0u64..4, 1i64..40).prop_map(|(user, verdict, secs)| Step::Ban { user, verdict, secs }),
        1 => (0u64..4, prop::option::of(1i64..40)).prop_map(|(device, secs)| Step::BanDevice { device, secs }),
        1 => (0u64..4).prop_map(|address| Step::BanAddress { address }),
        3 => (0u64..5, any::<bool>()).prop_map(|(user, one)| Step::Unban { user, one }),
        2 => (0i64..50_000).prop_map(|pause| Step::Tick { pause }),
        2 => (0u64..5, 0u64..9, 0i64..30, any::<bool>())
            .prop_map(|(user, rule, secs, snooze)| Step::Except { user, rule, secs, snooze }),
        2 => (any::<u64>(), 0u64..3).prop_map(|(case, outcome)| Step::Resolve { case, outcome }),
        1 => (0u64..5, any::<bool>()).prop_map(|(user, granted)| Step::Appeal { user, granted }),
        4 => (any::<u64>(), 0u64..5, prop::bool::weighted(0.1))
            .prop_map(|(decision, result, again)| Step::Learn { decision, result, again }),
        1 => (0u64..3).prop_map(|which| Step::Reload { which }),
    ]
}

/// Digits of a number, taken one after the other.
struct Digits(u64);

impl Digits {
    fn next(&mut self, base: u64) -> u64 {
        let digit = self.0 % base;
        self.0 /= base;
        digit
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.next(texts.len() as u64) as usize]
    }
}

const ADDRESSES: [&str; 4] = ["198.51.100.1", "203.0.113.9", "2001:db8:1:2::7", "10.1.2.3"];

struct Stream {
    pair: Pair,
    now: i64,
    number: i64,
    last: Option<(String, u64)>,
    ids: Vec<String>,
}

impl Stream {
    fn new() -> Self {
        Self { pair: Pair::new(&small(LIMITS)), now: 0, number: 0, last: None, ids: Vec::new() }
    }

    fn take(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Act { pause, late, choice, retry } => {
                self.now += pause;
                self.act(*late, *choice, *retry)
            }
            Step::Ban { user, verdict, secs } => {
                let verdict =
                    [Verdict::Block, Verdict::Challenge, Verdict::Reject, Verdict::Hold][*verdict as usize];
                let length = (*secs < 30).then(|| Span::from_secs(*secs));
                let entity = Entity::new(EntityKind::User, format!("u{user}"));
                self.command(CommandAction::Ban { entity, verdict, length })
            }
            Step::BanDevice { device, secs } => {
                let entity = Entity::new(EntityKind::Device, format!("d{device}"));
                let length = secs.map(Span::from_secs);
                self.command(CommandAction::Ban { entity, verdict: Verdict::Block, length })
            }
            Step::BanAddress { address } => {
                let entity = Entity::new(EntityKind::Ip, ADDRESSES[*address as usize]);
                let length = Some(Span::from_secs(9));
                self.command(CommandAction::Ban { entity, verdict: Verdict::Reject, length })
            }
            Step::Unban { user, one } => {
                let entity = Entity::new(EntityKind::User, format!("u{user}"));
                let ban = if *one { self.ids.last().cloned() } else { None };
                self.command(CommandAction::Unban { entity, ban })
            }
            Step::Tick { pause } => {
                self.now += pause;
                self.pair.tick(at(self.now)).map(drop)
            }
            Step::Except { user, rule, secs, snooze } => {
                let rules = ["", "log", "often", "again", "wide", "crowd", "PAUSE", "watch", "nothing"];
                let (entity, length) =
                    (Entity::new(EntityKind::User, format!("u{user}")), Span::from_secs(*secs));
                let rule = rules[*rule as usize].to_owned();
                let action = match (snooze, rule.as_str()) {
                    (true, _) => CommandAction::Snooze { entity, rule, length },
                    (false, "") => CommandAction::Exempt { entity, rules: Vec::new(), length },
                    (false, _) => {
                        CommandAction::Exempt { entity, rules: vec![rule, "spans".to_owned()], length }
                    }
                };
                self.command(action)
            }
            Step::Resolve { case, outcome } => {
                let cases = &self.pair.cases;
                let case = cases.get(*case as usize % cases.len().max(1)).cloned().unwrap_or_default();
                let outcomes = [CaseOutcome::Confirmed, CaseOutcome::Cleared, CaseOutcome::Inconclusive];
                self.command(CommandAction::Resolve { case, outcome: outcomes[*outcome as usize] })
            }
            Step::Appeal { user, granted } => {
                let entity = Entity::new(EntityKind::User, format!("u{user}"));
                self.command(CommandAction::Appeal { entity, ban: None, granted: *granted })
            }
            Step::Learn { decision, result, again } => self.learn(*decision, *result, *again),
            Step::Reload { which } => {
                let limits = match which {
                    0 => LIMITS.to_owned(),
                    1 => LIMITS.replace("window: 10s, max: 3", "window: 10s, max: 5"),
                    _ => LIMITS.replace("id: again", "id: once-more").replace("max: 6", "max: 4"),
                };
                self.pair.policy(&small(&limits));
                Ok(())
            }
        }
    }

    fn command(&mut self, action: CommandAction) -> Result<(), String> {
        self.number += 1;
        // Every seventh id comes twice.
        let id = format!("c{}", self.number - i64::from(self.number % 7 == 0));
        self.ids.push(id.clone());
        let now = at(self.now);
        let asked = at(self.now - self.number % 3 * 2_000);
        let command = Command { id, actor: "ann".into(), at: asked, reason: "r".into(), action };
        self.pair.command(&command, now).map(drop)
    }

    fn learn(&mut self, decision: u64, result: u64, again: bool) -> Result<(), String> {
        let asked = &self.pair.asked;
        let Some(decision) = asked.get(decision as usize % asked.len().max(1)).copied() else {
            return Ok(());
        };
        self.number += i64::from(!again);
        let feedback = Feedback {
            id: format!("f{}", self.number),
            decision,
            result: FeedbackResult::ALL[result as usize],
            actor: "gateway".into(),
            at: at(self.now - 500),
            reason: None,
        };
        self.pair.feedback(&feedback, at(self.now)).map(drop)
    }

    fn act(&mut self, late: i64, choice: u64, retry: bool) -> Result<(), String> {
        self.number += 1;
        let (id, choice) = match &self.last {
            Some((id, choice)) if retry => (id.clone(), *choice + choice % 2),
            _ => (format!("e{}", self.number), choice),
        };
        self.last = Some((id.clone(), choice));
        let mut digits = Digits(choice);
        let user = digits.pick(&["u0", "u1", "u2", "u3", "u4", ""]);
        let action = digits.pick(&["like", "like", "share", "login", "claim", "closed"]);
        let target = digits.pick(&["t0", "t1", "t2", "t3", "t4", ""]);
        let device = digits.pick(&["d0", "d1", "d2", "d3", ""]);
        let ip = digits.pick(&ADDRESSES);
        let canvas = digits.pick(&["a", "b", ""]);
        let coupon = digits.pick(&["X", "Y", "", ""]);
        let age = [1, 3, 40, 400][digits.next(4) as usize];
        let outcome = digits.next(4) == 0;
        let amount = digits.next(40) as f64 / 4.0 - 2.0;
        let weight = digits.next(4) as i64;
        let plan = digits.pick(&["pro", "free", ""]);
        let some = |text: &'static str| (!text.is_empty()).then(|| text.into());
        let text = |name: &'static str, text: &'static str| {
            (!text.is_empty()).then(|| (name.into(), Value::Text(text.into())))
        };
        let mut attributes: Vec<_> = text("coupon", coupon).into_iter().collect();
        attributes.push(("amount".into(), Value::Double(amount)));
        if weight > 0 {
            attributes.push(("weight".into(), Value::Int(weight)));
        }
        let event = Event {
            id: id.into(),
            occurred_at: at(self.now - late),
            action: action.into(),
            user: some(user),
            target: some(target),
            ip: Some(ip.into()),
            device: Device { id: some(device), attributes: text("canvas", canvas).into_iter().collect() },
            account: Account {
                created_at: (age != 3).then(|| at(self.now - age * 86_400_000)),
                plan: some(plan),
                ..Account::default()
            },
            outcome: outcome.then_some(weir::engine::event::Attempt::Failure),
            attributes,
            ..Event::default()
        };
        let arrival = Arrival { topic: "t", partition: 0, offset: self.number, append_time: at(self.now) };
        self.pair.event(&event, arrival).map(drop)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 3_000, ..ProptestConfig::default() })]

    /// Late and early events, retries, ids with other content, bans and pardons, ticks, and reloads among them.
    #[test]
    fn a_policy_with_everything_over_random_streams(steps in prop::collection::vec(step(), 1..160)) {
        let mut stream = Stream::new();
        for (number, step) in steps.iter().enumerate() {
            stream.take(step).map_err(|faults| TestCaseError::fail(format!("step {number}, {step:?}: {faults}")))?;
        }
        stream.pair.bans_agree().map_err(TestCaseError::fail)?;
    }
}

/// A stream that is the same in every run: users act in turn, some more often than others.
fn steady(stream: &mut Stream, steps: u64) -> Result<(), String> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for number in 0..steps {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let choice = (state >> 8) | 1;
        let (pause, late) = ((state >> 40) as i64 % 1_100, (state >> 52) as i64 % 9 * 400);
        stream.take(&Step::Act { pause, late, choice, retry: state >> 60 == 0 })?;
        if number % 50 == 49 {
            stream.take(&Step::Unban { user: number / 50 % 5, one: false })?;
        }
        if number % 11 == 10 {
            stream.take(&Step::Learn { decision: state >> 9, result: state >> 20 & 3, again: false })?;
        }
        if number % 40 == 39 {
            stream.take(&Step::Resolve { case: state >> 9, outcome: number / 40 % 3 })?;
        }
        if number % 70 == 69 {
            stream.take(&Step::Ban { user: number % 5, verdict: number / 70 % 4, secs: 4 })?;
        }
    }
    Ok(())
}

/// The comparison sees something: an engine with any one number of the policy changed does not agree with the model.
#[test]
fn an_engine_of_another_policy_is_found_out() {
    let mut unseen = Vec::new();
    for (from, to) in [
        ("grace: 10s", "grace: 0s"),
        ("demote: -6", "demote: -19"),
        ("volume: 40", "volume: 13"),
        ("new_for: 7d", "new_for: 12h"),
        ("age: 30d", "age: 300d"),
        ("horizon: 2m", "horizon: 1s"),
        ("half_life: 2m", "half_life: 4s"),
        ("points: 3, verdict: reject", "points: 4, verdict: reject"),
        ("verdict: block, for: 30s", "verdict: block, for: 31s"),
        ("settled_accounts: 2", "settled_accounts: 3"),
        ("partners: [198.51.100.0/30]", "partners: [198.51.100.0/32]"),
        ("window: 20s, count", "window: 30s, count"),
        ("window: 40s, distinct", "window: 30s, distinct"),
        ("slots: 12, sum", "slots: 4, sum"),
        (
            "id: log, key: [user, action], window: 10s, max: 3",
            "id: log, key: [user, action], window: 10s, max: 4",
        ),
        ("within: 40s, verdict: hold", "within: 4s, verdict: hold"),
        ("window: 15s, max: 6", "window: 15s, max: 9"),
        ("count_refused: true, ", ""),
        ("refill: 1 per 3s", "refill: 2 per 3s"),
        ("window: 9s, max: 3, algorithm: leaky_bucket", "window: 11s, max: 3, algorithm: leaky_bucket"),
        ("window: 1m, max: 8, algorithm: { calendar", "window: 2m, max: 8, algorithm: { calendar"),
        ("{ window: 30s, max: 4 }", "{ window: 30s, max: 3 }"),
        ("on_empty: refuse, ", ""),
        ("max: 2, mode: shadow", "max: 3, mode: shadow"),
        ("cost: event.attributes.weight * 2", "cost: event.attributes.weight"),
        ("window: 7s, max: 0", "window: 8s, max: 0"),
        ("points: 35", "points: 34"),
        ("entity: target, proposal: look", "entity: target, proposal: leave"),
        ("user.penalty > 1.2", "user.penalty > 1.7"),
        ("times: 2, within: 10s", "times: 3, within: 10s"),
        ("entity: device, conditions", "entity: user, conditions"),
        ("rules: [wide, log]", "rules: [wide]"),
        ("trusted: [10.0.0.0/8]", "trusted: [10.9.0.0/16]"),
        ("accounts: 1, within: 25s", "accounts: 2, within: 25s"),
        ("accounts: 1, within: 40s, then: hold", "accounts: 1, within: 40s"),
        ("accounts: 2, within: 25s", "accounts: 2, within: 2s"),
    ] {
        let text = SMALL.replace("LIMITS", LIMITS);
        assert!(text.contains(from), "{from}");
        let changed = match load(&[("p.yaml".to_owned(), text.replace(from, to))]) {
            Ok(loaded) => loaded.policy,
            Err(problems) => panic!("{from}: {}", problems[0]),
        };
        let mut stream = Stream::new();
        stream.pair.engine = Engine::new(changed, HashSeed(7, 11));
        stream.pair.same_policy = false;
        if steady(&mut stream, 1_200).is_ok() {
            unseen.push(from);
        }
    }
    assert!(unseen.is_empty(), "nobody noticed {unseen:#?}");
}

#[test]
fn a_steady_stream_agrees_and_meets_every_verdict() {
    let mut stream = Stream::new();
    steady(&mut stream, 1_500).unwrap_or_else(|faults| panic!("{faults}"));
    let verdicts = &stream.pair.verdicts;
    assert_eq!(verdicts.keys().copied().collect::<Vec<_>>(), Verdict::ALL, "{verdicts:?}");
    assert!(stream.pair.revised > 10, "{}", stream.pair.revised);
    assert!(
        stream.pair.followed * 5 < stream.pair.decided,
        "{} of {}",
        stream.pair.followed,
        stream.pair.decided
    );
}

/// A ban of the user for an hour and one of the address for ten seconds: who is refused learns of the hour.
#[test]
fn of_bans_on_user_and_address_the_longer_one_shows() {
    let mut pair = Pair::new(&small(LIMITS));
    let ban = |id: &str, entity: Entity, secs| Command {
        id: id.into(),
        actor: "ann".into(),
        at: at(0),
        reason: "r".into(),
        action: CommandAction::Ban { entity, verdict: Verdict::Reject, length: Some(Span::from_secs(secs)) },
    };
    pair.command(&ban("user", Entity::new(EntityKind::User, "u"), 3_600), at(0)).expect("agree");
    pair.command(&ban("address", Entity::new(EntityKind::Ip, "198.51.100.1"), 10), at(0)).expect("agree");
    let event = Event {
        id: "e".into(),
        occurred_at: at(1_000),
        action: "x".into(),
        user: Some("u".into()),
        ip: Some("198.51.100.1".into()),
        ..Event::default()
    };
    pair.event(&event, Arrival { topic: "t", partition: 0, offset: 0, append_time: at(1_000) })
        .expect("agree");
    let told = pair.out.judgement.as_ref().expect("decided");
    assert_eq!((told.verdict, told.retry_after), (Verdict::Reject, Some(Span::from_secs(3_599))));
    assert_eq!(told.reasons[0].source.id, "user");
}
