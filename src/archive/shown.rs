//! What the columns show of an event.

use super::row::Row;
use crate::engine::event::{Attempt, Event};
use crate::engine::time::Timestamp;
use crate::wire::interaction::{DecodeLimits, decode};

/// What the columns show of a line; nothing of one that cannot be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shown {
    pub(super) append_time: Option<i64>,
    pub(super) occurred_at: Option<i64>,
    pub(super) account_created_at: Option<i64>,
    /// By [`super::columns::TEXTS`].
    pub(super) texts: [Option<String>; 12],
}

impl Row {
    /// The columns.
    pub(super) fn shown(&self) -> Shown {
        let Ok(decoded) = decode(Some(self.line.as_bytes()), &[], &DecodeLimits::default()) else {
            return Shown::default();
        };
        let event = &decoded.event;
        let append = decoded.append_time.unwrap_or(event.occurred_at);
        Shown {
            append_time: Some(append.millis()),
            occurred_at: Some(event.occurred_at.millis()),
            account_created_at: event.account.created_at.map(Timestamp::millis),
            texts: texts(event),
        }
    }
}

fn texts(event: &Event<'_>) -> [Option<String>; 12] {
    let outcome = event.outcome.map(|outcome| match outcome {
        Attempt::Success => "success",
        Attempt::Failure => "failure",
    });
    let of = |text: Option<&str>| text.map(str::to_owned);
    [
        of(Some(&event.id)),
        of(Some(&event.action)),
        of(event.user.as_deref()),
        of(event.target.as_deref()),
        of(event.target_owner.as_deref()),
        of(event.ip.as_deref()),
        of(event.device.id.as_deref()),
        of(event.account.plan.as_deref()),
        of(event.user_agent.as_deref()),
        of(event.session.as_deref()),
        of(outcome),
        of(event.content_hash.as_deref()),
    ]
}
