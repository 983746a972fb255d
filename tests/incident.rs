//! The founding incident, at a fifth of its size, against the standard policy: who is acted on, and who is not.

use std::collections::{BTreeMap, BTreeSet};

use weir::config::standard;
use weir::engine::event::Arrival;
use weir::engine::key::HashSeed;
use weir::engine::policy::load::load;
use weir::engine::time::Timestamp;
use weir::engine::verdict::Verdict;
use weir::engine::{Engine, Input, Outcome, Outputs};
use weir::sim::{Incident, Scenario, SimEvent, Simulation, Truth};
use weir::wire::interaction::{DecodeLimits, decode};

fn a_fifth() -> Scenario {
    let incident = Incident { accounts: 600, likes: 8_000, camouflage: 4_000, ..Incident::FULL };
    Scenario { honest_accounts: 5_200, incidents: vec![incident], ..Scenario::demo() }
}

/// What the engine made of a simulation.
#[derive(Default)]
struct Record {
    decided: usize,
    duplicates: usize,
    /// The strongest verdict of each account.
    worst: BTreeMap<String, Verdict>,
    /// Targets that a case is about.
    cases: BTreeSet<String>,
    /// Likes of the campaign on its article that were let through.
    counted: u32,
}

fn play(simulation: &Simulation) -> Record {
    let loaded = load(&standard::files()).unwrap_or_else(|problems| panic!("{}", problems[0]));
    let mut engine = Engine::new(loaded.policy, HashSeed(7, 9));
    let mut record = Record::default();
    for (offset, event) in (0..).zip(simulation.events()) {
        record.note(simulation, &event, offset, &mut engine);
    }
    record
}

impl Record {
    fn note(&mut self, simulation: &Simulation, event: &SimEvent<'_>, offset: i64, engine: &mut Engine) {
        let mut line = Vec::new();
        event.write_json(&mut line);
        let decoded =
            decode(Some(&line), &[], &DecodeLimits::default()).expect("simulated lines are interactions");
        let append_time = Timestamp::from_millis(event.at_ms);
        let arrival = Arrival { topic: "simulated", partition: 0, offset, append_time };
        let mut out = Outputs::default();
        match engine.apply(Input::Event(&decoded.event, arrival), &mut out) {
            Outcome::Decided => self.decided += 1,
            Outcome::Duplicate => self.duplicates += 1,
            other => panic!("{other:?}"),
        }
        self.cases.extend(out.cases.into_iter().map(|case| case.entity.to_string()));
        let Some(judgement) = out.judgement else { return };
        let worst = self.worst.entry(event.account.id.clone()).or_default();
        *worst = judgement.verdict.max(*worst);
        let pushed = simulation.campaigns().iter().any(|c| event.target_id == Some(&c.target_id));
        if pushed && event.truth() != Truth::Honest && judgement.verdict == Verdict::Allow {
            self.counted += 1;
        }
    }

    fn above_allow(&self, simulation: &Simulation, honest: bool) -> usize {
        let acted = self.worst.iter().filter(|(_, verdict)| **verdict > Verdict::Allow);
        acted.filter(|(id, _)| (simulation.truth(id) == Some(Truth::Honest)) == honest).count()
    }
}

#[test]
fn the_bought_crowd_is_acted_on_and_nobody_else() {
    let simulation = Simulation::new(&a_fifth(), 21);
    let record = play(&simulation);
    assert_eq!(record.decided + record.duplicates, simulation.events().len());
    assert!(record.duplicates > 0, "retries are in it");
    let acted = record.above_allow(&simulation, false);
    assert!(acted * 100 >= 600 * 95, "{acted} of 600 bought accounts are acted on");
    assert_eq!(record.above_allow(&simulation, true), 0, "honest accounts above allow");
    let campaign = &simulation.campaigns()[0];
    assert_eq!(
        record.cases,
        BTreeSet::from([format!("target:{}", campaign.target_id)]),
        "one matter, one case"
    );
    assert!(record.counted * 5 < campaign.likes, "{} of {} likes count", record.counted, campaign.likes);
}

#[test]
fn an_ordinary_quarter_of_an_hour_disturbs_nobody() {
    let scenario = Scenario { incidents: Vec::new(), ..a_fifth() };
    let simulation = Simulation::new(&scenario, 22);
    let record = play(&simulation);
    assert!(record.decided > 10_000);
    assert_eq!(record.above_allow(&simulation, true), 0, "honest accounts above allow");
    assert!(record.cases.is_empty(), "{:?}", record.cases);
}
