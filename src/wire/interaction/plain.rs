//! An event written as one line of plain JSON, whatever the form of the record it came in.

use serde_json::{Map, Value as Json};

use crate::engine::event::{Attempt, Event, Text, Value};
use crate::engine::time::Timestamp;

/// The line, without its end. Times are milliseconds since 1970. Reading it gives the same event and append time.
pub fn plain(event: &Event<'_>, append_time: Option<Timestamp>) -> Vec<u8> {
    let mut line = Map::new();
    let mut put = |name: &str, value: Option<Json>| {
        if let Some(value) = value {
            line.insert(name.to_owned(), value);
        }
    };
    let text = |text: &Option<Text<'_>>| text.as_deref().map(Json::from);
    put("event_id", Some(Json::from(&*event.id)));
    put("occurred_at", Some(Json::from(event.occurred_at.millis())));
    put("action", Some(Json::from(&*event.action)));
    put("user_id", text(&event.user));
    put("target_id", text(&event.target));
    put("target_owner_id", text(&event.target_owner));
    put("ip", text(&event.ip));
    put("forwarded_for", text(&event.forwarded_for));
    let id = event.device.id.as_deref().map(|id| ("id", Json::from(id)));
    put("device", object(id, &event.device.attributes));
    let born = event.account.created_at.map(|at| ("created_at", Json::from(at.millis())));
    let plan = event.account.plan.as_deref().map(|plan| ("plan", Json::from(plan)));
    put("account", object(born.into_iter().chain(plan), &event.account.attributes));
    put("user_agent", text(&event.user_agent));
    put("session_id", text(&event.session));
    let outcome = event.outcome.map(|outcome| match outcome {
        Attempt::Success => "success",
        Attempt::Failure => "failure",
    });
    put("outcome", outcome.map(Json::from));
    put("content_hash", text(&event.content_hash));
    put("attributes", object(None, &event.attributes));
    put("append_time", append_time.map(|at| Json::from(at.millis())));
    serde_json::to_vec(&line).expect("text and finite numbers can be written")
}

/// Named values and attributes together; `None` where there are none.
fn object(
    named: impl IntoIterator<Item = (&'static str, Json)>,
    attributes: &[(Text<'_>, Value<'_>)],
) -> Option<Json> {
    let mut object: Map<String, Json> =
        named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    object.extend(attributes.iter().map(|(name, value)| (name.to_string(), scalar(value))));
    (!object.is_empty()).then_some(Json::Object(object))
}

fn scalar(value: &Value<'_>) -> Json {
    match value {
        Value::Bool(value) => Json::from(*value),
        Value::Int(value) => Json::from(*value),
        Value::Double(value) => Json::from(*value),
        Value::Text(value) => Json::from(&**value),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DecodeLimits, decode};
    use super::*;

    /// Attributes are compared as sets: JSON objects have no order here.
    fn sorted(mut event: Event<'_>) -> Event<'_> {
        for list in [&mut event.attributes, &mut event.device.attributes, &mut event.account.attributes] {
            list.sort_by(|a, b| a.0.cmp(&b.0));
        }
        event
    }

    #[test]
    fn the_line_reads_back_as_the_same_event() {
        let whole = br#"{"event_id":"e 1","occurred_at":"2026-05-04T12:00:00.123Z","action":"like","user_id":"\u00fc \"q\"",
            "target_id":"t","target_owner_id":"o","ip":"[2001:db8::1]:443","forwarded_for":"198.51.100.7, 10.0.0.1",
            "device":{"id":"d","os":"x","cores":8,"touch":true,"ratio":1.5},"account":{"created_at":1600000000001,"plan":"pro","karma":-3},
            "user_agent":"ua","session_id":"s","outcome":"failure","content_hash":"c","attributes":{"amount":0.1,"n":9007199254740993}}"#;
        let few = br#"{"event_id":"e","occurred_at":1750000000005,"action":"sign_up","ip":"198.51.100.7","device":{},"attributes":{}}"#;
        for (record, append) in
            [(&whole[..], Some(Timestamp::from_millis(1_750_000_000_007))), (&few[..], None)]
        {
            let limits = DecodeLimits::default();
            let event = decode(Some(record), &[], &limits).expect("valid").event;
            let line = plain(&event, append);
            assert!(!line.contains(&b'\n'));
            let again = decode(Some(&line), &[], &limits).expect("valid");
            assert_eq!(again.append_time, append);
            assert_eq!(sorted(again.event), sorted(event));
        }
    }
}
