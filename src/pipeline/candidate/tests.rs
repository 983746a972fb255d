//! A candidate beside a replica, without a broker. Its verdicts are worked out by hand.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::*;
use crate::engine::Engine;
use crate::engine::feedback::{Feedback, FeedbackResult};
use crate::engine::key::HashSeed;
use crate::engine::policy::load::load;
use crate::pipeline::{Batch, Entry, Line, Positions, Replica, Taken};
use crate::stream::{self, RecordBatch, Topic};
use crate::wire::feedback;
use crate::wire::journal::JournalKind;
use crate::wire::shadow_tally::{self, DisagreedRecord, ShadowTallyRecord};

const T: i64 = 1_750_000_000_000;

fn policy(max: u32, verdict: &str) -> Arc<Policy> {
    let text = format!(
        "version: 1\nlimits:\n  - {{ id: pace, key: [user], window: 1m, max: {max}, verdict: {verdict}, code: P, text: t, source: s, owner: o }}\n"
    );
    load(&[("p.yaml".to_owned(), text)]).unwrap_or_else(|problems| panic!("{}", problems[0])).policy
}

/// A shard without a broker, with a candidate that can be set.
struct Bench {
    replica: Replica,
    candidate: Candidate,
    wanted: Arc<Mutex<Option<Arc<Policy>>>>,
    next: i64,
}

impl Bench {
    fn new() -> Self {
        let names = TopicNames::with_prefix("");
        let (engine, limits) = (Engine::new(policy(1, "challenge"), HashSeed(1, 2)), DecodeLimits::default());
        let scorer = Scorer::new(engine, names.clone(), limits);
        let line = Line::begin("l".into(), Positions::new(), "b".into());
        let wanted = Arc::new(Mutex::new(None));
        let policy = Arc::clone(&wanted);
        let policy = move || -> Option<Arc<Policy>> { policy.lock().expect("whole").clone() };
        Self {
            replica: Replica::new(scorer, line, names.clone(), 0),
            candidate: Candidate::new(Arc::new(policy), (names, 0), limits),
            wanted,
            next: 0,
        }
    }

    fn wish(&self, policy: Arc<Policy>) {
        *self.wanted.lock().expect("whole") = Some(policy);
    }

    /// One batch of likes by a user at these seconds, as the shard does it.
    fn likes(&mut self, secs: &[i64]) -> Job {
        self.batch(RecordBatch::default(), secs)
    }

    /// Somebody passed the challenge of a decision, and nothing else is in the batch.
    fn passed(&mut self, decision: &Value) -> Job {
        let at = Timestamp::from_millis(T + 5_000);
        let (result, decision) = (FeedbackResult::ChallengePassed, decision.as_str().expect("an id"));
        let decision = decision.parse().expect("an id");
        let (id, actor) = ("f".to_owned(), "a test".to_owned());
        let feedback = feedback::encode(&Feedback { id, decision, result, actor, at, reason: None });
        let mut records = RecordBatch::default();
        let place = Coordinates { topic: Topic::Feedback, partition: 0, offset: 0 };
        records.push(place, stream::Timestamp::Append(at.millis()), None, Some(&feedback));
        self.batch(records, &[])
    }

    fn batch(&mut self, mut records: RecordBatch, secs: &[i64]) -> Job {
        for second in secs {
            let (at, offset) = (T + second * 1000, self.next);
            self.next += 1;
            let event = json!({"event_id": format!("e{offset}"), "occurred_at": at, "action": "like", "user_id": "u"});
            let place = Coordinates { topic: Topic::Interactions, partition: 0, offset };
            records.push(place, stream::Timestamp::Append(at), None, Some(event.to_string().as_bytes()));
        }
        let batch = Batch::from(&self.replica.line.positions, vec![Arc::new(records)]);
        let entry = Entry {
            kind: JournalKind::Batch,
            policy: self.replica.scorer.engine().policy().hash.to_string(),
            ticks: Vec::new(),
            ranges: batch.ranges(),
            skipped: Vec::new(),
        };
        let decided_at = Timestamp::from_millis(T + 99_000);
        let work = Work { entry: &entry, policy: None, batch: &batch, taken: Taken::NOTHING, decided_at };
        let (mut job, skip) = (Job::default(), BTreeSet::new());
        self.candidate.prepare(&mut self.replica.scorer, &mut job.report);
        self.replica.lead(&work, &skip, &mut job);
        self.candidate.score(&work, &skip, &mut self.replica.scorer, &mut job);
        job
    }
}

/// The records of a topic, without tallies.
fn told(job: &Job, topic: Topic) -> Vec<Value> {
    let of = job
        .out
        .iter()
        .filter(|record| record.topic == topic && !shadow_tally::is_tally(record.headers.iter()));
    of.map(|record| serde_json::from_slice(record.value.expect("a value")).expect("JSON")).collect()
}

fn tallies(job: &Job) -> Vec<ShadowTallyRecord> {
    let of = job.out.iter().filter(|record| shadow_tally::is_tally(record.headers.iter()));
    of.map(|record| {
        let tally = shadow_tally::decode(record.value).expect("a tally");
        assert_eq!((record.topic, record.key), (Topic::Shadow, Some(tally.key().as_bytes())));
        tally
    })
    .collect()
}

fn corrections(job: &Job) -> Vec<(&'static str, &'static str, u64)> {
    let name = |verdict: Option<Verdict>| verdict.map_or("none", Verdict::name);
    job.report
        .compared
        .corrections()
        .map(|((live, theirs), count)| (name(live), name(theirs), count))
        .collect()
}

fn pairs(job: &Job) -> Vec<(&'static str, &'static str, u64)> {
    let name = |verdict: Option<Verdict>| verdict.map_or("none", Verdict::name);
    job.report.compared.each().map(|((live, theirs), count)| (name(live), name(theirs), count)).collect()
}

/// Live allows one a minute, the candidate three. It begins with the second batch, and knows of the like in the first.
#[test]
fn it_tells_what_it_would_have_decided_otherwise_and_changes_nothing() {
    let (mut with, mut without) = (Bench::new(), Bench::new());
    let first = with.likes(&[0]);
    assert_eq!(pairs(&first), []);
    with.wish(policy(3, "reject"));
    let second = with.likes(&[1, 2, 3, 4]);
    assert_eq!(pairs(&second), [("challenge", "allow", 2), ("challenge", "reject", 2)]);
    let shadow = told(&second, Topic::Shadow);
    let verdicts: Vec<&Value> = shadow.iter().map(|record| &record["candidate"]["would_be"]).collect();
    assert_eq!(verdicts, ["allow", "allow", "reject", "reject"]);
    let decisions = told(&second, Topic::Decisions);
    for (shadow, decision) in shadow.iter().zip(&decisions) {
        assert_eq!(shadow["decision_id"], decision["decision_id"]);
        assert_eq!(
            (&shadow["actual_verdict"], &shadow["policy"]),
            (&json!("challenge"), &decision["policy"])
        );
        assert_eq!((&shadow["candidate"]["since"], &shadow["would_add"]), (&json!(T), &json!([])));
        assert_eq!(shadow["candidate"]["policy"], policy(3, "reject").hash.to_string());
    }
    // What both agree on is counted and not told.
    let third = with.likes(&[70]);
    assert_eq!((pairs(&third), told(&third, Topic::Shadow).len()), (vec![("allow", "allow", 1)], 0));

    let alone = [without.likes(&[0]), without.likes(&[1, 2, 3, 4]), without.likes(&[70])];
    assert_eq!(with.replica.line, without.replica.line, "the chain is the same");
    for (with, alone) in [first, second, third].iter().zip(&alone) {
        for topic in [Topic::Decisions, Topic::Journal] {
            assert_eq!(told(with, topic), told(alone, topic));
        }
        assert_eq!(with.offsets, alone.offsets);
    }
}

/// Live allows one a minute, the candidate three. What is counted is what was compared, in all, behind the journal's record.
#[test]
fn a_tally_goes_out_with_each_batch_in_which_something_was_compared() {
    let mut bench = Bench::new();
    assert_eq!(tallies(&bench.likes(&[0])), [], "none runs");
    bench.wish(policy(3, "reject"));
    let first = bench.likes(&[1, 2, 3, 4]);
    let last = first.out.iter().last().expect("records");
    assert!(shadow_tally::is_tally(last.headers.iter()), "behind all else");
    let hash = |policy: Arc<Policy>| policy.hash.to_string();
    let at = |secs: i64| Some(Timestamp::from_millis(T + 1000 * secs).into());
    let disagreed = |would_be: Verdict, decisions| DisagreedRecord {
        actual_verdict: Verdict::Challenge.into(),
        would_be: would_be.into(),
        decisions,
    };
    let expected = ShadowTallyRecord {
        candidate: hash(policy(3, "reject")),
        policy: hash(policy(1, "challenge")),
        shard: 0,
        since: at(0),
        first_event: at(1),
        last_event: at(4),
        decisions: 4,
        disagreed: vec![disagreed(Verdict::Allow, 2), disagreed(Verdict::Reject, 2)],
        only_live: 0,
        only_candidate: 0,
    };
    assert_eq!(tallies(&first), std::slice::from_ref(&expected));
    assert_eq!(tallies(&bench.likes(&[])), [], "nothing was compared");
    let second = bench.likes(&[70]);
    let expected = ShadowTallyRecord { last_event: at(70), decisions: 5, ..expected };
    assert_eq!(tallies(&second), std::slice::from_ref(&expected), "it goes on");
    // Another candidate goes on with the state, and is counted by itself.
    bench.wish(policy(4, "reject"));
    let other = tallies(&bench.likes(&[140]));
    let counted = (other[0].decisions, other[0].since, other[0].first_event);
    assert_eq!((counted, other[0].candidate == expected.candidate), ((1, at(0), at(140)), false));
    bench.wish(policy(3, "reject"));
    assert_eq!(tallies(&bench.likes(&[210]))[0].decisions, 6);
}

/// A panic in it ends it: what it had written of the batch is taken back, and live goes on. Another policy begins anew.
#[test]
fn one_that_panics_is_ended_alone() {
    let mut bench = Bench::new();
    bench.wish(policy(3, "reject"));
    assert_eq!(pairs(&bench.likes(&[0])), [("allow", "allow", 1)]);
    let running = bench.candidate.running.take().expect("it runs");
    let panics = |at: Coordinates| assert_ne!(at.offset, 2, "as it was asked to");
    let scorer = running.scorer.probed(Some(Arc::new(panics)));
    bench.candidate.running = Some(Running { scorer, ..running });
    let job = bench.likes(&[1, 2]);
    assert_eq!((told(&job, Topic::Decisions).len(), told(&job, Topic::Shadow).len()), (2, 0));
    assert_eq!(tallies(&job), []);
    assert_eq!((told(&job, Topic::Journal).len(), pairs(&job)), (1, vec![]));
    assert_eq!(pairs(&bench.likes(&[3])), [], "the same policy is not tried again");
    bench.wish(policy(5, "reject"));
    let job = bench.likes(&[4, 5]);
    assert_eq!(pairs(&job), [("challenge", "allow", 2)]);
    assert_eq!(told(&job, Topic::Shadow)[0]["candidate"]["since"], json!(T + 3_000));
}

/// Who passes a challenge is let through by each policy that gave one; the other has nothing to correct.
#[test]
fn corrections_of_both_are_compared() {
    for (candidate, expected) in [
        (policy(1, "challenge"), vec![vec![("allow", "allow", 1)], vec![]]),
        (policy(3, "reject"), vec![vec![], vec![("allow", "none", 1)]]),
    ] {
        let mut bench = Bench::new();
        bench.wish(candidate);
        let told = told(&bench.likes(&[0, 1]), Topic::Decisions);
        assert_eq!(told[1]["verdict"], "challenge");
        let passed = bench.passed(&told[1]["decision_id"]);
        let later = bench.likes(&[70]);
        assert_eq!([corrections(&passed), corrections(&later)], *expected);
        assert_eq!(pairs(&passed), []);
    }
}
