//! Places: where addresses are, by a table of networks that is one of the policy's files.
//!
//! Networks nest; the longest prefix holds. So they are laid out once as ranges that do not overlap, sorted, and found by
//! binary search; for IPv4 within those that begin with the same sixteen bits. What the table does not say is unknown.

mod read;
pub(crate) mod travel;

pub(crate) use self::read::read;

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use super::expr::Slot;

/// What the table says of one network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// Two upper-case letters.
    pub country: Option<Box<str>>,
    /// The city.
    pub city: Option<Box<str>>,
    /// Latitude and longitude, in degrees.
    pub position: Option<(f64, f64)>,
    /// What kind of network it is.
    pub class: Option<NetworkClass>,
}

/// What a place is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlaceField {
    /// `ip.country`
    Country,
    /// `ip.city`
    City,
    /// `ip.network_class`
    NetworkClass,
}

impl PlaceField {
    /// All of them.
    pub const ALL: [PlaceField; 3] = [PlaceField::Country, PlaceField::City, PlaceField::NetworkClass];

    /// As expressions and keys name it.
    pub const fn name(self) -> &'static str {
        match self {
            PlaceField::Country => "ip.country",
            PlaceField::City => "ip.city",
            PlaceField::NetworkClass => "ip.network_class",
        }
    }
}

impl Place {
    /// One field of it.
    pub fn text(&self, field: PlaceField) -> Option<&str> {
        match field {
            PlaceField::Country => self.country.as_deref(),
            PlaceField::City => self.city.as_deref(),
            PlaceField::NetworkClass => self.class.map(NetworkClass::name),
        }
    }
}

/// Kinds of networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkClass {
    /// Homes.
    Residential,
    /// Companies.
    Business,
    /// Schools and universities.
    Education,
    /// Phones, behind the exits of a carrier.
    Mobile,
    /// Data centres.
    Hosting,
    /// Exits of virtual private networks, and other relays.
    Vpn,
}

impl NetworkClass {
    /// All of them.
    pub const ALL: [NetworkClass; 6] = [
        NetworkClass::Residential,
        NetworkClass::Business,
        NetworkClass::Education,
        NetworkClass::Mobile,
        NetworkClass::Hosting,
        NetworkClass::Vpn,
    ];

    /// As tables and policies name it.
    pub const fn name(self) -> &'static str {
        match self {
            NetworkClass::Residential => "residential",
            NetworkClass::Business => "business",
            NetworkClass::Education => "education",
            NetworkClass::Mobile => "mobile",
            NetworkClass::Hosting => "hosting",
            NetworkClass::Vpn => "vpn",
        }
    }
}

impl fmt::Display for NetworkClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The whole table.
#[derive(Debug, Default)]
pub struct Places {
    /// Which edition of the table it is, for people.
    pub version: String,
    rows: Vec<Place>,
    v4: Ranges<u32>,
    /// By the first sixteen bits of an IPv4 address: the last range that begins at or before them.
    heads: Vec<u32>,
    v6: Ranges<u128>,
}

/// Where each range begins, and its row; a range ends where the next one begins.
#[derive(Debug, Default)]
struct Ranges<A> {
    begins: Vec<A>,
    rows: Vec<Option<u32>>,
}

impl Places {
    /// A table of these networks, no two of which are the same.
    pub fn new(version: String, networks: Vec<(IpNet, Place)>) -> Self {
        let (mut v4, mut v6, mut rows) = (Vec::new(), Vec::new(), Vec::with_capacity(networks.len()));
        for (network, place) in networks {
            let row = rows.len() as u32;
            rows.push(place);
            match network {
                IpNet::V4(net) => v4.push((net.network().to_bits(), net.broadcast().to_bits(), row)),
                IpNet::V6(net) => v6.push((net.network().to_bits(), net.broadcast().to_bits(), row)),
            }
        }
        let v4 = Ranges::of(v4, |end: u32| end.checked_add(1));
        let last =
            |head: u32| v4.begins.partition_point(|begin| *begin <= head << 16).saturating_sub(1) as u32;
        let heads = if v4.begins.is_empty() { Vec::new() } else { (0..=0xffff).map(last).collect() };
        Self { version, rows, heads, v4, v6: Ranges::of(v6, |end: u128| end.checked_add(1)) }
    }

    /// What is known of an address.
    pub fn find(&self, address: IpAddr) -> Option<&Place> {
        let row = match address {
            IpAddr::V4(v4) => {
                let (bits, head) = (v4.to_bits(), (v4.to_bits() >> 16) as usize);
                let first = *self.heads.get(head)? as usize;
                let end = self.heads.get(head + 1).map_or(self.v4.begins.len(), |next| *next as usize + 1);
                self.v4.find(bits, first, end)
            }
            IpAddr::V6(v6) => self.v6.find(v6.to_bits(), 0, self.v6.begins.len()),
        };
        self.rows.get(row? as usize)
    }

    /// How many networks it has.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl<A: Copy + Ord> Ranges<A> {
    /// Ranges that nest or are apart, as ranges one after the other.
    fn of(mut nested: Vec<(A, A, u32)>, after: impl Fn(A) -> Option<A>) -> Self {
        nested.sort_by_key(|(begin, end, _)| (*begin, std::cmp::Reverse(*end)));
        let mut flat = Ranges { begins: Vec::new(), rows: Vec::new() };
        let mut open: Vec<(A, u32)> = Vec::new();
        for (begin, end, row) in nested {
            flat.close(&mut open, |inner| inner < begin, &after);
            flat.push(begin, Some(row));
            open.push((end, row));
        }
        flat.close(&mut open, |_| true, &after);
        flat
    }

    /// Where an open range ends, the one around it goes on.
    fn close(
        &mut self,
        open: &mut Vec<(A, u32)>,
        is_over: impl Fn(A) -> bool,
        after: impl Fn(A) -> Option<A>,
    ) {
        while let Some((end, _)) = open.pop_if(|(end, _)| is_over(*end)) {
            if let Some(next) = after(end) {
                self.push(next, open.last().map(|(_, row)| *row));
            }
        }
    }

    fn push(&mut self, begin: A, row: Option<u32>) {
        if self.begins.last() == Some(&begin) {
            self.begins.pop();
            self.rows.pop();
        }
        self.begins.push(begin);
        self.rows.push(row);
    }

    /// The row of an address, by the ranges of these numbers.
    fn find(&self, address: A, first: usize, end: usize) -> Option<u32> {
        let place = self.begins.get(first..end)?.partition_point(|begin| *begin <= address);
        self.rows[first + place.checked_sub(1)?]
    }
}

/// Fills the slots that the policy reads.
pub(crate) fn fill<'e>(fields: &[(usize, PlaceField)], place: Option<&'e Place>, slots: &mut [Slot<'e>]) {
    for (slot, field) in fields {
        slots[*slot] = place.and_then(|place| place.text(*field)).map_or(Slot::Unknown, Slot::Text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn city(name: &str) -> Place {
        Place { city: Some(name.into()), ..Place::default() }
    }

    fn found(places: &Places, address: &str) -> Option<String> {
        let place = places.find(address.parse().expect("an address"))?;
        place.city.as_deref().map(str::to_owned)
    }

    #[test]
    fn the_longest_prefix_holds_and_outside_of_all_nothing_is_known() {
        let rows = [
            ("0.0.0.0/8", "zero"),
            ("192.0.2.0/24", "wide"),
            ("192.0.2.64/26", "narrow"),
            ("192.0.2.64/32", "one"),
            ("192.0.2.128/25", "right"),
            ("255.255.255.0/24", "last"),
            ("2001:db8::/32", "six"),
            ("2001:db8:1::/48", "six narrow"),
        ];
        let networks = rows.iter().rev().map(|(net, name)| (net.parse().expect("a network"), city(name)));
        let places = Places::new("1".into(), networks.collect());
        for (address, expected) in [
            ("0.0.0.0", Some("zero")),
            ("0.255.255.255", Some("zero")),
            ("1.0.0.0", None),
            ("192.0.1.255", None),
            ("192.0.2.0", Some("wide")),
            ("192.0.2.63", Some("wide")),
            ("192.0.2.64", Some("one")),
            ("192.0.2.65", Some("narrow")),
            ("192.0.2.127", Some("narrow")),
            ("192.0.2.128", Some("right")),
            ("192.0.2.255", Some("right")),
            ("192.0.3.0", None),
            ("255.255.254.255", None),
            ("255.255.255.255", Some("last")),
            ("2001:db7::1", None),
            ("2001:db8::1", Some("six")),
            ("2001:db8:1::1", Some("six narrow")),
            ("2001:db8:2::1", Some("six")),
            ("2001:db9::", None),
        ] {
            assert_eq!(found(&places, address).as_deref(), expected, "{address}");
        }
        assert_eq!((places.len(), found(&Places::default(), "192.0.2.1")), (8, None));
    }

    /// Random networks, each address held against all of them one by one.
    #[test]
    fn it_finds_what_looking_through_all_networks_finds() {
        let mut state = 7_u64;
        let mut draw = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let mut networks: Vec<(IpNet, Place)> = Vec::new();
        while networks.len() < 400 {
            let bits = (draw(6) as u32) << 29 | (draw(1 << 12) as u32) << 8 | draw(256) as u32;
            let net = ipnet::Ipv4Net::new(bits.into(), 4 + draw(29) as u8).expect("a prefix").trunc();
            if networks.iter().all(|(known, _)| *known != IpNet::V4(net)) {
                networks.push((net.into(), city(&net.to_string())));
            }
        }
        let places = Places::new(String::new(), networks.clone());
        for _ in 0..20_000 {
            let address = IpAddr::V4(((draw(6) as u32) << 29 | draw(1 << 20) as u32).into());
            let holding = networks.iter().filter(|(net, _)| net.contains(&address));
            let longest = holding.max_by_key(|(net, _)| net.prefix_len()).map(|(_, place)| place);
            assert_eq!(places.find(address), longest, "{address}");
        }
    }
}
