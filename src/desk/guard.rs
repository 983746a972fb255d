//! Who may ask: a bearer token, or nobody but this machine.
//!
//! With a token, every request but those to the health routes must show it; the comparison takes the same time
//! whatever is wrong. Without one the server listens on loopback only, and a request must name a loopback host: a web
//! page whose name was pointed at this machine names its own. Forwarding headers are never believed.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::problem::Problem;

/// The check that stands before the routes.
#[derive(Clone, Debug)]
pub(super) enum Guard {
    /// The digest of the token that must be shown.
    Token([u8; 32]),
    /// This machine only.
    Loopback,
}

impl Guard {
    /// A guard for what is configured.
    pub(super) fn new(token: Option<&SecretString>) -> Self {
        match token {
            Some(token) => Guard::Token(digest(token.expose_secret().as_bytes())),
            None => Guard::Loopback,
        }
    }

    fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        match self {
            Guard::Token(token) => check_token(token, headers),
            Guard::Loopback => check_host(headers),
        }
    }
}

/// Lets a request pass or answers it.
pub(super) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    match guard.check(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// Digests have one length, so the comparison tells nothing of the token's.
fn digest(token: &[u8]) -> [u8; 32] {
    Sha256::digest(token).into()
}

fn check_token(token: &[u8; 32], headers: &HeaderMap) -> Result<(), Problem> {
    let shown = headers.get(header::AUTHORIZATION).and_then(|value| bearer(value.as_bytes()));
    match shown {
        Some(shown) if bool::from(digest(shown).ct_eq(token)) => Ok(()),
        Some(_) => Err(Problem::new(StatusCode::UNAUTHORIZED, "the bearer token is not the right one")),
        None => Err(Problem::new(StatusCode::UNAUTHORIZED, "send `Authorization: Bearer <token>`")),
    }
}

/// The scheme's name is case-insensitive.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

fn check_host(headers: &HeaderMap) -> Result<(), Problem> {
    let host = headers.get(header::HOST).map(|value| value.to_str().unwrap_or_default());
    match host {
        None => Ok(()),
        Some(host) if is_loopback(host) => Ok(()),
        Some(_) => Err(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "without a token only requests to a loopback address are answered; set one to use other names",
        )),
    }
}

fn is_loopback(host: &str) -> bool {
    let name =
        host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|address| address.is_loopback())
        || host.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_few_names() {
        for host in ["localhost", "LOCALHOST:8088", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:8088"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in
            ["", "example.com", "localhost.example.com", "127.0.0.1.nip.io:80", "10.0.0.1", "[::2]:1", "::1"]
        {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn the_scheme_is_bearer_in_any_case() {
        assert_eq!(bearer(b"Bearer abc"), Some(&b"abc"[..]));
        assert_eq!(bearer(b"BEARER  abc "), Some(&b"abc"[..]));
        assert_eq!(bearer(b"Basic abc"), None);
        assert_eq!(bearer(b"Bearer"), None);
    }
}
