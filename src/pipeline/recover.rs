//! Recovery: where a replica begins to follow. The newest checkpoint whose record stands in the journal, else the journal's
//! nearest reset, else nowhere: then state begins anew.

use std::time::Duration;

use crate::engine::Engine;
use crate::engine::cut::{Page, Restore};
use crate::engine::key::HashSeed;
use crate::engine::policy::load::load;
use crate::state::{Generation, Meta, Position};
use crate::stream::{Topic, TopicNames};
use crate::wire::journal::JournalKind;

use super::chain::Chain;
use super::follow::{Follower, Foundry};
use super::line::{Line, Positions};
use super::logs::{FollowError, Logs};
use super::replica::Replica;

/// Records of the journal that are looked through for a reset at most: about an hour and a half of batches.
const SEARCHED: i64 = 100_000;
/// Records of the journal that are looked through for that of a checkpoint at most: it was near when it was begun.
const NEAR: usize = 1_000;

/// Where to begin.
pub enum Start {
    /// From here on.
    Follow(Box<Follower>),
    /// Nothing can be restored; why, in words.
    Anew(String),
}

/// Checkpoints that were published, wherever they are kept.
pub trait Candidates {
    /// All of them, newest first.
    ///
    /// # Errors
    /// They cannot be looked through; why, in words.
    fn list(&mut self) -> Result<Vec<Generation>, String>;

    /// What one says of itself, and its pages.
    ///
    /// # Errors
    /// It is damaged, or gone; why, in words.
    fn load(&mut self, generation: u64) -> Result<(Meta, Pages<'_>), String>;

    /// The committed journal holds the record of this one.
    fn confirm(&mut self, _generation: u64) {}
}

/// The pages of a checkpoint; an error is damage, in words.
pub type Pages<'p> = Box<dyn Iterator<Item = Result<Page, String>> + 'p>;

/// Finds where to begin.
///
/// # Errors
/// The brokers do not answer, or the journal cannot be read.
pub fn start(
    foundry: &Foundry,
    logs: &mut impl Logs,
    candidates: Option<&mut dyn Candidates>,
) -> Result<Start, FollowError> {
    let (low, high) = logs.journal_held()?;
    if low >= high {
        return Ok(Start::Anew("the journal is empty".to_owned()));
    }
    if let Some(candidates) = candidates
        && let Some(follower) = from_checkpoint(foundry, logs, candidates, (low, high))?
    {
        return Ok(Start::Follow(Box::new(follower)));
    }
    from_reset(foundry, logs, (low, high))
}

/// From the newest checkpoint that fits; each that does not is told and passed over.
fn from_checkpoint(
    foundry: &Foundry,
    logs: &mut impl Logs,
    candidates: &mut dyn Candidates,
    held: (i64, i64),
) -> Result<Option<Follower>, FollowError> {
    let list = candidates.list().unwrap_or_else(|why| {
        tracing::error!(%why, "checkpoints cannot be looked through");
        Vec::new()
    });
    for candidate in list {
        let passed = |why: String| {
            tracing::warn!(generation = candidate.generation, %why, "a checkpoint is passed over");
        };
        if candidate.basis != foundry.basis {
            passed("it was made by another version, or with another seed or other record limits".to_owned());
            continue;
        }
        let Some(next) = behind(logs, &candidate, held)? else {
            passed("the committed journal does not hold its record".to_owned());
            continue;
        };
        candidates.confirm(candidate.generation);
        match restore(foundry, candidates, candidate.generation) {
            Ok(replica) => {
                tracing::info!(generation = candidate.generation, line = %replica.line, "restored from a checkpoint");
                return Ok(Some(Follower::new(replica, next)));
            }
            Err(why) => passed(why),
        }
    }
    Ok(None)
}

/// The offset of the journal behind the record that a checkpoint stands for; `None` where the journal does not hold it.
///
/// # Errors
/// The brokers do not answer, or the journal cannot be read.
pub fn behind(
    logs: &mut impl Logs,
    candidate: &Generation,
    (low, high): (i64, i64),
) -> Result<Option<i64>, FollowError> {
    let (mut next, mut seen) = (candidate.journal_from.max(low), 0);
    while next < high && seen < NEAR {
        let page = logs.journal(next, Duration::from_millis(100))?;
        for (offset, record) in &page.records {
            if (&record.lineage, record.seq, &record.chain)
                == (&candidate.lineage, candidate.seq, &candidate.chain)
            {
                return Ok(Some(offset + 1));
            }
        }
        seen += page.records.len();
        next = page.next;
    }
    Ok(None)
}

fn restore(foundry: &Foundry, candidates: &mut dyn Candidates, generation: u64) -> Result<Replica, String> {
    let (meta, pages) = candidates.load(generation)?;
    let engine = revive(&meta, pages, foundry.seed)?;
    let line = line_of(&meta, &foundry.names)?;
    Ok(foundry.replica(engine, line))
}

/// The engine that a checkpoint holds, under the policy it was cut with.
///
/// # Errors
/// Its policy cannot be loaded any more, or its pages are damaged; why, in words.
pub fn revive(
    meta: &Meta,
    pages: impl Iterator<Item = Result<Page, String>>,
    seed: HashSeed,
) -> Result<Engine, String> {
    let policy =
        load(&meta.policy_sources).map_err(|_| "its policy cannot be loaded by this version")?.policy;
    if *policy.hash != *meta.policy {
        return Err("its policy is another one than it names".to_owned());
    }
    let mut restore = Restore::new(policy, seed);
    for page in pages {
        restore.add(page?).map_err(|error| error.to_string())?;
    }
    restore.finish().map_err(|error| error.to_string())
}

/// The line on which a checkpoint stands.
///
/// # Errors
/// It cannot be read, or names a topic that is no input here; why, in words.
pub fn line_of(meta: &Meta, names: &TopicNames) -> Result<Line, String> {
    let chain = Chain::parse(&meta.chain).ok_or("its chain cannot be read")?;
    let positions = positions_of(&meta.positions, names)?;
    let next = meta.seq + 1;
    Ok(Line { lineage: meta.lineage.clone(), next, chain, positions, basis: meta.basis.clone() })
}

fn positions_of(told: &[Position], names: &TopicNames) -> Result<Positions, String> {
    let mut positions = Positions::new();
    for at in told {
        let topic = Topic::INPUTS.into_iter().find(|topic| names.get(*topic) == at.topic);
        let topic = topic.ok_or_else(|| format!("it reads {}, which is no input here", at.topic))?;
        positions.insert((topic, at.partition), at.offset);
    }
    Ok(positions)
}

/// A replica without state at the first reset that the journal holds; later ones are met on the way.
fn from_reset(
    foundry: &Foundry,
    logs: &mut impl Logs,
    (low, high): (i64, i64),
) -> Result<Start, FollowError> {
    let mut next = low;
    while next < high.min(low.saturating_add(SEARCHED)) {
        let page = logs.journal(next, Duration::from_millis(100))?;
        for (offset, record) in &page.records {
            if record.kind != JournalKind::Reset {
                continue;
            }
            return match foundry.at_reset(record, logs) {
                Ok(replica) => Ok(Start::Follow(Box::new(Follower::new(replica, *offset)))),
                Err(error) if error.needs_reset() => Ok(Start::Anew(error.to_string())),
                Err(error) => Err(error),
            };
        }
        next = page.next;
    }
    Ok(Start::Anew(
        "no checkpoint, and the journal does not hold the beginning of its line of state".to_owned(),
    ))
}
