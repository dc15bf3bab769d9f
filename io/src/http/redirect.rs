//! Chooses the redirects that are followed: those that change neither the request nor its recipient.

use http::header::LOCATION;
use http::{HeaderMap, StatusCode, Uri};

/// The maximum number of redirects of one request.
pub(super) const MAX_REDIRECTS: usize = 10;

/// The body for a redirect which is not followed, in the form of a provider's error.
const NOT_FOLLOWED: &str = r#"{"error":{"message":"the server redirects to another address, and the request is not sent there; if that address is right, make it the base URL"}}"#;

/// Returns the target of a redirect that is followed. With another status than 307 and 308 the request would become a
/// `GET` without a body; another origin would get the key and the conversation.
pub(super) fn target(from: &Uri, status: StatusCode, headers: &HeaderMap) -> Option<Uri> {
    if !matches!(
        status,
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    ) {
        return None;
    }
    let to = resolve(from, headers.get(LOCATION)?.to_str().ok()?)?;
    (origin(from) == origin(&to)).then_some(to)
}

/// Returns a body for a redirect that is not followed. Its own body is a page for users.
pub(crate) fn redirect_body(status: StatusCode) -> Option<Vec<u8>> {
    status.is_redirection().then(|| NOT_FOLLOWED.into())
}

fn origin(uri: &Uri) -> Option<(&str, String, u16)> {
    let scheme = uri.scheme_str()?;
    let usual = if scheme == "https" { 443 } else { 80 };
    let port = uri.port_u16().unwrap_or(usual);
    Some((scheme, uri.host()?.to_ascii_lowercase(), port))
}

/// Resolves a reference of the server (RFC 3986, section 5.2).
fn resolve(from: &Uri, reference: &str) -> Option<Uri> {
    let reference = reference.split('#').next().unwrap_or_default();
    let scheme = from.scheme_str()?;
    if let Some(authority) = reference.strip_prefix("//") {
        return format!("{scheme}://{authority}").parse().ok();
    }
    if reference
        .find([':', '/', '?'])
        .is_some_and(|at| reference[at..].starts_with(':'))
    {
        // The reference has its own scheme.
        return reference.parse().ok();
    }
    let path_end = reference.find('?').unwrap_or(reference.len());
    let (path, query) = reference.split_at(path_end);
    let path = match path {
        "" => from.path().to_owned(),
        _ if path.starts_with('/') => without_dots(path),
        _ => {
            let folder = from
                .path()
                .rsplit_once('/')
                .map_or("", |(folder, _)| folder);
            without_dots(&format!("{folder}/{path}"))
        }
    };
    let authority = from.authority()?;
    format!("{scheme}://{authority}{path}{query}").parse().ok()
}

/// Returns a path without `.` and `..`.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        match part {
            "." | ".." => {
                if part == ".." {
                    kept.pop();
                }
                // The path ends with a folder.
                if parts.peek().is_none() {
                    kept.push("");
                }
            }
            _ => kept.push(part),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn next(status: u16, location: &'static str) -> Option<String> {
        let from = Uri::from_static("http://host:8080/v1/chat?a=1");
        let mut headers = HeaderMap::new();
        headers.insert(LOCATION, HeaderValue::from_static(location));
        let status = StatusCode::from_u16(status).expect("a status");
        target(&from, status, &headers).map(|to| to.to_string())
    }

    #[test]
    fn follows_each_form_of_the_same_origin() {
        for (location, to) in [
            ("http://HOST:8080/v2?b=2#part", "http://HOST:8080/v2?b=2"),
            ("//host:8080/v2", "http://host:8080/v2"),
            (
                "/v2?next=http://other/",
                "http://host:8080/v2?next=http://other/",
            ),
            ("chat/", "http://host:8080/v1/chat/"),
            ("../v2/./chat", "http://host:8080/v2/chat"),
            ("..", "http://host:8080/"),
            ("?b=2", "http://host:8080/v1/chat?b=2"),
        ] {
            assert_eq!(next(307, location).as_deref(), Some(to), "{location}");
            assert_eq!(next(308, location).as_deref(), Some(to), "{location}");
        }
    }

    #[test]
    fn follows_no_other_target() {
        for location in [
            "http://other:8080/v1",
            "http://host/v1",
            "https://host:8080/v1",
            "//other/v1",
            "http://host:8080@other/v1",
            "mailto:a@b",
            "http://",
        ] {
            assert_eq!(next(307, location), None, "{location}");
        }
        for status in [300, 301, 302, 303, 304, 200] {
            assert_eq!(next(status, "/v2"), None, "{status}");
        }
        let from = Uri::from_static("http://host/");
        assert_eq!(
            target(&from, StatusCode::TEMPORARY_REDIRECT, &HeaderMap::new()),
            None
        );
    }
}
