//! What topics hold, held against what must be there: nothing lost, nothing doubled, nothing else decided.
//!
//! The topics are plain lists of records. [`check`] reads the journal, finds the outcome of every input it covers, and,
//! when asked, feeds the reference model in the order that the journal says and compares every decision, ban and case.
//! What is wrong is told as [`Violation`]s, each with its place. An offset without a record is no violation: markers of
//! transactions take offsets too.

mod bans;
mod compare;
mod journal;
mod outcomes;
mod record;
mod replay;
#[cfg(test)]
mod tests;
mod verdict;

use std::sync::Arc;

pub use self::record::{Committed, History, LogRecord, Names};
pub use self::verdict::{Place, Verdict, Violation};

use crate::engine::policy::Policy;
use crate::wire::interaction::DecodeLimits;
use crate::wire::journal::JournalRecord;

/// Recomputes the chain of a journal record after the one before it in its lineage; says what is wrong.
pub type ChainCheck<'c> = dyn Fn(Option<&JournalRecord>, &JournalRecord) -> Result<(), String> + 'c;

/// How thoroughly to check.
#[derive(Default)]
pub struct Options<'o> {
    /// Feed the reference model and compare decisions, bans and cases with it.
    pub model: bool,
    /// Policies whose text the topic of policies need not hold.
    pub policies: Vec<Arc<Policy>>,
    /// How interactions are decoded.
    pub limits: DecodeLimits,
    /// Recomputes chains.
    pub chain: Option<&'o ChainCheck<'o>>,
}

/// Checks a history.
pub fn check(history: &History, options: &Options<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    let lines = journal::read(history, options.chain, &mut verdict);
    let found = outcomes::gather(history, &mut verdict);
    outcomes::check(history, &lines, &found, options, &mut verdict);
    let told = bans::read(history, &lines, &found, &mut verdict);
    if options.model {
        replay::check(history, &lines, &found, &told, options, &mut verdict);
    }
    verdict
}
