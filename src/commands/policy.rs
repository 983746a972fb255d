//! Which policy judges: the folder that was named, else the configured one, else the standard policy.
//!
//! The standard policy steps in only where nobody named a folder: a folder that was named and is not there is an
//! error. Problems name their file with its folder, as the user would open it.

use std::path::{Path, PathBuf};

use super::{Failure, setup};
use crate::cli::{ConfigArgs, PolicyArgs};
use crate::config::{Config, policy_dir, standard};
use crate::engine::policy::load::{self, Loaded};
use crate::engine::policy::problem::{Problem, Severity};

/// Where policies are looked for when nobody says otherwise.
const DEFAULT_DIR: &str = "config/policy";

/// The files of a policy, not read for their meaning yet.
#[derive(Clone, Debug)]
pub struct Found {
    /// The folder; `None` for the standard policy.
    pub dir: Option<PathBuf>,
    /// Names and texts.
    pub files: Vec<(String, String)>,
}

/// The policy of the command line, else the one that is configured there.
///
/// # Errors
/// The configuration is wrong, or the folder cannot be read.
pub fn of_args(args: &PolicyArgs, config: &ConfigArgs) -> Result<Found, Failure> {
    match &args.policy {
        Some(dir) => read(dir),
        None => configured(&setup::config(config)?),
    }
}

/// The configured policy; the standard one where none is configured and none is in the usual place.
///
/// # Errors
/// The folder cannot be read.
pub fn configured(config: &Config) -> Result<Found, Failure> {
    let dir = &config.policy.dir;
    if dir == Path::new(DEFAULT_DIR) { usual() } else { read(dir) }
}

/// The policy in the usual place, or else the standard one.
///
/// # Errors
/// The folder is there and cannot be read.
pub fn usual() -> Result<Found, Failure> {
    let dir = Path::new(DEFAULT_DIR);
    if dir.exists() { read(dir) } else { Ok(Found { dir: None, files: standard::files() }) }
}

/// The policy in a folder.
///
/// # Errors
/// The folder or one of its files cannot be read.
pub fn read(dir: &Path) -> Result<Found, Failure> {
    match policy_dir::read_dir(dir) {
        Ok(files) => Ok(Found { dir: Some(dir.to_owned()), files }),
        Err(error) => Err(Failure::of_config(format!("error: policy: {error}"))),
    }
}

impl Found {
    /// Its name for people.
    pub fn name(&self) -> String {
        self.dir.as_ref().map_or_else(|| "standard policy".to_owned(), |dir| dir.display().to_string())
    }

    /// Reads it for its meaning.
    ///
    /// # Errors
    /// All problems at once, with the folder in their file names.
    pub fn load(&self) -> Result<Loaded, Vec<Problem>> {
        match load::load(&self.files) {
            Ok(loaded) => Ok(Loaded { warnings: self.placed(loaded.warnings), ..loaded }),
            Err(problems) => Err(self.placed(problems)),
        }
    }

    /// Reads it for its meaning, for those who need it to go on.
    ///
    /// # Errors
    /// All problems at once, in words.
    pub fn load_or_fail(&self) -> Result<Loaded, Failure> {
        self.load().map_err(|problems| {
            let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
            let told: Vec<String> = problems.iter().map(|problem| format!("{problem}\n\n")).collect();
            Failure::of_config(format!("{}{} in the policy", told.concat(), counted(errors, "error")))
        })
    }

    fn placed(&self, mut problems: Vec<Problem>) -> Vec<Problem> {
        for problem in &mut problems {
            problem.file = match &self.dir {
                Some(dir) => dir.join(&problem.file).display().to_string(),
                None => format!("{}/{}", self.name(), problem.file),
            };
        }
        problems
    }
}

/// `1 limit`, `2 limits`.
pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_named_must_be_there() {
        let failure = read(Path::new("no/such/folder")).expect_err("it is not there");
        assert_eq!(failure.code, crate::cli::exit::CONFIG);
        assert!(failure.text.contains("no/such/folder"), "{}", failure.text);
    }

    #[test]
    fn problems_name_the_file_with_its_folder() {
        let files = vec![("a.yaml".to_owned(), "version: 1\nlimit: []\n".to_owned())];
        let found = Found { dir: Some("p".into()), files };
        let failure = found.load_or_fail().expect_err("unknown section");
        assert!(failure.text.starts_with("p/a.yaml:2:1: error: "), "{}", failure.text);
    }
}
