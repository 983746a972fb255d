//! Intervals of a rate whose units come in clusters: whole clusters are drawn again, with replacement.
//!
//! The draws are seeded with a constant: the same counts give the same interval on every machine. Clusters that look
//! alike are drawn together (a multinomial draw by conditional binomials), so that the cost depends on how many
//! different clusters there are, not on how many.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Binomial, Distribution};
use serde::Serialize;

use super::{Interval, clopper_pearson};

/// How often all clusters are drawn.
const DRAWS: usize = 1000;
/// Any seed would do; it must only be the same each time.
const SEED: u64 = 0x636c_7573_7465_7273;

/// How a clustered interval was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Percentiles of the rate over clusters drawn again.
    ClusterBootstrap,
    /// Nothing or everything was a hit: the exact interval of clusters hit among clusters.
    ClopperPearsonOverClusters,
}

/// A clustered interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Clustered {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// How many clusters there were.
    pub clusters: u64,
    /// How it was made.
    pub method: Method,
}

/// The 95 % interval of the rate `sum(hits) / sum(of)` over clusters `(hits, of)`; `None` without any unit.
pub fn clustered(clusters: impl IntoIterator<Item = (u64, u64)>) -> Option<Clustered> {
    let mut alike: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for pair in clusters.into_iter().filter(|(_, of)| *of > 0) {
        *alike.entry(pair).or_default() += 1;
    }
    let total: u64 = alike.values().sum();
    let (hits, of) = alike.iter().fold((0, 0), |(h, n), ((a, b), times)| (h + a * times, n + b * times));
    if of == 0 {
        return None;
    }
    if hits == 0 || hits == of {
        let Interval { low, high } = clopper_pearson(if hits == 0 { 0 } else { total }, total);
        return Some(Clustered { low, high, clusters: total, method: Method::ClopperPearsonOverClusters });
    }
    let Interval { low, high } = bootstrap(&alike, total);
    Some(Clustered { low, high, clusters: total, method: Method::ClusterBootstrap })
}

fn bootstrap(alike: &BTreeMap<(u64, u64), u64>, total: u64) -> Interval {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let mut rates: Vec<f64> = (0..DRAWS).map(|_| drawn_rate(alike, total, &mut random)).collect();
    rates.sort_by(f64::total_cmp);
    Interval { low: rates[DRAWS / 40], high: rates[DRAWS - 1 - DRAWS / 40] }
}

/// The rate in `total` clusters drawn with replacement.
fn drawn_rate(alike: &BTreeMap<(u64, u64), u64>, total: u64, random: &mut ChaCha8Rng) -> f64 {
    let (mut left, mut among) = (total, total);
    let (mut hits, mut of) = (0.0, 0.0);
    for ((h, n), times) in alike {
        let drawn = binomial(left, *times as f64 / among as f64, random);
        hits += (drawn * h) as f64;
        of += (drawn * n) as f64;
        left -= drawn;
        among -= times;
    }
    hits / of
}

fn binomial(n: u64, p: f64, random: &mut ChaCha8Rng) -> u64 {
    if n == 0 || p >= 1.0 {
        return n;
    }
    Binomial::new(n, p).map_or(0, |binomial| binomial.sample(random)).min(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hit_is_judged_by_the_number_of_clusters() {
        // 100 events each of 30 accounts: what is known is no more than 30 accounts tell.
        let got = clustered((0..30).map(|_| (0, 100))).expect("there are units");
        assert_eq!((got.clusters, got.method), (30, Method::ClopperPearsonOverClusters));
        assert!((got.high - 0.1157).abs() < 5e-5, "{got:?}");
        assert_eq!(clustered([(0, 0)]), None);
    }

    /// With clusters of one the bootstrap is the binomial itself: 0.2 ± 1.96 · sqrt(0.2 · 0.8 / 400).
    #[test]
    fn clusters_of_one_give_the_binomial_spread() {
        let got = clustered((0..400).map(|n| (u64::from(n % 5 == 0), 1))).expect("there are units");
        assert!((got.low - 0.1608).abs() < 0.012, "{got:?}");
        assert!((got.high - 0.2392).abs() < 0.012, "{got:?}");
    }

    /// The same hits in whole clusters of 20: the spread is that of 20 units, sqrt(20) times wider.
    #[test]
    fn hits_that_come_together_widen_the_interval() {
        let got = clustered((0..20).map(|n| (if n % 5 == 0 { 20 } else { 0 }, 20))).expect("there are units");
        assert!(got.low < 0.06 && got.high > 0.34, "{got:?}");
        assert_eq!(got.method, Method::ClusterBootstrap);
    }

    #[test]
    fn the_same_counts_give_the_same_interval() {
        let clusters = || (0..1000_u64).map(|n| (n % 3, 3 + n % 7));
        assert_eq!(clustered(clusters()), clustered(clusters().rev()));
    }
}
