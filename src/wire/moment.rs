//! A time in a record that people or other services write: RFC 3339 text or epoch milliseconds, as in interactions.

use serde::{Deserialize, Serialize};

use super::error::DecodeError;
use super::quantity::inline_schema;
use super::time;
use crate::engine::input::DeadLetterReason;
use crate::engine::time::Timestamp;

/// An instant as told, not yet judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Moment {
    /// Milliseconds since the Unix epoch.
    Millis(i64),
    /// The same, as some producers write it.
    Double(f64),
    /// RFC 3339.
    Text(String),
}

impl Moment {
    /// The instant.
    ///
    /// # Errors
    /// `invalid_timestamp` at `field`.
    pub fn read(&self, field: &str) -> Result<Timestamp, DecodeError> {
        let time = match self {
            Moment::Millis(millis) => time::from_millis(i128::from(*millis)),
            Moment::Double(millis) => time::from_double(*millis),
            Moment::Text(text) => time::from_text(text),
        };
        time.map_err(|message| DecodeError::new(DeadLetterReason::InvalidTimestamp, field, message))
    }
}

impl From<Timestamp> for Moment {
    fn from(time: Timestamp) -> Self {
        Moment::Millis(time.millis())
    }
}

inline_schema!(Moment, "Moment", {
    "type": ["string", "number"],
    "format": "date-time",
    "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?([Zz]|[+-][0-9]{2}:?[0-9]{2})$",
    "minimum": 946_684_800_000_i64,
    "exclusiveMaximum": 7_258_118_400_000_i64,
    "multipleOf": 1,
    "x-unit": "RFC 3339 text, or whole milliseconds since 1970-01-01T00:00:00Z",
    "examples": ["2025-06-15T15:06:40.250Z", 1_750_000_000_250_i64]
});
