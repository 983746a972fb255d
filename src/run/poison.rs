//! Whether most of what comes in cannot be decided: then a producer is broken, and somebody should look.
//!
//! Nothing is held back for it. Each such record has its dead letter as always, byte for byte, so that it can be sent
//! again; what is good among it is decided. Counted by records, not by time: an alarm stands until better ones come.

/// Records that are looked back on: beyond these the counts are halved.
const LOOKED_AT: u64 = 1_000;
/// Fewer say nothing.
const LEAST: u64 = 100;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Poison {
    seen: u64,
    dead: u64,
    alarmed: bool,
}

impl Poison {
    /// Takes note of consumed records and how many of them were dead letters; tells when the alarm begins (true) or ends.
    pub(super) fn note(&mut self, seen: u64, dead: u64) -> Option<bool> {
        self.seen += seen;
        self.dead += dead;
        let (is, was) = (self.is_bad(), self.alarmed);
        while self.seen >= LOOKED_AT {
            self.seen /= 2;
            self.dead /= 2;
        }
        self.alarmed = is;
        (is != was).then_some(is)
    }

    /// From a half on, and until less than a quarter.
    fn is_bad(&self) -> bool {
        let part = if self.alarmed { 4 } else { 2 };
        self.seen >= LEAST && self.dead.saturating_mul(part) >= self.seen
    }

    /// What is told of it.
    pub(super) fn words(&self) -> String {
        format!(
            "{} of the last {} records could not be decided and are dead letters: look at what is sent",
            self.dead, self.seen
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_begins_at_a_half_and_ends_below_a_quarter() {
        let mut poison = Poison::default();
        assert_eq!(poison.note(99, 99), None, "too few to say");
        assert_eq!(poison.note(1, 1), Some(true));
        assert_eq!(poison.note(50, 50), None, "told once");
        assert_eq!(poison.note(250, 0), None, "150 of 400");
        assert_eq!(poison.note(300, 0), Some(false));
        assert_eq!(poison.note(100, 100), None);
        assert!(poison.words().starts_with("250 of the last 800 records"), "{}", poison.words());
    }

    #[test]
    fn what_was_long_ago_does_not_count() {
        let mut poison = Poison::default();
        assert_eq!(poison.note(1_000_000, 0), None);
        assert_eq!(poison.note(2_000, 2_000), Some(true));
    }
}
