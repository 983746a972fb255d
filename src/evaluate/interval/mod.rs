//! How sure a rate is: 95 % intervals.
//!
//! Two of them stand side by side. *Clopper-Pearson* is exact for independent units and never too narrow then.
//! *Clustered*: events of one account, and accounts behind one address, are not independent; whole clusters are drawn
//! again. Where the data leave a bootstrap nothing to vary (no hit at all, or nothing but hits), the exact interval
//! over the clusters stands in its place, and the result says so.

mod beta;
mod cluster;

use serde::Serialize;

pub use self::cluster::{Clustered, Method, clustered};

/// What lies outside on either side, together.
const ALPHA: f64 = 0.05;

/// An interval of a rate, both ends between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The exact two-sided 95 % interval of `hits` in `of` independent units (Clopper and Pearson 1934). With no units it
/// is all of [0, 1].
pub fn clopper_pearson(hits: u64, of: u64) -> Interval {
    let (k, n) = (hits.min(of) as f64, of as f64);
    let low = if hits == 0 { 0.0 } else { beta::quantile(ALPHA / 2.0, k, n - k + 1.0) };
    let high = if hits >= of { 1.0 } else { beta::quantile(1.0 - ALPHA / 2.0, k + 1.0, n - k) };
    Interval { low, high }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Textbook values; for no hit the upper end is 1 - 0.025^(1/n).
    #[test]
    fn known_intervals() {
        for (hits, of, low, high) in [
            (0, 30, 0.0, 0.1157),
            (1, 10, 0.0025, 0.4450),
            (5, 10, 0.1871, 0.8129),
            (10, 10, 0.6915, 1.0),
            (0, 0, 0.0, 1.0),
            (0, 30_000, 0.0, 0.000_122_95),
        ] {
            let got = clopper_pearson(hits, of);
            assert!((got.low - low).abs() < 5e-5, "{hits} of {of}: {got:?}");
            assert!((got.high - high).abs() < 5e-5, "{hits} of {of}: {got:?}");
        }
        let rule = clopper_pearson(0, 100_000).high;
        assert!((rule - 3.688_811e-5).abs() < 1e-9, "{rule}");
    }
}
