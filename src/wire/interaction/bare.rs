//! The plainest type that holds an interaction: what a program without weir would parse it into.
//!
//! It is a measure, not a reader: the cost of decoding is told as a multiple of parsing into this. Text is borrowed,
//! unknown and open fields are skipped, nothing is checked. A line it cannot read (a number as id) is given up there,
//! which makes the measure stricter, never kinder.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// An interaction, barely.
#[derive(Debug, Deserialize)]
pub struct Bare<'a> {
    /// Identity.
    #[serde(borrow)]
    pub event_id: Option<Words<'a>>,
    /// Text or number, not looked at.
    #[serde(borrow)]
    pub occurred_at: Option<&'a RawValue>,
    /// What was done.
    #[serde(borrow)]
    pub action: Option<Words<'a>>,
    /// By whom.
    #[serde(borrow)]
    pub user_id: Option<Words<'a>>,
    /// To what.
    #[serde(borrow)]
    pub target_id: Option<Words<'a>>,
    /// Whose it is.
    #[serde(borrow)]
    pub target_owner_id: Option<Words<'a>>,
    /// From where.
    #[serde(borrow)]
    pub ip: Option<Words<'a>>,
    /// With what.
    #[serde(borrow)]
    pub device: Option<BareDevice<'a>>,
    /// The user's account.
    #[serde(borrow)]
    pub account: Option<BareAccount<'a>>,
    /// The program that asked.
    #[serde(borrow)]
    pub user_agent: Option<Words<'a>>,
    /// The session.
    #[serde(borrow)]
    pub session_id: Option<Words<'a>>,
    /// Whether it worked.
    #[serde(borrow)]
    pub outcome: Option<Words<'a>>,
    /// Hash of a comment or message.
    #[serde(borrow)]
    pub content_hash: Option<Words<'a>>,
}

/// A device, barely.
#[derive(Debug, Deserialize)]
pub struct BareDevice<'a> {
    /// Its id.
    #[serde(borrow)]
    pub id: Option<Words<'a>>,
}

/// An account, barely.
#[derive(Debug, Deserialize)]
pub struct BareAccount<'a> {
    /// Text or number, not looked at.
    #[serde(borrow)]
    pub created_at: Option<&'a RawValue>,
    /// Its plan.
    #[serde(borrow)]
    pub plan: Option<Words<'a>>,
}

/// Text that is borrowed where it has no escapes.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Words<'a>(#[serde(borrow)] pub Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_borrowed_and_what_is_open_is_skipped() {
        let json =
            br#"{"event_id":"e","occurred_at":1,"user_agent":"a\"b","device":{"id":"d","os":1},"x":[{}]}"#;
        let bare: Bare<'_> = serde_json::from_slice(json).expect("valid");
        assert!(matches!(bare.event_id, Some(Words(Cow::Borrowed("e")))));
        assert!(matches!(bare.user_agent, Some(Words(Cow::Owned(text))) if text == "a\"b"));
        let id = bare.device.and_then(|device| device.id);
        assert!(matches!(id, Some(Words(Cow::Borrowed("d")))));
        assert_eq!(bare.occurred_at.map(RawValue::get), Some("1"));
    }
}
