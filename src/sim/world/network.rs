//! The networks of a made-up internet, and who hands out which address.
//!
//! Addresses belong to nobody: IPv4 out of 240.0.0.0/4 (reserved by RFC 1112), IPv6 out of 2001:db8::/32 (for
//! documentation, RFC 3849). Blocks of /16 are given to access networks of the home country, mobile carriers,
//! organisations, hosting companies and access networks of forty other countries, so that a table of networks can
//! tell them apart. Addresses of one network land far apart: of 148 open proxies in a public list, 147 were in /24s of
//! their own, in 107 networks and 41 countries (GitHub `mertguvencli/http-proxy-list`, 2022-07-24). None is handed out
//! twice.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::super::dice::{Dice, mix};

/// What a network is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sim) enum Class {
    /// Homes of the country that the platform is at home in.
    Home,
    /// Its mobile carriers.
    Mobile,
    /// Its companies, universities, schools.
    Organisation,
    /// Rented machines, anywhere.
    Hosting,
    /// Homes and carriers of other countries.
    Abroad,
}

/// Blocks of /16 by class: first, how many, and among how many networks.
const PLAN: [(Class, u32, u32, u32); 5] = [
    (Class::Home, 16, 1200, 8),
    (Class::Mobile, 1300, 96, 4),
    (Class::Organisation, 1500, 128, 16),
    (Class::Hosting, 1700, 240, 48),
    (Class::Abroad, 2048, 1920, 120),
];
const BLOCK: u64 = 1 << 16;
/// Odd and prime: steps through a range without meeting an address twice.
const STEP: u64 = 2_654_435_761;

/// A way into the internet, behind which one or many accounts sit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sim) enum Line {
    /// One IPv4 address.
    V4(u32),
    /// A /64 of its own, by its upper 64 bits.
    V6(u64),
}

impl Line {
    /// The address a session shows: IPv6 clients change the lower half from session to session (RFC 8981).
    pub(in crate::sim) fn address(self, dice: &mut Dice) -> IpAddr {
        match self {
            Line::V4(address) => IpAddr::V4(Ipv4Addr::from(address)),
            Line::V6(prefix) => {
                IpAddr::V6(Ipv6Addr::from((u128::from(prefix) << 64) | u128::from(dice.bits())))
            }
        }
    }
}

/// Hands out lines.
pub(in crate::sim) struct Registry {
    key: u64,
    v4: [u64; PLAN.len()],
    v6: u64,
}

impl Registry {
    pub(in crate::sim) fn new(seed: u64) -> Self {
        Self { key: mix(seed, 0x6e65_7473), v4: [0; PLAN.len()], v6: 0 }
    }

    /// A fresh IPv4 address in any network of a class.
    pub(in crate::sim) fn v4(&mut self, class: Class) -> Line {
        let at = PLAN.iter().position(|plan| plan.0 == class).unwrap_or(0);
        let (_, first, blocks, _) = PLAN[at];
        let size = u64::from(blocks) * BLOCK;
        let given = self.v4[at];
        self.v4[at] += 1;
        let place = (given.wrapping_mul(STEP) % size + self.key % size) % size;
        let address = 0xF000_0000 | (u64::from(first) * BLOCK + place);
        Line::V4(address as u32)
    }

    /// A fresh IPv6 /64 of a home or a mobile carrier.
    pub(in crate::sim) fn v6(&mut self, class: Class) -> Line {
        self.v6 += 1;
        let network = u64::from(class == Class::Mobile) << 31;
        Line::V6(
            0x2001_0db8_0000_0000 | network | (mix(self.key, self.v6) & 0x7f80_0000) | (self.v6 & 0x7f_ffff),
        )
    }

    /// The address that a home has on a day, in the networks of homes. Homes may meet: what one had yesterday
    /// another has today.
    pub(in crate::sim) fn of_the_day(&self, home: u64, day: i64) -> Line {
        let (_, first, blocks, _) = PLAN[0];
        let place = mix(home ^ self.key, day.unsigned_abs()) % (u64::from(blocks) * BLOCK);
        Line::V4((0xF000_0000 | (u64::from(first) * BLOCK + place)) as u32)
    }

    /// Exits that somebody buys to hide behind: of five, three are homes abroad, one is a rented machine and one a
    /// home in the country.
    pub(in crate::sim) fn proxy(&mut self, dice: &mut Dice) -> Line {
        self.v4(*dice.pick(&[Class::Abroad, Class::Abroad, Class::Abroad, Class::Hosting, Class::Home]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::dice::Stream;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn lines_are_distinct_spread_and_reserved() {
        let mut registry = Registry::new(3);
        let mut dice = Dice::new(3, Stream::Scheme);
        let lines: BTreeSet<_> = (0..20_000).map(|_| registry.proxy(&mut dice)).collect();
        assert_eq!(lines.len(), 20_000);
        let nets: BTreeSet<_> = lines.iter().take(148).map(|line| {
            let Line::V4(address) = line else { panic!("an IPv4 line was asked for") };
            assert!(address >> 28 == 0xF && *address != u32::MAX);
            address >> 8
        });
        let nets: BTreeSet<_> = nets.collect();
        assert!(nets.len() >= 146, "{} /24s of 148", nets.len());
        let v6: BTreeSet<_> = (0..100_000).map(|_| registry.v6(Class::Home)).collect();
        assert_eq!(v6.len(), 100_000);
    }
}
