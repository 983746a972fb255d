//! One number of a policy's texts set to another value, everything else left as it is.
//!
//! A number is named by where it stands: `ID.FIELD` of a limit, rule or pool (`user-minute.max`), `NAME.FIELD` of a signal
//! (`user_likes_1h.window`), `ID.SPAN.FIELD` of one of a limit's spans, named by its window (`user-burst.1s.max`), `RULE.SIGNAL` for what a rule compares that name with, or the path of a section
//! (`score.ladder.hold`).

use super::nearest::did_you_mean;
use super::node::{self, Kind, Node};
use super::problem::Report;
use super::source::Sources;

/// Why a number cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// Nothing of this name.
    #[error("there is nothing called `{name}` in the policy{hint}")]
    Name {
        /// The name.
        name: String,
        /// What there is.
        hint: String,
    },
    /// It is there, and no single value.
    #[error("`{0}` is not one value that could be set")]
    Value(String),
    /// It is there once for each span of a limit.
    #[error("`{name}` is there for each of the limit's spans: name one by its window, as in {spans}")]
    Spans {
        /// The name.
        name: String,
        /// Names that can be set.
        spans: String,
    },
    /// The new value cannot stand there.
    #[error("`{0}` cannot stand in a policy: write a number, a duration or a word")]
    New(String),
}

/// The place of one value in the texts.
struct Place {
    file: usize,
    from: usize,
    to: usize,
}

/// The files with one value set, and what it was before.
///
/// # Errors
/// It is not there, or cannot be set.
pub fn edited(
    files: &[(String, String)],
    name: &str,
    value: &str,
) -> Result<(Vec<(String, String)>, String), EditError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if value.is_empty() || !value.chars().all(plain) {
        return Err(EditError::New(value.to_owned()));
    }
    let place = find(files, name)?;
    let mut changed = files.to_vec();
    let text = &mut changed[place.file].1;
    let before = text[place.from..place.to].to_owned();
    text.replace_range(place.from..place.to, value);
    Ok((changed, before))
}

fn find(files: &[(String, String)], name: &str) -> Result<Place, EditError> {
    let sources = Sources::new(files);
    let report = Report::new(&sources);
    let mut known = Vec::new();
    for (file, (_, text)) in files.iter().enumerate() {
        let Some(root) = node::parse(file, text, &report) else { continue };
        if let Some((holder, field)) = holder(&root, name, &mut known) {
            let span = span(text, holder, field, sources.position(file, 0));
            let (from, to) = span.ok_or_else(|| no_value(holder, name))?;
            return Ok(Place { file, from, to });
        }
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let owner = name.rsplit_once('.').map_or(name, |(owner, _)| owner);
    let hint = did_you_mean(owner, &known).map(|hint| format!(": {hint}")).unwrap_or_default();
    Err(EditError::Name { name: name.to_owned(), hint })
}

/// The map that holds what is named, and the name within it.
fn holder<'n, 't>(root: &'t Node, name: &'n str, known: &mut Vec<String>) -> Option<(&'t Node, &'n str)> {
    let (owner, field) = name.rsplit_once('.')?;
    let Kind::Map(sections) = &root.kind else { return None };
    for (_, section) in sections {
        let Kind::List(items) = &section.kind else { continue };
        for item in items {
            let called = text_of(item, "id").or_else(|| text_of(item, "name"));
            if called.as_deref() == Some(owner) {
                return Some((item, field));
            }
            let inner = called.as_deref().and_then(|called| owner.strip_prefix(called)?.strip_prefix('.'));
            if let Some(span) = inner.and_then(|window| spans(item).find(|(of, _)| of == window)) {
                return Some((span.1, field));
            }
            known.extend(called);
        }
    }
    let mut here = root;
    for part in owner.split('.') {
        here = entry(here, part)?;
    }
    entry(here, field).is_some().then_some((here, field))
}

/// The spans of a limit, by their windows.
fn spans(item: &Node) -> impl Iterator<Item = (String, &Node)> {
    let list = match entry(item, "spans").map(|spans| &spans.kind) {
        Some(Kind::List(list)) => list.as_slice(),
        _ => &[],
    };
    list.iter().filter_map(|span| Some((text_of(span, "window")?, span)))
}

/// Why there is no single value of this name.
fn no_value(holder: &Node, name: &str) -> EditError {
    let name = name.to_owned();
    let Some((id, field)) = name.rsplit_once('.') else { return EditError::Value(name) };
    let has = |(_, span): &(String, &Node)| entry(span, field).is_some();
    let names: Vec<String> =
        spans(holder).filter(has).map(|(window, _)| format!("{id}.{window}.{field}")).collect();
    if names.is_empty() { EditError::Value(name) } else { EditError::Spans { spans: names.join(", "), name } }
}

fn entry<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    let Kind::Map(entries) = &node.kind else { return None };
    entries.iter().find(|(key, _)| key.name == name).map(|(_, value)| value)
}

fn text_of(node: &Node, name: &str) -> Option<String> {
    match &entry(node, name)?.kind {
        Kind::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// From where to where the value of a field of a map stands, or the number that its `when` compares that name with;
/// `base` is where the text begins.
fn span(text: &str, holder: &Node, field: &str, base: usize) -> Option<(usize, usize)> {
    if let Some(value) = entry(holder, field) {
        let is_one = !matches!(value.kind, Kind::List(_) | Kind::Map(_) | Kind::Null);
        let from = value.at.checked_sub(base)?;
        return is_one.then(|| Some((from, from + scalar(text.get(from..)?)?))).flatten();
    }
    let Kind::Map(entries) = &holder.kind else { return None };
    let from = entry(holder, "when")?.at.checked_sub(base)?;
    // The condition ends where the next field of the rule begins, at the latest.
    let fields = entries.iter().filter_map(|(key, _)| key.at.checked_sub(base)).filter(|at| *at > from);
    let (number, length) = compared(text.get(from..fields.min().unwrap_or(text.len()))?, field)?;
    Some((from + number, from + number + length))
}

/// Length of a plain or quoted scalar that begins a text.
fn scalar(text: &str) -> Option<usize> {
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '}' | ']');
    let plain = !text.starts_with(['"', '\'', '>', '|', '&', '*']);
    plain.then(|| text.find(ends).unwrap_or(text.len()))
}

/// Where the only number is that a text compares a name with, and how long it is.
fn compared(text: &str, name: &str) -> Option<(usize, usize)> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let mut found = None;
    for (at, _) in text.match_indices(name) {
        let rest = &text[at + name.len()..];
        let after = rest.trim_start();
        let number = after.trim_start_matches(['<', '>', '=', '!']);
        if text[..at].ends_with(word) || rest.starts_with(word) || number.len() == after.len() {
            continue;
        }
        let number = number.trim_start();
        let length = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        let begins = at + name.len() + (rest.len() - number.len());
        if length > 0 && found.replace((begins, length)).is_some() {
            return None;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "version: 1
score:
  ladder: { demote: -6, challenge: 9, hold: 17, reject: 25 }
signals:
  - { name: acts, key: [user], window: 1h, count: {} }
limits:
  - id: pace
    key: [user]
    window: 1m
    max: 30 # a comment
    spans: [{ window: 1s, max: 3 }]
  - { id: burst, key: [user], spans: [{ window: 1m, max: 20 }, { window: 1h, max: 300 }] }
rules:
  - id: busy
    when: >-
      account.new
      && acts_1h >= 4 && acts >= 12
    points: 20
  - { id: both, when: \"acts >= 1 && acts < 9\", points: 3 }
";

    fn files() -> Vec<(String, String)> {
        let other = "version: 1\nlimits: []\n".to_owned();
        vec![("a.yaml".to_owned(), other), ("b.yaml".to_owned(), TEXT.to_owned())]
    }

    #[test]
    fn a_value_is_set_where_it_stands_and_nothing_else_changes() {
        for (name, value, before, line) in [
            ("pace.max", "45", "30", "    max: 45 # a comment"),
            ("pace.window", "2m", "1m", "    window: 2m"),
            ("pace.1s.max", "4", "3", "    spans: [{ window: 1s, max: 4 }]"),
            ("pace.1s.window", "2s", "1s", "    spans: [{ window: 2s, max: 3 }]"),
            (
                "burst.1h.max",
                "250",
                "300",
                "  - { id: burst, key: [user], spans: [{ window: 1m, max: 20 }, { window: 1h, max: 250 }] }",
            ),
            ("acts.window", "30m", "1h", "  - { name: acts, key: [user], window: 30m, count: {} }"),
            ("busy.acts", "9", "12", "      && acts_1h >= 4 && acts >= 9"),
            ("busy.points", "25", "20", "    points: 25"),
            ("score.ladder.hold", "15", "17", "  ladder: { demote: -6, challenge: 9, hold: 15, reject: 25 }"),
        ] {
            let (changed, was) =
                edited(&files(), name, value).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(was, before, "{name}");
            let (old, new) = (files()[1].1.clone(), changed[1].1.clone());
            let other: Vec<_> = old.lines().zip(new.lines()).filter(|(old, new)| old != new).collect();
            assert_eq!(other.iter().map(|(_, new)| *new).collect::<Vec<_>>(), [line], "{name}");
        }
    }

    #[test]
    fn what_cannot_be_set_is_told() {
        let error = |name: &str, value: &str| edited(&files(), name, value).expect_err(name).to_string();
        assert!(error("pase.max", "3").contains("`pace`"), "{}", error("pase.max", "3"));
        assert!(error("pace.spans", "3").contains("not one value"));
        assert!(error("pace.cost", "3").contains("not one value"));
        assert!(error("both.acts", "3").contains("not one value"), "it is compared twice");
        assert!(
            error("burst.max", "3").ends_with("as in burst.1m.max, burst.1h.max"),
            "{}",
            error("burst.max", "3")
        );
        assert!(error("pace.max", "3 }").contains("cannot stand"));
    }
}
