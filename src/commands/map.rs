//! `weir map`: which column of a stranger's table is which field, and the command of a first report.

use std::fmt::Write;
use std::io::{self, Read};

use super::table::{columns, visible};
use super::{Failure, finish, print, reading};
use crate::cli::{FileOrStandard, Format, MapArgs, exit};
use crate::evaluate::read::{Format as Table, Guess, ROWS, guess};

/// Runs it.
pub fn run(args: &MapArgs) -> u8 {
    finish(map(args))
}

fn map(args: &MapArgs) -> Result<u8, Failure> {
    let name = reading::name(&args.file);
    let from: Box<dyn Read> = match &args.file {
        FileOrStandard::Standard => Box::new(io::stdin().lock()),
        FileOrStandard::File(path) => Box::new(reading::open(path)?),
    };
    let comma = (reading::table_by_name(&name) == Some(Table::Tsv)).then_some('\t');
    let guess = guess(from, comma).map_err(|error| Failure::new(format!("{name}: {error}")))?;
    print(&match args.format {
        Format::Json => serde_json::to_string_pretty(&guess).expect("text and numbers can be written") + "\n",
        Format::Text => text(&name, &args.file, &guess),
    })?;
    let missing = missing(&guess);
    if !missing.is_empty() {
        let text = format!(
            "no column looks like {}: say in the command above which one is, as in --map {}=COLUMN",
            missing.join(" or "),
            missing[0]
        );
        return Err(Failure::new(text));
    }
    if let Some(name) = repeated(&guess).first() {
        return Err(Failure::new(format!(
            "the column `{}` is there more than once, so that no --map can name it: give each a name of its own in the first line",
            visible(name)
        )));
    }
    Ok(exit::OK)
}

/// Fields without which nothing can be decided, that no column looks like.
fn missing(guess: &Guess) -> Vec<&'static str> {
    let has = |field: &str| guess.columns.iter().any(|column| column.field == Some(field));
    ["time", "user"].into_iter().filter(|field| !(has(field) || *field == "user" && has("ip"))).collect()
}

/// Columns that a mapping would name, and that others are called like.
fn repeated(guess: &Guess) -> Vec<&str> {
    let count = |name: &str| guess.columns.iter().filter(|column| column.name == name).count();
    let mapped = guess.columns.iter().filter(|column| column.field.is_some());
    mapped.map(|column| column.name.as_str()).filter(|name| count(name) > 1).collect()
}

fn text(name: &str, file: &FileOrStandard, guess: &Guess) -> String {
    let input = match file {
        FileOrStandard::Standard => "-".to_owned(),
        FileOrStandard::File(_) => quoted(name),
    };
    // What is not called a table is taken for JSON lines.
    let form = if reading::is_table(name) { "" } else { "--format csv " };
    let rows: Vec<[String; 3]> = (guess.columns.iter())
        .map(|column| {
            let sure = if column.sure { "" } else { "?" };
            let field = column.field.map_or("-".to_owned(), |field| format!("{field}{sure}"));
            [column.name.clone(), field, column.looks.clone()]
        })
        .collect();
    let mut text = columns(["COLUMN", "FIELD", "LOOKS LIKE"], &rows);
    let mut line = |words: &str| writeln!(text, "{words}").expect("memory takes all");
    line("");
    line(&format!(
        "{} rows of at most {ROWS} were looked at, {} could not be read",
        guess.rows, guess.damaged
    ));
    if guess.columns.iter().all(|column| column.field != Some("action")) {
        line("No column tells what was done: each row is taken for a like, or for another --action.");
    }
    if guess.columns.iter().any(|column| column.field.is_some() && !column.sure) {
        line(
            "A field with `?` is a guess by the name of the column alone, or by its values alone: look before you trust it.",
        );
    }
    line(match (missing(guess).is_empty(), repeated(guess).is_empty()) {
        (true, true) => "A first report:",
        (false, _) => "A first report, once the missing columns are named:",
        (true, false) => "A first report, once each column has a name of its own:",
    });
    line(&visible(&format!("  weir backtest --input {input} {form}{} --report first.html", flags(guess))));
    text
}

/// The mapping as flags; an action where no column tells one.
fn flags(guess: &Guess) -> String {
    let mut maps = Vec::new();
    for column in &guess.columns {
        // A comma parts mappings, and would part this one.
        if let Some(field) = column.field.filter(|_| !column.name.contains(',')) {
            maps.push(format!("--map {}", quoted(&format!("{field}={}", column.name))));
        }
    }
    if guess.columns.iter().all(|column| column.field != Some("action")) {
        maps.push("--action like".to_owned());
    }
    maps.join(" ")
}

/// A word for a shell.
fn quoted(text: &str) -> String {
    match text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:=%".contains(c)) {
        true if !text.is_empty() => text.to_owned(),
        _ => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
