//! The columns of the table, in their order.

/// Texts of the event, as in the interaction schema.
pub(super) const TEXTS: [&str; 12] = [
    "event_id",
    "action",
    "user_id",
    "target_id",
    "target_owner_id",
    "ip",
    "device_id",
    "plan",
    "user_agent",
    "session_id",
    "outcome",
    "content_hash",
];

/// The column that is read back.
pub(super) const EVENT: &str = "event";

/// The columns as a message type.
pub(super) fn message() -> String {
    let texts: String = TEXTS.iter().map(|name| format!("optional binary {name} (UTF8);\n")).collect();
    format!(
        "message weir {{
           required int32 partition;
           required int64 offset;
           optional int64 append_time (TIMESTAMP(MILLIS,true));
           optional int64 occurred_at (TIMESTAMP(MILLIS,true));
           optional int64 account_created_at (TIMESTAMP(MILLIS,true));
           {texts}
           optional binary verdict (UTF8);
           optional binary first_verdict (UTF8);
           optional int32 score;
           optional int32 revision;
           optional binary reason_codes (UTF8);
           optional binary policy (UTF8);
           required binary {EVENT} (UTF8);
         }}"
    )
}
