//! What became of campaigns, by the topics alone.

use std::collections::{BTreeMap, BTreeSet};

use weir::engine::case::{CaseOutcome, Resolution};
use weir::stream::Topic;
use weir::wire::case;
use weir::wire::decision::{self, DecisionRecord};
use weir::wire::journal::{self, JournalKind};

use crate::broker::Broker;
use crate::instance::Seen;

/// The id under which the policy establishes campaigns, and that of what takes a correction back.
const CAMPAIGN: &str = "campaign";
const CLEARED: &str = "campaign-cleared";

/// Decisions that are told after a case was cleared until all that it takes back is: a few with each input.
const SOON: usize = 60;

/// What was told of one event, by revision, each with its offset in the topic.
type Told = BTreeMap<u32, (i64, DecisionRecord)>;

/// What was told of each event.
fn decisions(broker: &Broker) -> BTreeMap<(i32, i64), Told> {
    let mut by = BTreeMap::<_, Told>::new();
    for (_, record) in broker.all(Topic::Decisions) {
        let told = decision::decode(record.value.as_deref()).expect("a decision");
        let event = (told.source.partition, told.source.offset);
        by.entry(event).or_default().insert(told.revision, (record.offset, told));
    }
    by
}

/// The end of the topic of decisions at a time.
fn end_at(broker: &Broker, time: i64) -> i64 {
    let before = broker.all(Topic::Decisions).filter(|(_, record)| record.append <= time);
    before.map(|(_, record)| record.offset + 1).max().unwrap_or(0)
}

/// Whoever clears a campaign has all of it taken back that this line of state had changed; or is told that nothing was.
pub fn cleared_ones_are_taken_back(broker: &Broker) {
    let decisions = decisions(broker);
    let journal = broker.all(Topic::Journal).map(|(_, record)| record);
    let is_reset =
        |value: Option<&[u8]>| journal::decode(value).expect("a record").kind == JournalKind::Reset;
    let reset = journal.filter(|record| is_reset(record.value.as_deref())).map(|record| record.append).max();
    for (_, record) in broker.all(Topic::Cases).filter(|(_, record)| Some(record.append) > reset) {
        let case = case::decode(record.value.as_deref()).expect("a case");
        let cleared =
            |decided: &Resolution| decided.outcome == CaseOutcome::Cleared && decided.undone.is_none();
        if case.rule != CAMPAIGN || !case.resolution.as_ref().is_some_and(cleared) {
            continue;
        }
        let since = end_at(broker, reset.unwrap_or(0));
        let (before, later) = (end_at(broker, record.append - 1), end_at(broker, record.append));
        let firsts = decisions.values().filter_map(|told| told.get(&0));
        if firsts.filter(|(offset, _)| *offset >= later).count() < SOON {
            continue;
        }
        let on_target =
            |told: &&Told| told.values().any(|(_, told)| told.target_id == Some(case.entity.value.clone()));
        for told in decisions.values().filter(on_target) {
            let raised = |(offset, told): &&(i64, DecisionRecord)| {
                (since..before).contains(offset) && says(told, CAMPAIGN)
            };
            let Some((_, (_, last))) =
                told.last_key_value().filter(|_| told.values().any(|told| raised(&told)))
            else {
                continue;
            };
            let answered = last.reasons.iter().any(|reason| reason.family == "feedback");
            assert!(
                says(last, CLEARED) || answered,
                "{} stands although {} was cleared",
                last.decision_id,
                case.id
            );
        }
    }
}

/// Whether a revision says this of itself.
fn says(told: &DecisionRecord, reason: &str) -> bool {
    told.revision > 0 && told.reasons.iter().any(|told| told.detail.id == reason)
}

/// Counts what a run made of them.
pub fn count(broker: &Broker, seen: &mut Seen) {
    let cases = broker.all(Topic::Cases).filter_map(|(_, record)| case::decode(record.value.as_deref()).ok());
    let ids: BTreeSet<String> = cases.filter(|case| case.rule == CAMPAIGN).map(|case| case.id).collect();
    let told = decisions(broker);
    let says_so = |told: &&Told, reason: &str| told.values().any(|(_, told)| says(told, reason));
    let having = |reason| told.values().filter(|told| says_so(told, reason)).count() as u64;
    seen.campaigns += ids.len() as u64;
    seen.corrected += having(CAMPAIGN);
    seen.reversed += having(CLEARED);
}
