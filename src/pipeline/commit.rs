//! The committer: a thread that ends batches in transactions while the next batch is scored.
//!
//! A job is kept until its outcome is known, and each outcome has one answer:
//!
//! | outcome | answer |
//! |---|---|
//! | committed | told to the readers of this process, handed back |
//! | aborted, still owner | the same bytes again with fresh group metadata |
//! | aborted, no longer owner | the shard is given up |
//! | unknown | a new producer settles it; the end of the journal says which way |
//! | fenced or fatal | the shard is given up: state may hold what was never told |

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::metrics::{self, CommitResult};
use crate::stream::{CommitError, InputOffset, OutBatch, Ownership, Step, Transactions};
use crate::wire::journal::JournalRecord;

use super::journal_tail;
use super::logs::FollowError;
use super::score::Report;
use super::shard::ShardSettings;

/// How long a question to the brokers may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often one batch is sent before the shard is given up.
const ATTEMPTS: u32 = 10;
/// Pause before a batch is sent again, times the number of attempts.
const AGAIN: Duration = Duration::from_millis(20);

/// A scored batch on its way.
#[derive(Debug, Default)]
pub struct Job {
    /// What is told.
    pub out: OutBatch,
    /// Where each input partition goes on afterwards.
    pub offsets: Vec<InputOffset>,
    /// Number and chain of its last record of the journal; `None` when there is nothing to commit.
    pub end: Option<(u64, String)>,
    /// What was done.
    pub report: Report,
    /// Runs since the batch was complete.
    pub complete: Option<Stopwatch>,
}

/// Why a shard has to be given up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GiveUp {
    /// Another instance owns it.
    #[error("another instance owns the shard now: {0}")]
    Lost(CommitError),
    /// Nothing more can be committed by this producer.
    #[error("the batch could not be committed: {0}")]
    Failed(CommitError),
    /// What became of a batch could not be found out.
    #[error("the outcome of a batch could not be settled: {0}")]
    Unsettled(FollowError),
    /// The committing thread is gone.
    #[error("the committing thread ended unexpectedly")]
    Gone,
}

/// What is to be done about a batch that did not commit: the table of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The same bytes once more.
    Again,
    /// A new producer, then the end of the journal, then perhaps once more.
    Settle,
    /// The shard is another's: drop the state.
    Lost,
    /// Nothing helps here: drop the state.
    Failed,
}

/// The answer to a failure, in the `attempts`-th attempt.
pub fn answer(error: &CommitError, owns: bool, attempts: u32) -> Answer {
    match error {
        CommitError::Aborted(_) if !owns => Answer::Lost,
        CommitError::Aborted(cause) if attempts < ATTEMPTS && !cause.lasting => Answer::Again,
        CommitError::Unknown(cause) if attempts < ATTEMPTS && !cause.lasting => Answer::Settle,
        CommitError::Fenced(_) => Answer::Lost,
        _ => Answer::Failed,
    }
}

/// Whether a batch is in the journal, by the newest record of it.
pub fn is_in(job: &Job, newest: Option<&JournalRecord>) -> bool {
    let end = job.end.as_ref();
    end.is_some_and(|(seq, chain)| newest.is_some_and(|newest| newest.seq == *seq && newest.chain == *chain))
}

/// Hands jobs to the committing thread.
#[derive(Debug)]
pub(crate) struct Committer {
    jobs: Option<SyncSender<Job>>,
    done: Receiver<Result<Job, GiveUp>>,
    in_flight: usize,
    thread: Option<JoinHandle<()>>,
}

impl Committer {
    /// Starts the thread. `told` is called behind each commit, before anything else of the next one.
    pub(crate) fn start(
        settings: Arc<ShardSettings>,
        member: Arc<Mutex<Ownership>>,
        transactions: Transactions,
        told: impl FnMut(&mut Report) + Send + 'static,
        watch: Option<Arc<dyn Fn(Step) + Send + Sync>>,
    ) -> std::io::Result<Self> {
        let (jobs, incoming) = sync_channel(1);
        let (finished, done) = sync_channel(4);
        let bench = Bench { settings, member, transactions, told, watch };
        let thread = std::thread::Builder::new()
            .name("weir-commit".to_owned())
            .spawn(move || bench.run(&incoming, &finished))?;
        Ok(Self { jobs: Some(jobs), done, in_flight: 0, thread: Some(thread) })
    }

    /// Whether a job would be taken without waiting for an earlier one.
    pub(crate) fn is_free(&self) -> bool {
        self.in_flight == 0
    }

    /// Hands over a job; waits while the one before it has not been begun.
    pub(crate) fn submit(&mut self, job: Job) -> Result<(), GiveUp> {
        let jobs = self.jobs.as_ref().ok_or(GiveUp::Gone)?;
        if jobs.send(job).is_err() {
            // The thread says why it ended before it ends.
            return Err(self.done.iter().find_map(Result::err).unwrap_or(GiveUp::Gone));
        }
        self.in_flight += 1;
        Ok(())
    }

    /// A job that was committed meanwhile.
    pub(crate) fn finished(&mut self) -> Result<Option<Job>, GiveUp> {
        match self.done.try_recv() {
            Ok(done) => {
                self.in_flight -= 1;
                done.map(Some)
            }
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(GiveUp::Gone),
        }
    }

    /// Waits until all jobs are committed, then ends the thread. False when that took longer than `patience`: the
    /// thread is then left behind, and what it may yet commit is whole.
    pub(crate) fn close(mut self, patience: Duration) -> Result<bool, GiveUp> {
        self.jobs = None;
        let watch = Stopwatch::start();
        loop {
            match self.done.recv_timeout(patience.saturating_sub(watch.elapsed())) {
                Ok(done) => drop(done?),
                Err(RecvTimeoutError::Timeout) => return Ok(false),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.thread.take().map_or(Ok(()), JoinHandle::join).map_err(|_| GiveUp::Gone)?;
        Ok(true)
    }
}

/// The committing thread's own.
struct Bench<F> {
    settings: Arc<ShardSettings>,
    member: Arc<Mutex<Ownership>>,
    transactions: Transactions,
    told: F,
    /// For tests: is told each step.
    watch: Option<Arc<dyn Fn(Step) + Send + Sync>>,
}

impl<F: FnMut(&mut Report)> Bench<F> {
    fn run(mut self, jobs: &Receiver<Job>, done: &SyncSender<Result<Job, GiveUp>>) {
        for mut job in jobs {
            let watch = job.complete.unwrap_or_else(Stopwatch::start);
            let ended = if job.end.is_some() { self.commit(&job, watch) } else { Ok(()) };
            let ended = ended.map(|()| {
                (self.told)(&mut job.report);
                job
            });
            let failed = ended.is_err();
            if done.send(ended).is_err() || failed {
                return;
            }
        }
    }

    fn commit(&mut self, job: &Job, complete: Stopwatch) -> Result<(), GiveUp> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let member = || self.member.lock().unwrap_or_else(PoisonError::into_inner).group_metadata();
            let (watch, mut steps) = (Stopwatch::start(), Vec::new());
            let before = |step: Step| {
                steps.push((step, watch.seconds()));
                self.watch.iter().for_each(|told| told(step));
            };
            let error = match self.transactions.commit(&[&job.out], &job.offsets, member, before) {
                Ok(()) => {
                    tracing::debug!(records = job.out.len(), bytes = job.out.bytes(), ?steps, "committed");
                    metrics::commit(CommitResult::Committed, complete.seconds());
                    return Ok(());
                }
                Err(error) => error,
            };
            tracing::warn!(%error, attempts, "a transaction did not commit");
            match answer(&error, self.owns(), attempts) {
                Answer::Lost => return Err(GiveUp::Lost(error)),
                Answer::Failed => return Err(GiveUp::Failed(error)),
                Answer::Again => {
                    metrics::commit(CommitResult::Aborted, 0.0);
                    std::thread::park_timeout(AGAIN.saturating_mul(attempts));
                }
                Answer::Settle => {
                    metrics::commit(CommitResult::Unknown, 0.0);
                    if self.settle(job).map_err(GiveUp::Unsettled)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn owns(&self) -> bool {
        self.member.lock().unwrap_or_else(PoisonError::into_inner).owns(self.settings.shard.cast_signed())
    }

    /// A new producer of the shard ends what the old one left open; then the end of the journal tells whether the batch is
    /// in.
    fn settle(&mut self, job: &Job) -> Result<bool, FollowError> {
        let settings = &self.settings;
        self.transactions = Transactions::open(&settings.kafka, settings.shard, &settings.names, PATIENCE)?;
        Ok(is_in(job, journal_tail::newest(settings)?.as_ref()))
    }
}
