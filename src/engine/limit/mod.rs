//! Limits.

/// One limit.
#[derive(Clone, Debug)]
pub struct Limit;
