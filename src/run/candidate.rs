//! The candidate policy while running: its folder is looked at every so often.
//!
//! A folder that is not there, or a policy that is wrong, never keeps the live stream from running: it is told in the log,
//! and the candidate that ran before goes on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;

use crate::commands::policy;
use crate::config::policy_dir;
use crate::engine::policy::Policy;
use crate::engine::policy::load::content_hash;
use crate::metrics;
use crate::pipeline::CandidatePolicy;

/// What was found in the folder last.
#[derive(Default)]
pub(super) struct Watched {
    policy: ArcSwapOption<Policy>,
}

impl Watched {
    /// Reads the folder, and goes on looking at it from a thread of its own until told to stop.
    pub(super) fn start(
        dir: PathBuf,
        every: Duration,
        stop: Arc<AtomicBool>,
    ) -> std::io::Result<CandidatePolicy> {
        metrics::candidate_runs(None);
        let watched = Arc::new(Self::default());
        let mut seen = None;
        watched.look(&dir, &mut seen);
        let known = Arc::clone(&watched);
        std::thread::Builder::new().name("weir-candidate".to_owned()).spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                std::thread::park_timeout(every);
                watched.look(&dir, &mut seen);
            }
        })?;
        Ok(Arc::new(move || known.policy.load_full()))
    }

    /// Loads what is there unless it was seen already.
    fn look(&self, dir: &Path, seen: &mut Option<String>) {
        let hash = match policy_dir::read_dir(dir) {
            Ok(files) => content_hash(&files),
            Err(error) => error.to_string(),
        };
        if seen.as_ref() == Some(&hash) {
            return;
        }
        *seen = Some(hash);
        match policy::read(dir).and_then(|found| found.load_or_fail()) {
            Ok(loaded) => self.policy.store(Some(loaded.policy)),
            Err(failure) => {
                tracing::error!(dir = %dir.display(), "the candidate cannot be used\n{}", failure.text);
            }
        }
    }
}
