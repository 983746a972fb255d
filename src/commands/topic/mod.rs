//! `weir backtest --from TOPIC`: events of a topic through the policies of a backtest.
//!
//! No group is joined and nothing is committed. With `--follow-journal` all that went in when it was live goes in again, in
//! the very order that the journal tells, operators' actions and feedback too; otherwise the partitions are merged by
//! time. What was decided live is read beside it, and how far the candidate agrees is told.

#[cfg(feature = "parquet")]
mod archive;
mod hearing;
mod journal;
mod learnt;
mod lines;
mod live;
mod merged;

use std::sync::Arc;

#[cfg(feature = "parquet")]
pub(super) use self::archive::rows;
use self::hearing::Hearing;
use self::journal::Journal;
pub(super) use self::lines::events;
use self::live::Live;
use super::progress::Progress;
use super::{Failure, backtest, reading, setup};
use crate::backtest::{Findings, Pass, Range, Side};
use crate::cli::{BacktestArgs, exit};
use crate::config::Config;
use crate::engine::time::Span;
use crate::pipeline::FollowError;
use crate::replay::Options;
use crate::stream::{Topic, TopicNames};
use crate::wire::interaction::DecodeLimits;

/// Leads a topic through the policies. `range` is what counts; `labelled`: the truth about some events will be told.
///
/// # Errors
/// Kafka does not answer, the topic is not that of interactions, or the journal cannot be followed.
pub(super) fn pass(
    args: &BacktestArgs,
    topic: &str,
    mut sides: Vec<Side>,
    (mut range, labelled): (Range, bool),
) -> Result<Findings, Failure> {
    let config = setup::config(&args.config)?;
    let names = names(&config, topic)?;
    let record_max = usize::try_from(config.kafka.record_bytes_max).unwrap_or(usize::MAX);
    let limits = DecodeLimits { record_max, ..DecodeLimits::default() };
    let options = Options { name: topic.to_owned(), as_of: reading::as_of(&args.reading), limits };
    if args.follow_journal {
        // All that the journal tells of what came before warms up.
        range.warm_up = Span::from_millis(i64::MAX);
    }
    let against = sides.split_off(1);
    let candidate = sides.remove(0);
    let policy = Arc::clone(&candidate.policy);
    let mut journal = Journal::open(&config, names, Arc::clone(&policy), limits)?;
    let session = if args.topic_labels {
        reading::labelled(&args.reading, learnt::NAME, learnt::labels(journal.settings())?.as_bytes())?
    } else {
        reading::session(&args.reading, args.labels.as_deref())?
    };
    let live = Live::read(journal.settings(), &policy)?;
    let pass = Pass::new(candidate, against, setup::seed(&config), (options, range), labelled);
    let mut hearing = Hearing::new(pass, session, live, Progress::start(None, false), topic.to_owned());
    let order = if args.follow_journal {
        journal.follow(&mut hearing)?;
        "that of the journal: the very order in which it was live"
    } else {
        let settings = journal.settings();
        let faults = &mut hearing.session.faults;
        merged::open(settings, &range, (&policy.settings, limits), faults)?.hear(&mut hearing)?;
        "partitions merged by effective time, as live merges each batch; equal times by partition"
    };
    let Hearing { pass, mut session, live, notes, progress, .. } = hearing;
    progress.finish();
    let ran = pass.end();
    if let Some(labels) = &args.labels {
        session.end(&labels.display().to_string());
    }
    let mut facts = backtest::facts(args, topic, order);
    facts.push(("live decisions".to_owned(), live.told()));
    if !notes.is_empty() {
        facts.push(("to be known".to_owned(), notes.join("; ")));
    }
    Ok(Findings::new(ran, &session.groups, session.faults, backtest::mask(args), facts))
}

/// The names of all topics, if `topic` is that of interactions.
fn names(config: &Config, topic: &str) -> Result<TopicNames, Failure> {
    let names = TopicNames::with_prefix(&config.kafka.topic_prefix);
    let interactions = names.get(Topic::Interactions);
    if topic == interactions {
        return Ok(names);
    }
    let text =
        format!("--from {topic}: interactions are in {interactions} (see topic_prefix in the configuration)");
    Err(Failure::of_usage(text))
}

impl From<FollowError> for Failure {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Stream(error) => error.into(),
            FollowError::Input(problem) => problem.error.into(),
            error => Self { code: exit::FAILURE, text: format!("error: {error}") },
        }
    }
}
