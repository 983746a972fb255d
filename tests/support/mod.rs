//! What several tests need.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer over HTTP, taken apart.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Sends bytes and reads until the other side closes.
pub(crate) fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout can be set");
    // A server that refuses early may close before all was sent: what it said still counts.
    let _refused_early = stream.write_all(request);
    let mut answer = Vec::new();
    let _closed_early = stream.read_to_end(&mut answer);
    String::from_utf8(answer).expect("answers are text")
}

/// One request with further header lines (each ending in `\r\n`).
pub(crate) fn request(address: SocketAddr, method: &str, path: &str, headers: &str) -> Answer {
    let host = if headers.contains("Host:") { String::new() } else { format!("Host: {address}\r\n") };
    let text = format!("{method} {path} HTTP/1.1\r\n{host}{headers}Connection: close\r\n\r\n");
    let answer = exchange(address, text.as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Answer {
        status: status.unwrap_or_else(|| panic!("no status in {answer:?}")),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// `GET` without further headers.
pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    request(address, "GET", path, "")
}
