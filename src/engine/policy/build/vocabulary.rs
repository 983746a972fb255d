//! Named lists, networks and declared attributes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ipnet::IpNet;

use super::Workshop;
use super::draft::Draft;
use super::settings::network;
use crate::engine::expr::catalogue::name;
use crate::engine::policy::Origin;
use crate::engine::policy::problem::Report;
use crate::engine::policy::raw::RawType;
use crate::engine::policy::reader::At;

/// The named lists of text.
pub(super) fn lists(
    raw: &[(At<String>, Vec<At<String>>)],
    report: &Report<'_>,
) -> BTreeMap<String, Arc<[String]>> {
    let mut lists = BTreeMap::new();
    for (name, items) in raw {
        check_list(name, items.is_empty(), report);
        let texts: Vec<String> = items.iter().map(|item| item.value.clone()).collect();
        if lists.insert(name.value.clone(), texts.into()).is_some() {
            report.error(name.at, format!("there is a list `{}` already", name.value));
        }
    }
    lists
}

/// The named lists of networks.
pub(super) fn networks(
    raw: &[(At<String>, Vec<At<String>>)],
    report: &Report<'_>,
) -> BTreeMap<String, Arc<[IpNet]>> {
    let mut lists = BTreeMap::new();
    for (name, items) in raw {
        check_list(name, items.is_empty(), report);
        let networks: Vec<IpNet> = items.iter().filter_map(|item| network(item, report)).collect();
        if lists.insert(name.value.clone(), networks.into()).is_some() {
            report.error(name.at, format!("there is a list of networks `{}` already", name.value));
        }
    }
    lists
}

fn check_list(name: &At<String>, empty: bool, report: &Report<'_>) {
    if !is_identifier(&name.value) {
        report.error(name.at, "a name is lower case letters, digits and `_`, and begins with a letter");
    }
    if empty {
        report.warn(name.at, format!("the list `{}` is empty: nothing is in it", name.value), None);
    }
}

/// Adds declared attributes to the catalogue.
pub(super) fn attributes(shop: &mut Workshop<'_>, draft: &Draft) {
    for (attribute, ty) in &draft.attributes {
        let origin = Origin::Attribute(attribute.value.clone());
        let path = format!("event.attributes.{}", attribute.value);
        declare(shop, attribute, ty, &path, "Attribute of the event.", origin);
    }
    for (attribute, ty) in &draft.device_attributes {
        let origin = Origin::DeviceAttribute(attribute.value.clone());
        let path = format!("device.{}", attribute.value);
        declare(shop, attribute, ty, &path, "Attribute of the device.", origin);
    }
}

fn declare(
    shop: &mut Workshop<'_>,
    attribute: &At<String>,
    ty: &At<RawType>,
    path: &str,
    doc: &str,
    origin: Origin,
) {
    if !is_attribute(&attribute.value) {
        let message = "an attribute in expressions is letters, digits and `_`, and begins with a letter";
        shop.report.error(attribute.at, message);
    }
    if !shop.catalogue.add(name(path, ty.value.meaning(), "", doc, origin)) {
        shop.report.error(attribute.at, format!("`{path}` is a name already"));
    }
}

/// Lower case letters, digits and `_`, beginning with a letter.
pub(super) fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn is_attribute(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
