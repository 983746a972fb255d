//! The gate of one target: whether so many people act on it now that it is worth looking at them.
//!
//! It opens from `least` people in the window, or from `times` the quantile of what targets have had in their windows,
//! whichever is more; and closes two windows after it was last half as busy. An open gate is no evidence: news opens it
//! too. A record of four words a target: where the trail of it begins, which window it is in, the most people in it, and
//! whether it is open.

use super::quantile::Quantile;
use super::trail::Place;
use crate::engine::policy::Gate;
use crate::engine::time::{Span, Timestamp};

/// Words of a record.
pub(super) const WORDS: usize = 4;

const TRAIL: usize = 0;
const WINDOW: usize = 1;
const PEAK: usize = 2;
const OPEN: usize = 3;

/// The newest entry on the target.
pub(super) fn trail(words: &[u32]) -> Place {
    Place(words[TRAIL])
}

/// Notes a new entry on the target.
pub(super) fn set_trail(words: &mut [u32], place: Place) {
    words[TRAIL] = place.0;
}

/// Whether it is open.
pub(super) fn is_open(words: &[u32]) -> bool {
    words[OPEN] != 0
}

/// Opens or closes it.
pub(super) fn set_open(words: &mut [u32], open: bool) {
    words[OPEN] = u32::from(open);
}

/// Notes that so many people act on the target in the window that ends now. Returns the most there were in the window
/// before, when this is the first event of a new one.
pub(super) fn note(words: &mut [u32], people: u64, window: Span, at: Timestamp) -> Option<u64> {
    let number = at.millis().div_euclid(window.millis().max(1)).clamp(1, i64::from(u32::MAX)) as u32;
    let people = u32::try_from(people).unwrap_or(u32::MAX);
    if number <= words[WINDOW] {
        words[PEAK] = words[PEAK].max(people);
        return None;
    }
    let before = (words[WINDOW] != 0).then_some(u64::from(words[PEAK]));
    (words[WINDOW], words[PEAK]) = (number, people);
    before
}

/// From how many people on a gate opens.
pub(super) fn threshold(gate: &Gate, usual: Option<&Quantile>) -> u64 {
    let usual = usual.and_then(Quantile::get).unwrap_or(0.0) * gate.times;
    gate.least.max(libm::ceil(usual) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_window_tells_its_peak_once() {
        let mut words = [0; WORDS];
        let minute = Span::from_secs(60);
        let at = |secs: i64| Timestamp::from_millis(1_749_999_960_000 + secs * 1000);
        let told: Vec<_> = [(0, 1), (10, 7), (50, 3), (70, 2), (65, 9), (30, 4), (600, 1)]
            .map(|(secs, people)| note(&mut words, people, minute, at(secs)))
            .into();
        assert_eq!(told, [None, None, None, Some(7), None, None, Some(9)]);
    }

    #[test]
    fn the_floor_holds_until_there_is_a_quantile() {
        let gate = Gate { least: 10, times: 1.5, quantile: 0.99 };
        let mut usual = Quantile::default();
        assert_eq!(threshold(&gate, Some(&usual)), 10);
        (0..1024).for_each(|_| usual.feed(40, 0.99, Timestamp::default()));
        assert!((57..=63).contains(&threshold(&gate, Some(&usual))), "1.5 times 40, within 5 %");
    }
}
