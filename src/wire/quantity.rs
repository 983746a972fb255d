//! Quantities of the contract, each with its unit: what every schema says about a time or a length of time.

use serde::{Deserialize, Serialize};

use crate::engine::time::{Span, Timestamp};

/// An instant: whole milliseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EpochMillis(pub i64);

/// A length of time: whole milliseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl From<Timestamp> for EpochMillis {
    fn from(time: Timestamp) -> Self {
        Self(time.millis())
    }
}

impl From<EpochMillis> for Timestamp {
    fn from(time: EpochMillis) -> Self {
        Timestamp::from_millis(time.0)
    }
}

impl From<Span> for Millis {
    fn from(span: Span) -> Self {
        Self(span.millis())
    }
}

impl From<Millis> for Span {
    fn from(length: Millis) -> Self {
        Span::from_millis(length.0)
    }
}

/// Implements `JsonSchema` as an inline fragment.
macro_rules! inline_schema {
    ($type:ty, $name:literal, $($json:tt)+) => {
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($($json)+)
            }
        }
    };
}
pub(crate) use inline_schema;

inline_schema!(EpochMillis, "EpochMillis", {
    "type": "integer",
    "x-unit": "milliseconds since 1970-01-01T00:00:00Z",
    "examples": [1_750_000_000_000_i64]
});

inline_schema!(Millis, "Millis", {
    "type": "integer",
    "minimum": 0,
    "x-unit": "milliseconds",
    "examples": [60_000]
});
