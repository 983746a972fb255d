//! Key tuples: `[user, action]` and the like, each with one table of state and its budget.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Workshop;
use super::quantity::budget;
use crate::engine::expr::catalogue::Catalogue;
use crate::engine::place::PlaceField;
use crate::engine::policy::nearest::did_you_mean;
use crate::engine::policy::problem::Report;
use crate::engine::policy::raw::RawMemory;
use crate::engine::policy::reader::At;
use crate::engine::policy::{Dimension, KeyField};

const DEFAULT_BUDGET: u64 = 128 << 20;

/// Field names of keys; `ip` may carry a prefix as in `ip/56`.
const FIELDS: [&str; 12] = [
    "user",
    "target",
    "target_owner",
    "action",
    "ip",
    "device",
    "session",
    "content",
    "user_agent",
    "ip.country",
    "ip.city",
    "ip.network_class",
];

/// The dimensions in use so far.
#[derive(Debug)]
pub(super) struct Dimensions {
    list: Vec<Dimension>,
    default: u64,
    budgets: BTreeMap<String, u64>,
}

impl Dimensions {
    pub(super) fn new(memory: &Option<RawMemory>, report: &Report<'_>) -> Self {
        let memory = memory.as_ref();
        let default = memory.and_then(|m| m.dimension.as_ref()).and_then(|raw| budget(raw, report));
        let named = memory.and_then(|m| m.dimensions.as_ref());
        let budgets = named.map(|named| named.0.as_slice()).unwrap_or_default().iter();
        let budgets = budgets.filter_map(|(name, raw)| Some((name.value.clone(), budget(raw, report)?)));
        Self { list: Vec::new(), default: default.unwrap_or(DEFAULT_BUDGET), budgets: budgets.collect() }
    }

    /// The dimension of these fields.
    fn index(&mut self, fields: Vec<KeyField>, name: String) -> usize {
        if let Some(index) = self.list.iter().position(|dimension| dimension.fields == fields) {
            return index;
        }
        let budget = self.budgets.get(&name).copied().unwrap_or(self.default);
        self.list.push(Dimension { name: Arc::from(name), fields, budget });
        self.list.len() - 1
    }

    /// The fields of a dimension.
    pub(super) fn fields(&self, index: usize) -> &[KeyField] {
        self.list.get(index).map(|dimension| dimension.fields.as_slice()).unwrap_or_default()
    }

    /// The name of a dimension.
    pub(super) fn name(&self, index: usize) -> &str {
        self.list.get(index).map(|dimension| dimension.name.as_ref()).unwrap_or_default()
    }

    /// Budgets for dimensions that nothing uses.
    pub(super) fn check_budgets(&self, memory: &Option<RawMemory>, report: &Report<'_>) {
        let named = memory.as_ref().and_then(|memory| memory.dimensions.as_ref());
        for (name, _) in named.map(|named| named.0.as_slice()).unwrap_or_default() {
            let known: Vec<&str> = self.list.iter().map(|dimension| dimension.name.as_ref()).collect();
            if !known.contains(&name.value.as_str()) {
                let message = format!("no signal or limit has the dimension `{}`", name.value);
                report.warn(name.at, message, did_you_mean(&name.value, &known));
            }
        }
    }

    pub(super) fn into_list(self) -> Vec<Dimension> {
        self.list
    }
}

impl Workshop<'_> {
    /// The dimension of a key.
    pub(super) fn dimension(&mut self, key: &At<Vec<At<String>>>) -> Option<usize> {
        if key.value.is_empty() {
            self.report.error(key.at, "a key needs at least one field");
            return None;
        }
        let parsed: Vec<Option<KeyField>> =
            key.value.iter().map(|field| key_field(field, &self.catalogue, self.report)).collect();
        let fields: Vec<KeyField> = parsed.into_iter().collect::<Option<_>>()?;
        for (index, field) in fields.iter().enumerate() {
            if fields[..index].contains(field) {
                self.report
                    .error(key.value[index].at, format!("`{}` is in the key twice", key.value[index].value));
                return None;
            }
        }
        let name = key.value.iter().map(|field| field.value.as_str()).collect::<Vec<_>>().join("+");
        Some(self.dimensions.index(fields, name))
    }
}

/// One field of a key.
pub(super) fn key_field(text: &At<String>, catalogue: &Catalogue, report: &Report<'_>) -> Option<KeyField> {
    let simple = match text.value.as_str() {
        "user" => Some(KeyField::User),
        "target" => Some(KeyField::Target),
        "target_owner" => Some(KeyField::TargetOwner),
        "action" => Some(KeyField::Action),
        "ip" => Some(KeyField::Ip(None)),
        "device" => Some(KeyField::Device),
        "session" => Some(KeyField::Session),
        "content" => Some(KeyField::ContentHash),
        "user_agent" => Some(KeyField::UserAgent),
        _ => PlaceField::ALL.into_iter().find(|of| of.name() == text.value).map(KeyField::Place),
    };
    simple.or_else(|| composed_field(text, catalogue, report))
}

fn composed_field(text: &At<String>, catalogue: &Catalogue, report: &Report<'_>) -> Option<KeyField> {
    if let Some(prefix) = text.value.strip_prefix("ip/") {
        let prefix = prefix.parse().ok().filter(|prefix| (1..=128).contains(prefix));
        if prefix.is_none() {
            report.error(text.at, format!("`{}`: an IPv6 prefix is from 1 to 128", text.value));
        }
        return prefix.map(|prefix| KeyField::Ip(Some(prefix)));
    }
    let (path, field) = match text.value.split_once('.') {
        Some(("attributes", name)) => (format!("event.{}", text.value), KeyField::Attribute(name.to_owned())),
        Some(("device", name)) => (text.value.clone(), KeyField::DeviceAttribute(name.to_owned())),
        _ => {
            let suggestion = did_you_mean(&text.value, &FIELDS);
            report.error_with(text.at, format!("unknown key field `{}`", text.value), suggestion);
            return None;
        }
    };
    let declared = catalogue.slot(&path).map(|slot| &catalogue.names()[slot].origin);
    match declared {
        Some(
            crate::engine::policy::Origin::Attribute(_) | crate::engine::policy::Origin::DeviceAttribute(_),
        ) => Some(field),
        _ => {
            let section = if path.starts_with("event.") { "attributes" } else { "device_attributes" };
            let suggestion = format!("declare it under `{section}`");
            report.error_with(text.at, format!("unknown key field `{}`", text.value), Some(suggestion));
            None
        }
    }
}
