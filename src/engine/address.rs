//! Addresses as keys: IPv4 whole, IPv6 by prefix, IPv4-mapped IPv6 unwrapped, forwarded lists read as far as trusted.
//!
//! What cannot be read is no address: never a guess, never the leftmost entry of a forwarded list, which anyone can
//! write.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::event::Event;

/// A normalised address: what bans, limits and decisions speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The full address, before the prefix is applied.
    full: IpAddr,
    /// Prefix length by which an IPv6 address counts; 32 for IPv4.
    prefix: u8,
}

impl Address {
    /// Reads one address: bare, with a port (`10.0.0.1:443`, `[2001:db8::1]:443`) or in brackets.
    pub fn parse(text: &str, ipv6_prefix: u8) -> Option<Self> {
        let full = parse_ip(text.trim())?;
        let prefix = if full.is_ipv4() { 32 } else { ipv6_prefix.min(128) };
        Some(Self { full, prefix })
    }

    /// The acting address of an event. With `trusted_hops` proxies of ours in front, it is the entry that the
    /// outermost of them wrote: the `trusted_hops`-th from the right of the forwarded list. A list that is too short
    /// or has rubbish at that place gives none.
    pub fn of(event: &Event<'_>, trusted_hops: usize, ipv6_prefix: u8) -> Option<Self> {
        match (&event.forwarded_for, trusted_hops) {
            (Some(list), hops @ 1..) => Self::parse(list.rsplit(',').nth(hops - 1)?, ipv6_prefix),
            _ => Self::parse(event.ip.as_deref()?, ipv6_prefix),
        }
    }

    /// The same address counted by another IPv6 prefix.
    pub fn with_prefix(self, ipv6_prefix: u8) -> Self {
        let prefix = if self.full.is_ipv4() { 32 } else { ipv6_prefix.min(128) };
        Self { prefix, ..self }
    }

    /// The full address, before any prefix is applied.
    pub fn full(self) -> IpAddr {
        self.full
    }

    /// Its four bytes, when it is IPv4.
    pub fn ipv4(self) -> Option<[u8; 4]> {
        match self.full {
            IpAddr::V4(v4) => Some(v4.octets()),
            IpAddr::V6(_) => None,
        }
    }

    /// Whether the full address lies in one of the networks.
    pub fn within(self, networks: &[IpNet]) -> bool {
        networks.iter().any(|network| network.contains(&self.full))
    }

    /// Sixteen bytes and the prefix length: the same for every spelling of the address.
    pub fn key_bytes(self) -> [u8; 17] {
        let mut bytes = [0; 17];
        let bits = match self.full {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
            IpAddr::V6(v6) => masked(v6, self.prefix).to_bits(),
        };
        bytes[..16].copy_from_slice(&bits.to_be_bytes());
        bytes[16] = self.prefix;
        bytes
    }
}

/// `198.51.100.7`, or `2001:db8:1:2::/64`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.full {
            IpAddr::V4(v4) => v4.fmt(f),
            IpAddr::V6(v6) if self.prefix == 128 => v6.fmt(f),
            IpAddr::V6(v6) => write!(f, "{}/{}", masked(v6, self.prefix), self.prefix),
        }
    }
}

fn masked(address: Ipv6Addr, prefix: u8) -> Ipv6Addr {
    let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
    Ipv6Addr::from_bits(address.to_bits() & mask)
}

fn parse_ip(text: &str) -> Option<IpAddr> {
    let ip = match text.strip_prefix('[') {
        Some(rest) => {
            let (inside, after) = rest.split_once(']')?;
            if !(after.is_empty() || is_port(after)) {
                return None;
            }
            IpAddr::V6(inside.parse().ok()?)
        }
        None => text.parse().ok().or_else(|| v4_with_port(text))?,
    };
    Some(ip.to_canonical())
}

fn v4_with_port(text: &str) -> Option<IpAddr> {
    let (host, port) = text.split_once(':')?;
    let host: Ipv4Addr = host.parse().ok()?;
    port.parse::<u16>().ok().map(|_| IpAddr::V4(host))
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        Address::parse(text, 64).map(|address| address.to_string())
    }

    #[test]
    fn spellings_of_one_address_are_one_address() {
        for text in ["203.0.113.5", " 203.0.113.5 ", "203.0.113.5:443", "::ffff:203.0.113.5"] {
            assert_eq!(shown(text).as_deref(), Some("203.0.113.5"), "{text}");
        }
        for text in ["2001:db8:1:2::1", "[2001:db8:1:2::1]", "[2001:db8:1:2::9]:443"] {
            assert_eq!(shown(text).as_deref(), Some("2001:db8:1:2::/64"), "{text}");
        }
        for text in
            ["", "unknown", "garbage", "10.0.0.1:x", "[2001:db8::1]x", "1.2.3", "203.0.113.5, 1.1.1.1"]
        {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    fn forwarded(list: &str, hops: usize) -> Option<String> {
        let event = Event {
            ip: Some("192.0.2.1".into()),
            forwarded_for: Some(list.to_owned().into()),
            ..Event::default()
        };
        Address::of(&event, hops, 64).map(|address| address.to_string())
    }

    #[test]
    fn forwarded_lists_are_read_from_the_right_and_never_guessed() {
        let cases = [
            ("9.9.9.9, 203.0.113.5", 1, Some("203.0.113.5")),
            ("garbage, 203.0.113.5", 1, Some("203.0.113.5")),
            ("203.0.113.5, garbage", 1, None),
            ("1.1.1.1", 1, Some("1.1.1.1")),
            ("1.1.1.1", 2, None),
            ("unknown", 1, None),
            ("9.9.9.9, 203.0.113.5, 10.0.0.1", 2, Some("203.0.113.5")),
            ("10.0.0.1:443", 1, Some("10.0.0.1")),
            ("9.9.9.9", 0, Some("192.0.2.1")),
        ];
        for (list, hops, expected) in cases {
            assert_eq!(forwarded(list, hops).as_deref(), expected, "{list} with {hops}");
        }
    }

    #[test]
    fn prefixes_count_apart() {
        let one = Address::parse("2001:db8:1:2::1", 64).expect("valid");
        let other = Address::parse("2001:db8:1:3::1", 64).expect("valid");
        assert_ne!(one.key_bytes(), other.key_bytes());
        assert_eq!(one.with_prefix(56).key_bytes(), other.with_prefix(56).key_bytes());
        assert_ne!(one.with_prefix(56).key_bytes(), one.with_prefix(48).key_bytes());
        assert_eq!(one.with_prefix(0).to_string(), "::/0");
    }

    #[test]
    fn trusted_networks_hold_every_spelling() {
        let trusted: Vec<IpNet> =
            ["127.0.0.0/8", "10.0.0.0/8"].iter().map(|n| n.parse().expect("valid")).collect();
        for (text, inside) in [("127.0.0.53", true), ("::ffff:10.1.2.3", true), ("198.51.100.1", false)] {
            assert_eq!(Address::parse(text, 64).expect("valid").within(&trusted), inside, "{text}");
        }
    }
}
