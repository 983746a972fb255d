//! Who acted: the user, or the address where there is none. Names are kept of few; all others are hashes.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::engine::address::Address;
use crate::engine::event::Event;

/// Who acted in one event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Actor<'e> {
    /// Tells actors apart.
    pub(super) hash: u64,
    user: Option<&'e str>,
    address: Option<Address>,
}

/// The name of an actor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// A user.
    User(String),
    /// An address, of somebody without a user.
    Address(String),
    /// What somebody acted on.
    Target(String),
}

impl<'e> Actor<'e> {
    pub(super) fn of(event: &'e Event<'_>, address: Option<Address>) -> Self {
        let user = event.user.as_deref();
        let hash = match (user, &address) {
            (Some(user), _) => xxh3_64(user.as_bytes()),
            (None, Some(address)) => xxh3_64_with_seed(&address.key_bytes(), 1),
            (None, None) => 0,
        };
        Self { hash, user, address }
    }

    pub(super) fn name(&self) -> Name {
        match (self.user, self.address) {
            (Some(user), _) => Name::User(user.to_owned()),
            (None, Some(address)) => Name::Address(address.to_string()),
            (None, None) => Name::Address(String::new()),
        }
    }
}

/// Whether addresses and devices are shown in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mask {
    /// Only so much of them that two can be told apart roughly.
    #[default]
    Masked,
    /// In full.
    Plain,
}

impl Mask {
    /// A name. Users and targets are shown: a report is about them.
    pub fn name(self, name: &Name) -> String {
        match name {
            Name::User(name) | Name::Target(name) => name.clone(),
            Name::Address(address) => self.address(address),
        }
    }

    /// An address: the first half of an IPv4 address, the first two groups of an IPv6 one.
    pub fn address(self, address: &str) -> String {
        let half = |by: char, rest: &str| {
            let parts: Vec<&str> = address.split(by).take(2).collect();
            format!("{}{rest}", parts.join(&by.to_string()))
        };
        match self {
            Mask::Plain => address.to_owned(),
            Mask::Masked if address.is_empty() => String::new(),
            Mask::Masked if address.contains(':') => half(':', ":*"),
            Mask::Masked => half('.', ".*.*"),
        }
    }

    /// A device: a few digits of a hash, the same for the same device.
    pub fn device(self, device: &str) -> String {
        match self {
            Mask::Plain => device.to_owned(),
            Mask::Masked if device.is_empty() => String::new(),
            Mask::Masked => format!("device-{:08x}", xxh3_64(device.as_bytes()) as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_devices_are_masked_and_users_are_not() {
        let masked = Mask::default();
        assert_eq!(masked.address("198.51.100.7"), "198.51.*.*");
        assert_eq!(masked.address("2001:db8:1:2::/64"), "2001:db8:*");
        assert_eq!(masked.name(&Name::User("ann".into())), "ann");
        let device = masked.device("serial-4711");
        assert!(!device.contains("4711") && device == masked.device("serial-4711"), "{device}");
        assert_eq!(Mask::Plain.address("198.51.100.7"), "198.51.100.7");
    }
}
