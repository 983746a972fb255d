//! What a crowd is made of, against what is usual: one judgement at one moment, and the evidence of each account in it.
//!
//! Families: *account* (age, hour or day of registration, nickname and avatar), *device* (images), *network* (alone on an address), *repeats*
//! (how often each acts on this target), *recurring* (was with a large part of the crowd in an earlier one) and *lockstep*
//! (meets several of it again and again). A crowd speaks against anybody only when two families agree that a part of it was
//! brought in: a viral post brings newcomers, a school has one device image, a campus one address, and none of them brings
//! two of these at once. The device family counts as far as there are as many addresses as people: one image behind one
//! exit is a lab. The network family is one-sided: many behind one address is what exits look like.

use std::collections::BTreeMap;
use std::ops::Range;

use super::bursts::Burst;
use super::campaign::Cohorts;
use super::evidence::{KNOWN, Kind, Weighed};
use super::gathering::Member;
use super::image::{AGREEMENTS, DEVICE_LEAST, Device, Image, NEAR};
use super::joint::{Column, brought};
use super::mixture::{Mixture, Side};
use super::persona::FIRST;
use super::sample::Sample;
use super::traits::{AGES, ALONE, ATTRIBUTES_MAX, NEIGHBOURS, Traits};

/// The most device images of one crowd.
const IMAGES_MAX: usize = 8;
/// The most cohorts that are bins of their own.
const COHORTS_MAX: usize = 64;
/// A cohort of a crowd has so many accounts, at least.
const COHORT_LEAST: u32 = 4;
/// Shares of honest people by how often they act on one target: once, twice, three times or more. Raw to distinct is 1.0
/// to 1.2 in honest crowds, likes taken back and given again included.
const USUAL_REPEATS: [u32; 3] = [9_000, 850, 150];

/// Of ten thousand people in ordinary crowds, those who were in an earlier one with a large part of it, after streams of
/// real shares.
const RECURRING: [u32; 2] = [9_500, 500];
/// And those who meet this many of a crowd again and again.
const LOCKSTEP: [u32; 2] = [9_970, 30];
const PARTNERS: u32 = 5;
/// So much of a crowd was brought in, and meets again and again, that the whole of it is a group.
pub(super) const MOSTLY: f64 = 0.4;

/// Kinds that are weighed together whatever each says alone.
const TRAITS: [Kind; 5] = [Kind::Age, Kind::Cohort, Kind::Device, Kind::Network, Kind::Persona];

/// Attributes that nickname and avatar must have in common, and their information in nats: the name and the picture that a
/// platform gives to everybody stay below.
const PERSONA_LEAST: (usize, f64) = (2, 5.0);

/// A crowd, judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Composition {
    /// Accounts it was judged by.
    pub(crate) users: u32,
    /// The share of it that two families agree was brought in: the second-largest by family.
    pub(crate) suspect: f64,
    /// The share that each kind of evidence says was brought in, of those that the policy listens to.
    pub(super) shares: Shares,
    pub(super) group: Group,
    pub(super) age: Option<Mixture>,
    pub(super) cohort: Option<Mixture>,
    /// Cohorts with a bin of their own, ascending; all others share the last bin.
    pub(super) cohorts: Vec<u32>,
    pub(super) network: Option<Mixture>,
    pub(super) device: Option<Mixture>,
    pub(super) images: Vec<Image>,
    /// Addresses behind which several accounts near the images are, ascending, with how many: one device image behind one
    /// exit is a lab.
    pub(super) shared: Vec<(u32, u32)>,
    /// Addresses for each account near the images, 1 at most.
    pub(super) spread: f64,
    pub(super) repeats: Option<Mixture>,
    pub(super) returning: Returning,
    pub(super) recurring: Option<Mixture>,
    pub(super) lockstep: Option<Mixture>,
    pub(super) persona: Option<Mixture>,
    /// What nicknames and avatars have in common.
    pub(super) faces: Vec<Image>,
}

/// Earlier bursts that a large part of a crowd was part of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Returning {
    /// Ascending.
    pub(super) bursts: Vec<Burst>,
    /// One of them is of an established group.
    pub(super) known: bool,
    /// There are none, but most of the crowd meets several others of it again and again, as those do who are drawn anew from
    /// one pool each time.
    pub(super) pooled: bool,
}

/// The share that each kind of evidence says was brought in, and, last, how often accounts act on the target.
pub(super) type Shares = [f64; KINDS];

/// Kinds of evidence, and, last, how often accounts act on the target.
pub(super) const KINDS: usize = Kind::ALL.len() + 1;

/// The place of how often accounts act on the target.
pub(super) const REPEATS: usize = Kind::ALL.len();

/// Of a group that meets again and again, what else there is to hold against it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// Accounts of the crowd that meet several others of it again and again.
    pub(super) locked: u32,
    /// The age of most accounts is not known: there is nothing but the meetings to go by.
    pub(super) blind: bool,
    /// A group comes back of which it is established that it was brought in before.
    pub(super) known: bool,
}

/// The share that two families agree on: the second-largest by family. Age, cohort and persona are
/// one: all of them tell how the account was made. Friends meet again and
/// again, too, and come back together: that is enough only where nothing else is known, where they are more than friends
/// are, or where they are known already.
pub(super) fn agreed(shares: &Shares, group: Group) -> f64 {
    let share = |kind: Kind| shares[kind as usize];
    let mut families = [
        share(Kind::Age).max(share(Kind::Cohort)).max(share(Kind::Persona)),
        share(Kind::Device),
        share(Kind::Network),
        share(Kind::Lockstep),
        shares[REPEATS],
    ];
    families.sort_by(f64::total_cmp);
    let two = families[families.len() - 2];
    let meets = share(Kind::Recurring).min(share(Kind::Lockstep));
    if group.blind || group.known || group.locked >= LARGE { two.max(meets) } else { two }
}

/// Friends, clubs, classes: hardly ever do so many of them act on one target within an hour.
const LARGE: u32 = 90;

impl Composition {
    /// Judges a crowd by those who are counted; `all` are all of it.
    pub(crate) fn of(
        (crowd, all): (&[&Member], &[&Member]),
        sample: &Sample,
        (returning, known): (Returning, Option<&Cohorts>),
        heard: &[bool; KINDS],
    ) -> Self {
        let (cohorts, cohort) = judge_cohorts(crowd, sample, known);
        let (faces, persona) = judge_likeness(crowd, sample, FIRST..ATTRIBUTES_MAX, PERSONA_LEAST);
        let mut composition = Self {
            users: crowd.len() as u32,
            suspect: 0.0,
            shares: Shares::default(),
            group: Group::default(),
            age: judge_ages(crowd, sample),
            cohort,
            cohorts,
            network: judge_network(all, sample),
            device: None,
            images: Vec::new(),
            shared: Vec::new(),
            spread: 0.0,
            repeats: judge_repeats(crowd),
            recurring: None,
            lockstep: judge_lockstep(crowd),
            persona,
            faces,
            returning,
        };
        composition.recurring = composition.judge_recurring(crowd);
        // Likeness of devices takes long to look for, and says nothing alone.
        if composition.all_shares().iter().any(|share| *share > 0.0) {
            (composition.images, composition.device) = judge_likeness(crowd, sample, 0..FIRST, DEVICE_LEAST);
            composition.guard_labs(all);
        }
        composition.shares = composition.all_shares();
        let unheard = composition.shares.iter_mut().zip(heard).filter(|(_, heard)| !**heard);
        unheard.for_each(|(share, _)| *share = 0.0);
        composition.group = Group {
            locked: crowd.iter().filter(|member| is_in_lockstep(member)).count() as u32,
            blind: crowd.iter().filter(|member| member.traits.age != 0).count() * 2 < crowd.len(),
            known: composition.returning.known,
        };
        composition.suspect = agreed(&composition.shares, composition.group);
        if composition.suspect > 0.0 {
            composition.weigh_jointly(crowd, known);
        }
        composition
    }

    /// The device family counts as far as there are as many addresses as people.
    fn guard_labs(&mut self, crowd: &[&Member]) {
        let (mut near, mut users) = (BTreeMap::<u32, u32>::new(), 0);
        for member in crowd.iter().filter(|member| agreement(&self.images, &member.traits.device) >= NEAR) {
            users += 1;
            if member.traits.address != 0 {
                *near.entry(member.traits.address).or_default() += 1;
            }
        }
        self.spread = if users == 0 { 0.0 } else { near.len() as f64 / f64::from(users) };
        self.device.iter_mut().for_each(|device| device.scale(self.spread));
        self.shared = near.into_iter().filter(|(_, accounts)| *accounts > 1).collect();
    }

    fn all_shares(&self) -> Shares {
        let mixtures = [
            &self.age,
            &self.cohort,
            &self.device,
            &self.network,
            &self.recurring,
            &self.lockstep,
            &self.persona,
            &self.repeats,
        ];
        mixtures.map(|mixture| mixture.as_ref().map_or(0.0, |mixture| mixture.alpha))
    }

    /// Weighs all traits together, beginning with those in the overfull bins of the trait that tells most: they were surely
    /// brought in.
    fn weigh_jointly(&mut self, crowd: &[&Member], known: Option<&Cohorts>) {
        let tells = |kind: &Kind| self.mixture(*kind).as_ref().map_or(0.0, Mixture::tells);
        let Some(best) = Kind::ALL.into_iter().max_by(|a, b| tells(a).total_cmp(&tells(b))) else { return };
        let Some(mixture) = self.mixture(best) else { return };
        let at_first = |member: &&Member| {
            let bin = self.bin(best, &member.traits, Some(member));
            let is_core = bin.is_some_and(|bin| mixture.bins.get(bin).is_some_and(|bin| bin.overfull));
            if is_core { 1.0 - mixture.strays() } else { 0.0 }
        };
        let at_first = crowd.iter().map(at_first).collect();
        let mut columns: Vec<(Kind, Column)> =
            Kind::ALL.into_iter().filter_map(|kind| Some((kind, self.column(kind, crowd)?))).collect();
        // Nobody is a stranger to a group for being there for the first time; but who has not what all others have is.
        for (_, column) in columns.iter_mut().filter(|(kind, _)| *kind == best && TRAITS.contains(kind)) {
            column.settled = Some(mixture.bins.iter().map(|bin| bin.log_odds).collect());
        }
        let all: Vec<Column> =
            columns.iter().map(|(_, column)| column.clone()).chain(self.repeated(crowd)).collect();
        let sure = brought(&all, at_first);
        for (kind, column) in columns.iter().filter(|(_, column)| column.settled.is_none()) {
            let mut counts = column.count(&sure);
            if let (Kind::Cohort, Some(known)) = (kind, known) {
                for (cohort, count) in known {
                    let bin = self.cohort_bin(*cohort).and_then(|bin| counts.get_mut(bin));
                    bin.into_iter().for_each(|all| *all += f64::from(*count));
                }
            }
            if let Some(mixture) = self.mixture_mut(*kind) {
                mixture.weigh_by(&counts, column.side);
            }
        }
    }

    /// One kind of evidence of the accounts of a crowd.
    fn column(&self, kind: Kind, crowd: &[&Member]) -> Option<Column> {
        let mixture = self.mixture(kind).as_ref()?;
        if mixture.alpha == 0.0 && !TRAITS.contains(&kind) {
            return None;
        }
        let bin = |member: &&Member| {
            self.bin(kind, &member.traits, Some(member)).filter(|bin| *bin < mixture.bins.len())
        };
        Some(Column {
            bins: crowd.iter().map(bin).collect(),
            usual: mixture.bins.iter().map(|bin| bin.usual).collect(),
            side: side(kind),
            settled: None,
            counts: crowd.iter().map(|member| self.counts(kind, &member.traits)).collect(),
        })
    }

    /// How often each acts on the target, when that is not as usual.
    fn repeated(&self, crowd: &[&Member]) -> Option<Column> {
        let mixture = self.repeats.as_ref().filter(|mixture| mixture.alpha > 0.0)?;
        Some(Column {
            bins: crowd.iter().map(|member| Some(repeats_bin(member))).collect(),
            usual: mixture.bins.iter().map(|bin| bin.usual).collect(),
            side: Side::Only(USUAL_REPEATS.len() - 1),
            settled: None,
            counts: vec![1.0; crowd.len()],
        })
    }

    /// How much of what a kind of evidence has against an account counts: likeness as far as those who are alike have
    /// addresses of their own, and it has.
    fn counts(&self, kind: Kind, traits: &Traits) -> f64 {
        let shared = || self.shared.binary_search_by_key(&traits.address, |(address, _)| *address).ok();
        match kind {
            Kind::Device if traits.address == 0 => 0.0,
            Kind::Device => {
                self.spread / shared().map_or(1.0, |place| f64::from(self.shared[place].1.max(1)))
            }
            _ => 1.0,
        }
    }

    /// Whether a group that meets again and again is part of it, to at least this share.
    pub(super) fn is_group(&self, least: f64) -> bool {
        self.shares[Kind::Lockstep as usize] >= least
    }

    fn judge_recurring(&self, crowd: &[&Member]) -> Option<Mixture> {
        let back = crowd.iter().filter(|member| self.returns(member)).count() as u32;
        Mixture::of_group(&[crowd.len() as u32 - back, back], &RECURRING, side(Kind::Recurring))
    }

    /// Whether an account was in an earlier burst with a large part of the crowd; of a pool, whether it meets several again.
    pub(super) fn returns(&self, member: &Member) -> bool {
        let was_there = |burst: &Burst| self.returning.bursts.binary_search(burst).is_ok();
        member.bursts.iter().any(was_there) || self.returning.pooled && is_in_lockstep(member)
    }

    fn mixture(&self, kind: Kind) -> &Option<Mixture> {
        match kind {
            Kind::Age => &self.age,
            Kind::Cohort => &self.cohort,
            Kind::Device => &self.device,
            Kind::Network => &self.network,
            Kind::Recurring => &self.recurring,
            Kind::Lockstep => &self.lockstep,
            Kind::Persona => &self.persona,
        }
    }

    fn mixture_mut(&mut self, kind: Kind) -> Option<&mut Mixture> {
        match kind {
            Kind::Age => self.age.as_mut(),
            Kind::Cohort => self.cohort.as_mut(),
            Kind::Device => self.device.as_mut(),
            Kind::Network => self.network.as_mut(),
            Kind::Recurring => self.recurring.as_mut(),
            Kind::Lockstep => self.lockstep.as_mut(),
            Kind::Persona => self.persona.as_mut(),
        }
    }

    /// The bin that an account is in; `None` when it is not known.
    fn bin(&self, kind: Kind, traits: &Traits, member: Option<&Member>) -> Option<usize> {
        match kind {
            Kind::Age => usize::from(traits.age).checked_sub(1),
            Kind::Cohort => self.cohort_bin(traits.cohort),
            Kind::Device => agreement(&self.images, &traits.device).checked_sub(1),
            Kind::Network => usize::from(traits.neighbours).checked_sub(1),
            Kind::Recurring => member.map(|member| usize::from(self.returns(member))),
            Kind::Lockstep => member.map(|member| usize::from(is_in_lockstep(member))),
            Kind::Persona => agreement(&self.faces, &traits.device).checked_sub(1),
        }
    }

    /// What it says of one account, by kind of evidence.
    pub(crate) fn evidence(&self, kind: Kind, traits: &Traits, member: Option<&Member>) -> Option<Weighed> {
        let mixture = self.mixture(kind).as_ref()?;
        let bin = mixture.bins.get(self.bin(kind, traits, member)?)?;
        let counts = if bin.log_odds > 0.0 { self.counts(kind, traits) } else { 1.0 };
        let known = kind == Kind::Recurring && bin.log_odds > 0.0 && self.group.known && !self.group.blind;
        let more = if known { KNOWN } else { 0.0 };
        // Who was in an earlier burst of the group has met it, if not often enough to have partners.
        let met = kind == Kind::Lockstep && self.bin(Kind::Recurring, traits, member) == Some(1);
        let log_odds = if met { bin.log_odds.max(0.0) } else { bin.log_odds * counts + more };
        Some(Weighed { log_odds, here: bin.here, usual: bin.usual, support: mixture.support })
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

/// Cohorts that several share are bins of their own, of the crowd and of those of its campaign who are known.
fn judge_cohorts(crowd: &[&Member], sample: &Sample, known: Option<&Cohorts>) -> (Vec<u32>, Option<Mixture>) {
    let mut counts: Cohorts = known.cloned().unwrap_or_default();
    let mut cohorts: Vec<u32> = crowd.iter().map(|member| member.traits.cohort).filter(|c| *c != 0).collect();
    cohorts.sort_unstable();
    let all = counts.values().sum::<u32>() + cohorts.len() as u32;
    // Most are of few, and need no place in the map.
    let shared = |run: &&[u32]| run.len() as u32 >= COHORT_LEAST || known.is_some();
    for run in cohorts.chunk_by(|a, b| a == b).filter(shared) {
        *counts.entry(run[0]).or_default() += run.len() as u32;
    }
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

/// Against ordinary accounts of the same ages and the same time: newcomers come from addresses that are new here, too, and
/// as a day goes on people are seen behind every address. All count who share one: without them, the others would be alone
/// unusually often.
fn judge_network(all: &[&Member], sample: &Sample) -> Option<Mixture> {
    let (mut here, mut of_young, since) = ([0; NEIGHBOURS], 0, sample.since());
    let meanwhile = |member: &&&Member| member.traits.neighbours != 0 && member.traits.at >= since;
    for member in all.iter().filter(meanwhile) {
        here[usize::from(member.traits.neighbours)] += 1;
        of_young += u32::from(member.traits.is_young());
    }
    let n: u32 = here.iter().sum();
    let young = f64::from(of_young) / f64::from(n.max(1));
    let (new, old) = (&sample.neighbours(true)[1..], &sample.neighbours(false)[1..]);
    let usual = blend((new, young), (old, 1.0 - young));
    Mixture::of_few(&here[1..], &usual, Side::Only(ALONE - 1))
}

/// Counts of two kinds of accounts, as they would be among so many of each kind as it takes to have their shares right.
fn blend((one, share): (&[u32], f64), (other, rest): (&[u32], f64)) -> [u32; NEIGHBOURS - 1] {
    let total = |counts: &[u32]| f64::from(counts.iter().sum::<u32>());
    // As many as the scarcer kind allows.
    let of = |counts: &[u32], share: f64| if share > 0.0 { total(counts) / share } else { f64::INFINITY };
    let all = of(one, share).min(of(other, rest));
    let scale =
        |counts: &[u32], share: f64| if share > 0.0 { all * share / total(counts).max(1.0) } else { 0.0 };
    let (by, beside) = (scale(one, share), scale(other, rest));
    std::array::from_fn(|bin| libm::round(f64::from(one[bin]) * by + f64::from(other[bin]) * beside) as u32)
}

/// Images are looked for one after the other, each among those who are near none of the earlier ones.
/// Only these attributes are compared.
fn judge_likeness(
    crowd: &[&Member],
    sample: &Sample,
    attributes: Range<usize>,
    least: (usize, f64),
) -> (Vec<Image>, Option<Mixture>) {
    let tells = |member: &&Member| member.traits.device[attributes.clone()].iter().any(|value| *value != 0);
    if !crowd.iter().any(tells) {
        return (Vec::new(), None);
    }
    let compared = |device: &Device| {
        std::array::from_fn(|number| if attributes.contains(&number) { device[number] } else { 0 })
    };
    let mut rest: Vec<Device> = crowd.iter().map(|member| compared(&member.traits.device)).collect();
    let mut images = Vec::new();
    while images.len() < IMAGES_MAX
        && let Some(image) = Image::of(&rest, sample, least)
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
    let mixture = Mixture::of(&here[1..], &usual[1..], Side::Any);
    (images, mixture)
}

fn judge_repeats(crowd: &[&Member]) -> Option<Mixture> {
    let mut here = [0; USUAL_REPEATS.len()];
    for member in crowd {
        here[repeats_bin(member)] += 1;
    }
    Mixture::of(&here, &USUAL_REPEATS, Side::Only(USUAL_REPEATS.len() - 1))
}

pub(super) fn judge_lockstep(crowd: &[&Member]) -> Option<Mixture> {
    let locked = crowd.iter().filter(|member| is_in_lockstep(member)).count() as u32;
    Mixture::of_group(&[crowd.len() as u32 - locked, locked], &LOCKSTEP, side(Kind::Lockstep))
}

fn repeats_bin(member: &Member) -> usize {
    (member.events.clamp(1, USUAL_REPEATS.len() as u32) - 1) as usize
}

/// Which bins of a kind may speak against anybody.
fn side(kind: Kind) -> Side {
    match kind {
        Kind::Network => Side::Only(ALONE - 1),
        Kind::Lockstep => Side::Only(1),
        // Who is there for the first time is no stranger for that: meetings say it.
        Kind::Recurring => Side::Alone(1),
        _ => Side::Any,
    }
}

fn is_in_lockstep(member: &Member) -> bool {
    member.partners >= PARTNERS
}

/// The bin of a device's best agreement with any image.
fn agreement(images: &[Image], device: &Device) -> usize {
    images.iter().map(|image| image.agreement(device)).max().unwrap_or(0)
}
