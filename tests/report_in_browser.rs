//! The reports in a real browser: `tests/browser/check.mjs` opens them in a headless Chromium and looks at them as a reader
//! does. Needs Chromium, Node 20 and npm (`tests/run` installs them where it may); axe is fetched once into
//! `.cache/browser`. What is missing is told and fails: nothing is left out silently. Screenshots stay in
//! `.cache/browser/shots`.
#![allow(clippy::print_stdout, reason = "what was looked at")]
#![allow(clippy::disallowed_methods, reason = "a test reads its environment")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn run(command: &mut Command, needs: &str) -> Output {
    let output = command.stdin(Stdio::null()).output();
    output.unwrap_or_else(|error| panic!("{command:?}: {error}; this test needs {needs}"))
}

fn succeeded(command: &mut Command, needs: &str) {
    let output = run(command, needs);
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{command:?}: {text}");
}

/// The browser that is installed.
fn chromium() -> String {
    let given = std::env::var("CHROMIUM").ok().filter(|path| !path.is_empty());
    let is_there = |name: &&str| {
        let asked = Command::new(name).arg("--version").stdin(Stdio::null()).output();
        asked.is_ok_and(|output| output.status.success())
    };
    let known = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(is_there);
    given.or(known.map(str::to_owned)).expect(
        "this test needs Chromium: install the package `chromium` (tests/run does so as root), or name it in CHROMIUM",
    )
}

/// The script of axe; fetched when it is missing or another version is wanted.
fn axe() -> PathBuf {
    let (here, cache) = (root().join("tests/browser"), root().join(".cache/browser"));
    let script = cache.join("node_modules/axe-core/axe.min.js");
    let same = |name: &str| fs::read(here.join(name)).ok() == fs::read(cache.join(name)).ok();
    if script.is_file() && same("package-lock.json") {
        return script;
    }
    fs::create_dir_all(&cache).expect("writable");
    for name in ["package.json", "package-lock.json"] {
        fs::copy(here.join(name), cache.join(name)).expect("writable");
    }
    let mut npm = Command::new("npm");
    succeeded(npm.args(["ci", "--no-audit", "--no-fund"]).current_dir(&cache), "npm");
    script
}

fn weir(folder: &Path, args: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("WEIR_")) {
        command.env_remove(name);
    }
    succeeded(command.args(args.split(' ')).current_dir(folder), "itself");
}

/// The standard policy, and a candidate that holds what one of three accounts does.
fn policies(folder: &Path) {
    for name in ["now", "candidate"] {
        fs::create_dir(folder.join(name)).expect("writable");
        for entry in fs::read_dir(root().join("config/policy")).expect("the standard policy") {
            let path = entry.expect("an entry").path();
            fs::copy(&path, folder.join(name).join(path.file_name().expect("a name"))).expect("writable");
        }
    }
    let more = "version: 1\nrules:\n  - { id: busy, family: volume, when: \"event.action == 'share' || account.new\", verdict: hold, \
                code: BUSY, text: t, source: s, owner: o }\n";
    fs::write(folder.join("candidate/more.yaml"), more).expect("writable");
}

#[test]
fn reports_hold_in_a_browser() {
    let (chromium, axe) = (chromium(), axe());
    let shots = root().join(".cache/browser/shots");
    fs::create_dir_all(&shots).expect("writable");
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path();
    policies(folder);
    weir(folder, "simulate --scenario ring --seed 7 --scale 0.03 --output e.jsonl --labels l.csv");
    weir(
        folder,
        "backtest --input e.jsonl --labels l.csv --policy candidate --against now --report backtest.html",
    );
    weir(folder, "evaluate --events e.jsonl --labels l.csv --report evaluate.html");
    let mut node = Command::new("node");
    node.arg(root().join("tests/browser/check.mjs")).args([chromium.as_str()]).arg(&axe).arg(&shots);
    let output = run(node.args(["backtest.html", "evaluate.html"]).current_dir(folder), "Node 20");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{told}");
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    let found: Vec<serde_json::Value> =
        told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    // What is looked at is there: the backtest has tables that sort and a threshold.
    assert_eq!(found.len(), 2, "{told}");
    assert!(found[0]["slider"] == true && found[0]["tables"].as_u64() >= Some(3), "{told}");
    assert!(found[0]["moved"].as_u64() > Some(10) && found[1]["axe_passes"].as_u64() > Some(10), "{told}");
}
