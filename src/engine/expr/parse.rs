//! CEL text to syntax tree, by the `cel` crate's parser, within bounds.
//!
//! Length and nesting are bounded before and after parsing, so that no text can exhaust the stack; errors carry the
//! byte at which they are, in words of our own where the parser's are not for people.

use cel::IdedExpr;
use cel::common::ast::{Expr, SourceInfo};
use cel::parser::{ParseError, Parser};

use super::flaw::Flaw;

/// The longest expression, in bytes.
pub const LONGEST: usize = 2048;

/// The deepest nesting.
pub const DEEPEST: usize = 64;

/// A parsed expression.
#[derive(Debug)]
pub struct Parsed {
    /// The syntax tree.
    pub root: IdedExpr,
    info: SourceInfo,
    text: String,
}

impl Parsed {
    /// The byte at which a node is written: of an operator itself, of a call its name.
    pub fn at(&self, node: &IdedExpr) -> usize {
        let at = self.info.offset_for(node.id).map_or(0, |(start, _)| usize::try_from(start).unwrap_or(0));
        match &node.expr {
            Expr::Call(call)
                if self.text.get(..at).is_some_and(|before| before.ends_with(&call.func_name)) =>
            {
                at - call.func_name.len()
            }
            _ => at,
        }
    }
}

/// Parses an expression.
pub fn parse(text: &str) -> Result<Parsed, Vec<Flaw>> {
    if text.len() > LONGEST {
        let message = format!("the expression has {} bytes; at most {LONGEST} are read", text.len());
        return Err(vec![Flaw::new(0, message)]);
    }
    if text.trim().is_empty() {
        return Err(vec![Flaw::new(0, "the expression is empty")]);
    }
    let depth = u16::try_from(DEEPEST).unwrap_or(u16::MAX);
    match Parser::default().max_recursion_depth(depth).parse_with_source_info(text) {
        Ok((root, info)) => Ok(Parsed { root, info, text: text.to_owned() }),
        Err(errors) => Err(first_error(text, &errors.errors)),
    }
}

/// The first error only: what a parser says after the first is seldom true.
fn first_error(text: &str, errors: &[ParseError]) -> Vec<Flaw> {
    let flaw = errors.first().map_or_else(
        || Flaw::new(0, "the expression cannot be read"),
        |error| {
            let at = byte_at(text, error.pos);
            let (message, suggestion) = in_words(text, at, &error.msg);
            Flaw { at, message, suggestion }
        },
    );
    vec![flaw]
}

fn byte_at(text: &str, (line, column): (isize, isize)) -> usize {
    let line = usize::try_from(line).unwrap_or(1).max(1);
    let column = usize::try_from(column).unwrap_or(1).max(1);
    let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let rest = text.get(before..).unwrap_or("");
    before + rest.char_indices().nth(column - 1).map_or(rest.len(), |(at, _)| at)
}

fn in_words(text: &str, at: usize, message: &str) -> (String, Option<String>) {
    let here = text.get(at..).unwrap_or("");
    let own = |text: &str| Some(text.to_owned());
    let word = here.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
    match word {
        "and" => return ("unexpected `and`".into(), own("write `&&`")),
        "or" => return ("unexpected `or`".into(), own("write `||`")),
        "not" => return ("unexpected `not`".into(), own("write `!`")),
        _ => {}
    }
    if here.trim().is_empty() {
        return ("the expression ends too early".into(), None);
    }
    if here.starts_with('=') && !here.starts_with("==") {
        return ("unexpected `=`".into(), own("compare with `==`"));
    }
    if message.contains("invalid argument to has()") {
        return ("has() asks for a field such as event.user_id".into(), None);
    }
    if message.contains("recursion") {
        return (format!("the expression is nested more than {DEEPEST} deep"), None);
    }
    if here.starts_with(['\'', '"']) && message.contains("token recognition") {
        return ("a text that does not end, or has an unknown escape".into(), None);
    }
    let unexpected = here.split_whitespace().next().unwrap_or("");
    let bare = message.trim_start_matches("Syntax error: ");
    match bare.starts_with("mismatched") || bare.starts_with("extraneous") || bare.starts_with("token") {
        true => (format!("unexpected `{unexpected}`"), None),
        false => (bare.to_owned(), None),
    }
}
