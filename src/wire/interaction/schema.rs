//! What the JSON Schema says of each kind of field of an interaction.

use schemars::{JsonSchema, Schema};
use serde_json::json;

use crate::wire::quantity::inline_schema;

/// One interaction, as its producer tells it. Producers send the fields of this schema only; readers skip
/// fields they do not know. `null` and blank text mean the same as an absent field: unknown. Lengths are in
/// characters here and in bytes for readers, which are the stricter.
#[derive(Debug, JsonSchema)]
#[schemars(title = "Interaction", deny_unknown_fields, transform = either_user_or_address)]
#[allow(dead_code, reason = "the fields are read by the schema generator only")]
pub struct InteractionSchema {
    /// Unique per acting user or address within the duplicate horizon of the policy.
    event_id: RequiredId,
    /// When it happened, by the producer's clock: RFC 3339 text with an offset, or milliseconds since the Unix
    /// epoch, from 2000 to 2200. A leap second is read as the second before it.
    occurred_at: Time,
    /// What was done.
    action: Action,
    /// Who acted. One of `user_id` and `ip` is required.
    user_id: Option<AnyId>,
    /// What it was done to.
    #[schemars(example = &"post-9")]
    target_id: Option<AnyId>,
    /// Whom the target belongs to.
    #[schemars(example = &"u-7")]
    target_owner_id: Option<AnyId>,
    /// The peer address, IPv4 or IPv6, with or without port and brackets.
    ip: Option<Address>,
    /// The `X-Forwarded-For` list as received; read only as far as the policy trusts hops. Readers take the
    /// short name `xff` too.
    forwarded_for: Option<ForwardedFor>,
    /// The acting device: its `id`, and fingerprint attributes by name.
    device: Option<DeviceObject>,
    /// The acting account, as its owner service knows it.
    account: Option<AccountObject>,
    /// Opaque text of the client.
    user_agent: Option<UserAgent>,
    /// Login session.
    #[schemars(example = &"s-55")]
    session_id: Option<AnyId>,
    /// Whether what was tried worked, for instance a login.
    outcome: Option<Outcome>,
    /// Hash of the content posted, made by the producer; equal content has equal hashes.
    #[schemars(example = &"c0ffee")]
    content_hash: Option<AnyId>,
    /// Open attributes for rules: at most 64, each text, number or truth value; lists and objects are skipped.
    attributes: Option<OpenObject>,
    /// In files only: when a log took the record. On a topic the record's timestamp counts and this is skipped.
    append_time: Option<Time>,
}

/// A required id.
#[derive(Debug)]
struct RequiredId;
/// An optional id.
#[derive(Debug)]
struct AnyId;
/// What was done.
#[derive(Debug)]
struct Action;
/// An instant, as text or number.
#[derive(Debug)]
struct Time;
/// A peer address.
#[derive(Debug)]
struct Address;
/// A list of addresses.
#[derive(Debug)]
struct ForwardedFor;
/// The text of a client.
#[derive(Debug)]
struct UserAgent;
/// Success or failure.
#[derive(Debug)]
struct Outcome;
/// The device.
#[derive(Debug)]
struct DeviceObject;
/// The account.
#[derive(Debug)]
struct AccountObject;
/// Open attributes.
#[derive(Debug)]
struct OpenObject;

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
fn either_user_or_address(schema: &mut Schema) {
    let told = |field: &str, kind: serde_json::Value| json!({ "required": [field], "properties": { field: { "type": kind, "pattern": "\\S" } } });
    schema.insert(
        "anyOf".to_owned(),
        json!([told("user_id", json!(["string", "integer"])), told("ip", json!("string"))]),
    );
}
