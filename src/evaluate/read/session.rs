//! Files of events to whoever listens: each line or row with its label, each fault with its place.

use std::io::{self, BufRead, BufReader, Read};

use super::csv::{Csv, Row};
use super::faults::Faults;
use super::labels::Labels;
use super::mapping::{Bound, Mapping};
use super::source::unpacked;
use crate::engine::Ahead;
use crate::engine::event::Event;
use crate::evaluate::label::{Groups, Label};
use crate::replay::{Heard, Lines, Odd};

/// The form of a file of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One interaction as JSON a line.
    JsonLines,
    /// Comma-separated values with a line of column names; a line of semicolons or tabs is read by these.
    Csv,
    /// Tab-separated values with a line of column names.
    Tsv,
}

/// A file of events.
pub struct Input {
    /// Its name, for places.
    pub name: String,
    /// Its bytes, plain, gzip or zstd.
    pub from: Box<dyn Read>,
    /// Its form.
    pub format: Format,
}

/// Whoever listens to lines: puts them through one engine or several, and hears the truth about each.
pub trait Ear {
    /// The next lines, a few at a time; `truth` is asked about each that was decided, and numbers go on by one with each
    /// line. Returns how many it took, 0 at the end.
    fn together<'l>(
        &mut self,
        lines: impl Iterator<Item = &'l [u8]>,
        truth: impl FnMut(&Heard<'_>) -> Option<Label>,
    ) -> usize;

    /// Whether it has heard all that it wants to: nothing more is read then.
    fn has_enough(&self) -> bool {
        false
    }
}

/// What is known while files are read.
#[derive(Debug)]
pub struct Session {
    mapping: Mapping,
    labels: Labels,
    /// Lines that were handed on.
    handed: u64,
    /// Where the record that was heard last stands: its line in the file, from 1.
    pub line: u64,
    /// All groups that labels named.
    pub groups: Groups,
    /// All that could not be read.
    pub faults: Faults,
    /// What was read and is odd.
    pub odd: Odd,
}

impl Session {
    /// `labels` are those of a file, with its `groups` and `faults`; where it has none for an event, the row's own
    /// label counts, then the mapping's.
    pub fn new(mapping: Mapping, labels: Labels, groups: Groups, faults: Faults) -> Self {
        Self { mapping, labels, handed: 0, line: 0, groups, faults, odd: Odd::default() }
    }

    /// Leads a file to whoever listens.
    ///
    /// # Errors
    /// A table without the columns that the mapping names. What else is wrong is a fault.
    pub fn hear(&mut self, ear: &mut impl Ear, input: Input) -> io::Result<()> {
        let (from, broken) = unpacked(input.from);
        let last = match input.format {
            Format::JsonLines => self.lines(ear, &input.name, from),
            Format::Csv => self.table(ear, &input.name, Csv::new(BufReader::new(from))),
            Format::Tsv => self.table(ear, &input.name, Csv::parted_by('\t', BufReader::new(from))),
        };
        // Where a table breaks off in its first line, that is why it has no columns.
        let last = last.map_err(|error| broken.why().map_or(error, |why| invalid(&input.name, &why)))?;
        if let Some(why) = broken.why() {
            self.faults.note("file broken off", || format!("{}:{}", input.name, last + 1), why);
        }
        Ok(())
    }

    /// The truth about what was heard of an event that comes from no file, and notes what is wrong with it at `place`.
    pub fn truth(&mut self, heard: &Heard<'_>, place: impl Fn() -> String) -> Option<Label> {
        self.odd.record(heard, &place);
        if let Some(fault) = heard.fault {
            self.faults.note(fault.reason.name(), place, format!("{} ({})", fault.message, fault.place));
        }
        let fallback = self.mapping.label;
        let fallback =
            fallback.map(|kind| Label::plain(kind, self.groups.number(&self.mapping.scenario, "")));
        label(&mut self.labels, heard).or(fallback)
    }

    /// Tells the labels of a file that no event met.
    pub fn end(&mut self, labels_name: &str) {
        self.labels.unmet(labels_name, &mut self.faults);
    }

    fn lines(&mut self, ear: &mut impl Ear, name: &str, from: Box<dyn Read>) -> io::Result<u64> {
        let mut lines = Lines::new(from);
        let groups = &mut self.groups;
        let fallback = self.mapping.label;
        let fallback = fallback.map(|kind| Label::plain(kind, groups.number(&self.mapping.scenario, "")));
        let before = self.handed;
        while !ear.has_enough() && lines.advance()? {
            let (mut block, mut taken) = (lines.lines(), 0);
            let Self { labels, faults, odd, line, .. } = self;
            let mut truth = |heard: &Heard<'_>| {
                *line = heard.line - before;
                odd.line(heard, || format!("{name}:{line}"));
                if let Some(fault) = heard.fault {
                    let (at, message) = fault.in_file(name, *line);
                    faults.note(fault.reason.name(), || at, message);
                }
                label(labels, heard).or(fallback)
            };
            loop {
                match ear.together(&mut block, &mut truth) {
                    0 => break,
                    count => taken += count as u64,
                }
            }
            self.handed += taken;
        }
        Ok(self.handed - before)
    }

    fn table(&mut self, ear: &mut impl Ear, name: &str, mut csv: Csv<impl BufRead>) -> io::Result<u64> {
        let head = match csv.next_row()? {
            Some(Ok(head)) if head.iter().all(|name| !name.contains('\0')) => head,
            Some(Err(bad)) => {
                let why = format!("its first line is no line of column names in UTF-8: {}", bad.message);
                return Err(invalid(name, &why));
            }
            Some(Ok(_)) => return Err(invalid(name, "its first line is no line of column names in UTF-8")),
            None => {
                let error = invalid(name, "is empty: a line of column names is needed");
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, error.to_string()));
            }
        };
        let mut bound = self.mapping.bind(&head).map_err(|error| invalid(name, &error.to_string()))?;
        let (mut rows, mut number) = (Rows::default(), 0);
        while !ear.has_enough()
            && let Some(row) = csv.next_row()?
        {
            number += 1;
            match row {
                Ok(row) => self.row(name, &row, number, &mut bound, &mut rows),
                Err(bad) => {
                    self.damaged(name, bad.line, bad.column, bad.message);
                    rows.damaged(bad.line);
                }
            }
            if rows.lines.len() >= Ahead::EVENTS {
                self.together(ear, name, &mut rows);
            }
        }
        self.together(ear, name, &mut rows);
        Ok(csv.line())
    }

    fn row(&mut self, name: &str, row: &Row, number: u64, bound: &mut Bound, rows: &mut Rows) {
        match bound.read(row, number, &self.mapping, &mut self.groups) {
            Ok((events, label)) => {
                if bound.is_dated() {
                    self.odd.note("date_only", || DATE_ONLY.to_owned(), &|| format!("{name}:{}", row.line));
                }
                events.into_iter().for_each(|event| rows.push(event, label, row.line));
                for (field, message) in bound.take_held() {
                    let (line, column) = row.place(field);
                    self.faults.note("count held", || format!("{name}:{line}:{column}"), message);
                }
            }
            Err((field, message)) => {
                let (line, column) = row.place(field);
                self.damaged(name, line, column, &message);
                rows.damaged(row.line);
            }
        }
    }

    fn together(&mut self, ear: &mut impl Ear, name: &str, rows: &mut Rows) {
        let Self { labels, faults, odd, line, handed, .. } = self;
        let before = *handed;
        let mut lines = rows.lines.iter().map(Vec::as_slice);
        let mut truth = |heard: &Heard<'_>| {
            let place = (heard.line - before) as usize - 1;
            *line = rows.places[place];
            let at = || format!("{name}:{line}");
            odd.line(heard, at);
            // What is damaged was told as a row; a column of the event made of a row is none of the row.
            if let Some(fault) = heard.fault.filter(|_| !rows.lines[place].is_empty()) {
                faults.note(fault.reason.name(), at, fault.sentence());
            }
            label(labels, heard).or(rows.labels[place])
        };
        loop {
            match ear.together(&mut lines, &mut truth) {
                0 => break,
                count => *handed += count as u64,
            }
        }
        *rows = Rows::default();
    }

    fn damaged(&mut self, name: &str, line: u64, column: u64, message: &str) {
        self.faults.note("row", || format!("{name}:{line}:{column}"), message);
    }
}

const DATE_ONLY: &str = "tells a date and no time of day: it is taken for midnight UTC, so that all of a day happens at \
    once (write the time of day into the column, or expect nothing of windows shorter than a day)";

/// Rows that are decided together.
#[derive(Debug, Default)]
struct Rows {
    /// Each as JSON; nothing for one that is damaged, so that it ends as a dead letter as a damaged line does.
    lines: Vec<Vec<u8>>,
    labels: Vec<Option<Label>>,
    /// Lines of the file.
    places: Vec<u64>,
}

impl Rows {
    fn push(&mut self, event: Vec<u8>, label: Option<Label>, line: u64) {
        self.lines.push(event);
        self.labels.push(label);
        self.places.push(line);
    }

    fn damaged(&mut self, line: u64) {
        self.push(Vec::new(), None, line);
    }
}

fn label(labels: &mut Labels, heard: &Heard<'_>) -> Option<Label> {
    let (event, _): (&Event<'_>, _) = heard.event?;
    labels.of(event.user.as_deref(), &event.id, event.occurred_at)
}

fn invalid(name: &str, message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("events {name}:1:1: {message}"))
}
