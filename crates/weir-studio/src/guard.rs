// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Access: a request has the token, and comes from a page of our own, by our own name.
//!
//! The token keeps other users of the machine out. `Host` is looked at because a foreign site can give its own name our
//! address (DNS rebinding), `Origin` and `Sec-Fetch-Site` because a foreign page can send requests to us.

use std::io::{self, Read};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

pub(crate) const HEADER: &str = "x-runweir-token";

pub(crate) struct Guard {
    port: u16,
    token: String,
}

impl Guard {
    pub fn new(port: u16) -> io::Result<Self> {
        let mut bytes = [0u8; 24];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let token = bytes.iter().map(|b| format!("{b:02x}")).collect();
        Ok(Self { port, token })
    }

    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.token)
    }

    fn is_ours(&self, host: &str) -> bool {
        ["127.0.0.1", "localhost"].iter().any(|name| host == format!("{name}:{}", self.port))
    }

    /// Why a request is refused.
    fn refusal(&self, uri: &Uri, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let text = |name: &str| headers.get(name).map(|v| v.to_str().unwrap_or("?"));
        if !text(HOST.as_str()).is_some_and(|host| self.is_ours(host)) {
            return Some((StatusCode::MISDIRECTED_REQUEST, "this address is not the studio's"));
        }
        let foreign = text(ORIGIN.as_str())
            .is_some_and(|origin| !origin.strip_prefix("http://").is_some_and(|host| self.is_ours(host)));
        // The address that the program prints is opened from outside: nobody's page, or a terminal's.
        let elsewhere = text("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none"));
        if foreign || elsewhere {
            return Some((StatusCode::FORBIDDEN, "requests of other pages are refused"));
        }
        let query = uri.query().unwrap_or_default();
        let in_query = query.split('&').find_map(|p| p.strip_prefix("token="));
        let given = text(HEADER).or(in_query).unwrap_or_default();
        if !same(given.as_bytes(), self.token.as_bytes()) {
            return Some((
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong: use the address that `runweir studio` printed",
            ));
        }
        None
    }
}

/// Equal, in a time that does not reveal where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y)) == 0
}

pub(crate) async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.refusal(request.uri(), request.headers()) {
        Some((status, why)) => (status, format!("{why}\n")).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    let always = [
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ];
    for (name, value) in always {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(uri: &str, headers: &[(&str, &str)]) -> Option<u16> {
        let guard = Guard { port: 4000, token: "secret".into() };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(axum::http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        guard.refusal(&uri.parse().unwrap(), &map).map(|(status, _)| status.as_u16())
    }

    #[test]
    fn only_our_page_with_the_token_is_answered() {
        let host = ("host", "127.0.0.1:4000");
        assert_eq!(refused("/?token=secret", &[host]), None);
        assert_eq!(refused("/api/x", &[host, (HEADER, "secret")]), None);
        assert_eq!(refused("/api/x?a=1&token=secret", &[host, ("origin", "http://127.0.0.1:4000")]), None);
        assert_eq!(
            refused("/?token=secret", &[("host", "localhost:4000"), ("sec-fetch-site", "none")]),
            None
        );
        // No token, a wrong one, a longer one.
        assert_eq!(refused("/", &[host]), Some(401));
        assert_eq!(refused("/?token=secres", &[host]), Some(401));
        assert_eq!(refused("/?token=secret1", &[host]), Some(401));
        assert_eq!(refused("/?token=secret", &[host, (HEADER, "other")]), Some(401));
        // Another site's name, origin or page.
        assert_eq!(refused("/?token=secret", &[("host", "evil.example:4000")]), Some(421));
        assert_eq!(refused("/?token=secret", &[("host", "127.0.0.1:4001")]), Some(421));
        assert_eq!(refused("/?token=secret", &[]), Some(421));
        assert_eq!(refused("/?token=secret", &[host, ("origin", "http://evil.example")]), Some(403));
        assert_eq!(refused("/?token=secret", &[host, ("origin", "null")]), Some(403));
        assert_eq!(refused("/?token=secret", &[host, ("origin", "https://127.0.0.1:4000")]), Some(403));
        assert_eq!(refused("/?token=secret", &[host, ("sec-fetch-site", "cross-site")]), Some(403));
        assert_eq!(refused("/?token=secret", &[host, ("sec-fetch-site", "same-site")]), Some(403));
    }

    #[test]
    fn tokens_are_long_and_different() {
        let (a, b) = (Guard::new(1).unwrap(), Guard::new(1).unwrap());
        assert!(a.token.len() == 48 && a.token != b.token);
    }
}
