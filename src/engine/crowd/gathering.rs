//! An open gate: the accounts that act on one target now, with what they look like, and what they were judged to be.
//!
//! The last [`Gathering::MEMBERS`] distinct accounts are kept, in a ring. It is judged again when a quarter more have
//! come, or after a while, and not at every event, so that the cost of a crowd grows with the logarithm of its size.

use std::collections::HashMap;

use super::bursts::{Burst, Bursts, KEPT, Last, apart, are_apart, shared};
use super::campaign::Cohorts;
use super::composition::{Composition, KINDS, MOSTLY, Returning, judge_lockstep};
use super::mixture::{LEAST_USUAL, Mixture, Side};
use super::sample::Sample;
use super::traits::{COUNTED_BEHIND, Traits};
use crate::engine::key::{ByHash, Prehashed};
use crate::engine::time::{Span, Timestamp};

/// One account that acts on the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) traits: Traits,
    /// How often it acted on it while it was kept.
    pub(crate) events: u32,
    /// Bursts it was part of before.
    pub(crate) bursts: Last,
    /// How many others of the crowd it met again and again.
    pub(crate) partners: u32,
}

/// The accounts that act on one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Gathering {
    /// Hashes of target and action.
    pub(crate) target: u64,
    pub(crate) action: u64,
    pub(crate) opened_at: Timestamp,
    /// When it was last as busy as half of what opens a gate.
    pub(crate) busy_at: Timestamp,
    /// The longest window in which it was busy enough to open one.
    pub(crate) window: Span,
    /// Hash of the target's owner.
    pub(super) owner: Option<u64>,
    /// The burst that those who come now are part of, and how many it has.
    pub(super) burst: (Burst, u32),
    /// Earlier bursts that those of the crowd were part of, those of one group together, with how many were: the most.
    pub(super) votes: Vec<(Burst, u32)>,
    pub(super) members: Vec<Member>,
    pub(super) next: usize,
    /// Accounts that came, those that were forgotten meanwhile once more.
    pub(crate) came: u64,
    /// When it was judged: how many had come, and the time.
    pub(super) judged: (u64, Timestamp),
    /// The gate of a campaign to which most of those belong whom it speaks against: what they do here besides.
    pub(super) part_of: Option<u64>,
    pub(crate) composition: Composition,
    /// Where each account is in the ring; follows from the ring.
    pub(super) places: ByHash<u32>,
}

/// How many bursts accounts were part of before.
struct Often {
    here: Vec<usize>,
    ordinary: Vec<usize>,
}

impl Often {
    /// Those of the crowd, and ordinary ones, who were in fewer than so many, and in so many or more.
    fn of(&self, least: usize) -> ([u32; 2], [u32; 2]) {
        let parted = |counts: &[usize]| {
            let often = counts.iter().filter(|count| **count >= least).count() as u32;
            [counts.len() as u32 - often, often]
        };
        (parted(&self.here), parted(&self.ordinary))
    }
}

/// Accounts of one burst, at most.
const BURST_MAX: u32 = 256;
/// Earlier bursts that are voted on.
const VOTES_MAX: usize = 32;
/// A crowd returns when so much of it was in one earlier burst, in percent, and so many accounts.
const RETURNING_PERCENT: u32 = 30;
const RETURNING_LEAST: u32 = 8;
/// A crowd that comes back has so many times the usual share of accounts that were in bursts before. In streams of real
/// shares a network of pages has 4 to 30 times as many, the most active of a small community 1.2 to 2.5 times.
const OFTEN_LIFT: f64 = 4.0;
/// Accounts meet again and again when they were in so many bursts together before this one.
const MET: usize = 2;
/// Those who came before a new member that are compared with it: so many, and not longer ago.
const NEIGHBOURS: usize = 64;
const NEAR: Span = Span::from_secs(3600);

/// It is judged first when so many have come.
const FIRST: u64 = 8;
/// And again after this, if some came.
const AGAIN: Span = Span::from_secs(30);
/// But no sooner than this once it is large.
const SOONEST: Span = Span::from_secs(3);
/// Nor than this once a part of it is known not to be as usual.
const SOONEST_KNOWN: Span = Span::from_secs(8);

impl Gathering {
    /// The most accounts that are kept.
    pub(crate) const MEMBERS: usize = 512;
    /// Bytes it takes when full.
    pub(crate) const BYTES: u64 = (Self::MEMBERS * (size_of::<Member>() + 40) + 4096) as u64;

    /// Bytes it takes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.members.len().next_power_of_two() * size_of::<Member>() + self.places.len() * 40 + 4096) as u64
    }

    /// Notes an event of an account.
    pub(crate) fn note(&mut self, traits: &Traits, bursts: &mut Bursts) {
        if let Some(place) = self.places.get(&traits.user) {
            let member = &mut self.members[*place as usize];
            member.events = member.events.saturating_add(1);
            member.traits.at = member.traits.at.max(traits.at);
            return;
        }
        self.came += 1;
        let member = self.member(traits, bursts);
        if self.members.len() < Self::MEMBERS {
            self.places.insert(traits.user, self.members.len() as u32);
            self.members.push(member);
        } else {
            self.places.remove(&self.members[self.next].traits.user);
            self.places.insert(traits.user, self.next as u32);
            self.members[self.next] = member;
            self.next = (self.next + 1) % Self::MEMBERS;
        }
    }

    /// A new member with its past.
    fn member(&mut self, traits: &Traits, bursts: &mut Bursts) -> Member {
        if self.burst.1 == 0 || self.burst.1 >= BURST_MAX {
            self.burst = (bursts.begin(self.owner), 0);
        }
        self.burst.1 += 1;
        let before = bursts.join(traits.user, self.burst.0, traits.at);
        let now = self.burst.0;
        // One vote for each group, however many of its bursts the account was part of.
        let (mut groups, mut told) = ([0; KEPT], 0);
        for burst in before.iter().filter(|burst| **burst != 0 && are_apart(**burst, now)) {
            let group = bursts.group(*burst);
            if !groups[..told].contains(&group) {
                groups[told] = group;
                told += 1;
                self.vote(group);
            }
        }
        let partners = self.meet(traits, &before);
        Member { traits: *traits, events: 1, bursts: before, partners }
    }

    /// A vote for a group, or an earlier burst: the ones with the most are kept, after Misra and Gries.
    fn vote(&mut self, burst: Burst) {
        if let Some((_, votes)) = self.votes.iter_mut().find(|(known, _)| *known == burst) {
            *votes += 1;
        } else if self.votes.len() < VOTES_MAX {
            self.votes.push((burst, 1));
        } else {
            self.votes.iter_mut().for_each(|(_, votes)| *votes -= 1);
            self.votes.retain(|(_, votes)| *votes > 0);
        }
    }

    /// How many of those who came shortly before a new member were with it in two bursts at least; they count it too.
    fn meet(&mut self, traits: &Traits, before: &Last) -> u32 {
        if before.iter().filter(|burst| **burst != 0).count() < MET {
            return 0;
        }
        let (len, from) = (self.members.len(), traits.at.before(NEAR));
        let now = self.burst.0;
        let mut partners = 0;
        for back in 1..=NEIGHBOURS.min(len) {
            let other = &mut self.members[(self.next + len - back) % len];
            if other.traits.at >= from && shared(before, &other.bursts, now) >= MET {
                other.partners = other.partners.saturating_add(1);
                partners += 1;
            }
        }
        partners
    }

    /// What is kept of an account.
    pub(crate) fn of(&self, user: u64) -> Option<&Member> {
        self.places.get(&user).map(|place| &self.members[*place as usize])
    }

    /// Earlier bursts that a large part of the crowd was part of, ascending, and whether any is of an established group.
    fn returning(&self, bursts: &Bursts) -> Returning {
        let least = (self.members.len() as u32 * RETURNING_PERCENT / 100).max(RETURNING_LEAST);
        let groups = self.votes.iter().filter(|(_, votes)| *votes >= least).map(|(group, _)| *group);
        let now = self.burst.0;
        let mut all: Vec<Burst> =
            groups.clone().flat_map(|group| bursts.of_group(bursts.group(group), now)).collect();
        all.sort_unstable();
        all.dedup();
        let known = groups.into_iter().any(|group| bursts.is_grouped(group));
        Returning { bursts: all, known, pooled: false }
    }

    /// Whether most of a crowd meets again and again, and has so many bursts behind it as few ordinary actors have: where
    /// everybody is in one burst after the other, everybody meets.
    fn is_pooled(&self, crowd: &[&Member], sample: &Sample, bursts: &Bursts, at: Timestamp) -> bool {
        if judge_lockstep(crowd).is_none_or(|lockstep| lockstep.alpha < MOSTLY) {
            return false;
        }
        let often = self.often(crowd, sample, bursts, at).of(MET);
        let often = Mixture::of(&often.0, &often.1, Side::Only(1));
        often.is_some_and(|often| often.alpha >= MOSTLY && often.lift() >= OFTEN_LIFT)
    }

    /// Whether ordinary actors are in one burst after the other, too, so that a crowd that was together before is no more
    /// than the few who do most in a small world. False where ordinary actors are too few to tell.
    fn is_usual(&self, crowd: &[&Member], sample: &Sample, bursts: &Bursts, at: Timestamp) -> bool {
        let often = self.often(crowd, sample, bursts, at);
        let lift = |least: usize| {
            let ([_, here], [rarely, usual]) = often.of(least);
            let usual = (f64::from(usual) + 0.5) / (f64::from(rarely + usual) + 1.0);
            f64::from(here) / crowd.len().max(1) as f64 / usual
        };
        often.ordinary.len() >= LEAST_USUAL as usize
            && [1, MET].into_iter().all(|least| lift(least) < OFTEN_LIFT)
    }

    /// How many bursts those of a crowd, and ordinary actors, were part of before this one.
    fn often(&self, crowd: &[&Member], sample: &Sample, bursts: &Bursts, at: Timestamp) -> Often {
        let now = self.burst.0;
        Often {
            here: crowd.iter().map(|member| apart(&member.bursts, now)).collect(),
            ordinary: sample.users().map(|user| apart(&bursts.of(user, at), now)).collect(),
        }
    }

    /// The bursts that belong to one group, if the crowd is one.
    pub(super) fn of_one_group(&self) -> Option<Vec<Burst>> {
        let is_group = self.composition.is_group(MOSTLY) && self.composition.suspect >= MOSTLY;
        let returning = self.composition.returning.bursts.iter().copied();
        is_group.then(|| returning.chain([self.burst.0]).collect())
    }

    /// Whether it is time to judge it again.
    pub(crate) fn is_due(&self, at: Timestamp) -> bool {
        let (came, then) = self.judged;
        if self.came < FIRST || self.came < came + came.min(Self::MEMBERS as u64) / 16 + 1 {
            return false;
        }
        let since = at.since(then);
        let more = self.came >= came + came.min(Self::MEMBERS as u64) / 4;
        let soonest = if self.composition.suspect > 0.0 { SOONEST_KNOWN } else { SOONEST };
        since >= AGAIN || (more && (came < 2 * FIRST || since >= soonest))
    }

    /// Judges it by the accounts that acted within the window before `at`. `heard` says which kinds of evidence count.
    /// Beside who acted in which burst it is known how those were registered who belong to the campaign that it is a part of.
    pub(super) fn judge(
        &mut self,
        sample: &Sample,
        (bursts, known): (&Bursts, Option<&Cohorts>),
        heard: &[bool; KINDS],
        at: Timestamp,
    ) {
        let from = at.before(self.window);
        let all: Vec<&Member> = self.members.iter().filter(|member| member.traits.at > from).collect();
        let mut behind = HashMap::<u32, u32, Prehashed>::default();
        let is_counted = |member: &&Member| {
            let count = behind.entry(member.traits.address).or_default();
            *count += 1;
            member.traits.address == 0 || *count <= COUNTED_BEHIND
        };
        let crowd: Vec<&Member> = all.iter().copied().filter(is_counted).collect();
        let mut returning = self.returning(bursts);
        let is_back = !returning.bursts.is_empty();
        if is_back && !returning.known && self.is_usual(&crowd, sample, bursts, at) {
            returning = Returning::default();
        }
        returning.pooled = !is_back && self.is_pooled(&crowd, sample, bursts, at);
        let groups = (returning, known);
        self.composition = Composition::of((&crowd, &all), sample, groups, heard);
        self.judged = (self.came, at);
    }

    /// Whether it was ever judged.
    pub(crate) fn is_judged(&self) -> bool {
        self.judged.0 > 0
    }

    /// The ring with the places that follow from it.
    pub(super) fn placed(mut self) -> Self {
        self.places =
            self.members.iter().zip(0..).map(|(member, place)| (member.traits.user, place)).collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits(user: u64, secs: i64) -> Traits {
        let at = Timestamp::from_millis(1_750_000_000_000 + secs * 1000);
        Traits { user, at, ..Traits::default() }
    }

    #[test]
    fn the_last_accounts_are_kept_and_each_once() {
        let (mut crowd, mut bursts) = (Gathering::default(), Bursts::new(1 << 20));
        for n in 0..2000 {
            crowd.note(&traits(n / 2, n as i64), &mut bursts);
        }
        assert_eq!((crowd.came, crowd.members.len()), (1000, Gathering::MEMBERS));
        assert!(crowd.members.iter().all(|member| member.events == 2 && member.traits.user >= 488));
        assert_eq!(crowd.clone().placed(), crowd);
    }

    /// A group of 40 of whom 20 are on each of a row of targets: on the tenth, most have partners and came before;
    /// strangers among them do not.
    #[test]
    fn those_who_meet_again_and_again_have_partners() {
        let mut bursts = Bursts::new(1 << 20);
        let mut last = Gathering::default();
        for target in 0..10u64 {
            last = Gathering::default();
            for n in 0..20 {
                let at = target as i64 * 3600 + n as i64;
                last.note(&traits(1 + (n * 7 + target * 11) % 40, at), &mut bursts);
                last.note(&traits(1000 + target * 100 + n, at), &mut bursts);
            }
        }
        let (group, others): (Vec<&Member>, Vec<&Member>) =
            last.members.iter().partition(|member| member.traits.user < 1000);
        assert!(group.iter().filter(|member| member.partners >= 5).count() >= 16);
        assert!(others.iter().all(|member| member.partners == 0));
        assert!(!last.returning(&bursts).bursts.is_empty());
    }

    /// Eighty crowds, an hour apart, each of `size` who are drawn anew from a pool, and six strangers. Meanwhile eight
    /// ordinary actors an hour are seen.
    fn crowds_of(pool: u64, size: usize, ordinary: impl Fn(u64) -> u64) -> Vec<Gathering> {
        let (mut bursts, mut sample) = (Bursts::new(1 << 20), Sample::new());
        let mut judged = |target: u64| {
            let mut crowd = Gathering { window: Span::from_secs(600), ..Gathering::default() };
            let at = target as i64 * 3600;
            for n in 0..8 {
                let number = target * 8 + n;
                sample.note(&traits(ordinary(number), at + n as i64 * 60), number << 32, || true);
            }
            let mut pool: Vec<u64> = (1..=pool).collect();
            pool.sort_by_key(|user| mixed(*user, target));
            let strangers = (0..6).map(|n| 1000 + target * 10 + n);
            for user in pool.into_iter().take(size).chain(strangers) {
                crowd.note(&traits(user, at), &mut bursts);
            }
            crowd.judge(&sample, (&bursts, None), &[true; KINDS], traits(0, at).at);
            crowd
        };
        (0..80).map(&mut judged).collect()
    }

    /// Two crowds of 24 of the same 120 have a fifth in common, so none was there with a large part of a later one, but in the
    /// end most meet. Nothing is held against the strangers.
    #[test]
    fn a_pool_that_is_drawn_from_anew_comes_back_once_most_of_it_meets() {
        let crowds = crowds_of(120, 24, |number| 5000 + number);
        assert!(crowds[..6].iter().all(|crowd| crowd.composition.suspect == 0.0));
        let last = crowds.last().expect("some");
        assert!(last.composition.returning.bursts.is_empty());
        assert!(last.composition.suspect >= MOSTLY, "{}", last.composition.suspect);
        let back = |member: &&Member| last.composition.returns(member);
        let (of_pool, others): (Vec<&Member>, Vec<&Member>) =
            last.members.iter().partition(|member| member.traits.user < 1000);
        assert!(of_pool.iter().copied().filter(back).count() >= 18);
        assert!(!others.iter().any(back));
    }

    /// The 300 who are all there is of a place meet as often, but whoever acts at all is in one crowd after the other.
    #[test]
    fn where_everybody_is_in_crowds_nobody_is_of_a_pool() {
        let crowds = crowds_of(300, 48, |number| 1 + mixed(number, 99) % 300);
        let often = |crowd: &Gathering| judge_lockstep(&crowd.members.iter().collect::<Vec<_>>());
        let met =
            crowds.iter().filter(|crowd| often(crowd).is_some_and(|often| often.alpha >= MOSTLY)).count();
        assert!(met > 10, "{met}");
        assert!(crowds.iter().all(|crowd| !crowd.composition.returning.pooled));
    }

    /// 120 of 300 come back each time, a large part of them together. That says something where others are in no crowds, and
    /// nothing where these 300 are all there is.
    #[test]
    fn a_crowd_that_was_together_before_is_one_only_where_others_are_not() {
        let late = |ordinary: fn(u64) -> u64| crowds_of(300, 120, ordinary).split_off(60);
        let strangers = late(|number| 5000 + number);
        assert!(strangers.iter().all(|crowd| !crowd.composition.returning.bursts.is_empty()));
        assert!(strangers.iter().all(|crowd| crowd.composition.suspect >= MOSTLY));
        let themselves = late(|number| 1 + mixed(number, 99) % 300);
        assert!(themselves.iter().all(|crowd| crowd.composition.returning == Returning::default()));
        assert!(themselves.iter().all(|crowd| crowd.composition.suspect == 0.0));
    }

    /// SplitMix64.
    fn mixed(one: u64, other: u64) -> u64 {
        let mixed = (one << 32 | other).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    #[test]
    fn it_is_judged_now_and_then() {
        let (mut crowd, mut bursts) = (Gathering::default(), Bursts::new(1 << 20));
        let (sample, mut times) = (Sample::new(), Vec::new());
        for n in 0..3000u32 {
            let traits = traits(n.into(), i64::from(n) / 5);
            crowd.note(&traits, &mut bursts);
            if crowd.is_due(traits.at) {
                crowd.judge(&sample, (&bursts, None), &[true; KINDS], traits.at);
                times.push(n + 1);
            }
        }
        assert_eq!(times[..3], [8, 10, 12]);
        assert!(times.len() < 40, "{times:?}");
        assert!(*times.last().expect("some") > 2700);
    }
}
