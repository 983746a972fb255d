//! Counts on a logarithmic scale: exact to 15, then eight steps to the doubling (an error of an eighth at the most).

/// Bins.
pub(super) const BINS: usize = EXACT + OCTAVES * STEPS;
const EXACT: usize = 16;
const EXACT_BITS: u32 = EXACT.trailing_zeros();
const STEPS: usize = 8;
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// Doublings beyond the exact part: to 2^20. More is counted as that.
const OCTAVES: usize = 16;

/// The bin of a count.
pub(super) fn bin(count: u32) -> usize {
    if (count as usize) < EXACT {
        return count as usize;
    }
    let octave = count.ilog2();
    let step = (count >> (octave - STEP_BITS)) as usize & (STEPS - 1);
    (EXACT + (octave - EXACT_BITS) as usize * STEPS + step).min(BINS - 1)
}

/// The largest count of a bin.
pub(super) fn largest(bin: usize) -> f64 {
    let Some(beyond) = bin.checked_sub(EXACT) else { return bin as f64 };
    let (octave, step) = (EXACT_BITS + (beyond / STEPS) as u32, beyond % STEPS);
    (((STEPS + step + 1) as u64) << (octave - STEP_BITS)) as f64 - 1.0
}

/// The count that this share of all lies at or below; `None` where there are none.
pub(super) fn quantile(bins: impl Iterator<Item = f64> + Clone, quantile: f64) -> Option<f64> {
    let total: f64 = bins.clone().sum();
    let mut below = 0.0;
    let reached = |(number, count): (usize, f64)| {
        below += count;
        (below >= quantile * total).then_some(number)
    };
    let number = if total > 0.0 { bins.enumerate().find_map(reached) } else { None };
    number.map(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_count_is_at_most_an_eighth_below_the_largest_of_its_bin() {
        let mut last = 0;
        for count in 0..200_000_u32 {
            let number = bin(count);
            assert!(number == last || number == last + 1, "{count}");
            last = number;
            let most = largest(number);
            assert!(
                f64::from(count) <= most && most <= f64::from(count) * 1.125,
                "{count} in {number} up to {most}"
            );
        }
        assert_eq!((bin(u32::MAX), bin(1 << 20)), (BINS - 1, BINS - 1));
    }

    #[test]
    fn quantiles_are_those_of_the_counts() {
        let mut bins = [0.0; BINS];
        (0..990).for_each(|_| bins[bin(3)] += 1.0);
        (0..10).for_each(|_| bins[bin(40)] += 1.0);
        let of = |q| quantile(bins.iter().copied(), q);
        assert_eq!([0.5, 0.99, 0.991].map(of), [Some(3.0), Some(3.0), Some(43.0)]);
        assert_eq!(quantile([0.0; BINS].into_iter(), 0.5), None);
    }
}
