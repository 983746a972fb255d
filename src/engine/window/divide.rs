//! Exact division of times by a number fixed at load, by one multiplication.
//!
//! Times in cells have [`TIME_BITS`] bits. For a divisor `d <= 2^l` the magic number `ceil(2^(43+l) / d)` gives
//! the exact quotient of every such time (Granlund and Montgomery, "Division by Invariant Integers using
//! Multiplication", 1994).

/// Bits of a time in a cell: milliseconds since 1970 up to the year 2248.
pub(crate) const TIME_BITS: u32 = 43;

/// A divisor with its magic number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Divider {
    divisor: u64,
    magic: u64,
    shift: u32,
}

impl Divider {
    /// Divides by `divisor`, held within 1 and 2^43.
    pub(crate) fn new(divisor: u64) -> Self {
        let divisor = divisor.clamp(1, 1 << TIME_BITS);
        let shift = TIME_BITS + divisor.next_power_of_two().trailing_zeros();
        let magic = (1u128 << shift).div_ceil(u128::from(divisor)) as u64;
        Self { divisor, magic, shift }
    }

    pub(crate) fn divisor(self) -> u64 {
        self.divisor
    }

    /// `time / divisor`, rounded down; `time` has at most [`TIME_BITS`] bits.
    #[inline]
    pub(crate) fn quotient(self, time: u64) -> u64 {
        debug_assert!(time >> TIME_BITS == 0, "a time of at most {TIME_BITS} bits");
        ((u128::from(time) * u128::from(self.magic)) >> self.shift) as u64
    }

    /// `time % divisor`.
    #[inline]
    pub(crate) fn remainder(self, time: u64) -> u64 {
        time - self.quotient(time) * self.divisor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_the_division_instruction(divisor in 1u64..=(1 << 43), time in 0u64..(1 << 43), small in 1u64..5000) {
            for d in [divisor, small, divisor >> 20 | 1] {
                for t in [time, time / d * d, (time / d * d).saturating_sub(1), (1 << 43) - 1] {
                    prop_assert_eq!(Divider::new(d).quotient(t), t / d);
                    prop_assert_eq!(Divider::new(d).remainder(t), t % d);
                }
            }
        }
    }
}
