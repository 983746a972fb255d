//! How a command ends when it does not end well, and the two ways to say something.

use std::io::{self, ErrorKind, Write};

use crate::cli::exit;
use crate::stream::StreamError;

/// Why a command could not do what was asked: words for people, and the exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One of [`exit`].
    pub code: u8,
    /// What is told on stderr; nothing when empty.
    pub text: String,
}

impl Failure {
    /// Something did not work.
    pub fn new(text: impl Into<String>) -> Self {
        Self { code: exit::FAILURE, text: format!("error: {}", text.into()) }
    }

    /// Nothing in the input could be decided.
    pub fn of_data(text: impl Into<String>) -> Self {
        Self { code: exit::DATA, ..Self::new(text) }
    }

    /// The configuration or the policy is wrong; `text` is whole already.
    pub fn of_config(text: impl Into<String>) -> Self {
        Self { code: exit::CONFIG, text: text.into() }
    }

    /// The command line makes no sense.
    pub fn of_usage(text: impl Into<String>) -> Self {
        Self { code: exit::USAGE, text: format!("error: {}", text.into()) }
    }

    /// Writing to `name` failed. A reader that went away is no fault.
    pub fn of_output(name: &str, error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self { code: exit::OK, text: String::new() },
            _ => Self::new(format!("{name}: {error}")),
        }
    }
}

impl From<StreamError> for Failure {
    fn from(error: StreamError) -> Self {
        let code = match error {
            StreamError::Unreachable { .. } => exit::KAFKA,
            StreamError::Property { .. } => exit::CONFIG,
            _ => exit::FAILURE,
        };
        Self { code, text: format!("error: {error}") }
    }
}

/// Tells a failure, if it is one, and gives the exit code.
pub fn finish(result: Result<u8, Failure>) -> u8 {
    match result {
        Ok(code) => code,
        Err(failure) => {
            if !failure.text.is_empty() {
                tell(&failure.text);
            }
            failure.code
        }
    }
}

/// Writes data to stdout.
///
/// # Errors
/// It cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::of_output("stdout", &error))
}

/// Says something on stderr, in lines of its own. With nobody there to hear it, it is not said.
pub fn tell(text: &str) {
    writeln!(io::stderr().lock(), "{text}").unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_went_away_is_no_fault() {
        let gone = Failure::of_output("stdout", &ErrorKind::BrokenPipe.into());
        assert_eq!((gone.code, gone.text.as_str()), (exit::OK, ""));
        let full = Failure::of_output("out.jsonl", &ErrorKind::StorageFull.into());
        assert_eq!(full.code, exit::FAILURE);
        assert!(full.text.starts_with("error: out.jsonl: "), "{}", full.text);
    }
}
