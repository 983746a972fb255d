//! Where the model came to in the end, held against what the topics tell last.

use std::collections::{BTreeMap, BTreeSet};

use super::bans;
use super::outcomes::Found;
use super::record::History;
use super::verdict::{Place, Verdict};
use crate::engine::ban::Ban;
use crate::engine::case::Case;
use crate::engine::entity::Entity;
use crate::verify::model::Answer;
use crate::wire::case;
use crate::wire::decision::DecisionRecord;

/// What a case is about: a rule and an entity.
type Matter = (String, Entity);

/// Where bans and cases have come to by the model.
#[derive(Default)]
pub(super) struct Ends {
    pub(super) bans: BTreeMap<Entity, Vec<Ban>>,
    pub(super) cases: BTreeMap<String, Case>,
    /// Ids of decisions that feedback revised.
    pub(super) revisions: BTreeSet<String>,
    /// Matters whose cases only the engine can know, now and ever.
    pub(super) doubted: BTreeSet<Matter>,
    pub(super) once_doubted: BTreeSet<Matter>,
    /// Ids under which policies establish crowds: corrections and cases of those only the engine can know.
    pub(super) campaigns: BTreeSet<String>,
}

impl Ends {
    /// What is in doubt of a line that ends here, or that begins anew.
    pub(super) fn doubt(&mut self, matters: &BTreeSet<Matter>) {
        self.doubted.extend(matters.iter().cloned());
        self.once_doubted.extend(matters.iter().cloned());
    }

    /// A case goes on from what was told of it: that is no longer in doubt.
    pub(super) fn take_over(&mut self, case: &Case) {
        if self.doubted.remove(&matter(case)) {
            self.cases.insert(case.id.clone(), case.clone());
        }
    }

    /// Whether a revision is the correction of a campaign, or takes one back.
    pub(super) fn is_correction(&self, told: &DecisionRecord) -> bool {
        told.reasons.iter().any(|reason| {
            reason.detail.id == "campaign-cleared" || self.campaigns.contains(&reason.detail.id)
        })
    }
}

/// Revisions that nothing asked for.
pub(super) fn uncalled(found: &Found, expected: &Ends, verdict: &mut Verdict) {
    let told = found.decisions.values().flatten();
    let mut told: Vec<_> = told
        .filter(|(_, told)| told.revision > 0 && !expected.revisions.contains(&told.decision_id))
        .filter(|(_, told)| !expected.is_correction(told))
        .collect();
    told.sort_by(|a, b| a.0.cmp(&b.0));
    for (place, told) in told {
        let text = format!("nothing asked for revision {}", told.decision_id);
        verdict.violate("decision differs", place.clone(), text);
    }
}

fn matter(case: &Case) -> Matter {
    (case.rule.clone(), case.entity.clone())
}

/// Whether two tellings are of one case, however many events they count.
fn is_one(told: &Case, case: &Case) -> bool {
    let of = |case: &Case| (case.code.clone(), case.proposal.clone(), case.opened_at);
    matter(told) == matter(case) && of(told) == of(case)
}

pub(super) fn note_cases(answer: &Answer, ends: &mut Ends) {
    for case in &answer.cases {
        ends.cases.insert(case.id.clone(), case.clone());
    }
}

pub(super) fn compare_bans(expected: &Ends, told: &bans::Told, verdict: &mut Verdict) {
    let none = Vec::new();
    for (entity, bans) in &expected.bans {
        verdict.count("banned entities compared", 1);
        let place = || Place { topic: "bans".to_owned(), partition: 0, offset: -1 };
        let (place, now) =
            told.newest.get(entity).map_or((place(), &none), |(place, bans)| (place.clone(), bans));
        if now != bans {
            let text = format!("the bans of {entity} are {} and not {}", shown(now), shown(bans));
            verdict.violate(if now.is_empty() { "ban lost" } else { "ban differs" }, place, text);
        }
    }
    let free = told
        .newest
        .iter()
        .filter(|(entity, (_, bans))| !bans.is_empty() && !expected.bans.contains_key(*entity));
    for (entity, (place, bans)) in free {
        let text = format!("{entity} is told to be banned by {} and is not", shown(bans));
        verdict.violate("ban differs", place.clone(), text);
    }
}

fn shown(bans: &[Ban]) -> String {
    let one = |ban: &Ban| {
        let end = ban.expires_at.map_or("lifted".to_owned(), |end| end.to_string());
        format!("{} until {end} ({})", ban.verdict, ban.id)
    };
    if bans.is_empty() { "none".to_owned() } else { bans.iter().map(one).collect::<Vec<_>>().join(", ") }
}

pub(super) fn compare_cases(history: &History, expected: &Ends, verdict: &mut Verdict) {
    let mut told = BTreeMap::<String, (Place, Case)>::new();
    for record in &history.cases {
        match case::decode(record.value.as_deref()) {
            Ok(case) => drop(told.insert(case.id.clone(), (record.place(), case))),
            Err(error) => verdict.violate("case unreadable", record.place(), error.to_string()),
        }
    }
    // Of a campaign's case only the engine knows how it grew.
    for (id, case) in expected.cases.iter().filter(|(_, case)| !expected.campaigns.contains(&case.rule)) {
        verdict.count("cases compared", 1);
        match told.get(id) {
            Some((_, told)) if told == case => {}
            Some((_, told)) if expected.doubted.contains(&matter(case)) && is_one(told, case) => {
                verdict.count("cases of which only the engine can know the events", 1);
            }
            None if expected.once_doubted.contains(&matter(case)) => {
                verdict.count("cases of which only the engine can know the events", 1);
            }
            Some((place, told)) => {
                let text = format!("case {id} is told as {told:?}; it is {case:?}");
                verdict.violate("case differs", place.clone(), text);
            }
            None => {
                let place = Place { topic: "cases".to_owned(), partition: 0, offset: -1 };
                verdict.violate("case lost", place, format!("case {id} was never told"));
            }
        }
    }
    let own = |case: &Case| {
        expected.campaigns.contains(&case.rule) || expected.once_doubted.contains(&matter(case))
    };
    let uncalled = told.iter().filter(|(id, (_, case))| !expected.cases.contains_key(*id) && !own(case));
    for (id, (place, _)) in uncalled {
        verdict.violate("case differs", place.clone(), format!("case {id} was told and there is none"));
    }
}
