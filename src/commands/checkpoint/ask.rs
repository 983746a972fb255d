//! The process that owns the checkpoints, asked over HTTP.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;

use crate::commands::Failure;
use crate::commands::table::visible;
use crate::desk::client::{Answer, Server};
use crate::state::{Held, verify_export};

/// Most bytes of an answer that is held in memory: a list, a problem, a line.
const TEXT_MAX: u64 = 1 << 20;

/// A running process.
pub(super) struct Process {
    server: Server,
    token: Option<SecretString>,
}

/// Why it did not say what was asked.
pub(super) enum Unanswered {
    /// It cannot be asked: not there, not weir, or the token is not the right one. In words.
    Deaf(String),
    /// There is no such checkpoint.
    Missing(String),
    /// It is there and cannot be read: damaged, or of another form. In words.
    Unreadable(String),
}

impl Unanswered {
    pub(super) fn into_words(self) -> String {
        match self {
            Self::Deaf(why) | Self::Missing(why) | Self::Unreadable(why) => why,
        }
    }
}

impl From<Unanswered> for Failure {
    fn from(unanswered: Unanswered) -> Self {
        Self::new(unanswered.into_words())
    }
}

/// What it lists.
#[derive(Deserialize)]
pub(super) struct List {
    pub(super) state_dir: String,
    #[serde(flatten)]
    pub(super) held: Held,
}

/// The last line of a verification.
#[derive(Deserialize)]
struct Verified {
    sound: bool,
    bytes: Option<u64>,
    why: Option<String>,
}

impl Process {
    pub(super) fn new(server: Server, token: Option<SecretString>) -> Self {
        Self { server, token }
    }

    pub(super) fn list(&self) -> Result<List, Unanswered> {
        let mut text = String::new();
        let mut answer = self.ask("/v1/checkpoints")?.take(TEXT_MAX);
        answer.read_to_string(&mut text).map_err(|error| self.deaf(&error))?;
        serde_json::from_str(&text).map_err(|error| self.deaf(&error))
    }

    /// The bytes of its pages; in words what is damaged, and where, otherwise.
    pub(super) fn verify(&self, generation: u64) -> Result<Result<u64, String>, Unanswered> {
        let mut lines = BufReader::new(self.ask(&format!("/v1/checkpoints/{generation}/verify"))?);
        loop {
            let mut line = String::new();
            (&mut lines).take(TEXT_MAX).read_line(&mut line).map_err(|error| self.deaf(&error))?;
            let said: Value =
                serde_json::from_str(&line).map_err(|_| self.deaf(&"it ended before it was done"))?;
            if said.get("sound").is_some() {
                let Verified { sound, bytes, why } =
                    serde_json::from_value(said).map_err(|error| self.deaf(&error))?;
                let bytes = bytes.filter(|_| sound);
                return Ok(
                    bytes.ok_or_else(|| why.map_or_else(|| "it is damaged".to_owned(), |why| visible(&why)))
                );
            }
        }
    }

    /// Writes a copy into a file, which appears under its name when it was read to its end and is whole. Gives its bytes.
    pub(super) fn export(&self, generation: u64, file: &Path) -> Result<u64, Failure> {
        let mut partial = file.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let written = self.copy(generation, &partial).and_then(|bytes| {
            fs::rename(&partial, file)
                .map_err(|error| Failure::of_output(&file.display().to_string(), &error))?;
            Ok(bytes)
        });
        if written.is_err() {
            fs::remove_file(&partial).unwrap_or_default();
        }
        written
    }

    fn copy(&self, generation: u64, to: &Path) -> Result<u64, Failure> {
        let unwritten = |error: &std::io::Error| Failure::of_output(&to.display().to_string(), error);
        let mut answer = self.ask(&format!("/v1/checkpoints/{generation}/export"))?;
        let mut out = fs::File::create(to).map_err(|error| unwritten(&error))?;
        let bytes = match std::io::copy(&mut answer, &mut out) {
            Ok(bytes) => bytes,
            // Damage breaks the answer off, for it was begun; where it is, the process can say.
            Err(broken) => return Err(self.broken_off(generation, &broken)),
        };
        out.sync_all().map_err(|error| unwritten(&error))?;
        match verify_export(to) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(self.broken_off(generation, &error)),
        }
    }

    fn broken_off(&self, generation: u64, how: &dyn std::fmt::Display) -> Failure {
        match self.verify(generation) {
            Ok(Err(why)) => Failure::new(why),
            _ => Failure::new(format!(
                "checkpoint {generation} did not come whole from {}: {how}",
                self.server
            )),
        }
    }

    fn ask(&self, path: &str) -> Result<Answer, Unanswered> {
        let answer = self.server.get(path, self.token.as_ref()).map_err(|error| self.deaf(&error))?;
        let status = answer.status;
        if status == 200 {
            return Ok(answer);
        }
        let mut text = String::new();
        // A problem that cannot be read is told by its status.
        answer.take(TEXT_MAX).read_to_string(&mut text).unwrap_or_default();
        let problem: Value = serde_json::from_str(&text).unwrap_or_default();
        let detail = problem["detail"].as_str().map_or_else(|| format!("status {status}"), visible);
        Err(match status {
            422 => Unanswered::Unreadable(detail),
            404 if path != "/v1/checkpoints" => Unanswered::Missing(detail),
            _ => self.deaf(&detail),
        })
    }

    fn deaf(&self, why: &dyn std::fmt::Display) -> Unanswered {
        Unanswered::Deaf(format!("{} does not answer: {why}", self.server))
    }
}
