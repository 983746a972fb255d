//! The labels of a simulation: CSV, one row an account, and one for each event that the account's row does not speak for.
//!
//! Columns: `event_id` (empty in a row about an account), `user_id`, `scenario`, `label` (`honest` or `attack`),
//! `group` (name of the campaign), `target_id` (what the campaign is about), `from` (milliseconds since the Unix epoch:
//! from when the account is an attacker; empty: always). No value has a comma or a quote in it.

use super::event::Truth;

/// The first line.
pub const HEADER: &str = "event_id,user_id,scenario,label,group,target_id,from";

pub(super) fn row(
    event_id: &str,
    user_id: &str,
    scenario: &str,
    truth: Truth,
    group: &str,
    target_id: Option<&str>,
    from: Option<i64>,
) -> String {
    let label = if truth == Truth::Honest { "honest" } else { "attack" };
    let target = target_id.unwrap_or_default();
    let from = from.map(|at| at.to_string()).unwrap_or_default();
    format!("{event_id},{user_id},{scenario},{label},{group},{target},{from}")
}
