//! Named measurements.

use std::sync::Arc;

use super::KeyField;
use crate::engine::expr::{Condition, Number};
use crate::engine::pace::PaceSpec;
use crate::engine::place::NetworkClass;
use crate::engine::time::Span;

/// A named measurement over a window; it sees every event that passes its filter, this one included.
#[derive(Debug)]
pub struct Signal {
    /// Its name in expressions.
    pub name: Arc<str>,
    /// The dimension, an index.
    pub dimension: usize,
    /// Which events it sees; `None` is all. Reads fields and facts only.
    pub filter: Option<Condition>,
    /// The window.
    pub window: Span,
    /// What is measured.
    pub measure: Measure,
    /// Hash of dimension, filter, window and measure: what identifies the counter.
    pub identity: u64,
}

/// What a signal measures.
#[derive(Debug)]
pub enum Measure {
    /// Events, in this many sub-windows once an exact log no longer fits.
    Count {
        /// Sub-windows.
        slots: u32,
    },
    /// Distinct values of a field.
    Distinct {
        /// Of what.
        of: KeyField,
        /// Sub-windows of the sketch.
        slots: u32,
    },
    /// The sum of a number, kept in thousandths.
    Sum {
        /// Of what.
        of: Number,
        /// Sub-windows.
        slots: u32,
    },
    /// Kilometres an hour since the last place of the key.
    Travel {
        /// Shorter distances are no travel, kilometres.
        least_km: f64,
        /// Networks whose place is not that of the people behind them.
        exits: Vec<NetworkClass>,
    },
    /// Events in an aligned window, over the threshold that follows from what is usual.
    Pace(PaceSpec),
}
