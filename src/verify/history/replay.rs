//! The reference model fed in the order that the journal says, and all that was told held against it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::Options;
use super::bans;
use super::compare::{Ends, compare_bans, compare_cases, note_cases, uncalled};
use super::journal::{Lane, Lines};
use super::outcomes::Found;
use super::record::{History, LogRecord};
use super::verdict::{Place, Verdict};
use crate::engine::ban::Ban;
use crate::engine::case::Case;
use crate::engine::decision::DecisionId;
use crate::engine::event::Arrival;
use crate::engine::input::Outcome;
use crate::engine::policy::Policy;
use crate::engine::policy::load::load;
use crate::engine::time::Timestamp;
use crate::verify::model::{Expected, Hint, Model, Told};
use crate::wire::error::DecodeError;
use crate::wire::interaction::{self, Decoded};
use crate::wire::journal::{JournalKind, JournalRecord};
use crate::wire::{command, feedback, policy};

/// Feeds the model, shard by shard.
pub(super) fn check(
    history: &History,
    lines: &Lines,
    found: &Found,
    told: &bans::Told,
    options: &Options<'_>,
    verdict: &mut Verdict,
) {
    let inputs = by_lane(history);
    let policies = policies(history, options, verdict);
    let mut expected = Ends::default();
    let mut whole = true;
    for line in lines.shards.values() {
        let mut replay = Replay {
            history,
            inputs: &inputs,
            policies: &policies,
            found,
            told,
            options,
            verdict,
            model: None,
            carried: None,
            crowded: crowded(&policies, found),
            is_past_a_crowd: false,
            ends: &mut expected,
        };
        whole &= replay.walk(line);
    }
    if whole {
        compare_bans(&expected, told, verdict);
        compare_cases(history, &expected, verdict);
        uncalled(found, &expected, verdict);
    }
}

type Inputs<'h> = HashMap<Lane, Vec<&'h LogRecord>>;

fn by_lane(history: &History) -> Inputs<'_> {
    let mut lanes = Inputs::new();
    for record in history.inputs() {
        lanes.entry((record.topic.clone(), record.partition)).or_default().push(record);
    }
    for lane in lanes.values_mut() {
        lane.sort_by_key(|record| record.offset);
    }
    lanes
}

fn policies(history: &History, options: &Options<'_>, verdict: &mut Verdict) -> HashMap<String, Arc<Policy>> {
    let mut policies: HashMap<String, Arc<Policy>> =
        options.policies.iter().map(|policy| (policy.hash.to_string(), Arc::clone(policy))).collect();
    for record in &history.policies {
        match policy::decode(record.value.as_deref()) {
            Ok((hash, _)) if policies.contains_key(&hash) => {}
            Ok((hash, files)) => match load(&files) {
                Ok(loaded) => drop(policies.insert(hash, loaded.policy)),
                Err(problems) => {
                    let text = format!("policy {hash} does not load: {} problems", problems.len());
                    verdict.violate("policy unreadable", record.place(), text);
                }
            },
            Err(error) => verdict.violate("policy unreadable", record.place(), error.to_string()),
        }
    }
    policies
}

struct Replay<'r> {
    history: &'r History,
    inputs: &'r Inputs<'r>,
    policies: &'r HashMap<String, Arc<Policy>>,
    found: &'r Found,
    told: &'r bans::Told,
    options: &'r Options<'r>,
    verdict: &'r mut Verdict,
    model: Option<Model>,
    /// After a reset: bans that were in force and are not taken over yet.
    carried: Option<Carried>,
    /// Targets of which a decision says that a crowd spoke.
    crowded: HashSet<&'r str>,
    /// State began anew with events on one of them. What was decided on those then is told nowhere, and so not what it left
    /// behind: which limits counted, who was penalised.
    is_past_a_crowd: bool,
    ends: &'r mut Ends,
}

fn crowded<'f>(policies: &HashMap<String, Arc<Policy>>, found: &'f Found) -> HashSet<&'f str> {
    let priors: HashSet<&str> = policies
        .values()
        .filter_map(|policy| policy.crowds.as_ref())
        .map(|crowds| crowds.prior.id.as_str())
        .collect();
    let told = found.decisions.values().flatten().map(|(_, told)| told);
    let spoke = told.filter(|told| told.reasons.iter().any(|reason| priors.contains(&*reason.detail.id)));
    spoke.filter_map(|told| told.target_id.as_deref()).collect()
}

/// Bans and cases on their way over a reset.
#[derive(Default)]
struct Carried {
    /// By id.
    left: BTreeMap<String, Ban>,
    /// Ids of open cases.
    cases: BTreeSet<String>,
    /// The journal tells what is taken over.
    told: bool,
}

/// An interaction with what it says, as the merge sees it.
struct Head<'h> {
    record: &'h LogRecord,
    decoded: Result<Decoded<'h>, DecodeError>,
    at: Timestamp,
}

impl<'r> Replay<'r> {
    /// False when the line cannot be followed: its beginning or a policy is not there any more.
    fn walk(&mut self, line: &'r [(Place, JournalRecord)]) -> bool {
        for (place, record) in line {
            let Some(policy) = self.policies.get(&record.policy).cloned() else {
                let text = format!(
                    "the text of policy {} is not there: nothing can be compared from here on",
                    record.policy
                );
                self.verdict.violate("policy missing", place.clone(), text);
                return false;
            };
            match (record.kind, &mut self.model) {
                (JournalKind::Reset, _) => self.reset(&policy, record.revised_to),
                (_, None) if record.seq == 0 => self.model = Some(Model::new(Arc::clone(&policy))),
                (_, None) => {
                    self.verdict.count("journals that the model cannot follow from their middle", 1);
                    return false;
                }
                (_, Some(model)) if model.policy().hash != policy.hash => drop(model.activate(&policy)),
                _ => {}
            }
            match record.kind {
                JournalKind::Batch | JournalKind::Warm => self.batch(record),
                JournalKind::Bans => self.take_bans(record),
                JournalKind::Ready => self.ready(place),
                JournalKind::Reset | JournalKind::Lost => {}
            }
            if self.model.as_ref().is_some_and(Model::is_blind) {
                self.verdict.count("journals that the model cannot follow past an eviction", 1);
                return false;
            }
            if self.is_past_a_crowd {
                self.verdict.count(
                    "journals that the model cannot follow past a crowd that state began anew with",
                    1,
                );
                return false;
            }
        }
        let Some(model) = &self.model else { return true };
        self.ends.doubt(model.doubted_cases());
        for ban in model.bans() {
            self.ends.bans.entry(ban.entity.clone()).or_default().push(ban);
        }
        true
    }

    /// State begins anew, but nobody who is banned goes free.
    fn reset(&mut self, policy: &Arc<Policy>, revised_to: u32) {
        let before = self.model.take();
        before.iter().for_each(|before| self.ends.doubt(before.doubted_cases()));
        let bans = before.as_ref().map(Model::bans).unwrap_or_default();
        let mut model = Model::new(Arc::clone(policy));
        model.begin_anew(revised_to);
        model.restore(bans.clone());
        self.model = Some(model);
        let left = bans.into_iter().map(|ban| (ban.id.clone(), ban)).collect();
        let cases = |model: Model| model.open_cases().into_iter().collect();
        self.carried = before.map(|before| Carried { left, cases: cases(before), told: false });
    }

    /// The journal says which bans and cases are taken over.
    fn take_bans(&mut self, record: &JournalRecord) {
        let model = self.model.as_mut().expect("the line began");
        let carried = self.carried.get_or_insert_default();
        if !carried.told {
            carried.told = true;
            model.forget_bans();
        }
        for ban in record.bans.iter().cloned().flat_map(crate::wire::ban::BanRecord::into_bans) {
            carried.left.remove(&ban.id);
            model.restore(vec![ban]);
        }
        let cases: Vec<Case> = record.cases.iter().cloned().map(Case::from).collect();
        for case in &cases {
            carried.cases.remove(&case.id);
            self.ends.take_over(case);
        }
        model.restore_cases(cases);
    }

    /// All open cases have been taken over, and all bans that were in force, unless they came to their end meanwhile.
    fn ready(&mut self, place: &Place) {
        let model = self.model.as_mut().expect("the line began");
        model.warm();
        let now = model.now();
        let Some(carried) = self.carried.take().filter(|carried| carried.told) else { return };
        for ban in carried.left.into_values().filter(|ban| ban.expires_at.is_none_or(|end| end > now)) {
            let text = format!("ban {} of {} was in force and is not taken over", ban.id, ban.entity);
            self.verdict.violate("ban lost", place.clone(), text);
        }
        for case in carried.cases {
            self.verdict.violate(
                "case lost",
                place.clone(),
                format!("case {case} was open and is not taken over"),
            );
        }
    }

    /// Ticks, then commands, then feedback, then interactions by time.
    fn batch(&mut self, record: &JournalRecord) {
        let model = self.model.as_mut().expect("it was made when the line began");
        for tick in &record.ticks {
            let answer = model.tick(Timestamp::from(*tick));
            note_cases(&answer, self.ends);
        }
        let muted = record.kind == JournalKind::Warm;
        let mut lanes = BTreeMap::<i32, Vec<&'r LogRecord>>::new();
        let names = &self.history.names;
        let (mut commands, mut answers) = (BTreeMap::new(), BTreeMap::new());
        for range in &record.ranges {
            let records = self.range(&range.topic, range.partition, (range.from, range.to));
            let lanes = match &range.topic {
                topic if *topic == names.commands => &mut commands,
                topic if *topic == names.feedback => &mut answers,
                _ => &mut lanes,
            };
            lanes.entry(range.partition).or_insert_with(Vec::new).extend(records);
        }
        commands.into_values().flatten().for_each(|record| self.command(record, muted));
        answers.into_values().flatten().for_each(|record| self.feedback(record, muted));
        for head in self.merged(&lanes) {
            let place = head.record.place();
            let skipped = record.skipped.iter().find(|skipped| {
                let at = &skipped.source;
                (&at.topic, at.partition, at.offset) == (&place.topic, place.partition, place.offset)
            });
            match skipped {
                Some(skipped) => self.dead(&place, &skipped.reason, muted),
                None => self.interaction(head, muted),
            }
        }
    }

    fn range(&self, topic: &str, partition: i32, (from, to): (i64, i64)) -> Vec<&'r LogRecord> {
        let lane = self.inputs.get(&(topic.to_owned(), partition)).map_or(&[][..], Vec::as_slice);
        lane.iter().filter(|record| (from..to).contains(&record.offset)).copied().collect()
    }

    /// Of the next record of each partition always the one that counts earliest; of equals the lower partition's.
    fn merged(&self, lanes: &BTreeMap<i32, Vec<&'r LogRecord>>) -> Vec<Head<'r>> {
        let head = |record: &&'r LogRecord| self.head(record);
        let mut lanes: Vec<Vec<Head<'r>>> =
            lanes.values().map(|lane| lane.iter().rev().map(head).collect()).collect();
        let mut merged = Vec::new();
        loop {
            let next =
                lanes.iter().enumerate().filter_map(|(lane, left)| Some((left.last()?.at, lane))).min();
            let Some((_, lane)) = next else { return merged };
            merged.extend(lanes[lane].pop());
        }
    }

    fn head(&self, record: &'r LogRecord) -> Head<'r> {
        let headers: Vec<_> = record.headers();
        let decoded = if record.unreadable {
            Err(DecodeError::header_name())
        } else {
            interaction::decode(record.value.as_deref(), &headers, &self.options.limits)
        };
        let append = record.timestamp;
        let at = match &decoded {
            Ok(decoded) => {
                let occurred = decoded.event.occurred_at;
                let append = append.unwrap_or(occurred);
                let settings = &self.model.as_ref().expect("the line began").policy().settings;
                let (earliest, latest) = (append.before(settings.grace), append.after(settings.skew));
                let ahead = occurred > append.after(settings.max_skew);
                if ahead { append } else { occurred.clamp(earliest, latest) }
            }
            Err(_) => append.unwrap_or_default(),
        };
        Head { record, decoded, at }
    }

    fn command(&mut self, record: &LogRecord, muted: bool) {
        let place = record.place();
        match command::decode(record.value.as_deref(), &record.headers()) {
            Ok(command) => {
                let append_time = record.timestamp.unwrap_or(command.at);
                let arrival = arrival(record, append_time);
                let model = self.model.as_mut().expect("the line began");
                let answer = model.command(&command, arrival);
                if !muted {
                    self.verdict.count("commands compared", 1);
                    note_cases(&answer, self.ends);
                    self.alive(&place, "a command that can be read");
                }
            }
            Err(error) => self.dead(&place, error.reason.name(), muted),
        }
    }

    fn feedback(&mut self, record: &LogRecord, muted: bool) {
        let place = record.place();
        let feedback = match feedback::decode(record.value.as_deref()) {
            Ok(feedback) => feedback,
            Err(error) => return self.dead(&place, error.reason.name(), muted),
        };
        let append_time = record.timestamp.unwrap_or(feedback.at);
        let model = self.model.as_mut().expect("the line began");
        let answer = model.feedback(&feedback, arrival(record, append_time));
        if muted {
            return;
        }
        self.verdict.count("feedback compared", 1);
        note_cases(&answer, self.ends);
        self.alive(&place, "feedback that can be read");
        if answer.unsure || self.is_corrected(&feedback.decision) {
            return self.any_revision(&feedback.decision);
        }
        if let Some(expected) = &answer.expected {
            self.revision(&place, &feedback.decision, expected);
        }
    }

    /// A revision must be told that says what feedback made of the decision.
    fn revision(&mut self, cause: &Place, decision: &DecisionId, expected: &Expected) {
        self.ends.revisions.insert(expected.id.clone());
        let about = |place: &&Place| (place.partition, place.offset) == (decision.partition, decision.offset);
        let all = self.found.decisions.iter().find(|(place, _)| about(place)).map(|(_, all)| all);
        let told = all.into_iter().flatten().find(|(_, told)| told.decision_id == expected.id);
        let Some((at, told)) = told else {
            let text = format!("revision {} is to be told and is not", expected.id);
            return self.verdict.violate("lost output", cause.clone(), text);
        };
        self.verdict.count("revisions compared", 1);
        let faults = expected.faults(&Told::by_record(told));
        if !faults.is_empty() {
            let text = format!("revision {} for {cause}: {}", expected.id, faults.join("; "));
            self.verdict.violate("decision differs", at.clone(), text);
        }
    }

    /// Whether a campaign corrected a decision: how it stands then only the engine can know.
    fn is_corrected(&self, decision: &DecisionId) -> bool {
        let about = |place: &&Place| (place.partition, place.offset) == (decision.partition, decision.offset);
        let told = self.found.decisions.iter().filter(|(place, _)| about(place)).flat_map(|(_, all)| all);
        told.into_iter().any(|(_, told)| told.revision > 0 && self.ends.is_correction(told))
    }

    /// Whatever is told of this decision may be right.
    fn any_revision(&mut self, decision: &DecisionId) {
        self.verdict.count("answers to decisions that only the engine can know", 1);
        let about = |place: &&Place| (place.partition, place.offset) == (decision.partition, decision.offset);
        let all = self.found.decisions.iter().filter(|(place, _)| about(place)).flat_map(|(_, all)| all);
        self.ends.revisions.extend(all.map(|(_, told)| told.decision_id.clone()));
    }

    fn interaction(&mut self, head: Head<'_>, muted: bool) {
        let place = head.record.place();
        let decoded = match head.decoded {
            Ok(decoded) => decoded,
            Err(error) => return self.dead(&place, error.reason.name(), muted),
        };
        let append_time = head.record.timestamp.unwrap_or(decoded.event.occurred_at);
        let found = self.found.first(&place).filter(|_| !muted);
        let told = found.map(|(_, decision)| Told::by_record(decision));
        let hint = Hint { told: told.as_ref(), bans: Some(&self.told.ids) };
        let model = self.model.as_mut().expect("the line began");
        let campaign = model.policy().crowds.as_ref().map(|crowds| crowds.campaign.info.id.clone());
        let answer = model.event(&decoded.event, arrival(head.record, append_time), hint);
        if muted {
            let target = decoded.event.target.as_deref();
            self.is_past_a_crowd |= target.is_some_and(|target| self.crowded.contains(target));
            return;
        }
        self.ends.campaigns.extend(campaign);
        note_cases(&answer, self.ends);
        match (answer.outcome, &answer.expected, found, &told) {
            (Outcome::DeadLettered(reason), ..) => self.dead(&place, reason.name(), false),
            (Outcome::Decided, Some(expected), Some((at, _)), Some(told)) => {
                self.verdict.count("decisions compared", 1);
                self.verdict.count(
                    "decisions that depend on what only the engine can know",
                    u64::from(expected.followed > 0),
                );
                let faults = expected.faults(told);
                if !faults.is_empty() {
                    let text = format!("the decision on {place}: {}", faults.join("; "));
                    self.verdict.violate("decision differs", at.clone(), text);
                }
            }
            (Outcome::Decided, ..) => {
                self.verdict.violate("lost output", place, "it is to be decided and no decision tells of it");
            }
            (Outcome::Duplicate, _, Some((at, _)), _) => {
                let text = format!("{place} is a duplicate and was decided");
                self.verdict.violate("decision differs", at.clone(), text);
            }
            _ => self.alive(&place, "a duplicate"),
        }
    }

    /// There must be a dead letter with this reason.
    fn dead(&mut self, place: &Place, reason: &str, muted: bool) {
        let letters = self.found.dead.get(place).map_or(&[][..], Vec::as_slice);
        match letters.first() {
            _ if muted => {}
            Some((_, told)) if told == reason => self.verdict.count("dead letters compared", 1),
            Some((at, told)) => {
                let text = format!("the dead letter of {place} says `{told}` and not `{reason}`");
                self.verdict.violate("dead letter differs", at.clone(), text);
            }
            None => {
                self.verdict.violate(
                    "lost output",
                    place.clone(),
                    format!("no dead letter says `{reason}` of it"),
                );
            }
        }
    }

    /// There must be no dead letter.
    fn alive(&mut self, place: &Place, what: &str) {
        if let Some((at, reason)) = self.found.dead.get(place).and_then(|letters| letters.first()) {
            let text = format!("{place} is {what}, and a dead letter says `{reason}` of it");
            self.verdict.violate("dead letter differs", at.clone(), text);
        }
    }
}

fn arrival(record: &LogRecord, append_time: Timestamp) -> Arrival<'_> {
    Arrival { topic: &record.topic, partition: record.partition, offset: record.offset, append_time }
}
