//! The newest checkpoint from which a range of a topic can begin.
//!
//! It fits when it was made by this version with this seed and these record limits, stands at or before the beginning of the
//! range in each partition of interactions, and the topic still holds what came after it. While the journal reaches back to
//! it, the journal must hold its record, too: a checkpoint of a batch that was never committed is none.

use std::path::Path;

use super::journal::Journal;
use crate::backtest::{Cut, Origin, PassedOver, Range};
use crate::commands::{Failure, setup, tell};
use crate::engine::key::HashSeed;
use crate::engine::time::Timestamp;
use crate::engine::{Engine, SEMANTICS};
use crate::pipeline::{Line, Logs, Positions, basis, behind, line_of, revive};
use crate::state::{Archive, Generation, Meta, holder};
use crate::stream::{Held, Lookup, Topic};

/// A checkpoint in memory.
pub(super) struct Restored {
    pub(super) engine: Engine,
    /// Where it stands.
    pub(super) line: Line,
    /// The offset of the journal behind its record; `None` where the journal no longer reaches back to it.
    pub(super) journal_next: Option<i64>,
}

/// One partition of interactions.
struct Lane {
    held: Held,
    /// Its first offset in the range.
    begins: i64,
}

/// Searches a folder; what was found and passed over, and the checkpoint.
///
/// # Errors
/// There is no such folder, the range has no beginning, or Kafka does not answer.
pub(super) fn find(
    dir: &Path,
    journal: &mut Journal,
    (seed, range): (HashSeed, Range),
    followed: bool,
) -> Result<(Origin, Option<Restored>), Failure> {
    let Some(since) = range.since else {
        return Err(Failure::of_usage("--checkpoints begins a range: give --from TOPIC@TIME..TIME"));
    };
    if !dir.is_dir() {
        return Err(Failure::new(format!("--checkpoints {}: there is no such folder", dir.display())));
    }
    if let Some(holder) = holder(dir) {
        tell(&format!("{} is in use by {holder}; its checkpoints are read as they stand now", dir.display()));
    }
    let lanes = lanes(journal, since)?;
    let ours = basis(&seed, &journal.limits());
    let archive = Archive::at(dir);
    let mut journal_next = None;
    let newest = archive.newest(
        |generation| is_ours(generation, &ours),
        |generation, pages| {
            let line = line_of(pages.meta(), &journal.settings().names)?;
            precedes(journal, &line.positions, &lanes)?;
            journal_next = confirmed(journal, generation, followed)?;
            let meta: Meta = pages.meta().clone();
            let pages = pages.map(|page| page.map_err(|error| error.to_string()));
            Ok::<_, String>((revive(&meta, pages, seed)?, line))
        },
    )?;
    let mut origin = Origin::default();
    for skipped in newest.skipped {
        origin.passed_over.push(PassedOver { generation: Some(skipped.generation), why: skipped.why });
    }
    let Some((generation, (engine, line))) = newest.found else {
        if origin.passed_over.is_empty() {
            let why = format!("there are none in {}", dir.display());
            origin.passed_over.push(PassedOver { generation: None, why });
        }
        return Ok((origin, None));
    };
    let made_at = Timestamp::from_millis(generation.created_at);
    origin.checkpoint = Some(Cut::new(generation.generation, made_at, engine.now(), &generation.policy));
    Ok((origin, Some(Restored { engine, line, journal_next })))
}

fn lanes(journal: &Journal, since: Timestamp) -> Result<Vec<Lane>, Failure> {
    let settings = journal.settings();
    let lookup = Lookup::open(&settings.kafka, &settings.names)?;
    let partitions = lookup.partitions(Topic::Interactions, setup::PATIENCE)?;
    let begins = lookup.at_time(Topic::Interactions, partitions, since.millis().max(0), setup::PATIENCE)?;
    let mut lanes = Vec::new();
    for (partition, begins) in (0..).zip(begins) {
        let held = lookup.held(Topic::Interactions, partition, setup::PATIENCE)?;
        lanes.push(Lane { held, begins: begins.unwrap_or(held.high) });
    }
    Ok(lanes)
}

fn is_ours(generation: &Generation, ours: &str) -> Result<(), String> {
    if generation.semantics != SEMANTICS {
        let theirs = &generation.semantics;
        return Err(format!(
            "it was made by version {theirs} of the engine's semantics; this is {SEMANTICS}"
        ));
    }
    if generation.basis != ours {
        return Err("it was made with another seed or other record limits".to_owned());
    }
    Ok(())
}

/// Whether the range begins at or behind these positions, and the topic holds all between.
fn precedes(journal: &Journal, positions: &Positions, lanes: &[Lane]) -> Result<(), String> {
    let name = journal.settings().names.get(Topic::Interactions);
    for (partition, Lane { held, begins }) in (0..).zip(lanes) {
        let at = positions.get(&(Topic::Interactions, partition)).copied().unwrap_or(0);
        if at > *begins {
            return Err(format!("it stands at {name}/{partition}@{at}, and the range begins at {begins}"));
        }
        if at < held.low {
            let low = held.low;
            return Err(format!(
                "it stands at {name}/{partition}@{at}, and the topic begins at {low} by now"
            ));
        }
    }
    Ok(())
}

/// The offset behind its record in the journal, if the journal reaches back to it. To `follow` the journal, it must.
fn confirmed(journal: &mut Journal, generation: &Generation, follow: bool) -> Result<Option<i64>, String> {
    let logs = journal.logs();
    let held = logs.journal_held().map_err(|error| error.to_string())?;
    let next = behind(logs, generation, held).map_err(|error| error.to_string())?;
    match next {
        None if generation.journal_from >= held.0 => {
            Err("the committed journal does not hold its record".to_owned())
        }
        None if follow => Err("the journal no longer reaches back to it".to_owned()),
        next => Ok(next),
    }
}
