//! The listener and its thread: connections in, answers out, within limits.
//!
//! One thread with its own single-threaded runtime; nothing here blocks it. At most `connections_max` connections are
//! open, further ones wait to be accepted. A request's head must arrive within the request timeout and stay within
//! [`HEAD_BYTES_MAX`]; a connection whose client stops reading is closed with it. On shutdown no connection is
//! accepted any more, requests under way are answered, and after [`DRAIN`] what is left is dropped.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::metrics;

/// Most bytes of a request's head.
const HEAD_BYTES_MAX: usize = 32 * 1024;

/// Most header fields of a request.
const HEADERS_MAX: usize = 64;

/// How long requests under way may take on shutdown.
const DRAIN: Duration = Duration::from_secs(3);

/// Between folds of recorded samples.
const UPKEEP: Duration = Duration::from_secs(5);

/// After a failed accept (out of file handles, for instance): the next try.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What bounds connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) connections_max: usize,
    pub(super) request_timeout: Duration,
}

/// A listener with all it needs to serve.
pub(super) struct Server {
    pub(super) listener: std::net::TcpListener,
    pub(super) router: Router,
    pub(super) limits: Limits,
    pub(super) metrics: metrics::Handle,
    /// Serving ends when this changes or its sender is gone.
    pub(super) stopped: watch::Receiver<bool>,
}

impl Server {
    /// Serves until it is stopped.
    pub(super) async fn run(self) -> std::io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        tokio::select! {
            () = serve(listener, self.router, self.limits, self.stopped) => Ok(()),
            never = upkeep(self.metrics) => match never {},
        }
    }
}

async fn serve(listener: TcpListener, router: Router, limits: Limits, mut stopped: watch::Receiver<bool>) {
    let slots = Arc::new(Semaphore::new(limits.connections_max));
    let mut connections = JoinSet::new();
    loop {
        let slot = Arc::clone(&slots).acquire_owned();
        let accepted = tokio::select! {
            _ = stopped.changed() => break,
            accepted = async { (slot.await, listener.accept().await) } => accepted,
        };
        let (Ok(slot), Ok((stream, _))) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let connection = connection(stream, router.clone(), limits, stopped.clone());
        connections.spawn(async move {
            connection.await;
            drop(slot);
        });
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN, drained).await.is_err() {
        tracing::warn!("HTTP requests were still open at the end and are dropped");
    }
}

async fn connection(stream: TcpStream, router: Router, limits: Limits, mut stopped: watch::Receiver<bool>) {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.request_timeout)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    let service = TowerToHyperService::new(router);
    let io = TokioIo::new(stream);
    let mut connection = std::pin::pin!(builder.serve_connection(io, service));
    let served = tokio::select! {
        served = connection.as_mut() => served,
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "HTTP connection");
    }
}

/// Folds metric samples until the end.
async fn upkeep(metrics: metrics::Handle) -> Infallible {
    let mut interval = tokio::time::interval(UPKEEP);
    loop {
        interval.tick().await;
        metrics.run_upkeep();
    }
}

/// Binds an address.
pub(super) fn bind(address: SocketAddr) -> std::io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}
