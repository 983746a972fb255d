//! A wire to a broker that can be slow, silent, deaf, or cut.
//!
//! It listens on a port of its own and passes bytes on to another, each way with threads of its own. A wire that is held
//! loses nothing: what was sent arrives once it is let go. A deaf one loses all that the broker answers.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]
#![allow(clippy::disallowed_methods, reason = "a wire is slow by the clock")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often a wire looks at what became of it.
const LOOK: Duration = Duration::from_millis(10);

/// What the wire does with what comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// It passes at once.
    Pass,
    /// Nothing passes, either way.
    Hold,
    /// What the broker answers is thrown away.
    Deaf,
}

/// See the module.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    target: AtomicU16,
    mode: AtomicU8,
    /// How long bytes are on their way, milliseconds.
    delay: AtomicU64,
    /// Connections of an earlier age are closed.
    age: AtomicU64,
}

impl Proxy {
    /// Listens; what connects before it knows a target is closed.
    pub fn open() -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let shared = Shared {
            target: AtomicU16::new(0),
            mode: AtomicU8::new(Mode::Pass as u8),
            delay: AtomicU64::new(0),
            age: AtomicU64::new(0),
        };
        let shared = Arc::new(shared);
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                accepting.connect(&client);
            }
        });
        Proxy { address, shared }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Where it leads to: a port of this machine.
    pub fn lead_to(&self, port: u16) {
        self.shared.target.store(port, Ordering::Relaxed);
    }

    pub fn set(&self, mode: Mode) {
        self.shared.mode.store(mode as u8, Ordering::Relaxed);
    }

    /// So long are bytes on their way, each way.
    pub fn delay(&self, delay: Duration) {
        self.shared.delay.store(delay.as_millis() as u64, Ordering::Relaxed);
    }

    /// Closes all connections.
    pub fn cut(&self) {
        self.shared.age.fetch_add(1, Ordering::Relaxed);
    }
}

impl Shared {
    fn is(&self, mode: Mode) -> bool {
        self.mode.load(Ordering::Relaxed) == mode as u8
    }

    fn connect(self: &Arc<Self>, client: &TcpStream) {
        let target = SocketAddr::from(([127, 0, 0, 1], self.target.load(Ordering::Relaxed)));
        let Ok(broker) = TcpStream::connect(target) else { return };
        let age = self.age.load(Ordering::Relaxed);
        for (from, to, answers) in [(client, &broker, false), (&broker, client, true)] {
            let (from, to) = (from.try_clone().expect("a handle"), to.try_clone().expect("a handle"));
            let way = Way { shared: Arc::clone(self), age, answers };
            way.begin(from, to);
        }
    }
}

/// One direction of one connection.
#[derive(Clone)]
struct Way {
    shared: Arc<Shared>,
    age: u64,
    answers: bool,
}

impl Way {
    fn begin(self, from: TcpStream, to: TcpStream) {
        let (sent, due) = channel();
        let writing = self.clone();
        thread::spawn(move || self.read(from, &sent));
        thread::spawn(move || writing.write(to, &due));
    }

    fn is_cut(&self) -> bool {
        self.shared.age.load(Ordering::Relaxed) != self.age
    }

    fn read(&self, mut from: TcpStream, sent: &Sender<(Instant, Vec<u8>)>) {
        from.set_read_timeout(Some(LOOK)).expect("a timeout");
        let mut bytes = vec![0; 64 << 10];
        while !self.is_cut() {
            match from.read(&mut bytes) {
                Ok(0) => break,
                Ok(_) if self.answers && self.shared.is(Mode::Deaf) => {}
                Ok(read) => {
                    let delay = Duration::from_millis(self.shared.delay.load(Ordering::Relaxed));
                    if sent.send((Instant::now() + delay, bytes[..read].to_vec())).is_err() {
                        break;
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => break,
            }
        }
        from.shutdown(Shutdown::Both).unwrap_or_default();
    }

    fn write(&self, mut to: TcpStream, due: &Receiver<(Instant, Vec<u8>)>) {
        while !self.is_cut() {
            let (at, bytes) = match due.recv_timeout(LOOK) {
                Ok(next) => next,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            while !self.is_cut() && (Instant::now() < at || self.shared.is(Mode::Hold)) {
                thread::sleep(LOOK.min(at.saturating_duration_since(Instant::now())).max(LOOK / 10));
            }
            if self.is_cut() || to.write_all(&bytes).is_err() {
                break;
            }
        }
        to.shutdown(Shutdown::Both).unwrap_or_default();
    }
}
