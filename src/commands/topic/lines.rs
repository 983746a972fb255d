//! `--from TOPIC` where lines of a file are read: the interactions of a topic as lines of plain JSON, with their append times, in
//! the order in which a backtest takes them. What cannot be read is told at the end, and is no line.

use std::io::{self, Read};

use super::journal::Journal;
use super::{Places, merged, names};
use crate::backtest::{Part, Range};
use crate::cli::{ConfigArgs, FromTopic};
use crate::commands::reading::{self, Events};
use crate::commands::{Failure, policy, setup};
use crate::engine::time::Span;
use crate::evaluate::read::{Faults, Format, Input};
use crate::wire::interaction::{DecodeLimits, decode, plain};

/// See the module.
struct Lines {
    source: merged::Source,
    name: String,
    limits: DecodeLimits,
    range: Range,
    faults: Faults,
    places: Places,
    text: Vec<u8>,
    at: usize,
}

/// The lines of a topic.
///
/// # Errors
/// Kafka does not answer, or it is not the topic of interactions.
pub(in crate::commands) fn events(args: &ConfigArgs, from: &FromTopic) -> Result<Events, Failure> {
    let config = setup::config(args)?;
    let names = names(&config, &from.topic)?;
    let policy = policy::configured(&config)?.load_or_fail()?.policy;
    let record_max = usize::try_from(config.kafka.record_bytes_max).unwrap_or(usize::MAX);
    let limits = DecodeLimits { record_max, ..DecodeLimits::default() };
    let journal = Journal::open(&config, names, policy.clone(), limits)?;
    let range = Range { since: from.since, until: from.until, warm_up: Span::ZERO };
    let mut faults = Faults::default();
    let extent = merged::extent(journal.settings(), &range, None, &mut faults)?;
    let source = merged::open(journal.settings(), &extent, (&policy.settings, limits))?;
    let (name, text, places) = (from.topic.clone(), Vec::new(), Places::default());
    let lines =
        Lines { source, name: name.clone(), limits, range, faults, places: places.clone(), text, at: 0 };
    let input = Input { name, from: Box::new(lines), format: Format::JsonLines };
    Ok(Events { input, length: None, places: Some(places) })
}

impl Lines {
    /// Makes the next line; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        self.at = 0;
        self.text.clear();
        while let Some(record) =
            self.source.next(&mut self.faults).map_err(|failure| io::Error::other(failure.text))?
        {
            let decoded = decode(record.value.as_deref(), &record.headers(), &self.limits).map(|decoded| {
                let append = record.append.unwrap_or(decoded.event.occurred_at);
                (append, plain(&decoded.event, Some(append)))
            });
            match decoded {
                Ok((append, line)) if record.unread.is_none() => {
                    if self.range.part(append) == Part::Inside {
                        self.places.note(record.partition, record.offset);
                        self.text = line;
                        self.text.push(b'\n');
                        return Ok(true);
                    }
                }
                unread => {
                    let why = unread
                        .err()
                        .map_or("a header's name is no text".to_owned(), |error| error.to_string());
                    let place = || format!("{}/{}@{}", self.name, record.partition, record.offset);
                    self.faults.note("not readable", place, why);
                }
            }
        }
        reading::faults(&std::mem::take(&mut self.faults));
        Ok(false)
    }
}

impl Read for Lines {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() && !self.fill()? {
            return Ok(0);
        }
        let count = (&self.text[self.at..]).read(into)?;
        self.at += count;
        Ok(count)
    }
}
