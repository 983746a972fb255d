//! Log lines: to stderr, as text for people or as JSON for collectors.
//!
//! Data goes to stdout and talk to stderr, so a log never mixes with output. JSON escapes what an attacker may have
//! put into a field (line breaks, terminal escapes); the text form is escaped by the formatter. `RUST_LOG` overrides
//! the configured filter. Installing twice is harmless: the first stays.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, else JSON.
    Auto,
    /// For people.
    Text,
    /// One object a line.
    Json,
}

/// Installs the log of the process. `filter` is as in `RUST_LOG` (`info`, `weir=debug,librdkafka=warn`), which wins
/// where it is set; `color` allows terminal colours in the text form.
pub fn install(format: LogFormat, filter: &str, color: bool) {
    let filter = match EnvFilter::try_from_default_env() {
        Ok(filter) => filter,
        Err(_) => EnvFilter::new(filter),
    };
    let base = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A second installation (tests, embedding) keeps the first; there is nothing to do about it.
    let _installed = if is_json(format) {
        base.json().flatten_event(true).with_timer(timer()).try_init()
    } else {
        base.with_ansi(color).with_timer(timer()).try_init()
    };
}

fn is_json(format: LogFormat) -> bool {
    match format {
        LogFormat::Json => true,
        LogFormat::Text => false,
        LogFormat::Auto => !std::io::stderr().is_terminal(),
    }
}

fn timer() -> impl FormatTime + Send + Sync + 'static {
    SystemTime
}

/// Whether a filter can be understood.
///
/// # Errors
/// What is wrong with it, in words.
pub fn check_filter(filter: &str) -> Result<(), String> {
    EnvFilter::builder()
        .parse(filter)
        .map(|_| ())
        .map_err(|error| format!("`{filter}` is no filter: {error}"))
}
