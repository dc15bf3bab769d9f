use super::Server;
use super::refusal::{Code, Refusal};
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;
use subtle::ConstantTimeEq;

/// Lets a request through that bears the server's token, if the server has one.
pub(super) async fn check(
    State(server): State<Arc<Server>>,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let Some(token) = &server.serving.token else {
        return Ok(next.run(request).await);
    };
    let value = request.headers().get(header::AUTHORIZATION);
    let given = value.and_then(|value| bearer(value.as_bytes()));
    // However much of it is right takes the same time.
    if given.is_some_and(|given| token.expose().as_bytes().ct_eq(given).into()) {
        return Ok(next.run(request).await);
    }
    let message = match given {
        None => "send the server's token: `Authorization: Bearer TOKEN`",
        Some(_) => "this is not the server's token",
    };
    Err(Refusal::new(Code::Unauthorized, message))
}

/// The token of an `Authorization` header (RFC 6750, section 2.1). The scheme may be written in any case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::bearer;

    #[test]
    fn the_scheme_is_read_in_any_case() {
        assert_eq!(bearer(b"Bearer abc"), Some(&b"abc"[..]));
        assert_eq!(bearer(b"bearer  abc "), Some(&b"abc"[..]));
        assert_eq!(bearer(b"Basic abc"), None);
        assert_eq!(bearer(b"Bear"), None);
    }
}
