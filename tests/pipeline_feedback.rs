//! One batch of all three inputs, without a broker: commands first, then feedback, then interactions; what becomes of
//! each is counted, and revisions go where decisions go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use weir::engine::command::{Command, CommandAction};
use weir::engine::decision::DecisionId;
use weir::engine::entity::{Entity, EntityKind};
use weir::engine::event::Arrival;
use weir::engine::feedback::{Feedback, FeedbackResult};
use weir::engine::key::HashSeed;
use weir::engine::policy::load::load;
use weir::engine::time::{Span, Timestamp};
use weir::engine::{DeadLetterReason, Engine};
use weir::pipeline::{Batch, Inputs, Positions, Report, Scorer};
use weir::stream::{self, Coordinates, OutBatch, RecordBatch, Topic, TopicNames};
use weir::wire::interaction::DecodeLimits;
use weir::wire::{command, feedback};

const T: i64 = 1_750_000_000_000;

const POLICY: &str = "
version: 1
limits:
  - { id: one, code: ONE, text: t, source: s, owner: o, key: [user], window: 1m, max: 1, verdict: challenge }
";

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(T + millis)
}

fn scorer() -> Scorer {
    let policy =
        load(&[("p.yaml".to_owned(), POLICY.to_owned())]).unwrap_or_else(|p| panic!("{}", p[0])).policy;
    Scorer::new(Engine::new(policy, HashSeed(1, 2)), TopicNames::with_prefix(""), DecodeLimits::default())
}

fn push(batch: &mut RecordBatch, topic: Topic, offset: i64, millis: i64, value: &[u8]) {
    let at = Coordinates { topic, partition: 0, offset };
    batch.push(at, stream::Timestamp::Append(T + millis), None, Some(value));
}

fn like(batch: &mut RecordBatch, offset: i64, millis: i64) {
    let value = json!({"event_id": format!("e{offset}"), "occurred_at": T + millis, "action": "like", "user_id": "u"});
    push(batch, Topic::Interactions, offset, millis, value.to_string().as_bytes());
}

fn score(scorer: &mut Scorer, records: RecordBatch) -> (Vec<(Topic, Value)>, Report) {
    let (mut out, mut report) = (OutBatch::default(), Report::default());
    let batch = Batch::from(&Positions::new(), vec![Arc::new(records)]);
    let (ticks, skip, decided_at) = (&[][..], &BTreeSet::new(), at(99_000));
    let inputs = Inputs { policy: None, ticks, batch: &batch, skip, decided_at };
    let skipped = scorer.apply(&inputs, &mut out, &mut report);
    assert!(skipped.is_empty());
    let told = out.iter().map(|record| {
        (record.topic, serde_json::from_slice(record.value.unwrap_or(b"null")).unwrap_or(Value::Null))
    });
    (told.collect(), report)
}

#[test]
fn commands_then_feedback_then_interactions() {
    let mut scorer = scorer();
    let mut first = RecordBatch::default();
    like(&mut first, 0, 0);
    like(&mut first, 1, 1);
    let (told, _) = score(&mut scorer, first);
    assert_eq!(
        told.iter().map(|(_, value)| value["verdict"].as_str()).collect::<Vec<_>>(),
        [Some("allow"), Some("challenge")]
    );

    let names = TopicNames::with_prefix("");
    let topic = names.get(Topic::Interactions);
    let arrival = Arrival { topic, partition: 0, offset: 1, append_time: at(1) };
    let decision = DecisionId::first(&arrival, "e1");
    assert_eq!(told[1].1["decision_id"], decision.to_string());
    let passed = Feedback {
        id: "f1".into(),
        decision,
        result: FeedbackResult::ChallengePassed,
        actor: "gateway".into(),
        at: at(10),
        reason: None,
    };
    let exempt = Command {
        id: "c1".into(),
        actor: "ann".into(),
        at: at(11),
        reason: "r".into(),
        action: CommandAction::Exempt {
            entity: Entity::new(EntityKind::User, "u"),
            rules: vec!["one".into()],
            length: Span::from_secs(60),
        },
    };
    // As they came: the other way round.
    let mut second = RecordBatch::default();
    like(&mut second, 2, 12);
    push(&mut second, Topic::Feedback, 0, 10, &feedback::encode(&passed));
    push(&mut second, Topic::Feedback, 1, 10, &feedback::encode(&passed));
    push(&mut second, Topic::Feedback, 2, 10, b"{}");
    push(&mut second, Topic::Commands, 0, 11, &command::encode(&exempt));
    let (told, report) = score(&mut scorer, second);
    assert_eq!(
        told.iter().map(|(topic, _)| *topic).collect::<Vec<_>>(),
        [Topic::Decisions, Topic::DeadLetters, Topic::Decisions]
    );
    let revision = &told[0].1;
    assert_eq!((&revision["revision"], &revision["verdict"]), (&json!(1), &json!("allow")));
    assert_eq!(revision["supersedes"], decision.to_string());
    assert_eq!((&revision["event_id"], &revision["decided_at"]), (&json!("e1"), &json!(T + 99_000)));
    assert_eq!((&told[2].1["event_id"], &told[2].1["verdict"]), (&json!("e2"), &json!("allow")));
    assert!(report.tally.is_complete());
    let outcomes = BTreeMap::from([
        ("command_applied", 1),
        ("dead_lettered", 1),
        ("decided", 1),
        ("feedback_applied", 1),
        ("feedback_repeated", 1),
    ]);
    assert_eq!((report.tally.consumed, report.tally.outcomes()), (5, outcomes));
    assert_eq!(report.tally.dead_letters(), BTreeMap::from([(DeadLetterReason::MissingField, 1)]));
}
