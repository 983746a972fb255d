//! What must hold: one table of bounds, and figures held against it.
//!
//! Every bound is on the worst of several seeds. A figure that is only told has a line here too, so that it is printed.

use serde::Serialize;

use super::cause::Cause;
use super::figures::Figures;
use super::label::Kind;
use crate::engine::verdict::Verdict;

/// What is measured of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Share of the attacking accounts with a last verdict above allow on any attack.
    AccountsActedOn,
    /// Seconds from the first event on the pushed target to the first case on it; of several groups the slowest.
    FoundAfter,
    /// Events of the pushed kind on the pushed targets that count after all corrections.
    StillCounted,
    /// Share of those events.
    StillCountedShare,
    /// Share of the coupon claims of attackers that are rejected or blocked.
    ClaimsRefused,
    /// Share of the honest requests, of whatever action, that are rejected or blocked.
    HonestRequestsRefused,
    /// Share of the honest accounts with a last verdict of reject or block by suspicion on any event.
    HonestRefusedBySuspicion,
    /// Share of the honest accounts banned by suspicion.
    HonestBannedBySuspicion,
    /// Share of the honest accounts with a last verdict of hold.
    HonestHeld,
    /// Share of the honest accounts with a last verdict of challenge.
    HonestChallenged,
    /// Share of the honest accounts with a last verdict of demote.
    HonestDemoted,
}

/// A bound on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// It is at most this.
    AtMost(f64),
    /// It is at least this.
    AtLeast(f64),
    /// It is told as it is.
    Told,
}

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// What is measured.
    pub metric: Metric,
    /// What must hold.
    pub limit: Limit,
}

const fn bound(metric: Metric, limit: Limit) -> Bound {
    Bound { metric, limit }
}

/// What must hold of honest people in every scenario.
const HONEST: [Bound; 5] = [
    bound(Metric::HonestRefusedBySuspicion, Limit::AtMost(0.0)),
    bound(Metric::HonestBannedBySuspicion, Limit::AtMost(0.0)),
    // A hold keeps people waiting as a challenge does.
    bound(Metric::HonestHeld, Limit::AtMost(0.0005)),
    bound(Metric::HonestChallenged, Limit::AtMost(0.0005)),
    bound(Metric::HonestDemoted, Limit::AtMost(0.0005)),
];

/// What must hold of the attack in a scenario.
fn attack(scenario: &str) -> Vec<Bound> {
    let acted_on = |share| bound(Metric::AccountsActedOn, Limit::AtLeast(share));
    let told = |metric| bound(metric, Limit::Told);
    match scenario {
        "echo" => vec![
            acted_on(0.95),
            bound(Metric::FoundAfter, Limit::AtMost(60.0)),
            bound(Metric::StillCounted, Limit::AtMost(200.0)),
        ],
        "echo-idempotent" | "spoofed-devices" | "aged-accounts" => {
            vec![acted_on(0.9), told(Metric::FoundAfter), told(Metric::StillCountedShare)]
        }
        "slow-drip" | "ring" => {
            vec![acted_on(0.8), told(Metric::FoundAfter), told(Metric::StillCountedShare)]
        }
        "coupon-script" => vec![
            bound(Metric::ClaimsRefused, Limit::AtLeast(0.96)),
            bound(Metric::HonestRequestsRefused, Limit::AtMost(0.003)),
            told(Metric::AccountsActedOn),
        ],
        _ => vec![told(Metric::AccountsActedOn), told(Metric::FoundAfter), told(Metric::StillCountedShare)],
    }
}

/// What must hold of a scenario.
pub fn of(scenario: &str, is_attack: bool) -> Vec<Bound> {
    let attack = if is_attack { attack(scenario) } else { Vec::new() };
    attack.into_iter().chain(HONEST).collect()
}

impl Metric {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Metric::AccountsActedOn => "attackers acted on",
            Metric::FoundAfter => "found after",
            Metric::StillCounted => "still counted",
            Metric::StillCountedShare => "still counted",
            Metric::ClaimsRefused => "claims refused",
            Metric::HonestRequestsRefused => "honest requests refused",
            Metric::HonestRefusedBySuspicion => "honest refused by suspicion",
            Metric::HonestBannedBySuspicion => "honest banned by suspicion",
            Metric::HonestHeld => "honest held",
            Metric::HonestChallenged => "honest challenged",
            Metric::HonestDemoted => "honest demoted",
        }
    }

    /// A value in words.
    pub fn words(self, value: Option<f64>) -> String {
        match (self, value) {
            (Metric::FoundAfter, None) => "never".to_owned(),
            (_, None) => "-".to_owned(),
            (Metric::FoundAfter, Some(seconds)) => format!("{seconds:.1} s"),
            (Metric::StillCounted, Some(events)) => format!("{events:.0}"),
            (_, Some(share)) => format!("{:.4} %", 100.0 * share),
        }
    }

    /// The figure; `None` when there is none: nothing was found, or there is nothing to count.
    pub fn of(self, figures: &Figures) -> Option<f64> {
        let honest = |verdict, causes: &[Cause]| {
            let met: u64 = causes.iter().map(|cause| figures.harm.accounts_that_met(verdict, *cause)).sum();
            share(met, figures.harm.accounts)
        };
        match self {
            Metric::AccountsActedOn => figures.accounts.first().and_then(|demote| demote.recall.value),
            Metric::FoundAfter => found_after(figures),
            Metric::StillCounted => counted(figures).map(|(last, _)| last as f64),
            Metric::StillCountedShare => counted(figures).and_then(|(last, all)| share(last, all)),
            Metric::ClaimsRefused => refused(figures, Kind::Attack, Some("coupon_claim")),
            Metric::HonestRequestsRefused => refused(figures, Kind::Honest, None),
            Metric::HonestRefusedBySuspicion => {
                let refused =
                    [Verdict::Reject, Verdict::Block].map(|verdict| honest(verdict, &[Cause::Suspicion]));
                // An account that met both counts twice: the bound is zero.
                Some(refused.into_iter().flatten().sum())
            }
            Metric::HonestBannedBySuspicion => {
                share(figures.harm.accounts_banned(Cause::Suspicion), figures.harm.accounts)
            }
            Metric::HonestHeld => honest(Verdict::Hold, &Cause::ALL),
            Metric::HonestChallenged => honest(Verdict::Challenge, &Cause::ALL),
            Metric::HonestDemoted => honest(Verdict::Demote, &Cause::ALL),
        }
    }

    /// Whether less is better.
    const fn less_is_better(self) -> bool {
        !matches!(self, Metric::AccountsActedOn | Metric::ClaimsRefused)
    }

    /// The worse of two figures; none at all is worst, but for what cannot be counted.
    pub fn worse(self, a: Option<f64>, b: Option<f64>) -> Option<f64> {
        match (a, b) {
            (Some(a), Some(b)) if self.less_is_better() => Some(a.max(b)),
            (Some(a), Some(b)) => Some(a.min(b)),
            _ => None,
        }
    }
}

impl Limit {
    /// Whether a figure keeps it. No figure keeps no bound.
    pub fn holds(self, value: Option<f64>) -> bool {
        match (self, value) {
            (Limit::Told, _) => true,
            (_, None) => false,
            (Limit::AtMost(most), Some(value)) => value <= most,
            (Limit::AtLeast(least), Some(value)) => value >= least,
        }
    }
}

fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

fn found_after(figures: &Figures) -> Option<f64> {
    let each = figures.groups.iter().map(|group| group.pushed.as_ref().and_then(|pushed| pushed.found_after));
    let all: Option<Vec<f64>> = each.collect();
    all.and_then(|all| all.into_iter().reduce(f64::max))
}

/// Events on pushed targets that count at last, and all of them.
fn counted(figures: &Figures) -> Option<(u64, u64)> {
    let each = figures.groups.iter().filter_map(|group| group.pushed.as_ref());
    each.map(|pushed| (pushed.events.counted_at_last, pushed.events.all))
        .reduce(|a, b| (a.0 + b.0, a.1 + b.1))
}

fn refused(figures: &Figures, kind: Kind, action: Option<&str>) -> Option<f64> {
    let of = figures.actions.iter().filter(|of| of.kind == kind);
    let of = of.filter(|of| action.is_none_or(|action| of.action == action));
    let counts = of.map(|of| of.at_least(Verdict::Reject));
    let (hits, all) = counts.fold((0, 0), |(hits, all), (h, n)| (hits + h, all + n));
    share(hits, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_figure_keeps_no_bound() {
        assert!(Limit::AtMost(60.0).holds(Some(60.0)) && !Limit::AtMost(60.0).holds(Some(60.1)));
        assert!(Limit::AtLeast(0.95).holds(Some(0.95)) && !Limit::AtLeast(0.95).holds(Some(0.9)));
        assert!(!Limit::AtMost(60.0).holds(None) && Limit::Told.holds(None));
    }

    #[test]
    fn the_worse_of_two_seeds_counts() {
        assert_eq!(Metric::FoundAfter.worse(Some(10.0), Some(20.0)), Some(20.0));
        assert_eq!(Metric::AccountsActedOn.worse(Some(0.9), Some(0.95)), Some(0.9));
        assert_eq!(Metric::FoundAfter.worse(Some(10.0), None), None);
    }

    #[test]
    fn every_scenario_has_bounds_for_honest_people() {
        for entry in &crate::sim::scenario::ALL {
            let bounds = of(entry.name, entry.attack);
            assert!(HONEST.iter().all(|bound| bounds.contains(bound)), "{}", entry.name);
        }
    }
}
