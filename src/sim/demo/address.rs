//! Addresses that belong to nobody: IPv4 out of 240.0.0.0/4 (reserved by RFC 1112), IPv6 out of 2001:db8::/32 (for
//! documentation, RFC 3849).
//!
//! Lines are handed out one after the other and land far apart, so that neither homes nor proxies cluster: of 148
//! addresses in a public list of open proxies, 147 were in /24s of their own (GitHub `mertguvencli/http-proxy-list`,
//! 2022-07-24). No line is handed out twice.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::super::dice::{Dice, scatter};

/// A way into the internet, behind which one or many accounts sit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Line {
    /// One IPv4 address: a home, an exit of a company, campus or carrier, or a proxy.
    V4(Ipv4Addr),
    /// A /64 of its own, by its upper 64 bits.
    V6(u64),
}

impl Line {
    /// The address a session shows: IPv6 clients change the lower half from session to session (RFC 8981).
    pub(super) fn address(self, dice: &mut Dice) -> IpAddr {
        match self {
            Line::V4(address) => IpAddr::V4(address),
            Line::V6(prefix) => {
                IpAddr::V6(Ipv6Addr::from((u128::from(prefix) << 64) | u128::from(dice.bits())))
            }
        }
    }
}

/// Hands out lines.
#[derive(Default)]
pub(super) struct Registry {
    v4: u64,
    v6: u64,
}

impl Registry {
    /// A fresh IPv4 address.
    pub(super) fn v4(&mut self) -> Line {
        self.v4 += 1;
        Line::V4(Ipv4Addr::from(0xF000_0000 | scatter(self.v4, 28) as u32))
    }

    /// A fresh IPv6 /64.
    pub(super) fn v6(&mut self) -> Line {
        self.v6 += 1;
        Line::V6(0x2001_0db8_0000_0000 | scatter(self.v6, 32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn lines_are_distinct_spread_and_reserved() {
        let mut registry = Registry::default();
        let lines: BTreeSet<_> = (0..5000).map(|_| registry.v4()).collect();
        assert_eq!(lines.len(), 5000);
        let nets: BTreeSet<_> = lines
            .iter()
            .map(|line| match line {
                Line::V4(a) => {
                    assert!(a.octets()[0] >= 240 && !a.is_broadcast(), "{a}");
                    [a.octets()[0], a.octets()[1], a.octets()[2]]
                }
                Line::V6(_) => panic!("an IPv4 line was asked for"),
            })
            .collect();
        assert!(nets.len() > 4900, "{} /24s", nets.len());
        assert_ne!(registry.v6(), registry.v6());
    }
}
