//! What labels say when not every event had the same chance of having one.
//!
//! People look at what was acted on, so that is what has labels; of what was allowed a few are looked at, at random if one
//! asks for it. Each label then stands for as many events as there are for one label in its stratum (what the policy in place
//! allowed, what it acted on). Shares are ratios of such sums, their intervals by linearisation within strata (95 %).
//! Without any label among the allowed nothing can be said of what was missed.

use super::sections::share;
use crate::engine::verdict::Verdict;
use crate::evaluate::Kind;
use crate::report::Section;

/// Events by stratum (allowed, acted on by the policy in place), by what the candidate did (the same), by what they are
/// (honest, attack, without label).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Strata([[[u64; 3]; 2]; 2]);

const HONEST: usize = 0;
const ATTACK: usize = 1;
const ACTED: usize = 1;

/// A share with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ratio {
    value: f64,
    low: f64,
    high: f64,
}

impl Strata {
    /// One event.
    pub(super) fn count(&mut self, now: Verdict, then: Verdict, kind: Option<Kind>) {
        let acts = |verdict: Verdict| usize::from(verdict > Verdict::Allow);
        let kind = match kind {
            Some(Kind::Honest) => HONEST,
            Some(Kind::Attack) => ATTACK,
            None => 2,
        };
        self.0[acts(now)][acts(then)][kind] += 1;
    }

    /// Labels, and events, of a stratum.
    fn size(&self, stratum: usize) -> (u64, u64) {
        let cells = &self.0[stratum];
        let labelled = cells.iter().map(|cell| cell[HONEST] + cell[ATTACK]).sum();
        (labelled, cells.iter().flatten().sum())
    }

    /// For how many events a label of a stratum stands; `None` where there are events and no label.
    fn weight(&self, stratum: usize) -> Option<f64> {
        match self.size(stratum) {
            (_, 0) => Some(0.0),
            (0, _) => None,
            (labelled, all) => Some(all as f64 / labelled as f64),
        }
    }

    /// Whether events were allowed by the policy in place, and none of them has a label.
    pub(super) fn misses_the_allowed(&self) -> bool {
        self.weight(0).is_none()
    }

    /// The share of those that `part` takes among those that `whole` takes; both by what the candidate did and what it is.
    fn ratio(&self, part: fn(usize, usize) -> bool, whole: fn(usize, usize) -> bool) -> Option<Ratio> {
        let weights = [self.weight(0)?, self.weight(1)?];
        let each = |stratum: usize| {
            (0..2).flat_map(move |did| [HONEST, ATTACK].map(|is| (did, is, self.0[stratum][did][is] as f64)))
        };
        let sum = |takes: fn(usize, usize) -> bool| -> f64 {
            let of = |stratum: usize| {
                each(stratum).filter(|(did, is, _)| takes(*did, *is)).map(|(_, _, n)| n).sum::<f64>()
            };
            weights[0] * of(0) + weights[1] * of(1)
        };
        let (x, y) = (sum(part), sum(whole));
        if y <= 0.0 {
            return None;
        }
        let value = x / y;
        let mut variance = 0.0;
        for (stratum, weight) in weights.iter().enumerate() {
            let (labelled, all) = self.size(stratum);
            if labelled < 2 {
                continue;
            }
            let n = labelled as f64;
            let residual =
                |did, is| f64::from(u8::from(part(did, is))) - value * f64::from(u8::from(whole(did, is)));
            let mean = each(stratum).map(|(did, is, count)| count * residual(did, is)).sum::<f64>() / n;
            let spread =
                each(stratum).map(|(did, is, count)| count * libm::pow(residual(did, is) - mean, 2.0));
            let unseen = 1.0 - n / all as f64;
            variance += weight * weight * n * unseen * spread.sum::<f64>() / (n - 1.0);
        }
        let wide = 1.96 * libm::sqrt(variance) / y;
        // Labels that are all alike show no spread: of n none, there may be as many as n would seldom miss.
        let labelled: f64 =
            (0..2).flat_map(each).filter(|(did, is, _)| whole(*did, *is)).map(|(_, _, n)| n).sum();
        let most = 1.0 - libm::pow(0.05, 1.0 / labelled.max(1.0));
        let low = if value >= 1.0 { 1.0 - most } else { (value - wide).max(0.0) };
        let high = if value <= 0.0 { most } else { (value + wide).min(1.0) };
        Some(Ratio { value, low, high })
    }

    fn precision(&self) -> Option<Ratio> {
        self.ratio(|did, is| did == ACTED && is == ATTACK, |did, _| did == ACTED)
    }

    /// Where no attack was found among the allowed, there may be as many as that leaves possible (95 %).
    fn recall(&self) -> Option<Ratio> {
        let ratio = self.ratio(|did, is| did == ACTED && is == ATTACK, |_, is| is == ATTACK)?;
        let (labelled, all) = self.size(0);
        let found: u64 = self.0[0].iter().map(|cell| cell[ATTACK]).sum();
        if found > 0 || labelled == 0 {
            return Some(ratio);
        }
        let most = 1.0 - libm::pow(0.05, 1.0 / labelled as f64);
        let caught: f64 = self.weight(1)? * (self.0[1][0][ATTACK] + self.0[1][1][ATTACK]) as f64;
        let low = ratio.low * caught / (caught + most * all as f64);
        Some(Ratio { low, ..ratio })
    }

    fn false_positives(&self) -> Option<Ratio> {
        self.ratio(|did, is| did == ACTED && is == HONEST, |_, is| is == HONEST)
    }

    /// As part of a report; `against`: the policy in place is another one than the candidate.
    pub(super) fn section(&self, against: Option<&str>) -> Section {
        let told = |ratio: Option<Ratio>| {
            ratio.map_or("not known".to_owned(), |ratio| {
                let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(|part| share(Some(part)));
                format!("{value} ({low} to {high})")
            })
        };
        let of = |stratum: usize| {
            let (labelled, all) = self.size(stratum);
            format!("{labelled} of {all} have a label")
        };
        let rows = [
            ("allowed", of(0)),
            ("acted on", of(1)),
            ("precision of the candidate", told(self.precision())),
            ("recall of the candidate", told(self.recall())),
            ("false-positive rate of the candidate", told(self.false_positives())),
        ];
        let rows = rows.map(|(name, value)| vec![name.to_owned(), value]).to_vec();
        let by = against.unwrap_or("the candidate itself");
        let missing = match self.weight(0) {
            None => {
                " No allowed event has a label: only what was acted on was looked at, and what was missed cannot be known. \
                 Label a random sample of allowed ones."
            }
            Some(_) => "",
        };
        Section::table("Labels by chance", &["", "by events"], rows).noted(format!(
            "Allowed and acted on by {by}. Each label stands for as many events as there are for one label among the allowed, \
             and among those acted on. That is right if who has a label was chosen at random among the allowed, and among \
             those acted on.{missing}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 acted on, all labelled: 80 attacks. 10,000 allowed, 100 labelled at random: 2 attacks, so about 200. The
    /// candidate acts on all but 20 honest of the first, and on one of the two missed and no other allowed one.
    fn strata() -> Strata {
        let mut strata = Strata::default();
        let mut add = |count: usize, now: Verdict, then: Verdict, kind: Option<Kind>| {
            (0..count).for_each(|_| strata.count(now, then, kind));
        };
        add(80, Verdict::Hold, Verdict::Reject, Some(Kind::Attack));
        add(20, Verdict::Hold, Verdict::Allow, Some(Kind::Honest));
        add(1, Verdict::Allow, Verdict::Hold, Some(Kind::Attack));
        add(1, Verdict::Allow, Verdict::Allow, Some(Kind::Attack));
        add(98, Verdict::Allow, Verdict::Allow, Some(Kind::Honest));
        add(9_900, Verdict::Allow, Verdict::Allow, None);
        strata
    }

    #[test]
    fn a_label_stands_for_those_like_it() {
        let strata = strata();
        assert_eq!((strata.weight(0), strata.weight(1)), (Some(100.0), Some(1.0)));
        // Caught are 80 and 100 of 280; without weights it would be 81 of 82.
        let recall = strata.recall().expect("known");
        assert!((recall.value - 180.0 / 280.0).abs() < 1e-12, "{recall:?}");
        assert!(recall.low < recall.value && recall.value < recall.high, "{recall:?}");
        assert_eq!(strata.precision().expect("known").value, 1.0);
        assert_eq!(strata.false_positives().expect("known").value, 0.0);
    }

    #[test]
    fn what_nobody_looked_at_is_not_known() {
        let mut strata = Strata::default();
        strata.count(Verdict::Hold, Verdict::Hold, Some(Kind::Attack));
        strata.count(Verdict::Allow, Verdict::Allow, None);
        assert_eq!((strata.recall(), strata.precision()), (None, None));
        assert!(strata.section(Some("now")).note.contains("No allowed event has a label"));
    }

    /// 299 honest ones looked at among 10,000: with 95 % fewer than 1 percent, 100, were missed; and of 100 attacks that were
    /// all acted on as many as 3 may be others: 0.97 times a half.
    #[test]
    fn no_attack_found_among_the_allowed_bounds_what_was_missed() {
        let mut strata = Strata::default();
        (0..100).for_each(|_| strata.count(Verdict::Hold, Verdict::Hold, Some(Kind::Attack)));
        (0..299).for_each(|_| strata.count(Verdict::Allow, Verdict::Allow, Some(Kind::Honest)));
        (0..9_701).for_each(|_| strata.count(Verdict::Allow, Verdict::Allow, None));
        let recall = strata.recall().expect("known");
        assert_eq!((recall.value, recall.high), (1.0, 1.0));
        assert!((recall.low - 0.486).abs() < 0.002, "{recall:?}");
        let honest = strata.false_positives().expect("known");
        assert!(honest.value == 0.0 && (honest.high - 0.00997).abs() < 1e-4, "{honest:?}");
    }
}
