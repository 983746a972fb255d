//! Episodes of refusals: a limit that is broken again after some quiet asks for more.
//!
//! An episode begins with a refusal that no other preceded within the limit's window, and ends when that much time
//! passes without one. It is a repeat when it begins within a stated time after the one before it began.

use super::time::{Span, Timestamp};

/// The episode that a refusal belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Episode {
    pub(crate) begin: Timestamp,
    pub(crate) repeated: bool,
}

const LAST: usize = 0;
const BEGIN: usize = 2;
const REPEATED: usize = 4;

/// The episode that a refusal at `at` belongs to. Changes nothing.
pub(crate) fn next(cell: &[u32], at: Timestamp, window: Span, within: Span) -> Episode {
    match (time(cell, LAST), time(cell, BEGIN)) {
        (Some(last), Some(begin)) if at.since(last) < window => {
            Episode { begin, repeated: cell[REPEATED] != 0 }
        }
        (_, Some(begin)) => Episode { begin: at, repeated: at.since(begin) < within },
        _ => Episode { begin: at, repeated: false },
    }
}

/// Notes a refusal at `at`.
pub(crate) fn record(cell: &mut [u32], at: Timestamp, window: Span, within: Span) {
    let episode = next(cell, at, window, within);
    let last = time(cell, LAST).map_or(at, |last| last.max(at));
    set_time(cell, LAST, last);
    set_time(cell, BEGIN, episode.begin);
    cell[REPEATED] = u32::from(episode.repeated);
}

fn time(cell: &[u32], index: usize) -> Option<Timestamp> {
    let millis = u64::from(cell[index]) | (u64::from(cell[index + 1]) << 32);
    (millis != 0).then(|| Timestamp::from_millis(millis.cast_signed()))
}

fn set_time(cell: &mut [u32], index: usize, at: Timestamp) {
    let millis = at.millis().cast_unsigned();
    cell[index] = millis as u32;
    cell[index + 1] = (millis >> 32) as u32;
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Span = Span::from_secs(3600);
    const DAY: Span = Span::from_secs(86_400);

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(1_750_000_000_000 + secs * 1000)
    }

    #[test]
    fn a_second_episode_within_a_day_is_a_repeat_and_the_first_is_not() {
        let mut cell = [0; 5];
        let mut refuse = |secs| {
            let episode = next(&cell, at(secs), HOUR, DAY);
            record(&mut cell, at(secs), HOUR, DAY);
            episode.repeated
        };
        assert_eq!([0, 1800, 5000].map(&mut refuse), [false, false, false]);
        assert_eq!([8600, 9000].map(&mut refuse), [true, true]);
        assert!(refuse(9000 + 86_399 - 400));
        assert!(!refuse(9000 + 3 * 86_400));
    }
}
