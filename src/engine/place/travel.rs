//! How fast somebody would have had to travel between two places he acted from.
//!
//! A cell keeps the last place and its time. Nothing is said, and nothing kept, of an address whose place is not that of
//! the person behind it: a network of a class that the policy names (carriers, relays), an address that many settled
//! accounts share, a trusted network. Places of addresses are off by hundreds of kilometres, so a distance below a stated
//! one is no travel.

use crate::engine::look::Look;
use crate::engine::policy::Policy;
use crate::engine::time::{Span, Timestamp};

use super::NetworkClass;

/// The mean radius of the earth, kilometres.
const EARTH: f64 = 6371.0;
/// Two places within less, milliseconds, are taken to be so far apart in time: clocks of producers differ.
const LEAST_TIME: u64 = 60_000;
/// Degrees are kept in ten-thousandths: 11 m.
const PARTS: f64 = 10_000.0;

/// A measurement of travel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TravelSpec {
    /// How long the last place is remembered.
    pub(crate) window: Span,
    /// Shorter distances are no travel, kilometres.
    pub(crate) least_km: f64,
}

impl TravelSpec {
    /// Words of a cell: the time, latitude, longitude.
    pub(crate) const WORDS: usize = 4;

    /// The speed since the last place, kilometres an hour; `None` when there is none. Keeps the newer place.
    pub(crate) fn note(&self, cell: &mut [u32], at: Timestamp, here: (f64, f64)) -> Option<f64> {
        let before = time(cell).filter(|before| at.since(*before) < self.window);
        let speed = before.map(|before| {
            let there = (degrees(cell[2]), degrees(cell[3]));
            let apart = at.millis().abs_diff(before.millis()).max(LEAST_TIME);
            let km = distance(there, here);
            if km < self.least_km { 0.0 } else { km * 3_600_000.0 / apart as f64 }
        });
        if before.is_none_or(|before| at >= before) {
            let millis = at.millis().cast_unsigned();
            (cell[0], cell[1]) = (millis as u32, (millis >> 32) as u32);
            (cell[2], cell[3]) = (parts(here.0), parts(here.1));
        }
        speed
    }
}

/// Where the person behind an event is, as far as his address says it.
pub(crate) fn here(policy: &Policy, look: &Look<'_>, exits: &[NetworkClass]) -> Option<(f64, f64)> {
    if look.shared_address || look.trusted {
        return None;
    }
    let place = policy.places.as_ref()?.find(look.address?.full())?;
    let elsewhere = place.class.is_some_and(|class| exits.contains(&class));
    place.position.filter(|_| !elsewhere)
}

/// Kilometres along the great circle between two places in degrees (the haversine formula).
pub(crate) fn distance(from: (f64, f64), to: (f64, f64)) -> f64 {
    let radians = |degrees: f64| degrees * std::f64::consts::PI / 180.0;
    let half = |difference: f64| {
        let sine = libm::sin(radians(difference) / 2.0);
        sine * sine
    };
    let across = libm::cos(radians(from.0)) * libm::cos(radians(to.0)) * half(to.1 - from.1);
    2.0 * EARTH * libm::asin(libm::sqrt((half(to.0 - from.0) + across).min(1.0)))
}

/// When the last place was; no event has the time 0.
fn time(cell: &[u32]) -> Option<Timestamp> {
    let millis = u64::from(cell[0]) | u64::from(cell[1]) << 32;
    (millis != 0).then(|| Timestamp::from_millis(millis.cast_signed()))
}

fn parts(degrees: f64) -> u32 {
    (libm::round(degrees * PARTS) as i32).cast_unsigned()
}

fn degrees(parts: u32) -> f64 {
    f64::from(parts.cast_signed()) / PARTS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the table of a globe: a quarter of a meridian is 10,007.5 km; the poles are half of it apart from any side.
    #[test]
    fn distances_are_those_of_a_globe() {
        for (from, to, km) in [
            ((0.0, 0.0), (90.0, 0.0), 10_007.5),
            ((0.0, 0.0), (0.0, 180.0), 20_015.1),
            ((0.0, 179.5), (0.0, -179.5), 111.2),
            ((52.52, 13.405), (48.137, 11.575), 504.4),
            ((51.47, -0.4543), (40.6413, -73.7781), 5_539.7),
            ((10.0, 20.0), (10.0, 20.0), 0.0),
        ] {
            assert!((distance(from, to) - km).abs() < 0.5, "{from:?} {to:?}: {}", distance(from, to));
        }
    }

    #[test]
    fn speed_is_distance_by_time_since_the_last_place() {
        let spec = TravelSpec { window: Span::from_secs(86_400), least_km: 100.0 };
        let at = |secs: i64| Timestamp::from_millis(1_750_000_000_000 + secs * 1000);
        let mut cell = [0; TravelSpec::WORDS];
        let mut note = |secs, here| spec.note(&mut cell, at(secs), here).map(|speed| speed.round() as i64);
        assert_eq!(note(0, (0.0, 0.0)), None);
        assert_eq!(note(3_600, (0.0, 0.5)), Some(0), "56 km are no travel");
        assert_eq!(note(7_200, (0.0, 10.5)), Some(1_112));
        // A late one is held against the newest place, and does not take its place.
        assert_eq!(note(3_600, (0.0, 0.5)), Some(1_112));
        assert_eq!(note(7_200 + 36_000, (0.0, 0.5)), Some(111));
        assert_eq!(note(43_201, (0.0, 10.5)), Some(66_717), "a minute at the least");
        assert_eq!(note(43_201 + 86_400, (0.0, 0.5)), None, "forgotten");
        assert_eq!(note(43_202 + 86_400 + 3_600, (0.0, 0.5)), Some(0));
    }
}
