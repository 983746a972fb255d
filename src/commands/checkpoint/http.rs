//! One `GET` over plain HTTP/1.1: a status and a body that is read as it comes, its end told from a connection that broke.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long nothing may come.
const SILENCE: Duration = Duration::from_secs(60);
/// Most bytes of a head.
const HEAD_MAX: u64 = 64 << 10;
/// Most bytes of a line that tells how long a chunk is.
const CHUNK_LINE_MAX: u64 = 1 << 10;

/// Whom to ask: `http://HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    /// As it stands in `Host`.
    host: String,
}

impl Server {
    /// Reads an address.
    ///
    /// # Errors
    /// In words.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let Some(rest) = url.strip_prefix("http://") else {
            return Err(format!(
                "`{url}` is not of the form http://HOST:PORT (weir speaks no TLS over HTTP itself)"
            ));
        };
        let host = rest.strip_suffix('/').unwrap_or(rest);
        let name =
            host.rsplit_once(':').filter(|(name, port)| !name.is_empty() && port.parse::<u16>().is_ok());
        if name.is_none() || !host.chars().all(|c| c.is_ascii_alphanumeric() || "[]:.-_".contains(c)) {
            return Err(format!("`{url}` is not of the form http://HOST:PORT"));
        }
        Ok(Self { host: host.to_owned() })
    }

    /// Asks for a path.
    pub(super) fn get(&self, path: &str, token: Option<&SecretString>) -> io::Result<Answer> {
        let mut stream = self.connect()?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(CONNECT))?;
        let shown = token
            .map(|token| format!("Authorization: Bearer {}\r\n", token.expose_secret()))
            .unwrap_or_default();
        let host = &self.host;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n{shown}Connection: close\r\n\r\n")?;
        Answer::read(BufReader::new(stream))
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::new(ErrorKind::NotFound, "its name is not known");
        for address in self.host.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}", self.host)
    }
}

/// What came back; its body is read from it.
pub(super) struct Answer<R = TcpStream> {
    pub(super) status: u16,
    from: BufReader<R>,
    left: Left,
}

/// What is left of a body.
#[derive(Clone, Copy)]
enum Left {
    /// So many bytes of a body whose length was told.
    Bytes(u64),
    /// So many bytes of a chunk, after which another one follows.
    Chunk(u64),
    /// Before the first chunk.
    Chunks,
}

impl<R: Read> Answer<R> {
    fn read(mut from: BufReader<R>) -> io::Result<Self> {
        let mut head = (&mut from).take(HEAD_MAX);
        let first = line(&mut head)?;
        let status = first.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.ok_or_else(|| broken("it does not speak HTTP/1.1"))?;
        let mut left = Left::Bytes(0);
        loop {
            let line = line(&mut head)?;
            let Some((name, value)) = line.split_once(':') else { break };
            match (name.to_ascii_lowercase().as_str(), value.trim()) {
                ("content-length", bytes) => {
                    left = Left::Bytes(bytes.parse().map_err(|_| broken("its content-length is no number"))?);
                }
                ("transfer-encoding", "chunked") => left = Left::Chunks,
                _ => {}
            }
        }
        Ok(Self { status, from, left })
    }

    /// The length of the next chunk; 0 at the end.
    fn next_chunk(&mut self) -> io::Result<u64> {
        let mut from = (&mut self.from).take(CHUNK_LINE_MAX);
        if matches!(self.left, Left::Chunk(_)) && !line(&mut from)?.is_empty() {
            return Err(broken("a chunk is longer than was said"));
        }
        let line = line(&mut from)?;
        let digits = line.split(';').next().unwrap_or_default();
        u64::from_str_radix(digits.trim(), 16).map_err(|_| broken("the length of a chunk is no number"))
    }
}

impl<R: Read> Read for Answer<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Left::Chunks | Left::Chunk(0) = self.left {
            self.left = match self.next_chunk()? {
                0 => Left::Bytes(0),
                bytes => Left::Chunk(bytes),
            };
        }
        let (Left::Bytes(left) | Left::Chunk(left)) = self.left else { return Ok(0) };
        let most = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = self.from.read(&mut into[..most])?;
        if read == 0 && most > 0 {
            return Err(broken("the connection broke off"));
        }
        let left = left - read as u64;
        self.left = if let Left::Bytes(_) = self.left { Left::Bytes(left) } else { Left::Chunk(left) };
        Ok(read)
    }
}

/// One line without its end; an end of the input before that is an error.
fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut text = Vec::new();
    from.read_until(b'\n', &mut text)?;
    let text = text.strip_suffix(b"\n").ok_or_else(|| broken("the connection broke off"))?;
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    String::from_utf8(text.to_vec()).map_err(|_| broken("its head is not text"))
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (io::Result<u16>, io::Result<String>) {
        match Answer::read(BufReader::with_capacity(7, text.as_bytes())) {
            Err(error) => (Err(error), Ok(String::new())),
            Ok(mut answer) => {
                let mut body = String::new();
                let read = answer.read_to_string(&mut body);
                (Ok(answer.status), read.map(|_| body))
            }
        }
    }

    #[test]
    fn a_body_ends_where_it_is_said_to_end() {
        // The example of RFC 9112, section 7.1.
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n7;a=b\r\npedia i\r\nB\r\nn \r\nchunks.\r\n0\r\n\r\n";
        let (status, body) = read(chunked);
        assert_eq!((status.unwrap(), body.unwrap().as_str()), (200, "Wikipedia in \r\nchunks."));
        let (status, body) = read("HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\n\r\nabcdef");
        assert_eq!((status.unwrap(), body.unwrap().as_str()), (404, "abc"));
    }

    #[test]
    fn one_that_broke_off_is_not_taken_for_whole() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        for body in [
            "",
            "4\r\nWi",
            "4\r\nWiki",
            "4\r\nWiki\r\n",
            "4\r\nWikipedia\r\n0\r\n\r\n",
            "x\r\nWiki\r\n0\r\n\r\n",
        ] {
            assert!(read(&format!("{head}{body}")).1.is_err(), "{body:?}");
        }
        assert!(read("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc").1.is_err());
        for head in ["", "HTTP/1.1 200 OK\r\n", "SSH-2.0-OpenSSH_9\r\n", "HTTP/1.1 2"] {
            assert!(read(head).0.is_err(), "{head:?}");
        }
    }

    #[test]
    fn an_address_is_read_or_refused_in_words() {
        for (url, host) in [
            ("http://127.0.0.1:8088", "127.0.0.1:8088"),
            ("http://[::1]:8088/", "[::1]:8088"),
            ("http://weir.example:80", "weir.example:80"),
        ] {
            assert_eq!(Server::parse(url).unwrap(), Server { host: host.to_owned() });
        }
        for url in
            ["https://a:1", "a:1", "http://a", "http://:1", "http://a:1/x", "http://a\r\nb:1", "http://u@a:1"]
        {
            assert!(Server::parse(url).unwrap_err().contains("http://HOST:PORT"), "{url}");
        }
    }
}
