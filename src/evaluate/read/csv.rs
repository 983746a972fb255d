//! Rows of comma-separated values (RFC 4180): quoted fields may hold commas, quotes (doubled) and line ends.
//!
//! What parts fields is a comma, or else the semicolon or tab that the first line has more of; a byte order mark before it is
//! passed over.
//!
//! A quote that is never closed damages its own line only: the lines after it are read again on their own.

use std::collections::VecDeque;
use std::io::{self, BufRead};

/// The most lines that one row may span.
const SPAN_MAX: usize = 64;

/// Reads rows.
#[derive(Debug)]
pub(super) struct Csv<R> {
    from: R,
    /// Lines that were read ahead, with their ends.
    ahead: VecDeque<Vec<u8>>,
    /// Lines before the first of `ahead`.
    line: u64,
    /// What parts fields; by the first line where it was not said.
    comma: Option<char>,
    /// Whether the first line is read.
    begun: bool,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Its first line, from 1.
    pub(super) line: u64,
    fields: Vec<Field>,
}

/// One field with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Field {
    text: String,
    line: u64,
    /// Characters before it in its line.
    before: u64,
}

/// A row that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) message: &'static str,
}

impl Row {
    /// How many fields.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// A field without the blanks around it; `None` when it is blank or not there.
    pub(super) fn get(&self, place: usize) -> Option<&str> {
        self.fields.get(place).map(|field| field.text.trim()).filter(|text| !text.is_empty())
    }

    /// All fields.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| field.text.trim())
    }

    /// Line and column of a field, from 1; of the last one, when it has no such field.
    pub(super) fn place(&self, place: usize) -> (u64, u64) {
        let field = self.fields.get(place).or(self.fields.last());
        field.map_or((self.line, 1), |field| (field.line, field.before + 1))
    }

    fn is_blank(&self) -> bool {
        self.fields.len() == 1 && self.fields[0].text.trim().is_empty()
    }
}

impl<R: BufRead> Csv<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, ahead: VecDeque::new(), line: 0, comma: None, begun: false }
    }

    /// Rows of which it is known what parts their fields.
    pub(super) fn parted_by(comma: char, from: R) -> Self {
        Self { comma: Some(comma), ..Self::new(from) }
    }

    /// Lines read so far.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The next row; blank lines are passed over. `None` at the end.
    ///
    /// # Errors
    /// What reading fails with.
    pub(super) fn next_row(&mut self) -> io::Result<Option<Result<Row, Damage>>> {
        loop {
            if !self.reach(1)? {
                return Ok(None);
            }
            match self.row()? {
                Ok(row) if row.is_blank() => {}
                row => return Ok(Some(row)),
            }
        }
    }

    /// Reads ahead until `lines` are there; false when there are not as many.
    fn reach(&mut self, lines: usize) -> io::Result<bool> {
        while self.ahead.len() < lines {
            let mut line = Vec::new();
            if self.from.read_until(b'\n', &mut line)? == 0 {
                return Ok(false);
            }
            if !self.begun {
                line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line).to_vec();
                (self.begun, self.comma) = (true, self.comma.or(Some(comma(&line))));
            }
            self.ahead.push_back(line);
        }
        Ok(true)
    }

    fn row(&mut self) -> io::Result<Result<Row, Damage>> {
        let comma = self.comma.unwrap_or(',');
        let mut parser = Parser { line: self.line + 1, comma, ..Parser::default() };
        let first = self.line + 1;
        for span in 1..=SPAN_MAX {
            if !self.reach(span)? {
                break;
            }
            if let Err(damage) = parser.line(&self.ahead[span - 1]) {
                if span > 1 {
                    break;
                }
                self.skip(1);
                return Ok(Err(damage));
            }
            if !parser.open {
                self.skip(span);
                return Ok(Ok(Row { line: first, fields: parser.fields }));
            }
        }
        self.skip(1);
        let (line, column) = parser.opened;
        Ok(Err(Damage { line, column, message: "a quote is never closed" }))
    }

    fn skip(&mut self, lines: usize) {
        self.ahead.drain(..lines.min(self.ahead.len()));
        self.line += lines as u64;
    }
}

/// Takes a row apart, line by line.
#[derive(Debug, Default)]
struct Parser {
    fields: Vec<Field>,
    field: Field,
    /// Within quotes, or behind them; and where they began.
    open: bool,
    closed: bool,
    opened: (u64, u64),
    line: u64,
    comma: char,
}

/// What parts the fields of a first line: of a comma, a semicolon and a tab the most frequent one outside quotes.
fn comma(line: &[u8]) -> char {
    let count = |wanted: u8| {
        let mut quoted = false;
        let outside = |byte: &&u8| {
            quoted ^= **byte == b'"';
            !quoted && **byte == wanted
        };
        line.iter().filter(outside).count()
    };
    let (commas, semicolons, tabs) = (count(b','), count(b';'), count(b'\t'));
    match () {
        () if semicolons > commas && semicolons >= tabs => ';',
        () if tabs > commas => '\t',
        () => ',',
    }
}

impl Parser {
    fn line(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).chars().count() as u64;
            Damage { line: self.line, column: before + 1, message: "is not UTF-8" }
        })?;
        let body = text.strip_suffix('\n').unwrap_or(text);
        let body = body.strip_suffix('\r').unwrap_or(body);
        if !self.open {
            self.begin(0);
        }
        let mut chars = body.chars().zip(0_u64..).peekable();
        while let Some((c, at)) = chars.next() {
            match c {
                '"' if self.open && chars.next_if(|(next, _)| *next == '"').is_some() => {
                    self.field.text.push('"');
                }
                '"' if self.open => (self.open, self.closed) = (false, true),
                '"' if self.field.text.trim().is_empty() => {
                    self.field.text.clear();
                    (self.open, self.opened) = (true, (self.line, at + 1));
                }
                c if c == self.comma && !self.open => {
                    self.fields.push(std::mem::take(&mut self.field));
                    self.begin(at + 1);
                }
                c if self.closed && !self.open && !c.is_whitespace() => {
                    let message = "text behind a closing quote";
                    return Err(Damage { line: self.line, column: at + 1, message });
                }
                c => self.field.text.push(c),
            }
        }
        match self.open {
            true => self.field.text.push('\n'),
            false => self.fields.push(std::mem::take(&mut self.field)),
        }
        self.line += 1;
        Ok(())
    }

    fn begin(&mut self, before: u64) {
        (self.field.line, self.field.before) = (self.line, before);
        self.closed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &[u8]) -> Vec<Result<Vec<String>, (u64, u64)>> {
        let mut csv = Csv::new(text);
        let mut all = Vec::new();
        while let Some(row) = csv.next_row().expect("memory reads") {
            all.push(match row {
                Ok(row) => Ok(row.iter().map(str::to_owned).collect()),
                Err(damage) => Err((damage.line, damage.column)),
            });
        }
        all
    }

    fn row(fields: &[&str]) -> Result<Vec<String>, (u64, u64)> {
        Ok(fields.iter().map(|field| (*field).to_owned()).collect())
    }

    #[test]
    fn rows_are_taken_apart() {
        let text = b"a,b\r\n\n1, \"x, \"\"y\"\"\" ,\"two\nlines\"\n,,\n\"\",z";
        let expected =
            [row(&["a", "b"]), row(&["1", "x, \"y\"", "two\nlines"]), row(&["", "", ""]), row(&["", "z"])];
        assert_eq!(rows(text), expected);
    }

    #[test]
    fn tables_of_other_programs_are_taken_apart() {
        assert_eq!(
            rows("\u{feff}a;b,c;d\n1;\"x;y\";2\n".as_bytes()),
            [row(&["a", "b,c", "d"]), row(&["1", "x;y", "2"])]
        );
        assert_eq!(rows(b"a\tb\n1,5\t2\n"), [row(&["a", "b"]), row(&["1,5", "2"])]);
        assert_eq!(rows(b"\"a;b;c\",d\n1,2\n"), [row(&["a;b;c", "d"]), row(&["1", "2"])]);
        let mut tabs = Csv::parted_by('\t', "\u{feff}a, b, c\td\n".as_bytes());
        let head = tabs.next_row().unwrap().unwrap().unwrap();
        assert_eq!(head.iter().collect::<Vec<_>>(), ["a, b, c", "d"]);
    }

    #[test]
    fn damage_stays_within_its_line() {
        let text = b"a,b\n1,\"open\n2,y\n3,\xff\n4,z\n";
        let expected = [row(&["a", "b"]), Err((2, 3)), row(&["2", "y"]), Err((4, 3)), row(&["4", "z"])];
        assert_eq!(rows(text), expected);
    }

    /// The quote of the second row is not closed; the next one, which opens a field three rows on, does not close it.
    #[test]
    fn a_quote_that_is_missing_costs_its_own_row() {
        let text = b"a,b\n1,\"x\n2,y\n3,\"z\"\n4,\"w\"\n5,\"v\" \n";
        let kept = [row(&["2", "y"]), row(&["3", "z"]), row(&["4", "w"]), row(&["5", "v"])];
        let expected = [vec![row(&["a", "b"]), Err((2, 3))], kept.to_vec()].concat();
        assert_eq!(rows(text), expected);
        assert_eq!(rows(b"a,b\n1,\"x\"y\n2,z\n"), [row(&["a", "b"]), Err((2, 6)), row(&["2", "z"])]);
    }

    #[test]
    fn fields_know_their_place() {
        let mut csv = Csv::new(&b"\nab,\"c\nd\",e\n"[..]);
        let row = csv.next_row().unwrap().unwrap().unwrap();
        assert_eq!([row.place(0), row.place(1), row.place(2)], [(2, 1), (2, 4), (3, 4)]);
        assert_eq!((row.line, csv.line()), (2, 3));
    }
}
