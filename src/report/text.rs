//! A report as text for a terminal or a log.

use std::fmt::Write;

use super::section::Section;
use super::table::table;

/// The parts that are fit for a terminal.
pub fn text(sections: &[Section]) -> String {
    let mut out = String::new();
    for section in sections.iter().filter(|section| !section.page_only) {
        let heads: Vec<&str> = section.heads.iter().map(String::as_str).collect();
        if section.rows.is_empty() {
            writeln!(out, "\n{}: none", section.title).expect("memory takes all");
        } else {
            table(&mut out, &section.title, &heads, &section.rows);
        }
    }
    out.trim_start_matches('\n').to_owned()
}
