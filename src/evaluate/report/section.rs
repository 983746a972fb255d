//! A part of a report: a title, a table, what is to be said about it, and perhaps charts. Text and HTML are made of
//! the same parts, so that they cannot differ.

use super::chart::Chart;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// What it is about.
    pub title: String,
    /// What is to be said about it, in sentences; may be empty.
    pub note: String,
    /// Names of the columns; without any there is no table.
    pub heads: Vec<String>,
    /// Cells.
    pub rows: Vec<Vec<String>>,
    /// Charts of the same figures.
    pub charts: Vec<Chart>,
    /// For a page only: too long for a terminal.
    pub page_only: bool,
}

impl Section {
    /// A table below a title.
    pub(super) fn table(title: impl Into<String>, heads: &[&str], rows: Vec<Vec<String>>) -> Self {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        Self { title: title.into(), heads, rows, ..Self::default() }
    }

    /// With something said about it.
    pub(super) fn noted(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }
}
