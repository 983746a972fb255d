//! Which calendar window an instant lies in, by looking at the clock on the wall.
//!
//! Windows are cut where the clock of the zone shows a multiple of their length (weeks on Monday). Where clocks go
//! back, what they showed before holds until they pass it again.

use jiff::tz::TimeZone;

const MINUTE: i64 = 60_000;
const DAY: i64 = 86_400_000;
/// Clocks are not set back by more than this.
const SET_BACK_MAX: i64 = 3 * 60 * MINUTE;

/// Calendar windows of one length on one clock.
pub(super) struct Calendar {
    zone: TimeZone,
    length: i64,
}

impl Calendar {
    pub(super) fn new(zone: &str, length: i64) -> Self {
        let zone = jiff::tz::TimeZoneDatabase::bundled().get(zone).expect("the policy was loaded with it");
        Self { zone, length }
    }

    /// The number of the window that an instant lies in; it never falls.
    pub(super) fn window_of(&self, at: i64) -> i64 {
        // Clocks are set at full quarters of an hour.
        let quarter = 15 * MINUTE;
        let last = at.div_euclid(quarter) * quarter;
        let earlier = (0..=SET_BACK_MAX / quarter).map(|n| last - n * quarter - 1);
        let shown = earlier.chain([at]).map(|instant| self.shows(instant)).max().unwrap_or(at);
        // 1970-01-01 was a Thursday.
        let monday = if self.length % (7 * DAY) == 0 { 3 * DAY } else { 0 };
        (shown + monday).div_euclid(self.length)
    }

    /// The first instant that lies in a later window than `at`.
    pub(super) fn end(&self, at: i64) -> i64 {
        let window = self.window_of(at);
        let (mut inside, mut outside) = (at, at + self.length + DAY);
        while outside - inside > 1 {
            let middle = inside + (outside - inside) / 2;
            if self.window_of(middle) == window { inside = middle } else { outside = middle }
        }
        outside
    }

    /// What the clock shows, in milliseconds as if it were UTC.
    fn shows(&self, at: i64) -> i64 {
        let instant =
            jiff::Timestamp::from_millisecond(at).expect("times of events are within 2000 and 2248");
        at + i64::from(self.zone.to_offset(instant).seconds()) * 1000
    }
}
