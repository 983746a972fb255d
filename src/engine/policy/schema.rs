//! The JSON Schema of policy files, for editors that complete and check while one types.
//!
//! It is derived from the very types that read the files, so it cannot fall behind them. It knows the shape only;
//! names, ranges and expressions are for `weir check`.

use super::raw::RawFile;

/// The schema (draft 2020-12) of one policy file.
pub fn policy_schema() -> schemars::Schema {
    let mut schema = schemars::schema_for!(RawFile);
    schema.insert("title".to_owned(), "weir policy file".into());
    schema
}
