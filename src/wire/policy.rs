//! `risk.policies.v1`: the text of each policy that was ever live, compacted by its content hash.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::DecodeError;
use super::record::{self, invalid};
use crate::engine::policy::load::content_hash;

/// A policy as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Policy", deny_unknown_fields)]
pub struct PolicyRecord {
    /// Content hash over the names and texts of its files; decisions carry it, and the record key is the same
    /// text.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"),
        example = &"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub hash: String,
    /// Its files, by name.
    #[schemars(example = serde_json::json!([{ "path": "standard.yaml", "text": "version: 1\n" }]))]
    pub files: Vec<PolicyFile>,
}

/// One file of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PolicyFile {
    /// Path within the policy's directory.
    #[schemars(example = &"standard.yaml")]
    pub path: String,
    /// The whole text: YAML, or the CSV of a table.
    #[schemars(example = &"version: 1\n")]
    pub text: String,
}

/// The JSON of a policy; the record key is `hash`.
pub fn encode(hash: &str, files: &[(String, String)]) -> Vec<u8> {
    let files = files.iter().map(|(path, text)| PolicyFile { path: path.clone(), text: text.clone() });
    record::write(&PolicyRecord { hash: hash.to_owned(), files: files.collect() })
}

/// Reads a policy: its hash and its files.
///
/// # Errors
/// Whatever the JSON has wrong, and text that does not have the hash it is filed under.
pub fn decode(value: Option<&[u8]>) -> Result<(String, Vec<(String, String)>), DecodeError> {
    let record: PolicyRecord = record::read(value)?;
    let files: Vec<_> = record.files.into_iter().map(|file| (file.path, file.text)).collect();
    let actual = content_hash(&files);
    if actual != record.hash {
        return Err(invalid("hash", format!("the text has the hash {actual}")));
    }
    Ok((record.hash, files))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::input::DeadLetterReason;

    #[test]
    fn a_policy_reads_back_as_written_and_only_whole() {
        let files =
            vec![("a.yaml".to_owned(), "version: 1\n".to_owned()), ("b.yaml".to_owned(), "ü".to_owned())];
        let hash = content_hash(&files);
        let json = encode(&hash, &files);
        assert_eq!(decode(Some(&json)), Ok((hash, files)));
        let changed = String::from_utf8(json).expect("text").replace("version: 1", "version: 2");
        let error = decode(Some(changed.as_bytes())).expect_err("changed");
        assert_eq!((error.reason, error.place.as_str()), (DeadLetterReason::InvalidField, "hash"));
    }
}
