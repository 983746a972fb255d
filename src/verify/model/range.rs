//! What the model knows of a number: exactly, or only between which bounds the engine may read it.

/// A number between two bounds, both included. A number known exactly has equal bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least it may be.
    pub lo: f64,
    /// The most it may be.
    pub hi: f64,
}

/// Rounding of numbers that went through text or through 32 bits.
const CLOSE: f64 = 1e-6;

impl Range {
    /// A number known exactly.
    pub fn exact(value: f64) -> Self {
        Self { lo: value, hi: value }
    }

    /// A whole number known exactly.
    pub fn whole(value: i64) -> Self {
        Self::exact(value as f64)
    }

    /// Whether it is known exactly.
    pub fn is_exact(self) -> bool {
        self.lo >= self.hi
    }

    /// Whether a number that was told can be this one.
    pub fn holds(self, told: f64) -> bool {
        let room = CLOSE * self.lo.abs().max(self.hi.abs()).max(1.0);
        self.lo - room <= told && told <= self.hi + room
    }

    /// The smallest range that holds both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// Both bounds grow by as much.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { lo: self.lo + other.lo, hi: self.hi + other.hi }
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_exact() { write!(f, "{}", self.lo) } else { write!(f, "{} to {}", self.lo, self.hi) }
    }
}

/// The answer that two bounds agree on; `None` when it depends on where between them the number lies.
pub(super) fn agreed(at_lo: bool, at_hi: bool) -> Option<bool> {
    (at_lo == at_hi).then_some(at_lo)
}
