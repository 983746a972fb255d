//! A part of a report: a title, a table, what is to be said about it, and perhaps charts. Text and HTML are made of
//! the same parts, so that they cannot differ.

use super::chart::Chart;
use super::slider::Slider;

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
    /// A threshold over the same figures, to be moved.
    pub slider: Option<Slider>,
    /// For a page only: too long for a terminal.
    pub page_only: bool,
    /// On a page its rows can be sorted by any column.
    pub sortable: bool,
}

impl Section {
    /// A table below a title.
    pub fn table(title: impl Into<String>, heads: &[&str], rows: Vec<Vec<String>>) -> Self {
        let heads = heads.iter().map(|head| (*head).to_owned()).collect();
        Self { title: title.into(), heads, rows, ..Self::default() }
    }

    /// With something said about it.
    #[must_use]
    pub fn noted(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// With rows that can be sorted.
    #[must_use]
    pub fn sortable(self) -> Self {
        Self { sortable: true, ..self }
    }

    /// For a page only.
    #[must_use]
    pub fn page_only(self) -> Self {
        Self { page_only: true, ..self }
    }

    /// With a chart of the same figures.
    #[must_use]
    pub fn charted(mut self, chart: Chart) -> Self {
        self.charts.push(chart);
        self
    }

    /// Whether a page needs a script for it.
    pub(super) fn moves(&self) -> bool {
        self.sortable || self.slider.is_some()
    }
}
