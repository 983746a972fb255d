//! The texts of a policy as one numbered space, so that a position is one number.
//!
//! File `i` occupies the numbers from its base on; a position survives every step from YAML to expression check
//! and is turned into file, line and column only when a problem is told. Nothing here reads a disk.

/// A byte position in the texts of a policy.
pub type Position = usize;

/// The texts of a policy, in a fixed order.
#[derive(Debug)]
pub struct Sources<'a> {
    files: &'a [(String, String)],
    bases: Vec<Position>,
}

/// Where a position lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The file.
    pub file: &'a str,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The line's text.
    pub text: &'a str,
}

impl<'a> Sources<'a> {
    /// Numbers the texts.
    pub fn new(files: &'a [(String, String)]) -> Self {
        let mut next: Position = 0;
        let mut bases = Vec::with_capacity(files.len());
        for (_, text) in files {
            bases.push(next);
            next = next.saturating_add(text.len()).saturating_add(1);
        }
        Self { files, bases }
    }

    /// The position of byte `offset` of file `file`.
    pub fn position(&self, file: usize, offset: usize) -> Position {
        self.bases.get(file).copied().unwrap_or(0).saturating_add(offset)
    }

    /// The position of a line and a column (in characters), both from 1, of file `file`.
    pub fn position_of_line(&self, file: usize, line: usize, column: usize) -> Position {
        let text = self.files.get(file).map_or("", |(_, text)| text);
        let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        let within = byte_of_char(&text[before..], column.saturating_sub(1));
        self.position(file, before.saturating_add(within))
    }

    /// The position of byte `offset` of the text of a YAML scalar that begins at `start`. Quotes, escapes and folded
    /// lines are followed.
    pub fn within_scalar(&self, start: Position, value: &str, offset: usize) -> Position {
        let (file, from) = self.split(start);
        let text = self.files.get(file).and_then(|(_, text)| text.get(from..)).unwrap_or("");
        start.saturating_add(follow_scalar(text, value, offset))
    }

    /// Where a position lies.
    pub fn place(&self, position: Position) -> Place<'a> {
        let (file, offset) = self.split(position);
        let Some((path, text)) = self.files.get(file) else {
            return Place { file: "", line: 1, column: 1, text: "" };
        };
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let line_start = text[..end].rfind('\n').map_or(0, |at| at + 1);
        Place {
            file: path,
            line: text[..line_start].matches('\n').count() + 1,
            column: text[line_start..end].chars().count() + 1,
            text: text[line_start..].lines().next().unwrap_or(""),
        }
    }

    fn split(&self, position: Position) -> (usize, usize) {
        let file = self.bases.partition_point(|base| *base <= position).saturating_sub(1);
        (file, position.saturating_sub(self.bases.get(file).copied().unwrap_or(0)))
    }
}

fn byte_of_char(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

/// How many bytes into the YAML text the byte `offset` of its value lies.
fn follow_scalar(text: &str, value: &str, offset: usize) -> usize {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    let mut at = quote.map_or(0, char::len_utf8);
    for (index, wanted) in value.char_indices() {
        if index >= offset {
            break;
        }
        at += skip_to(&text[at..], wanted, quote);
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
    let next = value.get(offset..).and_then(|rest| rest.chars().next());
    next.map_or(at, |wanted| at + skip_to(&text[at..], wanted, quote))
}

/// Bytes before the character that stands for `wanted`: an escape's first half, or the white space of a fold.
fn skip_to(text: &str, wanted: char, quote: Option<char>) -> usize {
    if wanted.is_whitespace() {
        return 0;
    }
    let blank = text.len() - text.trim_start().len();
    let rest = &text[blank..];
    let escaped = match quote {
        Some('\'') => wanted == '\'' && rest.starts_with("''"),
        Some(_) => rest.starts_with('\\'),
        None => false,
    };
    blank + usize::from(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Vec<(String, String)> {
        vec![("a.yaml".into(), "é: 1\nb: 2\n".into()), ("b.yaml".into(), "c: 3".into())]
    }

    #[test]
    fn positions_know_file_line_and_column() {
        let files = files();
        let sources = Sources::new(&files);
        let place = sources.place(sources.position(0, 4));
        assert_eq!((place.file, place.line, place.column, place.text), ("a.yaml", 1, 4, "é: 1"));
        let place = sources.place(sources.position(1, 3));
        assert_eq!((place.file, place.line, place.column), ("b.yaml", 1, 4));
        assert_eq!(sources.place(sources.position_of_line(0, 2, 4)).column, 4);
    }

    #[test]
    fn scalars_are_followed_through_quotes_escapes_and_folds() {
        let cases = [
            ("a == 1", "a == 1", 5, 5),
            ("'a == ''x'' && b'", "a == 'x' && b", 12, 15),
            ("\"a == \\\"x\\\" && b\"", "a == \"x\" && b", 12, 15),
            ("a ==\n    1", "a == 1", 5, 9),
        ];
        for (text, value, offset, expected) in cases {
            assert_eq!(follow_scalar(text, value, offset), expected, "{text}");
        }
    }
}
