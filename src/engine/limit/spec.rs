//! What a limit is declared as, and what is wrong with it.

use crate::engine::time::{Span, Timestamp};

/// The longest window of a limit: 400 days.
pub const LONGEST_WINDOW: Span = Span::from_secs(400 * 86_400);

/// A limit as declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitSpec {
    /// How it counts.
    pub algorithm: Algorithm,
    /// How much is allowed.
    pub max: Max,
    /// An event older than its key's newest by at most this is judged at that newest time.
    pub grace: Span,
}

/// How much is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Max {
    /// So many events, or units of cost. 0 refuses always; a negative number is an error.
    AtMost(i64),
    /// No limit.
    Unlimited,
}

/// How a limit counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Every time is kept: exact, four bytes an event. For maxima up to 1,024 and windows up to 49 days.
    SlidingLog {
        /// The window.
        window: Span,
    },
    /// Exact while few, then sub-windows: may count some events too many, never too few.
    SlidingWindow {
        /// The window.
        window: Span,
        /// Sub-windows, 10 to 100.
        slots: u32,
    },
    /// A bucket of `max` tokens that takes `refill` new ones in each `per`, evenly.
    TokenBucket {
        /// Tokens that come back.
        refill: u64,
        /// The time in which they do.
        per: Span,
    },
    /// A bucket that holds `max` and leaks `max` in each window, evenly.
    LeakyBucket {
        /// The window.
        window: Span,
    },
    /// Windows that follow the clock of a zone and start anew at their end.
    Calendar {
        /// Their length: minutes, hours, days, weeks (from Monday) or any other.
        window: Span,
        /// The zone by its IANA name, `UTC` among them.
        zone: String,
    },
}

impl Algorithm {
    /// The window, or the time in which a bucket's refill comes.
    pub fn window(&self) -> Span {
        match self {
            Self::SlidingLog { window }
            | Self::SlidingWindow { window, .. }
            | Self::TokenBucket { per: window, .. }
            | Self::LeakyBucket { window }
            | Self::Calendar { window, .. } => *window,
        }
    }
}

impl Max {
    /// The number of events; `None` when unlimited.
    pub(super) fn events(self) -> Result<Option<u64>, LimitError> {
        match self {
            Self::Unlimited => Ok(None),
            Self::AtMost(max) => u64::try_from(max).map(Some).map_err(|_| LimitError::NegativeMax(max)),
        }
    }
}

/// What is wrong with a limit, or with a call of a limiter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// The window is zero or was negative.
    #[error("the window must be longer than zero")]
    EmptyWindow,
    /// The window is longer than [`LONGEST_WINDOW`], or than the algorithm can hold.
    #[error("the window of {window} is longer than {longest}")]
    WindowTooLong {
        /// The window.
        window: Span,
        /// The longest there may be.
        longest: Span,
    },
    /// The maximum is negative.
    #[error("the maximum must not be negative, and is {0}")]
    NegativeMax(i64),
    /// Too much for an algorithm that keeps every event.
    #[error("a sliding log keeps every event and so at most {most}, not {max}: use a sliding window")]
    TooManyForLog {
        /// The maximum.
        max: u64,
        /// The largest there may be.
        most: u64,
    },
    /// A sliding window of too few or too many sub-windows.
    #[error("a sliding window has 10 to 100 sub-windows, not {0}")]
    Slots(u32),
    /// A bucket that is never refilled.
    #[error("a token bucket must be refilled by at least 1")]
    NoRefill,
    /// A maximum or a refill too large to be counted exactly.
    #[error("{0} is too large to be counted")]
    TooLarge(u64),
    /// No such time zone.
    #[error("there is no time zone {0:?}")]
    UnknownZone(String),
    /// An empty key is nobody's and has no limit.
    #[error("the key is empty")]
    EmptyKey,
    /// A call with a time before that of the last call. It changed nothing.
    #[error("the time {at} is before the last call's, {last}")]
    TimeWentBack {
        /// The time of this call.
        at: Timestamp,
        /// The time of the last one.
        last: Timestamp,
    },
    /// A time before 1970 or after 2248.
    #[error("the time {0} is outside of what limits can keep")]
    TimeOutOfRange(Timestamp),
}

/// The window, when there can be such a one.
pub(super) fn valid_window(window: Span) -> Result<Span, LimitError> {
    if window == Span::ZERO {
        return Err(LimitError::EmptyWindow);
    }
    at_most(window, LONGEST_WINDOW)
}

/// The window, when it is not longer than `longest`.
pub(super) fn at_most(window: Span, longest: Span) -> Result<Span, LimitError> {
    if window > longest { Err(LimitError::WindowTooLong { window, longest }) } else { Ok(window) }
}

/// Counts are kept in 32 bits and stay at the largest: a maximum must lie below it to be reached.
pub(super) fn countable(max: u64) -> Result<(), LimitError> {
    if max < u64::from(u32::MAX) { Ok(()) } else { Err(LimitError::TooLarge(max)) }
}
