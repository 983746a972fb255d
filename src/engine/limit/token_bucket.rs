//! A bucket of tokens: a burst up to its capacity, then the rate at which tokens come back.
//!
//! What is stored is not the tokens that are left but those that are missing, as a level that drains. So a
//! smaller capacity holds at once, and a long pause cannot fill the bucket above its capacity.

use super::LimitError;
use super::drain::Drain;
use crate::engine::time::Span;

/// A bucket of `capacity` tokens, `refill` of which come back in each `per`.
pub(super) fn drain(capacity: u64, refill: u64, per: Span) -> Result<Drain, LimitError> {
    if refill == 0 {
        return Err(LimitError::NoRefill);
    }
    Drain::new(capacity, refill, per)
}
