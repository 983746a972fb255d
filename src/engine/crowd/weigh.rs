//! From the evidence of a crowd to points, verdicts and reasons: the same sums live and in corrections.

use super::composition::{Composition, KINDS, REPEATS};
use super::evidence::{Kind, Weighed, points_of};
use super::gathering::Member;
use super::traits::Traits;
use crate::engine::policy::{Effect, Mode, Policy, Rule, Settings};
use crate::engine::verdict::Verdict;

/// Evidence on one account, by kind; `None` where there is none.
pub(crate) type Evidence = [Option<Weighed>; Kind::ALL.len()];

/// Which kinds of evidence are heard; last, how often accounts act on the target.
pub(crate) type Heard = [bool; KINDS];

/// Below this share a crowd says nothing about anybody.
pub(super) const LEAST_SUSPECT: f64 = 0.1;
/// The prior of an account in a suspicious crowd is half the share of it that was brought in, and this at most.
const PRIOR_PART: f64 = 0.5;
const PRIOR_MOST: f64 = 0.2;

/// What those who belong to a campaign do on its target is kept, but not counted.
pub(crate) const BELONGS: Verdict = Verdict::Demote;

/// The family of how often accounts act on one target.
pub(super) const REPEATS_FAMILY: &str = "volume";

/// Which kinds of evidence the rules of a policy listen to, leaving out those of one family when it is given; last, how
/// often accounts act on the target.
pub(crate) fn heard(policy: &Policy, off: Option<usize>) -> Heard {
    let mut heard = [false; KINDS];
    let live = policy.rules.iter().filter(|rule| rule.mode == Mode::Live && Some(rule.family) != off);
    for rule in live {
        match rule.effect {
            Effect::Evidence { kind, .. } => heard[kind as usize] = true,
            Effect::Points(_) if policy.families[rule.family].name == REPEATS_FAMILY => heard[REPEATS] = true,
            _ => {}
        }
    }
    heard
}

/// What a crowd says about one account: nothing unless two families agree on it, and nothing about accounts that cannot
/// belong to a bought crowd.
pub(super) fn evidence(
    composition: &Composition,
    traits: &Traits,
    member: Option<&Member>,
) -> Option<Evidence> {
    // A paying account may be part of a group that meets again and again; nothing else of a crowd speaks of it.
    let is_group = |kind: &Kind| matches!(kind, Kind::Recurring | Kind::Lockstep);
    let heard = |kind: &Kind| traits.can_join || is_group(kind);
    let groups = composition.is_group(LEAST_SUSPECT);
    let speaks = composition.suspect >= LEAST_SUSPECT && (traits.can_join || groups);
    speaks.then(|| Kind::ALL.map(|kind| composition.evidence(kind, traits, member).filter(|_| heard(&kind))))
}

/// Points by which the prior of an account in a crowd is higher than usual, when two families agree on a share.
pub(super) fn prior(settings: &Settings, suspect: f64) -> i32 {
    let local = points_of((PRIOR_PART * suspect).clamp(0.001, PRIOR_MOST));
    local.saturating_sub(settings.prior).max(0)
}

/// The rules that take evidence, with what they make of it.
pub(super) fn speakers<'p>(
    policy: &'p Policy,
    evidence: &Evidence,
) -> impl Iterator<Item = (&'p Rule, Weighed, i32)> {
    policy.rules.iter().filter(|rule| rule.mode == Mode::Live).filter_map(|rule| {
        let Effect::Evidence { kind, weight } = rule.effect else { return None };
        let weighed = evidence[kind as usize]?;
        Some((rule, weighed, weighed.points(weight)))
    })
}

/// What points by family come to.
pub(crate) struct Verdicts<'s> {
    pub(crate) settings: &'s Settings,
    /// Score of an event with no evidence, here.
    pub(crate) prior: i32,
}

impl Verdicts<'_> {
    /// The verdict of points by family.
    pub(crate) fn of(&self, points: impl Iterator<Item = i32> + Clone) -> Verdict {
        let Settings { ladder, strong, reject_families, .. } = self.settings;
        let families = points.clone().filter(|sum| sum >= strong).count();
        match score(self.prior, points) {
            s if s >= ladder.reject && families >= *reject_families => Verdict::Reject,
            s if s >= ladder.hold => Verdict::Hold,
            s if s >= ladder.challenge => Verdict::Challenge,
            s if s >= ladder.demote => Verdict::Demote,
            _ => Verdict::Allow,
        }
    }
}

/// The sum of a prior and points.
pub(crate) fn score(prior: i32, points: impl Iterator<Item = i32>) -> i32 {
    points.fold(prior, i32::saturating_add)
}

/// Points by family, each within its cap, of what was known without a crowd and of what it says.
pub(super) fn sums(policy: &Policy, plain: impl Iterator<Item = i32>, evidence: &Evidence) -> Vec<i32> {
    let mut sums: Vec<i32> = plain.chain(std::iter::repeat(0)).take(policy.families.len()).collect();
    for (rule, _, points) in speakers(policy, evidence) {
        sums[rule.family] = sums[rule.family].saturating_add(points);
    }
    for (sum, family) in sums.iter_mut().zip(&policy.families) {
        *sum = (*sum).min(family.cap);
    }
    sums
}

/// Whether what a crowd says alone makes an account a member: its verdict would be above allow.
pub(super) fn is_member(policy: &Policy, evidence: &Evidence, prior: i32) -> bool {
    let sums = sums(policy, std::iter::empty(), evidence);
    let verdicts =
        Verdicts { settings: &policy.settings, prior: policy.settings.prior.saturating_add(prior) };
    verdicts.of(sums.into_iter()) > Verdict::Allow
}
