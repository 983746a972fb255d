//! The checkpoints of this process: which there are, whether one is sound, and a copy of one.
//!
//! The engine is not asked and the manifest not opened a second time: a list is made of this process's own handle, and
//! pages are read from files, which never change and are all open before the first is read, so that one that is pruned
//! meanwhile can be read to its end. That is done by threads of their own, one checkpoint at a time; what was read waits
//! for its reader in a bounded queue, and a reader that takes nothing for the time of a request, or is gone, ends it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::problem::Problem;
use crate::state::{Checkpoints, Pages, StateError};

/// Bytes that are handed over at once.
const CHUNK: usize = 256 << 10;
/// Chunks that may wait for their reader.
const WAITING: usize = 4;
/// How long a turn is waited for, or half of the time that a request may take.
const TURN: Duration = Duration::from_secs(2);
/// Bytes of pages after which it is told how far a verification is.
const STEP: u64 = 64 << 20;

/// The checkpoints of this process, once it has opened their folder.
#[derive(Clone, Default)]
pub struct OwnCheckpoints(Arc<OnceLock<Arc<Mutex<Checkpoints>>>>);

impl OwnCheckpoints {
    /// From now on these are shown.
    pub fn show(&self, checkpoints: Arc<Mutex<Checkpoints>>) {
        self.0.get_or_init(|| checkpoints);
    }

    fn lock(&self) -> Option<MutexGuard<'_, Checkpoints>> {
        Some(self.0.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What the routes share.
#[derive(Clone)]
pub(super) struct Access {
    own: OwnCheckpoints,
    /// Held by who reads a checkpoint.
    turn: Arc<Semaphore>,
    /// How long a reader may take nothing.
    patience: Duration,
}

impl Access {
    pub(super) fn new(own: OwnCheckpoints, patience: Duration) -> Self {
        Self { own, turn: Arc::new(Semaphore::new(1)), patience }
    }

    /// Opens a checkpoint, once nobody else is reading one.
    async fn open(&self, generation: &str) -> Result<(Pages, OwnedSemaphorePermit), Problem> {
        let Ok(generation) = generation.parse::<u64>() else {
            return Err(Problem::new(StatusCode::NOT_FOUND, "a checkpoint is named by its number"));
        };
        // The one before may have its last bytes and not be over yet.
        let turn = timeout(TURN.min(self.patience / 2), Arc::clone(&self.turn).acquire_owned());
        let Ok(Ok(turn)) = turn.await else {
            let detail = "another checkpoint is being read: one at a time; ask again";
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail));
        };
        let own = self.own.clone();
        let opened = aside(move || own.lock().map(|checkpoints| checkpoints.load(generation))).await?;
        match opened.ok_or_else(not_open)? {
            Ok(pages) => Ok((pages, turn)),
            Err(error @ StateError::Missing { .. }) => {
                Err(Problem::new(StatusCode::NOT_FOUND, error.to_string()))
            }
            Err(error) => Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())),
        }
    }
}

/// `GET /v1/checkpoints`
pub(super) async fn list(State(access): State<Access>) -> Result<Response, Problem> {
    let own = access.own.clone();
    let held = aside(move || {
        own.lock().map(|checkpoints| (checkpoints.dir().display().to_string(), checkpoints.held()))
    });
    let (dir, held) = held.await?.ok_or_else(not_open)?;
    let held = held.map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    let body = json!({
        "state_dir": dir,
        "checkpoints": held.checkpoints,
        "unusable": held.unusable,
        "writing": held.writing,
    });
    Ok(Json(body).into_response())
}

/// `GET /v1/checkpoints/{generation}/verify`: lines of JSON while it is read; the last one says whether it is `sound`.
pub(super) async fn verify(
    State(access): State<Access>,
    Path(generation): Path<String>,
) -> Result<Response, Problem> {
    let (pages, turn) = access.open(&generation).await?;
    Ok(stream("application/x-ndjson", access.patience, turn, move |outlet| read(pages, outlet)))
}

/// `GET /v1/checkpoints/{generation}/export`: the file that `weir checkpoint import` takes. Where the checkpoint turns out
/// damaged, the answer breaks off.
pub(super) async fn export(
    State(access): State<Access>,
    Path(generation): Path<String>,
) -> Result<Response, Problem> {
    let (pages, turn) = access.open(&generation).await?;
    let send = move |outlet: &mut Outlet| pages.send(outlet).map_err(io::Error::other);
    Ok(stream("application/octet-stream", access.patience, turn, send))
}

fn read(mut pages: Pages, outlet: &mut Outlet) -> io::Result<()> {
    let generation = pages.generation();
    let mut told = 0;
    loop {
        if outlet.is_closed() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        match pages.next().transpose() {
            Ok(Some(page)) => drop(page),
            Ok(None) => {
                return outlet
                    .line(&json!({ "generation": generation, "sound": true, "bytes": pages.bytes() }));
            }
            Err(error) => {
                return outlet
                    .line(&json!({ "generation": generation, "sound": false, "why": error.to_string() }));
            }
        }
        if pages.bytes() >= told + STEP {
            told = pages.bytes();
            outlet.line(&json!({ "generation": generation, "read": told }))?;
        }
    }
}

/// Runs what waits for a disk or a lock on a thread where it may.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    let failed = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "reading checkpoints failed");
    spawn_blocking(work).await.map_err(failed)
}

fn not_open() -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "this process has not opened its state folder yet, or has none",
    )
}

/// An answer whose body is written by a thread of its own.
fn stream(
    kind: &'static str,
    patience: Duration,
    turn: OwnedSemaphorePermit,
    write: impl FnOnce(&mut Outlet) -> io::Result<()> + Send + 'static,
) -> Response {
    let (chunks, taken) = mpsc::channel(WAITING);
    drop(spawn_blocking(move || {
        let mut outlet = Outlet { chunks, runtime: Handle::current(), patience };
        if let Err(error) = write(&mut outlet) {
            tracing::warn!(%error, "a checkpoint that was asked for over HTTP was not handed over");
            // A reader that is gone, or takes nothing, will not hear it.
            outlet.chunks.try_send(Err(error)).unwrap_or_default();
        }
        drop(turn);
    }));
    let kind = HeaderValue::from_static(kind);
    ([(header::CONTENT_TYPE, kind)], Body::new(Chunks(taken))).into_response()
}

/// Where a body is written to.
struct Outlet {
    chunks: mpsc::Sender<io::Result<Bytes>>,
    runtime: Handle,
    patience: Duration,
}

impl Outlet {
    fn is_closed(&self) -> bool {
        self.chunks.is_closed()
    }

    fn line(&mut self, value: &serde_json::Value) -> io::Result<()> {
        self.hand_over(Bytes::from(format!("{value}\n")))
    }

    fn hand_over(&mut self, bytes: Bytes) -> io::Result<()> {
        let sent = timeout(self.patience, self.chunks.send(Ok(bytes)));
        match self.runtime.block_on(sent) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl io::Write for Outlet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(CHUNK);
        self.hand_over(Bytes::copy_from_slice(&bytes[..taken]))?;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A body of chunks that come as they are read.
struct Chunks(mpsc::Receiver<io::Result<Bytes>>);

impl HttpBody for Chunks {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.get_mut().0.poll_recv(context).map(|next| next.map(|chunk| chunk.map(Frame::data)))
    }
}
