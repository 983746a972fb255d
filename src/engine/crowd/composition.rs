//! What a crowd is made of, against what is usual: one judgement at one moment, and the evidence of each account in it.
//!
//! Families: *account* (age, hour or day of registration), *device* (images), *network* (alone on an address), *repeats*
//! (how often each acts on this target), *recurring* (was with a large part of the crowd in an earlier one) and *lockstep*
//! (meets several of it again and again). A crowd speaks against anybody only when two families agree that a part of it was
//! brought in: a viral post brings newcomers, a school has one device image, a campus one address, and none of them brings
//! two of these at once. The device family counts as far as there are as many addresses as people: one image behind one
//! exit is a lab. The network family is one-sided: many behind one address is what exits look like.

use std::collections::BTreeMap;

use super::bursts::Burst;
use super::evidence::{Kind, Weighed};
use super::gathering::Member;
use super::image::{AGREEMENTS, Device, Image, NEAR};
use super::mixture::{Mixture, Side};
use super::sample::Sample;
use super::traits::{AGES, ALONE, NEIGHBOURS, Traits};

/// Families that may agree.
const FAMILIES: usize = 6;
/// The most device images of one crowd.
const IMAGES_MAX: usize = 8;
/// The most cohorts that are bins of their own.
const COHORTS_MAX: usize = 64;
/// A cohort of a crowd has so many accounts, at least.
const COHORT_LEAST: u32 = 4;
/// Shares of honest people by how often they act on one target: once, twice, three times or more. Raw to distinct is 1.0
/// to 1.2 in honest crowds, likes taken back and given again included.
const REPEATS: [u32; 3] = [9_000, 850, 150];

/// Of ten thousand people in ordinary crowds, those who were in an earlier one with a large part of it, after streams of
/// real shares.
const RECURRING: [u32; 2] = [9_500, 500];
/// And those who meet this many of a crowd again and again.
const LOCKSTEP: [u32; 2] = [9_970, 30];
const PARTNERS: u32 = 5;

/// A crowd, judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Composition {
    /// Accounts it was judged by.
    pub(crate) users: u32,
    /// The share of it that two families agree was brought in: the second-largest by family.
    pub(crate) suspect: f64,
    pub(super) age: Option<Mixture>,
    pub(super) cohort: Option<Mixture>,
    /// Cohorts with a bin of their own, ascending; all others share the last bin.
    pub(super) cohorts: Vec<u32>,
    pub(super) network: Option<Mixture>,
    pub(super) device: Option<Mixture>,
    pub(super) images: Vec<Image>,
    pub(super) repeats: Option<Mixture>,
    /// Earlier bursts that a large part of the crowd was part of.
    pub(super) returning: Vec<Burst>,
    pub(super) recurring: Option<Mixture>,
    pub(super) lockstep: Option<Mixture>,
}

impl Composition {
    /// Judges a crowd.
    pub(crate) fn of(crowd: &[&Member], sample: &Sample, returning: Vec<Burst>) -> Self {
        let (cohorts, cohort) = judge_cohorts(crowd, sample);
        let mut composition = Self {
            users: crowd.len() as u32,
            suspect: 0.0,
            age: judge_ages(crowd, sample),
            cohort,
            cohorts,
            network: judge_network(crowd, sample),
            device: None,
            images: Vec::new(),
            repeats: judge_repeats(crowd),
            recurring: judge_recurring(crowd, &returning),
            lockstep: judge_lockstep(crowd),
            returning,
        };
        // Likeness takes long to look for, and says nothing alone.
        if composition.families()[FAMILIES - 1] > 0.0 {
            (composition.images, composition.device) = judge_devices(crowd, sample);
        }
        composition.suspect = composition.families()[FAMILIES - 2];
        composition
    }

    /// The share that each kind of evidence says was brought in.
    pub(super) fn shares(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let kinds = [
            (Kind::Age.name(), &self.age),
            (Kind::Cohort.name(), &self.cohort),
            (Kind::Device.name(), &self.device),
            (Kind::Network.name(), &self.network),
            (Kind::Recurring.name(), &self.recurring),
            (Kind::Lockstep.name(), &self.lockstep),
            ("crowd.repeats", &self.repeats),
        ];
        kinds.into_iter().map(|(kind, mixture)| (kind, mixture.as_ref().map_or(0.0, |mixture| mixture.alpha)))
    }

    /// The share that each family says was brought in, ascending: age and cohort are one.
    fn families(&self) -> [f64; FAMILIES] {
        let alpha = |mixture: &Option<Mixture>| mixture.as_ref().map_or(0.0, |mixture| mixture.alpha);
        let mut families = [
            alpha(&self.age).max(alpha(&self.cohort)),
            alpha(&self.device),
            alpha(&self.network),
            alpha(&self.repeats),
            alpha(&self.recurring),
            alpha(&self.lockstep),
        ];
        families.sort_by(f64::total_cmp);
        families
    }

    /// What it says of one account, by kind of evidence.
    pub(crate) fn evidence(&self, kind: Kind, traits: &Traits, member: Option<&Member>) -> Option<Weighed> {
        let (mixture, bin) = match kind {
            Kind::Age => (&self.age, usize::from(traits.age).checked_sub(1)?),
            Kind::Cohort => (&self.cohort, self.cohort_bin(traits.cohort)?),
            Kind::Device => (&self.device, agreement(&self.images, &traits.device).checked_sub(1)?),
            Kind::Network => (&self.network, usize::from(traits.neighbours).checked_sub(1)?),
            Kind::Recurring => (&self.recurring, usize::from(returns(member?, &self.returning))),
            Kind::Lockstep => (&self.lockstep, usize::from(is_in_lockstep(member?))),
        };
        let mixture = mixture.as_ref()?;
        let bin = mixture.bins.get(bin)?;
        Some(Weighed { log_odds: bin.log_odds, here: bin.here, usual: bin.usual, support: mixture.support })
    }

    fn cohort_bin(&self, cohort: u32) -> Option<usize> {
        let place = self.cohorts.binary_search(&cohort).unwrap_or(self.cohorts.len());
        (cohort != 0).then_some(place)
    }
}

fn judge_ages(crowd: &[&Member], sample: &Sample) -> Option<Mixture> {
    let mut here = [0; AGES];
    crowd.iter().for_each(|member| here[usize::from(member.traits.age)] += 1);
    Mixture::of(&here[1..], &sample.ages()[1..], Side::Any)
}

/// Cohorts that several of the crowd share are bins of their own.
fn judge_cohorts(crowd: &[&Member], sample: &Sample) -> (Vec<u32>, Option<Mixture>) {
    let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
    for member in crowd.iter().filter(|member| member.traits.cohort != 0) {
        *counts.entry(member.traits.cohort).or_default() += 1;
    }
    let all: u32 = counts.values().sum();
    counts.retain(|_, count| *count >= COHORT_LEAST);
    while counts.len() > COHORTS_MAX {
        let least =
            counts.iter().min_by_key(|(cohort, count)| (**count, **cohort)).map(|(cohort, _)| *cohort);
        least.and_then(|cohort| counts.remove(&cohort));
    }
    let mut here: Vec<u32> = counts.values().copied().collect();
    let mut usual: Vec<u32> = counts.keys().map(|cohort| sample.cohort(*cohort)).collect();
    here.push(all - here.iter().sum::<u32>());
    usual.push(sample.cohorts() - usual.iter().sum::<u32>());
    (counts.into_keys().collect(), Mixture::of(&here, &usual, Side::Any))
}

fn judge_network(crowd: &[&Member], sample: &Sample) -> Option<Mixture> {
    let mut here = [0; NEIGHBOURS];
    crowd.iter().for_each(|member| here[usize::from(member.traits.neighbours)] += 1);
    Mixture::of(&here[1..], &sample.neighbours()[1..], Side::Only(ALONE - 1))
}

/// Images are looked for one after the other, each among those who are near none of the earlier ones.
fn judge_devices(crowd: &[&Member], sample: &Sample) -> (Vec<Image>, Option<Mixture>) {
    let mut rest: Vec<Device> = crowd.iter().map(|member| member.traits.device).collect();
    let mut images = Vec::new();
    while images.len() < IMAGES_MAX
        && let Some(image) = Image::of(&rest, sample)
    {
        let before = rest.len();
        rest.retain(|device| image.agreement(device) < NEAR);
        let found = before - rest.len();
        images.push(image);
        if found == 0 {
            break;
        }
    }
    if images.is_empty() {
        return (images, None);
    }
    let (mut here, mut usual) = ([0; AGREEMENTS], [0; AGREEMENTS]);
    crowd.iter().for_each(|member| here[agreement(&images, &member.traits.device)] += 1);
    sample.devices().for_each(|device| usual[agreement(&images, device)] += 1);
    let mut mixture = Mixture::of(&here[1..], &usual[1..], Side::Any);
    if let Some(mixture) = &mut mixture {
        mixture.scale(spread(crowd, &images), NEAR - 1);
    }
    (images, mixture)
}

/// Addresses for each account near the images, 1 at most: one device image behind one exit is a lab.
fn spread(crowd: &[&Member], images: &[Image]) -> f64 {
    let near = crowd.iter().filter(|member| agreement(images, &member.traits.device) >= NEAR);
    let mut addresses: Vec<u32> = near.map(|member| member.traits.address).collect();
    let users = addresses.len();
    addresses.retain(|address| *address != 0);
    addresses.sort_unstable();
    addresses.dedup();
    if users == 0 { 0.0 } else { addresses.len() as f64 / users as f64 }
}

fn judge_repeats(crowd: &[&Member]) -> Option<Mixture> {
    let mut here = [0; REPEATS.len()];
    for member in crowd {
        here[(member.events.clamp(1, REPEATS.len() as u32) - 1) as usize] += 1;
    }
    Mixture::of(&here, &REPEATS, Side::Only(REPEATS.len() - 1))
}

fn judge_recurring(crowd: &[&Member], returning: &[Burst]) -> Option<Mixture> {
    let back = crowd.iter().filter(|member| returns(member, returning)).count() as u32;
    Mixture::of(&[crowd.len() as u32 - back, back], &RECURRING, Side::Only(1))
}

fn judge_lockstep(crowd: &[&Member]) -> Option<Mixture> {
    let locked = crowd.iter().filter(|member| is_in_lockstep(member)).count() as u32;
    Mixture::of(&[crowd.len() as u32 - locked, locked], &LOCKSTEP, Side::Only(1))
}

fn returns(member: &Member, returning: &[Burst]) -> bool {
    member.bursts.iter().any(|burst| returning.contains(burst))
}

fn is_in_lockstep(member: &Member) -> bool {
    member.partners >= PARTNERS
}

/// The bin of a device's best agreement with any image.
fn agreement(images: &[Image], device: &Device) -> usize {
    images.iter().map(|image| image.agreement(device)).max().unwrap_or(0)
}
