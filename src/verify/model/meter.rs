//! Signals by their definition: what the key did in the window, this event included.

use super::quota::{roughen, sub_window};
use super::range::Range;
use super::series::{Entry, Series};
use crate::engine::policy::{Measure, Signal};

/// What a signal reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) value: Range,
    /// Whether the decision must, may or must not say that it is too old for the window.
    pub(super) backlog: Option<bool>,
    /// Whether the decision may say that the count is an estimate.
    pub(super) approximate: bool,
}

/// What one event adds to a signal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addition {
    pub(super) at: i64,
    /// The summand in thousandths, or 1.
    pub(super) n: i64,
    /// The value that is counted once.
    pub(super) of: u32,
}

/// Exact up to so many distinct values at once.
const DISTINCT_EXACT: usize = 64;
/// A sketch errs by less than this share, and by some more for small counts: five times its standard error.
const SKETCH_ERROR: f64 = 0.15;
const SKETCH_LEAST: f64 = 4.0;

/// Records an event and reads the signal. `grace` is how long events are held beyond the window.
pub(super) fn measure(series: &mut Series, signal: &Signal, grace: i64, event: Addition) -> Measured {
    let window = signal.window.millis();
    let slot = slot(signal);
    let behind = series.newest().map_or(0, |newest| newest - event.at).max(0);
    let rough = series.coarse || matches!(signal.measure, Measure::Sum { .. });
    let gone = match behind {
        behind if behind < window + grace => Some(false),
        behind if !rough || behind >= window + grace + 3 * slot => Some(true),
        _ => None,
    };
    if gone != Some(true) {
        note(series, signal, grace, event);
        series.add(Entry { at: event.at, n: event.n, of: event.of, sure: gone.is_some() });
    }
    // With this event it may have become a sketch, which is read by sub-windows.
    let rough = rough || series.coarse;
    let backlog = match (behind > grace, rough) {
        (false, _) => Some(false),
        (true, false) => Some(true),
        (true, true) => None,
    };
    let read = read(series, signal, slot, event.at, behind);
    let lo = if behind > grace { read.lo.min(0.0) } else { read.lo };
    let distinct = matches!(signal.measure, Measure::Distinct { .. });
    Measured { value: Range { lo, ..read }, backlog, approximate: distinct && (series.coarse || behind > 0) }
}

fn note(series: &mut Series, signal: &Signal, grace: i64, event: Addition) {
    let (window, slot) = (signal.window.millis(), slot(signal));
    match &signal.measure {
        Measure::Count { slots } => roughen(series, event.at, 1, window + grace, slot, u64::from(*slots) / 2),
        Measure::Sum { .. } | Measure::Travel { .. } | Measure::Pace(_) => {}
        Measure::Distinct { .. } => {
            if series.newest().is_none_or(|newest| event.at - newest > window + grace + 3 * slot) {
                series.coarse = false;
            }
            let now = series.newest().unwrap_or(event.at).max(event.at);
            if !series.coarse {
                let (_, held) = series.distinct(now - window - grace, now);
                series.coarse = held + 1 > DISTINCT_EXACT;
            }
        }
    }
}

fn read(series: &Series, signal: &Signal, slot: i64, at: i64, behind: i64) -> Range {
    let window = signal.window.millis();
    match &signal.measure {
        Measure::Count { .. } if !series.coarse => series.sum(at - window, at),
        Measure::Count { .. } => series.sum_about(at - window, at, 2 * slot, slot),
        Measure::Sum { .. } => {
            let thousandths = series.sum_about(at - window, at, 2 * slot, slot);
            Range { lo: thousandths.lo / 1000.0, hi: thousandths.hi / 1000.0 }
        }
        // No series.
        Measure::Travel { .. } | Measure::Pace(_) => Range::exact(0.0),
        Measure::Distinct { .. } => {
            let (sure, all) = series.distinct(at - window, at);
            // What came later may hide that a value was there before.
            let with_later = if behind > 0 { series.distinct(at - window, at + behind).1 } else { all };
            if !series.coarse {
                return Range { lo: sure as f64, hi: with_later as f64 };
            }
            let most = series.distinct(at - window - 2 * slot, at + behind).1 as f64;
            Range {
                lo: (sure as f64 * (1.0 - SKETCH_ERROR) - SKETCH_LEAST).max(0.0).floor(),
                hi: (most * (1.0 + SKETCH_ERROR) + SKETCH_LEAST).ceil(),
            }
        }
    }
}

fn slot(signal: &Signal) -> i64 {
    let window = signal.window.millis();
    match &signal.measure {
        Measure::Count { slots } => sub_window(window, *slots),
        Measure::Travel { .. } | Measure::Pace(_) => window,
        Measure::Sum { slots, .. } => {
            let slots = i64::from((*slots).clamp(1, 100));
            (window + slots - 1) / slots
        }
        Measure::Distinct { slots, .. } => {
            let slots = i64::from((*slots).clamp(2, 100));
            (window + slots - 1) / slots
        }
    }
}
