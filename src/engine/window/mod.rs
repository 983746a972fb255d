//! Sliding windows: what one key did in the last so many seconds.
//!
//! A *spec* is plain data made at load; a *cell* is the few `u32` words of one window of one key, inside a
//! record of a [`crate::engine::table::Table`]. A spec knows how many words its cell needs and reads and
//! changes them; words that are all zero are an empty cell. Windows are in event time and half open: at `t` a
//! window of length `W` holds `(t - W, t]`.
//!
//! Every cell holds the newest time it has seen in full (43 bits, to the year 2248; times outside are held at
//! the nearest), and all else relative to it. So nothing wraps, however long a cell was not touched. What is
//! too old for a cell is never counted somewhere else: it is told, as [`Recorded::Backlog`] or [`Held`].

pub mod count;
pub mod distinct;
pub mod sum;

mod bitmap;
mod divide;
mod pairs;
pub(crate) mod ring;

pub(crate) use divide::{Divider, TIME_BITS};

use crate::engine::time::Timestamp;

/// What became of something that was to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Recorded {
    /// It counts.
    Yes,
    /// Its time lies before all that is held. Nothing changed.
    Backlog,
}

/// How much of the window that was asked for is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// The whole window.
    Whole,
    /// Its newer part: the rest may have been dropped, so what is told is a lower bound.
    Part,
    /// Nothing of it.
    Nothing,
}

/// Words at the start of a cell: the newest time (43 bits) and a tag (21 bits).
pub(crate) const HEADER: usize = 2;
const HIGH_BITS: u32 = TIME_BITS - 32;
const HIGH_MASK: u32 = (1 << HIGH_BITS) - 1;
/// The largest tag.
pub(crate) const MAX_TAG: u32 = (1 << (32 - HIGH_BITS)) - 1;

/// An instant as cells keep it: milliseconds since 1970, held within 43 bits.
#[inline]
pub(crate) fn moment(at: Timestamp) -> u64 {
    at.millis().clamp(0, (1 << TIME_BITS) - 1) as u64
}

/// The newest time of a cell; 0 when it is empty.
#[inline]
pub(crate) fn newest(cell: &[u32]) -> u64 {
    u64::from(cell[0]) | u64::from(cell[1] & HIGH_MASK) << 32
}

/// What the cell keeps beside its newest time.
#[inline]
pub(crate) fn tag(cell: &[u32]) -> u32 {
    cell[1] >> HIGH_BITS
}

/// Sets both.
#[inline]
pub(crate) fn set_header(cell: &mut [u32], newest: u64, tag: u32) {
    cell[0] = newest as u32;
    cell[1] = (newest >> 32) as u32 & HIGH_MASK | tag << HIGH_BITS;
}

/// Whether words were never written, or were reset.
#[inline]
pub(crate) fn is_empty(cell: &[u32]) -> bool {
    tag(cell) == 0
}
