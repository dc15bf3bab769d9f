//! The bodies of requests and answers.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures::{Stream, StreamExt};
use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;
use stepwell_io::serve::{Encoding, Refused, RefusedReason};

/// How long a body may take to come.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Checks that the body is said to be JSON.
///
/// # Errors
/// It is not. A browser sends other types to any server without asking first: this check is a protection too.
pub fn check_content_type(headers: &HeaderMap) -> Result<(), Refused> {
    let value = headers.get(header::CONTENT_TYPE);
    stepwell_io::serve::check_content_type(value.and_then(|value| value.to_str().ok()))
}

/// Reads a body of up to `limit` bytes, which may take half a minute to come.
///
/// # Errors
/// It is longer, takes longer, or broke off.
pub async fn read_body(body: Body, limit: usize) -> Result<Bytes, Refused> {
    let read = tokio::time::timeout(BODY_TIME, axum::body::to_bytes(body, limit)).await;
    let Ok(read) = read else {
        let message = "the body did not come in time";
        return Err(Refused::new(RefusedReason::BodyTimeout, message));
    };
    read.map_err(|error| {
        let cause = error.source();
        if cause.is_some_and(|cause| cause.is::<http_body_util::LengthLimitError>()) {
            let message = format!("the body is longer than {limit} bytes");
            return Refused::new(RefusedReason::BodyTooLarge, message);
        }
        Refused::new(RefusedReason::BodyIncomplete, "the body broke off")
    })
}

/// An answer whose body is these frames, with the headers of their encoding.
#[must_use]
pub fn response(
    encoding: Encoding,
    frames: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    let mut response = Response::new(Body::from_stream(frames.map(Ok::<_, Infallible>)));
    for (name, value) in encoding.headers() {
        let (name, value) = (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
        response.headers_mut().insert(name, value);
    }
    response
}
