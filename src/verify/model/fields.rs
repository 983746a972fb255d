//! What an event says, field by field: parts of keys, and names of expressions.

use super::condition::Known;
use crate::engine::address::Address;
use crate::engine::event::{Attempt, Event, Text, Value};
use crate::engine::expr::Type;
use crate::engine::place::{PlaceField, Places};
use crate::engine::policy::{EventField, KeyField};

/// One part of a key; `None` when the event does not have it. Numbers and texts never read the same.
pub(super) fn part(
    field: &KeyField,
    event: &Event<'_>,
    address: Option<Address>,
    places: Option<&Places>,
) -> Option<String> {
    let text = |text: &Option<Text<'_>>| text.as_deref().map(str::to_owned);
    match field {
        KeyField::User => text(&event.user),
        KeyField::Target => text(&event.target),
        KeyField::TargetOwner => text(&event.target_owner),
        KeyField::Action => Some(event.action.clone().into_owned()),
        KeyField::Ip(None) => address.map(|address| address.to_string()),
        KeyField::Ip(Some(prefix)) => address.map(|address| address.with_prefix(*prefix).to_string()),
        KeyField::Device => text(&event.device.id),
        KeyField::Session => text(&event.session),
        KeyField::ContentHash => text(&event.content_hash),
        KeyField::UserAgent => text(&event.user_agent),
        KeyField::Attribute(name) => find(&event.attributes, name).map(written),
        KeyField::DeviceAttribute(name) => find(&event.device.attributes, name).map(written),
        KeyField::Place(of) => place(*of, address, places),
    }
}

/// What a table says of an address.
pub(super) fn place(of: PlaceField, address: Option<Address>, places: Option<&Places>) -> Option<String> {
    places?.find(address?.full())?.text(of).map(str::to_owned)
}

/// A key tuple as one text, each part with its length; `None` when a part is missing.
pub(super) fn key(
    fields: &[KeyField],
    event: &Event<'_>,
    address: Option<Address>,
    places: Option<&Places>,
) -> Option<String> {
    let parts = fields.iter().map(|field| part(field, event, address, places));
    let parts: Option<Vec<String>> = parts.collect();
    Some(parts?.iter().map(|part| format!("{}:{part}", part.len())).collect())
}

fn written(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => text.clone().into_owned(),
        other => format!("\u{0}{other:?}"),
    }
}

/// The first attribute of a name.
pub(super) fn find<'v, 'e>(attributes: &'v [(Text<'e>, Value<'e>)], name: &str) -> Option<&'v Value<'e>> {
    attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// An attribute as the type it is declared with.
pub(super) fn declared(ty: Type, value: &Value<'_>) -> Option<Known> {
    match (ty, value) {
        (Type::Bool, Value::Bool(value)) => Some(Known::Bool(*value)),
        (Type::Int, Value::Int(value)) => Some(Known::Int(*value)),
        (Type::Double, Value::Double(value)) => Some(Known::double(*value)),
        (Type::Double, Value::Int(value)) => Some(Known::double(*value as f64)),
        (Type::Text, Value::Text(value)) => Some(Known::Text(value.clone().into_owned())),
        _ => None,
    }
}

/// A field as expressions see it.
pub(super) fn field(field: EventField, event: &Event<'_>, address: Option<Address>) -> Option<Known> {
    let text = |text: &Option<Text<'_>>| text.as_deref().map(str::to_owned);
    let value = match field {
        EventField::Id => Some(event.id.clone().into_owned()),
        EventField::Action => Some(event.action.clone().into_owned()),
        EventField::User => text(&event.user),
        EventField::Target => text(&event.target),
        EventField::TargetOwner => text(&event.target_owner),
        EventField::Ip => address.map(|address| address.to_string()),
        EventField::Device => text(&event.device.id),
        EventField::UserAgent => text(&event.user_agent),
        EventField::Session => text(&event.session),
        EventField::ContentHash => text(&event.content_hash),
        EventField::Plan => text(&event.account.plan),
        EventField::Outcome => event.outcome.map(|outcome| match outcome {
            Attempt::Success => "success".to_owned(),
            Attempt::Failure => "failure".to_owned(),
        }),
    };
    value.map(Known::Text)
}
