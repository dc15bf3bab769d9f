use super::refusal::{Code, Refusal};
use super::server::Server;
use crate::access::{Denied, JwtError};
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;
use time::OffsetDateTime;

/// Lets a request through that bears a token of the server's, if it has any, and notes whose: handlers take the
/// [`User`](crate::access::User) from the request.
pub(super) async fn check(
    State(server): State<Arc<Server>>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let value = request.headers().get(header::AUTHORIZATION);
    let given = value.and_then(|value| bearer(value.as_bytes()));
    let access = &server.serving.access;
    let user = access.user(given, OffsetDateTime::now_utc()).await?;
    server.user_limits.request(&user)?;
    request.extensions_mut().insert(user);
    Ok(next.run(request).await)
}

impl From<Denied> for Refusal {
    fn from(denied: Denied) -> Self {
        let code = match denied {
            // The token may be a good one.
            Denied::Jwt(JwtError::KeysUnavailable) => Code::KeysUnavailable,
            _ => Code::Unauthorized,
        };
        Self::new(code, denied.to_string())
    }
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
