//! Access control: a request needs this machine's host name, the page's own origin, and, except for the files of the page,
//! the token.

use std::fmt::Write;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::Refusal;
use crate::page::FILES;

/// Bytes of a token: 256 bits.
const TOKEN_BYTES: usize = 32;

/// Only what the page itself needs: no inline scripts, no eval, no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The token, and the host names under which this server may be addressed.
pub(crate) struct Guard {
    token: String,
    hosts: Vec<String>,
}

impl Guard {
    /// Makes a new token for a server on this port.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub(crate) fn new(port: u16) -> std::io::Result<Self> {
        let mut bytes = [0u8; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|e| std::io::Error::other(format!("no random bytes for a token: {e}")))?;
        let token = bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        let names = ["127.0.0.1", "localhost"].into_iter();
        let mut hosts: Vec<String> = names.clone().map(|name| format!("{name}:{port}")).collect();
        // Browsers omit the default port.
        hosts.extend(names.filter(|_| port == 80).map(String::from));
        Ok(Guard { token, hosts })
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Refuses a request from elsewhere, and one for data without the token.
    fn admit(&self, request: &Request) -> Result<(), Refusal> {
        let headers = request.headers();
        // Another name that resolves to this machine would be DNS rebinding.
        let host = text(headers, header::HOST).unwrap_or_default();
        let other = request.uri().authority().is_some_and(|a| a.as_str() != host);
        if !self.hosts.iter().any(|h| h == host) || headers.get_all(header::HOST).iter().count() != 1 || other {
            let help = "open the address that mercer printed";
            return Err(Refusal::new(
                StatusCode::MISDIRECTED_REQUEST,
                "this server does not accept that host name",
                help,
            ));
        }
        if let Some(origin) = text(headers, header::ORIGIN)
            && origin.strip_prefix("http://") != Some(host)
        {
            return Err(forbidden("requests from other pages are not accepted"));
        }
        if let Some(site) = headers.get("sec-fetch-site").and_then(|v| v.to_str().ok())
            && !["same-origin", "none"].contains(&site)
            && !is_navigation(headers)
        {
            return Err(forbidden("requests from other pages are not accepted"));
        }
        if FILES.iter().any(|file| file.path == request.uri().path()) {
            return Ok(());
        }
        // A header, not a cookie: browsers send a cookie to every port of this machine, whoever listens there.
        match text(headers, header::AUTHORIZATION).and_then(|given| given.strip_prefix("Bearer ")) {
            Some(given) if same(given, &self.token) => Ok(()),
            _ => Err(forbidden("the token is missing or wrong")),
        }
    }
}

fn forbidden(what: &str) -> Refusal {
    Refusal::new(StatusCode::FORBIDDEN, what, "open the address that mercer printed, with its token")
}

/// A link on another page may lead here: the user sees the page, and the other page learns nothing.
fn is_navigation(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-mode").is_some_and(|v| v == "navigate")
        && headers.get("sec-fetch-dest").is_some_and(|v| v == "document")
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).map(|v| v.to_str().unwrap_or(""))
}

/// Whether two texts are equal, in constant time.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differ, (x, y)| differ | (x ^ y)) == 0
}

/// Answers requests that are admitted, and adds the security headers to every answer.
pub(crate) async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let admitted = guard.admit(&request);
    let is_admitted = admitted.is_ok();
    let mut response = match admitted {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !is_admitted {
        // A rejected client must not hold a connection.
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
