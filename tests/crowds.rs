//! Crowds under the standard policy: a bought one is found, those who came before it was known are corrected, and a person
//! can take that back; a crowd of people is left alone.

use std::borrow::Cow;
use std::collections::BTreeMap;

use weir::config::standard;
use weir::engine::case::{Case, CaseOutcome};
use weir::engine::command::{Command, CommandAction};
use weir::engine::crowd::Correction;
use weir::engine::decision::{DecisionId, Judgement, Reason};
use weir::engine::event::{Account, Arrival, Device, Event, Value};
use weir::engine::feedback::Revision;
use weir::engine::key::HashSeed;
use weir::engine::policy::load::load;
use weir::engine::time::{Span, Timestamp};
use weir::engine::verdict::Verdict;
use weir::engine::{Engine, Input, Outcome, Outputs};

const START: i64 = 1_750_000_000_000;
const DAY: i64 = 86_400_000;

/// A number below `bound` that is a function of two others.
fn draw(a: u64, b: u64, bound: u64) -> u64 {
    let mixed = (a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xd6e8_feb8_6659_fd93))
        .wrapping_mul(0xa076_1d64_78bd_642f);
    (mixed >> 33) % bound
}

const ATTRIBUTES: [(&str, u64); 10] = [
    ("os", 6),
    ("browser", 12),
    ("screen", 20),
    ("gpu", 25),
    ("cores", 4),
    ("memory", 4),
    ("color_depth", 2),
    ("touch_points", 2),
    ("fonts", 400),
    ("canvas", 800),
];

/// One like, as it is to be told.
#[derive(Clone, Debug)]
struct Like {
    user: String,
    target: String,
    at: i64,
    created: i64,
    ip: String,
    /// Of whom the device is, and how many attributes of it are somebody else's.
    device: (u64, u64),
}

impl Like {
    fn event(&self, number: usize) -> Event<'_> {
        let (of, changed) = self.device;
        let text = |attribute: usize, of: u64| {
            let (name, values) = ATTRIBUTES[attribute];
            Value::Text(format!("{name}{}", draw(of, attribute as u64, values)).into())
        };
        let own = |attribute: usize| {
            let altered = (0..changed).any(|n| draw(self.at as u64, n, 10) == attribute as u64);
            if altered { text(attribute, self.at as u64) } else { text(attribute, of) }
        };
        let attributes = (0..10).map(|n| (Cow::from(ATTRIBUTES[n].0), own(n))).collect();
        Event {
            id: format!("e{number}").into(),
            occurred_at: Timestamp::from_millis(self.at),
            action: "like".into(),
            user: Some(self.user.as_str().into()),
            target: Some(self.target.as_str().into()),
            ip: Some(self.ip.as_str().into()),
            device: Device { id: Some(format!("d-{}", self.user).into()), attributes },
            account: Account { created_at: Some(Timestamp::from_millis(self.created)), ..Account::default() },
            ..Event::default()
        }
    }
}

fn address(n: u64) -> String {
    format!("198.{}.{}.{}", 18 + n / 65_536, n / 256 % 256, n % 256)
}

/// Somebody with a device and an age of his own, half of them behind one of 30 exits.
fn person(n: u64, target: String, at: i64, newcomer: bool) -> Like {
    let age = if newcomer || draw(n, 1, 10) == 0 { draw(n, 2, 6) } else { 10 + draw(n, 3, 900) };
    let ip = if draw(n, 4, 2) == 0 { address(draw(n, 5, 30)) } else { address(1000 + n) };
    let created = START - age as i64 * DAY - draw(n, 6, DAY as u64) as i64;
    Like { user: format!("p{n}"), target, at, created, ip, device: (n, 0) }
}

/// 1,500 people on 200 articles within half an hour.
fn people() -> Vec<Like> {
    (0..1500).map(|n| person(n, format!("a{}", draw(n, 7, 200)), START + n as i64 * 1200, false)).collect()
}

/// 400 accounts with one like each, of the same week, near copies of one device, one address each; from minute ten on.
fn recruits() -> Vec<Like> {
    let one = |n: u64| Like {
        user: format!("r{n}"),
        target: "pushed".into(),
        at: START + 600_000 + n as i64 * 500,
        created: START - DAY - draw(n, 8, 4 * DAY as u64) as i64,
        ip: address(20_000 + n),
        device: (1_000_000, draw(n, 9, 3)),
    };
    (0..400).map(one).collect()
}

fn together(parts: &[Vec<Like>]) -> Vec<Like> {
    let mut all: Vec<Like> = parts.iter().flatten().cloned().collect();
    all.sort_by_key(|like| like.at);
    all
}

/// All that was said.
struct Told {
    engine: Engine,
    /// By user: his first verdict and what holds now, on each of his events, by event id.
    stands: BTreeMap<String, (String, Vec<Judgement>)>,
    cases: Vec<Case>,
    now: Timestamp,
}

impl Told {
    fn nothing() -> Self {
        let policy = load(&standard::files()).unwrap_or_else(|problems| panic!("{}", problems[0])).policy;
        Self {
            engine: Engine::new(policy, HashSeed(7, 9)),
            stands: BTreeMap::new(),
            cases: Vec::new(),
            now: Timestamp::default(),
        }
    }

    fn corrected(&self) -> BTreeMap<&str, Verdict> {
        let corrected = self.stands.iter().filter(|(_, (_, stands))| stands.len() > 1);
        corrected.map(|(event, (_, stands))| (event.as_str(), stands[stands.len() - 1].verdict)).collect()
    }

    fn of(likes: &[Like]) -> Self {
        let mut told = Self::nothing();
        for (number, like) in likes.iter().enumerate() {
            told.like(number, like);
        }
        told.rest();
        told
    }

    fn like(&mut self, number: usize, like: &Like) {
        let event = like.event(number);
        let mut out = Outputs::default();
        self.now = event.occurred_at;
        let arrival = Arrival { topic: "t", partition: 0, offset: number as i64, append_time: self.now };
        assert_eq!(self.engine.apply(Input::Event(&event, arrival), &mut out), Outcome::Decided);
        let judgement = out.judgement.take().expect("decided");
        adds_up(&judgement);
        self.stands.insert(event.id.to_string(), (like.user.clone(), vec![judgement]));
        self.hear(out);
    }

    fn hear(&mut self, out: Outputs) {
        assert!(out.bans.is_empty(), "nobody is banned by a crowd");
        self.cases.extend(out.cases);
        for revision in out.revisions {
            let (_, stands) = self.stands.get_mut(&*revision.event.id).expect("of a known event");
            let before = stands.last().expect("decided").id;
            adds_up(&revision.judgement);
            assert_eq!(revision.judgement.supersedes, Some(before));
            assert_eq!(revision.judgement.id.revision, before.revision + 1);
            assert!(revision.judgement.verdict < Verdict::Block);
            stands.push(revision.judgement);
        }
    }

    /// Ticks until everything is told.
    fn rest(&mut self) {
        for _ in 0..400 {
            let mut out = Outputs::default();
            self.engine.apply(Input::Tick(self.now), &mut out);
            self.hear(out);
        }
    }

    fn share(&self, prefix: &str, is: impl Fn(&[Judgement]) -> bool) -> f64 {
        let of: Vec<_> = self.stands.values().filter(|(user, _)| user.starts_with(prefix)).collect();
        of.iter().filter(|(_, stands)| is(stands)).count() as f64 / of.len() as f64
    }
}

fn adds_up(judgement: &Judgement) {
    let points = |reason: &Reason| reason.points;
    assert_eq!(judgement.reasons.iter().map(points).sum::<i32>(), judgement.score, "{judgement:#?}");
}

fn is_above(stands: &[Judgement]) -> bool {
    stands.last().expect("decided").verdict > Verdict::Allow
}

/// What was said to accounts of a name that are above allow.
fn said(told: &Told, prefix: &str) -> Vec<String> {
    let above = told.stands.values().filter(|(user, stands)| user.starts_with(prefix) && is_above(stands));
    let reasons = |stands: &[Judgement]| {
        let last = stands.last().expect("decided");
        let each = last.reasons.iter().map(|reason| format!("{} {}", reason.source.code, reason.points));
        format!("{} {:?}: {}", stands.len(), last.verdict, each.collect::<Vec<_>>().join(", "))
    };
    above.map(|(user, stands)| format!("{user} {}", reasons(stands))).collect()
}

fn campaign(told: &Told) -> Vec<&Case> {
    told.cases.iter().filter(|case| case.code == "CAMPAIGN").collect()
}

#[test]
fn a_bought_crowd_is_found_and_those_who_came_first_are_corrected() {
    let told = Told::of(&together(&[people(), recruits()]));
    assert_eq!(told.share("p", is_above), 0.0, "people are left alone");
    assert!(told.share("r", is_above) >= 0.97, "{} of the bought accounts", told.share("r", is_above));
    assert!(told.share("r", |stands| stands.len() > 1) > 0.02, "the first of them are corrected");
    let cases = campaign(&told);
    assert!(cases.iter().all(|case| case.id == cases[0].id && case.entity.value == "pushed"));
    assert!(cases[0].opened_at.millis() - START - 600_000 < 60_000, "within a minute");
}

#[test]
fn a_newcomer_who_likes_what_is_pushed_is_let_be() {
    let guests: Vec<Like> =
        (0..60).map(|n| person(5000 + n, "pushed".into(), START + 660_000 + n as i64 * 2000, true)).collect();
    let told = Told::of(&together(&[people(), recruits(), guests]));
    assert!(told.share("r", is_above) >= 0.95, "{}", told.share("r", is_above));
    assert!(said(&told, "p").is_empty(), "{:#?}", said(&told, "p"));
}

#[test]
fn a_viral_article_that_brings_newcomers_is_no_campaign() {
    let fans: Vec<Like> = (0..800)
        .map(|n| person(9000 + n, "viral".into(), START + 600_000 + n as i64 * 300, n % 5 > 1))
        .collect();
    let told = Told::of(&together(&[people(), fans]));
    assert!(campaign(&told).is_empty());
    assert_eq!(told.share("p", is_above), 0.0);
}

/// 60 of the recruits like a second article a quarter of an hour later.
fn again() -> Vec<Like> {
    let later = |like: Like| Like { target: "second".into(), at: like.at + 900_000, ..like };
    recruits().into_iter().step_by(6).take(60).map(later).collect()
}

/// Says that the first campaign is honest.
fn clear(told: &mut Told) {
    let command = Command {
        id: "c1".into(),
        actor: "ann".into(),
        at: told.now,
        reason: "a fair".into(),
        action: CommandAction::Resolve { case: campaign(told)[0].id.clone(), outcome: CaseOutcome::Cleared },
    };
    let arrival = Arrival { topic: "c", partition: 0, offset: 0, append_time: told.now };
    let mut out = Outputs::default();
    assert_eq!(told.engine.apply(Input::Command(&command, arrival), &mut out), Outcome::CommandApplied);
    told.hear(out);
    told.rest();
}

fn is_back(stands: &[Judgement]) -> bool {
    stands.len() > 1 && stands[stands.len() - 1].verdict == stands[0].verdict
}

/// What the same accounts do on another article is a part of the one campaign: what was raised there is taken back, too.
#[test]
fn clearing_a_campaign_takes_back_what_was_raised_on_its_parts() {
    let likes = together(&[people(), recruits(), again()]);
    let second: Vec<String> =
        (0..likes.len()).filter(|n| likes[*n].target == "second").map(|n| format!("e{n}")).collect();
    let mut told = Told::of(&likes);
    let cases = campaign(&told);
    assert!(cases.iter().all(|case| case.id == cases[0].id && case.entity.value == "pushed"));
    let on_second = |told: &Told, is: fn(&[Judgement]) -> bool| {
        second.iter().filter(|event| is(&told.stands[*event].1)).count()
    };
    let raised = on_second(&told, |stands| stands.len() > 1);
    assert!(raised >= 5, "{raised} of the first who came to the second are corrected");
    assert!(on_second(&told, is_above) >= 57);
    clear(&mut told);
    assert_eq!(on_second(&told, is_back), raised, "all that was raised on the second is back where it was");
}

/// Long after the crowd has gone, who belongs to the campaign is not counted on its target.
#[test]
fn who_belongs_to_a_campaign_is_not_counted_when_it_comes_back() {
    let mut told = Told::of(&together(&[people(), recruits()]));
    let at = told.now.after(Span::from_secs(2 * 3600)).millis();
    let back = Like { at, ..recruits()[200].clone() };
    told.like(99_999, &back);
    let stands = &told.stands["e99999"].1;
    assert!(is_above(stands), "{stands:#?}");
    assert!(stands[0].reasons.iter().any(|reason| reason.source.code == "CAMPAIGN"));
    let other = Like { at: at + 1000, ..person(7000, "pushed".into(), at, false) };
    told.like(100_000, &other);
    assert!(!is_above(&told.stands["e100000"].1));
}

/// Articles that the recruits like besides draw honest newcomers too: nothing is held against those.
#[test]
fn who_likes_what_a_campaign_hides_behind_is_let_be() {
    let hiding: Vec<Like> = recruits()
        .into_iter()
        .skip(200)
        .step_by(4)
        .map(|like| Like { target: "beside".into(), at: like.at + 60_000, ..like })
        .collect();
    let guests: Vec<Like> = (0..40)
        .map(|n| Like {
            device: (1_000_000, 6),
            ..person(5000 + n, "beside".into(), START + 780_000 + n as i64 * 2500, true)
        })
        .collect();
    let told = Told::of(&together(&[people(), recruits(), hiding, guests]));
    assert!(told.share("r", is_above) >= 0.95, "{}", told.share("r", is_above));
    assert_eq!(told.share("p", is_above), 0.0);
}

/// What was raised is taken back, and nothing more is held against anybody there.
#[test]
fn a_campaign_that_a_person_clears_is_taken_back() {
    let mut told = Told::of(&together(&[people(), recruits()]));
    let raised = told.share("r", |stands| stands.len() > 1);
    clear(&mut told);
    assert_eq!(told.share("r", is_back), raised, "all that was raised is back where it was");
    let late = Like {
        at: told.now.after(Span::from_secs(1)).millis(),
        user: "r9999".into(),
        ..recruits()[0].clone()
    };
    told.like(99_999, &late);
    assert!(!is_above(&told.stands["e99999"].1));
}

/// State is lost while corrections are under way, and warmed up with the same events, untold: then all of them are told, also
/// those that nobody had heard of, with numbers that no revision had before. The case has them already.
#[test]
fn corrections_that_were_under_way_when_state_was_lost_are_told_once_it_is_warm() {
    let likes = together(&[people(), recruits()]);
    let mut lost = Told::nothing();
    let under_way = |lost: &mut Told, number: usize| {
        lost.like(number, &likes[number]);
        !lost.corrected().is_empty()
    };
    let last = (0..likes.len()).find(|number| under_way(&mut lost, *number)).expect("a campaign");
    let (heard, revised_to) = (lost.corrected().len(), lost.engine.revised_to());
    let cases: BTreeMap<String, Case> =
        lost.cases.iter().map(|case| (case.id.clone(), case.clone())).collect();
    lost.rest();
    assert!(heard < lost.corrected().len(), "{heard} of {}", lost.corrected().len());

    let mut anew = Told::nothing();
    anew.engine.begin_anew(revised_to);
    anew.engine.restore_cases(cases.into_values().collect());
    for (number, like) in likes.iter().enumerate().take(last + 1) {
        anew.like(number, like);
    }
    assert!(anew.corrected().is_empty(), "while it is warmed up nothing is told");
    anew.engine.warmed_up();
    let mut out = Outputs::default();
    let mut told = BTreeMap::new();
    for _ in 0..400 {
        anew.engine.apply(Input::Tick(anew.now), &mut out);
        assert!(out.cases.is_empty(), "{:?}", out.cases);
        for revision in std::mem::take(&mut out.revisions) {
            assert!(revision.judgement.id.revision > revised_to, "{:?}", revision.judgement.id);
            told.insert(revision.event.id.to_string(), revision.judgement.verdict);
        }
        out.clear();
    }
    let told: BTreeMap<&str, Verdict> =
        told.iter().map(|(event, verdict)| (event.as_str(), *verdict)).collect();
    assert_eq!(told, lost.corrected());
}

/// What a run told of decisions that campaigns corrected: the first decision, and which revision holds.
fn corrections(told: &Told, likes: &[Like]) -> Vec<Correction> {
    let one = |(number, like): (usize, &Like)| {
        let event = like.event(number);
        let (_, stands) = &told.stands[&*event.id];
        let owned = |text: &str| Cow::from(text.to_owned());
        let event = Event {
            id: owned(&event.id),
            occurred_at: event.occurred_at,
            action: owned(&event.action),
            user: Some(owned(&like.user)),
            target: Some(owned(&like.target)),
            ip: Some(owned(&like.ip)),
            ..Event::default()
        };
        let (append_time, judgement) = (event.occurred_at, stands[0].clone());
        let first = Revision { event, topic: "t".to_owned(), append_time, judgement };
        (stands.len() > 1).then(|| Correction {
            first,
            revision: stands[stands.len() - 1].id.revision,
            part_of: None,
        })
    };
    likes.iter().enumerate().filter_map(one).collect()
}

/// State is lost, and so are events of the bought accounts. Gives the answer to the clearing of the case, and all revisions.
fn cleared_anew(
    told: &Told,
    likes: &[Like],
    known: &[Correction],
    (is_held, is_found): (impl Fn(&Like) -> bool, bool),
) -> (Case, Vec<Judgement>) {
    let cases: BTreeMap<String, Case> =
        told.cases.iter().map(|case| (case.id.clone(), case.clone())).collect();
    let mut anew = Told::nothing();
    anew.engine.begin_anew(told.engine.revised_to());
    anew.engine.restore_cases(cases.into_values().collect());
    for (number, like) in likes.iter().enumerate().filter(|(_, like)| is_held(like)) {
        anew.like(number, like);
    }
    assert_eq!(anew.engine.campaign_cases(), BTreeMap::from([("pushed".to_owned(), is_found)]));
    assert_eq!(anew.engine.restore_corrections(known), 0, "there is room");
    anew.engine.warmed_up();
    let mut revisions = Vec::new();
    // What is found again is told before a person decides.
    settle(&mut anew, Outputs::default(), &mut revisions);
    let mut out = Outputs::default();
    let command = Command {
        id: "c".into(),
        actor: "ann".into(),
        at: anew.now,
        reason: "a fair".into(),
        action: CommandAction::Resolve { case: campaign(told)[0].id.clone(), outcome: CaseOutcome::Cleared },
    };
    let arrival = Arrival { topic: "c", partition: 0, offset: 0, append_time: anew.now };
    assert_eq!(anew.engine.apply(Input::Command(&command, arrival), &mut out), Outcome::CommandApplied);
    let case = out.cases.pop().expect("it is decided");
    settle(&mut anew, out, &mut revisions);
    (case, revisions)
}

/// Takes all revisions that follow.
fn settle(told: &mut Told, mut out: Outputs, revisions: &mut Vec<Judgement>) {
    for _ in 0..400 {
        revisions.extend(out.revisions.drain(..).map(|revision| revision.judgement));
        out.clear();
        told.engine.apply(Input::Tick(told.now), &mut out);
    }
}

fn only_people(like: &Like) -> bool {
    like.user.starts_with('p')
}

/// Of each bought account's decision what holds last.
fn last(revisions: &[Judgement]) -> BTreeMap<DecisionId, (Verdict, u32)> {
    revisions.iter().map(|one| (one.id.revised(0), (one.verdict, one.id.revision))).collect()
}

/// The first events of the bought accounts are lost: the campaign is found again by the others, and cannot correct those.
#[test]
fn a_campaign_that_is_found_again_in_part_is_taken_back_whole() {
    let likes = together(&[people(), recruits()]);
    let told = Told::of(&likes);
    let known = corrections(&told, &likes);
    let in_part =
        |like: &Like| only_people(like) || like.user[1..].parse::<u32>().is_ok_and(|number| number >= 7);
    let (_, without) = cleared_anew(&told, &likes, &[], (in_part, true));
    let found = last(&without);
    let lost = known.iter().filter(|one| !found.contains_key(&one.first.judgement.id)).count();
    assert!((1..known.len()).contains(&lost), "{lost} of {} only the topic knows", known.len());
    let (case, revisions) = cleared_anew(&told, &likes, &known, (in_part, true));
    assert_eq!(case.resolution.expect("decided").undone, None);
    let last = last(&revisions);
    for one in &known {
        let first = &one.first.judgement;
        let (verdict, revision) = last.get(&first.id).copied().unwrap_or_default();
        assert_eq!((verdict, revision > one.revision), (first.verdict, true), "{:?}", first.id);
    }
}

/// The case is on one target, the corrections were made on another one that the same accounts pushed.
#[test]
fn what_a_campaign_changed_on_another_target_is_taken_back_with_its_case() {
    let likes = together(&[people(), recruits()]);
    let told = Told::of(&likes);
    let part = |one: Correction| {
        let event = Event { target: Some("beside".into()), ..one.first.event };
        Correction { first: Revision { event, ..one.first }, part_of: Some("pushed".to_owned()), ..one }
    };
    let known: Vec<Correction> = corrections(&told, &likes).into_iter().map(part).collect();
    let (_, revisions) = cleared_anew(&told, &likes, &known, (only_people, false));
    assert_eq!((last(&revisions).len(), revisions.len()), (known.len(), known.len()));
}

#[test]
fn a_campaign_that_is_not_found_again_can_still_be_taken_back() {
    let likes = together(&[people(), recruits()]);
    let told = Told::of(&likes);
    let known = corrections(&told, &likes);
    let (case, revisions) = cleared_anew(&told, &likes, &known, (only_people, false));
    assert_eq!(case.resolution.expect("decided").undone, None);
    let mut back: Vec<_> = revisions.iter().map(|one| (one.id.revised(0), one.verdict, one.score)).collect();
    back.sort_by_key(|(id, ..)| *id);
    let mut first: Vec<_> =
        known.iter().map(|one| &one.first.judgement).map(|one| (one.id, one.verdict, one.score)).collect();
    first.sort_by_key(|(id, ..)| *id);
    assert!(!first.is_empty(), "some came before the campaign was known");
    assert_eq!(back, first);
    assert!(revisions.iter().all(|one| one.id.revision > told.engine.revised_to()));
    revisions.iter().for_each(adds_up);
}

/// Where the topic of decisions does not hold any more what the campaign changed.
#[test]
fn who_clears_a_campaign_that_is_not_known_any_more_is_told_that_nothing_was_taken_back() {
    let likes = together(&[people(), recruits()]);
    let told = Told::of(&likes);
    let (case, revisions) = cleared_anew(&told, &likes, &[], (only_people, false));
    let undone = case.resolution.expect("decided").undone.expect("said in words");
    assert!(undone.contains("no decision was taken back"), "{undone}");
    assert_eq!(revisions, []);
}

#[test]
fn two_runs_say_the_same() {
    let likes = together(&[people(), recruits()]);
    let (one, other) = (Told::of(&likes), Told::of(&likes));
    assert_eq!(one.stands, other.stands);
    assert_eq!(one.cases, other.cases);
}

/// Budgets hold whatever comes: 100,000 targets that each draw as many people within ten minutes as open a gate.
#[test]
fn at_a_hundred_thousand_busy_targets_the_state_of_crowds_is_within_its_budget() {
    let policy = load(&standard::files()).unwrap_or_else(|problems| panic!("{}", problems[0])).policy;
    let budget = policy.crowds.as_ref().expect("the standard policy watches crowds").budget;
    let retroactive = policy.settings.retroactive_budget;
    let (mut engine, mut out) = (Engine::new(policy, HashSeed(7, 9)), Outputs::default());
    let (targets, people) = (100_000u64, 8);
    for n in 0..targets * people {
        let at = START + (n * 600_000 / (targets * people)) as i64;
        let like = person(n, format!("t{}", n % targets), at, false);
        let event = like.event(n as usize);
        let append_time = Timestamp::from_millis(at);
        let arrival = Arrival { topic: "t", partition: 0, offset: n as i64, append_time };
        out.clear();
        assert_eq!(engine.apply(Input::Event(&event, arrival), &mut out), Outcome::Decided);
        if n % 1000 == 0 {
            let stats = engine.crowds().expect("crowds are watched");
            assert!(stats.bytes <= budget && stats.trail_bytes <= retroactive / 2, "{stats:?}");
        }
    }
    let stats = engine.crowds().expect("crowds are watched");
    assert!(
        stats.open > 1000 && stats.given_up > 0,
        "gates were open, and more than there is room for: {stats:?}"
    );
}
