//! Checkpoints of a running shard: slices of a cut between batches, written by a thread of their own.
//!
//! A checkpoint stands for one record of the journal and is published only once that record is known to be committed; a
//! shard that is given up before takes its unfinished one along. Failing to write one costs nothing but the next start's
//! time: it is told, and tried again at the next turn.

use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock::{self, Stopwatch};
use crate::engine::cut::{CutProgress, Page};
use crate::engine::{Engine, SEMANTICS};
use crate::metrics;
use crate::state::{Checkpoints, Generation, Meta, Position, StateError};
use crate::stream::{Topic, TopicNames};

use super::journal_tail;
use super::replica::Replica;
use super::shard::ShardSettings;

/// Copying state goes on for so long between two batches, of the 50 ms between two commits: a page or two. The slower it
/// goes the less of what it copies, and of what scoring changes meanwhile, falls on one batch.
const PAUSE: Duration = Duration::from_millis(1);
/// Bytes that are copied before the clock is looked at again: a page.
const STEP_BYTES: usize = 2 << 20;
/// Bytes that are copied between two batches at most.
const SLICE_BYTES: usize = 8 << 20;
/// Slices that may wait for the disk; beyond, the cut waits.
const WAITING: usize = 4;
/// After a failure it is tried again so much later.
const AGAIN: Duration = Duration::from_secs(30);

/// What the writing thread is given.
enum Part {
    Begin(Box<Meta>),
    Pages(Vec<Page>),
    /// All pages were given.
    Complete,
}

/// Where the present checkpoint is.
enum Phase {
    /// None is under way.
    Idle,
    /// It is asked from which offset on the journal holds what will be the last record.
    Asking { journal_from: Receiver<i64>, thread: Thread },
    /// Pages are being copied.
    Cutting { waits: Option<(Vec<Page>, CutProgress)>, thread: Thread },
    /// All are copied; the last ones wait for the disk.
    Copied { thread: Thread },
    /// Everything is handed over.
    Writing { thread: Thread },
}

/// The writing thread.
struct Thread {
    parts: SyncSender<Part>,
    /// Says that the record is committed.
    committed: Sender<()>,
    /// Room of pages that are written.
    spare: Receiver<Vec<u32>>,
    told: bool,
    /// The number of the record it stands for.
    seq: u64,
    handle: JoinHandle<Result<Option<Generation>, StateError>>,
}

/// See the module.
pub(super) struct Checkpointer {
    settings: Arc<ShardSettings>,
    checkpoints: Arc<Mutex<Checkpoints>>,
    every: Duration,
    due: Duration,
    since: Stopwatch,
    began: Stopwatch,
    phase: Phase,
}

impl Checkpointer {
    pub(super) fn new(
        settings: Arc<ShardSettings>,
        checkpoints: Arc<Mutex<Checkpoints>>,
        every: Duration,
    ) -> Self {
        let (since, began) = (Stopwatch::start(), Stopwatch::start());
        Self { settings, checkpoints, every, due: every, since, began, phase: Phase::Idle }
    }

    /// Called between two batches: goes on a little. `committed` is the number of the newest record that is known to be
    /// committed, if any is.
    pub(super) fn turn(&mut self, replica: &mut Replica, committed: Option<u64>) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Idle if self.since.elapsed() >= self.due => self.ask(),
            Phase::Idle => Phase::Idle,
            Phase::Asking { journal_from, thread } => match journal_from.try_recv() {
                Ok(from) => self.begin(replica, from, thread),
                Err(std::sync::mpsc::TryRecvError::Empty) => Phase::Asking { journal_from, thread },
                Err(std::sync::mpsc::TryRecvError::Disconnected) => self.end(thread),
            },
            Phase::Cutting { waits, thread } => self.copy(replica, waits, thread),
            Phase::Copied { thread } => self.complete(thread),
            Phase::Writing { thread } => self.wait(thread, committed),
        };
    }

    fn ask(&mut self) -> Phase {
        self.began = Stopwatch::start();
        let (parts, given) = sync_channel(WAITING);
        let (committed, is_committed) = channel();
        let (answer, journal_from) = channel();
        let (written, spare) = channel();
        let (settings, checkpoints) = (Arc::clone(&self.settings), Arc::clone(&self.checkpoints));
        let run = move || {
            let newest = journal_tail::newest_at(&settings).ok().flatten();
            // Nobody may be there any more to hear it.
            answer.send(newest.map_or(0, |(offset, _)| offset)).unwrap_or_default();
            write(&checkpoints, (&given, &written), &is_committed)
        };
        match std::thread::Builder::new().name("weir-checkpoint".to_owned()).spawn(run) {
            Ok(handle) => {
                let thread = Thread { parts, committed, spare, told: false, seq: 0, handle };
                Phase::Asking { journal_from, thread }
            }
            Err(error) => {
                tracing::warn!(%error, "no thread for a checkpoint");
                self.again(AGAIN)
            }
        }
    }

    /// Fixes the moment: the record before is the last one that is in it.
    fn begin(&mut self, replica: &mut Replica, journal_from: i64, mut thread: Thread) -> Phase {
        let Some(seq) = replica.line.next.checked_sub(1) else { return self.again(AGAIN) };
        thread.seq = seq;
        let meta = meta_of(replica, &self.settings.names, journal_from, seq);
        if thread.parts.try_send(Part::Begin(Box::new(meta))).is_err() {
            return self.end(thread);
        }
        replica.scorer.engine_mut().begin_cut();
        Phase::Cutting { waits: None, thread }
    }

    fn copy(
        &mut self,
        replica: &mut Replica,
        waits: Option<(Vec<Page>, CutProgress)>,
        thread: Thread,
    ) -> Phase {
        let (pages, progress) = waits.unwrap_or_else(|| {
            let engine = replica.scorer.engine_mut();
            engine.reuse(thread.spare.try_iter());
            copy_slice(engine)
        });
        if progress == CutProgress::NoCut {
            tracing::info!("a policy took effect: the checkpoint under way begins again");
            return self.again(Duration::ZERO);
        }
        match thread.parts.try_send(Part::Pages(pages)) {
            Ok(()) if progress == CutProgress::More => Phase::Cutting { waits: None, thread },
            Ok(()) => Phase::Copied { thread },
            Err(TrySendError::Full(Part::Pages(pages))) => {
                Phase::Cutting { waits: Some((pages, progress)), thread }
            }
            Err(_) => {
                replica.scorer.engine_mut().abandon_cut();
                self.end(thread)
            }
        }
    }

    fn complete(&mut self, thread: Thread) -> Phase {
        match thread.parts.try_send(Part::Complete) {
            Ok(()) => Phase::Writing { thread },
            Err(TrySendError::Full(_)) => Phase::Copied { thread },
            Err(TrySendError::Disconnected(_)) => self.end(thread),
        }
    }

    fn wait(&mut self, mut thread: Thread, committed: Option<u64>) -> Phase {
        if !thread.told && committed.is_some_and(|committed| committed >= thread.seq) {
            // A thread that has failed says so when it is joined.
            thread.committed.send(()).unwrap_or_default();
            thread.told = true;
        }
        if thread.handle.is_finished() { self.end(thread) } else { Phase::Writing { thread } }
    }

    /// The thread has ended, or ends now that nothing more comes.
    fn end(&mut self, thread: Thread) -> Phase {
        let Thread { parts, committed, handle, .. } = thread;
        drop((parts, committed));
        match handle.join() {
            Ok(Ok(Some(done))) => {
                let seconds = self.began.seconds();
                tracing::info!(
                    generation = done.generation,
                    seq = done.seq,
                    bytes = done.bytes,
                    seconds,
                    "checkpoint"
                );
                metrics::checkpoint(done.bytes, seconds);
                self.again(self.every)
            }
            Ok(Ok(None)) => self.again(AGAIN),
            Ok(Err(error)) => {
                tracing::error!(%error, "the checkpoint could not be written; the earlier ones stay");
                metrics::checkpoint_failed();
                self.again(AGAIN)
            }
            Err(_) => {
                tracing::error!("the thread that writes checkpoints panicked");
                metrics::checkpoint_failed();
                self.again(AGAIN)
            }
        }
    }

    fn again(&mut self, due: Duration) -> Phase {
        (self.since, self.due) = (Stopwatch::start(), due.min(self.every));
        Phase::Idle
    }
}

/// Copies the next pages of the cut under way: as many as a pause between two batches has room for.
pub fn copy_slice(engine: &mut Engine) -> (Vec<Page>, CutProgress) {
    let (pause, mut pages) = (Stopwatch::start(), Vec::new());
    for _ in 0..SLICE_BYTES / STEP_BYTES {
        let progress = engine.copy_pages(STEP_BYTES, &mut pages);
        if progress != CutProgress::More || pause.elapsed() >= PAUSE {
            return (pages, progress);
        }
    }
    (pages, CutProgress::More)
}

/// The writing thread. `None` when the shard was given up before all was there or its record was committed.
fn write(
    checkpoints: &Mutex<Checkpoints>,
    (given, spare): (&Receiver<Part>, &Sender<Vec<u32>>),
    committed: &Receiver<()>,
) -> Result<Option<Generation>, StateError> {
    let checkpoints = || checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
    let Ok(Part::Begin(meta)) = given.recv() else { return Ok(None) };
    let mut writer = checkpoints().begin(*meta)?;
    loop {
        match given.recv() {
            Ok(Part::Pages(pages)) => {
                for page in pages {
                    // Nobody needs it once the last page is copied.
                    spare.send(writer.write(page)?).unwrap_or_default();
                }
            }
            Ok(Part::Complete) => break,
            Ok(Part::Begin(_)) | Err(_) => return Ok(None),
        }
    }
    let written = writer.finish()?;
    match committed.recv() {
        Ok(()) => checkpoints().publish(written).map(Some),
        Err(_) => Ok(None),
    }
}

fn meta_of(replica: &Replica, names: &TopicNames, journal_from: i64, seq: u64) -> Meta {
    let (line, policy) = (&replica.line, replica.scorer.engine().policy());
    let position = |((topic, partition), offset): (&(Topic, i32), &i64)| Position {
        topic: names.get(*topic).to_owned(),
        partition: *partition,
        offset: *offset,
    };
    Meta {
        semantics: SEMANTICS.to_owned(),
        basis: line.basis.clone(),
        policy: policy.hash.to_string(),
        policy_sources: policy.sources.clone(),
        lineage: line.lineage.clone(),
        seq,
        chain: line.chain.to_string(),
        journal_from,
        positions: line.positions.iter().map(position).collect(),
        created_at: clock::now().millis(),
    }
}
