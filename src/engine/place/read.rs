//! The table as a file: `cidr,country,city,latitude,longitude,network_class`, one network a line.
//!
//! The first line names the edition: `# version: 2026-11-30`. Further lines that begin with `#` are comments. A field may
//! stand in double quotes, a quote in it twice. Networks of IPv4 that are written as IPv6 are taken as what they are, as
//! addresses of events are. Everything that is wrong is told, with line and column.

use std::collections::HashMap;

use ipnet::{IpNet, Ipv4Net};

use super::{NetworkClass, Place, Places};
use crate::engine::policy::nearest::did_you_mean;
use crate::engine::policy::problem::Report;
use crate::engine::policy::source::Position;

const HEAD: &str = "cidr,country,city,latitude,longitude,network_class";
const FIELDS: usize = 6;
/// More problems of one table than this are not told.
const TOLD_MAX: usize = 20;

/// Reads the table in file number `file`; problems go to the report.
pub(crate) fn read(file: usize, text: &str, report: &Report<'_>) -> Option<Places> {
    let begin = report.sources().position(file, 0);
    let mut table = Table { report, told: 0, line: 0, known: HashMap::new(), networks: Vec::new() };
    let (mut version, mut headed) = (None, false);
    let (mut at, text) =
        text.strip_prefix('\u{feff}').map_or((0, text), |rest| (text.len() - rest.len(), rest));
    for line in text.split_inclusive('\n') {
        let here = begin + at;
        at += line.len();
        table.line += 1;
        let line = line.trim_end_matches(['\n', '\r']);
        match line.strip_prefix('#') {
            Some(words) if version.is_none() => {
                version = words.trim().strip_prefix("version:").map(str::trim);
            }
            Some(_) => {}
            None if line.trim().is_empty() => {}
            None if !headed => {
                headed = true;
                if line != HEAD {
                    table.error(
                        here,
                        "the first line is not the names of the fields".into(),
                        Some(format!("write `{HEAD}`")),
                    );
                }
            }
            None => table.row(here, line),
        }
    }
    let Some(version) = version.filter(|version| !version.is_empty()) else {
        let suggestion = Some("begin it with `# version: 2026-11-30`".to_owned());
        table.error(begin, "the table does not say which edition it is".into(), suggestion);
        return None;
    };
    if table.networks.is_empty() && table.told == 0 {
        table.error(begin, "the table has no network".into(), Some(format!("begin with the line `{HEAD}`")));
    }
    (table.told == 0).then(|| Places::new(version.to_owned(), table.networks))
}

struct Table<'r> {
    report: &'r Report<'r>,
    told: usize,
    /// The number of the line that is read.
    line: usize,
    /// In which line each network stands.
    known: HashMap<IpNet, usize>,
    networks: Vec<(IpNet, Place)>,
}

/// A field and where it begins.
struct Field<'l> {
    at: Position,
    text: std::borrow::Cow<'l, str>,
}

impl Table<'_> {
    fn error(&mut self, at: Position, message: String, suggestion: Option<String>) {
        self.told += 1;
        if self.told <= TOLD_MAX {
            self.report.error_with(at, message, suggestion);
        }
    }

    fn row(&mut self, at: Position, line: &str) {
        let fields = match fields(at, line) {
            Ok(fields) => fields,
            Err((at, fault)) => return self.error(at, fault.into(), None),
        };
        let [cidr, country, city, latitude, longitude, class] = match <[Field<'_>; FIELDS]>::try_from(fields)
        {
            Ok(fields) => fields,
            Err(fields) => {
                let message = format!("{} fields; a network has {FIELDS}", fields.len());
                return self.error(at, message, Some(format!("write `{HEAD}`, unknown ones empty")));
            }
        };
        let network = self.network(&cidr);
        let place = Place {
            country: self.country(&country),
            city: known(&city).map(Into::into),
            position: self.position(&latitude, &longitude),
            class: self.class(&class),
        };
        self.networks.extend(network.map(|network| (network, place)));
    }

    fn network(&mut self, field: &Field<'_>) -> Option<IpNet> {
        let network: Option<IpNet> = field.text.trim().parse().ok();
        match network {
            None => self.error(
                field.at,
                format!("`{}` is no network", field.text),
                Some("write `192.0.2.0/24`".into()),
            ),
            Some(network) if network.addr() != network.network() => {
                let message = format!("`{}` has bits beyond its prefix", field.text);
                self.error(field.at, message, Some(format!("write `{}`", network.trunc())));
            }
            Some(network) => match self.known.insert(unmapped(network), self.line) {
                Some(line) => {
                    self.error(field.at, format!("`{network}` stands in line {line} already"), None);
                }
                None => return Some(unmapped(network)),
            },
        }
        None
    }

    fn country(&mut self, field: &Field<'_>) -> Option<Box<str>> {
        let code = known(field)?;
        if code.len() != 2 || !code.bytes().all(|byte| byte.is_ascii_uppercase()) {
            let message = format!("`{code}` is no country code: two upper-case letters, as in ISO 3166");
            self.error(field.at, message, None);
        }
        Some(code.into())
    }

    fn class(&mut self, field: &Field<'_>) -> Option<NetworkClass> {
        let word = known(field)?;
        let class = NetworkClass::ALL.into_iter().find(|class| class.name() == word);
        if class.is_none() {
            let names = NetworkClass::ALL.map(NetworkClass::name);
            let suggestion =
                did_you_mean(word, &names).or_else(|| Some(format!("known are {}", names.join(", "))));
            self.error(field.at, format!("unknown class of networks `{word}`"), suggestion);
        }
        class
    }

    fn position(&mut self, latitude: &Field<'_>, longitude: &Field<'_>) -> Option<(f64, f64)> {
        match (known(latitude), known(longitude)) {
            (None, None) => None,
            (Some(_), Some(_)) => self.degrees(latitude, 90.0).zip(self.degrees(longitude, 180.0)),
            _ => {
                self.error(latitude.at, "a latitude without a longitude, or the reverse".into(), None);
                None
            }
        }
    }

    fn degrees(&mut self, field: &Field<'_>, most: f64) -> Option<f64> {
        let degrees = field.text.trim().parse().ok().filter(|degrees: &f64| degrees.abs() <= most);
        if degrees.is_none() {
            self.error(field.at, format!("`{}` is not from -{most} to {most} degrees", field.text), None);
        }
        degrees
    }
}

/// The text of a field, unless it is blank.
fn known<'f>(field: &'f Field<'_>) -> Option<&'f str> {
    Some(field.text.trim()).filter(|text| !text.is_empty())
}

/// A network of IPv4 addresses that are written as IPv6 as one of IPv4.
fn unmapped(network: IpNet) -> IpNet {
    let mapped = match network {
        IpNet::V6(net) => net.addr().to_ipv4_mapped().zip(net.prefix_len().checked_sub(96)),
        IpNet::V4(_) => None,
    };
    let v4 = mapped.and_then(|(address, prefix)| Ipv4Net::new(address, prefix).ok());
    v4.map_or(network, IpNet::V4)
}

/// The fields of a line; where a quoted one is wrong otherwise, and how.
fn fields(at: Position, line: &str) -> Result<Vec<Field<'_>>, (Position, &'static str)> {
    let (mut fields, mut from) = (Vec::new(), 0);
    loop {
        let rest = &line[from..];
        let (text, taken) = match rest.strip_prefix('"') {
            Some(inside) => {
                let (text, taken) = quoted(inside).ok_or((at + from, "a quoted field does not end"))?;
                if !(inside[taken..].is_empty() || inside[taken..].starts_with(',')) {
                    return Err((at + from + taken + 1, "text behind the closing quote of a field"));
                }
                (text.into(), taken + 1)
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].into(), end)
            }
        };
        fields.push(Field { at: at + from, text });
        let after = &rest[taken..];
        if after.is_empty() {
            return Ok(fields);
        }
        from += taken + 1;
    }
}

/// The text up to the closing quote, and the bytes it takes, that quote included.
fn quoted(text: &str) -> Option<(String, usize)> {
    let (mut value, mut chars) = (String::new(), text.char_indices().peekable());
    while let Some((at, c)) = chars.next() {
        if c != '"' {
            value.push(c);
        } else if chars.next_if(|(_, next)| *next == '"').is_some() {
            value.push('"');
        } else {
            return Some((value, at + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::policy::source::Sources;

    fn told(text: &str) -> (Option<Places>, Vec<String>) {
        let files = [("places.csv".to_owned(), text.to_owned())];
        let sources = Sources::new(&files);
        let report = Report::new(&sources);
        let places = read(0, text, &report);
        let words = |p: &crate::engine::policy::problem::Problem| {
            let help = p.suggestion.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
            format!("{}:{}:{}: {}{help}", p.file, p.line, p.column, p.message)
        };
        (places, report.into_problems().iter().map(words).collect())
    }

    #[test]
    fn fields_may_be_quoted_or_empty() {
        let text = "# version: 7\n# made up\ncidr,country,city,latitude,longitude,network_class\r\n\n192.0.2.0/24,XA,\"Port, \"\"North\"\"\",12.5,-7,mobile\r\n203.0.113.0/24,,,,,\n";
        let (places, problems) = told(text);
        assert!(problems.is_empty(), "{problems:?}");
        let places = places.expect("a table");
        let place = places.find("192.0.2.9".parse().unwrap()).expect("known");
        assert_eq!(
            (place.text(super::super::PlaceField::City), place.position),
            (Some("Port, \"North\""), Some((12.5, -7.0)))
        );
        assert_eq!((place.class, places.version.as_str()), (Some(NetworkClass::Mobile), "7"));
        assert_eq!(places.find("203.0.113.1".parse().unwrap()), Some(&Place::default()));
    }

    #[test]
    fn networks_of_ipv4_in_the_dress_of_ipv6_are_found() {
        let text = "\u{feff}# version: 7\ncidr,country,city,latitude,longitude,network_class\n::ffff:192.0.2.0/120,XA,,,,\n2001:db8::/32,XB,,,,\n";
        let (places, problems) = told(text);
        assert!(problems.is_empty(), "{problems:?}");
        let country = |address: &str| {
            let place = places.as_ref().expect("a table").find(address.parse().expect("an address"));
            place.and_then(|place| place.country.as_deref().map(str::to_owned))
        };
        assert_eq!(country("192.0.2.9").as_deref(), Some("XA"));
        assert_eq!(country("2001:db8::1").as_deref(), Some("XB"));
        assert_eq!(country("192.0.3.1"), None);
    }

    #[test]
    fn each_fault_is_told_with_its_line_and_column() {
        let head = "# version: 1\ncidr,country,city,latitude,longitude,network_class\n";
        for (line, expected) in [
            ("192.0.2.0,XA,,,,", "places.csv:3:1: `192.0.2.0` is no network (write `192.0.2.0/24`)"),
            (
                "192.0.2.1/24,XA,,,,",
                "places.csv:3:1: `192.0.2.1/24` has bits beyond its prefix (write `192.0.2.0/24`)",
            ),
            (
                "192.0.2.0/24,xa,,,,",
                "places.csv:3:14: `xa` is no country code: two upper-case letters, as in ISO 3166",
            ),
            ("192.0.2.0/24,XA,\"c\",91,0,", "places.csv:3:21: `91` is not from -90 to 90 degrees"),
            ("192.0.2.0/24,XA,,1,,", "places.csv:3:18: a latitude without a longitude, or the reverse"),
            ("192.0.2.0/24,XA,,1,x,", "places.csv:3:20: `x` is not from -180 to 180 degrees"),
            (
                "192.0.2.0/24,XA,,,,mobil",
                "places.csv:3:20: unknown class of networks `mobil` (did you mean `mobile`?)",
            ),
            (
                "192.0.2.0/24,XA",
                "places.csv:3:1: 2 fields; a network has 6 (write `cidr,country,city,latitude,longitude,network_class`, unknown ones empty)",
            ),
            ("192.0.2.0/24,\"XA,,,,", "places.csv:3:14: a quoted field does not end"),
            ("192.0.2.0/24,\"XA\"x,,,,", "places.csv:3:18: text behind the closing quote of a field"),
            (
                "192.0.2.0/24,XA,,,,\n::ffff:192.0.2.0/120,XB,,,,",
                "places.csv:4:1: `::ffff:192.0.2.0/120` stands in line 3 already",
            ),
            (
                "",
                "places.csv:1:1: the table has no network (begin with the line `cidr,country,city,latitude,longitude,network_class`)",
            ),
            (
                "192.0.2.0/24,XA,,,,\n192.0.2.0/24,XB,,,,",
                "places.csv:4:1: `192.0.2.0/24` stands in line 3 already",
            ),
        ] {
            assert_eq!(told(&format!("{head}{line}\n")).1, [expected], "{line}");
        }
        let (_, problems) = told("cidr,country\n");
        assert!(problems[0].starts_with("places.csv:1:1: ") && problems.len() == 2, "{problems:?}");
        let many: String = (0..200).map(|n| format!("x{n},,,,,\n")).collect();
        assert_eq!(told(&format!("{head}{many}")).1.len(), TOLD_MAX);
        // Told of in a moment, not line by line from the start for each.
        let same = "192.0.2.0/24,XA,,,,\n".repeat(100_000);
        assert_eq!(told(&format!("{head}{same}")).1.len(), TOLD_MAX);
    }
}
