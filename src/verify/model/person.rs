//! What is remembered of a user, a device or an address beside its windows.

use super::range::Range;
use crate::engine::policy::PenaltyStep;
use crate::engine::time::{Span, Timestamp};

const DAY: i64 = 86_400_000;

/// A user, device or address.
#[derive(Clone, Debug, Default)]
pub(super) struct Person {
    pub(super) first_seen: Option<Timestamp>,
    pub(super) last_seen: Option<Timestamp>,
    pub(super) created_at: Option<Timestamp>,
    /// The device a user is known by, and when he was seen with it.
    device: Option<(String, Timestamp)>,
    /// Days since 1970 on which it was seen, each later than all before.
    days: Vec<i64>,
    /// When each penalty point was given.
    penalties: Vec<Timestamp>,
    /// The step that stands, and until when.
    standing: Option<(usize, Timestamp)>,
}

impl Person {
    /// Notes a sighting. Who was not seen for longer than `idle` is a stranger again.
    pub(super) fn see(&mut self, at: Timestamp, idle: Span) {
        if self.is_forgotten(at, idle) {
            *self = Self::default();
        }
        self.last_seen = self.last_seen.max(Some(at));
        self.first_seen = Some(self.first_seen.map_or(at, |first| first.min(at)));
    }

    pub(super) fn is_forgotten(&self, at: Timestamp, idle: Span) -> bool {
        self.last_seen.is_none_or(|last| at.since(last) > idle)
    }

    pub(super) fn see_day(&mut self, at: Timestamp) {
        let day = at.millis().div_euclid(DAY);
        if self.days.last().is_none_or(|last| day > *last) {
            self.days.push(day);
        }
    }

    /// Notes a sighting with a device; whether it is the one he is known by, which is the first until it is gone for a week.
    pub(super) fn see_device(&mut self, device: Option<&str>, at: Timestamp) -> bool {
        let day = |at: Timestamp| at.millis().div_euclid(DAY);
        match (&mut self.device, device) {
            (known, None) => known.is_none(),
            (Some((known, last)), Some(device)) if known.as_str() == device => {
                *last = (*last).max(at);
                true
            }
            (Some((_, last)), Some(_)) if day(at) < day(*last) + 7 => false,
            (known, Some(device)) => {
                *known = Some((device.to_owned(), at));
                true
            }
        }
    }

    pub(super) fn active_days(&self) -> u32 {
        u32::try_from(self.days.len()).unwrap_or(u32::MAX)
    }

    /// Penalty points at a time, not before the newest one: each is halved every `half_life`.
    pub(super) fn points(&self, at: Timestamp, half_life: Span) -> f64 {
        let at = self.penalties.iter().copied().max().map_or(at, |newest| newest.max(at));
        let half_life = half_life.millis().max(1) as f64;
        self.penalties.iter().map(|given| (-(at.since(*given).millis() as f64) / half_life).exp2()).sum()
    }

    /// The same as rules see it, which keep it in 32 bits.
    pub(super) fn penalty(&self, at: Timestamp, half_life: Span) -> Range {
        let points = self.points(at, half_life);
        let error = points * 1e-4;
        Range { lo: points - error, hi: points + error }
    }

    /// One more point. Returns the step that is due by it, if one is: by crossing its mark, or because what stood has
    /// ended.
    pub(super) fn penalise(
        &mut self,
        at: Timestamp,
        half_life: Span,
        steps: &[PenaltyStep],
    ) -> Option<usize> {
        let given = self.penalties.iter().copied().max().map_or(at, |newest| newest.max(at));
        let before = self.points(given, half_life).round();
        self.penalties.push(given);
        let after = self.points(given, half_life).round();
        let reached = steps.iter().rposition(|step| after >= step.points)?;
        let is_new = before < steps[reached].points || self.stands(at).is_none();
        is_new.then_some(reached)
    }

    /// A step stands until a time.
    pub(super) fn stand(&mut self, step: usize, until: Timestamp) {
        self.standing = Some((step, until));
    }

    /// The step that stands at a time, and until when.
    pub(super) fn stands(&self, at: Timestamp) -> Option<(usize, Timestamp)> {
        self.standing.filter(|(_, until)| at < *until)
    }

    /// Forgets points and what stands because of them; true when something stood.
    pub(super) fn pardon(&mut self, at: Timestamp) -> bool {
        let stood = self.stands(at).is_some();
        self.penalties.clear();
        self.standing = None;
        stood
    }
}
