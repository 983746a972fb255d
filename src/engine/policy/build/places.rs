//! The table of addresses that a policy names.

use std::sync::Arc;

use super::draft::Draft;
use crate::engine::place::{Places, read};
use crate::engine::policy::nearest::did_you_mean;
use crate::engine::policy::problem::Report;

/// The table, if one is named.
pub(super) fn places(draft: &Draft, report: &Report<'_>) -> Option<Arc<Places>> {
    let named = draft.addresses.as_ref().and_then(|addresses| addresses.table.as_ref());
    for table in draft.tables.iter().filter(|table| named.is_none_or(|named| named.value != table.path)) {
        let message = format!("nothing reads `{}`", table.path);
        let suggestion = Some(format!("name it: `addresses: {{ table: {} }}`", table.path));
        report.warn(report.sources().position(table.file, 0), message, suggestion);
    }
    let named = named?;
    let Some(table) = draft.tables.iter().find(|table| table.path == named.value) else {
        let known: Vec<&str> = draft.tables.iter().map(|table| table.path.as_str()).collect();
        let suggestion = did_you_mean(&named.value, &known)
            .or_else(|| Some("put it into the policy's folder; its name ends in `.csv`".to_owned()));
        report.error_with(named.at, format!("there is no table `{}`", named.value), suggestion);
        return None;
    };
    read(table.file, &table.text, report).map(Arc::new)
}
