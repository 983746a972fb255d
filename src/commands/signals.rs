//! `weir signals`: what expressions may name, as a table or as data; and the schema of policy files for editors.

use serde::Serialize;

use super::table::columns;
use super::{Failure, finish, policy, print};
use crate::cli::{ConfigArgs, Format, SignalsArgs, exit};
use crate::engine::policy::listing::{Row, catalogue_table};
use crate::engine::policy::schema::policy_schema;

/// Runs it.
pub fn run(args: &SignalsArgs) -> u8 {
    finish(signals(args))
}

fn signals(args: &SignalsArgs) -> Result<u8, Failure> {
    let text = if args.schema { json(&policy_schema()) } else { catalogue(args)? };
    print(&text)?;
    Ok(exit::OK)
}

fn catalogue(args: &SignalsArgs) -> Result<String, Failure> {
    let loaded = policy::of_args(&args.policy, &ConfigArgs::from_environment())?.load_or_fail()?;
    let rows = catalogue_table(&loaded.policy);
    Ok(match args.format {
        Format::Json => json(&rows.iter().map(Entry::from).collect::<Vec<_>>()),
        Format::Text => table(&rows),
    })
}

fn table(rows: &[Row]) -> String {
    let cells = |row: &Row| {
        let meaning = match row.measure.as_str() {
            "" => row.doc.clone(),
            measure if row.doc.is_empty() => measure.to_owned(),
            measure => format!("{measure}; {}", row.doc),
        };
        let used = if row.used { "yes" } else { "" };
        [
            row.name.clone(),
            row.kind.to_owned(),
            row.ty.to_owned(),
            row.unit.to_owned(),
            used.to_owned(),
            meaning,
        ]
    };
    let rows: Vec<[String; 6]> = rows.iter().map(cells).collect();
    columns(["NAME", "KIND", "TYPE", "UNIT", "USED", "MEANING"], &rows)
}

/// One name as data.
#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    kind: &'a str,
    #[serde(rename = "type")]
    ty: &'a str,
    unit: &'a str,
    measure: &'a str,
    doc: &'a str,
    used: bool,
}

impl<'a> From<&'a Row> for Entry<'a> {
    fn from(row: &'a Row) -> Self {
        let Row { name, measure, doc, .. } = row;
        Self { name, kind: row.kind, ty: row.ty, unit: row.unit, measure, doc, used: row.used }
    }
}

fn json<T: Serialize>(value: &T) -> String {
    let text = serde_json::to_string_pretty(value).expect("text, numbers and structs of them can be written");
    format!("{text}\n")
}
