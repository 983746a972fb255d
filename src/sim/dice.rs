//! Random draws that are the same on every machine.
//!
//! ChaCha8 with a key made from the seed, integer arithmetic, and transcendental functions from `libm` alone: the
//! platform's own differ in the last bit. Each room of the simulation draws from a stream of its own, so that a
//! change in one leaves the draws of the others alone. Nothing here can fail.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rand_distr::Distribution;
use rand_distr::weighted::WeightedAliasIndex;

/// The rooms that draw, each from its own stream.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stream {
    Population = 1,
    Content = 2,
    Honest = 3,
    Incident = 4,
    /// The people of a scenario.
    People = 5,
    /// What honest people do, drawn as the traffic is told.
    Ordinary = 6,
    /// What a scenario plans: who is recruited, and when they do what.
    Scheme = 7,
    /// How long records are under way.
    Delay = 8,
}

/// A source of random draws.
pub(super) struct Dice(ChaCha8Rng);

impl Dice {
    pub(super) fn new(seed: u64, stream: Stream) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(stream as u64);
        Self(rng)
    }

    /// Uniform in `0..n`, or 0 when `n` is 0. The bias is below `n / 2^32`.
    pub(super) fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.0.next_u32()) * u64::from(n)) >> 32) as u32
    }

    /// Uniform in `low..=high`.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// Uniform in `0..n` for times and other large ranges; 0 when `n` is 0 or negative.
    pub(super) fn below_i64(&mut self, n: i64) -> i64 {
        let n = u128::from(n.max(0).unsigned_abs());
        ((u128::from(self.0.next_u64()) * n) >> 64) as i64
    }

    /// Any 64 bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `[0, 1)`, 53 bits.
    pub(super) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with this probability.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// One of these, all equally likely. The slice is not empty.
    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u32) as usize]
    }

    /// Log-normal: half of the draws are below `median`, about two thirds within a factor `e^sigma` of it.
    pub(super) fn lognormal(&mut self, median: f64, sigma: f64) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        let normal = radius * libm::cos(2.0 * std::f64::consts::PI * self.unit());
        median * libm::exp(sigma * normal)
    }

    /// Exponential with this mean: the time to the next of things that happen at random.
    pub(super) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// Pareto of the second kind (Lomax): `P(X > x) = (1 + x / scale)^-shape`.
    pub(super) fn lomax(&mut self, scale: f64, shape: f64) -> f64 {
        scale * (libm::pow(1.0 - self.unit(), -1.0 / shape) - 1.0)
    }

    /// Another order of these, all orders equally likely.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u32 + 1) as usize);
        }
    }

    /// An index, by these weights.
    pub(super) fn index(&mut self, weights: &Weights) -> usize {
        weights.0.sample(&mut self.0)
    }
}

/// A table of whole-number weights, drawn from in constant time.
pub(super) struct Weights(WeightedAliasIndex<u64>);

impl Weights {
    /// At least one of the weights is above 0, none is above `2^63 / weights`.
    pub(super) fn new(weights: impl IntoIterator<Item = u64>) -> Self {
        let table = WeightedAliasIndex::new(weights.into_iter().collect());
        Self(table.expect("the tables of this room have a positive weight and small numbers"))
    }

    /// `1 / rank^exponent` for ranks 1 to `n`.
    pub(super) fn zipf(n: u32, exponent: f64) -> Self {
        Self::new((1..=n.max(1)).map(|rank| (1e9 / libm::pow(f64::from(rank), exponent)) as u64 + 1))
    }
}

/// A fixed one-to-one shuffle of `bits`-bit numbers: consecutive numbers land far apart, no two together.
pub(super) fn scatter(number: u64, bits: u32) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15) & ((1 << bits) - 1)
}

/// A fixed one-to-one shuffle of all 64-bit numbers, another for each `key` (the finaliser of SplitMix64, Steele et
/// al., OOPSLA 2014): what it gives for consecutive numbers looks like chance.
pub(super) fn mix(key: u64, number: u64) -> u64 {
    let mut z = (number ^ key.rotate_left(32)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The same number as a share of one, in `[0, 1)`.
pub(super) fn fraction(mixed: u64) -> f64 {
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The published key stream of ChaCha8 with a key and nonce of zeros begins 3e 00 ef 2f 89 5f 40 d6.
    #[test]
    fn the_generator_is_chacha8() {
        assert_eq!(ChaCha8Rng::from_seed([0; 32]).next_u64(), 0xd640_5f89_2fef_003e);
    }

    #[test]
    fn rooms_draw_apart() {
        assert_ne!(Dice::new(0, Stream::Population).bits(), Dice::new(0, Stream::Honest).bits());
        assert_ne!(Dice::new(0, Stream::Population).bits(), Dice::new(1, Stream::Population).bits());
    }

    #[test]
    fn draws_have_the_shape_they_claim() {
        let mut dice = Dice::new(7, Stream::Population);
        let n = 100_000;
        let mean = (0..n).map(|_| f64::from(dice.between(1, 6))).sum::<f64>() / f64::from(n);
        assert!((mean - 3.5).abs() < 0.03, "a die averages 3.5, not {mean}");
        let below = (0..n).filter(|_| dice.lognormal(20.0, 1.0) < 20.0).count();
        assert!((49_000..51_000).contains(&below), "half below the median, not {below}");
        let zipf = Weights::zipf(2, 1.0);
        let first = (0..n).filter(|_| dice.index(&zipf) == 0).count();
        assert!((65_700..67_700).contains(&first), "ranks 1 and 2 share 2:1, not {first}");
        assert_eq!((dice.below(0), dice.below_i64(-5)), (0, 0));
    }

    #[test]
    fn scattering_keeps_numbers_apart() {
        let all: BTreeSet<_> = (0..1 << 16).map(|n| scatter(n, 16)).collect();
        assert_eq!(all.len(), 1 << 16);
    }
}
