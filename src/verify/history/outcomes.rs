//! What became of every input: exactly one outcome each, and no outcome without an input.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::Options;
use super::journal::Lines;
use super::record::{History, LogRecord};
use super::verdict::{Place, Verdict};
use crate::engine::decision::DecisionId;
use crate::engine::event::Arrival;
use crate::engine::time::Timestamp;
use crate::wire::dead_letter;
use crate::wire::decision::{self, DecisionRecord};
use crate::wire::interaction;

/// The outcomes that were told, by the input they are about.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Decisions, revisions included, in the order of the topic.
    pub(super) decisions: HashMap<Place, Vec<(Place, DecisionRecord)>>,
    /// Reasons of dead letters.
    pub(super) dead: HashMap<Place, Vec<(Place, String)>>,
    /// Ids that reasons of decisions name: bans are among them.
    pub(super) reasons: BTreeSet<String>,
    /// The latest time at which an event counted.
    pub(super) newest: Timestamp,
}

/// Reads decisions and dead letters.
pub(super) fn gather(history: &History, verdict: &mut Verdict) -> Found {
    let mut found = Found::default();
    for record in &history.decisions {
        verdict.count("decisions", 1);
        match decision::decode(record.value.as_deref()) {
            Ok(decision) => found.note(record, decision, verdict),
            Err(error) => verdict.violate("decision unreadable", record.place(), error.to_string()),
        }
    }
    for record in &history.dead_letters {
        verdict.count("dead letters", 1);
        match dead_letter::read(&record.headers()) {
            Ok((headers, _)) => match (headers.partition.parse(), headers.offset.parse()) {
                (Ok(partition), Ok(offset)) => {
                    let about = Place { topic: headers.topic, partition, offset };
                    found.dead.entry(about).or_default().push((record.place(), headers.reason));
                }
                _ => verdict.violate(
                    "dead letter unreadable",
                    record.place(),
                    "its coordinates are no numbers",
                ),
            },
            Err(error) => verdict.violate("dead letter unreadable", record.place(), error.to_string()),
        }
    }
    found
}

impl Found {
    fn note(&mut self, record: &LogRecord, decision: DecisionRecord, verdict: &mut Verdict) {
        let source = &decision.source;
        let about = Place { topic: source.topic.clone(), partition: source.partition, offset: source.offset };
        let arrival = Arrival {
            topic: &source.topic,
            partition: source.partition,
            offset: source.offset,
            append_time: decision.append_time.into(),
        };
        let first = DecisionId::first(&arrival, &decision.event_id);
        let right = DecisionId { revision: decision.revision, ..first }.to_string();
        if decision.decision_id != right {
            let text =
                format!("the id of the decision on {about} is {} and not {right}", decision.decision_id);
            verdict.violate("decision id", record.place(), text);
        }
        let replaced =
            decision.revision.checked_sub(1).map(|revision| DecisionId { revision, ..first }.to_string());
        if decision.supersedes != replaced {
            let text = format!(
                "revision {} of the decision on {about} supersedes {:?} and not {replaced:?}",
                decision.revision, decision.supersedes
            );
            verdict.violate("revision", record.place(), text);
        }
        self.newest = self.newest.max(decision.effective_at.into());
        self.reasons.extend(decision.reasons.iter().map(|reason| reason.detail.id.clone()));
        self.decisions.entry(about).or_default().push((record.place(), decision));
    }

    /// The first decision on an input.
    pub(super) fn first(&self, input: &Place) -> Option<&(Place, DecisionRecord)> {
        self.decisions.get(input)?.iter().find(|(_, decision)| decision.revision == 0)
    }
}

/// Checks the outcomes of every input.
pub(super) fn check(
    history: &History,
    lines: &Lines,
    found: &Found,
    options: &Options<'_>,
    verdict: &mut Verdict,
) {
    let mut repeated = Repeated::default();
    let mut inputs = HashSet::new();
    let mut lowest = BTreeMap::<(&str, i32), i64>::new();
    for input in history.inputs() {
        let place = input.place();
        let low = lowest.entry((&input.topic, input.partition)).or_insert(input.offset);
        *low = (*low).min(input.offset);
        let interaction = input.topic == history.names.interactions;
        let again = interaction && repeated.note(input, options);
        let decisions = found.decisions.get(&place).map_or(&[][..], Vec::as_slice);
        let dead = found.dead.get(&place).map_or(&[][..], Vec::as_slice);
        revisions(&place, decisions, lines.began_anew, verdict);
        let first = decisions.iter().filter(|(_, decision)| decision.revision == 0).count();
        let outcomes = first + dead.len();
        verdict.count(if interaction { "interactions" } else { "commands and feedback" }, 1);
        if !lines.covers(input) {
            if outcomes > 0 {
                let text = format!("{place} has an outcome although no record of the journal covers it");
                verdict.violate("outcome without journal", outcome_place(decisions, dead, &place), text);
            }
            verdict.count("inputs not applied yet", 1);
        } else if outcomes > 1 {
            let text = format!("{place} has {first} decisions and {} dead letters", dead.len());
            verdict.violate("two outcomes", outcome_place(decisions, dead, &place), text);
        } else if outcomes == 0 && interaction && !again {
            verdict.violate(
                "lost output",
                place.clone(),
                "it was applied, and neither a decision nor a dead letter tells of it",
            );
        } else if outcomes == 0 && interaction {
            verdict.count("duplicates", 1);
        }
        inputs.insert(place);
    }
    strangers(found, &inputs, &lowest, verdict);
}

/// Where the last outcome of an input stands.
fn outcome_place(decisions: &[(Place, DecisionRecord)], dead: &[(Place, String)], input: &Place) -> Place {
    let decisions = decisions.iter().map(|(place, _)| place);
    decisions.chain(dead.iter().map(|(place, _)| place)).last().unwrap_or(input).clone()
}

/// Revisions of one decision count up from 0 and come once each. Only where state began anew may numbers be left out.
fn revisions(input: &Place, decisions: &[(Place, DecisionRecord)], may_leap: bool, verdict: &mut Verdict) {
    let mut numbers = BTreeSet::new();
    for (place, decision) in decisions {
        if !numbers.insert(decision.revision) && decision.revision > 0 {
            let text = format!("revision {} of the decision on {input} comes twice", decision.revision);
            verdict.violate("revision", place.clone(), text);
        }
        let newest = numbers.last() == Some(&decision.revision);
        let before = decision.revision.checked_sub(1);
        let follows = before.is_none_or(|before| if may_leap { newest } else { numbers.contains(&before) });
        if !follows {
            let text = format!(
                "revision {} of the decision on {input} comes before the one it replaces",
                decision.revision
            );
            verdict.violate("revision", place.clone(), text);
        }
    }
}

/// Outcomes of inputs that are not there, although younger than the oldest that is.
fn strangers(
    found: &Found,
    inputs: &HashSet<Place>,
    lowest: &BTreeMap<(&str, i32), i64>,
    verdict: &mut Verdict,
) {
    let decisions =
        found.decisions.iter().flat_map(|(about, all)| all.iter().map(move |(place, _)| (about, place)));
    let dead = found.dead.iter().flat_map(|(about, all)| all.iter().map(move |(place, _)| (about, place)));
    let mut strange: Vec<(&Place, &Place)> =
        decisions.chain(dead).filter(|(about, _)| !inputs.contains(about)).collect();
    strange.sort();
    for (about, place) in strange {
        match lowest.get(&(about.topic.as_str(), about.partition)) {
            Some(low) if about.offset < *low => verdict.count("outcomes whose input has left the topic", 1),
            _ => {
                verdict.violate("outcome without input", place.clone(), format!("there is no input {about}"));
            }
        }
    }
}

/// Which interactions came before, by actor and id: the only ones that may have no outcome.
#[derive(Default)]
struct Repeated {
    seen: HashSet<(String, String)>,
}

impl Repeated {
    fn note(&mut self, record: &LogRecord, options: &Options<'_>) -> bool {
        let headers = record.headers();
        let Ok(decoded) = interaction::decode(record.value.as_deref(), &headers, &options.limits) else {
            return false;
        };
        let event = &decoded.event;
        let actor = event.user.as_deref().or(event.ip.as_deref()).unwrap_or_default();
        !self.seen.insert((actor.to_owned(), event.id.clone().into_owned()))
    }
}
