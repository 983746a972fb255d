//! The desk: what people and monitors may ask of a running instance, over HTTP.
//!
//! `/metrics`, `/healthz`, `/readyz`, and `/v1/subjects/{kind}/{value}`: bans, penalty, account, device and last
//! verdicts of one subject; `/v1/checkpoints`: which there are, with `/{generation}/verify` and `/{generation}/export`.
//! Everything is read only and was committed before it shows. The desk has its own thread
//! and never touches the engine: the pipeline publishes into [`Serving`] and sets [`Readiness`]. If the desk cannot
//! start, the caller decides; once it runs, nothing a client does can stop the pipeline.

pub mod client;

mod answer;
mod bans;
mod checkpoints;
mod guard;
mod problem;
mod readiness;
mod routes;
mod server;
mod serving;
mod subject;

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;

pub use checkpoints::OwnCheckpoints;
pub use readiness::{Check, CheckState, Readiness, Report};
pub use serving::{Answer, ReaderTime, Serving, ServingUpdate, WANTED_MAX};
pub use subject::{AccountSeen, DeviceSeen, Penalty, Subject, SubjectUpdate, VERDICTS_KEPT, VerdictSeen};

use crate::config::Http;
use crate::engine::time::Span;
use crate::metrics;

/// Why the desk could not start.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// Other machines could reach it, and there is no token.
    #[error("{address} can be reached from other machines, and there is no token")]
    Unguarded {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The thread or its runtime could not be made.
    #[error("cannot start the HTTP thread: {0}")]
    Thread(std::io::Error),
}

/// A running desk. Dropping it stops it.
#[derive(Debug)]
pub struct Desk {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Desk {
    /// Starts listening at `address` with the limits and the token of `http`.
    ///
    /// # Errors
    /// When other machines could reach it and there is no token, when the address cannot be had, or when the thread
    /// cannot be made.
    pub fn start(
        address: SocketAddr,
        http: &Http,
        serving: Arc<Serving>,
        readiness: Arc<Readiness>,
        metrics: metrics::Handle,
        checkpoints: &OwnCheckpoints,
    ) -> Result<Self, DeskError> {
        if http.token.is_none() && !address.ip().is_loopback() {
            return Err(DeskError::Unguarded { address });
        }
        let failed = |source| DeskError::Listen { address, source };
        let listener = server::bind(address).map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let stall_timeout = duration(http.stall_timeout);
        let limits = server::Limits {
            connections_max: http.connections_max,
            request_timeout: duration(http.request_timeout),
        };
        let checkpoints = checkpoints::Access::new(checkpoints.clone(), limits.request_timeout);
        let shared =
            routes::Shared { serving, readiness, metrics: metrics.clone(), stall_timeout, checkpoints };
        let router = routes::router(shared, guard::Guard::new(http.token.as_ref()), limits.request_timeout);
        let (stop, stopped) = watch::channel(false);
        let thread = spawn(server::Server { listener, router, limits, metrics, stopped })?;
        Ok(Self { address: bound, stop, thread: Some(thread) })
    }

    /// Where it listens; tells the port when 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Answers what is under way, then ends the thread.
impl Drop for Desk {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the HTTP thread panicked");
        }
    }
}

fn spawn(server: server::Server) -> Result<JoinHandle<()>, DeskError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(DeskError::Thread)?;
    let run = move || {
        if let Err(error) = runtime.block_on(server.run()) {
            tracing::error!(%error, "the HTTP listener was lost");
        }
    };
    std::thread::Builder::new().name("desk".to_owned()).spawn(run).map_err(DeskError::Thread)
}

fn duration(span: Span) -> Duration {
    Duration::from_millis(span.millis().unsigned_abs())
}
