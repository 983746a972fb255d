//! Next: the records of the journal in their order, each with all that applying it takes.
//!
//! It knows where the line goes, by what the records themselves say, and nothing of the state: it may be ahead of it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::engine::policy::Policy;
use crate::pipeline::batch::Batch;
use crate::pipeline::line::{Entry, Line};
use crate::pipeline::logs::{FollowError, JournalPage, Logs};
use crate::pipeline::replica::Replica;
use crate::stream::Coordinates;
use crate::wire::journal::{JournalKind, JournalRecord};

use super::Foundry;

/// A record that is due.
pub(super) struct Due {
    /// Where the journal goes on behind it.
    pub next: i64,
    /// The record.
    pub record: JournalRecord,
    /// What it covers.
    pub entry: Entry,
    /// What is passed over of that.
    pub skip: BTreeSet<Coordinates>,
    /// The policy that holds with it.
    pub policy: Arc<Policy>,
    /// Its inputs.
    pub batch: Batch,
    /// The line that it begins, if it is a reset.
    pub begins: Option<Line>,
}

/// What was found.
pub(super) enum Found {
    /// The next record.
    Due(Box<Due>),
    /// No record; the journal goes on here.
    Nothing(i64),
}

/// See the module.
pub(super) struct Reading {
    line: Line,
    policy: Arc<Policy>,
    /// Read and not handed out yet.
    page: VecDeque<(i64, JournalRecord)>,
    /// Behind the page.
    next: i64,
}

impl Reading {
    /// From an offset of the journal on, where a replica stands.
    pub(super) fn behind(replica: &Replica, next: i64) -> Self {
        let policy = Arc::clone(replica.scorer.engine().policy());
        Self { line: replica.line.clone(), policy, page: VecDeque::new(), next }
    }

    /// Whether all before an offset was handed out.
    pub(super) fn is_at(&self, end: i64) -> bool {
        self.page.is_empty() && self.next >= end
    }

    /// Records that can be had without asking.
    pub(super) fn at_hand(&self) -> usize {
        self.page.len()
    }

    /// The next record; waits so long for one.
    pub(super) fn next(
        &mut self,
        foundry: &Foundry,
        logs: &mut impl Logs,
        patience: Duration,
    ) -> Result<Found, FollowError> {
        if self.page.is_empty() {
            let JournalPage { records, next } = logs.journal(self.next, patience)?;
            self.page.extend(records);
            self.next = self.next.max(next);
        }
        match self.page.pop_front() {
            Some((offset, record)) => self.due(offset, record, foundry, logs),
            None => Ok(Found::Nothing(self.next)),
        }
    }

    fn due(
        &mut self,
        offset: i64,
        record: JournalRecord,
        foundry: &Foundry,
        logs: &mut impl Logs,
    ) -> Result<Found, FollowError> {
        let begins = record.kind == JournalKind::Reset;
        if begins {
            self.line = Line::of_reset(&record, &foundry.names, &foundry.basis)?;
        }
        let begins = begins.then(|| self.line.clone());
        let entry = self.line.expect(&record, &foundry.names)?;
        if *self.policy.hash != *entry.policy {
            self.policy = logs.policy(&entry.policy)?;
        }
        let batch = logs.batch(entry.read(), &self.line.positions)?;
        self.line.go_on(&record, &entry);
        let next = if self.page.is_empty() { self.next.max(offset + 1) } else { offset + 1 };
        let policy = Arc::clone(&self.policy);
        let skip = entry.skipped.iter().copied().collect();
        Ok(Found::Due(Box::new(Due { next, record, entry, skip, policy, batch, begins })))
    }
}
