//! The JSON of a reason that is the same each time its source speaks: all but its numbers and its verdict.
//!
//! A policy has some dozens of sources and most decisions name the same few, so their texts are quoted once and copied from
//! then on. A place holds one source; another one that falls on it takes it over. What is written does not depend on what is
//! held.

use std::sync::Arc;

use crate::engine::decision::ReasonSource;
use crate::wire::json::{optional, raw, text};
use crate::wire::quantity::Millis;

/// Places, as a power of two: 64.
const PLACES_BITS: u32 = 6;

/// What was written of sources.
#[derive(Debug)]
pub(super) struct Fragments {
    places: Vec<Option<Fragment>>,
}

/// The constant JSON of one source.
#[derive(Debug)]
pub(super) struct Fragment {
    /// Held, so that no other source can have its address.
    source: Arc<ReasonSource>,
    json: Vec<u8>,
    /// Where the points belong.
    points: usize,
    /// Where what was measured belongs.
    measured: usize,
}

impl Default for Fragments {
    fn default() -> Self {
        Self { places: (0..1 << PLACES_BITS).map(|_| None).collect() }
    }
}

impl Fragments {
    /// The JSON of a source.
    pub(super) fn of(&mut self, source: &Arc<ReasonSource>) -> &Fragment {
        let place = &mut self.places[place_of(source)];
        let known = place.take().filter(|known| Arc::ptr_eq(&known.source, source));
        place.insert(known.unwrap_or_else(|| Fragment::new(source)))
    }
}

fn place_of(source: &Arc<ReasonSource>) -> usize {
    let address = Arc::as_ptr(source).addr() as u64;
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PLACES_BITS)) as usize
}

impl Fragment {
    fn new(source: &Arc<ReasonSource>) -> Self {
        let mut json = Vec::new();
        text(&mut json, r#"{"code":"#, &source.code);
        text(&mut json, r#","family":"#, &source.family);
        text(&mut json, r#","text":"#, &source.text);
        raw(&mut json, r#","points":"#);
        let points = json.len();
        text(&mut json, r#","detail":{"id":"#, &source.id);
        let measured = json.len();
        optional(&mut json, r#","window_ms":"#, source.window.map(Millis::from));
        Self { source: Arc::clone(source), json, points, measured }
    }

    /// What comes before the points.
    pub(super) fn before_points(&self) -> &[u8] {
        &self.json[..self.points]
    }

    /// What comes between the points and what was measured.
    pub(super) fn before_measured(&self) -> &[u8] {
        &self.json[self.points..self.measured]
    }

    /// What comes after what was measured.
    pub(super) fn after_measured(&self) -> &[u8] {
        &self.json[self.measured..]
    }
}
