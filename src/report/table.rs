//! Tables of plain text.

use std::fmt::Write;

/// Appends a table below a title; cells are as wide as the widest of their column.
pub(super) fn table(out: &mut String, title: &str, heads: &[&str], rows: &[impl AsRef<[String]>]) {
    let shown = |row: &[String]| row.iter().map(|cell| visible(cell)).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| shown(row.as_ref())).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([heads[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<String> = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    writeln!(out, "\n{title}").expect("memory takes all");
    if heads.iter().any(|head| !head.is_empty()) {
        writeln!(out, "  {}", line(&mut heads.iter().copied())).expect("memory takes all");
    }
    for row in rows {
        let row = line(&mut row.iter().map(String::as_str));
        writeln!(out, "  {row}").expect("memory takes all");
    }
}

/// What an attacker may have put into a name cannot steer a terminal.
fn visible(cell: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    cell.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let mut out = String::new();
        let rows = [["größe", "1"].map(str::to_owned), ["a\x1b", "22"].map(str::to_owned)];
        table(&mut out, "title", &["name", "n"], &rows);
        assert_eq!(out, "\ntitle\n  name     n\n  größe    1\n  a\\u{1b}  22\n");
    }
}
