//! An open gate: the accounts that act on one target now, with what they look like, and what they were judged to be.
//!
//! The last [`Gathering::MEMBERS`] distinct accounts are kept, in a ring. It is judged again when a quarter more have
//! come, or after a while, and not at every event, so that the cost of a crowd grows with the logarithm of its size.

use std::collections::BTreeMap;

use super::composition::{Composition, Judged};
use super::sample::Sample;
use super::traits::Traits;
use crate::engine::time::{Span, Timestamp};

/// One account that acts on the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) traits: Traits,
    /// How often it acted on it while it was kept.
    pub(crate) events: u32,
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
    pub(super) members: Vec<Member>,
    pub(super) next: usize,
    /// Accounts that came, those that were forgotten meanwhile once more.
    pub(crate) came: u64,
    /// When it was judged: how many had come, and the time.
    pub(super) judged: (u64, Timestamp),
    pub(crate) composition: Composition,
    /// Where each account is in the ring; follows from the ring.
    pub(super) places: BTreeMap<u64, u32>,
}

/// It is judged first when so many have come.
const FIRST: u64 = 24;
/// And again after this, if anybody came.
const AGAIN: Span = Span::from_secs(30);
/// But no sooner than this once it is large.
const SOONEST: Span = Span::from_secs(3);

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
    pub(crate) fn note(&mut self, traits: &Traits) {
        if let Some(place) = self.places.get(&traits.user) {
            let member = &mut self.members[*place as usize];
            member.events = member.events.saturating_add(1);
            member.traits.at = member.traits.at.max(traits.at);
            return;
        }
        self.came += 1;
        let member = Member { traits: *traits, events: 1 };
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

    /// Who is kept.
    pub(crate) fn traits(&self) -> impl Iterator<Item = &Traits> {
        self.members.iter().map(|member| &member.traits)
    }

    /// Whether it is time to judge it again.
    pub(crate) fn is_due(&self, at: Timestamp) -> bool {
        let (came, then) = self.judged;
        if self.came < FIRST || self.came == came {
            return false;
        }
        let since = at.since(then);
        let more = self.came >= came + came / 4;
        since >= AGAIN || (more && (came < 2 * FIRST || since >= SOONEST))
    }

    /// Judges it by the accounts that acted within the window before `at`.
    pub(crate) fn judge(&mut self, sample: &Sample, window: Span, at: Timestamp) {
        let from = at.before(window);
        let recent = self.members.iter().filter(|member| member.traits.at > from);
        let crowd: Vec<Judged<'_>> =
            recent.map(|member| Judged { traits: &member.traits, events: member.events }).collect();
        self.composition = Composition::of(&crowd, sample);
        self.judged = (self.came, at);
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
        let mut crowd = Gathering::default();
        for n in 0..2000 {
            crowd.note(&traits(n / 2, n as i64));
        }
        assert_eq!((crowd.came, crowd.members.len()), (1000, Gathering::MEMBERS));
        assert!(crowd.members.iter().all(|member| member.events == 2 && member.traits.user >= 488));
        assert_eq!(crowd.clone().placed(), crowd);
    }

    #[test]
    fn it_is_judged_now_and_then() {
        let (mut crowd, sample, mut times) = (Gathering::default(), Sample::new(), Vec::new());
        for n in 0..3000u32 {
            let traits = traits(n.into(), i64::from(n) / 5);
            crowd.note(&traits);
            if crowd.is_due(traits.at) {
                crowd.judge(&sample, Span::from_secs(600), traits.at);
                times.push(n + 1);
            }
        }
        assert_eq!(times[..3], [24, 30, 37]);
        assert!(times.len() < 40, "{times:?}");
        assert!(*times.last().expect("some") > 2700);
    }
}
