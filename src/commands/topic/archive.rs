//! `weir export --from TOPIC`: the interactions of a topic as rows, with what holds of each.

use std::collections::HashMap;
use std::sync::Arc;

use super::journal::Journal;
use super::{merged, names};
use crate::archive::{Row, Told};
use crate::backtest::Range;
use crate::cli::ExportArgs;
use crate::commands::{Failure, policy, setup};
use crate::engine::time::{Span, Timestamp};
use crate::evaluate::read::Faults;
use crate::pipeline::{ShardSettings, read_to_end};
use crate::stream::{StreamError, Topic};
use crate::wire::decision;
use crate::wire::interaction::{DecodeLimits, decode, plain};

/// By partition and offset.
type Decided = HashMap<(i32, i64), Told>;

/// Hands out each interaction of the range, as a backtest orders them.
///
/// # Errors
/// Kafka does not answer, it is not the topic of interactions, or `each` fails.
pub(in crate::commands) fn rows(
    args: &ExportArgs,
    faults: &mut Faults,
    each: &mut dyn FnMut(Row) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(from) = &args.from else { return Err(Failure::of_usage("give --input or --from")) };
    let config = setup::config(&args.config)?;
    let names = names(&config, &from.topic)?;
    let policy = policy::configured(&config)?.load_or_fail()?.policy;
    let record_max = usize::try_from(config.kafka.record_bytes_max).unwrap_or(usize::MAX);
    let limits = DecodeLimits { record_max, ..DecodeLimits::default() };
    let journal = Journal::open(&config, names, Arc::clone(&policy), limits)?;
    let mut decided = read(journal.settings())?;
    let typed = args.range();
    let range = Range { since: typed.since, until: typed.until, warm_up: Span::ZERO };
    let extent = merged::extent(journal.settings(), &range, None, faults)?;
    let mut source = merged::open(journal.settings(), &extent, (&policy.settings, limits))?;
    while let Some(record) = source.next(faults)? {
        let place = || format!("{}/{}@{}", from.topic, record.partition, record.offset);
        let headers = record.headers();
        let decoded = match decode(record.value.as_deref(), &headers, &limits) {
            Ok(decoded) if record.unread.is_none() => decoded,
            Ok(_) => {
                faults.note("not readable", place, "a header's name is no text");
                continue;
            }
            Err(error) => {
                faults.note("not readable", place, error.to_string());
                continue;
            }
        };
        let append = record.append.unwrap_or(decoded.event.occurred_at);
        if !is_within(&range, append) {
            continue;
        }
        let line = String::from_utf8(plain(&decoded.event, Some(append))).expect("JSON is text");
        let told = decided.remove(&(record.partition, record.offset));
        each(Row { partition: record.partition, offset: record.offset, line, told })?;
    }
    Ok(())
}

fn is_within(range: &Range, append: Timestamp) -> bool {
    range.since.is_none_or(|since| append >= since) && range.until.is_none_or(|until| append < until)
}

/// What holds of each event. Without a topic of decisions, nothing is known.
fn read(settings: &Arc<ShardSettings>) -> Result<Decided, Failure> {
    let mut decided = Decided::new();
    let read = read_to_end(settings, Topic::Decisions, |record| {
        let Ok(decision) = decision::decode(record.value) else { return };
        let place = (decision.source.partition, decision.source.offset);
        let told = Told::of(&decision);
        let told = match decided.remove(&place) {
            Some(earlier) => told.with(earlier),
            None => told,
        };
        decided.insert(place, told);
    });
    match read {
        Ok(()) | Err(StreamError::TopicMissing { .. }) => Ok(decided),
        Err(error) => Err(error.into()),
    }
}
