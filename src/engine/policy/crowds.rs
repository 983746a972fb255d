//! What a policy says about those who act on one target together.

use std::sync::Arc;

use crate::engine::decision::ReasonSource;
use crate::engine::time::Span;

/// What is watched, and from when on.
#[derive(Clone, Debug, PartialEq)]
pub struct Crowds {
    /// The windows in which people on a target are counted, by ascending length; 1 to 3. Key and filter of their signals,
    /// which are the same, say what is watched.
    pub people: Vec<People>,
    /// The signal that counts the people behind an address (index).
    pub address_users: Option<usize>,
    /// Names of the device attributes that are compared.
    pub device: Vec<String>,
    /// Nicknames and avatars that are compared.
    pub persona: Option<Persona>,
    /// From how many people on.
    pub gate: Gate,
    /// Memory for crowds, gates and ordinary actors, in bytes.
    pub budget: u64,
    /// When a crowd is established, and what it is called then.
    pub campaign: Campaigns,
    /// The reason that carries the higher prior of an account in a suspicious crowd.
    pub prior: Arc<ReasonSource>,
    /// The reason of a correction that stands for what was known before.
    pub before: Arc<ReasonSource>,
}

impl Crowds {
    /// The longest window.
    pub fn longest(&self) -> Span {
        self.people.iter().map(|people| people.window).max().unwrap_or_default()
    }
}

/// Where events tell how an account calls itself and looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Persona {
    /// Its nickname.
    pub nickname: Option<OpenAttribute>,
    /// Its avatar, by a hash of the picture.
    pub avatar: Option<OpenAttribute>,
}

/// An attribute that no schema knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenAttribute {
    /// Of the account.
    OfAccount(String),
    /// Of the event.
    OfEvent(String),
}

/// The people on a target in one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct People {
    /// The signal that counts them (index).
    pub signal: usize,
    /// Its window.
    pub window: Span,
    /// A gate does not open before there are so many.
    pub least: u64,
}

/// From how many people on a target is looked at them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// Not before there are so many times ...
    pub times: f64,
    /// ... this quantile of what targets have.
    pub quantile: f64,
}

/// When a crowd is established.
#[derive(Clone, Debug, PartialEq)]
pub struct Campaigns {
    /// It has so many members.
    pub members: usize,
    /// Public code and text.
    pub info: Arc<ReasonSource>,
    /// What is proposed, for people.
    pub proposal: String,
}
