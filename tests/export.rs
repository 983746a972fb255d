//! `weir export` as it is typed, and the file read back wherever events are read.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs it; the exit code, and what was said on stderr.
    fn run(&self, args: &str) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("WEIR_")) {
            command.env_remove(name);
        }
        let command = command.args(args.split(' ')).current_dir(self.0.path());
        let ran = command.stdin(Stdio::null()).output().expect("it runs");
        (ran.status.code().expect("it ended"), String::from_utf8(ran.stderr).expect("UTF-8"))
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_that_cannot_says_how_to_get_one_that_can() {
    let place = Place::new();
    fs::write(place.path("e.jsonl"), "").expect("writable");
    fs::write(place.path("e.parquet"), "PAR1").expect("writable");
    for args in ["export --input e.jsonl --to x.parquet", "backtest --input e.parquet"] {
        let (code, told) = place.run(args);
        assert_eq!((code, told.contains("--features parquet")), (1, true), "{told}");
    }
}

#[cfg(feature = "parquet")]
mod parquet {
    use std::collections::BTreeMap;
    use std::fs::File;
    use std::io::Write;

    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::RowAccessor;
    use serde_json::Value as Json;

    use super::*;

    impl Place {
        fn ran(&self, args: &str) {
            let (code, told) = self.run(args);
            assert_eq!(code, 0, "{args}: {told}");
        }

        fn json(&self, name: &str) -> Json {
            serde_json::from_str(&fs::read_to_string(self.path(name)).expect("written")).expect("JSON")
        }
    }

    /// Simulated traffic with a ring in it, a damaged line, an empty one, and one of which a column says nothing.
    fn events(place: &Place) -> usize {
        place.ran("simulate --scenario ring --seed 7 --scale 0.03 --output e.jsonl --labels l.csv");
        let mut file = File::options().append(true).open(place.path("e.jsonl")).expect("writable");
        for number in 0..6 {
            // The fourth like of the same within a minute is rejected.
            let at = 1_760_000_000_000_i64 + 8_000 * number;
            let line = format!(
                r#"{{"event_id":"m{number}","occurred_at":{at},"action":"like","user_id":"m","target_id":"t","ip":"198.51.100.9"}}"#
            );
            writeln!(file, "{line}").expect("writable");
        }
        let more = "{\"damaged\n\n{\"event_id\":\"last\",\"occurred_at\":1750000000000,\"action\":\"like\",\"ip\":\"198.51.100.7\"}\n";
        file.write_all(more.as_bytes()).expect("writable");
        fs::read_to_string(place.path("e.jsonl")).expect("written").lines().count()
    }

    const AS_OF: &str = "--as-of 2027-01-01T00:00:00Z";

    /// The decisions of the file are those of the lines it came from, to the last byte, and so is a backtest.
    #[test]
    fn decisions_of_the_file_are_those_of_the_lines_it_came_from() {
        let place = Place::new();
        let lines = events(&place);
        assert!(lines > 3_000, "{lines} lines");
        place.ran(&format!("replay --input e.jsonl --output d.jsonl --stats json {AS_OF}"));
        place.ran("export --input e.jsonl --decisions d.jsonl --to e.parquet");
        assert!(!place.path("e.parquet.unfinished").exists());
        place.ran(&format!("replay --input e.parquet --output again.jsonl --stats json {AS_OF}"));
        let read = |name: &str| fs::read(place.path(name)).expect("written");
        assert!(read("d.jsonl") == read("again.jsonl"), "the decisions differ");

        place.ran(&format!("backtest --input e.jsonl --json a.json {AS_OF}"));
        place.ran(&format!("backtest --input e.parquet --json b.json {AS_OF}"));
        let (mut a, mut b) = (place.json("a.json"), place.json("b.json"));
        for found in [&mut a, &mut b] {
            // They name their input.
            for part in ["facts", "not_read"] {
                found.as_object_mut().expect("an object").remove(part).expect(part);
            }
            for odd in found["odd"].as_array_mut().expect("a list") {
                let first = odd["first"].as_str().expect("text");
                odd["first"] = first.replace("e.jsonl:", "e.parquet:").into();
            }
        }
        assert_eq!(a, b);
        shows_what_was_decided(&place, lines);
    }

    /// As an analyst reads it: one row a line, with the verdict of its decision.
    fn shows_what_was_decided(place: &Place, lines: usize) {
        let reader =
            SerializedFileReader::new(File::open(place.path("e.parquet")).expect("there")).expect("Parquet");
        let schema = reader.metadata().file_metadata().schema_descr();
        let column =
            |name: &str| (0..schema.num_columns()).find(|c| schema.column(*c).name() == name).expect("there");
        let (verdict, user, offset) = (column("verdict"), column("user_id"), column("offset"));
        let decisions = fs::read_to_string(place.path("d.jsonl")).expect("written");
        let mut wanted: BTreeMap<i64, (String, Option<String>)> = BTreeMap::new();
        for line in decisions.lines() {
            let told: Json = serde_json::from_str(line).expect("JSON");
            if let Some(verdict) = told["verdict"].as_str() {
                let user = told["user_id"].as_str().map(str::to_owned);
                wanted
                    .insert(told["source"]["offset"].as_i64().expect("a number"), (verdict.to_owned(), user));
            }
        }
        let (mut rows, mut verdicts) = (0, BTreeMap::<String, u64>::new());
        for row in reader.get_row_iter(None).expect("rows") {
            let row = row.expect("a row");
            assert_eq!(row.get_long(offset).expect("a number"), rows);
            let text = |column| row.get_string(column).ok().cloned();
            match wanted.remove(&rows) {
                Some(told) => {
                    *verdicts.entry(told.0.clone()).or_default() += 1;
                    assert_eq!((text(verdict), text(user)), (Some(told.0), told.1), "row {rows}");
                }
                None => assert_eq!(text(verdict), None, "row {rows}"),
            }
            rows += 1;
        }
        assert_eq!((rows as usize, wanted.len()), (lines, 0));
        assert!(verdicts.len() > 1, "{verdicts:?}");
    }

    #[test]
    fn what_cannot_be_read_is_told_and_leaves_no_file() {
        let place = Place::new();
        fs::write(place.path("d.jsonl"), "{}\n").expect("writable");
        fs::write(place.path("e.jsonl"), "{}\n").expect("writable");
        let (code, told) = place.run("export --input e.jsonl --decisions d.jsonl --to e.parquet");
        assert_eq!((code, told.contains("no decision")), (1, true), "{told}");
        assert!(!place.path("e.parquet").exists() && !place.path("e.parquet.unfinished").exists());
        fs::write(place.path("bad.parquet"), "PAR1 and so on").expect("writable");
        let (code, told) = place.run("backtest --input bad.parquet");
        assert_eq!((code, told.contains("bad.parquet")), (1, true), "{told}");
    }
}
