//! The scenarios: one file each, all over honest traffic that begins an hour or more before.
//!
//! A scenario plans on a [`Setting`]: who there is, who is recruited, what the recruited do when. Sizes are those of
//! scale 1. Attackers and the honest crowds that look like them are made by the same calls.

mod echo;
mod honest;
mod recruit;
mod setting;

pub(in crate::sim) use setting::{Gang, Setting};

/// A scenario that can be told.
#[derive(Debug)]
pub struct Entry {
    /// Its name on the command line and in labels.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    pub(in crate::sim) plan: fn(&mut Setting),
}

/// All there are, attacks first.
pub const ALL: [Entry; 2] = [
    Entry { name: "echo", about: echo::ABOUT, plan: echo::plan },
    Entry { name: "honest", about: honest::ABOUT, plan: honest::plan },
];

/// The scenario of this name.
pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}
