//! Text for terminals: columns, each as wide as its widest cell, two spaces apart, the last one as it is.

/// Characters of a cell that are shown.
const WIDEST: usize = 200;

/// A table with a line of heads. Control characters in cells are shown escaped; what is longer than 200 characters is cut.
pub(super) fn columns<const N: usize>(heads: [&str; N], rows: &[[String; N]]) -> String {
    let rows: Vec<[String; N]> =
        rows.iter().map(|row| row.each_ref().map(|cell| short(&visible(cell)))).collect();
    let heads = heads.map(str::to_owned);
    let all = || std::iter::once(&heads).chain(&rows);
    let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    all().map(|row| line(row, &widths)).collect()
}

fn line(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths).map(|(cell, &width)| format!("{cell:width$}"));
    let line = cells.collect::<Vec<_>>().join("  ");
    format!("{}\n", line.trim_end())
}

fn short(cell: &str) -> String {
    match cell.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}...", &cell[..end]),
        None => cell.to_owned(),
    }
}

/// What an attacker may have put into a text cannot steer a terminal.
pub(super) fn visible(cell: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    cell.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [["größe", "1"].map(str::to_owned), ["a\x1b", "22"].map(str::to_owned)];
        assert_eq!(columns(["name", "n"], &rows), "name     n\ngröße    1\na\\u{1b}  22\n");
    }

    /// The widest column that can be formatted has 65,535 characters.
    #[test]
    fn a_cell_of_any_length_is_shown_cut() {
        let rows = [["ü".repeat(100_000), "1".to_owned()]];
        let table = columns(["name", "n"], &rows);
        assert_eq!(table.lines().last(), Some(&*format!("{}...  1", "ü".repeat(200))));
    }
}
