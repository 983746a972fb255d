//! `weir checkpoint list|verify|export|import`.
//!
//! Where a process owns the folder, it is asked: it knows which checkpoints the journal confirms, and reads them itself. It
//! is found by what it left in the folder's lock, or by `--url`. Where it does not answer over HTTP, the files are read as
//! they stand, and that is said: files never change, and what the owner removes meanwhile can be read to its end or is
//! missing. `import` alone writes, and needs a folder that nobody owns.

mod ask;
mod list;
mod transfer;
mod verify;

use super::table::visible;
use super::{Failure, finish, tell};
use crate::cli::{CheckpointAction, CheckpointArgs, FromArgs, StateArgs};
use crate::config::Config;
use crate::desk::client::Server;
use crate::state::{Archive, Holder, StateError, holder};

use self::ask::{List, Process, Unanswered};

/// Runs it.
pub fn run(args: &CheckpointArgs) -> u8 {
    finish(match &args.action {
        CheckpointAction::List { format, from } => source(from).and_then(|from| list::list(&from, *format)),
        CheckpointAction::Verify { generation, format, from } => {
            source(from).and_then(|from| verify::verify(&from, *generation, *format))
        }
        CheckpointAction::Export { generation, output, from } => {
            source(from).and_then(|from| transfer::export(&from, *generation, output))
        }
        CheckpointAction::Import { file, state } => {
            config(state).and_then(|config| transfer::import(&config.state.dir, file))
        }
    })
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        Self::new(error.to_string())
    }
}

/// Who tells of checkpoints.
enum Source {
    /// Files that are read here.
    Files(Archive),
    /// Their owner, and what it listed when it was asked.
    Process(Process, List),
}

fn config(args: &StateArgs) -> Result<Config, Failure> {
    args.load().map(|loaded| loaded.config).map_err(|problems| Failure::of_config(problems.to_string()))
}

/// Whom to ask. Tells when somebody is using the folder.
fn source(args: &FromArgs) -> Result<Source, Failure> {
    let config = config(&args.state)?;
    if let Some(url) = &args.url {
        let server = Server::parse(url).map_err(|why| Failure::of_usage(format!("--url: {why}")))?;
        let process = Process::new(server, config.http.token);
        let list = process.list()?;
        return Ok(Source::Process(process, list));
    }
    let dir = config.state.dir.clone();
    let Some(holder) = holder(&dir) else { return Ok(Source::Files(Archive::at(dir))) };
    let used = format!("{} is in use by {}", dir.display(), visible(&holder.who));
    match owner(&holder, config) {
        Ok((process, list)) => {
            tell(&format!("{used}, which answers"));
            Ok(Source::Process(process, list))
        }
        Err(why) => {
            tell(&format!("{used}; this is what stands on the disk now{why}"));
            Ok(Source::Files(Archive::at(dir)))
        }
    }
}

/// The owner of a folder, if it answers; why not, to be said behind other words, otherwise.
fn owner(holder: &Holder, config: Config) -> Result<(Process, List), String> {
    let Some(url) = &holder.url else { return Err(String::new()) };
    let told = |why: String| format!(", for {}", visible(&why));
    let process = Process::new(Server::parse(url).map_err(told)?, config.http.token);
    let list = process.list().map_err(Unanswered::into_words).map_err(told)?;
    Ok((process, list))
}

impl Source {
    /// The numbers of the checkpoints there are, newest first.
    fn generations(&self) -> Result<Vec<u64>, Failure> {
        match self {
            Self::Files(archive) => Ok(archive.generations()?),
            Self::Process(_, list) => {
                let whole = list.held.checkpoints.iter().map(|owned| owned.generation.generation);
                let mut all: Vec<u64> =
                    whole.chain(list.held.unusable.iter().map(|s| s.generation)).collect();
                all.sort_unstable_by(|a, b| b.cmp(a));
                Ok(all)
            }
        }
    }

    /// The checkpoint that was asked for, else the newest.
    fn chosen(&self, generation: Option<u64>) -> Result<u64, Failure> {
        let newest = || Ok(self.generations()?.first().copied());
        match generation.map_or_else(newest, |generation| Ok::<_, Failure>(Some(generation)))? {
            Some(generation) => Ok(generation),
            None => Err(Failure::new(self.none())),
        }
    }

    fn none(&self) -> String {
        let dir = match self {
            Self::Files(archive) => archive.dir().display().to_string(),
            Self::Process(_, list) => visible(&list.state_dir),
        };
        format!("there are no checkpoints in {dir}")
    }
}
