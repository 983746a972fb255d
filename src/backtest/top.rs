//! The accounts, or targets, that most changes meet, in bounded room (the space-saving sketch): when it is full, a new one takes
//! the place of the one with the fewest changes and inherits its count, which is told as a possible error.

use std::collections::HashMap;

use super::actor::Name;
use crate::engine::Standing;
use crate::engine::verdict::Verdict;

/// One account or target whose decisions change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Affected {
    hash: u64,
    pub(super) name: Name,
    /// Changes, those that may be another account's among them.
    pub(super) changes: u64,
    /// So many of them may be.
    pub(super) error: u64,
    /// To a stronger verdict, and to a weaker one, since it has its place.
    pub(super) stronger: u64,
    pub(super) weaker: u64,
    pub(super) standing: Standing,
    /// What speaks in the new decision and did not in the old one, and how often; then the other way round.
    pub(super) gained: Vec<(String, u64)>,
    pub(super) lost: Vec<(String, u64)>,
    /// The last change.
    pub(super) example: Example,
}

/// One change, to be looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Example {
    pub(super) event: String,
    pub(super) action: String,
    pub(super) target: String,
    pub(super) address: String,
    pub(super) device: String,
    pub(super) now: Verdict,
    pub(super) then: Verdict,
}

/// What one account's change is made of.
pub(super) struct Change<'c> {
    pub(super) standing: Standing,
    pub(super) gained: Vec<&'c str>,
    pub(super) lost: Vec<&'c str>,
    pub(super) example: Example,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Top {
    list: Vec<Affected>,
    places: HashMap<u64, usize>,
}

/// Speakers kept of one account.
const SPEAKERS: usize = 8;

impl Top {
    /// Accounts kept.
    pub(super) const SIZE: usize = 256;

    /// A change of the one with this hash and name.
    pub(super) fn note(&mut self, hash: u64, name: impl FnOnce() -> Name, change: &Change<'_>) {
        let place = self.place(hash, name);
        let affected = &mut self.list[place];
        let stronger = change.example.then > change.example.now;
        affected.changes += 1;
        *(if stronger { &mut affected.stronger } else { &mut affected.weaker }) += 1;
        affected.standing = change.standing;
        change.gained.iter().for_each(|id| count(&mut affected.gained, id));
        change.lost.iter().for_each(|id| count(&mut affected.lost, id));
        affected.example.clone_from(&change.example);
    }

    /// Those with the most changes first.
    pub(super) fn ranked(&self) -> Vec<&Affected> {
        let mut ranked: Vec<&Affected> = self.list.iter().collect();
        ranked.sort_by(|a, b| {
            let certain = |affected: &Affected| affected.changes - affected.error;
            (certain(b), b.changes).cmp(&(certain(a), a.changes)).then_with(|| a.name.cmp(&b.name))
        });
        ranked
    }

    fn place(&mut self, hash: u64, name: impl FnOnce() -> Name) -> usize {
        if let Some(place) = self.places.get(&hash) {
            return *place;
        }
        let new = |changes| Affected {
            hash,
            name: name(),
            changes,
            error: changes,
            stronger: 0,
            weaker: 0,
            standing: Standing::default(),
            gained: Vec::new(),
            lost: Vec::new(),
            example: Example::default(),
        };
        let place = if self.list.len() < Self::SIZE {
            self.list.push(new(0));
            self.list.len() - 1
        } else {
            let (place, least) = (self.list.iter().enumerate())
                .min_by_key(|(place, affected)| (affected.changes, *place))
                .expect("it is full");
            self.places.remove(&least.hash);
            self.list[place] = new(least.changes);
            place
        };
        self.places.insert(hash, place);
        place
    }
}

/// One more of a name; names beyond the first few are passed over.
fn count(list: &mut Vec<(String, u64)>, name: &str) {
    match list.iter().position(|(known, _)| known == name) {
        Some(place) => list[place].1 += 1,
        None if list.len() < SPEAKERS => list.push((name.to_owned(), 1)),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backtest::actor::Actor;
    use crate::engine::event::Event;

    fn note(top: &mut Top, user: String, then: Verdict) {
        let event = Event { user: Some(user.into()), ..Event::default() };
        let actor = Actor::of(&event, None);
        let change = Change {
            standing: Standing::default(),
            gained: vec!["a"],
            lost: Vec::new(),
            example: Example { now: Verdict::Demote, then, ..Example::default() },
        };
        top.note(actor.hash, || actor.name(), &change);
    }

    #[test]
    fn who_is_met_often_is_found_among_many() {
        let mut top = Top::default();
        for number in 0..20_000 {
            note(&mut top, format!("once-{number}"), Verdict::Allow);
            if number % 20 == 0 {
                note(&mut top, format!("often-{}", number / 20 % 3), Verdict::Hold);
            }
        }
        assert_eq!(top.list.len(), Top::SIZE);
        let ranked = top.ranked();
        let mut names: Vec<Name> = ranked[..3].iter().map(|affected| affected.name.clone()).collect();
        names.sort();
        assert_eq!(names, [0, 1, 2].map(|n| Name::User(format!("often-{n}"))));
        let first = ranked[0];
        assert!(first.changes - first.error <= 334 && first.changes >= 333, "{first:?}");
        assert_eq!((first.weaker, first.gained[0].0.as_str()), (0, "a"));
    }
}
