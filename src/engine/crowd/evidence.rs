//! What a crowd says of one account in it: kinds of evidence, and how they become points.

use std::sync::Arc;

use super::mixture::MOST;
use crate::engine::decision::{Reason, ReasonSource};

/// A kind of evidence of a crowd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The account's age.
    Age,
    /// The hour or day of its registration.
    Cohort,
    /// Likeness of its device with those of the crowd.
    Device,
    /// Whether it is alone on its address.
    Network,
    /// Whether it was with those of the crowd in an earlier one.
    Recurring,
    /// With how many of the crowd it met again and again.
    Lockstep,
    /// Likeness of its nickname and avatar with those of the crowd.
    Persona,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Kind; 7] = [
        Kind::Age,
        Kind::Cohort,
        Kind::Device,
        Kind::Network,
        Kind::Recurring,
        Kind::Lockstep,
        Kind::Persona,
    ];

    /// Its name in policies.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Age => "crowd.age",
            Kind::Cohort => "crowd.cohort",
            Kind::Device => "crowd.device",
            Kind::Network => "crowd.network",
            Kind::Recurring => "crowd.recurring",
            Kind::Lockstep => "crowd.lockstep",
            Kind::Persona => "crowd.persona",
        }
    }

    /// What it means, for people.
    pub const fn doc(self) -> &'static str {
        match self {
            Kind::Age => "Evidence of the account's age among those who act on the target now.",
            Kind::Cohort => {
                "Evidence of the hour or day of its registration among those who act on the target now."
            }
            Kind::Device => "Evidence of its device's likeness with those of the crowd on the target.",
            Kind::Network => "Evidence of being alone on its address among those who act on the target now.",
            Kind::Recurring => "Evidence of having been with a large part of the crowd in an earlier one.",
            Kind::Lockstep => {
                "Evidence of meeting several of the crowd again and again, on target after target."
            }
            Kind::Persona => "Evidence of its nickname's and avatar's likeness with those of the crowd.",
        }
    }
}

/// Evidence of one kind on one account.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighed {
    /// In nats; negative ones speak for the account.
    pub log_odds: f64,
    /// Share of the crowd with the same value.
    pub here: f64,
    /// Its usual share.
    pub usual: f64,
    /// Accounts the crowd was judged by.
    pub support: u32,
}

/// Points for each nat: ten double the odds.
const POINTS_A_NAT: f64 = 14.426_950_408_889_634;

impl Weighed {
    /// As the reason of a rule, with so many points.
    pub fn reason(&self, info: &Arc<ReasonSource>, points: i32) -> Reason {
        Reason {
            value: Some(self.here),
            baseline: Some(self.usual),
            support: Some(self.support),
            ..Reason::of(info, points)
        }
    }

    /// In whole points, at a weight.
    pub fn points(&self, weight: f64) -> i32 {
        libm::round(self.log_odds * weight * POINTS_A_NAT) as i32
    }
}

/// How much more it says to have been in a crowd of a group that is established, in nats: a fifth as many people as in
/// any earlier crowd. Where ages are not known nothing else could speak for an account, and it says no more.
pub(super) const KNOWN: f64 = 1.6;

/// The most points that evidence of a kind adds, at a weight.
pub(crate) fn most_points(kind: Kind, weight: f64) -> i32 {
    let more = if kind == Kind::Recurring { KNOWN } else { 0.0 };
    Weighed { log_odds: MOST + more, here: 0.0, usual: 0.0, support: 0 }.points(weight)
}

/// Points of a probability, above 0 and below 1.
pub(crate) fn points_of(probability: f64) -> i32 {
    libm::round(libm::log(probability / (1.0 - probability)) * POINTS_A_NAT) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 in 1,000 is -100 points by the policy, -99.6 exactly; one in five is -20.
    #[test]
    fn points_are_log_odds_with_ten_to_the_doubling() {
        assert_eq!([0.001, 0.2, 0.5, 2.0 / 3.0].map(points_of), [-100, -20, 0, 10]);
        let weighed = Weighed { log_odds: libm::log(4.0), here: 0.0, usual: 0.0, support: 0 };
        assert_eq!((weighed.points(1.0), weighed.points(0.5)), (20, 10));
    }
}
