//! A YAML text as a tree in which every node knows its position.
//!
//! The tree is the only thing made from YAML; sections are read out of it one by one, so that a mistake in one rule
//! does not hide the next. Repeated keys, undefined or endless anchors and several documents are errors here.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::problem::Report;
use super::source::{Position, Sources};

/// One node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it begins.
    pub at: Position,
    /// What it is.
    pub kind: Kind,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// Keys and values, in the order of the text.
    Map(Vec<(Key, Node)>),
}

/// A key of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Where it begins.
    pub at: Position,
    /// As written.
    pub name: String,
}

impl Kind {
    /// What a reader would call it.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Null => "nothing",
            Kind::Bool(_) => "true or false",
            Kind::Int(_) => "a whole number",
            Kind::Double(_) => "a number",
            Kind::Text(_) => "text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }
}

/// Reads the YAML text of one file; problems go to the report.
pub fn parse(file: usize, text: &str, report: &Report<'_>) -> Option<Node> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 50_000 },
    };
    match serde_saphyr::from_str_with_options::<Spanned<Tree>>(text, options) {
        Ok(tree) => Some(node(tree, file, report.sources())),
        Err(error) => {
            let at = error.location().map_or((1, 1), |at| (at.line(), at.column()));
            let at = report.sources().position_of_line(file, to_usize(at.0), to_usize(at.1));
            report.error_with(at, message_of(&error), advice(&error));
            None
        }
    }
}

/// The library's sentence without its own " at line 1, column 2".
fn message_of(error: &serde_saphyr::Error) -> String {
    let whole = error.without_snippet().to_string();
    if whole.contains("multiple YAML documents") {
        return "a policy file holds one YAML document".to_owned();
    }
    let first = whole.lines().next().unwrap_or_default();
    let first = first.split(", set DuplicateKeyPolicy").next().unwrap_or_default();
    first.split(" at line ").next().unwrap_or_default().to_owned()
}

fn advice(error: &serde_saphyr::Error) -> Option<String> {
    let text = error.to_string();
    let colon = text.contains("mapping values are not allowed");
    colon.then(|| "a text that holds `: ` must stand in quotes".to_owned())
}

fn node(tree: Spanned<Tree>, file: usize, sources: &Sources<'_>) -> Node {
    let kind = match tree.value {
        Tree::Leaf(kind) => kind,
        Tree::List(items) => Kind::List(items.into_iter().map(|item| node(item, file, sources)).collect()),
        Tree::Map(entries) => Kind::Map(
            entries
                .into_iter()
                .map(|(key, value)| {
                    let at = position(&key, file, sources);
                    (Key { at, name: key.value }, node(value, file, sources))
                })
                .collect(),
        ),
    };
    Node { at: position(&Spanned::new((), tree.referenced, tree.defined), file, sources), kind }
}

fn position<T>(spanned: &Spanned<T>, file: usize, sources: &Sources<'_>) -> Position {
    match spanned.defined.span().byte_offset() {
        Some(offset) => sources.position(file, to_usize(offset)),
        None => sources.position_of_line(
            file,
            to_usize(spanned.defined.line()),
            to_usize(spanned.defined.column()),
        ),
    }
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// What the YAML library hands over.
enum Tree {
    Leaf(Kind),
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Spanned<String>, Spanned<Tree>)>),
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Leaf(Kind::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Leaf(Kind::Int(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Leaf(i64::try_from(value).map_or(Kind::Double(value as f64), Kind::Int)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Leaf(Kind::Double(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Leaf(Kind::Text(value.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf(Kind::Null))
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf(Kind::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Tree::Map(entries))
    }
}
