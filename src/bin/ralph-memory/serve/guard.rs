//! Who may use the server: anyone who knows the token, from one of the server's own pages.
//!
//! Any page in the browser can send requests to 127.0.0.1, and any name can be made to resolve to it. So a request must name the token and
//! this server, and one that changes something must come from one of its own pages.

use axum::body::Body;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};

/// The policy for a page: what it may load, and from where.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
    base-uri 'none'; frame-ancestors 'none'";
/// The headers of every answer.
const HEADERS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];
/// The body of every refusal: who should not be here learns nothing.
const REFUSED: &str = "Refused. Open the address that `ralph-memory serve` printed.\n";

/// What a request must agree with.
#[derive(Debug)]
pub(super) struct RequestGuard {
    token: String,
    port: u16,
}

impl RequestGuard {
    pub(super) fn new(token: String, port: u16) -> RequestGuard {
        RequestGuard { token, port }
    }

    /// Returns the secret part of the address.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Returns whether this is the token. How long that takes does not reveal where they differ.
    pub(super) fn is_token(&self, given: &str) -> bool {
        let (own, given) = (self.token.as_bytes(), given.as_bytes());
        let differences = own.iter().zip(given).fold(0, |differences, (one, other)| differences | (one ^ other));
        own.len() == given.len() && differences == 0
    }

    /// Returns whether a request may be answered.
    pub(super) fn accepts(&self, request: &Request<Body>) -> bool {
        let path = request.uri().path();
        let token = path.strip_prefix('/').and_then(|path| path.split('/').next()).unwrap_or_default();
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        // An address with a host in it is for proxies.
        self.is_token(token)
            && request.uri().host().is_none()
            && self.is_own_host(request.headers())
            && self.is_own_page(request.headers(), reads)
    }

    fn is_own_host(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (host, other) = (hosts.next(), hosts.next());
        other.is_none() && host.and_then(|host| host.to_str().ok()).is_some_and(|host| self.is_own_name(host))
    }

    fn is_own_name(&self, name: &str) -> bool {
        let port = name.strip_prefix("127.0.0.1:").or_else(|| name.strip_prefix("localhost:"));
        port.is_some_and(|port| port == self.port.to_string())
    }

    /// Returns whether the page that sends the request is one of this server, as far as the browser says. Our pages send no referrer, so
    /// browsers name no origin for their forms (`null`); those that do so say by another header whether it is the same.
    fn is_own_page(&self, headers: &HeaderMap, reads: bool) -> bool {
        let value = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let site = value(&HeaderName::from_static("sec-fetch-site"));
        let is_own_site = !matches!(site, Some("cross-site" | "same-site"));
        let is_own_origin = match value(&header::ORIGIN) {
            None => true,
            Some("null") => site == Some("same-origin"),
            Some(origin) => origin.strip_prefix("http://").is_some_and(|name| self.is_own_name(name)),
        };
        // Whoever has the address may open it from anywhere.
        is_own_origin && (reads || is_own_site)
    }
}

/// Returns the answer to a request that is not accepted.
pub(super) fn refusal() -> Response<Body> {
    let mut response = Response::new(Body::from(REFUSED));
    *response.status_mut() = StatusCode::FORBIDDEN;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    with_headers(response)
}

/// Adds the headers that every answer has.
pub(super) fn with_headers(mut response: Response<Body>) -> Response<Body> {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(method: &str, path: &str, headers: &[(&str, &str)]) -> bool {
        let guard = RequestGuard::new("0123abcd".to_owned(), 7171);
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        guard.accepts(&request.body(Body::empty()).unwrap())
    }

    #[test]
    fn a_request_needs_the_token_and_this_host() {
        let host = ("host", "127.0.0.1:7171");
        assert!(accepts("GET", "/0123abcd/", &[host]));
        assert!(accepts("GET", "/0123abcd/search?q=a", &[("host", "localhost:7171")]));
        for path in [
            "/",
            "/0123abc/",
            "/0123abcd0/",
            "/0123abce/",
            "//0123abcd/",
            "/%30123abcd/",
            "http://127.0.0.1:7171/0123abcd/",
        ] {
            assert!(!accepts("GET", path, &[host]), "{path}");
        }
        let hosts =
            ["127.0.0.1", "127.0.0.1:80", "localhost:71710", "evil.example:7171", "127.0.0.1:7171.evil.example", ""];
        for other in hosts {
            assert!(!accepts("GET", "/0123abcd/", &[("host", other)]), "{other}");
        }
        assert!(!accepts("GET", "/0123abcd/", &[]), "no host");
        assert!(!accepts("GET", "/0123abcd/", &[host, ("host", "evil.example")]), "two hosts");
    }

    #[test]
    fn a_form_must_come_from_a_page_of_the_server() {
        let post = |headers: &[(&str, &str)]| {
            accepts("POST", "/0123abcd/restore", &[&[("host", "localhost:7171")], headers].concat())
        };
        assert!(post(&[]), "no browser");
        assert!(post(&[("origin", "http://localhost:7171"), ("sec-fetch-site", "same-origin")]));
        assert!(post(&[("origin", "null"), ("sec-fetch-site", "same-origin")]));
        for headers in [
            &[("origin", "null")][..],
            &[("origin", "null"), ("sec-fetch-site", "cross-site")],
            &[("origin", "http://evil.example")],
            &[("origin", "https://localhost:7171")],
            &[("origin", "http://localhost:80")],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
        ] {
            assert!(!post(headers), "{headers:?}");
        }
        let reading = [("host", "localhost:7171"), ("origin", "http://evil.example")];
        assert!(!accepts("GET", "/0123abcd/", &reading), "a script of another page");
        let opened = [("host", "localhost:7171"), ("sec-fetch-site", "cross-site")];
        assert!(accepts("GET", "/0123abcd/", &opened), "a link in a mail");
    }
}
