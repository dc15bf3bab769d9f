//! The names by which a request may reach a server that has no token.
//!
//! A web page can make its own name point at this machine. To the browser it is then no stranger, and CORS does not
//! hold it back (DNS rebinding). The page cannot use an address, or a name that is not its own.

use super::refusal::{Code, Refusal};
use super::server::Server;
use axum::extract::{Request, State};
use axum::http::header;
use axum::http::uri::Authority;
use axum::middleware::Next;
use axum::response::Response;
use std::net::IpAddr;
use std::sync::Arc;

/// Lets a request through that does not have several host names: a proxy before the server may have checked another one
/// (RFC 9112, section 3.2).
pub(super) async fn check_one(request: Request, next: Next) -> Result<Response, Refusal> {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    if hosts.nth(1).is_some() {
        let message = "the request has several `Host` headers: send one";
        return Err(Refusal::new(Code::InvalidHost, message));
    }
    Ok(next.run(request).await)
}

/// Lets a request through that goes by a name that no stranger can have.
pub(super) async fn check(
    State(server): State<Arc<Server>>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let header = request.headers().get(header::HOST);
    let name = match (request.uri().host(), header) {
        (Some(host), _) => Some(host.to_owned()),
        (None, Some(header)) => header.to_str().ok().and_then(host),
        (None, None) => None,
    };
    let serving = &server.serving;
    let is_known = name.as_deref().is_some_and(|name| {
        let mut hosts = serving.hosts.iter();
        is_of_this_machine(name) || hosts.any(|host| host.eq_ignore_ascii_case(name))
    });
    if serving.access.is_guarded() || is_known {
        return Ok(next.run(request).await);
    }
    let message = format!(
        "this server does not go by the name `{}`: start it with --allow-host or with a token",
        name.unwrap_or_default()
    );
    Err(Refusal::new(Code::WrongHost, message))
}

/// The name in a `Host` header, without its port.
fn host(value: &str) -> Option<String> {
    let authority: Authority = value.parse().ok()?;
    Some(authority.host().to_owned())
}

/// Returns whether the name is an address, or a name that never leaves the machine (RFC 6761, section 6.3).
fn is_of_this_machine(name: &str) -> bool {
    let address = name.trim_start_matches('[').trim_end_matches(']');
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    address.parse::<IpAddr>().is_ok() || name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_localhost_are_of_this_machine() {
        let is_known = |value: &str| host(value).is_some_and(|name| is_of_this_machine(&name));
        for value in [
            "127.0.0.1:8000",
            "[::1]:8000",
            "192.168.0.7",
            "localhost:8000",
            "LOCALHOST",
            "app.localhost",
        ] {
            assert!(is_known(value), "{value}");
        }
        for value in [
            "evil.example:8000",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "",
        ] {
            assert!(!is_known(value), "{value}");
        }
    }
}
