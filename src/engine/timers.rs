//! Timers in event time: they fire before the first input at or after their time, in the order of (due, timer).

mod saved;

use std::collections::BTreeSet;

use super::time::Timestamp;

/// What is due. The order of variants and fields is the order in which timers of the same instant fire.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A ban comes to its end.
    BanEnds {
        /// Key of its entity.
        key: u64,
        /// Its id.
        ban: String,
    },
    /// A case may have fallen quiet.
    CaseQuiet {
        /// Its key.
        key: u64,
    },
    /// Exceptions of an entity may have come to their end.
    ExceptionEnds {
        /// Key of the entity.
        key: u64,
    },
    /// A resolved case may be opened anew.
    CaseSettled {
        /// Its key.
        key: u64,
    },
    /// A crowd may have come to its end, or a campaign have become final.
    CrowdEnds {
        /// Key of its gate.
        key: u64,
    },
}

/// All timers that are set.
#[derive(Debug, Default)]
pub struct Timers {
    due: BTreeSet<(Timestamp, Timer)>,
}

impl Timers {
    /// Sets a timer; the same timer at the same time twice is one.
    pub fn set(&mut self, due: Timestamp, timer: Timer) {
        self.due.insert((due, timer));
    }

    /// When the next timer is due.
    pub fn first_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Takes the next timer that is due at or before `now`.
    pub fn next_due(&mut self, now: Timestamp) -> Option<(Timestamp, Timer)> {
        if self.due.first()?.0 > now {
            return None;
        }
        self.due.pop_first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_in_order_of_time_then_identity() {
        let at = Timestamp::from_millis;
        let mut timers = Timers::default();
        for (due, key) in [(20, 1), (10, 2), (10, 1), (10, 1)] {
            timers.set(at(due), Timer::CaseQuiet { key });
        }
        let mut fired = Vec::new();
        while let Some((due, Timer::CaseQuiet { key })) = timers.next_due(at(15)) {
            fired.push((due.millis(), key));
        }
        assert_eq!(fired, [(10, 1), (10, 2)]);
        assert!(timers.next_due(at(20)).is_some());
    }
}
