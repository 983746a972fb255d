//! The policy while running: its directory is looked at every so often, and at once on SIGHUP.
//!
//! What counts is the content's hash, not file events: a swapped symbolic link, a half-written file or a touched one
//! cannot fool it. A file that is wrong changes nothing, and stays visible: in the log, as a metric and at `/readyz`,
//! until it is put right.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use arc_swap::ArcSwap;

use crate::commands::policy;
use crate::config::policy_dir;
use crate::desk::{Readiness, Serving};
use crate::engine::policy::Policy;
use crate::engine::policy::load::content_hash;
use crate::metrics;

/// What the watcher needs.
pub(super) struct Reload {
    /// The policy's directory; `None` for the standard policy, which does not change.
    pub(super) dir: Option<PathBuf>,
    /// The policy for engines that are made from now on.
    pub(super) policy: Arc<ArcSwap<Policy>>,
    /// The way to the running shard.
    pub(super) policies: Sender<Arc<Policy>>,
    pub(super) serving: Arc<Serving>,
    pub(super) readiness: Arc<Readiness>,
    pub(super) stop: Arc<AtomicBool>,
}

/// Asks for a look at once.
#[derive(Clone, Debug)]
pub(super) struct Again(Sender<()>);

impl Again {
    pub(super) fn now(&self) {
        // Nobody is left to look while stopping.
        self.0.send(()).unwrap_or_default();
    }
}

impl Reload {
    /// Starts to watch.
    pub(super) fn start(self, every: Duration) -> std::io::Result<Again> {
        let (again, asked) = channel();
        std::thread::Builder::new()
            .name("weir-policy".to_owned())
            .spawn(move || self.watch(&asked, every))?;
        Ok(Again(again))
    }

    fn watch(&self, asked: &Receiver<()>, every: Duration) {
        let Some(dir) = &self.dir else { return };
        let mut refused = None;
        while !self.stop.load(Ordering::Relaxed) {
            let asked = match asked.recv_timeout(every) {
                Ok(()) => true,
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            self.look(dir, asked, &mut refused);
        }
    }

    /// Loads what is there when it is neither what holds nor what was refused already.
    fn look(&self, dir: &Path, asked: bool, refused: &mut Option<String>) {
        let hash = match policy_dir::read_dir(dir) {
            Ok(files) => content_hash(&files),
            Err(error) => error.to_string(),
        };
        let holds = *hash == *self.policy.load().hash;
        if holds && refused.take().is_some() {
            self.accept(&self.policy.load_full());
        }
        if holds || (!asked && refused.as_ref() == Some(&hash)) {
            return;
        }
        match policy::read(dir).and_then(|found| found.load_or_fail()) {
            Ok(loaded) => {
                *refused = None;
                self.policy.store(Arc::clone(&loaded.policy));
                // A shard that is being acquired takes the newest policy by itself.
                self.policies.send(Arc::clone(&loaded.policy)).unwrap_or_default();
                self.accept(&loaded.policy);
            }
            Err(failure) => {
                *refused = Some(hash);
                self.refuse(&failure.text);
            }
        }
    }

    fn accept(&self, policy: &Policy) {
        tracing::info!(hash = %policy.hash, "the policy is in order");
        metrics::policy_loaded(&policy.hash);
        self.serving.set_ipv6_prefix(policy.settings.ipv6_prefix);
        self.readiness.set_notes(Vec::new());
    }

    fn refuse(&self, problems: &str) {
        let holds = &self.policy.load().hash;
        tracing::error!(%holds, "the policy on disk is wrong and was not loaded; the one before still holds\n{problems}");
        metrics::policy_refused();
        self.readiness.set_notes(vec![format!("the policy on disk was refused:\n{problems}")]);
    }
}
