//! `GET /`: the web page and its files. All of them are in the program; their source is in `host/page`.

use super::extract::Path;
use super::refusal::{Code, Refusal};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

const INDEX: &str = include_str!("../../page/dist/index.html");

/// The policy of the page: it may run its own script, and speak to its own server. The texts of a model, a tool or a
/// user cannot bring script, style or frames into the page, nor have anything loaded from elsewhere. Source:
/// <https://www.w3.org/TR/CSP3/>, <https://www.w3.org/TR/trusted-types/>.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types dompurify";

const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// A file of the page: its name, its type and its content.
type File = (&'static str, &'static str, &'static str);

/// All of them; the build writes the list.
const FILES: &[File] = include!("../../page/dist/files.rs");

/// `GET /`.
pub(super) async fn index() -> Response {
    reply("text/html; charset=utf-8", "no-cache", INDEX)
}

/// `GET /page/{file}`.
pub(super) async fn file(Path(name): Path<String>) -> Result<Response, Refusal> {
    let file = FILES.iter().find(|file| file.0 == name);
    let (_, media_type, text) = file.ok_or_else(|| {
        let message = format!("the page has no file `{name}`");
        Refusal::new(Code::NotFound, message)
    })?;
    // The page names them with a digest of what is in them.
    Ok(reply(
        media_type,
        "public, max-age=31536000, immutable",
        text,
    ))
}

fn reply(media_type: &'static str, caching: &'static str, text: &'static str) -> Response {
    let mut response = text.into_response();
    let own = [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, caching),
    ];
    for (name, value) in own.into_iter().chain(HEADERS) {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}
