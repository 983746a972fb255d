//! A candidate is judged by what the topic of shadow says it would have decided beside the policy in place.
//!
//! Its tally there says how many decisions there were in all. Where there is none, as of an earlier version of weir, they are
//! counted on the topic of decisions: those under the policy in place since the candidate's state was copied last.

use std::sync::Arc;

use super::entry::Judged;
use super::evidence::Evidence;
use super::{Place, short};
use crate::backtest::Gate;
use crate::cli::PromoteArgs;
use crate::commands::{Failure, setup, tell};
use crate::engine::time::Timestamp;
use crate::pipeline::{ShardSettings, read_to_end};
use crate::stream::{Topic, TopicNames};
use crate::wire::decision;

/// See the module.
pub(super) fn judge(args: &PromoteArgs, place: &Place, candidate: &str) -> Result<Judged, Failure> {
    let gate = Gate::parse(&args.budget, true, false)
        .map_err(|error| Failure::of_usage(format!("--budget: {error}")))?;
    let names = TopicNames::with_prefix(&place.config.kafka.topic_prefix);
    let topic = names.get(Topic::Shadow).to_owned();
    let settings = Arc::new(setup::shard(&place.config, names));
    let mut evidence = Evidence::new(&place.hash, candidate);
    read_to_end(&settings, Topic::Shadow, |record| evidence.hear(record))?;
    let Some(run) = evidence.newest() else {
        return Err(Failure::new(format!(
            "{topic} has no evidence of {} beside {}, neither a tally nor a disagreement: it did not run there, or has \
             decided nothing yet (weir_candidate_running and weir_candidate_decisions_total say which)",
            short(candidate),
            short(&place.hash)
        )));
    };
    let in_all = run.decisions().map_or_else(|| decisions(&settings, &place.hash, run.since), Ok)?;
    let beside = run.beside(in_all);
    let values = beside.values();
    if !gate.knows_any(&values) {
        return Err(Failure::of_usage(format!(
            "--budget: {gate}: the topic of shadow tells verdicts only; give --input or --from besides"
        )));
    }
    let ruling = gate.judge(&values);
    let since = run.since.map_or_else(String::new, |since| format!(" since {since}"));
    let input = format!("{topic}{since}: {}", run.told());
    tell(&format!("judged by {input}"));
    Ok(Judged {
        budget: args.budget.clone(),
        figures: ruling.told,
        input,
        decisions: beside.decisions(),
        over_budget: ruling.fails,
        forced: args.force.clone().filter(|_| ruling.fails),
    })
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
