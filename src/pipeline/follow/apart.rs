//! Apart: what is done to records of the journal, done at the same time by several threads.
//!
//! ```text
//!  reading thread -- records -->  parsing thread -- groups -->  the caller's  -- told -->  checking thread
//!                 <-- room --                                    (the state)               (encodes, hashes, compares)
//!                                       <-------------------- room ------------------------
//! ```
//!
//! Order is that of the journal throughout, and each queue is bounded. A few records at a time are taken in hand: when they
//! are done with, all of them are checked, and only then anybody sees the state. Few interactions are not worth the
//! threads.

use std::cell::RefCell;
use std::iter;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle, scope};
use std::time::Duration;

use super::check::Checking;
use super::next::{Due, Found, Reading};
use super::{Follower, Foundry};
use crate::pipeline::batch::Batch;
use crate::pipeline::chain::OutDigest;
use crate::pipeline::line::{Broken, Taken};
use crate::pipeline::logs::{FollowError, Logs};
use crate::pipeline::replica::Replica;
use crate::pipeline::score::{Group, Part, Report, Teller, merged};
use crate::stream::{OutBatch, StreamError};
use crate::wire::interaction::{DecodeLimits, Spare};
use crate::wire::journal::JournalRecord;

/// Records that are read ahead at most.
const READ_AHEAD: usize = 4;
/// Records, and interactions in them, that are taken in hand together.
const TOGETHER: (usize, usize) = (16, 100_000);
/// With fewer interactions one thread does it all.
pub(super) const FEW: usize = 2_000;
/// Interactions in a group, and groups that wait for the next thread at most.
const GROUP: usize = 256;
const WAITING: usize = 8;
/// How long anybody waits before he looks whether there is something else to do.
const TURN: Duration = Duration::from_millis(50);

/// Is called with the state and the number of its newest record, all of which is checked; false ends the following.
pub type Between<'b> = dyn FnMut(&mut Replica, Option<u64>) -> bool + 'b;

/// Is called behind each record that was checked, perhaps from another thread, with bans and subjects that changed.
pub type FollowedApart<'t> = dyn FnMut(&mut Report) + Send + 't;

impl Follower {
    /// Follows to the present end of the journal.
    ///
    /// # Errors
    /// See [`Follower::step`].
    pub fn catch_up_apart(
        &mut self,
        foundry: &Foundry,
        logs: &mut (impl Logs + Send),
        told: &mut FollowedApart<'_>,
    ) -> Result<(), FollowError> {
        let (_, end) = logs.journal_held()?;
        self.follow_apart(foundry, logs, Some(end), told, &mut |_, _| true)
    }

    /// Follows until `between` says that it is enough, or to an end.
    ///
    /// # Errors
    /// See [`Follower::step`].
    pub fn follow_apart(
        &mut self,
        foundry: &Foundry,
        logs: &mut (impl Logs + Send),
        end: Option<i64>,
        told: &mut FollowedApart<'_>,
        between: &mut Between<'_>,
    ) -> Result<(), FollowError> {
        let (due, coming) = sync_channel(READ_AHEAD);
        let (used, room) = channel();
        let stop = &AtomicBool::new(false);
        // Whatever ends this early drops its ends of the queues, and so ends the reading thread.
        scope(move |threads| {
            let Self { reading, .. } = self;
            let mut reading = std::mem::replace(reading, Reading::behind(&self.replica, self.next));
            let reader = start("weir-follow", threads, move || {
                let reader = Reader { reading: &mut reading, foundry, logs, end, due, room, stop };
                reader.run();
                reading
            })?;
            let followed = self.take_all(foundry, &coming, &used, stop, told, between);
            drop(coming);
            self.reading = join(reader);
            followed
        })
    }

    fn take_all(
        &mut self,
        foundry: &Foundry,
        coming: &Receiver<Result<Found, FollowError>>,
        used: &Sender<Batch>,
        stop: &AtomicBool,
        told: &mut FollowedApart<'_>,
        between: &mut Between<'_>,
    ) -> Result<(), FollowError> {
        loop {
            let checked = self.replica.line.next.checked_sub(1);
            if !between(&mut self.replica, checked) {
                // What was read is not read again: it is applied.
                stop.store(true, Ordering::Relaxed);
            }
            let first = match coming.recv_timeout(TURN) {
                Ok(found) => found,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            let (dues, next) = together(first, coming);
            self.take(&dues, foundry, told)?;
            self.next = next?.max(self.next);
            // A reader that has ended needs no room.
            dues.into_iter().for_each(|due| used.send(due.batch).unwrap_or_default());
        }
    }

    /// Applies and checks some records.
    fn take(
        &mut self,
        dues: &[Due],
        foundry: &Foundry,
        told: &mut FollowedApart<'_>,
    ) -> Result<(), FollowError> {
        if dues.iter().map(|due| due.batch.len()).sum::<usize>() < self.few {
            return dues.iter().try_for_each(|due| self.apply(due, foundry, &mut |report, _| told(report)));
        }
        let Self { replica, checking, out, teller, spare, .. } = self;
        let (parsed, groups) = sync_channel(WAITING);
        let (to_tell, parts) = sync_channel(WAITING);
        let (used, room) = channel();
        let taken: Vec<Taken> = dues.iter().map(Due::taken).collect();
        scope(|threads| {
            let parser = Parser { limits: foundry.limits, spare, parsed, room };
            start("weir-parse", threads, move || parser.run(dues))?;
            let checker = Checker { checking, teller, out, used, told };
            let checker = start("weir-check", threads, move || checker.run(&parts))?;
            // Who is not listened to ends; a checking thread that has ended says why.
            for (due, taken) in dues.iter().zip(&taken) {
                let mut report = Report::default();
                let work = due.work(taken, replica, foundry);
                let mut groups = iter::from_fn(|| groups.recv().ok().flatten()).fuse();
                let mut tell = |part| to_tell.send(Step::Part(part)).unwrap_or_default();
                replica.follow_apart((&due.record, &due.skip), &work, &mut groups, &mut tell, &mut report);
                // Some kinds of records look at none of them.
                groups.for_each(drop);
                if to_tell.send(Step::End(&due.record, Box::new(report))).is_err() {
                    break;
                }
            }
            drop((groups, to_tell));
            join(checker).map_err(FollowError::from)
        })?;
        self.next = dues.last().map_or(self.next, |due| due.next);
        Ok(())
    }
}

/// What is at hand to be applied together, and where the journal goes on behind it, or why it does not.
fn together(
    first: Result<Found, FollowError>,
    coming: &Receiver<Result<Found, FollowError>>,
) -> (Vec<Due>, Result<i64, FollowError>) {
    let (mut dues, mut next, mut interactions) = (Vec::new(), 0, 0);
    let mut found = Some(first);
    while let Some(more) = found.take() {
        match more {
            Ok(Found::Nothing(at)) => next = at,
            Ok(Found::Due(due)) => {
                next = due.next;
                interactions += due.batch.len();
                dues.push(*due);
            }
            Err(error) => return (dues, Err(error)),
        }
        if dues.len() < TOGETHER.0 && interactions < TOGETHER.1 {
            found = coming.try_recv().ok();
        }
    }
    (dues, Ok(next))
}

fn start<'s, 'e, T: Send + 's>(
    name: &str,
    threads: &'s Scope<'s, 'e>,
    run: impl FnOnce() -> T + Send + 's,
) -> Result<ScopedJoinHandle<'s, T>, StreamError> {
    let started = Builder::new().name(name.to_owned()).spawn_scoped(threads, run);
    started.map_err(|error| StreamError::Other {
        doing: "starting a thread".to_owned(),
        reason: error.to_string(),
    })
}

/// What a thread ended with; it panics here if it panicked there.
fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// The reading thread's own.
struct Reader<'r, L> {
    reading: &'r mut Reading,
    foundry: &'r Foundry,
    logs: &'r mut L,
    end: Option<i64>,
    due: SyncSender<Result<Found, FollowError>>,
    room: Receiver<Batch>,
    stop: &'r AtomicBool,
}

impl<L: Logs> Reader<'_, L> {
    fn run(self) {
        let Self { reading, foundry, logs, end, due, room, stop } = self;
        while !end.is_some_and(|end| reading.is_at(end)) && !stop.load(Ordering::Relaxed) {
            room.try_iter().for_each(|batch| logs.recycle(batch));
            let found = reading.next(foundry, logs, TURN);
            let failed = found.is_err();
            if due.send(found).is_err() || failed {
                return;
            }
        }
    }
}

/// The parsing thread's own.
struct Parser<'p, 'd> {
    limits: DecodeLimits,
    spare: &'p mut Spare,
    /// Groups, and `None` behind those of each record.
    parsed: SyncSender<Option<Group<'d>>>,
    room: Receiver<Group<'d>>,
}

impl<'d> Parser<'_, 'd> {
    fn run(self, dues: &'d [Due]) {
        let Self { limits, spare, parsed, room } = self;
        let kept = RefCell::new(std::mem::take(spare));
        for due in dues {
            let mut merged = merged(&due.batch, &due.policy.settings, &limits, &kept);
            loop {
                let mut group = room.try_recv().unwrap_or_default();
                group.empty(&mut kept.borrow_mut());
                group.items.extend(merged.by_ref().take(GROUP));
                let group = (!group.items.is_empty()).then_some(group);
                let is_last = group.is_none();
                if parsed.send(group).is_err() {
                    return;
                }
                if is_last {
                    break;
                }
            }
        }
        *spare = kept.into_inner();
    }
}

/// What the checking thread is given.
enum Step<'d> {
    Part(Part<'d>),
    /// All of a record was told.
    End(&'d JournalRecord, Box<Report>),
}

/// The checking thread's own.
struct Checker<'c, 'd, 't> {
    checking: &'c mut Checking,
    teller: &'c mut Teller,
    out: &'c mut OutBatch,
    used: Sender<Group<'d>>,
    told: &'c mut FollowedApart<'t>,
}

impl<'d> Checker<'_, 'd, '_> {
    /// Until nothing more comes, or the first difference.
    fn run(self, parts: &Receiver<Step<'d>>) -> Result<(), Broken> {
        let Self { checking, teller, out, used, told } = self;
        let mut digest = OutDigest::from(0);
        for step in parts {
            match step {
                Step::Part(part) => {
                    // Once hashed it has served.
                    out.clear();
                    digest.rewound();
                    let group = teller.tell(part, out, &mut None);
                    digest.add(out);
                    // A parser that has ended needs no room.
                    group.into_iter().for_each(|group| used.send(group).unwrap_or_default());
                }
                Step::End(record, report) => {
                    told(&mut checking.check(record, digest.value(), *report)?);
                    digest = OutDigest::from(0);
                }
            }
        }
        Ok(())
    }
}
