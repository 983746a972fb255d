//! How fast a key would have had to travel since it was last somewhere.

use super::Model;
use super::condition::Known;
use super::look::Look;
use super::range::Range;
use crate::engine::place::NetworkClass;
use crate::engine::time::{Span, Timestamp};

/// When and where somebody last was, as unit vectors from the middle of the earth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whereabouts {
    at: Timestamp,
    vector: [f64; 3],
}

/// Places are kept to 11 m, and two formulas for a distance round otherwise.
const ROOM: f64 = 0.1;

impl Model {
    pub(super) fn travel(
        &mut self,
        counter: &str,
        key: &str,
        look: &Look,
        (window, least_km): (Span, f64),
        exits: &[NetworkClass],
    ) -> Option<Known> {
        let place = self.policy.places.as_ref()?.find(look.address?.full())?;
        let is_exit = place.class.is_some_and(|class| exits.contains(&class));
        if is_exit || look.trusted || look.shared == Some(true) {
            return None;
        }
        let here = Whereabouts { at: look.at, vector: vector(place.position?) };
        let keys = self.travels.entry(counter.to_owned()).or_default();
        let before = keys.get(key).copied().filter(|before| here.at.since(before.at) < window);
        if before.is_none_or(|before| here.at >= before.at) {
            keys.insert(key.to_owned(), here);
        }
        let before = before?;
        let hours = (here.at.millis().abs_diff(before.at.millis()) as f64 / 3_600_000.0).max(1.0 / 60.0);
        let km = distance(before.vector, here.vector);
        let speed = |km: f64| if km < least_km { 0.0 } else { km / hours };
        Some(Known::Doubles(Range { lo: speed((km - ROOM).max(0.0)), hi: speed(km + ROOM) }))
    }
}

fn vector((latitude, longitude): (f64, f64)) -> [f64; 3] {
    let (sin, cos) = latitude.to_radians().sin_cos();
    let (east, north) = longitude.to_radians().sin_cos();
    [cos * north, cos * east, sin]
}

/// The angle between two vectors, by their chord, on a globe of 6,371 km.
fn distance(one: [f64; 3], other: [f64; 3]) -> f64 {
    let chord: f64 = one.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
    2.0 * (chord / 2.0).min(1.0).asin() * 6_371.0
}
