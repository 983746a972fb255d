//! `weir run` as a child process with a configuration, a policy folder and topics of its own.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]
#![allow(clippy::disallowed_methods, reason = "a child process is awaited by the clock")]

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use weir::stream::{GroupProtocol, KafkaSettings, TopicNames};

use crate::support::{Answer, get};

const WEIR: &str = env!("CARGO_BIN_EXE_weir");
const PARTITIONS: i32 = 6;
/// How long anything that is awaited may take: generous, for machines under load.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A configuration, its folders, and the process that runs with it.
pub struct Instance {
    dir: TempDir,
    address: SocketAddr,
    pub kafka: KafkaSettings,
    pub names: TopicNames,
    child: Option<Child>,
}

impl Instance {
    /// Writes the configuration; nothing runs yet.
    pub fn new(brokers: &str, prefix: &str) -> Instance {
        let dir = TempDir::new().expect("a temporary folder");
        let address = free_address();
        let group = format!("{prefix}group");
        let config = format!(
            "[kafka]\nbrokers = \"{brokers}\"\ntopic_prefix = \"{prefix}\"\ngroup = \"{group}\"\n\
             record_bytes_max = \"1000KB\"\n\
             [topics]\npartitions = {PARTITIONS}\nreplication = 1\n\
             [http]\nlisten = \"{address}\"\n\
             [policy]\ndir = \"policy\"\nreload_interval = \"100ms\"\n\
             [state]\ndir = \"state\"\n[log]\nformat = \"text\"\n"
        );
        fs::write(dir.path().join("weir.toml"), config).expect("writable");
        let kafka = KafkaSettings {
            brokers: brokers.to_owned(),
            group,
            protocol: GroupProtocol::Classic { session_timeout: Duration::from_secs(6) },
            ..KafkaSettings::default()
        };
        let instance = Instance { dir, address, kafka, names: TopicNames::with_prefix(prefix), child: None };
        instance.swap_policy("first", |_, text| text);
        instance
    }

    /// Puts a copy of the standard policy, changed file by file, in the place of the present one: all at once, as a
    /// mounted configuration does.
    pub fn swap_policy(&self, name: &str, change: impl Fn(&str, String) -> String) {
        let folder = self.dir.path().join(name);
        fs::create_dir_all(&folder).expect("writable");
        for entry in fs::read_dir(root().join("config/policy")).expect("the standard policy") {
            let path = entry.expect("an entry").path();
            let file = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
            let text = change(&file, fs::read_to_string(&path).expect("text"));
            fs::write(folder.join(file), text).expect("writable");
        }
        let fresh = self.dir.path().join("policy.new");
        symlink(&folder, &fresh).expect("a link");
        fs::rename(&fresh, self.dir.path().join("policy")).expect("renamed");
    }

    /// A file of its folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a command with this configuration, to its end.
    pub fn command(&self, words: &[&str]) -> Output {
        let output = self.weir(words).output().expect("it starts");
        assert!(output.status.success(), "weir {words:?}: {output:?}");
        output
    }

    /// Runs a command with this configuration, however it ends.
    pub fn attempt(&self, words: &[&str]) -> Output {
        self.weir(words).output().expect("it starts")
    }

    fn weir(&self, words: &[&str]) -> Command {
        let mut command = Command::new(WEIR);
        command.args(words).arg("--config").arg(self.dir.path().join("weir.toml"));
        command.current_dir(self.dir.path()).stdin(Stdio::null()).env("NO_COLOR", "1");
        command
    }

    /// Starts `weir run`; its log goes to a file.
    pub fn start(&mut self) {
        self.start_with(&[]);
    }

    /// Likewise, with further variables of the environment.
    pub fn start_with(&mut self, variables: &[(&str, &str)]) {
        self.start_as(&["run"], variables);
    }

    /// Likewise, with further words.
    pub fn start_as(&mut self, words: &[&str], variables: &[(&str, &str)]) {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log_path()).expect("a log");
        let mut run = self.weir(words);
        run.envs(variables.iter().copied()).stdout(Stdio::null()).stderr(log);
        let child = run.spawn().expect("it starts");
        self.child = Some(child);
    }

    /// Waits until `/readyz` says so; returns how long it took.
    pub fn wait_until_ready(&mut self) -> Duration {
        let start = Instant::now();
        self.wait("ready", |instance| {
            TcpStream::connect(instance.address).is_ok() && get(instance.address, "/readyz").status == 200
        });
        start.elapsed()
    }

    /// Waits until something holds, while the process runs.
    ///
    /// # Panics
    /// It does not in time, or the process ended: the end of its log is shown.
    pub fn wait(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(self) {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
            let over = Instant::now() > deadline;
            assert!(ended.is_none() && !over, "not {what}; ended: {ended:?}\n{}", self.log_end());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks it to end and returns how it did, and how long that took.
    pub fn terminate(&mut self) -> (ExitStatus, Duration) {
        let mut child = self.child.take().expect("it runs");
        let start = Instant::now();
        kill_process(Pid::from_child(&child), Signal::TERM).expect("it can be asked");
        (child.wait().expect("it ends"), start.elapsed())
    }

    /// Ends it as a crash would.
    pub fn kill(&mut self) {
        let mut child = self.child.take().expect("it runs");
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }

    /// Waits for an end that nobody asked for.
    pub fn wait_for_end(&mut self) -> (ExitStatus, Duration) {
        let start = Instant::now();
        loop {
            let child = self.child.as_mut().expect("it runs");
            if let Some(status) = child.try_wait().expect("it can be asked") {
                self.child = None;
                return (status, start.elapsed());
            }
            assert!(start.elapsed() < PATIENCE, "it does not end\n{}", self.log_end());
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn get(&self, path: &str) -> Answer {
        get(self.address, path)
    }

    /// All metrics at this moment.
    pub fn metrics(&self) -> Metrics {
        let answer = self.get("/metrics");
        assert_eq!(answer.status, 200);
        Metrics(answer.body)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("weir.log")
    }

    pub fn log_end(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap_or_default();
            drop(child.wait());
        }
        if thread::panicking() {
            let log = self.log_end();
            drop(std::io::Write::write_all(&mut std::io::stderr(), log.as_bytes()));
        }
    }
}

/// Metrics in Prometheus' text form.
pub struct Metrics(pub String);

impl Metrics {
    /// The value of one series; 0 where it was never recorded.
    pub fn value(&self, series: &str) -> f64 {
        let value = |line: &str| line.strip_prefix(series)?.strip_prefix(' ')?.trim().parse().ok();
        self.0.lines().find_map(value).unwrap_or(0.0)
    }

    /// Values of a metric by one of its labels.
    pub fn by(&self, name: &str, label: &str) -> Vec<(String, f64)> {
        let series = |line: &str| {
            let (labels, value) = line.strip_prefix(name)?.strip_prefix('{')?.split_once("} ")?;
            let (_, rest) = labels.split_once(&format!("{label}=\""))?;
            Some((rest.split_once('"')?.0.to_owned(), value.trim().parse().ok()?))
        };
        self.0.lines().filter_map(series).collect()
    }

    /// The sum over all series of a metric.
    pub fn sum(&self, name: &str, label: &str) -> f64 {
        self.by(name, label).iter().map(|(_, value)| value).sum()
    }

    /// The bucket (upper bound) in which a quantile of a histogram lies, counted from what `before` had.
    pub fn quantile(&self, name: &str, part: f64, before: &Metrics) -> f64 {
        let bucket = format!("{name}_bucket");
        let earlier = before.by(&bucket, "le");
        let since = |(bound, count): &(String, f64)| {
            let old = earlier.iter().find(|(known, _)| known == bound).map_or(0.0, |(_, count)| *count);
            (bound.parse().unwrap_or(f64::INFINITY), count - old)
        };
        let buckets: Vec<(f64, f64)> = self.by(&bucket, "le").iter().map(since).collect();
        let all = buckets.iter().map(|(_, count)| *count).fold(0.0, f64::max);
        buckets.iter().find(|(_, count)| *count >= part * all).map_or(f64::NAN, |(bound, _)| *bound)
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// An address that was free a moment ago.
pub fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port")
}
