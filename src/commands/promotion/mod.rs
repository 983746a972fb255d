//! `weir policy promote|rollback|list`: which policy is in place.
//!
//! Nothing is told to a running instance: its folder is the truth, and it looks at that itself. What was in place is kept
//! beside the folder ([`crate::config::policy_versions`]), and each change with its figures in a log there.

mod earlier;
mod entry;
mod evidence;
mod list;
mod promote;
mod rollback;
mod shadow;

use std::path::{Path, PathBuf};

use super::policy::{self, Found};
use super::{Failure, finish, setup};
use crate::cli::{PolicyAction, VersionsArgs};
use crate::config::Config;
use crate::config::policy_versions::{Files, Versions, Way};
use crate::engine::policy::load::content_hash;

/// Runs it.
pub fn run(action: &PolicyAction) -> u8 {
    finish(match action {
        PolicyAction::Promote(args) => promote::promote(args),
        PolicyAction::Rollback(args) => rollback::rollback(args),
        PolicyAction::List(args) => list::list(args),
    })
}

/// The policy in place: its folder, and what is in it.
struct Place {
    config: Config,
    dir: PathBuf,
    /// `None` in place of a folder: the standard policy judges.
    found: Found,
    hash: String,
    versions: Versions,
}

impl Place {
    fn of(args: &VersionsArgs) -> Result<Self, Failure> {
        let config = setup::config(&args.config)?;
        let dir = args.policy.clone().unwrap_or_else(|| config.policy.dir.clone());
        let found = match &args.policy {
            Some(dir) => policy::read(dir)?,
            None => policy::configured(&config)?,
        };
        let (hash, versions) = (content_hash(&found.files), Versions::of(&dir));
        Ok(Self { config, dir, found, hash, versions })
    }

    /// Puts a version there, if what was looked at is there still.
    fn put(&self, hash: &str, files: &Files) -> Result<&'static str, Failure> {
        let now = match &self.found.dir {
            Some(dir) => content_hash(&policy::read(dir)?.files),
            None => self.hash.clone(),
        };
        if now != self.hash {
            let dir = self.dir.display();
            return Err(Failure::new(format!("{dir} was changed meanwhile: look at it and begin again")));
        }
        let way = self.versions.put((hash, files), Some((&self.hash, &self.found.files)));
        way.map(Way::words).map_err(|error| failed(&self.dir, &error))
    }
}

fn failed(dir: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: not changed: {error}", dir.display()))
}

/// Enough of a hash to tell it by.
fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}
