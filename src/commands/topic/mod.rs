//! `weir backtest --from TOPIC`: events of a topic through the policies of a backtest.
//!
//! No group is joined and nothing is committed. With `--follow-journal` all that went in when it was live goes in again, in
//! the very order that the journal tells, operators' actions and feedback too; otherwise the partitions are merged by time,
//! a slice of time after the other. What was decided live is read beside it, and how far the candidate agrees is told.

mod hearing;
mod live;
mod source;

use std::sync::Arc;

use self::hearing::Hearing;
use self::live::Live;
use self::source::Source;
use super::{Failure, backtest, reading, setup, tell};
use crate::backtest::{Findings, Mask, Pass, Range, Side};
use crate::cli::{BacktestArgs, exit};
use crate::engine::time::Span;
use crate::pipeline::FollowError;
use crate::replay::Options;
use crate::stream::{Topic, TopicNames};
use crate::wire::interaction::DecodeLimits;

/// Leads a topic through the policies. `range` is what counts.
///
/// # Errors
/// Kafka does not answer, the topic is none of interactions, or the journal cannot be followed.
pub(super) fn pass(
    args: &BacktestArgs,
    mut sides: Vec<Side>,
    topic: &str,
    (mut range, labelled): (Range, bool),
) -> Result<Findings, Failure> {
    let config = setup::config(&args.config)?;
    let names = names(topic)?;
    let session = reading::session(&args.reading, args.labels.as_deref())?;
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
    let mut source = Source::open(&config, names, Arc::clone(&policy), limits)?;
    let live = Live::read(source.settings(), &policy)?;
    let pass = Pass::new(candidate, against, setup::seed(&config), (options, range), labelled);

    let mut hearing = Hearing::new(pass, session, live, source.settings().names.clone());
    let order = match args.follow_journal {
        true => source.follow(&mut hearing)?,
        false => source.merged(range, &mut hearing)?,
    };
    let Hearing { pass, mut session, live, notes, .. } = hearing;
    let ran = pass.end();
    if let Some(labels) = &args.labels {
        session.end(&labels.display().to_string());
    }
    reading::faults(&session.faults);
    notes.iter().for_each(|note| tell(note));
    let mut facts = vec![
        ("topic".to_owned(), topic.to_owned()),
        ("order".to_owned(), order.to_owned()),
        ("live decisions".to_owned(), live.told()),
    ];
    if !notes.is_empty() {
        facts.push(("to be known".to_owned(), notes.join("; ")));
    }
    facts.push(("command".to_owned(), backtest::command(args)));
    let mask = if args.unmask { Mask::Plain } else { Mask::Masked };
    Ok(Findings::new(ran, &session.groups, session.faults, mask, facts))
}

/// The names of all topics beside the one of interactions.
fn names(topic: &str) -> Result<TopicNames, Failure> {
    let name = Topic::Interactions.name();
    let prefix = topic.strip_suffix(name).ok_or_else(|| {
        Failure::of_usage(format!(
            "--from: `{topic}` does not end in `{name}`, as a topic of interactions does"
        ))
    })?;
    Ok(TopicNames::with_prefix(prefix))
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
