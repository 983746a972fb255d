//! What a small, slow model of the engine once found: each of these was wrong.

#[path = "support/policy.rs"]
mod policy;

use policy::policy;
use weir::engine::command::{Command, CommandAction};
use weir::engine::entity::{Entity, EntityKind};
use weir::engine::event::{Arrival, Event};
use weir::engine::key::HashSeed;
use weir::engine::time::{Span, Timestamp};
use weir::engine::verdict::Verdict;
use weir::engine::{Engine, Input, Outcome, Outputs};

const T: i64 = 1_750_000_000_000;

fn at(secs: i64) -> Timestamp {
    Timestamp::from_millis(T + secs * 1000)
}

struct Bench(Engine, Outputs, i64);

impl Bench {
    fn new(text: &str) -> Self {
        Self(Engine::new(policy(text), HashSeed(1, 2)), Outputs::default(), 0)
    }

    /// An event that counts at `secs`, from a partition that is as far behind as the event.
    fn act(&mut self, id: &str, secs: i64, partition: i32) -> Outcome {
        self.retry(id, secs, secs, partition)
    }

    /// An event of `secs` that the log takes at `append`.
    fn retry(&mut self, id: &str, secs: i64, append: i64, partition: i32) -> Outcome {
        let event = Event {
            id: id.to_owned().into(),
            occurred_at: at(secs),
            action: "like".into(),
            user: Some("u".into()),
            ..Event::default()
        };
        self.2 += 1;
        let arrival = Arrival { topic: "t", partition, offset: self.2, append_time: at(append) };
        self.1.clear();
        self.0.apply(Input::Event(&event, arrival), &mut self.1)
    }

    fn verdict(&self) -> Verdict {
        self.1.judgement.as_ref().expect("decided").verdict
    }

    fn says(&self, code: &str) -> bool {
        self.1
            .judgement
            .as_ref()
            .expect("decided")
            .quality
            .iter()
            .any(|q| q.code.name() == code && q.counter.is_some())
    }
}

const LOG: &str = "limits:\n  - { id: log, key: [user], window: 60s, max: 3, verdict: reject, code: C, text: t, source: s, owner: o }\n";

/// Beyond grace an event is judged in its own window if that is still held as a whole: else it is told, and not recorded.
#[test]
fn a_late_event_whose_window_is_partly_gone_is_backlog() {
    let mut bench = Bench::new(&format!("time: {{ grace: 1s, skew: 1s }}\n{LOG}"));
    for (id, secs) in [("a", 0), ("b", 1), ("c", 2), ("d", 61)] {
        bench.act(id, secs, 0);
        assert_eq!(bench.verdict(), Verdict::Allow, "{id}");
    }
    // Of the window (-55 s, 5 s] a, b and c were: three. Two of them were dropped at d.
    bench.act("e", 5, 1);
    assert!(bench.verdict() == Verdict::Allow && bench.says("backlog"), "{:?}", bench.verdict());
    // It does not count: c, d and f are three in (1 s, 61 s], g is the fourth.
    bench.act("f", 61, 0);
    assert_eq!(bench.verdict(), Verdict::Allow);
    bench.act("g", 61, 0);
    assert_eq!(bench.verdict(), Verdict::Reject);
}

#[test]
fn a_late_event_whose_window_is_held_is_judged_exactly_and_counts() {
    let mut bench = Bench::new(&format!("time: {{ grace: 1s, skew: 1s }}\n{LOG}"));
    for (id, secs) in [("a", 0), ("b", 40)] {
        bench.act(id, secs, 0);
    }
    // The second in (-55 s, 5 s].
    bench.act("c", 5, 1);
    assert_eq!(bench.verdict(), Verdict::Allow);
    assert!(!bench.says("backlog") && !bench.says("approximate"));
    // a, b and c lie in (-19 s, 41 s].
    bench.act("d", 41, 0);
    assert_eq!(bench.verdict(), Verdict::Reject);
}

/// Duplicates are judged by actor and id within a horizon, whatever another partition does.
#[test]
fn a_duplicate_is_noticed_although_another_partition_is_far_ahead() {
    let mut bench = Bench::new("duplicates: { horizon: 1m, budget: 8MB }\n");
    assert_eq!(bench.act("x", 0, 1), Outcome::Decided);
    assert_eq!(bench.act("y", 300, 0), Outcome::Decided);
    assert_eq!(bench.retry("x", 0, 1, 1), Outcome::Duplicate);
}

/// A policy that changes the horizon changes the horizon: after a restart it would.
#[test]
fn a_reload_changes_the_horizon_of_duplicates() {
    let mut bench = Bench::new("duplicates: { horizon: 1m, budget: 8MB }\n");
    bench.act("x", 0, 0);
    bench
        .0
        .apply(Input::Policy(policy("duplicates: { horizon: 1h, budget: 8MB }\n")), &mut Outputs::default());
    bench.act("y", 10, 0);
    assert_eq!(bench.retry("y", 10, 1_000, 0), Outcome::Duplicate);
}

/// A counter that cannot be carried over starts as warming up.
#[test]
fn a_bucket_that_starts_anew_says_so() {
    let limit = |refill: &str| {
        let words = format!("algorithm: {{ token_bucket: {{ refill: {refill} }} }}");
        format!(
            "limits:\n  - {{ id: b, key: [user], window: 60s, max: 2, {words}, verdict: reject, code: C, text: t, source: s, owner: o }}\n"
        )
    };
    let mut bench = Bench::new(&limit("1 per 1h"));
    bench.act("a", 0, 0);
    bench.act("b", 1, 0);
    bench.act("c", 2, 0);
    assert_eq!(bench.verdict(), Verdict::Reject);
    bench.0.apply(Input::Policy(policy(&limit("1 per 2h"))), &mut Outputs::default());
    bench.act("d", 3, 0);
    assert!(bench.verdict() == Verdict::Reject || bench.says("warming_up"), "{:?}", bench.verdict());
}

/// No wait helps somebody who is banned until lifted.
#[test]
fn who_is_refused_for_good_is_not_told_to_wait() {
    let mut bench = Bench::new(&LOG.replace("max: 3", "max: 1"));
    let entity = Entity::new(EntityKind::User, "u");
    let action = CommandAction::Ban { entity, verdict: Verdict::Reject, length: None };
    let command = Command { id: "c".into(), actor: "a".into(), at: at(1), reason: "r".into(), action };
    bench.act("a", 0, 0);
    let arrival = Arrival { topic: "c", partition: 0, offset: 0, append_time: at(1) };
    bench.0.apply(Input::Command(&command, arrival), &mut Outputs::default());
    bench.act("b", 2, 0);
    let told = bench.1.judgement.as_ref().expect("decided");
    assert_eq!((told.verdict, told.retry_after), (Verdict::Reject, None::<Span>));
}
