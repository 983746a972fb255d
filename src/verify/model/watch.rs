//! Observation pools: two of three conditions watch an entity, the third bans it.

use crate::engine::policy::Observation;
use crate::engine::time::Timestamp;

/// One entity in one pool.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    /// When each condition last held.
    signs: [Option<Timestamp>; 3],
    /// The condition that is waited for, and until when.
    watched: Option<(usize, Timestamp)>,
    /// When it came.
    thirds: Vec<Timestamp>,
    /// What the engine knows of it cannot be told from outside: a condition was undecided.
    pub(super) unsure: bool,
}

impl Watch {
    /// Notes which conditions hold; true when the entity is to be banned now.
    pub(super) fn note(&mut self, pool: &Observation, holds: [bool; 3], at: Timestamp) -> bool {
        if holds == [false; 3] {
            return false;
        }
        if self.watched.is_some_and(|(_, until)| until <= at) {
            *self = Self { unsure: self.unsure, ..Self::default() };
        }
        if let Some((third, _)) = self.watched {
            if holds[third] {
                self.thirds.retain(|earlier| at.since(*earlier) < pool.within);
                self.thirds.push(at);
            }
            return holds[third] && self.thirds.len() >= pool.times as usize;
        }
        for (sign, _) in self.signs.iter_mut().zip(holds).filter(|(_, holds)| *holds) {
            *sign = Some(at);
        }
        let recent = self.signs.map(|sign| sign.is_some_and(|sign| at.since(sign) < pool.watch));
        let missing: Vec<usize> = (0..3).filter(|index| !recent[*index]).collect();
        match missing.as_slice() {
            [] => self.watched = Some((2, at.after(pool.watch))),
            [third] => self.watched = Some((*third, at.after(pool.watch))),
            _ => {}
        }
        false
    }
}
