//! What the JSON Schema says of each kind of field of an interaction.

use schemars::Schema;
use serde_json::json;

use crate::wire::quantity::inline_schema;

/// A required id.
pub(super) struct RequiredId;
/// An optional id.
pub(super) struct AnyId;
/// What was done.
pub(super) struct Action;
/// An instant, as text or number.
pub(super) struct Time;
/// A peer address.
pub(super) struct Address;
/// A list of addresses.
pub(super) struct ForwardedFor;
/// The text of a client.
pub(super) struct UserAgent;
/// Success or failure.
pub(super) struct Outcome;
/// The device.
pub(super) struct DeviceObject;
/// The account.
pub(super) struct AccountObject;
/// Open attributes.
pub(super) struct OpenObject;

inline_schema!(RequiredId, "RequiredId", {
    "type": ["string", "integer"],
    "minLength": 1,
    "maxLength": 1024,
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\u0000-\\u001f\\u007f-\\u009f\\s][^\\u0000-\\u001f\\u007f-\\u009f]*$",
    "minimum": i64::MIN,
    "maximum": u64::MAX,
    "x-unit": "text, at most 1024 bytes; a whole number within 64 bits is taken digit for digit",
    "examples": ["01J0Z4T5R0A1B2C3D4E5F6G7H8"]
});

inline_schema!(AnyId, "AnyId", {
    "type": ["string", "integer"],
    "maxLength": 1024,
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
    "minimum": i64::MIN,
    "maximum": u64::MAX,
    "x-unit": "text, at most 1024 bytes; a whole number within 64 bits is taken digit for digit",
    "examples": ["u-1", 42]
});

inline_schema!(Action, "Action", {
    "type": "string",
    "minLength": 1,
    "maxLength": 1024,
    "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\u0000-\\u001f\\u007f-\\u009f\\s][^\\u0000-\\u001f\\u007f-\\u009f]*$",
    "x-unit": "text, at most 1024 bytes",
    "examples": ["like", "comment", "login", "coupon_claim"]
});

inline_schema!(Time, "Time", {
    "type": ["string", "number"],
    "format": "date-time",
    "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?([Zz]|[+-][0-9]{2}:?[0-9]{2})$",
    "minimum": 946_684_800_000_i64,
    "exclusiveMaximum": 7_258_118_400_000_i64,
    "multipleOf": 1,
    "x-unit": "RFC 3339 text, or whole milliseconds since 1970-01-01T00:00:00Z",
    "examples": ["2025-06-15T15:06:40.250Z", 1_750_000_000_250_i64]
});

inline_schema!(Address, "Address", {
    "type": "string",
    "maxLength": 1024,
    "x-unit": "IPv4 or IPv6 address as text",
    "examples": ["198.51.100.7", "[2001:db8::1]:443"]
});

inline_schema!(ForwardedFor, "ForwardedFor", {
    "type": "string",
    "maxLength": 4096,
    "x-unit": "comma-separated addresses, the nearest hop last",
    "examples": ["203.0.113.5, 198.51.100.7"]
});

inline_schema!(UserAgent, "UserAgent", {
    "type": "string",
    "maxLength": 4096,
    "x-unit": "text, at most 4096 bytes",
    "examples": ["Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"]
});

inline_schema!(Outcome, "Outcome", {
    "type": "string",
    "enum": ["success", "failure"],
    "x-unit": "word",
    "examples": ["failure"]
});

inline_schema!(DeviceObject, "DeviceObject", {
    "type": "object",
    "properties": {
        "id": {
            "description": "Stable device id.",
            "type": ["string", "integer", "null"],
            "maxLength": 1024,
            "x-unit": "text, at most 1024 bytes",
            "examples": ["d-7f3a"]
        }
    },
    "additionalProperties": attribute(),
    "maxProperties": 65,
    "examples": [{ "id": "d-7f3a", "os": "Android 14", "screen": "1080x2340", "touch": true }]
});

inline_schema!(AccountObject, "AccountObject", {
    "type": "object",
    "properties": {
        "created_at": {
            "description": "When it was registered: RFC 3339 text, or milliseconds since the Unix epoch.",
            "type": ["string", "number", "null"],
            "minimum": 946_684_800_000_i64,
            "exclusiveMaximum": 7_258_118_400_000_i64,
            "multipleOf": 1,
            "x-unit": "RFC 3339 text, or whole milliseconds since 1970-01-01T00:00:00Z",
            "examples": ["2024-01-31T08:00:00Z"]
        },
        "plan": {
            "description": "Its plan; the policy's list `paying_plans` says which ones pay.",
            "type": ["string", "null"],
            "maxLength": 1024,
            "x-unit": "text, at most 1024 bytes",
            "examples": ["pro"]
        }
    },
    "additionalProperties": attribute(),
    "maxProperties": 66,
    "examples": [{ "created_at": 1_700_000_000_000_i64, "plan": "free", "verified": true }]
});

inline_schema!(OpenObject, "OpenObject", {
    "type": "object",
    "additionalProperties": attribute(),
    "maxProperties": 64,
    "examples": [{ "coupon": "SPRING", "amount": 12.5 }]
});

/// One open attribute.
fn attribute() -> serde_json::Value {
    json!({
        "description": "Text of at most 4096 bytes, a finite number (whole ones within 64 bits), or a truth value. \
                        Lists and objects are skipped by readers.",
        "type": ["string", "number", "boolean", "null"],
        "maxLength": 4096
    })
}

/// Sign-up has no user yet: one of user and address must be there.
pub(super) fn either_user_or_address(schema: &mut Schema) {
    let told = |field: &str, kind: serde_json::Value| json!({ "required": [field], "properties": { field: { "type": kind, "pattern": "\\S" } } });
    schema.insert(
        "anyOf".to_owned(),
        json!([told("user_id", json!(["string", "integer"])), told("ip", json!("string"))]),
    );
}
