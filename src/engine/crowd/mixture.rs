//! One trait of a crowd against what is usual: how large a part of the crowd is not as people usually are, and what a
//! value of the trait says of the one who has it.
//!
//! The crowd is taken for a mixture: a share `alpha` that was brought in, the rest as usual. Bins that are overfull beyond
//! chance tell `alpha`; what is left in each bin once the usual ones are taken out is how those who were brought in are
//! spread; the ratio of the two spreads is the evidence of a bin. So in a crowd of copies, who is no copy has evidence for
//! him. Without an overfull bin there is no evidence either way. Counts are of distinct accounts, never of events.

/// One trait of a crowd, judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Mixture {
    /// Share of the crowd that is not as usual, 0 to 1.
    pub(crate) alpha: f64,
    /// Accounts of the crowd whose value is known.
    pub(crate) support: u32,
    /// By bin.
    pub(crate) bins: Vec<Bin>,
}

/// One value, or range of values, of a trait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bin {
    /// Its share of the crowd.
    pub(crate) here: f64,
    /// Its usual share.
    pub(crate) usual: f64,
    /// Evidence that who has it was brought in, in nats.
    pub(crate) log_odds: f64,
    /// It is overfull beyond chance.
    pub(crate) overfull: bool,
}

/// Which bins may be overfull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Any.
    Any,
    /// This one alone; the others speak for nobody's being brought in.
    Only(usize),
    /// This one alone; the others say nothing.
    Alone(usize),
}

/// Accounts of a crowd that it takes, at least.
pub(crate) const LEAST_HERE: u32 = 15;
/// Of a group that meets again and again.
const LEAST_GROUP: u32 = 8;
/// Ordinary accounts that it takes, at least.
pub(crate) const LEAST_USUAL: u32 = 200;
/// And so many where they are told apart.
const LEAST_FEW: u32 = 30;
/// Evidence of one bin, at most and at least, in nats.
pub(crate) const MOST: f64 = 3.0;
/// Standard deviations beyond chance.
const SIGMAS: f64 = 4.0;
/// An overfull bin has so many times its usual share.
const LIFT: f64 = 2.0;
/// So many who were surely brought in tell how those are.
const LEAST_CORE: f64 = 10.0;
/// A smaller share of a crowd is not told from chance.
const LEAST_ALPHA: f64 = 0.05;

impl Mixture {
    /// Judges counts by bin, of the crowd and of ordinary accounts. `None` when there are too few of either.
    pub(crate) fn of(here: &[u32], usual: &[u32], side: Side) -> Option<Self> {
        if usual.iter().sum::<u32>() < LEAST_USUAL { None } else { Self::of_few(here, usual, side) }
    }

    /// The same where ordinary accounts are few.
    pub(crate) fn of_few(here: &[u32], usual: &[u32], side: Side) -> Option<Self> {
        let enough = here.iter().sum::<u32>() >= LEAST_HERE && usual.iter().sum::<u32>() >= LEAST_FEW;
        if enough { Self::of_group(here, usual, side) } else { None }
    }

    /// The same of what is so unusual that few tell it: to meet again and again.
    pub(crate) fn of_group(here: &[u32], usual: &[u32], side: Side) -> Option<Self> {
        let (n, ordinary) = (here.iter().sum::<u32>(), usual.iter().sum::<u32>());
        if n < LEAST_GROUP || ordinary == 0 {
            return None;
        }
        let (total, all) = (f64::from(n), f64::from(ordinary));
        let smoothed = 0.5 * usual.len() as f64 + all;
        let mut bins: Vec<Bin> = (here.iter().zip(usual))
            .map(|(h, u)| Bin {
                here: f64::from(*h) / total,
                usual: (f64::from(*u) + 0.5) / smoothed,
                ..Bin::default()
            })
            .collect();
        let alpha = alpha(&mut bins, (total, all), side);
        if alpha > 0.0 {
            bins.iter_mut().enumerate().for_each(|(number, bin)| bin.weigh(alpha, total, side, number));
        }
        Some(Self { alpha, support: n, bins })
    }

    /// How many times their usual share overfull bins have together; 0 when nobody was brought in.
    pub(crate) fn lift(&self) -> f64 {
        let (here, usual) = overfull(&self.bins);
        if self.alpha > 0.0 && usual > 0.0 { here / usual } else { 0.0 }
    }

    /// How well it tells those who were brought in from others: their share, times how much more frequent they are where they
    /// are, as its logarithm.
    pub(crate) fn tells(&self) -> f64 {
        self.alpha * libm::log(self.lift().max(1.0))
    }

    /// The share of usual accounts among those in overfull bins.
    pub(crate) fn strays(&self) -> f64 {
        let (here, usual) = overfull(&self.bins);
        if here > 0.0 { ((1.0 - self.alpha) * usual / here).clamp(0.0, 0.9) } else { 0.0 }
    }

    /// Weighs its bins anew by those who were brought in: `counts` says how many of them are in each.
    pub(crate) fn weigh_by(&mut self, counts: &[f64], side: Side) {
        let n: f64 = counts.iter().sum();
        if n < LEAST_CORE {
            return;
        }
        for (number, (bin, count)) in self.bins.iter_mut().zip(counts).enumerate() {
            bin.set(count / n, 0.5 / n, side, number);
        }
    }

    /// Takes so much of the share that was brought in: `factor` is from 0 to 1.
    pub(crate) fn scale(&mut self, factor: f64) {
        self.alpha *= factor;
    }
}

impl Bin {
    fn is_overfull(&self, (n, usual): (f64, f64)) -> bool {
        // Both the crowd and the sample of ordinary accounts vary by chance.
        let variance = n * self.usual * (1.0 - self.usual) + n * n * self.usual / usual + 1.0;
        let excess = n * (self.here - self.usual);
        self.here >= LIFT * self.usual && excess >= SIGMAS * libm::sqrt(variance)
    }

    fn weigh(&mut self, alpha: f64, n: f64, side: Side, number: usize) {
        let brought = ((self.here - (1.0 - alpha) * self.usual) / alpha).clamp(0.0, 1.0);
        self.set(brought, 0.5 / n, side, number);
    }

    /// Sets its evidence by the share that it has of those who were brought in.
    fn set(&mut self, brought: f64, least: f64, side: Side, number: usize) {
        let odds = libm::log((brought + least) / (self.usual + least)).clamp(-MOST, MOST);
        self.log_odds = side.of(number, odds);
    }
}

impl Side {
    /// What the evidence of a bin comes to.
    pub(super) fn of(self, number: usize, odds: f64) -> f64 {
        match self {
            Side::Only(only) if only != number => odds.min(0.0),
            Side::Alone(only) if only != number => 0.0,
            _ => odds,
        }
    }
}

/// The share of the crowd that overfull bins hold beyond their usual share of those who are as usual.
fn alpha(bins: &mut [Bin], sizes: (f64, f64), side: Side) -> f64 {
    for (number, bin) in bins.iter_mut().enumerate() {
        let may = [Side::Any, Side::Only(number), Side::Alone(number)].contains(&side);
        bin.overfull = may && bin.is_overfull(sizes);
    }
    let (here, usual) = overfull(bins);
    if usual >= 1.0 {
        return 0.0;
    }
    let alpha = (here - usual) / (1.0 - usual);
    if alpha < LEAST_ALPHA { 0.0 } else { alpha.min(1.0) }
}

/// The shares of overfull bins together: here, and usually.
fn overfull(bins: &[Bin]) -> (f64, f64) {
    let overfull = bins.iter().filter(|bin| bin.overfull);
    overfull.fold((0.0, 0.0), |(here, usual), bin| (here + bin.here, usual + bin.usual))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200 of whom 150 were brought in, all of them in bin 0, which a tenth of people are in usually: bin 0 holds 155.
    /// alpha = (0.775 - 0.1) / 0.9 = 0.75. All who were brought in are in bin 0: ln(1 / 0.1) = 2.3.
    #[test]
    fn a_mixture_is_taken_apart() {
        let mixture = Mixture::of(&[155, 45], &[100, 900], Side::Any).expect("enough");
        assert!((mixture.alpha - 0.75).abs() < 0.01, "{}", mixture.alpha);
        assert!((mixture.bins[0].log_odds - 2.3).abs() < 0.05, "{:?}", mixture.bins);
        assert_eq!(mixture.bins[1].log_odds, -MOST);
    }

    #[test]
    fn an_ordinary_crowd_has_no_evidence() {
        for here in [[20, 180], [27, 173], [13, 187]] {
            let mixture = Mixture::of(&here, &[100, 900], Side::Any).expect("enough");
            assert_eq!((mixture.alpha, mixture.bins[0].log_odds, mixture.bins[1].log_odds), (0.0, 0.0, 0.0));
        }
    }

    /// What most people are anyway cannot be twice as frequent.
    #[test]
    fn a_small_lift_of_a_common_value_is_none() {
        let mixture = Mixture::of(&[190, 10], &[600, 400], Side::Any).expect("enough");
        assert_eq!(mixture.alpha, 0.0);
    }

    #[test]
    fn one_sided_traits_hold_nothing_against_the_others() {
        let (here, usual) = ([10, 150, 40], [300, 50, 650]);
        let any = Mixture::of(&here, &usual, Side::Any).expect("enough");
        assert!(any.bins[1].log_odds > 1.0);
        let other = Mixture::of(&here, &usual, Side::Only(0)).expect("enough");
        assert_eq!(other.alpha, 0.0);
        let alone = Mixture::of(&here, &usual, Side::Alone(1)).expect("enough");
        assert!(alone.bins[1].log_odds > 1.0 && alone.bins[0].log_odds == 0.0);
        let only = Mixture::of(&here, &usual, Side::Only(1)).expect("enough");
        assert!(only.bins[1].log_odds > 1.0 && only.bins[0].log_odds <= 0.0 && only.bins[2].log_odds <= 0.0);
    }

    /// Of 100 who were surely brought in, half are in a bin that 1 % of people are in: they may be in either, so the others
    /// are hardly cleared by not being in it.
    #[test]
    fn those_who_were_surely_brought_in_tell_how_they_are() {
        let mut mixture = Mixture::of(&[100, 100], &[10, 990], Side::Any).expect("enough");
        assert_eq!(mixture.bins[1].log_odds, -MOST);
        mixture.weigh_by(&[50.0, 50.0], Side::Any);
        assert!((mixture.bins[1].log_odds - libm::log(0.5 / 0.99)).abs() < 0.05);
        assert_eq!(mixture.bins[0].log_odds, MOST);
        assert!(mixture.lift() > 40.0 && mixture.strays() < 0.02);
    }

    #[test]
    fn few_say_nothing() {
        assert_eq!(Mixture::of(&[14, 0], &[100, 900], Side::Any), None);
        assert_eq!(Mixture::of(&[200, 0], &[10, 90], Side::Any), None);
        assert!(
            Mixture::of_group(&[0, 8], &[9_970, 30], Side::Only(1)).is_some_and(|group| group.alpha > 0.9)
        );
        assert_eq!(Mixture::of_group(&[0, 7], &[9_970, 30], Side::Only(1)), None);
    }
}
