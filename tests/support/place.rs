//! A folder of its own in which `weir` is run as it is typed, with nothing of this environment.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;
use tempfile::TempDir;

/// What a run left behind.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// See the module.
pub struct Place {
    dir: TempDir,
    /// What is typed before all else.
    words: &'static [&'static str],
}

impl Place {
    pub fn new() -> Place {
        Place::of(&[])
    }

    /// One in which all runs begin with these words.
    pub fn of(words: &'static [&'static str]) -> Place {
        Place { dir: tempfile::tempdir().expect("a temporary folder"), words }
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file, and the folder it is in.
    pub fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        fs::write(&path, text).expect("writable");
        path
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("it was written")
    }

    /// The command, not run yet.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        for (name, _) in std::env::vars() {
            if name.starts_with("WEIR_") || name == "NO_COLOR" {
                command.env_remove(name);
            }
        }
        command.args(self.words).args(args).current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        ran(self.command(args).output().expect("it runs"))
    }

    /// Runs it with this on stdin.
    pub fn run_with(&self, args: &[&str], input: &str) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let mut stdin = child.stdin.take().expect("it was asked for");
        let input = input.to_owned();
        let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().expect("it ends");
        writer.join().expect("no panic").unwrap_or_default();
        ran(output)
    }

    /// Runs it and reads the JSON on stdout.
    pub fn json(&self, args: &[&str]) -> Json {
        let ran = self.run(&[args, &["--format", "json"]].concat());
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
    }

    /// Runs it and reads the JSON that it wrote into a file.
    pub fn found(&self, args: &[&str]) -> (Json, Ran) {
        let ran = self.run(&[args, &["--json", "found.json"]].concat());
        let text = fs::read_to_string(self.path("found.json"));
        let text = text.unwrap_or_else(|error| panic!("{error}: {}", ran.err));
        (serde_json::from_str(&text).expect("JSON"), ran)
    }
}

/// What a process that has ended left behind.
pub fn ran(output: Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).expect("all that is said is UTF-8");
    let code = output.status.code().expect("no signal ended it");
    Ran { code, out: text(output.stdout), err: text(output.stderr) }
}
