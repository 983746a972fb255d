//! What a candidate that ran beside the live policy would have decided, by verdicts alone.

use super::contrast::Contrast;
use super::figures::{Value, Values, of_verdicts};
use crate::engine::verdict::Verdict;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beside(Contrast);

impl Beside {
    /// So many events that were decided `now` and would have been decided `then`.
    pub fn count(&mut self, now: Verdict, then: Verdict, events: u64) {
        self.0.matrix[now as usize][then as usize] += events;
    }

    /// Events.
    pub fn decisions(&self) -> u64 {
        self.0.decisions()
    }

    /// The figures that verdicts tell, by name; those of accounts are not known.
    pub fn values(&self) -> Values {
        let mut values = Values::new();
        values.insert("decisions", Value::plain(self.decisions() as f64));
        of_verdicts(&self.0, &mut values);
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backtest::Gate;

    #[test]
    fn a_gate_judges_what_is_known_and_tells_what_is_not() {
        let mut beside = Beside::default();
        beside.count(Verdict::Allow, Verdict::Allow, 990);
        beside.count(Verdict::Demote, Verdict::Hold, 4);
        beside.count(Verdict::Reject, Verdict::Hold, 6);
        let rule = |text: &str| Gate::parse(text, true, false).expect("a gate").judge(&beside.values());
        // Held then and weaker now are 4 of 1,000; the six were stronger.
        assert!(rule("new_holds > 0.3%").fails && !rule("new_holds > 0.4%").fails);
        let ruling = rule("newly_touched_paying > 0 or weaker > 5");
        assert_eq!(ruling.told, ["newly_touched_paying is not known here", "weaker = 6"]);
        assert!(ruling.fails);
        let gate = Gate::parse("newly_touched_paying > 0", true, false).expect("a gate");
        assert!(!gate.knows_any(&beside.values()));
    }
}
