//! A real single-node Apache Kafka for tests: started from Maven's jars, one a test binary, ended with it.
//!
//! With `KAFKA_BOOTSTRAP_SERVERS` set, that cluster is used and nothing is started. Else Java 17 and Maven are
//! needed: jars are fetched once into `.cache/kafka`, and the broker runs on free ports in a temporary folder. A
//! watching shell ends it when the test process is gone, however that went. Tests take unique topic prefixes from
//! [`unique`], so they can share it.
#![expect(clippy::disallowed_methods, reason = "a test waits for another process, and reads its environment")]
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]

use std::fs;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// How long a broker may take until it answers.
const START: Duration = Duration::from_secs(90);
/// How long it may take to stop before it is killed.
const STOP: Duration = Duration::from_secs(15);
/// Any 16 bytes in URL-safe base64.
const CLUSTER_ID: &str = "d2VpcnRlc3RjbHVzdGVyMQ";

/// The broker that all tests of this binary share.
pub fn shared() -> &'static str {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    match SHARED.get_or_init(Shared::find) {
        Shared::Given(bootstrap) => bootstrap,
        Shared::Own(broker) => broker.bootstrap(),
    }
}

/// A name that no other test and no other run uses.
pub fn unique(what: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_micros();
    format!("t{now:x}-{}-{what}.", COUNT.fetch_add(1, Ordering::Relaxed))
}

enum Shared {
    Given(String),
    Own(Broker),
}

impl Shared {
    fn find() -> Shared {
        match std::env::var("KAFKA_BOOTSTRAP_SERVERS") {
            Ok(bootstrap) if !bootstrap.is_empty() => Shared::Given(bootstrap),
            _ => Shared::Own(Broker::start(&[])),
        }
    }
}

const JAVA: [&str; 4] =
    ["java", "-Xmx512m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"];
/// Starts some seconds earlier, and is slower under load.
const QUICK: &str = "-XX:TieredStopAtLevel=1";

/// A broker of one's own, to stop and start at will. Dropping it stops it and removes its folder.
pub struct Broker {
    dir: PathBuf,
    jars: PathBuf,
    port: u16,
    bootstrap: String,
    quick: bool,
    running: Option<Running>,
}

struct Running {
    shell: Child,
    stdin: ChildStdin,
}

impl Broker {
    /// Starts a broker with additional lines in its `server.properties`.
    ///
    /// # Panics
    /// Java or Maven is missing, or the broker does not answer in time: its log's end is shown.
    pub fn start(extra: &[&str]) -> Broker {
        Broker::new(extra, true)
    }

    /// Likewise, for measurements: at full speed once warm.
    pub fn start_for_measuring(extra: &[&str]) -> Broker {
        Broker::new(extra, false)
    }

    /// A broker with a second way to it: who comes by the port that is returned is sent on to `advertised`.
    pub fn start_behind(advertised: u16, extra: &[&str]) -> (Broker, u16) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let inner = listener.local_addr().expect("bound").port();
        drop(listener);
        let ways = format!(
            "listeners=PLAINTEXT://127.0.0.1:{{port}},BEHIND://127.0.0.1:{inner},CONTROLLER://127.0.0.1:{{controller}}\n\
             advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},BEHIND://127.0.0.1:{advertised}\n\
             listener.security.protocol.map=PLAINTEXT:PLAINTEXT,BEHIND:PLAINTEXT,CONTROLLER:PLAINTEXT\n\
             inter.broker.listener.name=PLAINTEXT"
        );
        let extra: Vec<&str> = extra.iter().copied().chain([ways.as_str()]).collect();
        (Broker::new(&extra, true), inner)
    }

    /// Runs one of Kafka's own tools on this broker and returns what it printed.
    pub fn tool(&self, class: &str, arguments: &[&str]) -> String {
        let mut command = Command::new("java");
        command.args(["-XX:+UseSerialGC", QUICK, "-cp", &classpath(&self.jars), class]);
        command.args(["--bootstrap-server", &self.bootstrap]).args(arguments);
        let output = command.stdin(Stdio::null()).output().expect("Java is there");
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{class} {arguments:?}: {text}");
        text
    }

    fn new(extra: &[&str], quick: bool) -> Broker {
        let jars = jars();
        let dir = std::env::temp_dir().join(unique("kafka").trim_end_matches('.'));
        fs::create_dir_all(&dir).expect("a temporary folder");
        let (port, controller) = free_ports();
        fs::write(dir.join("server.properties"), properties(&dir, port, controller, extra))
            .expect("writable");
        format_storage(&jars, &dir);
        let bootstrap = format!("127.0.0.1:{port}");
        let mut broker = Broker { dir, jars, port, bootstrap, quick, running: None };
        broker.launch();
        broker
    }

    /// `host:port`.
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Starts it again after [`Broker::stop`], with all that it held.
    pub fn launch(&mut self) {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.dir.join("broker.log"));
        let log = log.expect("a log file");
        let mut shell = Command::new("sh")
            .arg(root().join("tests/kafka/watch.sh"))
            .args(JAVA)
            .args(self.quick.then_some(QUICK))
            .args(["-cp", &classpath(&self.jars), "kafka.Kafka"])
            .arg(self.dir.join("server.properties"))
            .env("WATCH_DIR", &self.dir)
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .expect("sh is there");
        let stdin = shell.stdin.take().expect("it was asked for");
        self.running = Some(Running { shell, stdin });
        self.wait_until_it_answers();
    }

    /// Stops it in order and keeps all that it holds.
    pub fn stop(&mut self) {
        self.end("keep\n");
    }

    /// Kills it, as a crash would, and keeps all that it has written.
    pub fn kill(&mut self) {
        self.end("keep\nkill\n");
    }

    fn end(&mut self, orders: &str) {
        let Some(mut running) = self.running.take() else { return };
        running.stdin.write_all(orders.as_bytes()).unwrap_or_default();
        drop(running.stdin);
        let deadline = Instant::now() + STOP;
        while running.shell.try_wait().is_ok_and(|status| status.is_none()) {
            assert!(Instant::now() < deadline, "the broker did not stop");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn wait_until_it_answers(&mut self) {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        let deadline = Instant::now() + START;
        while TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_err() {
            let log = self.dir.join("broker.log");
            let over = fs::read_to_string(&log).is_ok_and(|text| text.contains("Exiting Kafka"));
            assert!(Instant::now() < deadline && !over, "the broker does not answer:\n{}", tail(&log));
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
        fs::remove_dir_all(&self.dir).unwrap_or_default();
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder with Kafka's jars; fetched when it is missing or `pom.xml` has changed.
fn jars() -> PathBuf {
    let cache = root().join(".cache/kafka");
    let (jars, mark) = (cache.join("jars"), cache.join("jars/pom.xml"));
    let pom = root().join("tests/kafka/pom.xml");
    let wanted = fs::read(&pom).expect("tests/kafka/pom.xml");
    if fs::read(&mark).is_ok_and(|found| found == wanted) {
        return jars;
    }
    let fresh = cache.join(format!("fetching-{}", std::process::id()));
    run(Command::new("mvn")
        .args(["-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", "-f"])
        .arg(&pom)
        .arg(format!("-DoutputDirectory={}", fresh.display())));
    fs::write(fresh.join("pom.xml"), &wanted).expect("writable");
    fs::remove_dir_all(&jars).unwrap_or_default();
    // Another test process may have been quicker: then its folder stays.
    if fs::rename(&fresh, &jars).is_err() {
        fs::remove_dir_all(&fresh).unwrap_or_default();
    }
    jars
}

fn classpath(jars: &Path) -> String {
    format!("{}/*", jars.display())
}

fn format_storage(jars: &Path, dir: &Path) {
    run(Command::new("java")
        .args(["-XX:+UseSerialGC", QUICK, "-cp", &classpath(jars)])
        .args(["kafka.tools.StorageTool", "format", "--standalone", "-t", CLUSTER_ID, "-c"])
        .arg(dir.join("server.properties")));
}

fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}; Java 17 and Maven are needed"));
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{text}\n{errors}");
}

/// Two ports that were free a moment ago.
fn free_ports() -> (u16, u16) {
    let port = |listener: &TcpListener| listener.local_addr().expect("bound").port();
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    (port(&listeners[0]), port(&listeners[1]))
}

fn properties(dir: &Path, port: u16, controller: u16, extra: &[&str]) -> String {
    let logs = dir.join("data");
    format!(
        "process.roles=broker,controller\n\
         node.id=1\n\
         listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n\
         advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n\
         controller.listener.names=CONTROLLER\n\
         listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n\
         controller.quorum.bootstrap.servers=127.0.0.1:{controller}\n\
         log.dirs={}\n\
         offsets.topic.replication.factor=1\n\
         offsets.topic.num.partitions=4\n\
         transaction.state.log.replication.factor=1\n\
         transaction.state.log.min.isr=1\n\
         transaction.state.log.num.partitions=4\n\
         share.coordinator.state.topic.replication.factor=1\n\
         share.coordinator.state.topic.min.isr=1\n\
         group.initial.rebalance.delay.ms=0\n\
         group.min.session.timeout.ms=1000\n\
         broker.session.timeout.ms=4000\n\
         broker.heartbeat.interval.ms=500\n\
         auto.create.topics.enable=false\n\
         log.cleaner.dedupe.buffer.size=4194304\n\
         {}\n",
        logs.display(),
        // Of a name that comes twice the last one holds.
        extra
            .join("\n")
            .replace("{port}", &port.to_string())
            .replace("{controller}", &controller.to_string())
    )
}

fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}
