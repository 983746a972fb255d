//! One `GET` to the desk of another process, over plain HTTP/1.1: a status, and a body that is read as it comes.

use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind, Read};
use std::pin::Pin;
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::handshake;
use hyper::header::{AUTHORIZATION, CONNECTION, HOST};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use secrecy::{ExposeSecret, SecretString};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long nothing may come.
const SILENCE: Duration = Duration::from_secs(60);

/// Whom to ask: `http://HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// As it stands in `Host`.
    host: String,
}

impl Server {
    /// Reads an address.
    ///
    /// # Errors
    /// In words.
    pub fn parse(url: &str) -> Result<Self, String> {
        let uri = url.parse::<Uri>().ok().filter(|uri| uri.path() == "/" && uri.query().is_none());
        let authority = uri.as_ref().and_then(Uri::authority).filter(|authority| {
            !authority.host().is_empty() && authority.port().is_some() && !authority.as_str().contains('@')
        });
        let plain = uri.as_ref().and_then(Uri::scheme_str) == Some("http");
        match authority.filter(|_| plain) {
            Some(authority) => Ok(Self { host: authority.as_str().to_owned() }),
            None => Err(format!(
                "`{url}` is not of the form http://HOST:PORT (without TLS, which weir does not speak here)"
            )),
        }
    }

    /// Asks for a path.
    ///
    /// # Errors
    /// When nobody answers there in time, or not as a server of HTTP does.
    pub fn get(&self, path: &str, token: Option<&SecretString>) -> io::Result<Answer> {
        let mut request = Request::get(path).header(HOST, &self.host).header(CONNECTION, "close");
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, format!("Bearer {}", token.expose_secret()));
        }
        let request = request.body(String::new()).map_err(io::Error::other)?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let stream = runtime.block_on(within(CONNECT, TcpStream::connect(&self.host)))??;
        let response = runtime.block_on(within(SILENCE, async {
            let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
            // It goes on while the answer is read; what goes wrong with it, the answer tells.
            tokio::spawn(connection);
            sender.send_request(request).await
        }))?;
        let (head, body) = response.map_err(io::Error::other)?.into_parts();
        Ok(Answer { status: head.status.as_u16(), body, part: Bytes::new(), runtime })
    }
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}", self.host)
    }
}

/// What came back; its body is read from it. A connection that breaks off before the end is an error.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    body: Incoming,
    /// What came of the body and is not read yet.
    part: Bytes,
    runtime: Runtime,
}

impl Read for Answer {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.part.is_empty() {
            let next = poll_fn(|context| Pin::new(&mut self.body).poll_frame(context));
            match self.runtime.block_on(within(SILENCE, next))? {
                None => return Ok(0),
                Some(frame) => self.part = frame.map_err(io::Error::other)?.into_data().unwrap_or_default(),
            }
        }
        let bytes = self.part.split_to(self.part.len().min(into.len()));
        into[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

/// What comes within a time.
async fn within<T>(time: Duration, what: impl Future<Output = T>) -> io::Result<T> {
    let late = |_| io::Error::new(ErrorKind::TimedOut, format!("nothing came for {} s", time.as_secs()));
    timeout(time, what).await.map_err(late)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Asks somebody who says this and hangs up.
    fn read(text: &'static str) -> (io::Result<u16>, io::Result<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server { host: listener.local_addr().unwrap().to_string() };
        let told = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let asked =
                BufReader::new(&stream).lines().take_while(|line| line.as_ref().is_ok_and(|l| !l.is_empty()));
            assert!(asked.map(Result::unwrap).any(|line| line == "authorization: Bearer secret"));
            stream.write_all(text.as_bytes()).unwrap();
        });
        let answer = server.get("/v1/checkpoints", Some(&SecretString::from("secret")));
        told.join().unwrap();
        match answer {
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
        for said in [
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWi",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc",
        ] {
            assert!(read(said).1.is_err(), "{said:?}");
        }
        for said in ["", "HTTP/1.1 200 OK\r\n", "SSH-2.0-OpenSSH_9\r\n"] {
            assert!(read(said).0.is_err(), "{said:?}");
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
