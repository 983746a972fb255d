//! Reading and writing the records that come rarely: bans, cases, commands and the like go through serde as a
//! whole. Interactions and decisions have their own ways.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::{DecodeError, Trail};
use crate::engine::input::DeadLetterReason;

/// The most bytes of a record of these topics: 1 MiB, which a broker takes by default.
pub const RECORD_MAX: usize = 1 << 20;

/// The JSON of a record.
///
/// # Panics
/// Never for the types of the contract: their keys are text.
pub(crate) fn write<T: Serialize>(record: &T) -> Vec<u8> {
    serde_json::to_vec(record).expect("text, numbers and structs of them can always be written")
}

/// A record from its JSON, with or without registry framing.
///
/// # Errors
/// `null_value`, `too_large`, `invalid_utf8`, `malformed_json`, `missing_field`, `repeated_key`, `invalid_field`.
pub(crate) fn read<T: DeserializeOwned>(value: Option<&[u8]>) -> Result<T, DecodeError> {
    let text = super::body::text(value, RECORD_MAX)?;
    serde_json::from_str(text).map_err(|error| DecodeError::from_json(&error, &Trail::default()))
}

/// A field that is there but says what it may not.
pub(crate) fn invalid(field: &str, message: impl Into<String>) -> DecodeError {
    DecodeError::new(DeadLetterReason::InvalidField, field, message)
}
