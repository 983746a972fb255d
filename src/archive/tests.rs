//! Rows written and read back.

use std::io::Read;

use super::*;
use crate::engine::verdict::Verdict;

fn row(offset: i64, line: &str, told: Option<Told>) -> Row {
    Row { partition: 0, offset, line: line.to_owned(), told }
}

fn told(verdict: Verdict, revision: u32) -> Told {
    let first_verdict = (revision == 0).then_some(verdict);
    Told { verdict, first_verdict, score: -100, revision, codes: "A B".into(), policy: "p".into() }
}

#[test]
fn lines_come_back_as_they_were_over_several_groups() {
    let mut file = tempfile::tempfile().expect("a file");
    let lines: Vec<String> = (0..45_000)
        .map(|n| match n % 1000 {
            0 => "{\"damaged".to_owned(),
            1 => String::new(),
            _ => format!(r#"{{"event_id":"ü{n}","occurred_at":{n},"action":"like","user_id":"u{}"}}"#, n % 7),
        })
        .collect();
    let mut writer = Writer::new(&mut file).expect("writable");
    for (offset, line) in (0..).zip(&lines) {
        let told = (offset % 2 == 0).then(|| told(Verdict::Hold, 0));
        writer.add(row(offset, line, told)).expect("writable");
    }
    let (count, _) = writer.end().expect("writable");
    assert_eq!(count, 45_000);
    let mut text = String::new();
    Lines::open(file).expect("a Parquet file").read_to_string(&mut text).expect("readable");
    assert_eq!(text, lines.iter().map(|line| format!("{line}\n")).collect::<String>());
}

#[test]
fn what_is_no_archive_is_told() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("x.parquet");
    std::fs::write(&path, "no parquet at all").expect("writable");
    let error = Lines::open(std::fs::File::open(&path).expect("readable")).err().expect("refused");
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
}

#[test]
fn of_several_decisions_the_last_revision_holds() {
    let both = told(Verdict::Allow, 2).with(told(Verdict::Hold, 0)).with(told(Verdict::Challenge, 1));
    assert_eq!((both.verdict, both.first_verdict, both.revision), (Verdict::Allow, Some(Verdict::Hold), 2));
}
