//! What is acted on: articles, new ones every hour, each with an owner.
//!
//! Attention goes to what is fresh: half of what is acted on is younger than ten hours. Within the articles of one
//! hour popularity is Zipf-like with exponent 0.8 (web requests: 0.64 to 0.83, Breslau et al., INFOCOM 1999). An
//! article is a number, and all about it is a function of that number, so that none is stored. On top come trends: for a while an
//! article draws a share of everybody's likes.

use super::super::dice::{Dice, Weights, fraction, mix};
use super::HOUR;

/// A number of an article: hour of its publication (counted from the first there is) times [`A_BATCH`], plus its rank.
pub(in crate::sim) type Article = u32;

const A_BATCH: u32 = 1 << 12;
/// Hours of articles that there are when the traffic begins.
pub(in crate::sim) const BACKLOG: u32 = 480;
/// Hours for which one owner keeps a rank.
const TENURE: u32 = 24;
/// Age in hours at which attention has fallen to a third.
const FRESH: f64 = 14.0;

/// For a while an article draws a share of the likes.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Trend {
    pub(in crate::sim) article: Article,
    /// When it begins to be noticed.
    pub(in crate::sim) from: i64,
    /// How long it takes to its peak.
    pub(in crate::sim) rise: i64,
    /// How long it then takes to fall to a third.
    pub(in crate::sim) decay: i64,
    /// Share of the likes of newcomers that it draws at its peak, and of those of others.
    pub(in crate::sim) share: (f64, f64),
}

impl Trend {
    fn strength(&self, at: i64) -> f64 {
        let since = (at - self.from) as f64;
        let rise = self.rise.max(1) as f64;
        match since {
            ..0.0 => 0.0,
            s if s < rise => s / rise,
            s => libm::exp(-(s - rise) / self.decay.max(1) as f64),
        }
    }
}

/// See the module.
pub(in crate::sim) struct Articles {
    key: u64,
    start: i64,
    /// Articles an hour.
    batch: u32,
    popularity: Weights,
    pub(in crate::sim) trends: Vec<Trend>,
}

impl Articles {
    /// `batch` articles an hour, at most 4,096.
    pub(in crate::sim) fn new(seed: u64, start: i64, batch: u32) -> Self {
        let batch = batch.clamp(8, A_BATCH);
        let popularity = Weights::zipf(batch, 0.8);
        Self { key: mix(seed, 0x6172_7469), start, batch, popularity, trends: Vec::new() }
    }

    /// What is liked at `at`: a trend's article, or any.
    pub(in crate::sim) fn attraction(&self, at: i64, new: bool, dice: &mut Dice) -> Article {
        for trend in self.trends.iter().filter(|trend| at >= trend.from) {
            let share = if new { trend.share.0 } else { trend.share.1 };
            if dice.chance(share * trend.strength(at)) {
                return trend.article;
            }
        }
        self.any(at, dice)
    }

    /// Any article there is at `at`, by freshness and popularity.
    pub(in crate::sim) fn any(&self, at: i64, dice: &mut Dice) -> Article {
        let age = dice.exponential(FRESH).min(f64::from(BACKLOG)) as u32;
        let rank = dice.index(&self.popularity) as u32;
        self.hour(at).saturating_sub(age) * A_BATCH + rank
    }

    /// An ordinary article, published `hours` before `at`: of middling rank.
    pub(in crate::sim) fn ordinary(&self, at: i64, hours: u32, dice: &mut Dice) -> Article {
        let rank = self.batch / 3 + dice.below(self.batch / 3 + 1);
        self.hour(at).saturating_sub(hours) * A_BATCH + rank
    }

    /// Another article of the same owner, published in the day before `at` where there is one.
    pub(in crate::sim) fn neighbour(&self, article: Article, at: i64, dice: &mut Dice) -> Article {
        let begin = article / A_BATCH / TENURE * TENURE;
        let hour = (begin + dice.below(TENURE)).min(self.hour(at));
        hour * A_BATCH + article % A_BATCH
    }

    fn hour(&self, at: i64) -> u32 {
        let since = (at - self.start).max(0) / HOUR;
        BACKLOG.saturating_add(u32::try_from(since).unwrap_or(0))
    }

    /// Its id.
    pub(in crate::sim) fn id(&self, article: Article) -> u64 {
        mix(self.key, u64::from(article)) & 0xff_ffff_ffff
    }

    /// Account number of its owner, of `accounts`: few write much, and who writes does so some hours long.
    pub(in crate::sim) fn owner(&self, article: Article, accounts: u32) -> u32 {
        let tenure = u64::from(article / A_BATCH / TENURE) << 12 | u64::from(article % A_BATCH);
        let place = fraction(mix(self.key ^ 1, tenure));
        let rank = (place * place * place * f64::from(accounts)) as u64;
        (mix(self.key ^ 2, rank) % u64::from(accounts.max(1))) as u32
    }
}
