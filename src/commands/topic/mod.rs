//! `weir backtest --from TOPIC`: events of a topic through the policies of a backtest.
//!
//! No group is joined and nothing is committed. With `--follow-journal` all that went in when it was live goes in again, in
//! the very order that the journal tells, operators' actions and feedback too; otherwise the partitions are merged by
//! time. A range may begin from a checkpoint that lies before it ([`origin`]). What was decided live is read beside it, and how far the candidate agrees is told.

#[cfg(feature = "parquet")]
mod archive;
mod hearing;
mod journal;
mod learnt;
mod lines;
mod live;
mod merged;
mod origin;
mod places;

use std::sync::Arc;

#[cfg(feature = "parquet")]
pub(super) use self::archive::rows;
use self::hearing::Hearing;
use self::journal::Journal;
pub(super) use self::lines::events;
use self::live::Live;
use self::origin::Restored;
pub(super) use self::places::Places;
use super::progress::Progress;
use super::{Failure, backtest, needless, reading, setup};
use crate::backtest::{Findings, Pass, Range, Scout, Side, Thin};
use crate::cli::{BacktestArgs, exit};
use crate::config::Config;
use crate::evaluate::read::Format;
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
    needless::of_lines(&args.reading, Format::JsonLines)?;
    let config = setup::config(&args.config)?;
    let names = names(&config, topic)?;
    let record_max = usize::try_from(config.kafka.record_bytes_max).unwrap_or(usize::MAX);
    let limits = DecodeLimits { record_max, ..DecodeLimits::default() };
    let options = Options { name: topic.to_owned(), as_of: reading::as_of(&args.reading), limits };
    let thin = args.sample.map(|share| Thin::new(share, sides.iter().map(|side| &*side.policy)));
    let policies: Vec<_> = sides.iter().map(|side| Arc::clone(&side.policy)).collect();
    let against = sides.split_off(1);
    let candidate = sides.remove(0);
    let policy = Arc::clone(&candidate.policy);
    let mut journal = Journal::open(&config, names, Arc::clone(&policy), limits)?;
    let mut session = if args.topic_labels {
        reading::labelled(&args.reading, learnt::NAME, learnt::labels(journal.settings())?.as_bytes())?
    } else {
        reading::session(&args.reading, args.labels.as_deref())?
    };
    policies.iter().for_each(|policy| session.odd.heed(policy));
    let live = Live::read(journal.settings(), &policy)?;
    let seed = setup::seed(&config);
    let (origin, mut restored) = match &args.checkpoints {
        Some(dir) => {
            let (origin, restored) = origin::find(dir, &mut journal, (seed, range), args.follow_journal)?;
            (Some(origin), restored)
        }
        None => (None, None),
    };
    if args.follow_journal || restored.is_some() {
        // All that is read of what came before warms up.
        range = range.warmed_by_all();
    }
    let mut pass = Pass::new(candidate, against, seed, (options.clone(), range), labelled);
    if let Some(origin) = origin {
        let state = restored.as_mut().map(|restored| &mut restored.engine);
        pass = pass.beginning(state, origin).map_err(|error| Failure::new(error.to_string()))?;
    }
    let stands = restored.map(|Restored { journal_next, line, .. }| (journal_next, line));
    let mut facts = Vec::new();
    let hearing =
        |pass, session| Hearing::new(pass, session, live, Progress::start(None, false), topic.to_owned());
    let (hearing, order) = if args.follow_journal {
        let start = stands.and_then(|(next, line)| Some((next?, line)));
        let mut hearing = hearing(pass, session);
        journal.follow(&mut hearing, start)?;
        (hearing, "that of the journal: the very order in which it was live")
    } else {
        let (settings, how) = (journal.settings(), (&policy.settings, limits));
        let stands = stands.as_ref().map(|(_, line)| &line.positions);
        let extent = merged::extent(settings, &range, stands, &mut session.faults)?;
        if let Some(thin) = thin {
            let mut scout = Scout::new(thin, options);
            merged::open(settings, &extent, how)?.scout(&mut scout)?;
            let thin = scout.end();
            facts = backtest::about_sample(&thin);
            pass = pass.thinned(Some(thin));
        }
        let mut hearing = hearing(pass, session);
        merged::open(settings, &extent, how)?.hear(&mut hearing)?;
        (hearing, "partitions merged by effective time, as live merges each batch; equal times by partition")
    };
    let Hearing { pass, mut session, live, notes, progress, .. } = hearing;
    progress.finish();
    let ran = pass.end();
    if let Some(labels) = &args.labels {
        session.end(&labels.display().to_string());
    }
    let mut facts: Vec<_> = backtest::facts(args, topic, order).into_iter().chain(facts).collect();
    facts.push(("live decisions".to_owned(), live.told()));
    if !notes.is_empty() {
        facts.push(("to be known".to_owned(), notes.join("; ")));
    }
    Ok(Findings::new(ran, &session.groups, (session.faults, session.odd), backtest::mask(args), facts))
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
