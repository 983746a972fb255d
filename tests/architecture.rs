//! The borders between rooms, held by reading our own sources.
//!
//! What a room may know is listed here and nowhere else. To open a border is a decision: change the list, and say why in
//! the commit.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Which of our rooms each room may name. A room that is missing here may name none.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("engine", &[]),
    ("stream", &["clock"]),
    ("sim", &["engine"]),
    ("wire", &["engine"]),
    ("clock", &["engine"]),
    ("metrics", &["clock", "engine"]),
    ("log", &[]),
    ("config", &["engine", "log"]),
    ("state", &["clock", "engine"]),
    ("pipeline", &["clock", "engine", "metrics", "state", "stream", "wire"]),
    ("replay", &["engine", "pipeline", "wire"]),
    ("report", &[]),
    ("evaluate", &["engine", "pipeline", "replay", "report", "sim", "wire"]),
    ("archive", &["engine", "wire"]),
    ("backtest", &["engine", "evaluate", "pipeline", "replay", "report"]),
    ("explain", &["engine", "evaluate", "replay"]),
    ("lint", &["engine", "report"]),
    ("tune", &["backtest", "engine", "evaluate", "replay"]),
    ("verify", &["engine", "wire"]),
    ("desk", &["clock", "config", "engine", "metrics", "state"]),
    ("cli", &["config", "engine"]),
    (
        "commands",
        &[
            "archive", "backtest", "cli", "clock", "config", "desk", "engine", "evaluate", "explain", "lint",
            "pipeline", "replay", "report", "sim", "state", "stream", "tune", "verify", "wire",
        ],
    ),
    ("demo", &["cli", "clock", "config", "engine", "pipeline", "sim", "stream", "wire"]),
    (
        "run",
        &[
            "cli", "clock", "commands", "config", "desk", "engine", "log", "metrics", "pipeline", "state",
            "stream", "wire",
        ],
    ),
];

/// Crates that only these rooms may name.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("rdkafka", &["stream"]),
    ("axum", &["desk"]),
    ("hyper", &["desk"]),
    ("hyper_util", &["desk"]),
    ("moka", &["desk"]),
    ("sled", &["state"]),
    ("tokio", &["desk", "run"]),
    ("metrics_exporter_prometheus", &["metrics"]),
    ("cel", &["engine", "verify"]),
    ("serde_saphyr", &["engine"]),
    ("clap", &["cli", "commands", "main"]),
    ("clap_complete", &["cli"]),
    ("indicatif", &["commands"]),
    ("toml", &["config"]),
    ("arc_swap", &["run"]),
    ("rustix", &["clock", "config"]),
    ("rand", &["sim"]),
    ("flate2", &["evaluate"]),
    ("parquet", &["archive"]),
    ("zstd", &["evaluate"]),
    ("rand_chacha", &["evaluate", "sim"]),
    ("rand_distr", &["evaluate", "sim"]),
];

/// What the pure core never names.
const NEVER_IN_ENGINE: &[&str] = &[
    "rdkafka",
    "tokio",
    "sled",
    "moka",
    "axum",
    "metrics",
    "serde_json",
    "tracing",
    "rand",
    "std::fs",
    "std::net::Tcp",
    "std::thread",
    "std::io",
    "std::env",
    "SystemTime",
    "Instant",
    "unsafe fn",
];

/// Lines of a file, without its tests.
const FILE_MAX: usize = 500;
/// Lines of a function that hold code.
const FUNCTION_MAX: usize = 70;

struct Source {
    path: PathBuf,
    room: String,
    /// Without comments and without the tests at its foot.
    code: String,
    whole: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    collect(&root, &root, &mut sources);
    assert!(sources.len() > 50, "the sources were not found");
    sources
}

fn collect(root: &Path, dir: &Path, into: &mut Vec<Source>) {
    let mut entries: Vec<_> =
        fs::read_dir(dir).expect("readable").map(|entry| entry.expect("entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(root, &path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(read(root, &path));
        }
    }
}

fn read(root: &Path, path: &Path) -> Source {
    let whole = fs::read_to_string(path).expect("utf-8");
    let inside = path.strip_prefix(root).expect("below src");
    let first = inside.components().next().expect("a name").as_os_str().to_string_lossy();
    let room = first.trim_end_matches(".rs").to_owned();
    let is_test =
        inside.components().any(|part| part.as_os_str() == "tests" || part.as_os_str() == "tests.rs");
    let code = match is_test && !inside.ends_with("engine/policy/tests.rs") {
        true => String::new(),
        false => whole.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_owned(),
    };
    let code =
        code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    Source { path: inside.to_owned(), room, code, whole }
}

/// The rooms that a source names as `crate::room`.
fn named_rooms(code: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default().split(',').collect(),
            None => vec![rest],
        };
        for name in names {
            let word: String = name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !word.is_empty() {
                named.insert(word);
            }
        }
    }
    named
}

fn names_crate(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + name.len()..].starts_with("::");
        after && !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    })
}

#[test]
fn rooms_name_only_the_rooms_they_may() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_NAME.iter().copied().collect();
    let mut broken = Vec::new();
    for source in sources().iter().filter(|source| !["lib", "main"].contains(&source.room.as_str())) {
        let may = allowed.get(source.room.as_str()).copied().unwrap_or_default();
        for named in named_rooms(&source.code) {
            let known = allowed.contains_key(named.as_str());
            if known && named != source.room && !may.contains(&named.as_str()) {
                broken.push(format!("{}: names `{named}`", source.path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_room_is_listed() {
    let listed: BTreeSet<&str> = MAY_NAME.iter().map(|(room, _)| *room).collect();
    let rooms: BTreeSet<String> = sources().into_iter().map(|source| source.room).collect();
    let rooms: BTreeSet<&str> =
        rooms.iter().map(String::as_str).filter(|room| !["lib", "main"].contains(room)).collect();
    assert_eq!(rooms, listed);
}

#[test]
fn each_outside_library_lives_in_its_room() {
    let mut broken = Vec::new();
    for source in sources() {
        for (name, rooms) in ONLY_IN {
            if !rooms.contains(&source.room.as_str()) && names_crate(&source.code, name) {
                broken.push(format!("{}: names `{name}`", source.path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_engine_is_pure() {
    let mut broken = Vec::new();
    for source in sources().iter().filter(|source| source.room == "engine") {
        for name in NEVER_IN_ENGINE {
            let found = match name.contains(|c: char| !c.is_lowercase() && c != '_') {
                true => source.code.contains(name),
                false => names_crate(&source.code, name),
            };
            if found {
                broken.push(format!("{}: names `{name}`", source.path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn only_the_prefetch_is_unsafe() {
    for source in sources() {
        let allowed = source.path == Path::new("engine/prefetch.rs");
        assert!(allowed || !source.whole.contains("unsafe_code"), "{}", source.path.display());
        assert!(allowed || !source.code.contains("unsafe {"), "{}", source.path.display());
    }
}

#[test]
fn files_begin_with_what_they_are_and_stay_one_idea() {
    let mut broken = Vec::new();
    for source in sources().iter().filter(|source| !source.code.is_empty()) {
        if !source.whole.starts_with("//!") {
            broken.push(format!("{}: does not begin with its module's text", source.path.display()));
        }
        let lines = source.whole.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().lines().count();
        if lines > FILE_MAX {
            broken.push(format!("{}: {lines} lines", source.path.display()));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn functions_fit_on_a_screen() {
    let mut broken = Vec::new();
    for source in sources() {
        let mut open: Option<(String, usize, usize)> = None;
        for line in source.code.lines() {
            let indent = line.len() - line.trim_start().len();
            let starts = line.trim_start().split("fn ").count() > 1 && line.trim_end().ends_with('{');
            match &mut open {
                None if starts => open = Some((line.trim().to_owned(), indent, 0)),
                Some((_, at, _)) if line.trim() == "}" && indent == *at => {
                    let (name, _, lines) = open.take().expect("open");
                    if lines > FUNCTION_MAX {
                        broken.push(format!("{}: {lines} lines: {name}", source.path.display()));
                    }
                }
                Some((_, _, lines)) if !line.trim().is_empty() => *lines += 1,
                _ => {}
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
