//! Who was in which crowd before: for each account the last few *bursts* it was part of.
//!
//! A burst is a part of a crowd, a few hundred accounts that came one after the other, so that the thousands on a front
//! page share none with each other. Accounts of a bought group meet again and again, on targets that nobody else connects;
//! people meet by chance, or because they follow the same owner, whose targets are told apart where the owner is known.
//! What batch systems find by comparing all pairs (CopyCatch, Beutel et al., WWW 2013; SynchroTrap, Cao et al., CCS 2014) is
//! read off these lists while a crowd is looked at.

use std::collections::BTreeMap;

use crate::engine::table::{Seen, Table, TableSpec};
use crate::engine::time::{Span, Timestamp};

/// Bursts that are remembered of an account.
pub(crate) const KEPT: usize = 8;
/// For so long.
const IDLE: Span = Span::from_secs(30 * 86_400);
/// Bits of a burst that say whose target it was on.
const OWNER_BITS: u32 = 10;
const OWNER: u32 = (1 << OWNER_BITS) - 1;

/// A burst: its number above, a short hash of the target's owner below, 0 when unknown. Zero is none.
pub(crate) type Burst = u32;

/// The last bursts of one account.
pub(crate) type Last = [Burst; KEPT];

/// The bursts of all accounts.
#[derive(Debug)]
pub(crate) struct Bursts {
    /// The list, and the place of the next.
    pub(super) table: Table,
    pub(super) next: u32,
    /// Bursts of established groups, with the first burst of each group. A group that takes turns has no two bursts with
    /// most of its accounts, but all of them in its bursts together.
    pub(super) groups: BTreeMap<Burst, Burst>,
}

/// Bursts of groups that are remembered; beyond, the oldest are forgotten.
const GROUPED_MAX: usize = 4096;

impl Bursts {
    pub(crate) fn new(budget_bytes: u64) -> Self {
        let spec =
            TableSpec { words: KEPT + 1, budget_bytes, idle: IDLE, spills: Vec::new(), spill_bytes: 0 };
        Self { table: Table::admitting(spec, Vec::new()), next: 1, groups: BTreeMap::new() }
    }

    /// A new burst on a target of this owner.
    pub(crate) fn begin(&mut self, owner: Option<u64>) -> Burst {
        let number = self.next;
        self.next = self.next.wrapping_add(1).max(1) & (u32::MAX >> OWNER_BITS);
        let owner = owner.map_or(0, |owner| ((owner >> 40) as u32 & OWNER).max(1));
        number.max(1) << OWNER_BITS | owner
    }

    /// Notes that an account is part of a burst; returns those it was part of before.
    pub(crate) fn join(&mut self, user: u64, burst: Burst, at: Timestamp) -> Last {
        let slot = crate::engine::look::open(&mut self.table, user, Seen::default(), at);
        let words = self.table.cells_mut(slot);
        let before: Last = std::array::from_fn(|place| words[place]);
        if !before.contains(&burst) {
            let next = words[KEPT] as usize % KEPT;
            words[next] = burst;
            words[KEPT] = (next as u32 + 1) % KEPT as u32;
        }
        before
    }

    /// Those that an account was part of.
    pub(crate) fn of(&self, user: u64, at: Timestamp) -> Last {
        let slot = self.table.find(user, at);
        slot.map_or([0; KEPT], |slot| std::array::from_fn(|place| self.table.cells(slot)[place]))
    }

    /// The first burst of the group that a burst is one of; itself when it is of none.
    pub(crate) fn group(&self, burst: Burst) -> Burst {
        self.groups.get(&burst).copied().unwrap_or(burst)
    }

    /// Whether a burst is one of an established group.
    pub(crate) fn is_grouped(&self, burst: Burst) -> bool {
        self.groups.contains_key(&burst)
    }

    /// All bursts of a group that are apart from `now`, ascending; the burst itself when it is of none.
    pub(crate) fn of_group(&self, group: Burst, now: Burst) -> impl Iterator<Item = Burst> {
        let grouped = self.groups.iter().filter(move |(_, first)| **first == group).map(|(burst, _)| *burst);
        let alone = (!self.is_grouped(group)).then_some(group);
        grouped.chain(alone).filter(move |burst| are_apart(*burst, now))
    }

    /// These bursts are of one group, with all that are of the groups of any of them.
    pub(crate) fn unite(&mut self, bursts: &[Burst]) {
        let firsts: Vec<Burst> = bursts.iter().map(|burst| self.group(*burst)).collect();
        let Some(first) = firsts.iter().copied().min() else { return };
        for group in self.groups.values_mut().filter(|group| firsts.contains(group)) {
            *group = first;
        }
        self.groups.extend(bursts.iter().filter(|burst| **burst != 0).map(|burst| (*burst, first)));
        while self.groups.len() > GROUPED_MAX {
            self.groups.pop_first();
        }
    }

    /// Bytes it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.table.bytes() + self.groups.len() as u64 * 16
    }
}

/// Whether meeting in both says something: they are not on targets of one known owner.
pub(crate) fn are_apart(one: Burst, other: Burst) -> bool {
    one >> OWNER_BITS != other >> OWNER_BITS && (one & OWNER == 0 || one & OWNER != other & OWNER)
}

/// How many of an account's bursts are apart from `now`.
pub(crate) fn apart(last: &Last, now: Burst) -> usize {
    last.iter().filter(|burst| **burst != 0 && are_apart(**burst, now)).count()
}

/// In how many bursts that are apart from `now` two accounts met.
pub(crate) fn shared(one: &Last, other: &Last, now: Burst) -> usize {
    // Without a branch for each, eight are compared at a time.
    let is_in_other = |burst: Burst| other.iter().fold(false, |any, known| any | (*known == burst));
    let met = |burst: &&Burst| **burst != 0 && is_in_other(**burst) && are_apart(**burst, now);
    one.iter().filter(met).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bursts_are_kept_and_each_once() {
        let mut bursts = Bursts::new(1 << 20);
        let at = Timestamp::from_millis(1_750_000_000_000);
        let all: Vec<Burst> = (0..11).map(|_| bursts.begin(None)).collect();
        let mut before = [0; KEPT];
        for burst in &all {
            before = bursts.join(7, *burst, at);
            bursts.join(7, *burst, at);
        }
        let mut kept = before.to_vec();
        kept.sort_unstable();
        assert_eq!(kept, all[2..10]);
        assert_eq!(bursts.join(8, all[0], at), [0; KEPT]);
    }

    #[test]
    fn bursts_of_one_group_stand_for_each_other() {
        let mut bursts = Bursts::new(1 << 20);
        let all: Vec<Burst> = (0..6).map(|n| bursts.begin(Some((1 + n) << 40))).collect();
        bursts.unite(&all[..2]);
        bursts.unite(&all[3..5]);
        assert_ne!(bursts.group(all[1]), bursts.group(all[4]));
        assert_eq!((bursts.group(all[2]), bursts.is_grouped(all[2])), (all[2], false));
        bursts.unite(&[all[1], all[4], all[5]]);
        let of_group: Vec<Burst> = bursts.of_group(bursts.group(all[3]), all[5]).collect();
        assert_eq!(of_group, [all[0], all[1], all[3], all[4]]);
        assert_eq!(bursts.of_group(all[2], all[5]).collect::<Vec<_>>(), [all[2]]);
    }

    #[test]
    fn meeting_at_one_owner_s_targets_says_nothing() {
        let mut bursts = Bursts::new(1 << 20);
        let (a, b, c) =
            (bursts.begin(Some(5 << 40)), bursts.begin(Some(5 << 40)), bursts.begin(Some(6 << 40)));
        let (unknown, now) = (bursts.begin(None), bursts.begin(Some(5 << 40)));
        let one = [a, b, c, unknown, 0, 0, 0, 0];
        assert_eq!(shared(&one, &one, now), 2);
        assert_eq!(shared(&one, &one, bursts.begin(None)), 4);
        assert_eq!(shared(&one, &[0; KEPT], now), 0);
    }
}
