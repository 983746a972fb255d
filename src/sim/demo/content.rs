//! What is acted on: articles with owners, and texts that people write.
//!
//! Popularity is Zipf-like with exponent 0.8 (web requests: 0.64 to 0.83, Breslau et al., INFOCOM 1999). Two articles
//! stand apart: one that goes viral by itself, and the ordinary one that a campaign pushes.

use super::super::dice::{Dice, Weights, scatter};
use super::population::Population;

/// One thing to act on.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) id: String,
    /// Account number of its owner.
    pub(super) owner: u32,
}

/// All targets by popularity, most popular first.
pub(super) struct Catalogue {
    pub(super) targets: Vec<Target>,
    popularity: Weights,
}

/// Rank of the article that goes viral: nothing special before.
pub(super) const VIRAL: u32 = 900;
/// Rank of the article that the campaign pushes: ordinary.
pub(super) const PUSHED: u32 = 1400;

impl Catalogue {
    /// `n` articles, but no fewer than the two that stand apart need, owned by random honest accounts; prolific owners have several.
    pub(super) fn new(n: u32, population: &Population, dice: &mut Dice) -> Self {
        let n = n.max(PUSHED + 1);
        let accounts = population.accounts.len() as u32;
        let owners = Weights::zipf(accounts / 4, 0.6);
        let targets = (0..n)
            .map(|rank| Target {
                id: format!("article-{:06}", scatter(u64::from(rank) + 1, 19)),
                owner: scatter(dice.index(&owners) as u64, 32) as u32 % accounts.max(1),
            })
            .collect();
        Self { targets, popularity: Weights::zipf(n, 0.8) }
    }

    /// Any article but the pushed one, by popularity.
    pub(super) fn other(&self, dice: &mut Dice) -> u32 {
        loop {
            let article = self.any(dice);
            if article != PUSHED {
                return article;
            }
        }
    }

    /// Any article, by popularity.
    pub(super) fn any(&self, dice: &mut Dice) -> u32 {
        dice.index(&self.popularity) as u32
    }
}

/// Text of a comment or message, as a number: few short ones are common (a tenth of all are one of twenty), the
/// others are written once. A choice.
pub(super) fn text(dice: &mut Dice) -> u64 {
    if dice.chance(0.1) { u64::from(dice.below(20)) } else { dice.bits() }
}
