//! From files to a policy: all problems at once, or a policy and what is doubtful about it.
//!
//! Nothing is read from a disk here: the caller hands over paths and texts. The same texts always give the same
//! policy and the same hash, in whatever order they come. On any error there is no policy at all.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::build;
use super::node::{self, Kind, Node};
use super::problem::{Problem, Report};
use super::source::Sources;
use super::tests::RuleTest;
use super::{Policy, raw};

/// The largest file that is read, in bytes.
pub const LARGEST_FILE: usize = 4 << 20;

/// A policy, what is doubtful about it, and the tests beside its rules.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The policy.
    pub policy: Arc<Policy>,
    /// Warnings, by file and line.
    pub warnings: Vec<Problem>,
    /// The tests beside its limits, rules and pools, in the order of the files.
    pub tests: Vec<RuleTest>,
}

/// Loads a policy from its files: paths relative to the policy's directory, and their texts.
///
/// # Errors
/// Every problem found, errors and warnings, by file and line.
pub fn load(files: &[(String, String)]) -> Result<Loaded, Vec<Problem>> {
    let mut files = files.to_vec();
    files.sort();
    let sources = Sources::new(&files);
    let report = Report::new(&sources);
    let draft = gather(&files, &report);
    let built = build::build(draft, &report);
    let clean = report.is_clean();
    let problems = report.into_problems();
    match built {
        Some((mut policy, tests)) if clean => {
            policy.hash = content_hash(&files).into();
            policy.sources = files;
            Ok(Loaded { policy: Arc::new(policy), warnings: problems, tests })
        }
        _ => Err(problems),
    }
}

/// The hash that names these files' content: 64 hex digits, whatever order they come in.
pub fn content_hash(files: &[(String, String)]) -> String {
    let mut files: Vec<&(String, String)> = files.iter().collect();
    files.sort();
    let mut hash = Sha256::new();
    for (path, text) in files {
        for part in [path, text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All sections of all files.
fn gather(files: &[(String, String)], report: &Report<'_>) -> build::Draft {
    let mut draft = build::Draft::default();
    if files.is_empty() {
        report.error(0, "the policy has no files: put *.yaml files into its directory");
    }
    for (index, (path, text)) in files.iter().enumerate() {
        if text.len() > LARGEST_FILE {
            let message = format!("the file has {} bytes; at most {LARGEST_FILE} are read", text.len());
            report.error(report.sources().position(index, 0), message);
            continue;
        }
        if path.ends_with(".csv") {
            draft.tables.push(build::Table { file: index, path: path.clone(), text: text.clone() });
            continue;
        }
        match node::parse(index, text, report) {
            Some(Node { kind: Kind::Map(entries), .. }) => draft.add_file(&entries, report),
            Some(Node { kind: Kind::Null, .. }) | None => {}
            Some(other) => {
                let message =
                    format!("expected sections such as `{}:`, found {}", raw::SECTIONS[2], other.kind.name());
                report.error(other.at, message);
            }
        }
    }
    draft
}
