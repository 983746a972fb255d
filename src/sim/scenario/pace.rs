//! When things are done: quotas, paces, and the shape of a rush.

use super::super::dice::Dice;
use super::super::world::{MINUTE, SECOND};

/// Acts a minute from one address that a campaign does not exceed.
const A_MINUTE: usize = 10;

/// `n` moments from 0 to `length`, ascending, at a person's pauses, over 30 to 100 % of the length, and no more than
/// ten a minute.
pub(super) fn paced(n: usize, length: i64, dice: &mut Dice) -> Vec<i64> {
    let needed = (n / A_MINUTE + 1) as i64 * MINUTE;
    let shortest = (length * 3 / 10).max(needed).min(length);
    let span = shortest + dice.below_i64(length - shortest + 1);
    let begin = dice.below_i64(length - span + 1);
    let gaps: Vec<f64> = (0..=n).map(|_| dice.lognormal(1.0, 0.7)).collect();
    let unit = (span - SECOND).max(1) as f64 / gaps.iter().sum::<f64>();
    let mut at = begin as f64;
    let mut times: Vec<i64> = gaps[..n]
        .iter()
        .map(|gap| {
            at += gap * unit;
            at as i64
        })
        .collect();
    // What is too early after the like ten before is delayed.
    for i in A_MINUTE..times.len() {
        times[i] = times[i].max(times[i - A_MINUTE] + MINUTE + SECOND).max(times[i - 1]);
    }
    times
}

/// `total` shared out among `n`, equally but for a few moved from one to another.
pub(super) fn quotas(total: u32, n: u32, dice: &mut Dice) -> Vec<u32> {
    let mut shares: Vec<u32> = (0..n).map(|i| total / n + u32::from(i < total % n)).collect();
    for _ in 0..n.saturating_mul(2) {
        let (from, to) = (dice.below(n) as usize, dice.below(n) as usize);
        if shares[from] > total / n / 2 && shares[to] < total / n * 3 / 2 {
            shares[from] -= 1;
            shares[to] += 1;
        }
    }
    shares
}

/// When somebody of a rush arrives, from its begin: it swells for `rise`, then ebbs with mean `decay`.
pub(super) fn rush(rise: i64, decay: i64, dice: &mut Dice) -> i64 {
    let swell = rise as f64 / (rise as f64 + 2.0 * decay as f64);
    match dice.chance(swell) {
        true => (rise as f64 * libm::sqrt(dice.unit())) as i64,
        false => rise + dice.exponential(decay as f64) as i64,
    }
}
