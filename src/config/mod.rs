//! `weir.toml`: how this installation runs. What is judged, and how, is the policy's and not told here.
//!
//! Order of strength: flags, then `WEIR_<SECTION>_<KEY>` from the environment, then the file, then defaults; with no
//! file at all the defaults hold. A load ends in a [`Config`] without gaps, or in all its [`Problems`] at once, each
//! with its place. Nothing of this is read again while running.

pub mod policy_dir;
pub mod policy_versions;
pub mod standard;

mod effective;
mod problem;
mod raw;
mod secret;
mod show;
mod units;

use std::path::{Path, PathBuf};

pub use effective::{
    BUILT_IN_SEED, Batch, Config, Http, Kafka, Keys, Log, PolicyFiles, Property, State, Topics,
};
pub use problem::{FilePlace, Place, Problem, Problems, Severity};
pub use raw::Overrides;

use crate::engine::time::Span;
use raw::{Reader, Source};

/// A length of time with units (`50ms`, `1h30m`), as everywhere in the configuration.
///
/// # Errors
/// What is wrong with it, in words.
pub fn duration(text: &str) -> Result<Span, String> {
    units::duration(text)
}

/// The file that is read when none is named and it is there.
pub const DEFAULT_FILE: &str = "config/weir.toml";

/// Every knob, by section: what may be set by `WEIR_<SECTION>_<KEY>`. `kafka.properties` is a table and file only.
const KNOBS: &[(&str, &str)] = &[
    ("kafka", "brokers"),
    ("kafka", "topic_prefix"),
    ("kafka", "group"),
    ("kafka", "client_id"),
    ("kafka", "session_timeout"),
    ("kafka", "transaction_timeout"),
    ("kafka", "record_bytes_max"),
    ("kafka", "allow_unverified_tls"),
    ("topics", "partitions"),
    ("topics", "shards"),
    ("topics", "replication"),
    ("topics", "retention"),
    ("batch", "interval"),
    ("batch", "records_max"),
    ("batch", "merge_wait"),
    ("batch", "lead_span"),
    ("http", "listen"),
    ("http", "token"),
    ("http", "token_file"),
    ("http", "connections_max"),
    ("http", "request_timeout"),
    ("http", "stall_timeout"),
    ("http", "subjects_memory"),
    ("policy", "dir"),
    ("policy", "candidate"),
    ("policy", "reload_interval"),
    ("state", "dir"),
    ("state", "checkpoint_interval"),
    ("keys", "seed_id"),
    ("keys", "seed"),
    ("keys", "seed_file"),
    ("log", "format"),
    ("log", "filter"),
];

/// A configuration that can be used.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// What somebody should know nevertheless.
    pub warnings: Vec<Problem>,
    /// The file it came from; `None` when only defaults and overrides hold.
    pub file: Option<PathBuf>,
}

/// Loads the configuration. A `file` that is named must exist; with `None`, [`DEFAULT_FILE`] is read where it is
/// there.
///
/// # Errors
/// All problems at once.
pub fn load(file: Option<&Path>, overrides: &Overrides) -> Result<Loaded, Problems> {
    let file = match file {
        Some(file) => Some(file),
        None => Some(Path::new(DEFAULT_FILE)).filter(|path| path.exists()),
    };
    let Some(path) = file else { return parse(Path::new(""), "", overrides) };
    let text = std::fs::read_to_string(path).map_err(|error| {
        let problem = Problem::error(Place::Given(path.display().to_string()), error.to_string());
        Problems(vec![problem])
    })?;
    let loaded = parse(path, &text, overrides)?;
    Ok(Loaded { file: Some(path.to_owned()), ..loaded })
}

/// Makes a configuration of the text of a file; `path` names it in problems, and paths in it are relative to its
/// folder.
///
/// # Errors
/// All problems at once.
pub fn parse(path: &Path, text: &str, overrides: &Overrides) -> Result<Loaded, Problems> {
    let mut reader = Reader::new(Source { path, text }, overrides);
    let config = effective::read(&mut reader);
    let problems = reader.finish();
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        return Err(Problems(problems));
    }
    Ok(Loaded { config, warnings: problems, file: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = include_str!("../../config/weir.toml");

    fn parse_text(text: &str) -> Result<Loaded, Problems> {
        parse(Path::new("weir.toml"), text, &Overrides::default())
    }

    /// Comments with a space are prose; `#key` is a knob with its default.
    fn uncommented() -> String {
        let knob = |line: &str| match line.strip_prefix('#') {
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_lowercase()) => rest.to_owned(),
            _ => line.to_owned(),
        };
        SAMPLE.lines().map(knob).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_sample_shows_every_knob_with_its_default() {
        let defaults = parse_text("").expect("no file is valid").config;
        let sample = parse_text(SAMPLE).expect("the sample is valid").config;
        assert_eq!(sample.to_string(), defaults.to_string());
        // Secrets have no default; their lines show the form.
        let without_secrets: String = uncommented()
            .lines()
            .filter(|line| !["token", "seed", "\"", "[kafka.p"].iter().any(|key| line.starts_with(key)))
            .map(|line| format!("{line}\n"))
            .collect();
        let shown = parse_text(&without_secrets).unwrap_or_else(|problems| panic!("{problems}")).config;
        assert_eq!(shown.to_string(), defaults.to_string());
    }

    #[test]
    fn the_knobs_listed_are_those_of_the_sample() {
        let mut section = String::new();
        let mut found = Vec::new();
        for line in uncommented().lines() {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = name.to_owned();
            } else if let Some((key, _)) =
                line.split_once(" = ").filter(|(key, _)| !key.starts_with(['#', '"']))
            {
                found.push((section.clone(), key.to_owned()));
            }
        }
        let listed: Vec<_> = KNOBS.iter().map(|(s, k)| ((*s).to_owned(), (*k).to_owned())).collect();
        assert_eq!(found, listed);
    }

    /// A knob that is listed but not read would be an unknown key; one that is read but not listed, here.
    #[test]
    fn the_knobs_listed_are_those_that_are_read() {
        for (section, key) in KNOBS {
            let problems =
                parse_text(&format!("[{section}]\n{key} = []\n")).expect_err("a list is never right");
            let told = &problems.0[0].message;
            assert!(told.starts_with(&format!("`{key}`")), "{section}.{key}: {told}");
        }
    }
}
