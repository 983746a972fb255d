//! Behind a commit: what the readers of this process see, and the metrics.

use std::sync::{Arc, Mutex, PoisonError};

use crate::clock;
use crate::desk::{Readiness, Serving, ServingUpdate, SubjectUpdate, VerdictSeen};
use crate::engine::Outcome;
use crate::engine::entity::Entity;
use crate::engine::time::Timestamp;
use crate::metrics;
use crate::pipeline::{Report, Touched, TouchedBy};

use super::poison::Poison;

/// Publishes committed batches.
pub(super) struct Telling {
    serving: Arc<Serving>,
    readiness: Arc<Readiness>,
    poison: Mutex<Poison>,
}

impl Telling {
    pub(super) fn new(serving: Arc<Serving>, readiness: Arc<Readiness>) -> Self {
        Self { serving, readiness, poison: Mutex::default() }
    }

    /// Publishes one committed batch.
    pub(super) fn tell(&self, report: &mut Report) {
        measure(report);
        self.look_for_poison(report);
        let now = clock::now();
        let touched = std::mem::take(&mut report.touched);
        let subjects = touched.into_iter().filter_map(|(entity, touched)| subject(entity, touched, now));
        let bans = std::mem::take(&mut report.bans);
        self.serving.publish(ServingUpdate { as_of: report.as_of, bans, subjects: subjects.collect() });
    }
}

impl Telling {
    /// Sets or ends the alarm at `/readyz`, in the log and in the metrics.
    fn look_for_poison(&self, report: &Report) {
        let dead = report.tally.dead_letters().values().sum();
        let mut poison = self.poison.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(alarmed) = poison.note(report.tally.consumed, dead) else { return };
        let words = poison.words();
        if alarmed {
            tracing::error!("{words}");
        } else {
            tracing::info!("most records can be decided again");
        }
        metrics::poisoned(alarmed);
        self.readiness.set_alarm(alarmed.then_some(words));
    }
}

/// What readers see of an entity; `None` when it was only asked for and nothing is known of it.
fn subject(entity: Entity, touched: Touched, now: Timestamp) -> Option<SubjectUpdate> {
    let known = touched.profile.and_then(|profile| SubjectUpdate::of_profile(profile, now));
    let verdict = touched.verdict.map(verdict);
    let update = known.or_else(|| verdict.is_some().then(|| SubjectUpdate::seen(entity, now)))?;
    Some(SubjectUpdate { verdict, ..update })
}

fn verdict(by: TouchedBy) -> VerdictSeen {
    VerdictSeen {
        decision: by.decision,
        at: by.at,
        action: by.action,
        verdict: by.verdict,
        score: by.score,
        codes: by.codes.into_iter().map(Arc::from).collect(),
    }
}

fn measure(report: &Report) {
    for (outcome, count) in report.tally.each() {
        metrics::outcome(outcome, count);
        debug_assert!(!matches!(outcome, Outcome::Ticked));
    }
    for (verdict, count) in report.tally.verdicts() {
        metrics::decisions(verdict, count);
    }
    for ((live, candidate), count) in report.compared.each() {
        metrics::candidate(live, candidate, count);
    }
    for ((live, candidate), count) in report.compared.corrections() {
        metrics::candidate_corrects(live, candidate, count);
    }
    for (rule, mode, count) in report.hits.rules() {
        metrics::rule_hits(rule, mode, count);
    }
    for fell in &report.fell_back {
        metrics::fell_back(&fell.rule, fell.then);
        tracing::warn!(
            rule = &*fell.rule,
            accounts = fell.accounts,
            until = %fell.until,
            "the rule acted on as many accounts as its blast_radius allows and is in {} until then: correct it, or give \
             it a larger one",
            fell.then
        );
    }
    for (code, count) in report.hits.quality() {
        metrics::quality(code, count);
    }
    let now = clock::now();
    for append_time in &report.append_times {
        metrics::event_to_decision(now.since(*append_time).millis() as f64 / 1000.0, 1);
    }
}
