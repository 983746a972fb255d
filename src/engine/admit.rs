//! Admit: what the counters of a key begin with when its dimension has not room for all keys.
//!
//! A key without a record may have been counted while it was not admitted, or before its record went: its limits and
//! counts then begin with the upper estimate that the overflow has, and its decisions say so. What a guest counts goes to
//! the overflow too, since its record may not stay. Sums and distinct counts are not estimated: they begin anew.

use super::plan::{Cell, DimensionPlan};
use super::table::{Overflow, Seen, Slot, Table};
use super::time::{Span, Timestamp};

/// The record of a key, its counts taken up where they were; tells whether the key may have had others before.
pub(super) fn enter(
    plan: &DimensionPlan,
    table: &mut Table,
    key: u64,
    seen: Seen,
    at: Timestamp,
) -> (Slot, bool) {
    let entry = table.find_seen_or_insert(key, seen, at);
    if entry.evicted {
        absorb(plan, table);
    }
    if entry.fresh && table.overflow().is_some_and(Overflow::is_used) {
        let estimated = estimate(plan, table, key, entry.slot, at);
        if estimated || !entry.known.is_nothing() {
            table.set_estimated(entry.slot, at);
        }
    }
    (entry.slot, entry.known.count() > 0)
}

/// Counts `n` more for a guest.
pub(super) fn count(table: &mut Table, key: u64, window: Span, cell: &Cell, n: u32, at: Timestamp) {
    if let Some(overflow) = table.overflow_mut() {
        overflow.add(window, key ^ cell.identity, n, at);
    }
}

/// What the record that went had counted becomes an estimate.
pub(super) fn absorb(plan: &DimensionPlan, table: &mut Table) {
    let (key, touched, cells) = table.displaced();
    let cells = cells.to_vec();
    keep(plan, table, key, touched, &cells);
    table.release_displaced();
}

/// What was moved to a guest's record is known by estimate too.
pub(super) fn leave(plan: &DimensionPlan, table: &mut Table, slot: Slot, key: u64, touched: Timestamp) {
    let cells = table.cells(slot).to_vec();
    keep(plan, table, key, touched, &cells);
}

fn keep(plan: &DimensionPlan, table: &mut Table, key: u64, touched: Timestamp, cells: &[u32]) {
    let counts: Vec<_> =
        plan.counters().map(|counter| (counter, counter.read(cells, table.spill(), touched))).collect();
    for (counter, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        let n = u32::try_from(count).unwrap_or(u32::MAX);
        if let Some(overflow) = table.overflow_mut() {
            overflow.raise(counter.window(), key ^ counter.cell().identity, n, touched);
        }
    }
}

/// Fills the counters of an empty record with what is estimated; false when that is exactly nothing.
fn estimate(plan: &DimensionPlan, table: &mut Table, key: u64, slot: Slot, at: Timestamp) -> bool {
    let Some(overflow) = table.overflow() else { return false };
    let mut any = false;
    for counter in plan.counters() {
        overflow.prefetch(counter.window(), key ^ counter.cell().identity);
    }
    let estimates: Vec<_> = plan
        .counters()
        .map(|counter| (counter, overflow.estimate(counter.window(), key ^ counter.cell().identity, at)))
        .collect();
    let (record, spill) = table.cells_and_spill(slot);
    for (counter, estimate) in estimates {
        any |= !estimate.is_nothing();
        let before = estimate.began.before(Span::from_millis(1));
        if estimate.older > 0 && at.since(before) < counter.window() {
            counter.add(record, spill, before, estimate.older);
        }
        if estimate.newer > 0 {
            counter.add(record, spill, at, estimate.newer);
        }
    }
    any
}
