//! What is usual of each signal: quantiles over all events, and over those of each hour of the week.

use std::collections::BTreeMap;

use super::quantiles::Quantiles;
use crate::engine::policy::Policy;
use crate::engine::time::Timestamp;
use crate::engine::{Engine, Outcome};
use crate::evaluate::Label;
use crate::evaluate::read::Ear;
use crate::replay::{Drive, Heard, Options, Panel};

/// Hours of a week.
const HOURS: i64 = 168;
/// An hour of the week with fewer values says nothing of its own.
const HOUR_LEAST: u64 = 200;

/// See the module.
#[derive(Debug)]
pub struct Usual<'e> {
    drive: Drive<'e>,
    /// By signal, then by hour of the week.
    seen: Vec<BTreeMap<i64, Quantiles>>,
    /// Events decided.
    events: u64,
}

impl<'e> Usual<'e> {
    /// Listens with this engine, which is to be new.
    pub fn new(engine: &'e mut Engine, options: &'e Options) -> Self {
        engine.watch_signals();
        let signals = engine.policy().signals.len();
        Self { drive: Drive::new(engine, options), seen: vec![BTreeMap::new(); signals], events: 0 }
    }

    /// The policy whose signals these are.
    pub fn policy(&self) -> &Policy {
        self.drive.engine().policy()
    }

    /// Events decided.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// All values of a signal.
    pub fn all(&self, signal: usize) -> Quantiles {
        let mut all = Quantiles::default();
        self.seen[signal].values().for_each(|hour| all.add(hour));
        all
    }

    /// The hour of the week in which a part of the values lies highest, as text, and where; the first of several.
    pub fn busiest(&self, signal: usize, part: f64) -> Option<(String, f64)> {
        let hours = self.seen[signal].iter().filter(|(_, values)| values.count() >= HOUR_LEAST);
        let each = hours.filter_map(|(hour, values)| Some((*hour, values.at(part)?)));
        let busiest = each.reduce(|best, next| if next.1 > best.1 { next } else { best });
        busiest.map(|(hour, value)| (named(hour), value))
    }
}

impl Ear for Usual<'_> {
    fn together<'l>(
        &mut self,
        lines: impl Iterator<Item = &'l [u8]>,
        mut truth: impl FnMut(&Heard<'_>) -> Option<Label>,
    ) -> usize {
        let mut count = 0;
        for line in lines.take(Panel::RECORDS) {
            let mut at = None;
            self.drive.one(
                line,
                |_, _| {},
                |heard| {
                    truth(heard);
                    let judgement =
                        heard.outputs.judgement.as_ref().filter(|_| heard.outcome == Outcome::Decided);
                    at = judgement.map(|judgement| judgement.effective_at);
                },
            );
            if let Some(at) = at {
                self.note(at);
            }
            count += 1;
        }
        count
    }
}

impl Usual<'_> {
    fn note(&mut self, at: Timestamp) {
        self.events += 1;
        let hour = hour_of_week(at);
        for (seen, value) in self.seen.iter_mut().zip(self.drive.engine().signals()) {
            if let Some(value) = value {
                seen.entry(hour).or_default().note(*value);
            }
        }
    }
}

/// Hours since Monday, 00:00 UTC. The epoch was a Thursday.
fn hour_of_week(at: Timestamp) -> i64 {
    (at.millis().div_euclid(3_600_000) + 3 * 24).rem_euclid(HOURS)
}

fn named(hour: i64) -> String {
    let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    format!("{} {:02}h", days[(hour / 24) as usize % 7], hour % 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2025-06-15 was a Sunday; 1970-01-01 a Thursday.
    #[test]
    fn hours_of_the_week_begin_on_monday() {
        assert_eq!(named(hour_of_week(Timestamp::from_millis(1_749_988_800_000))), "Sun 12h");
        assert_eq!(named(hour_of_week(Timestamp::from_millis(0))), "Thu 00h");
        assert_eq!(hour_of_week(Timestamp::from_millis(4 * 86_400_000)), 0);
    }
}
