//! The configuration as written: TOML with positions, overridden by flags and by the environment.
//!
//! A [`Section`] is asked for its knobs one by one; each answer is a valid value, the default where what was given
//! makes no sense, and the problem is noted with its place. At the end it tells what was given and never asked for:
//! unknown keys, with the nearest known one. So all problems of all sections are found in one pass.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{FilePlace, Place, Problem};
use super::units;
use crate::engine::policy::nearest::did_you_mean;
use crate::engine::time::Span;

/// Values that win over the file: flags first, then environment variables.
#[derive(Clone, Default)]
pub struct Overrides {
    flags: BTreeMap<(&'static str, &'static str), (&'static str, String)>,
    environment: BTreeMap<String, String>,
}

impl Overrides {
    /// None but those of the environment: `WEIR_<SECTION>_<KEY>`, for instance `WEIR_HTTP_LISTEN`. An empty one
    /// counts as not set.
    #[expect(clippy::disallowed_methods, reason = "the configuration is what reads the environment")]
    pub fn from_environment() -> Self {
        let named = |section: &str, key: &str| {
            let name = variable(section, key);
            std::env::var(&name).ok().filter(|value| !value.is_empty()).map(|value| (name, value))
        };
        let environment = super::KNOBS.iter().filter_map(|(section, key)| named(section, key)).collect();
        Self { flags: BTreeMap::new(), environment }
    }

    /// Sets a knob from a flag, where the flag was given. `flag` is its name for messages.
    pub fn flag(
        &mut self,
        section: &'static str,
        key: &'static str,
        flag: &'static str,
        value: Option<String>,
    ) {
        if let Some(value) = value {
            self.flags.insert((section, key), (flag, value));
        }
    }

    /// Sets an environment variable by hand.
    pub fn variable(&mut self, name: &str, value: &str) {
        self.environment.insert(name.to_owned(), value.to_owned());
    }

    fn get(&self, section: &'static str, key: &'static str) -> Option<(String, Place)> {
        if let Some((flag, value)) = self.flags.get(&(section, key)) {
            return Some((value.clone(), Place::Given((*flag).to_owned())));
        }
        let name = variable(section, key);
        let value = self.environment.get(&name)?.clone();
        Some((value, Place::Given(name)))
    }
}

/// Names only: a value may be a secret.
impl fmt::Debug for Overrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = self.flags.values().map(|(flag, _)| *flag);
        f.debug_set().entries(flags).entries(self.environment.keys()).finish()
    }
}

fn variable(section: &str, key: &str) -> String {
    format!("WEIR_{section}_{key}").to_ascii_uppercase()
}

/// A text file with its name: makes places of byte ranges.
#[derive(Clone, Copy)]
pub(super) struct Source<'t> {
    pub(super) path: &'t Path,
    pub(super) text: &'t str,
}

impl Source<'_> {
    fn place(&self, range: Range<usize>) -> Place {
        let path: Arc<str> = self.path.to_string_lossy().into();
        Place::File(FilePlace::new(path, self.text, range))
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }
}

/// One pass over a configuration.
pub(super) struct Reader<'t> {
    source: Source<'t>,
    root: DeTable<'t>,
    overrides: &'t Overrides,
    sections: Vec<&'static str>,
    pub(super) problems: Vec<Problem>,
}

impl<'t> Reader<'t> {
    /// Parses the text; what is no TOML becomes problems, and the rest is read nevertheless.
    pub(super) fn new(source: Source<'t>, overrides: &'t Overrides) -> Self {
        let (root, errors) = DeTable::parse_recoverable(source.text);
        let problem = |error: &toml::de::Error| {
            let place = error.span().map_or(Place::Default, |range| source.place(range));
            Problem::error(place, error.message().trim().replace('\n', ", "))
        };
        let problems = errors.iter().map(problem).collect();
        Self { source, root: root.into_inner(), overrides, sections: Vec::new(), problems }
    }

    /// Reads one section with `read`, then tells its unknown keys.
    pub(super) fn section<T>(&mut self, name: &'static str, read: impl FnOnce(&mut Section<'_>) -> T) -> T {
        self.sections.push(name);
        let mut problems = std::mem::take(&mut self.problems);
        let table = self.root.get(name).and_then(|value| match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => {
                let place = self.source.place(value.span());
                problems.push(Problem::error(place, format!("`{name}` is a section: write `[{name}]`")));
                None
            }
        });
        let (source, overrides) = (self.source, self.overrides);
        let mut section = Section { name, source, table, overrides, known: Vec::new(), problems };
        let value = read(&mut section);
        section.tell_unknown();
        self.problems = section.problems;
        value
    }

    /// Tells sections that were never read.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        let unknown = self.root.iter().filter(|(key, _)| !self.sections.contains(&key.get_ref().as_ref()));
        let told: Vec<Problem> =
            unknown.map(|(key, _)| unknown_key(self.source, key, "section", &self.sections)).collect();
        self.problems.extend(told);
        self.problems.sort_by_key(|problem| match &problem.place {
            Place::File(at) => (0, at.line, at.column),
            Place::Given(_) => (1, 0, 0),
            Place::Default => (2, 0, 0),
        });
        self.problems
    }
}

/// One section that is being read.
pub(super) struct Section<'t> {
    name: &'static str,
    source: Source<'t>,
    table: Option<&'t DeTable<'t>>,
    overrides: &'t Overrides,
    known: Vec<&'static str>,
    problems: Vec<Problem>,
}

/// What was given for a knob.
enum Given<'t> {
    Text(String),
    Toml(&'t DeValue<'t>),
}

impl<'t> Section<'t> {
    fn given(&mut self, key: &'static str) -> Option<(Given<'t>, Place)> {
        self.known.push(key);
        if let Some((text, place)) = self.overrides.get(self.name, key) {
            return Some((Given::Text(text), place));
        }
        let value = self.table?.get(key)?;
        Some((Given::Toml(value.get_ref()), self.source.place(value.span())))
    }

    /// Notes an error.
    pub(super) fn error(&mut self, place: &Place, message: impl Into<String>) {
        self.problems.push(Problem::error(place.clone(), message));
    }

    /// Notes a problem.
    pub(super) fn note(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// A text that `parse` understands, with its place; `None` when it was not given or makes no sense.
    pub(super) fn optional<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<(T, Place)> {
        let (given, place) = self.given(key)?;
        let text = match &given {
            Given::Text(text) => Ok(text.as_str()),
            Given::Toml(DeValue::String(text)) => Ok(text.as_ref()),
            Given::Toml(other) => Err(format!("a text in quotes is expected, not {}", article(other))),
        };
        match text.and_then(parse) {
            Ok(value) => Some((value, place)),
            Err(reason) => {
                self.error(&place, format!("`{key}`: {reason}"));
                None
            }
        }
    }

    /// A text that `parse` understands; else the default.
    pub(super) fn parsed<T>(
        &mut self,
        key: &'static str,
        default: T,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> T {
        self.optional(key, parse).map_or(default, |(value, _)| value)
    }

    /// A length of time within bounds, all written with units.
    pub(super) fn span(&mut self, key: &'static str, default: &str, bounds: [&str; 2]) -> Span {
        let known = |text: &str| units::duration(text).expect("defaults and bounds are valid");
        let (low, high) = (known(bounds[0]), known(bounds[1]));
        self.parsed(key, known(default), |text| {
            units::duration(text)
                .and_then(|span| within(span, low..=high, || format!("{text} is outside {low} to {high}")))
        })
    }

    /// A size in bytes within bounds, all written with units.
    pub(super) fn size(&mut self, key: &'static str, default: &str, bounds: [&str; 2]) -> u64 {
        let known = |text: &str| units::size(text).expect("defaults and bounds are valid");
        let range = known(bounds[0])..=known(bounds[1]);
        self.parsed(key, known(default), |text| {
            let reason = || format!("{text} is outside {} to {}", bounds[0], bounds[1]);
            units::size(text).and_then(|size| within(size, range, reason))
        })
    }

    /// A whole number within bounds.
    pub(super) fn integer(&mut self, key: &'static str, default: i64, bounds: RangeInclusive<i64>) -> i64 {
        let Some((given, place)) = self.given(key) else { return default };
        let number = match &given {
            Given::Text(text) => text.trim().parse().map_err(|_| format!("`{text}` is no whole number")),
            Given::Toml(DeValue::Integer(number)) => {
                i64::from_str_radix(number.as_str(), number.radix()).map_err(|error| error.to_string())
            }
            Given::Toml(other) => Err(format!("a whole number is expected, not {}", article(other))),
        };
        let (low, high) = (*bounds.start(), *bounds.end());
        let number = number.and_then(|n| within(n, bounds, || format!("{n} is outside {low} to {high}")));
        number.unwrap_or_else(|reason| {
            self.error(&place, format!("`{key}`: {reason}"));
            default
        })
    }

    /// `true` or `false`.
    pub(super) fn boolean(&mut self, key: &'static str, default: bool) -> bool {
        let Some((given, place)) = self.given(key) else { return default };
        let value = match &given {
            Given::Text(text) => text.trim().parse().ok(),
            Given::Toml(value) => value.as_bool(),
        };
        value.unwrap_or_else(|| {
            self.error(&place, format!("`{key}`: `true` or `false` is expected"));
            default
        })
    }

    /// A path. Paths in the file are relative to the file's folder, others to the current one.
    pub(super) fn path(&mut self, key: &'static str) -> Option<(PathBuf, Place)> {
        let not_empty = |text: &str| match text.trim() {
            "" => Err("a path is expected".to_owned()),
            text => Ok(PathBuf::from(text)),
        };
        let (path, place) = self.optional(key, not_empty)?;
        let path = match place {
            Place::File(_) => self.source.folder().join(path),
            _ => path,
        };
        Some((path, place))
    }

    /// The keys of a table inside this section, with their values and places.
    pub(super) fn entries(&mut self, key: &'static str) -> Vec<(String, &'t Spanned<DeValue<'t>>, Place)> {
        self.known.push(key);
        let Some(value) = self.table.and_then(|table| table.get(key)) else { return Vec::new() };
        let DeValue::Table(table) = value.get_ref() else {
            let place = self.source.place(value.span());
            self.error(&place, format!("`{key}` is a table: write `[{}.{key}]`", self.name));
            return Vec::new();
        };
        let entry = |(key, value): (&'t Spanned<_>, &'t Spanned<DeValue<'t>>)| {
            let name: &std::borrow::Cow<'_, str> = key.get_ref();
            (name.to_string(), value, self.source.place(key.span()))
        };
        table.iter().map(entry).collect()
    }

    /// A path named inside a table of the file.
    pub(super) fn beside(&self, path: &str) -> PathBuf {
        self.source.folder().join(path)
    }

    fn tell_unknown(&mut self) {
        let unknown = self.table.into_iter().flat_map(DeTable::iter);
        let unknown = unknown.filter(|(key, _)| !self.known.contains(&key.get_ref().as_ref()));
        let told: Vec<Problem> =
            unknown.map(|(key, _)| unknown_key(self.source, key, "key", &self.known)).collect();
        self.problems.extend(told);
    }
}

fn within<T: PartialOrd>(
    value: T,
    bounds: RangeInclusive<T>,
    reason: impl FnOnce() -> String,
) -> Result<T, String> {
    if bounds.contains(&value) { Ok(value) } else { Err(reason()) }
}

/// A value's type, with its article.
fn article(value: &DeValue<'_>) -> String {
    let name = value.type_str();
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {name}")
}

fn unknown_key(
    source: Source<'_>,
    key: &Spanned<std::borrow::Cow<'_, str>>,
    what: &str,
    known: &[&'static str],
) -> Problem {
    let name = key.get_ref().as_ref();
    let problem = Problem::error(source.place(key.span()), format!("unknown {what} `{name}`"));
    match did_you_mean(name, known) {
        Some(help) => problem.with_help(help),
        None => problem,
    }
}
