//! The platform that scenarios play on: people, the networks they come through, what they can act on, and when they
//! are awake.
//!
//! A world is a function of its size, its time and its seed. What is drawn here is drawn for honest people and for
//! attackers by the same generators: ids, names, devices and addresses have one form, so that nobody can be told from
//! another by accident. Nothing here can fail.

pub(in crate::sim) mod articles;
pub(in crate::sim) mod names;
pub(in crate::sim) mod network;
pub(in crate::sim) mod people;
pub(in crate::sim) mod rhythm;

use super::act::person::Manners;
use articles::{Article, Articles};
use people::People;

/// Milliseconds.
pub(in crate::sim) const SECOND: i64 = 1_000;
pub(in crate::sim) const MINUTE: i64 = 60 * SECOND;
pub(in crate::sim) const HOUR: i64 = 60 * MINUTE;
pub(in crate::sim) const DAY: i64 = 24 * HOUR;
/// Younger than this counts as new.
pub(in crate::sim) const NEW: i64 = 7 * DAY;

/// The stretch of event time that is told.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Stretch {
    pub(in crate::sim) start: i64,
    pub(in crate::sim) end: i64,
}

impl Stretch {
    pub(in crate::sim) fn length(self) -> i64 {
        self.end - self.start
    }
}

/// See the module.
pub(in crate::sim) struct World {
    pub(in crate::sim) seed: u64,
    pub(in crate::sim) stretch: Stretch,
    pub(in crate::sim) people: People,
    pub(in crate::sim) articles: Articles,
    pub(in crate::sim) manners: Manners,
}

impl World {
    /// Account number of an article's owner.
    pub(in crate::sim) fn owner(&self, article: Article) -> u32 {
        self.articles.owner(article, self.people.settled)
    }
}
