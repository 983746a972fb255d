//! A candidate is judged by what the topic of shadow says it would have decided beside the policy in place.
//!
//! Only disagreements are told there. How many decisions there were in all is on the topic of decisions: those under the
//! policy in place since the candidate's state was copied last. One that never disagreed leaves nothing to tell it from one
//! that did not run.

use std::sync::Arc;

use super::entry::Judged;
use super::{Place, short};
use crate::backtest::{Beside, Gate};
use crate::cli::PromoteArgs;
use crate::commands::{Failure, setup};
use crate::engine::time::Timestamp;
use crate::engine::verdict::Verdict;
use crate::pipeline::{ShardSettings, read_to_end};
use crate::stream::{Topic, TopicNames};
use crate::wire::words::VerdictWord;
use crate::wire::{decision, shadow};

/// See the module.
pub(super) fn judge(args: &PromoteArgs, place: &Place, candidate: &str) -> Result<Judged, Failure> {
    let gate = Gate::parse(&args.budget, true, false)
        .map_err(|error| Failure::of_usage(format!("--budget: {error}")))?;
    let names = TopicNames::with_prefix(&place.config.kafka.topic_prefix);
    let topic = names.get(Topic::Shadow).to_owned();
    let settings = Arc::new(setup::shard(&place.config, names));
    let Some(run) = newest_run(&settings, (&place.hash, candidate))? else {
        return Err(Failure::new(format!(
            "{topic} tells nothing of {} beside {}: it did not run there, or never disagreed \
             (weir_candidate_decisions_total says which)",
            short(candidate),
            short(&place.hash)
        )));
    };
    let beside = run.beside(decisions(&settings, &place.hash, run.since)?);
    let values = beside.values();
    if !gate.knows_any(&values) {
        return Err(Failure::of_usage(format!(
            "--budget: {gate}: the topic of shadow tells verdicts only; give --input or --from besides"
        )));
    }
    let ruling = gate.judge(&values);
    let since = run.since.map_or_else(String::new, |since| format!(" since {since}"));
    Ok(Judged {
        budget: args.budget.clone(),
        figures: ruling.told,
        input: format!("{topic}{since}"),
        decisions: beside.decisions(),
        over_budget: ruling.fails,
        forced: args.force.clone().filter(|_| ruling.fails),
    })
}

/// What a candidate said since its state was copied last.
#[derive(Debug, Default)]
struct Run {
    /// When that was; `None`: before the first event.
    since: Option<Timestamp>,
    /// What was decided, and what it would have.
    differs: Vec<(Verdict, Verdict)>,
}

impl Run {
    /// With so many decisions in all.
    fn beside(&self, decisions: u64) -> Beside {
        let mut beside = Beside::default();
        self.differs.iter().for_each(|(now, then)| beside.count(*now, *then, 1));
        // Which verdict both gave makes no difference to any figure.
        let agreed = decisions.saturating_sub(self.differs.len() as u64);
        beside.count(Verdict::Allow, Verdict::Allow, agreed);
        beside
    }
}

fn newest_run(
    settings: &Arc<ShardSettings>,
    (live, candidate): (&str, &str),
) -> Result<Option<Run>, Failure> {
    let mut run: Option<Run> = None;
    read_to_end(settings, Topic::Shadow, |record| {
        let Ok(told) = shadow::decode(record.value) else { return };
        let Some(theirs) = told.candidate.filter(|theirs| theirs.policy == candidate) else { return };
        if told.policy != live {
            return;
        }
        let since = theirs.since.map(Timestamp::from);
        if run.as_ref().is_none_or(|run| run.since < since) {
            run = Some(Run { since, differs: Vec::new() });
        }
        if let Some(run) = run.as_mut().filter(|run| run.since == since) {
            let known = |word: &VerdictWord| word.or_weaker(None);
            run.differs.push((known(&told.actual_verdict), known(&theirs.would_be)));
        }
    })?;
    Ok(run)
}

/// First decisions under a policy since then.
fn decisions(settings: &Arc<ShardSettings>, live: &str, since: Option<Timestamp>) -> Result<u64, Failure> {
    let mut count = 0;
    read_to_end(settings, Topic::Decisions, |record| {
        let Ok(told) = decision::decode(record.value) else { return };
        let counts = since.is_none_or(|since| Timestamp::from(told.effective_at) >= since);
        count += u64::from(told.revision == 0 && told.policy == live && counts);
    })?;
    Ok(count)
}
