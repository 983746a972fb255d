//! The truth about events: honest or attack, and which group of which scenario they belong to.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// What an event or account is in truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A person's.
    Honest,
    /// Part of an attack.
    Attack,
}

impl Kind {
    /// Both.
    pub const ALL: [Kind; 2] = [Kind::Honest, Kind::Attack];
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "honest" => Ok(Kind::Honest),
            "attack" => Ok(Kind::Attack),
            _ => Err(UnknownKind(text.chars().take(40).collect())),
        }
    }
}

/// Text that is no label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no label: write honest or attack")]
pub struct UnknownKind(pub String);

/// The label of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// What it is.
    pub kind: Kind,
    /// What the account is in whose name it happened, as far as this event tells: honest where somebody forged it, an
    /// attacker where the account is stolen later.
    pub account: Kind,
    /// Which group it belongs to.
    pub group: GroupId,
}

impl Label {
    /// An event of an account that is what it does.
    pub fn plain(kind: Kind, group: GroupId) -> Self {
        Self { kind, account: kind, group }
    }
}

/// Number of a group in its [`Groups`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// A group of a scenario: accounts or events that belong together. Either name may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The scenario.
    pub scenario: String,
    /// Its name within the scenario.
    pub name: String,
    /// What it is after, where the labels say so.
    pub targets: Vec<String>,
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.scenario.as_str(), self.name.as_str()) {
            ("", "") => f.write_str("(none)"),
            ("", name) | (name, "") => f.write_str(name),
            (scenario, name) => write!(f, "{scenario}/{name}"),
        }
    }
}

/// All groups, in the order of appearance.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    list: Vec<Group>,
    /// By scenario and name.
    numbers: HashMap<String, HashMap<String, GroupId>>,
}

impl Groups {
    /// The number of a group, which is made when it is new.
    pub fn number(&mut self, scenario: &str, name: &str) -> GroupId {
        if let Some(known) = self.numbers.get(scenario).and_then(|names| names.get(name)) {
            return *known;
        }
        let number = GroupId(u32::try_from(self.list.len()).unwrap_or(u32::MAX));
        self.list.push(Group { scenario: scenario.to_owned(), name: name.to_owned(), targets: Vec::new() });
        self.numbers.entry(scenario.to_owned()).or_default().insert(name.to_owned(), number);
        number
    }

    /// Says what a group is after.
    pub fn aim(&mut self, group: GroupId, target: &str) {
        if let Some(group) = self.list.get_mut(group.0 as usize)
            && !group.targets.iter().any(|known| known == target)
        {
            group.targets.push(target.to_owned());
        }
    }

    /// A group.
    pub fn get(&self, group: GroupId) -> Option<&Group> {
        self.list.get(group.0 as usize)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (GroupId, &Group)> {
        self.list.iter().enumerate().map(|(number, group)| (GroupId(number as u32), group))
    }

    /// The scenarios, in the order of appearance.
    pub fn scenarios(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for group in &self.list {
            if !names.contains(&group.scenario.as_str()) {
                names.push(&group.scenario);
            }
        }
        names
    }
}
